//! Heap objects of V8 that tell a function's name. Pointers are tagged by 1; other words are small
//! integers, in their upper half.

use super::layout::Layout;
use crate::memory::ForeignMemory;

/// Maximum pieces of a cons string, and depth of sliced or thin strings.
const MAX_PIECES: usize = 64;
const DEEPEST: usize = 8;
/// Longer strings are not names, in characters.
const LONGEST: u64 = 1_000;
/// A function with more context variables keeps their names in a hash table
/// (`kScopeInfoMaxInlinedLocalNamesSize`).
const MAX_LISTED: u64 = 75;
const MAX_VARIABLES: u64 = 100_000;
/// Scope flags: class information present; function name present, in one of three ways, and an inferred
/// name (what the function was assigned to).
const HAS_CLASS: u64 = 1 << 10;
const HAS_NAME: u64 = 3 << 12;
const HAS_INFERRED: u64 = 1 << 14;

/// V8's heap in this memory.
#[derive(Debug, Clone)]
pub struct Heap<M> {
    pub memory: M,
    pub layout: Layout,
}

/// A contiguous string: address, length in characters, and whether these have two bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlatString {
    pub at: u64,
    pub length: u64,
    pub is_wide: bool,
}

enum HeapString {
    Flat(FlatString),
    Cons(u64, u64),
}

/// A function's name, or what it was assigned to, and its position in the script.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FunctionNames {
    pub name: Option<String>,
    pub inferred: Option<String>,
    pub position: Option<u64>,
}

/// Whether a word is a pointer.
pub fn is_object(word: u64) -> bool {
    word & 1 == 1
}

/// A small integer.
fn number(word: u64) -> Option<u64> {
    (word & 0xFFFF_FFFF == 0 && word >> 63 == 0).then_some(word >> 32)
}

impl<M: ForeignMemory> Heap<M> {
    pub fn field(&self, object: u64, offset: u64) -> Option<u64> {
        is_object(object).then_some(())?;
        self.memory.word((object - 1).wrapping_add(offset))
    }

    /// The instance type of an object.
    pub fn kind(&self, object: u64) -> Option<u16> {
        self.type_of(self.field(object, 0)?)
    }

    /// The instance type of a map.
    pub fn type_of(&self, map: u64) -> Option<u16> {
        is_object(map).then_some(())?;
        self.memory.short((map - 1).wrapping_add(self.layout.map_type))
    }

    /// A string, if not longer than a name.
    pub fn text(&self, object: u64) -> Option<String> {
        let (mut rest, mut units) = (vec![object], Vec::new());
        for _ in 0..MAX_PIECES {
            let Some(next) = rest.pop() else { break };
            match self.string(next, DEEPEST)? {
                HeapString::Cons(first, second) => rest.extend([second, first]),
                HeapString::Flat(flat) if flat.length + units.len() as u64 <= LONGEST => {
                    units.extend(self.units(flat)?);
                }
                HeapString::Flat(_) => return None,
            }
        }
        rest.is_empty().then(|| String::from_utf16_lossy(&units))
    }

    /// A flat string, of any length.
    pub fn flat(&self, object: u64) -> Option<FlatString> {
        match self.string(object, DEEPEST)? {
            HeapString::Flat(flat) => Some(flat),
            HeapString::Cons(..) => None,
        }
    }

    fn units(&self, FlatString { at, length, is_wide }: FlatString) -> Option<Vec<u16>> {
        let length = length as usize;
        if is_wide {
            let bytes = self.memory.bytes(at, 2 * length)?;
            return Some(bytes.as_chunks::<2>().0.iter().map(|unit| u16::from_ne_bytes(*unit)).collect());
        }
        Some(self.memory.bytes(at, length)?.into_iter().map(u16::from).collect())
    }

    fn string(&self, mut object: u64, depth: usize) -> Option<HeapString> {
        let strings = self.layout.strings;
        for _ in 0..depth {
            let kind = self.kind(object).filter(|kind| *kind < strings.first_non_string)?;
            let length = self.memory.int((object - 1).wrapping_add(strings.length))?;
            let length = u64::try_from(length).ok()?;
            let is_wide = kind & strings.encoding_mask != strings.one_byte;
            let representation = kind & strings.representation_mask;
            if representation == strings.thin {
                object = self.field(object, strings.actual)?;
            } else if representation == strings.cons {
                let (first, second) =
                    (self.field(object, strings.first)?, self.field(object, strings.second)?);
                // A flattened cons string has an empty second half.
                let is_done = self.memory.int((second.checked_sub(1)?).wrapping_add(strings.length))? == 0;
                if !is_done {
                    return Some(HeapString::Cons(first, second));
                }
                object = first;
            } else if representation == strings.slice {
                let whole = self.field(object, strings.parent)?;
                let HeapString::Flat(whole) = self.string(whole, depth - 1)? else { return None };
                let from = number(self.field(object, strings.offset)?)?;
                let at = whole.at.wrapping_add(from << u32::from(whole.is_wide));
                return Some(HeapString::Flat(FlatString { at, length, ..whole }));
            } else {
                let at = match representation == strings.external {
                    // An external string stores the address of its characters after its owner.
                    true => self.field(object, strings.resource + 8)?,
                    false => (object - 1).wrapping_add(strings.characters),
                };
                return Some(HeapString::Flat(FlatString { at, length, is_wide }));
            }
        }
        None
    }

    /// The function names in a `ScopeInfo`, or in a name alone.
    pub fn function_names(&self, object: u64) -> Option<FunctionNames> {
        if self.kind(object)? != self.layout.scope_type {
            return Some(FunctionNames { name: self.text(object), ..FunctionNames::default() });
        }
        let entry = |index: u64| self.field(object, index.wrapping_add(1).wrapping_mul(8));
        // In some versions the flags are a number like the others.
        let flags = entry(0).map(|flags| if flags << 32 == 0 { flags >> 32 } else { flags })?;
        let variables = number(entry(2)?).filter(|variables| *variables < MAX_VARIABLES)?;
        let names = if variables < MAX_LISTED { variables } else { 1 };
        let mut next = self.layout.scope_head + names + variables + u64::from(flags & HAS_CLASS != 0);
        let text = |index: u64| self.text(entry(index)?).filter(|name| !name.is_empty());
        let mut called = FunctionNames::default();
        if flags & HAS_NAME != 0 {
            called.name = text(next);
            next += 2;
        }
        if flags & HAS_INFERRED != 0 {
            called.inferred = text(next);
            next += 1;
        }
        let place = if self.layout.has_position { 3 } else { next };
        called.position = entry(place).and_then(number);
        Some(called)
    }
}
