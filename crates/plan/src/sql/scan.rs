//! Where quoted texts, names and comments of a statement begin and end.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TokenKind {
    Plain,
    /// `'text'`
    Quoted,
    /// `E'text'` and the like.
    Escaped,
    /// `"name"`
    Name,
    /// `$$text$$`
    Dollar,
    Comment,
}

impl TokenKind {
    pub(super) fn description(self) -> &'static str {
        match self {
            Self::Escaped => "a text that begins with a letter before its quote: write it without",
            Self::Name => "a name in quotes: it stands for a value",
            Self::Dollar => "a text between dollars: write it in quotes",
            Self::Plain | Self::Quoted | Self::Comment => "a statement",
        }
    }
}

pub(super) fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Splits a statement where the lexical context changes.
pub(super) fn scan(text: &str) -> Result<Vec<(TokenKind, &str)>, String> {
    let (mut chunks, mut plain, mut at) = (Vec::new(), 0, 0);
    while let Some(c) = text[at..].chars().next() {
        let Some((kind, begin, length)) = special(text, plain, at)? else {
            at += c.len_utf8();
            continue;
        };
        if plain < begin {
            chunks.push((TokenKind::Plain, &text[plain..begin]));
        }
        chunks.push((kind, &text[begin..at + length]));
        at += length;
        plain = at;
    }
    if plain < at {
        chunks.push((TokenKind::Plain, &text[plain..]));
    }
    Ok(chunks)
}

/// The non-plain token at `at`, if any: its kind, its first byte (a letter before a quote, no earlier than `plain`,
/// belongs to it), and its length from `at`.
fn special(text: &str, plain: usize, at: usize) -> Result<Option<(TokenKind, usize, usize)>, String> {
    let rest = &text[at..];
    let before = &text[plain..at];
    let found = |kind, length| Ok(Some((kind, at, length)));
    if rest.starts_with('\'') {
        let word = before.len() - before.trim_end_matches(|c: char| is_word(c) || c == '&').len();
        let prefix = &before[before.len() - word..];
        let is_prefix = ["e", "b", "x", "n", "u&"].iter().any(|p| p.eq_ignore_ascii_case(prefix));
        let has_escapes = prefix.eq_ignore_ascii_case("e");
        let length = quoted(rest, '\'', has_escapes)?;
        if is_prefix {
            return Ok(Some((TokenKind::Escaped, at - word, length)));
        }
        return found(TokenKind::Quoted, length);
    }
    if rest.starts_with('"') {
        return found(TokenKind::Name, quoted(rest, '"', false)?);
    }
    if rest.starts_with("--") {
        return found(TokenKind::Comment, rest.find('\n').unwrap_or(rest.len()));
    }
    if rest.starts_with("/*") {
        return found(TokenKind::Comment, block_comment(rest)?);
    }
    if rest.starts_with('$') && !before.ends_with(|c: char| is_word(c) || c == '$') {
        let tag = rest[1..].find(|c: char| !is_word(c)).map(|end| &rest[..end + 2]);
        let tag = tag.filter(|tag| tag.ends_with('$') && !tag[1..].starts_with(|c: char| c.is_ascii_digit()));
        if let Some(tag) = tag {
            let end = rest[tag.len()..].find(tag).ok_or_else(|| format!("{tag} is never closed"))?;
            return found(TokenKind::Dollar, end + 2 * tag.len());
        }
    }
    Ok(None)
}

/// The length of a quoted text, in which the quote is doubled or follows a backslash.
fn quoted(text: &str, quote: char, has_escapes: bool) -> Result<usize, String> {
    let mut chars = text.char_indices().skip(1).peekable();
    while let Some((at, c)) = chars.next() {
        if c == '\\' && has_escapes {
            chars.next();
        } else if c == quote && chars.next_if(|(_, next)| *next == quote).is_none() {
            return Ok(at + 1);
        }
    }
    Err(format!("a {quote} that is never closed"))
}

/// Comments of this kind nest.
fn block_comment(text: &str) -> Result<usize, String> {
    let (mut depth, mut at) = (0, 0);
    loop {
        let (open, close) = (text[at..].find("/*"), text[at..].find("*/"));
        match (open, close) {
            (Some(open), close) if close.is_none_or(|close| open < close) => {
                depth += 1;
                at += open + 2;
            }
            (_, Some(close)) => {
                depth -= 1;
                at += close + 2;
            }
            _ => return Err("a /* that is never closed".to_owned()),
        }
        if depth == 0 {
            return Ok(at);
        }
    }
}
