//! Extracts a few values from a JSON text without building the rest of it.

use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor,
};
use serde_json::value::RawValue;
use std::fmt;

/// Most names of one pointer: serde_json itself parses no deeper than 128.
const DEPTH_LIMIT: usize = 100;

/// The wanted pointers as a tree of names: one pass over the text finds all.
#[derive(Debug, Default)]
pub(crate) struct PointerTree {
    root: Node,
    count: usize,
}

#[derive(Debug, Default)]
struct Node {
    /// The number of the value at this node, if wanted.
    number: Option<usize>,
    children: Vec<Child>,
}

#[derive(Debug)]
struct Child {
    name: String,
    /// The name as an array index, if it can be one.
    index: Option<usize>,
    node: Node,
}

/// The values found, by number; `None` if the text lacks them.
pub(crate) type FoundValues<'a> = Vec<Option<&'a RawValue>>;

impl PointerTree {
    /// Adds a JSON pointer (RFC 6901) and returns the number of its value.
    ///
    /// # Errors
    /// If it is no valid pointer, in words.
    pub fn add(&mut self, pointer: &str) -> Result<usize, String> {
        let mut node = &mut self.root;
        if !pointer.is_empty() {
            let names = pointer.strip_prefix('/').ok_or_else(|| {
                format!("'{pointer}' is not a JSON pointer: it must begin with /, as /{pointer}")
            })?;
            if names.split('/').count() > DEPTH_LIMIT {
                return Err(format!("a JSON pointer of more than {DEPTH_LIMIT} names"));
            }
            for name in names.split('/') {
                node = node.child(unescaped(name).ok_or_else(|| {
                    format!("'{pointer}' is not a JSON pointer: ~ stands only in ~0 (for ~) and ~1 (for /)")
                })?);
            }
        }
        let number = *node.number.get_or_insert(self.count);
        self.count = self.count.max(number + 1);
        Ok(number)
    }

    /// Finds all values in one pass.
    ///
    /// # Errors
    /// If the text is not JSON.
    pub fn find<'a>(&self, text: &'a str) -> serde_json::Result<FoundValues<'a>> {
        let mut found = vec![None; self.count];
        let mut json = serde_json::Deserializer::from_str(text);
        PointerVisitor { node: &self.root, found: &mut found }.deserialize(&mut json)?;
        json.end()?;
        Ok(found)
    }
}

impl Node {
    fn child(&mut self, name: String) -> &mut Self {
        let at = self.children.iter().position(|child| child.name == name).unwrap_or_else(|| {
            // No leading zeros, no sign: other spellings are only names of members.
            let index = name.parse().ok().filter(|index: &usize| index.to_string() == name);
            self.children.push(Child { name, index, node: Self::default() });
            self.children.len() - 1
        });
        &mut self.children[at].node
    }
}

fn unescaped(name: &str) -> Option<String> {
    let mut parts = name.split('~');
    let mut out = parts.next()?.to_owned();
    for part in parts {
        let (escape, rest) = part.split_at_checked(1)?;
        out.push_str(match escape {
            "0" => "~",
            "1" => "/",
            _ => return None,
        });
        out.push_str(rest);
    }
    Some(out)
}

/// Appends a value as a user means it: a string without quotes and escapes, an object or array without white
/// space between its parts, anything else as written.
///
/// # Errors
/// If an escape in a string means no character.
pub(crate) fn write_value(value: &RawValue, out: &mut Vec<u8>) -> serde_json::Result<()> {
    let text = value.get();
    match text.as_bytes() {
        [b'"', inner @ .., b'"'] if !inner.contains(&b'\\') => out.extend_from_slice(inner),
        [b'"', ..] => out.extend_from_slice(serde_json::from_str::<String>(text)?.as_bytes()),
        [b'{' | b'[', ..] => {
            let (mut quoted, mut escaped) = (false, false);
            out.extend(text.bytes().filter(|&byte| {
                if escaped {
                    escaped = false;
                } else {
                    quoted ^= byte == b'"';
                    escaped = byte == b'\\';
                }
                quoted || !byte.is_ascii_whitespace()
            }));
        }
        plain => out.extend_from_slice(plain),
    }
    Ok(())
}

/// Visits one value of the text, within which something is wanted.
struct PointerVisitor<'w, 'f, 'a> {
    node: &'w Node,
    found: &'f mut [Option<&'a RawValue>],
}

impl<'a> DeserializeSeed<'a> for PointerVisitor<'_, '_, 'a> {
    type Value = ();

    fn deserialize<D: Deserializer<'a>>(self, from: D) -> Result<(), D::Error> {
        let Some(number) = self.node.number else { return from.deserialize_any(self) };
        let value = <&RawValue>::deserialize(from)?;
        self.found[number] = Some(value);
        if self.node.children.is_empty() {
            return Ok(());
        }
        // Wanted as a whole and in parts: a second pass finds the parts.
        serde_json::Deserializer::from_str(value.get()).deserialize_any(self).map_err(D::Error::custom)
    }
}

impl<'a> Visitor<'a> for PointerVisitor<'_, '_, 'a> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }

    fn visit_map<A: MapAccess<'a>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(child) = map.next_key_seed(MemberName(&self.node.children))? {
            match child {
                Some(node) => map.next_value_seed(PointerVisitor { node, found: &mut *self.found })?,
                None => _ = map.next_value::<IgnoredAny>()?,
            }
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'a>>(self, mut seq: A) -> Result<(), A::Error> {
        for index in 0.. {
            let child = self.node.children.iter().find(|child| child.index == Some(index));
            let more = match child {
                Some(Child { node, .. }) => {
                    seq.next_element_seed(PointerVisitor { node, found: &mut *self.found })?.is_some()
                }
                None => seq.next_element::<IgnoredAny>()?.is_some(),
            };
            if !more {
                break;
            }
        }
        Ok(())
    }

    // Any other value has no children.
    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }
    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }
    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }
    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }
    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }
    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
}

/// Maps a member's name to the child that it leads to, if any.
struct MemberName<'w>(&'w [Child]);

impl<'a, 'w> DeserializeSeed<'a> for MemberName<'w> {
    type Value = Option<&'w Node>;

    fn deserialize<D: Deserializer<'a>>(self, from: D) -> Result<Self::Value, D::Error> {
        from.deserialize_str(self)
    }
}

impl<'w> Visitor<'_> for MemberName<'w> {
    type Value = Option<&'w Node>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a member")
    }

    fn visit_str<E>(self, name: &str) -> Result<Self::Value, E> {
        Ok(self.0.iter().find(|child| child.name == name).map(|child| &child.node))
    }
}

#[cfg(test)]
mod tests;
