/// The loader's index of libraries, `/etc/ld.so.cache`, in the format that glibc writes since 2.2 (`dl-cache.h`:
/// a header of 48 bytes, entries of 24, then the strings).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LoaderCache {
    entries: Vec<Entry>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Entry {
    soname: String,
    path: String,
}

const MAGIC: &[u8] = b"glibc-ld.so.cache1.1";
const HEADER_SIZE: usize = 48;
const ENTRY: usize = 24;
/// An index in the older format may precede it: its header, with the number of its entries.
const OLD_MAGIC: &[u8] = b"ld.so-1.7.0";
const OLD_HEADER_SIZE: usize = 16;
const OLD_ENTRY: usize = 12;
/// In the header: 3 where the numbers are big-endian.
const ORDER: usize = 28;
const BIG_ENDIAN: u8 = 3;

impl LoaderCache {
    /// Parses an index; empty if it has another format or none.
    ///
    /// Skips libraries for certain processors of the architecture only (`glibc-hwcaps`): whether the loader takes them
    /// depends on the processor.
    pub fn parse(bytes: &[u8]) -> Self {
        Self { entries: parse(bytes).unwrap_or_default() }
    }

    /// Paths of the libraries with this name, in index order. Other architectures are
    /// included: the loader opens each.
    pub fn paths(&self, soname: &str) -> impl Iterator<Item = &str> {
        self.entries.iter().filter(move |entry| entry.soname == soname).map(|entry| entry.path.as_str())
    }
}

fn parse(bytes: &[u8]) -> Option<Vec<Entry>> {
    let start = if bytes.starts_with(OLD_MAGIC) {
        let count =
            usize::try_from(u32::from_ne_bytes(*bytes.get(OLD_HEADER_SIZE - 4..)?.first_chunk()?)).ok()?;
        // The newer one begins at the next multiple of eight.
        OLD_HEADER_SIZE.checked_add(count.checked_mul(OLD_ENTRY)?)?.checked_next_multiple_of(8)?
    } else {
        0
    };
    let bytes = bytes.get(start..)?;
    if !bytes.starts_with(MAGIC) {
        return None;
    }
    let big_endian = *bytes.get(ORDER)? == BIG_ENDIAN;
    let word = |at: usize| {
        let bytes = *bytes.get(at..)?.first_chunk()?;
        Some(if big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) } as usize)
    };
    let text = |at: usize| {
        let text = bytes.get(at..)?.split(|byte| *byte == 0).next()?;
        Some(String::from_utf8_lossy(text).into_owned())
    };
    let count = word(20)?;
    let entry = |n: usize| {
        let start = HEADER_SIZE.checked_add(n.checked_mul(ENTRY)?)?;
        let for_all = word(start + 16)? == 0 && word(start + 20)? == 0;
        Some((for_all, Entry { soname: text(word(start + 4)?)?, path: text(word(start + 8)?)? }))
    };
    // Stop at a broken entry: what follows is no better.
    let all = (0..count).map_while(entry);
    Some(all.filter(|(for_all, _)| *for_all).map(|(_, entry)| entry).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An index with these names, paths and low words of required processor features.
    fn index(entries: &[(&str, &str, u32)]) -> Vec<u8> {
        let mut head = MAGIC.to_vec();
        head.extend(u32::try_from(entries.len()).expect("few").to_le_bytes());
        head.resize(HEADER_SIZE, 0);
        let mut texts = Vec::new();
        let base = HEADER_SIZE + entries.len() * ENTRY;
        for (soname, path, needs) in entries {
            let mut put = |text: &str| {
                let at = u32::try_from(base + texts.len()).expect("small");
                texts.extend(text.bytes().chain([0]));
                at.to_le_bytes()
            };
            head.extend(0x303_u32.to_le_bytes());
            head.extend(put(soname));
            head.extend(put(path));
            head.extend([0; 4]);
            head.extend(needs.to_le_bytes());
            head.extend([0; 4]);
        }
        head.extend(texts);
        head
    }

    #[test]
    fn names_lead_to_paths() {
        let bytes = index(&[
            ("libc.so.6", "/lib/hwcaps/libc.so.6", 1),
            ("libc.so.6", "/lib/libc.so.6", 0),
            ("libz.so.1", "/lib/libz.so.1", 0),
        ]);
        let cache = LoaderCache::parse(&bytes);
        assert_eq!(cache.paths("libc.so.6").collect::<Vec<_>>(), ["/lib/libc.so.6"]);
        assert_eq!(cache.paths("libm.so.6").count(), 0);
        // After one of the older format with one entry: 16 + 12 bytes, and 4 up to a multiple of eight.
        let mut both = OLD_MAGIC.to_vec();
        both.resize(OLD_HEADER_SIZE - 4, 0);
        both.extend(1_u32.to_ne_bytes());
        both.resize(32, 0);
        both.extend(&bytes);
        assert_eq!(LoaderCache::parse(&both), cache);
    }

    #[test]
    fn damaged_ones_hold_what_can_be_read() {
        let bytes = index(&[("libz.so.1", "/lib/libz.so.1", 0)]);
        for length in 0..bytes.len() {
            assert!(LoaderCache::parse(&bytes[..length]).entries.len() <= 1);
        }
        let mut many = bytes.clone();
        many[20..24].copy_from_slice(&[0xff; 4]);
        assert!(LoaderCache::parse(&many).paths("libz.so.1").next().is_some());
        assert_eq!(LoaderCache::parse(b"ld.so-1.7.0\0\xff\xff\xff\xff"), LoaderCache::default());
    }
}
