//! A server's error in words to count by: the same for all errors of one kind.

/// Characters of a message that are shown.
pub(super) const SHOWN: usize = 200;

/// The first line, truncated.
pub(super) fn first_line(text: &str) -> &str {
    let line = text.lines().next().unwrap_or_default();
    line.char_indices().nth(SHOWN).map_or(line, |(end, _)| &line[..end])
}

/// Whether it may be part of a name.
pub(super) fn is_word_char(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The message without its values: without numbers, and without quotations unless they are names.
pub(super) fn without_values(message: &str, is_name: impl Fn(&str) -> bool) -> String {
    let (mut out, mut rest) = (String::with_capacity(message.len()), message);
    while let Some(first) = rest.chars().next() {
        let after = &rest[first.len_utf8()..];
        rest = after;
        let in_word = out.ends_with(is_word_char);
        let closing: &[char] = match first {
            '"' => &['"'],
            '“' | '„' => &['”', '“'],
            '«' => &['»'],
            // An apostrophe within a word is no quote.
            '\'' if !in_word && after.contains('\'') => &['\''],
            '0'..='9' if !in_word => {
                out.push('…');
                rest = after.trim_start_matches(|c: char| c.is_ascii_digit());
                continue;
            }
            _ => {
                out.push(first);
                continue;
            }
        };
        out.push(first);
        let end = after.find(closing).unwrap_or(after.len());
        out += if is_name(&after[..end]) { &after[..end] } else { "…" };
        let mut chars = after[end..].chars();
        out.extend(chars.next());
        rest = chars.as_str();
    }
    out
}
