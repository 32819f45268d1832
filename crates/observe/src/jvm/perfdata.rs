//! The counters that HotSpot keeps in a mapped file: /tmp/hsperfdata_USER/PID (format of OpenJDK's
//! `perfMemory.hpp`, version 2.0). Reading them is one read(2), unnoticed by the VM. They are written
//! without a lock, so a number may be torn.

use super::process;
use super::tmp_dir::TmpDir;
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt as _;

/// Maximum size: 32 KiB by default, more by `-XX:PerfDataMemorySize`.
const MAX_BYTES: u64 = 4 << 20;
/// Maximum entries; there are about 250.
const MAX_ENTRIES: usize = 10_000;
const MAGIC: [u8; 4] = [0xCA, 0xFE, 0xC0, 0xC0];
const HEADER_BYTES: usize = 32;
const ENTRY_BYTES: usize = 20;

/// A snapshot of the counters.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Counters {
    numbers: HashMap<String, i64>,
    texts: HashMap<String, String>,
}

impl Counters {
    /// A number. Only broken counters are negative.
    pub fn number(&self, name: &str) -> Option<u64> {
        u64::try_from(*self.numbers.get(name)?).ok()
    }

    /// A string; the VM cuts those longer than 1 KiB.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.texts.get(name).map(String::as_str)
    }

    pub fn numbers(&self) -> impl Iterator<Item = (&str, u64)> {
        self.numbers.iter().filter_map(|(name, value)| Some((name.as_str(), u64::try_from(*value).ok()?)))
    }

    /// A time, converted from the VM's unit to nanoseconds.
    pub fn time_ns(&self, name: &str) -> Option<u64> {
        let frequency = u128::from(self.number("sun.os.hrt.frequency")?.max(1));
        u64::try_from(u128::from(self.number(name)?) * 1_000_000_000 / frequency).ok()
    }
}

#[cfg(any(test, feature = "fuzzing"))]
impl Counters {
    pub fn has(&self, name: &str) -> bool {
        self.numbers.contains_key(name)
    }

    /// Bytes of names and values.
    pub fn size(&self) -> usize {
        let numbers = self.numbers.keys().map(|name| name.len() + size_of::<i64>());
        let texts = self.texts.iter().map(|(name, text)| name.len() + text.len());
        numbers.chain(texts).sum()
    }
}

/// The version of a HotSpot VM with counters that we may read: `17.0.15+6`.
pub(crate) fn version(pid: u32) -> Option<String> {
    of_process(pid)?.text("java.property.java.vm.version").map(str::to_owned)
}

/// The counters of this process, if it has any that we may read.
pub(super) fn of_process(pid: u32) -> Option<Counters> {
    parse(&read(&mut open(pid).ok()?).ok()?).ok()
}

/// Opens the counter file of this process. Only the VM knows which user's name is in the folder's name, so
/// the file's owner decides.
///
/// Fails with `NotFound` if there is none, and with `PermissionDenied` if we may not read it.
pub(super) fn open(pid: u32) -> io::Result<File> {
    let status = process::status(pid)?;
    let tmp = TmpDir::of_process(pid)?;
    let mut failed = io::ErrorKind::NotFound.into();
    for folder in tmp.folders("hsperfdata_")? {
        match tmp.open(&format!("{folder}/{}", status.inner_pid)) {
            Ok(file) if file.metadata()?.uid() == status.user => return Ok(file),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => failed = error,
            Ok(_) | Err(_) => {}
        }
    }
    Err(failed)
}

/// Reads the whole file, from the start.
pub(super) fn read(file: &mut File) -> io::Result<Vec<u8>> {
    use std::io::Seek as _;
    file.rewind()?;
    let mut bytes = Vec::with_capacity(32 << 10);
    file.take(MAX_BYTES).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Parses the file. A malformed entry ends the parsing; earlier ones count.
///
/// Fails if it is not such a file, or not ready.
pub(crate) fn parse(bytes: &[u8]) -> Result<Counters, &'static str> {
    if bytes.len() < HEADER_BYTES || bytes[..4] != MAGIC {
        return Err("it does not begin as the counters of a JVM do");
    }
    if bytes[5] != 2 {
        return Err("its format is not version 2");
    }
    if bytes[7] == 0 {
        return Err("the JVM says that it must not be read yet");
    }
    let little = bytes[4] == 1;
    let mut at = u32_at(bytes, 24, little).ok_or("its header is cut short")?;
    let entries = u32_at(bytes, 28, little).ok_or("its header is cut short")?.min(MAX_ENTRIES);
    let mut counters = Counters::default();
    for _ in 0..entries {
        let Some(length) = entry(bytes, at, little, &mut counters) else { break };
        at += length;
    }
    Ok(counters)
}

/// Parses the entry at this offset; returns its length.
fn entry(bytes: &[u8], at: usize, little: bool, into: &mut Counters) -> Option<usize> {
    let entry = bytes.get(at..)?;
    let length = u32_at(entry, 0, little)?;
    let entry = entry.get(..length).filter(|entry| entry.len() >= ENTRY_BYTES)?;
    let name = until_nul(entry.get(u32_at(entry, 4, little)?..)?);
    let elements = u32_at(entry, 8, little)?;
    let data = entry.get(u32_at(entry, 16, little)?..)?;
    match (entry[12], elements) {
        (b'J', 0) => {
            let value = data.get(..8)?.try_into().expect("it has 8 bytes");
            into.numbers
                .insert(name, if little { i64::from_le_bytes(value) } else { i64::from_be_bytes(value) });
        }
        (b'B', 1..) => {
            into.texts.insert(name, until_nul(data.get(..elements)?));
        }
        // The format allows other types; none is used.
        _ => {}
    }
    Some(length)
}

fn until_nul(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

fn u32_at(bytes: &[u8], at: usize, little: bool) -> Option<usize> {
    let value = bytes.get(at..at.checked_add(4)?)?.try_into().ok()?;
    let value = if little { u32::from_le_bytes(value) } else { u32::from_be_bytes(value) };
    usize::try_from(value).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    enum Value<'a> {
        Number(i64),
        Text(&'a str),
    }

    /// Writes such a file in either byte order.
    fn file(entries: &[(&str, Value)], little: bool) -> Vec<u8> {
        let word = |n: usize| {
            let n = u32::try_from(n).expect("the files here are small");
            if little { n.to_le_bytes() } else { n.to_be_bytes() }
        };
        let mut bytes = [&MAGIC[..], &[u8::from(little), 2, 0, 1]].concat();
        bytes.resize(24, 0);
        bytes.extend([word(HEADER_BYTES), word(entries.len())].concat());
        for (name, value) in entries {
            let (kind, elements, mut data) = match value {
                Value::Number(n) => {
                    (b'J', 0, if little { n.to_le_bytes() } else { n.to_be_bytes() }.to_vec())
                }
                Value::Text(text) => (b'B', text.len() + 1, format!("{text}\0").into_bytes()),
            };
            let at = (ENTRY_BYTES + name.len() + 1).next_multiple_of(8);
            data.resize(data.len().next_multiple_of(8), 0);
            bytes.extend([word(at + data.len()), word(ENTRY_BYTES), word(elements)].concat());
            bytes.extend([kind, 0, 1, 1]);
            bytes.extend(word(at));
            bytes.extend(name.as_bytes());
            bytes.resize(bytes.len() + at - ENTRY_BYTES - name.len(), 0);
            bytes.extend(data);
        }
        bytes
    }

    fn sample(little: bool) -> Vec<u8> {
        let entries = [
            ("sun.os.hrt.frequency", Value::Number(1_000_000)),
            ("sun.rt.safepointTime", Value::Number(2_500)),
            ("sun.gc.lastCause", Value::Text("G1 Evacuation Pause")),
            ("broken", Value::Number(-1)),
        ];
        file(&entries, little)
    }

    #[test]
    fn reads_numbers_and_texts_in_either_order_of_bytes() {
        for little in [true, false] {
            let counters = parse(&sample(little)).expect("it is well formed");
            assert_eq!(counters.number("sun.rt.safepointTime"), Some(2_500));
            assert_eq!(
                counters.time_ns("sun.rt.safepointTime"),
                Some(2_500_000),
                "microseconds become nanoseconds"
            );
            assert_eq!(counters.text("sun.gc.lastCause"), Some("G1 Evacuation Pause"));
            assert_eq!(counters.number("broken"), None);
            assert_eq!(counters.number("absent"), None);
        }
    }

    #[test]
    fn refuses_what_is_no_such_file_or_not_ready() {
        assert!(parse(b"").is_err());
        assert!(parse(&[0; 64]).is_err());
        let mut early = sample(true);
        early[7] = 0;
        assert!(parse(&early).is_err());
        let mut version_3 = sample(true);
        version_3[5] = 3;
        assert!(parse(&version_3).is_err());
    }

    #[test]
    fn a_file_cut_short_gives_what_is_whole() {
        let whole = sample(true);
        let counters = parse(&whole[..whole.len() - 8]).expect("the header is whole");
        assert_eq!(counters.number("sun.rt.safepointTime"), Some(2_500));
    }

    proptest! {
        #[test]
        fn never_panics_on_anything(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            let _ = parse(&bytes);
            let _ = parse(&[&MAGIC[..], &[1, 2, 0, 1], &bytes].concat());
        }

        #[test]
        fn never_panics_on_a_file_with_a_few_wrong_bytes(
            wrong in proptest::collection::vec((0_usize..400, any::<u8>()), 1..8), little: bool,
        ) {
            let mut bytes = sample(little);
            for (at, byte) in wrong {
                let at = at % bytes.len();
                bytes[at] = byte;
            }
            let _ = parse(&bytes);
        }
    }
}
