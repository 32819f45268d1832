//! Scripts, for line numbers.

use super::heap::{FlatString, Heap};
use crate::memory::ForeignMemory;

/// Maximum characters of a script whose lines are counted.
const MAX_CHARACTERS: u64 = 64 << 20;
/// Bytes per read.
const AT_ONCE: usize = 64 << 10;

/// A script as far as it was read.
#[derive(Debug, Clone)]
pub struct SourceScript {
    /// Addresses of its name and source, which identify it.
    name: u64,
    source: u64,
    /// Its name: a path, a URL, or Node.js's name of a module of its own.
    pub path: Option<String>,
    /// Line ends; none: unreadable.
    line_ends: Option<Vec<u32>>,
}

impl SourceScript {
    pub fn of<M: ForeignMemory>(heap: &Heap<M>, script: u64) -> Option<Self> {
        let layout = &heap.layout;
        if heap.kind(script)? != layout.script_type {
            return None;
        }
        let (name, source) = (heap.field(script, layout.script_name)?, heap.field(script, layout.source)?);
        let path = heap.text(name).filter(|called| !called.is_empty());
        Some(Self { name, source, path, line_ends: ends(heap, source) })
    }

    /// Whether it is still the script there.
    pub fn is_at<M: ForeignMemory>(&self, heap: &Heap<M>, script: u64) -> bool {
        let is = |offset, expected| heap.field(script, offset) == Some(expected);
        is(heap.layout.script_name, self.name) && is(heap.layout.source, self.source)
    }

    /// The line of a position, from 1.
    pub fn line(&self, place: u64) -> Option<u32> {
        let place = u32::try_from(place).ok()?;
        let before = self.line_ends.as_ref()?.partition_point(|end| *end < place);
        u32::try_from(before + 1).ok()
    }

    /// Cached bytes.
    pub fn size(&self) -> usize {
        size_of::<Self>() + self.line_ends.as_ref().map_or(0, |ends| 4 * ends.len())
    }
}

/// The line ends of a source text.
fn ends<M: ForeignMemory>(heap: &Heap<M>, source: u64) -> Option<Vec<u32>> {
    let FlatString { at, length, is_wide } =
        heap.flat(source).filter(|flat| flat.length <= MAX_CHARACTERS)?;
    let (mut ends, mut bytes) = (Vec::new(), vec![0; AT_ONCE]);
    let bytes_each = if is_wide { 2 } else { 1 };
    let mut done = 0;
    while done < length {
        let now = (AT_ONCE / bytes_each).min((length - done) as usize);
        let piece = &mut bytes[..now * bytes_each];
        heap.memory.read(at.wrapping_add(done * bytes_each as u64), piece)?;
        let is_end = |unit: &[u8]| unit[0] == b'\n' && unit.get(1).is_none_or(|high| *high == 0);
        let found = piece.chunks_exact(bytes_each).zip(done as u32..).filter(|(unit, _)| is_end(unit));
        ends.extend(found.map(|(_, place)| place));
        done += now as u64;
    }
    ends.shrink_to_fit();
    Some(ends)
}
