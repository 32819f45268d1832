//! Percent-encoding, there and back.

/// Escapes everything but letters, digits and `-._~`, so that the text can stand anywhere in a URL.
pub(crate) fn component(text: &[u8]) -> String {
    escape(text, |b| b.is_ascii_alphanumeric() || b"-._~".contains(&b))
}

/// As [`component`], but spaces become `+`, as forms have it.
pub(crate) fn form(text: &[u8]) -> String {
    component(text).replace("%20", "+")
}

/// Escapes only what no request line can hold: spaces, control characters and what is not ASCII.
pub(crate) fn visible(text: &[u8]) -> String {
    escape(text, |b| b.is_ascii_graphic())
}

fn escape(text: &[u8], keep: impl Fn(u8) -> bool) -> String {
    let mut out = String::with_capacity(text.len());
    for &b in text {
        if keep(b) {
            out.push(char::from(b));
        } else {
            out.push_str(&format!("%{b:02X}"));
        }
    }
    out
}

/// What a component means; `+` is a space. What is no escape stays as it is.
pub(crate) fn decode(text: &str) -> String {
    let bytes = text.as_bytes();
    let (mut out, mut at) = (Vec::with_capacity(bytes.len()), 0);
    while at < bytes.len() {
        let digit = |at: usize| bytes.get(at).and_then(|&b| char::from(b).to_digit(16));
        let byte = digit(at + 1).zip(digit(at + 2)).map(|(high, low)| (high * 16 + low) as u8);
        match (bytes[at], byte) {
            (b'%', Some(byte)) => {
                out.push(byte);
                at += 2;
            }
            (b'+', _) => out.push(b' '),
            (byte, _) => out.push(byte),
        }
        at += 1;
    }
    String::from_utf8_lossy(&out).into_owned()
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
