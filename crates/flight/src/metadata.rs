//! What a chunk says of itself: its types and their fields. Which fields an event has differs between versions of Java, so
//! that nothing is known of them but their names.

use crate::cursor::{Cursor, Text};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Elements stand in elements: root, metadata, class, field, annotation.
const DEEPEST: u32 = 8;

/// The number of a type in one chunk.
pub(crate) type TypeId = i64;

/// A type.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Class {
    pub name: Arc<str>,
    pub fields: Vec<Field>,
}

/// A field of a type.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Field {
    pub name: Arc<str>,
    pub class: TypeId,
    /// What stands there is the key of a constant.
    pub constant: bool,
    /// What stands there is their number, and then so many.
    pub list: bool,
}

pub(crate) type Classes = BTreeMap<TypeId, Class>;

/// Reads the body of such an event, behind its size and its number. None if it is damaged.
pub(crate) fn read(mut cursor: Cursor<'_>) -> Option<Classes> {
    let (_start, _duration, _id) = (cursor.long()?, cursor.long()?, cursor.long()?);
    let mut texts = Vec::new();
    for _ in 0..cursor.count()? {
        texts.push(match cursor.text()? {
            Text::Here(text) => Arc::from(text),
            Text::Null | Text::Constant(_) => Arc::from(""),
        });
    }
    let mut reading = Reading { cursor, texts, classes: Classes::new() };
    reading.element(None, 0)?;
    Some(reading.classes)
}

struct Reading<'a> {
    cursor: Cursor<'a>,
    texts: Vec<Arc<str>>,
    classes: Classes,
}

impl Reading<'_> {
    fn text(&mut self) -> Option<Arc<str>> {
        let index = usize::try_from(self.cursor.long()?).ok()?;
        self.texts.get(index).cloned()
    }

    /// An element with all that is in it; within this type, if it is in one.
    fn element(&mut self, within: Option<TypeId>, depth: u32) -> Option<()> {
        if depth > DEEPEST {
            return None;
        }
        let kind = self.text()?;
        let mut name = Arc::from("");
        let (mut id, mut class) = (None, None);
        let (mut constant, mut list) = (false, false);
        for _ in 0..self.cursor.count()? {
            let (key, value) = (self.text()?, self.text()?);
            match &*key {
                "name" => name = value,
                "id" => id = value.parse().ok(),
                "class" => class = value.parse().ok(),
                "constantPool" => constant = *value == *"true",
                "dimension" => list = *value != *"0",
                _ => {}
            }
        }
        let mut inside = within;
        match &*kind {
            "class" => {
                inside = Some(id?);
                self.classes.insert(id?, Class { name, fields: Vec::new() });
            }
            "field" => {
                let of = self.classes.get_mut(&within?)?;
                of.fields.push(Field { name, class: class?, constant, list });
            }
            _ => {}
        }
        for _ in 0..self.cursor.count()? {
            self.element(inside, depth + 1)?;
        }
        Some(())
    }
}
