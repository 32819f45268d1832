//! The page itself, and a document put into it.

use serde::Serialize;
use view::document::Document;

/// What `make page` has built, or `fallback.html`.
pub(crate) const PAGE: &str = include_str!(concat!(env!("OUT_DIR"), "/page.html"));

/// Where the page looks for a document before it asks a server for one; the fallback has no such place.
const PLACE: &str = "id=\"document\">null</script>";

/// Whether this binary holds the page, not only words about it.
pub fn is_built() -> bool {
    PAGE.contains(PLACE)
}

/// The page with the document in it: one file that shows the run anywhere, without a server or a network. None if this
/// binary was built without the page.
///
/// Its size follows the rows of the document's timeline: [`crate::ROWS`] are meant.
pub fn freeze(document: &Document) -> Option<String> {
    frozen(PAGE, &json(document))
}

/// Part of a document, or all of it.
pub(crate) fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("a document has only string keys and no foreign types")
}

/// JSON where the place is.
fn frozen(page: &str, json: &str) -> Option<String> {
    let at = page.find(PLACE)? + PLACE.find("null").expect("it stands there");
    let (before, after) = page.split_at(at);
    let mut whole = String::with_capacity(page.len() + json.len());
    whole.push_str(before);
    harmless(json, &mut whole);
    whole.push_str(after.strip_prefix("null").expect("it was found there"));
    Some(whole)
}

/// JSON as it may stand inside a script element: no text in it can end the element or begin a comment, and no line ends
/// that a script does not know. All three stand only in strings, where an escape means the same.
fn harmless(json: &str, to: &mut String) {
    for c in json.chars() {
        match c {
            '<' => to.push_str("\\u003c"),
            '\u{2028}' => to.push_str("\\u2028"),
            '\u{2029}' => to.push_str("\\u2029"),
            c => to.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;
    use view::document::{Front, Head, Timeline};

    const SMALL: &str =
        "<html><script type=\"application/json\" id=\"document\">null</script><p>null</p></html>";

    fn with(target: &str) -> Document {
        let head = Head { target: target.to_owned(), ..Head::default() };
        Document {
            schema: view::document::SCHEMA,
            front: Front { head, ..Front::default() },
            timeline: Timeline { at: vec![0.5, 1.5], columns: Vec::new() },
        }
    }

    /// The text of the one script element, as a browser finds it.
    fn inside(page: &str) -> &str {
        let begin = page.find("id=\"document\">").expect("the element") + "id=\"document\">".len();
        let end = page[begin..].find("</script").expect("its end");
        &page[begin..begin + end]
    }

    #[test]
    fn what_is_frozen_reads_back() {
        for target in [
            "http://127.0.0.1/",
            "</script><script>alert(1)</script>",
            "<!--<script>",
            "a\u{2028}b\u{2029}c",
            "\"quoted\" \\ back\nline",
            "null</script>",
        ] {
            let document = with(target);
            let page = frozen(SMALL, &json(&document)).expect("there is a place");
            assert_eq!(page.matches("<script").count(), 1, "{page}");
            assert!(!page.contains(['\u{2028}', '\u{2029}']), "{page}");
            let json: Value = serde_json::from_str(inside(&page)).expect("JSON");
            assert_eq!(json["front"]["head"]["target"], target);
            assert_eq!(json["timeline"]["at"][1], 1.5);
            assert!(page.ends_with("</script><p>null</p></html>"), "only the first place is taken: {page}");
        }
    }

    #[test]
    fn a_page_without_a_place_is_none() {
        assert_eq!(frozen("<html></html>", "{}"), None);
        let fallback = include_str!("fallback.html");
        assert_eq!(frozen(fallback, "{}"), None);
        assert!(fallback.contains("make page build"));
    }

    #[test]
    fn the_page_of_this_binary_is_one_of_the_two() {
        let document = with("http://127.0.0.1/");
        assert_eq!(freeze(&document).is_some(), is_built());
        assert_eq!(
            PAGE == include_str!("fallback.html"),
            !is_built(),
            "what npm built has no place for a document"
        );
    }
}
