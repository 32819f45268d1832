//! One chunk: its head, its events one after the other, and its constants, which are events too. The head also points to the last
//! events of types and constants, and those to the ones before; whoever reads all events meets each of them, also where the end is
//! missing, and cannot be led in circles.

use crate::cursor::{Cursor, Text};
use crate::error::Error;
use crate::metadata::{self, Classes, Field, TypeId};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::Arc;

const HEAD_BYTES: usize = 68;
const MAGIC: &[u8] = b"FLR\0";
/// In the flags: integers are compressed.
const COMPRESSED: u32 = 1;
/// The numbers of the two events that are the same in all chunks.
const METADATA: TypeId = 0;
const CONSTANTS: TypeId = 1;
/// Values stand in values: a stack, its frames, each with its line.
const DEEPEST: u32 = 8;
/// Of one chunk: the recorder begins another after 12 MB.
const MOST_CONSTANTS: usize = 1 << 20;
/// Values that are read for each byte: each is met some times, and some have no byte of their own.
const STEPS: u64 = 8;

/// The head of a chunk.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Head {
    /// Of all of it; none if that was never written.
    pub size: Option<usize>,
    pub start_ns: i64,
    pub duration_ns: i64,
    start_ticks: i64,
    ticks_per_second: i64,
}

impl Head {
    pub fn read(bytes: &[u8]) -> Result<Self, Error> {
        if bytes.len() < HEAD_BYTES || !bytes.starts_with(MAGIC) {
            return Err(Error::NotFlight);
        }
        let half = |at: usize| u16::from_be_bytes([bytes[at], bytes[at + 1]]);
        let word = |at: usize| i64::from_be_bytes(bytes[at..at + 8].try_into().expect("it is 8 long"));
        let (major, minor) = (half(4), half(6));
        if major != 2 {
            return Err(Error::Version { major, minor });
        }
        if u32::from(half(66)) & COMPRESSED == 0 {
            return Err(Error::Uncompressed);
        }
        Ok(Self {
            size: usize::try_from(word(8)).ok().filter(|&size| size > HEAD_BYTES),
            start_ns: word(32),
            duration_ns: word(40),
            start_ticks: word(48),
            ticks_per_second: word(56).max(1),
        })
    }

    /// A time of the chunk's own clock, in nanoseconds since 1970.
    pub fn at_ns(&self, ticks: i64) -> u64 {
        let since = i128::from(ticks) - i128::from(self.start_ticks);
        let at = i128::from(self.start_ns) + since * 1_000_000_000 / i128::from(self.ticks_per_second);
        u64::try_from(at.max(0)).unwrap_or(u64::MAX)
    }

    /// A time between two moments.
    pub fn lasting_ns(&self, ticks: i64) -> u64 {
        let ns = i128::from(ticks.max(0)) * 1_000_000_000 / i128::from(self.ticks_per_second);
        u64::try_from(ns).unwrap_or(u64::MAX)
    }
}

/// What stands in a field.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value<'a> {
    Number(i64),
    Float(f64),
    Text(Text<'a>),
    Constant(TypeId, i64),
    /// All fields of another type, from this place on.
    Object(TypeId, usize),
    /// So many values of a type, from this place on.
    List(TypeId, usize, usize),
}

/// The values of an event or a constant, by name.
#[derive(Debug)]
pub(crate) struct Object<'a>(Vec<(Arc<str>, Value<'a>)>);

impl<'a> Object<'a> {
    pub fn get(&self, name: &str) -> Option<&Value<'a>> {
        self.0.iter().find(|(of, _)| **of == *name).map(|(_, value)| value)
    }

    /// The value of this name, or the only one.
    pub fn get_or_only(&self, name: &str) -> Option<&Value<'a>> {
        self.get(name).or(match &self.0[..] {
            [(_, only)] => Some(only),
            _ => None,
        })
    }

    pub fn number(&self, name: &str) -> Option<i64> {
        match self.get(name) {
            Some(Value::Number(number)) => Some(*number),
            _ => None,
        }
    }

    pub fn float(&self, name: &str) -> Option<f64> {
        match self.get(name) {
            Some(Value::Float(number)) => Some(*number),
            _ => None,
        }
    }
}

/// One chunk.
#[derive(Debug)]
pub(crate) struct Chunk<'a> {
    bytes: &'a [u8],
    pub head: Head,
    pub classes: Classes,
    /// Where each constant stands.
    constants: BTreeMap<(TypeId, i64), usize>,
    /// Where the fields of each event begin, types and constants apart.
    pub events: Vec<(TypeId, usize)>,
    /// Something was missing, or meant nothing.
    pub cut: bool,
    /// Events that were too many.
    pub left_out: u64,
    steps: Cell<u64>,
}

impl<'a> Chunk<'a> {
    /// The chunk at the beginning of these bytes; the rest is none of its business.
    pub fn read(bytes: &'a [u8], most_events: usize) -> Result<Self, Error> {
        let head = Head::read(bytes)?;
        let whole = head.size.filter(|&size| size <= bytes.len());
        let bytes = &bytes[..whole.unwrap_or(bytes.len())];
        let mut chunk = Self {
            bytes,
            head,
            classes: Classes::new(),
            constants: BTreeMap::new(),
            events: Vec::new(),
            cut: whole.is_none(),
            left_out: 0,
            steps: Cell::new(STEPS * bytes.len() as u64),
        };
        chunk.scan(most_events);
        Ok(chunk)
    }

    /// Its bytes.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Finds all events, and reads those that say how the others are read.
    fn scan(&mut self, most_events: usize) {
        let mut at = HEAD_BYTES;
        let mut constants = Vec::new();
        while at < self.bytes.len() {
            let mut cursor = Cursor::new(self.bytes, at);
            let size = cursor.long().and_then(|size| usize::try_from(size).ok());
            let id = cursor.long();
            let end = size.and_then(|size| at.checked_add(size)).filter(|&end| end <= self.bytes.len());
            let (Some(end), Some(id)) = (end, id) else {
                self.cut = true;
                break;
            };
            if end < cursor.at() {
                self.cut = true;
                break;
            }
            match id {
                // Each says all that the one before did.
                METADATA => match metadata::read(Cursor::new(&self.bytes[..end], cursor.at())) {
                    Some(classes) => self.classes = classes,
                    None => self.cut = true,
                },
                CONSTANTS => constants.push((cursor.at(), end)),
                _ if self.events.len() < most_events => self.events.push((id, cursor.at())),
                _ => self.left_out += 1,
            }
            at = end;
        }
        for (at, end) in constants {
            self.cut |= self.index(Cursor::new(&self.bytes[..end], at)).is_none();
        }
    }

    /// Keeps where each constant of such an event stands.
    fn index(&mut self, mut cursor: Cursor<'a>) -> Option<()> {
        let (_start, _duration, _before, _kind) =
            (cursor.long()?, cursor.long()?, cursor.long()?, cursor.byte()?);
        for _ in 0..cursor.count()? {
            let class = cursor.long()?;
            for _ in 0..cursor.count()? {
                let key = cursor.long()?;
                if self.constants.len() >= MOST_CONSTANTS {
                    return None;
                }
                self.constants.insert((class, key), cursor.at());
                self.skip(&mut cursor, class, 0)?;
            }
        }
        Some(())
    }

    /// Passes over all fields of this type.
    fn skip(&self, cursor: &mut Cursor<'a>, class: TypeId, depth: u32) -> Option<()> {
        self.one(cursor, class, false, depth).map(drop)
    }

    /// What stands in a field.
    fn value(&self, cursor: &mut Cursor<'a>, field: &Field, depth: u32) -> Option<Value<'a>> {
        if !field.list {
            return self.one(cursor, field.class, field.constant, depth);
        }
        let count = cursor.count()?;
        let at = cursor.at();
        for _ in 0..count {
            self.one(cursor, field.class, field.constant, depth)?;
        }
        Some(Value::List(field.class, count, at))
    }

    /// One value of this type.
    fn one(&self, cursor: &mut Cursor<'a>, class: TypeId, constant: bool, depth: u32) -> Option<Value<'a>> {
        self.steps.set(self.steps.get().checked_sub(1)?);
        if constant {
            return Some(Value::Constant(class, cursor.long()?));
        }
        let of = self.classes.get(&class)?;
        Some(match &*of.name {
            "boolean" | "byte" => Value::Number(i64::from(cursor.byte()?.cast_signed())),
            "char" | "short" | "int" | "long" => Value::Number(cursor.long()?),
            "float" => {
                Value::Float(f32::from_be_bytes(cursor.take(4)?.try_into().expect("it is 4 long")).into())
            }
            "double" => Value::Float(f64::from_be_bytes(cursor.take(8)?.try_into().expect("it is 8 long"))),
            "java.lang.String" => Value::Text(cursor.text()?),
            _ if depth > DEEPEST => return None,
            _ => {
                let at = cursor.at();
                for field in &of.fields {
                    self.value(cursor, field, depth + 1)?;
                }
                Value::Object(class, at)
            }
        })
    }

    /// The fields of an event, or of another value that stands at this place.
    pub fn object(&self, class: TypeId, at: usize) -> Option<Object<'a>> {
        let mut cursor = Cursor::new(self.bytes, at);
        let fields = self.classes.get(&class)?.fields.iter();
        let values = fields.map(|field| Some((field.name.clone(), self.value(&mut cursor, field, 1)?)));
        values.collect::<Option<Vec<_>>>().map(Object)
    }

    /// The fields of each object in a list of them.
    pub fn objects(
        &self,
        class: TypeId,
        count: usize,
        at: usize,
    ) -> impl Iterator<Item = Option<Object<'a>>> {
        let mut cursor = Cursor::new(self.bytes, at);
        (0..count).map(move |_| {
            let object = self.object(class, cursor.at())?;
            self.skip(&mut cursor, class, 1)?;
            Some(object)
        })
    }

    /// The constant of this key.
    pub fn constant(&self, class: TypeId, key: i64) -> Option<Object<'a>> {
        self.object(class, *self.constants.get(&(class, key))?)
    }

    /// The constant of this key, if its type is text.
    pub fn constant_text(&self, class: TypeId, key: i64) -> Option<Text<'a>> {
        match self.one(&mut Cursor::new(self.bytes, *self.constants.get(&(class, key))?), class, false, 1)? {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The number of the type with this name.
    pub fn class_of(&self, name: &str) -> Option<TypeId> {
        self.classes.iter().find(|(_, class)| *class.name == *name).map(|(&id, _)| id)
    }
}
