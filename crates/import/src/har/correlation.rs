//! Values that a later request takes from an earlier answer: without them a recorded flow seldom runs.
//!
//! A string or number of a JSON answer, or a hidden field of a page, no shorter than [`MIN_LENGTH`], that no request
//! had before, comes from the server. Where it is a whole word in a later request, it becomes `{name}`, and the step
//! in whose answer it first appeared extracts it. A value at several places of that answer is left alone: which one
//! was meant cannot be told.

use super::page;
use crate::placeholder::free_name;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// Shorter ones are seldom identifiers, and too often equal by chance.
const MIN_LENGTH: usize = 8;
/// A value without a digit is a word of the interface unless it is this long.
const MIN_IDENTIFIER: usize = 20;

/// Characters of a word, from the widest set to the narrowest: base64, then tokens with dots, then plain identifiers.
const WORD_CLASSES: [fn(u8) -> bool; 3] = [
    |b| b.is_ascii_alphanumeric() || b"-_.~+/=:@%!*$".contains(&b),
    |b| b.is_ascii_alphanumeric() || b"-_.~".contains(&b),
    |b| b.is_ascii_alphanumeric() || b"-_".contains(&b),
];

/// Values seen in answers so far.
#[derive(Default)]
pub(super) struct KnownValues {
    values: BTreeMap<String, ValueSource>,
    /// All words of requests so far: these are the client's own.
    request_words: BTreeSet<String>,
    names: BTreeSet<String>,
}

struct ValueSource {
    step: usize,
    /// `json:/order/id` or `regex:…`.
    locations: Vec<String>,
    /// The preferred name.
    preferred_name: String,
    /// Assigned on first use.
    name: Option<String>,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct ExtractedValue {
    pub step: usize,
    pub name: String,
    pub location: String,
}

impl KnownValues {
    /// Reserves names that a text contains in braces.
    pub(super) fn reserve_names(&mut self, text: &str) {
        let inner = text.split('{').skip(1).filter_map(|rest| rest.split_once('}'));
        self.names.extend(inner.map(|(name, _)| name.to_owned()));
    }

    /// Inserts `{name}` for each value known from an earlier answer. `ambiguous` collects the places of values that
    /// cannot be told apart.
    pub(super) fn substitute(&mut self, text: &str, ambiguous: &mut Vec<String>) -> String {
        let mut out = String::with_capacity(text.len());
        self.substitute_words(text, &WORD_CLASSES, ambiguous, &mut out);
        out
    }

    fn substitute_words(
        &mut self,
        text: &str,
        classes: &[fn(u8) -> bool],
        ambiguous: &mut Vec<String>,
        out: &mut String,
    ) {
        let [class, narrower @ ..] = classes else { return out.push_str(text) };
        let mut from = 0;
        for word in words(text, *class) {
            let Some(placeholder) = self.placeholder(&text[word.clone()], ambiguous) else { continue };
            self.substitute_words(&text[from..word.start], narrower, ambiguous, out);
            out.push_str(&placeholder);
            from = word.end;
        }
        self.substitute_words(&text[from..], narrower, ambiguous, out);
    }

    fn placeholder(&mut self, value: &str, ambiguous: &mut Vec<String>) -> Option<String> {
        let source = self.values.get_mut(value)?;
        if source.locations.len() > 1 {
            let locations =
                format!("{} of the answer to step {}", source.locations.join(" and "), source.step + 1);
            if !ambiguous.contains(&locations) {
                ambiguous.push(locations);
            }
            return None;
        }
        let name = source.name.get_or_insert_with(|| {
            let name = free_name(&source.preferred_name, |name| !self.names.contains(name));
            self.names.insert(name.clone());
            name
        });
        Some(format!("{{{name}}}"))
    }

    /// Whether a value is known and would be inserted.
    pub(super) fn knows(&self, value: &str) -> bool {
        self.values.get(value).is_some_and(|source| source.locations.len() == 1)
    }

    /// Records a request's words, as recorded in the HAR file.
    pub(super) fn add_request(&mut self, text: &str) {
        for class in WORD_CLASSES {
            for word in words(text, class) {
                self.request_words.insert(text[word].to_owned());
            }
        }
    }

    /// Records the values of a step's answer, if it is JSON or a page.
    pub(super) fn add_answer(&mut self, step: usize, media: &str, text: &str) {
        if media.contains("json") {
            if let Ok(value) = serde_json::from_str(text) {
                self.add_json(step, &value, &mut String::new());
            }
        } else if media.contains("html") {
            for page::PageValue { name, value, regex } in page::page_values(text) {
                self.add_value(step, &value, format!("regex:{regex}"), &name);
            }
        }
    }

    fn add_json(&mut self, step: usize, value: &Value, pointer: &mut String) {
        let length = pointer.len();
        match value {
            Value::Object(members) => {
                for (name, value) in members {
                    pointer.push('/');
                    pointer.push_str(&name.replace('~', "~0").replace('/', "~1"));
                    self.add_json(step, value, pointer);
                    pointer.truncate(length);
                }
            }
            Value::Array(items) => {
                for (at, value) in items.iter().enumerate() {
                    pointer.push_str(&format!("/{at}"));
                    self.add_json(step, value, pointer);
                    pointer.truncate(length);
                }
            }
            Value::String(text) => self.add_value(step, text, format!("json:{pointer}"), pointer),
            Value::Number(number) if number.is_i64() || number.is_u64() => {
                self.add_value(step, &number.to_string(), format!("json:{pointer}"), pointer);
            }
            _ => {}
        }
    }

    fn add_value(&mut self, step: usize, text: &str, location: String, pointer: &str) {
        let is_identifier = text.bytes().any(|b| b.is_ascii_digit()) || text.len() >= MIN_IDENTIFIER;
        let whole_word = text.bytes().all(WORD_CLASSES[0]);
        if text.len() < MIN_LENGTH || !is_identifier || !whole_word || self.request_words.contains(text) {
            return;
        }
        let new =
            || ValueSource { step, locations: Vec::new(), preferred_name: value_name(pointer), name: None };
        let source = self.values.entry(text.to_owned()).or_insert_with(new);
        if source.step == step {
            source.locations.push(location);
        }
    }

    /// All values that were inserted, in the order of their steps.
    pub(super) fn into_extractions(self) -> Vec<ExtractedValue> {
        let named = |source: ValueSource| {
            let name = source.name?;
            Some(ExtractedValue { step: source.step, name, location: source.locations.into_iter().next()? })
        };
        let mut extracted: Vec<_> = self.values.into_values().filter_map(named).collect();
        extracted.sort_by(|a, b| (a.step, &a.location).cmp(&(b.step, &b.location)));
        extracted
    }
}

fn words(text: &str, class: fn(u8) -> bool) -> Vec<Range<usize>> {
    let mut at = 0;
    let ranges = text.as_bytes().split(|b| !class(*b)).map(|word| {
        let start = at;
        at += word.len() + 1;
        start..start + word.len()
    });
    ranges.filter(|word| word.len() >= MIN_LENGTH).collect()
}

/// `/data/access_token` is `access_token`; `id` alone says too little, `/order/id` is `order_id`.
fn value_name(pointer: &str) -> String {
    let mut parts: Vec<String> = pointer
        .split('/')
        .filter(|part| part.bytes().any(|b| !b.is_ascii_digit()))
        .map(|part| part.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect())
        .collect();
    let last = parts.pop().unwrap_or_default();
    let vague = matches!(
        last.to_ascii_lowercase().as_str(),
        "id" | "uuid" | "key" | "value" | "name" | "code" | "counter"
    );
    let name = match parts.pop() {
        Some(before) if vague => format!("{before}_{last}"),
        _ => last,
    };
    let name = name.trim_matches('_');
    match name {
        "" => "value".to_owned(),
        "uuid" | "counter" | "redacted" => format!("the_{name}"),
        name if name.starts_with(|c: char| c.is_ascii_digit()) => format!("value_{name}"),
        name => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_pointers() {
        for (pointer, expected) in [
            ("/access_token", "access_token"),
            ("/data/accessToken", "accessToken"),
            ("/order/id", "order_id"),
            ("/items/0/id", "items_id"),
            ("/id", "id"),
            ("/uuid", "the_uuid"),
            ("/0/1", "value"),
            ("", "value"),
            ("/a b~1c", "a_b_1c"),
            ("/2fa", "value_2fa"),
        ] {
            assert_eq!(value_name(pointer), expected, "{pointer}");
        }
    }

    fn substitute(known: &mut KnownValues, text: &str) -> String {
        known.substitute(text, &mut Vec::new())
    }

    #[test]
    fn puts_in_what_an_answer_gave() {
        let mut known = KnownValues::default();
        known.add_request("/login?request=client-made-1");
        known.add_answer(
            0,
            "application/json",
            r#"{"token": "eyJh.12345.sig", "order": {"id": 1234567890}, "echo": "client-made-1", "short": "a1",
                "word": "products", "both": ["twice-1234", "twice-1234"], "b64": "ab+/cd12==", "id": "1234567890-x"}"#,
        );
        for (text, expected) in [
            ("/orders/1234567890/items", "/orders/{order_id}/items"),
            ("/orders/1234567890.json", "/orders/{order_id}.json"),
            ("/orders/12345678901", "/orders/12345678901"),
            ("/orders/1234567890-x", "/orders/{id}"),
            ("Bearer eyJh.12345.sig", "Bearer {token}"),
            (r#"{"t":"ab+/cd12=="}"#, r#"{"t":"{b64}"}"#),
            ("/products/client-made-1/a1", "/products/client-made-1/a1"),
            ("?a=eyJh.12345.sig&b=1234567890", "?a={token}&b={order_id}"),
        ] {
            assert_eq!(substitute(&mut known, text), expected);
        }
        let mut ambiguous = Vec::new();
        assert_eq!(known.substitute("/x/twice-1234", &mut ambiguous), "/x/twice-1234");
        assert_eq!(ambiguous, ["json:/both/0 and json:/both/1 of the answer to step 1"]);
        let extracted: Vec<_> = known
            .into_extractions()
            .into_iter()
            .map(|taken| format!("{}={}", taken.name, taken.location))
            .collect();
        assert_eq!(
            extracted,
            ["b64=json:/b64", "id=json:/id", "order_id=json:/order/id", "token=json:/token"]
        );
    }

    #[test]
    fn the_first_answer_counts_and_names_are_unique() {
        let mut known = KnownValues::default();
        known.reserve_names("a {token} b {");
        known.add_answer(0, "json", r#"{"token": "first-111"}"#);
        known.add_answer(1, "json", r#"{"token": "second-222", "again": "first-111"}"#);
        assert_eq!(substitute(&mut known, "/first-111/second-222"), "/{token_2}/{token_3}");
        let steps: Vec<_> = known.into_extractions().iter().map(|taken| taken.step).collect();
        assert_eq!(steps, [0, 1]);
    }
}
