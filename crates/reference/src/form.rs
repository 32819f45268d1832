//! Form parsing (`application/x-www-form-urlencoded`) and HTML escaping.

use std::borrow::Cow;

/// The decoded fields of a form, in order; names may repeat.
pub(crate) fn parse_form(body: &[u8]) -> Result<Vec<(String, String)>, &'static str> {
    body.split(|b| *b == b'&')
        .filter(|pair| !pair.is_empty())
        .map(|pair| {
            let at = pair.iter().position(|b| *b == b'=').unwrap_or(pair.len());
            let (name, value) = pair.split_at(at);
            Ok((percent_decode(name)?, percent_decode(value.get(1..).unwrap_or_default())?))
        })
        .collect()
}

fn percent_decode(text: &[u8]) -> Result<String, &'static str> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let [byte, tail @ ..] = rest {
        rest = tail;
        out.push(match byte {
            b'+' => b' ',
            b'%' => {
                let digits = tail.first_chunk::<2>().and_then(|[a, b]| Some(hex(*a)? << 4 | hex(*b)?));
                rest = tail.get(2..).unwrap_or_default();
                digits.ok_or("'%' must be followed by two hexadecimal digits")?
            }
            other => *other,
        });
    }
    String::from_utf8(out).map_err(|_| "the text is not UTF-8")
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).map(|d| d as u8)
}

/// Escapes the five special characters of HTML.
pub(crate) fn escape_html(text: &str) -> Cow<'_, str> {
    if !text.contains(['&', '<', '>', '"', '\'']) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            other => out.push(other),
        }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_are_decoded() {
        let check = |body: &str, expected: &[(&str, &str)]| {
            let found = parse_form(body.as_bytes()).expect(body);
            let found: Vec<_> = found.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
            assert_eq!(found, expected, "{body}");
        };
        check("", &[]);
        check("a=1&b=2", &[("a", "1"), ("b", "2")]);
        check("a=%2b+%C3%bc&&b&c=d=e", &[("a", "+ ü"), ("b", ""), ("c", "d=e")]);
        for bad in ["a=%", "a=%4", "a=%4g", "a=%ff"] {
            assert!(parse_form(bad.as_bytes()).is_err(), "{bad}");
        }
    }

    #[test]
    fn pages_cannot_be_broken_by_text() {
        assert_eq!(escape_html("O'Brien & <b>\"x\""), "O&#39;Brien &amp; &lt;b&gt;&quot;x&quot;");
        assert!(matches!(escape_html("plain"), Cow::Borrowed(_)));
    }
}
