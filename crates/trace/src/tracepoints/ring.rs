//! Reads the kernel's per-processor ring buffer, page by page (Documentation/trace/ring-buffer-map.rst, and
//! tracefs's `header_page` and `header_event`).

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

/// Offset of a page's data, after its time stamp and length.
const DATA: usize = 16;
/// Mask of the length; the bits above are flags.
const LENGTH: u64 = (1 << 27) - 1;
/// Size of a record's header, and of each optional word after it.
const WORD: usize = 4;

/// The ring of one processor.
pub struct TraceRing {
    pages: File,
    page_bytes: usize,
}

pub struct Record<'a> {
    /// Time on the trace's clock.
    pub at: u64,
    data: &'a [u8],
}

impl Record<'_> {
    /// The N bytes at this offset.
    pub fn number<const N: usize>(&self, at: usize) -> Option<[u8; N]> {
        self.data.get(at..at + N)?.try_into().ok()
    }
}

impl TraceRing {
    /// Opens the ring in a processor's folder of a trace instance.
    pub fn open(processor: &Path, instance: &Path) -> io::Result<Self> {
        let pages = rustix::fs::open(
            processor.join("trace_pipe_raw"),
            rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::CLOEXEC,
            rustix::fs::Mode::empty(),
        )?;
        // Kernels before 6.8 use the machine's page size.
        let size = fs::read_to_string(instance.join("buffer_subbuf_size_kb")).ok();
        let size = size.and_then(|kib| kib.trim().parse::<usize>().ok()).map(|kib| kib << 10);
        Ok(Self { pages: File::from(pages), page_bytes: size.unwrap_or_else(rustix::param::page_size) })
    }

    /// Reads all records.
    pub fn read(mut self, mut on_record: impl FnMut(&Record<'_>)) -> io::Result<()> {
        let mut page = vec![0; self.page_bytes];
        loop {
            match self.pages.read(&mut page) {
                Ok(length) if length > DATA => records(&page[..length], &mut on_record),
                Ok(_) => return Ok(()),
                Err(why) if why.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(why) if why.kind() == io::ErrorKind::Interrupted => {}
                Err(why) => return Err(why),
            }
        }
    }
}

/// The records of one page, up to the first one that does not fit.
fn records(page: &[u8], on_record: &mut impl FnMut(&Record<'_>)) {
    let long =
        |at: usize| page.get(at..at + 8).and_then(|bytes| bytes.try_into().ok()).map(u64::from_ne_bytes);
    let word =
        |at: usize| page.get(at..at + WORD).and_then(|bytes| bytes.try_into().ok()).map(u32::from_ne_bytes);
    let (Some(mut time), Some(length)) = (long(0), long(8)) else { return };
    let end = (DATA + (length & LENGTH) as usize).min(page.len());
    let mut at = DATA;
    while at + WORD <= end {
        let (Some(header), next) = (word(at), word(at + WORD).unwrap_or(0)) else { return };
        let (kind, delta) = split(header);
        let (data, size) = match kind {
            // Padding: to the end, or of a given length.
            29 if delta == 0 => return,
            29 => (None, WORD + next as usize),
            // A time delta too large for its field.
            30 => {
                time += u64::from(delta) + (u64::from(next) << 27);
                (None, 2 * WORD)
            }
            // An absolute time stamp without its five highest bits.
            31 => {
                time = (time & !((1 << 59) - 1)) | (u64::from(next) << 27) | u64::from(delta);
                (None, 2 * WORD)
            }
            // The length is in a separate word, which it includes.
            0 => (Some(at + 2 * WORD), WORD + next as usize),
            words => (Some(at + WORD), WORD + words as usize * WORD),
        };
        if size < WORD || at + size > end {
            return;
        }
        if let Some(data) = data {
            time += u64::from(delta);
            on_record(&Record { at: time, data: page.get(data..at + size).unwrap_or_default() });
        }
        at += size;
    }
}

/// Type and time delta of a header: compilers put the first bit field into the lowest bits, or on
/// big-endian machines into the highest.
fn split(header: u32) -> (u32, u32) {
    if cfg!(target_endian = "little") {
        (header & 31, header >> 5)
    } else {
        (header >> 27, header & ((1 << 27) - 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(words: &[u32]) -> Vec<u8> {
        let mut page = 1_000_u64.to_ne_bytes().to_vec();
        // The flag for lost records.
        page.extend(((words.len() * WORD) as u64 | 1 << 31).to_ne_bytes());
        page.extend(words.iter().flat_map(|word| word.to_ne_bytes()));
        page.extend([0xff; 64]);
        page
    }

    fn seen(page: &[u8]) -> Vec<(u64, Vec<u8>)> {
        let mut all = Vec::new();
        records(page, &mut |record| all.push((record.at, record.data.to_vec())));
        all
    }

    #[test]
    #[cfg(target_endian = "little")]
    fn every_kind_of_record() {
        let words = [
            (10 << 5) | 1,
            7,
            // Padding of eight bytes after its header.
            (1 << 5) | 29,
            8,
            0,
            // 2^27 later, and one.
            (1 << 5) | 30,
            1,
            // The length in a separate word: eight bytes of data.
            5 << 5,
            12,
            8,
            9,
            // An absolute time stamp.
            (3 << 5) | 31,
            2,
            (1 << 5) | 1,
            11,
        ];
        let bytes = |numbers: &[u32]| numbers.iter().flat_map(|n| n.to_ne_bytes()).collect::<Vec<u8>>();
        let later = 1_010 + (1 << 27) + 1 + 5;
        let all = [(1_010, bytes(&[7])), (later, bytes(&[8, 9])), ((2 << 27) + 3 + 1, bytes(&[11]))];
        assert_eq!(seen(&page(&words)), all);
    }

    #[test]
    fn whatever_a_page_holds_it_ends() {
        for filler in [0_u32, 1, 28, 29, 30, 31, 32, u32::MAX, 0x8000_001d] {
            for length in 0..40 {
                let whole = page(&vec![filler; length]);
                for cut in 0..whole.len() {
                    seen(&whole[..cut]);
                }
            }
        }
    }
}
