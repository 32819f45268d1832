//! Code blobs that a Java VM generated: finding the one at an address, the methods running there, and the
//! frame size.

use super::layout::{CodeHeap, DataLocation, Layout, MethodListLocation};
use crate::memory::{ForeignMemory, ReadAhead};
use std::ops::Range;

/// Maximum steps from a segment back to the start of its code: a hundred megabytes of code need fewer.
const MAX_STEPS: u32 = 2_000;
/// Maximum bytes of one blob with its tables, and of each table.
const MAX_BYTES: u64 = 64 << 20;
const MAX_TABLE: u64 = 4 << 20;
/// Bytes read of a blob's header.
pub const HEAD_BYTES: usize = 512;
/// A blob's tables are read in one call up to this size.
const MAX_AT_ONCE: u64 = 64 << 10;
/// Maximum inlining depth.
const MAX_INLINED: usize = 200;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BlobKind {
    /// A compiled method, or the wrapper of a native one.
    Method {
        /// Address of its `Method`.
        method: u64,
        /// Entry point.
        entry: u64,
        /// From here on the frame is complete.
        complete: u64,
        /// Ranges of the PC descriptors, scopes and metadata.
        pc_descs: Range<u64>,
        scopes: u64,
        methods: u64,
    },
    /// The interpreter, for all methods not compiled.
    Interpreter,
    /// A runtime stub; its name.
    Stub(String),
}

impl BlobKind {
    /// The kind by name, unless that is a method.
    fn named(name: String) -> Option<Self> {
        match name.as_str() {
            "nmethod" | "native nmethod" => None,
            "Interpreter" => Some(Self::Interpreter),
            _ => Some(Self::Stub(name)),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blob {
    /// Addresses, header included.
    pub range: Range<u64>,
    /// Start of the instructions.
    pub code: u64,
    /// Frame size in bytes, return address included; 0: no frame, or of variable size.
    pub frame_bytes: u64,
    /// Address of its name, the same for all methods.
    name: u64,
    pub kind: BlobKind,
}

impl Blob {
    /// The range of a method's tables that are contiguous; others are read separately.
    pub fn tables(&self) -> Option<Range<u64>> {
        let BlobKind::Method { pc_descs, scopes, methods, .. } = &self.kind else { return None };
        let near = |table: &u64| table.abs_diff(pc_descs.start) <= MAX_AT_ONCE;
        let start = [*scopes, *methods].into_iter().filter(near).fold(pc_descs.start, u64::min);
        // Scopes that follow take about as much room.
        let behind = scopes.saturating_add(pc_descs.end.saturating_sub(pc_descs.start));
        let end = if near(scopes) { pc_descs.end.max(behind) } else { pc_descs.end };
        Some(start..end).filter(|all| all.end.saturating_sub(all.start) <= 2 * MAX_AT_ONCE)
    }
}

impl Layout {
    /// Whether the VM may have code there.
    pub fn contains(&self, address: u64) -> bool {
        self.heaps.iter().any(|heap| heap.range.contains(&address))
    }

    /// The blob at this address, if any.
    pub fn blob<M: ForeignMemory>(&self, memory: &M, address: u64) -> Option<Blob> {
        let heap = self.heaps.iter().find(|heap| heap.range.contains(&address))?;
        let block = block_start(heap, memory, address)?;
        if memory.array(block.wrapping_add(self.block_used))? == [0] {
            return None;
        }
        let at = block.wrapping_add(self.block_bytes);
        let mut head = [0; HEAD_BYTES];
        let blob = self.parse_blob(&ReadAhead::of(memory, at, &mut head), at, None)?;
        blob.range.contains(&address).then_some(blob)
    }

    /// The blob described there, where `before` was earlier.
    pub fn parse_blob<M: ForeignMemory>(&self, memory: &M, at: u64, before: Option<&Blob>) -> Option<Blob> {
        let field = |offset: u64| at.wrapping_add(offset);
        let size =
            u64::try_from(memory.int(field(self.blob_size))?).ok().filter(|size| *size <= MAX_BYTES)?;
        let range = at..at.checked_add(size)?;
        let code = locate(memory, at, self.code, at)?;
        let words = u64::try_from(memory.int(field(self.frame_size))?).unwrap_or(0);
        let name = memory.word(field(self.blob_name))?;
        let kind = match before.filter(|before| before.name == name).map(|before| &before.kind) {
            Some(BlobKind::Method { .. }) => None,
            Some(other) => Some(other.clone()),
            None => BlobKind::named(memory.text(name)?),
        };
        let kind = kind.or_else(|| self.parse_method(memory, at, code))?;
        Some(Blob { range, code, frame_bytes: words.saturating_mul(8).min(MAX_BYTES), name, kind })
    }

    fn parse_method<M: ForeignMemory>(&self, memory: &M, at: u64, code: u64) -> Option<BlobKind> {
        let field = |offset: u64| at.wrapping_add(offset);
        let complete = memory.short(field(self.frame_complete))?.cast_signed();
        let base = match self.immutable_data {
            Some(immutable) => memory.word(field(immutable))?,
            None => at,
        };
        let resolve = |offset: u64| {
            let offset = u64::try_from(memory.int(field(offset))?).ok()?;
            Some(base.wrapping_add(offset))
        };
        let offset = |of: u64| u64::try_from(memory.int(field(of))?).ok();
        let methods = match self.metadata {
            MethodListLocation::Offset(of) => field(offset(of)?),
            MethodListLocation::BehindData(data, of) => {
                field(offset(data)?).wrapping_add(u64::from(memory.short(field(of))?))
            }
            MethodListLocation::BehindRelocations(data, size) => {
                memory.word(field(data))?.wrapping_add(offset(size)?)
            }
        };
        Some(BlobKind::Method {
            method: memory.word(field(self.method))?,
            entry: match self.entry {
                DataLocation::Address(of) => memory.word(field(of))?,
                DataLocation::Offset(of) => code.wrapping_add(u64::from(memory.short(field(of))?)),
            },
            complete: code.wrapping_add_signed(i64::from(complete)),
            pc_descs: resolve(self.pc_descs)?..resolve(self.pc_descs.wrapping_add(4))?,
            scopes: locate(memory, at, self.scopes, base)?,
            methods,
        })
    }

    /// The methods running at an address of a compiled one, innermost first, each inlined into the next;
    /// none without a PC descriptor. A descriptor covers all addresses back to the previous one.
    pub fn inlined_methods<M: ForeignMemory>(
        &self,
        memory: &M,
        blob: &Blob,
        address: u64,
    ) -> Option<Vec<u64>> {
        let BlobKind::Method { pc_descs, scopes, methods, .. } = &blob.kind else { return None };
        let length = pc_descs.end.checked_sub(pc_descs.start).filter(|length| *length <= MAX_TABLE)?;
        let table = memory.bytes(pc_descs.start, length as usize)?;
        let wanted = i32::try_from(address.checked_sub(blob.code)?).ok()?;
        // Four numbers: PC offset, scope, and two not needed here.
        let number =
            |place: &[u8; 16], at: usize| i32::from_ne_bytes([0, 1, 2, 3].map(|byte| place[4 * at + byte]));
        let places = table.as_chunks::<16>().0;
        let found = places.get(places.partition_point(|place| number(place, 0) < wanted))?;
        let mut scope = u64::try_from(number(found, 1)).ok().filter(|scope| *scope > 0)?;
        let mut all = Vec::new();
        while scope > 0 && all.len() < MAX_INLINED {
            let packed: [u8; 32] = memory.array(scopes.checked_add(scope)?)?;
            let mut rest = &packed[..];
            let caller = u64::from(parse_unsigned5(&mut rest, self.unsigned_base)?);
            let method = u64::from(parse_unsigned5(&mut rest, self.unsigned_base)?).checked_sub(1)?;
            all.push(memory.word(methods.checked_add(8 * method)?)?);
            // Callers precede callees, so this terminates.
            scope = if caller < scope { caller } else { 0 };
        }
        Some(all)
    }
}

/// Start of the code that contains this address.
fn block_start<M: ForeignMemory>(heap: &CodeHeap, memory: &M, address: u64) -> Option<u64> {
    let mut segment = (address - heap.range.start) >> heap.shift;
    for _ in 0..MAX_STEPS {
        let [back] = memory.array(heap.segments.checked_add(segment)?)?;
        match back {
            0 => return Some(heap.range.start + (segment << heap.shift)),
            u8::MAX => return None,
            back => segment = segment.checked_sub(u64::from(back))?,
        }
    }
    None
}

fn locate<M: ForeignMemory>(memory: &M, at: u64, what: DataLocation, base: u64) -> Option<u64> {
    match what {
        DataLocation::Address(field) => memory.word(at.wrapping_add(field)),
        DataLocation::Offset(field) => {
            let offset = u64::try_from(memory.int(at.wrapping_add(field))?).ok()?;
            Some(base.wrapping_add(offset))
        }
    }
}

/// Decodes a packed number (UNSIGNED5, `compressedStream.hpp`): a byte of 192 or more is followed by
/// another, at most four times.
pub fn parse_unsigned5(bytes: &mut &[u8], base: u32) -> Option<u32> {
    let mut number = 0_u32;
    for shift in [0, 6, 12, 18, 24] {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number = number.wrapping_add(u32::from(*byte).wrapping_sub(base) << shift);
        if *byte < 192 {
            break;
        }
    }
    Some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packed_numbers() {
        for (bytes, base, expected) in [
            (&[5][..], 0, Some((5, 0))),
            (&[191, 7], 0, Some((191, 1))),
            (&[192, 1], 0, Some((256, 0))),
            (&[1], 1, Some((0, 0))),
            (&[193, 2], 1, Some((256, 0))),
            (&[255, 255, 255, 255, 255, 1], 0, Some((51_130_559, 1))),
            (&[192], 0, None),
            (&[], 1, None),
        ] {
            let mut rest = bytes;
            let number = parse_unsigned5(&mut rest, base);
            assert_eq!(number.map(|number| (number, rest.len())), expected, "{bytes:?}");
        }
    }
}
