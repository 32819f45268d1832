//! What a server says is wrong, in words to count by: the same for all mistakes of the same kind.

/// Characters of a message that are shown.
pub(super) const SHOWN: usize = 200;

/// The first line, up to a bearable length.
pub(super) fn first_line(text: &str) -> &str {
    let line = text.lines().next().unwrap_or_default();
    line.char_indices().nth(SHOWN).map_or(line, |(end, _)| &line[..end])
}

/// Whether a name may hold it.
pub(super) fn is_word_char(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The message without its values: what it quotes, unless that is a name, and its numbers.
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
            // An apostrophe stands within a word.
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
