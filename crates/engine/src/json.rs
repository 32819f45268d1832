//! Reads a few values out of a JSON text without building the rest of it.

use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor,
};
use serde_json::value::RawValue;
use std::fmt;

/// Most names of one pointer: serde_json itself reads no deeper than 128.
const DEPTH_LIMIT: usize = 100;

/// The places whose values are wanted, as a tree of names: one pass over the text finds all.
#[derive(Debug, Default)]
pub(crate) struct Wanted {
    root: Node,
    count: usize,
}

#[derive(Debug, Default)]
struct Node {
    /// Number of the value at this very place, if it is wanted.
    number: Option<usize>,
    children: Vec<Child>,
}

#[derive(Debug)]
struct Child {
    name: String,
    /// The name as a place in an array, if it can be one.
    index: Option<usize>,
    node: Node,
}

/// The values found, by their numbers; none where the text has no such place.
pub(crate) type Found<'a> = Vec<Option<&'a RawValue>>;

impl Wanted {
    /// Adds a place by its JSON pointer (RFC 6901) and returns the number of its value.
    ///
    /// # Errors
    /// If it is no such pointer, in words.
    pub fn add(&mut self, pointer: &str) -> Result<usize, String> {
        let mut node = &mut self.root;
        if !pointer.is_empty() {
            let names = pointer.strip_prefix('/').ok_or_else(|| {
                format!("'{pointer}' is no JSON pointer: it must begin with /, as /{pointer}")
            })?;
            if names.split('/').count() > DEPTH_LIMIT {
                return Err(format!("a JSON pointer of more than {DEPTH_LIMIT} names"));
            }
            for name in names.split('/') {
                node = node.child(unescaped(name).ok_or_else(|| {
                    format!("'{pointer}' is no JSON pointer: ~ stands only in ~0 (for ~) and ~1 (for /)")
                })?);
            }
        }
        let number = *node.number.get_or_insert(self.count);
        self.count = self.count.max(number + 1);
        Ok(number)
    }

    /// Looks up all values in one pass.
    ///
    /// # Errors
    /// If the text is not JSON.
    pub fn find<'a>(&self, text: &'a str) -> serde_json::Result<Found<'a>> {
        let mut found = vec![None; self.count];
        let mut json = serde_json::Deserializer::from_str(text);
        Walk { node: &self.root, found: &mut found }.deserialize(&mut json)?;
        json.end()?;
        Ok(found)
    }
}

impl Node {
    fn child(&mut self, name: String) -> &mut Self {
        let at = self.children.iter().position(|child| child.name == name).unwrap_or_else(|| {
            // No leading zeros, no sign: other spellings are names of members only.
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

/// Appends a value as a user means it: a string without quotes and escapes, an object or array
/// without white space between its parts, anything else as it is written.
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

/// At one place of the text, below which something is wanted.
struct Walk<'w, 'f, 'a> {
    node: &'w Node,
    found: &'f mut [Option<&'a RawValue>],
}

impl<'a> DeserializeSeed<'a> for Walk<'_, '_, 'a> {
    type Value = ();

    fn deserialize<D: Deserializer<'a>>(self, from: D) -> Result<(), D::Error> {
        let Some(number) = self.node.number else { return from.deserialize_any(self) };
        let value = <&RawValue>::deserialize(from)?;
        self.found[number] = Some(value);
        if self.node.children.is_empty() {
            return Ok(());
        }
        // Wanted as a whole and in parts: the parts take a second look.
        serde_json::Deserializer::from_str(value.get()).deserialize_any(self).map_err(D::Error::custom)
    }
}

impl<'a> Visitor<'a> for Walk<'_, '_, 'a> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }

    fn visit_map<A: MapAccess<'a>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(child) = map.next_key_seed(Name(&self.node.children))? {
            match child {
                Some(node) => map.next_value_seed(Walk { node, found: &mut *self.found })?,
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
                    seq.next_element_seed(Walk { node, found: &mut *self.found })?.is_some()
                }
                None => seq.next_element::<IgnoredAny>()?.is_some(),
            };
            if !more {
                break;
            }
        }
        Ok(())
    }

    // Below any other value there is no place.
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

/// The name of a member: which child it leads to, if any.
struct Name<'w>(&'w [Child]);

impl<'a, 'w> DeserializeSeed<'a> for Name<'w> {
    type Value = Option<&'w Node>;

    fn deserialize<D: Deserializer<'a>>(self, from: D) -> Result<Self::Value, D::Error> {
        from.deserialize_str(self)
    }
}

impl<'w> Visitor<'_> for Name<'w> {
    type Value = Option<&'w Node>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a member")
    }

    fn visit_str<E>(self, name: &str) -> Result<Self::Value, E> {
        Ok(self.0.iter().find(|child| child.name == name).map(|child| &child.node))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::Value;

    fn look(text: &str, pointers: &[&str]) -> Vec<Option<String>> {
        let mut wanted = Wanted::default();
        let numbers: Vec<_> = pointers.iter().map(|p| wanted.add(p).expect(p)).collect();
        let found = wanted.find(text).expect(text);
        let shown = |number: usize| {
            let mut out = Vec::new();
            write_value(found[number]?, &mut out).expect(text);
            Some(String::from_utf8(out).expect("JSON is UTF-8"))
        };
        numbers.into_iter().map(shown).collect()
    }

    /// The example of RFC 6901, section 5.
    #[test]
    fn pointers_mean_what_the_standard_says() {
        let text = r#"{"foo": ["bar", "baz"], "": 0, "a/b": 1, "c%d": 2, "e^f": 3, "g|h": 4, "i\\j": 5,
            "k\"l": 6, " ": 7, "m~n": 8}"#;
        let pointers =
            ["/foo", "/foo/0", "/", "/a~1b", "/c%d", "/e^f", "/g|h", "/i\\j", "/k\"l", "/ ", "/m~0n"];
        let values = [r#"["bar","baz"]"#, "bar", "0", "1", "2", "3", "4", "5", "6", "7", "8"];
        assert_eq!(look(text, &pointers), values.map(|v| Some(v.to_owned())));
        for pointer in pointers {
            assert_eq!(look(text, &[pointer]).len(), 1);
        }
        assert_eq!(look(" [1 , \"a  b\\\"  c\"] ", &[""]), [Some("[1,\"a  b\\\"  c\"]".to_owned())]);
    }

    #[test]
    fn values_are_written_as_users_mean_them() {
        for (text, expected) in [
            (r#"{"v": "plain"}"#, Some("plain")),
            (r#"{"v": "with \"quotes\" and \u00fc"}"#, Some("with \"quotes\" and ü")),
            (r#"{"v": ""}"#, Some("")),
            (r#"{"v": 1.50}"#, Some("1.50")),
            (r#"{"v": 123456789012345678901234567890}"#, Some("123456789012345678901234567890")),
            (r#"{"v": true}"#, Some("true")),
            (r#"{"v": null}"#, Some("null")),
            (r#"{"v": {"b": [1, {}],  "a": "x y"}}"#, Some(r#"{"b":[1,{}],"a":"x y"}"#)),
            (r#"{"w": {"v": 1}}"#, None),
            (r#"{"\u0076": 1}"#, Some("1")),
            ("[1, 2]", None),
            ("7", None),
            ("\"v\"", None),
        ] {
            assert_eq!(look(text, &["/v"]), [expected.map(str::to_owned)], "{text}");
        }
        assert_eq!(
            look("[[1, 2], [3]]", &["/1/0", "/0", "/01", "/-", "/0/1", "/5"])[0].as_deref(),
            Some("3")
        );
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (pointer, why) in [
            ("token", "must begin with /, as /token"),
            ("$.token", "must begin with /"),
            ("/a~2", "~ stands only in"),
            ("/a~", "~ stands only in"),
            ("/~ü", "~ stands only in"),
        ] {
            let error = Wanted::default().add(pointer).expect_err(pointer);
            assert!(error.contains(why), "{pointer}: {error}");
        }
        assert!(Wanted::default().add(&"/a".repeat(101)).is_err());
        let mut wanted = Wanted::default();
        wanted.add("/a").expect("a pointer");
        for text in ["", "{", "<html>", "{\"a\": 1} x", "{\"a\": }", "{\"a\": 1,}", "{\"a\" 1}"] {
            assert!(wanted.find(text).is_err(), "{text}");
        }
        let found = wanted.find(r#"{"a": "\ud800"}"#).expect("a string");
        assert!(write_value(found[0].expect("there"), &mut Vec::new()).is_err());
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<String>().prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 40, 5, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
                proptest::collection::btree_map("[a-c/~0-2\"]{0,2}", inner, 0..5)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        /// The same as serde_json, which builds the whole tree, says of the same pointers.
        #[test]
        fn finds_what_a_whole_tree_has(
            json in any_json(),
            pointers in proptest::collection::vec("(/([a-c\"0-2]|~0|~1){0,2}){0,3}", 1..6),
            pretty in any::<bool>(),
        ) {
            let text = if pretty { serde_json::to_string_pretty(&json) } else { serde_json::to_string(&json) };
            let names: Vec<&str> = pointers.iter().map(String::as_str).collect();
            let found = look(&text.expect("serialises"), &names);
            for (pointer, found) in names.iter().zip(found) {
                let truth = json.pointer(pointer).map(|value| match value {
                    Value::String(text) => text.clone(),
                    other => other.to_string(),
                });
                prop_assert_eq!(found, truth, "{}", pointer);
            }
        }

        #[test]
        fn garbage_never_panics(text in any::<String>(), pointer in any::<String>()) {
            let mut wanted = Wanted::default();
            wanted.add("/a/0").expect("a pointer");
            wanted.add("/a").expect("a pointer");
            let _ = wanted.add(&pointer);
            let _ = wanted.find(&text);
        }

        #[test]
        fn broken_json_never_panics(json in any_json(), at in any::<prop::sample::Index>(), with in "[\\[\\]{}\",:a0\\\\]") {
            let mut text = json.to_string();
            let at = at.index(text.len());
            if text.is_char_boundary(at) {
                text.insert_str(at, &with);
            }
            let mut wanted = Wanted::default();
            for pointer in ["", "/a", "/a/0", "/0"] {
                wanted.add(pointer).expect("a pointer");
            }
            for value in wanted.find(&text).unwrap_or_default().into_iter().flatten() {
                let _ = write_value(value, &mut Vec::new());
            }
        }
    }
}
