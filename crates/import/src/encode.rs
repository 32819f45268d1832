//! Percent-encoding and decoding.

use percent_encoding::{AsciiSet, CONTROLS, NON_ALPHANUMERIC, percent_decode_str, percent_encode};

const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
const INVISIBLE: &AsciiSet = &CONTROLS.add(b' ');

/// Escapes everything but letters, digits and `-._~`, so that the text can stand anywhere in a URL.
pub(crate) fn component(text: &[u8]) -> String {
    percent_encode(text, RESERVED).to_string()
}

/// As [`component`], but spaces become `+`, as in forms.
pub(crate) fn form(text: &[u8]) -> String {
    component(text).replace("%20", "+")
}

/// Escapes only what no request line can hold: spaces, control characters and non-ASCII.
pub(crate) fn visible(text: &[u8]) -> String {
    percent_encode(text, INVISIBLE).to_string()
}

/// Decodes a component; `+` is a space. Malformed escapes stay as they are.
pub(crate) fn decode(text: &str) -> String {
    percent_decode_str(&text.replace('+', " ")).decode_utf8_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_and_reads_back() {
        assert_eq!(component("a b/é~".as_bytes()), "a%20b%2F%C3%A9~");
        assert_eq!(form(b"a b&c"), "a+b%26c");
        assert_eq!(visible("/a b/é?x={uuid}".as_bytes()), "/a%20b/%C3%A9?x={uuid}");
        for (text, expected) in
            [("a%20b+c", "a b c"), ("100%", "100%"), ("%zz%C3%A9", "%zzé"), ("%+1", "% 1")]
        {
            assert_eq!(decode(text), expected, "{text}");
        }
    }
}
