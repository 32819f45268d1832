//! The page itself, and a document embedded in it.

use serde::Serialize;
use view::document::{Document, PageFront};
use view::{Text, escape_xml};

/// Built by `make page`, or `fallback.html`.
pub(crate) const PAGE: &str = include_str!(concat!(env!("OUT_DIR"), "/page.html"));

/// Where the page looks for an embedded document before it asks a server; the fallback has no such place.
const DOCUMENT_SLOT: &str = "id=\"document\">null</script>";
/// Behind it, where the page looks for its downloadable picture.
const PICTURE_SLOT: &str = "id=\"picture\">null</script>";
/// Preceded by what a chat or a search engine shows for a link to the page: neither runs its script.
const TITLE: &str = "<title>";

/// Whether this binary contains the page, not only the fallback.
pub fn is_built() -> bool {
    PAGE.contains(DOCUMENT_SLOT)
}

/// The page with an embedded document: one file that shows the run anywhere, without a server or a network. None if
/// this binary was built without the page.
///
/// Its size grows with the rows of the document's timeline, which should be [`crate::ROWS`].
pub fn freeze(document: &Document) -> Option<String> {
    let picture = json(&view::svg(document));
    insert_document(PAGE, &meta_tags(&document.front), &json(document), &picture)
}

/// Which run it is, and its verdict.
fn meta_tags(front: &PageFront) -> String {
    let verdict = front.verdict.first().map_or("nothing is known yet".to_owned(), Text::to_plain);
    let (run, verdict) = (escape_xml(&front.head.title()), escape_xml(&verdict));
    format!(
        "<meta property=\"og:title\" content=\"{run}\" />\n\
         <meta property=\"og:description\" content=\"{verdict}\" />\n\
         <meta name=\"description\" content=\"{verdict}\" />\n"
    )
}

pub(crate) fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("a document has only string keys and no foreign types")
}

/// Inserts the JSON of the document and of the picture at their places, and the summary before the title.
fn insert_document(page: &str, about: &str, json: &str, picture: &str) -> Option<String> {
    let (before, after) = split_at_slot(page, DOCUMENT_SLOT)?;
    let (head, before) = before.split_at(before.find(TITLE)?);
    let (between, after) = split_at_slot(after, PICTURE_SLOT)?;
    let mut whole = String::with_capacity(page.len() + about.len() + json.len() + picture.len());
    [head, about, before].into_iter().for_each(|part| whole.push_str(part));
    escape_script(json, &mut whole);
    whole.push_str(between);
    escape_script(picture, &mut whole);
    whole.push_str(after);
    Some(whole)
}

/// The page before and after the `null` of a place.
fn split_at_slot<'p>(page: &'p str, slot: &str) -> Option<(&'p str, &'p str)> {
    let (before, rest) = page.split_at(page.find(slot)? + slot.find("null").expect("it stands there"));
    Some((before, rest.strip_prefix("null").expect("it was found there")))
}

/// Escapes JSON for a script element: no text in it can end the element or begin a comment, and there are no line
/// terminators that JavaScript rejects. All three occur only in strings, where an escape means the same.
fn escape_script(json: &str, to: &mut String) {
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
    use view::document::{PageHeader, Timeline};

    const SMALL_PAGE: &str = "<html><title>t</title>\
        <script type=\"application/json\" id=\"document\">null</script>\
        <script type=\"application/json\" id=\"picture\">null</script><p>null</p></html>";

    fn document_for(target: &str) -> Document {
        let head = PageHeader { target: target.to_owned(), ..PageHeader::default() };
        Document {
            schema: view::document::SCHEMA,
            front: PageFront { head, ..PageFront::default() },
            timeline: Timeline { at: vec![0.5, 1.5], columns: Vec::new() },
        }
    }

    /// The text of a script element, as a browser finds it.
    fn inside<'p>(page: &'p str, id: &str) -> &'p str {
        let id = format!("id=\"{id}\">");
        let begin = page.find(&id).expect("the element") + id.len();
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
            let document = document_for(target);
            let page = insert_document(SMALL_PAGE, "", &json(&document), &json(&Some(target)))
                .expect("there is a place");
            assert_eq!(page.matches("<script").count(), 2, "{page}");
            assert!(!page.contains(['\u{2028}', '\u{2029}']), "{page}");
            let json: Value = serde_json::from_str(inside(&page, "document")).expect("JSON");
            assert_eq!(json["front"]["head"]["target"], target);
            assert_eq!(json["timeline"]["at"][1], 1.5);
            let picture: Value = serde_json::from_str(inside(&page, "picture")).expect("JSON");
            assert_eq!(picture, target);
            assert!(page.ends_with("</script><p>null</p></html>"), "only the first place is taken: {page}");
        }
    }

    #[test]
    fn a_link_to_it_is_shown_with_its_verdict() {
        let mut document = document_for("http://h/?a=<b>&c=\"");
        document.front.verdict =
            vec![Text::plain("holds 9/s").with_plain("   (between 8 & 10)"), Text::plain("then")];
        let page =
            insert_document(SMALL_PAGE, &meta_tags(&document.front), "{}", "null").expect("there is a place");
        for expected in [
            "<html><meta property=\"og:title\" content=\"torment http://h/?a=&lt;b&gt;&amp;c=&quot;\" />\n",
            "<meta property=\"og:description\" content=\"holds 9/s (between 8 &amp; 10)\" />\n",
            "<meta name=\"description\" content=\"holds 9/s (between 8 &amp; 10)\" />\n<title>t</title>",
        ] {
            assert!(page.contains(expected), "no {expected} in {page}");
        }
        assert!(meta_tags(&PageFront::default()).contains("nothing is known yet"));
    }

    #[test]
    fn a_page_without_a_place_is_none() {
        assert_eq!(insert_document("<html></html>", "", "{}", "null"), None);
        let fallback = include_str!("fallback.html");
        assert_eq!(insert_document(fallback, "", "{}", "null"), None);
        assert!(fallback.contains("make page build"));
    }

    #[test]
    fn the_page_of_this_binary_is_one_of_the_two() {
        let document = document_for("http://127.0.0.1/");
        assert_eq!(freeze(&document).is_some(), is_built());
        assert_eq!(
            PAGE == include_str!("fallback.html"),
            !is_built(),
            "what npm built has no place for a document"
        );
    }
}
