//! Values that a page provides for the next request: hidden fields and tokens in its head.

use regex::escape;

/// A value, its name, and a regular expression that finds it in such a page.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct PageValue {
    pub name: String,
    pub value: String,
    pub regex: String,
}

/// Longer tags contain more than a field.
const MAX_TAG: usize = 400;

/// The hidden fields and `<meta>` values of an HTML page.
pub(super) fn page_values(page: &str) -> Vec<PageValue> {
    let mut found: Vec<PageValue> = Vec::new();
    for (at, _) in page.match_indices('<') {
        let tag = &page[at..];
        let Some(tag) = tag.find('>').filter(|&end| end <= MAX_TAG).map(|end| &tag[..=end]) else {
            continue;
        };
        let (lower, value) = (tag.to_ascii_lowercase(), "value");
        let value = if lower.starts_with("<input") && lower.contains("hidden") {
            value
        } else if lower.starts_with("<meta") {
            "content"
        } else {
            continue;
        };
        let (Some((name, _)), Some((value, from))) = (attribute(tag, "name"), attribute(tag, value)) else {
            continue;
        };
        if value.contains('&') {
            continue;
        }
        let quote = if tag[..from].ends_with('\'') { "'" } else { "\"" };
        let regex = format!("{}([^{quote}]+){}", escape(&tag[..from]), escape(&tag[from + value.len()..]));
        // The regex would find the first of several that look the same.
        if !found.iter().any(|handed| handed.regex == regex) {
            found.push(PageValue { name: name.to_owned(), value: value.to_owned(), regex });
        }
    }
    found
}

/// The value of a quoted attribute, and where it begins.
fn attribute<'a>(tag: &'a str, name: &str) -> Option<(&'a str, usize)> {
    let lower = tag.to_ascii_lowercase();
    for (at, _) in lower.match_indices(name) {
        let before = lower[..at].ends_with(|c: char| c.is_ascii_whitespace() || c == '"' || c == '\'');
        let rest = &tag[at + name.len()..];
        let Some(quoted) = rest.trim_start().strip_prefix('=').map(str::trim_start).filter(|_| before) else {
            continue;
        };
        let Some(quote) = quoted.chars().next().filter(|c| matches!(c, '"' | '\'')) else { continue };
        let from = tag.len() - quoted.len() + 1;
        let end = tag[from..].find(quote)?;
        return Some((&tag[from..from + end], from));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_what_a_page_hands_out() {
        for (page, expected) in [
            (
                r#"<form><input type="hidden" name="csrf" value="abc123"></form>"#,
                vec![("csrf", "abc123", r#"<input type="hidden" name="csrf" value="([^"]+)">"#)],
            ),
            (
                "<INPUT value='x.1' NAME = '_t' type='hidden' />",
                vec![("_t", "x.1", "<INPUT value='([^']+)' NAME = '_t' type='hidden' />")],
            ),
            (
                r#"<meta name="csrf-token" content="t0k"><meta charset="utf-8">"#,
                vec![("csrf-token", "t0k", r#"<meta name="csrf\-token" content="([^"]+)">"#)],
            ),
            (r#"<input type="text" name="q" value="typed"><p>a < b</p><input"#, vec![]),
            (r#"<input type="hidden" name="a" value="x&amp;y">"#, vec![]),
            (
                r#"<input type="hidden" name="a" value="first"><input type="hidden" name="a" value="second">"#,
                vec![("a", "first", r#"<input type="hidden" name="a" value="([^"]+)">"#)],
            ),
        ] {
            let found = page_values(page);
            let found: Vec<_> =
                found.iter().map(|h| (h.name.as_str(), h.value.as_str(), h.regex.as_str())).collect();
            assert_eq!(found, expected, "{page}");
        }
    }
}
