//! Values that a later request takes from an earlier answer: without them a recorded flow seldom runs.
//!
//! A string or number of a JSON answer, or a hidden field of a page, no shorter than [`SHORTEST`], that no request
//! had before, comes from the server. Where it is a whole word in a later request, it becomes `{name}`, and the step
//! in whose answer it first appeared extracts it. A value at several places of that answer is left alone: which one
//! was meant cannot be told.

use super::page;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// Shorter ones are seldom identifiers, and too often equal by chance.
const SHORTEST: usize = 8;
/// A value without a digit is a word of the interface unless it is this long.
const SURELY_NO_WORD: usize = 20;

/// Characters of a word, from the widest set to the narrowest: base64, then tokens with dots, then plain identifiers.
const WORDS: [fn(u8) -> bool; 3] = [
    |b| b.is_ascii_alphanumeric() || b"-_.~+/=:@%!*$".contains(&b),
    |b| b.is_ascii_alphanumeric() || b"-_.~".contains(&b),
    |b| b.is_ascii_alphanumeric() || b"-_".contains(&b),
];

/// Values seen in answers so far.
#[derive(Default)]
pub(super) struct KnownValues {
    values: BTreeMap<String, ValueSource>,
    /// All words of requests so far: these are the client's own.
    asked: BTreeSet<String>,
    names: BTreeSet<String>,
}

struct ValueSource {
    step: usize,
    /// `json:/order/id` or `regex:…`.
    places: Vec<String>,
    /// The preferred name.
    wish: String,
    /// Assigned on first use.
    name: Option<String>,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct ExtractedValue {
    pub step: usize,
    pub name: String,
    pub place: String,
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
        self.put_in_words(text, &WORDS, ambiguous, &mut out);
        out
    }

    fn put_in_words(
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
            self.put_in_words(&text[from..word.start], narrower, ambiguous, out);
            out.push_str(&placeholder);
            from = word.end;
        }
        self.put_in_words(&text[from..], narrower, ambiguous, out);
    }

    fn placeholder(&mut self, value: &str, ambiguous: &mut Vec<String>) -> Option<String> {
        let source = self.values.get_mut(value)?;
        if source.places.len() > 1 {
            let places = format!("{} of the answer to step {}", source.places.join(" and "), source.step + 1);
            if !ambiguous.contains(&places) {
                ambiguous.push(places);
            }
            return None;
        }
        let name = source.name.get_or_insert_with(|| {
            let wish = &source.wish;
            let free = |name: &String| !self.names.contains(name);
            let name =
                Some(wish.clone()).filter(free).or_else(|| (2..).map(|n| format!("{wish}_{n}")).find(free));
            let name = name.expect("numbers do not end");
            self.names.insert(name.clone());
            name
        });
        Some(format!("{{{name}}}"))
    }

    /// Whether a value is known and would be inserted.
    pub(super) fn knows(&self, value: &str) -> bool {
        self.values.get(value).is_some_and(|source| source.places.len() == 1)
    }

    /// Records a request's words, as recorded in the HAR file.
    pub(super) fn add_request(&mut self, text: &str) {
        for class in WORDS {
            for word in words(text, class) {
                self.asked.insert(text[word].to_owned());
            }
        }
    }

    /// Records the values of a step's answer, if it is JSON or a page.
    pub(super) fn add_answer(&mut self, step: usize, media: &str, text: &str) {
        if media.contains("json") {
            if let Ok(value) = serde_json::from_str(text) {
                self.learn(step, &value, &mut String::new());
            }
        } else if media.contains("html") {
            for page::PageValue { name, value, regex } in page::page_values(text) {
                self.learn_value(step, &value, format!("regex:{regex}"), &name);
            }
        }
    }

    fn learn(&mut self, step: usize, value: &Value, pointer: &mut String) {
        let length = pointer.len();
        match value {
            Value::Object(members) => {
                for (name, value) in members {
                    pointer.push('/');
                    pointer.push_str(&name.replace('~', "~0").replace('/', "~1"));
                    self.learn(step, value, pointer);
                    pointer.truncate(length);
                }
            }
            Value::Array(items) => {
                for (at, value) in items.iter().enumerate() {
                    pointer.push_str(&format!("/{at}"));
                    self.learn(step, value, pointer);
                    pointer.truncate(length);
                }
            }
            Value::String(text) => self.learn_value(step, text, format!("json:{pointer}"), pointer),
            Value::Number(number) if number.is_i64() || number.is_u64() => {
                self.learn_value(step, &number.to_string(), format!("json:{pointer}"), pointer);
            }
            _ => {}
        }
    }

    fn learn_value(&mut self, step: usize, text: &str, place: String, pointer: &str) {
        let no_word = text.bytes().any(|b| b.is_ascii_digit()) || text.len() >= SURELY_NO_WORD;
        let whole_word = text.bytes().all(WORDS[0]);
        if text.len() < SHORTEST || !no_word || !whole_word || self.asked.contains(text) {
            return;
        }
        let new = || ValueSource { step, places: Vec::new(), wish: name(pointer), name: None };
        let source = self.values.entry(text.to_owned()).or_insert_with(new);
        if source.step == step {
            source.places.push(place);
        }
    }

    /// All values that were inserted, in the order of their steps.
    pub(super) fn into_extractions(self) -> Vec<ExtractedValue> {
        let named = |source: ValueSource| {
            let name = source.name?;
            Some(ExtractedValue { step: source.step, name, place: source.places.into_iter().next()? })
        };
        let mut taken: Vec<_> = self.values.into_values().filter_map(named).collect();
        taken.sort_by(|a, b| (a.step, &a.place).cmp(&(b.step, &b.place)));
        taken
    }
}

fn words(text: &str, class: fn(u8) -> bool) -> Vec<Range<usize>> {
    let (mut words, mut from) = (Vec::new(), None);
    for (at, b) in text.bytes().enumerate() {
        match (class(b), from) {
            (true, None) => from = Some(at),
            (false, Some(start)) => {
                words.push(start..at);
                from = None;
            }
            _ => {}
        }
    }
    words.extend(from.map(|start| start..text.len()));
    words.retain(|word| word.len() >= SHORTEST);
    words
}

/// `/data/access_token` is `access_token`; `id` alone says too little, `/order/id` is `order_id`.
fn name(pointer: &str) -> String {
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
            assert_eq!(name(pointer), expected, "{pointer}");
        }
    }

    fn put_in(known: &mut KnownValues, text: &str) -> String {
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
            assert_eq!(put_in(&mut known, text), expected);
        }
        let mut ambiguous = Vec::new();
        assert_eq!(known.substitute("/x/twice-1234", &mut ambiguous), "/x/twice-1234");
        assert_eq!(ambiguous, ["json:/both/0 and json:/both/1 of the answer to step 1"]);
        let taken: Vec<_> = known
            .into_extractions()
            .into_iter()
            .map(|taken| format!("{}={}", taken.name, taken.place))
            .collect();
        assert_eq!(taken, ["b64=json:/b64", "id=json:/id", "order_id=json:/order/id", "token=json:/token"]);
    }

    #[test]
    fn the_first_answer_counts_and_names_are_unique() {
        let mut known = KnownValues::default();
        known.reserve_names("a {token} b {");
        known.add_answer(0, "json", r#"{"token": "first-111"}"#);
        known.add_answer(1, "json", r#"{"token": "second-222", "again": "first-111"}"#);
        assert_eq!(put_in(&mut known, "/first-111/second-222"), "/{token_2}/{token_3}");
        let steps: Vec<_> = known.into_extractions().iter().map(|taken| taken.step).collect();
        assert_eq!(steps, [0, 1]);
    }
}
