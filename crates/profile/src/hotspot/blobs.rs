//! Pieces of code that a machine has made: which one an address is in, what of it runs there, and how large its frame is.

use super::layout::{CodeHeap, DataLocation, Layout, MethodListLocation};
use crate::memory::{ForeignMemory, ReadAhead};
use std::ops::Range;

/// Steps from a segment to where its code begins: code of a hundred megabytes has fewer.
const MOST_STEPS: u32 = 2_000;
/// Bytes of one piece of code at most, with its tables, and of each of these.
const MOST_BYTES: u64 = 64 << 20;
const MOST_TABLE: u64 = 4 << 20;
/// Bytes of its description.
pub const HEAD_BYTES: usize = 512;
/// The tables of one piece of code are read at once up to this.
const MOST_AT_ONCE: u64 = 64 << 10;
/// Methods compiled into one another at most.
const MOST_INLINED: usize = 200;

/// What kind of code it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BlobKind {
    /// A compiled method, or what leads to one that is native.
    Method {
        /// Where the machine describes it.
        method: u64,
        /// Where it is entered.
        entry: u64,
        /// From here on its frame is there.
        complete: u64,
        /// Where its tables of places begin and end, of scopes, and of methods.
        places: Range<u64>,
        scopes: u64,
        methods: u64,
    },
    /// All methods that are not compiled.
    Interpreter,
    /// What helps others; its name.
    Stub(String),
}

impl BlobKind {
    /// Of what is called so, unless that is a method.
    fn named(name: String) -> Option<Self> {
        match name.as_str() {
            "nmethod" | "native nmethod" => None,
            "Interpreter" => Some(Self::Interpreter),
            _ => Some(Self::Stub(name)),
        }
    }
}

/// A piece of code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blob {
    /// Its addresses, with what stands before its instructions.
    pub place: Range<u64>,
    /// Where its instructions begin.
    pub code: u64,
    /// Bytes of its frame on the stack, the return address included; 0 if it has none of its own, or one that varies.
    pub frame_bytes: u64,
    /// Where its name stands, which is the same for all methods.
    name: u64,
    pub kind: BlobKind,
}

impl Blob {
    /// Where the tables of a method lie, as far as they lie together; what does not is read by itself.
    pub fn tables(&self) -> Option<Range<u64>> {
        let BlobKind::Method { places, scopes, methods, .. } = &self.kind else { return None };
        let near = |table: &u64| table.abs_diff(places.start) <= MOST_AT_ONCE;
        let start = [*scopes, *methods].into_iter().filter(near).fold(places.start, u64::min);
        // Scopes that lie behind take about as much room.
        let behind = scopes.saturating_add(places.end.saturating_sub(places.start));
        let end = if near(scopes) { places.end.max(behind) } else { places.end };
        Some(start..end).filter(|all| all.end.saturating_sub(all.start) <= 2 * MOST_AT_ONCE)
    }
}

impl Layout {
    /// Whether a machine may have code there.
    pub fn has(&self, address: u64) -> bool {
        self.heaps.iter().any(|heap| heap.place.contains(&address))
    }

    /// The piece of code at this address; none if there is none.
    pub fn blob<M: ForeignMemory>(&self, memory: &M, address: u64) -> Option<Blob> {
        let heap = self.heaps.iter().find(|heap| heap.place.contains(&address))?;
        let block = begin(heap, memory, address)?;
        let mut used = [0];
        memory.read(block.wrapping_add(self.block_used), &mut used)?;
        if used == [0] {
            return None;
        }
        let at = block.wrapping_add(self.block_bytes);
        let mut head = [0; HEAD_BYTES];
        let blob = self.described(&ReadAhead::of(memory, at, &mut head), at, None)?;
        blob.place.contains(&address).then_some(blob)
    }

    /// The piece that is described there, where this one was before.
    pub fn described<M: ForeignMemory>(&self, memory: &M, at: u64, before: Option<&Blob>) -> Option<Blob> {
        let field = |offset: u64| at.wrapping_add(offset);
        let size =
            u64::try_from(memory.int(field(self.blob_size))?).ok().filter(|size| *size <= MOST_BYTES)?;
        let place = at..at.checked_add(size)?;
        let code = lies(memory, at, self.code, at)?;
        let words = u64::try_from(memory.int(field(self.frame_size))?).unwrap_or(0);
        let name = memory.word(field(self.blob_name))?;
        let kind = match before.filter(|before| before.name == name).map(|before| &before.kind) {
            Some(BlobKind::Method { .. }) => None,
            Some(other) => Some(other.clone()),
            None => BlobKind::named(memory.text(name)?),
        };
        let kind = match kind {
            Some(kind) => kind,
            None => self.compiled(memory, at, code)?,
        };
        Some(Blob { place, code, frame_bytes: words.saturating_mul(8).min(MOST_BYTES), name, kind })
    }

    fn compiled<M: ForeignMemory>(&self, memory: &M, at: u64, code: u64) -> Option<BlobKind> {
        let field = |offset: u64| at.wrapping_add(offset);
        let complete = memory.short(field(self.frame_complete))?.cast_signed();
        let base = match self.immutable {
            Some(immutable) => memory.word(field(immutable))?,
            None => at,
        };
        let place = |offset: u64| {
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
            places: place(self.places)?..place(self.places.wrapping_add(4))?,
            scopes: lies(memory, at, self.scopes, base)?,
            methods,
        })
    }

    /// The methods that run at this address of a compiled one, the innermost first, each but the last compiled into the next; none where
    /// nothing is noted. What is noted of an address is noted for all before it, back to the last.
    pub fn inlined<M: ForeignMemory>(&self, memory: &M, blob: &Blob, address: u64) -> Option<Vec<u64>> {
        let BlobKind::Method { places, scopes, methods, .. } = &blob.kind else { return None };
        let length = places.end.checked_sub(places.start).filter(|length| *length <= MOST_TABLE)?;
        let table = memory.bytes(places.start, length as usize)?;
        let wanted = i32::try_from(address.checked_sub(blob.code)?).ok()?;
        // Four numbers each: where, the scope, and two that say nothing here.
        let number =
            |place: &[u8; 16], at: usize| i32::from_ne_bytes([0, 1, 2, 3].map(|byte| place[4 * at + byte]));
        let places = table.as_chunks::<16>().0;
        let found = places.get(places.partition_point(|place| number(place, 0) < wanted))?;
        let mut scope = u64::try_from(number(found, 1)).ok().filter(|scope| *scope > 0)?;
        let mut all = Vec::new();
        while scope > 0 && all.len() < MOST_INLINED {
            let mut packed = [0; 32];
            memory.read(scopes.checked_add(scope)?, &mut packed)?;
            let mut rest = &packed[..];
            let caller = u64::from(parse_unsigned5(&mut rest, self.unsigned_base)?);
            let method = u64::from(parse_unsigned5(&mut rest, self.unsigned_base)?).checked_sub(1)?;
            all.push(memory.word(methods.checked_add(8 * method)?)?);
            // Callers stand before whom they call, so that this comes to an end.
            scope = if caller < scope { caller } else { 0 };
        }
        Some(all)
    }
}

/// Where the code begins that this address is in.
fn begin<M: ForeignMemory>(heap: &CodeHeap, memory: &M, address: u64) -> Option<u64> {
    let mut segment = (address - heap.place.start) >> heap.shift;
    for _ in 0..MOST_STEPS {
        let mut back = [0];
        memory.read(heap.segments.checked_add(segment)?, &mut back)?;
        match back[0] {
            0 => return Some(heap.place.start + (segment << heap.shift)),
            u8::MAX => return None,
            back => segment = segment.checked_sub(u64::from(back))?,
        }
    }
    None
}

/// Where something lies that the fields at this address tell of.
fn lies<M: ForeignMemory>(memory: &M, at: u64, what: DataLocation, base: u64) -> Option<u64> {
    match what {
        DataLocation::Address(field) => memory.word(at.wrapping_add(field)),
        DataLocation::Offset(field) => {
            let offset = u64::try_from(memory.int(at.wrapping_add(field))?).ok()?;
            Some(base.wrapping_add(offset))
        }
    }
}

/// A packed number (UNSIGNED5, `compressedStream.hpp`): bytes of 192 and more say that another follows, at most four times.
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
