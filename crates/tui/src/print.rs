use std::io::{self, Write};
use view::{Text, Tone};

/// In narrower terminals wrapped text reads worse than text the terminal breaks.
const MIN_WRAP_WIDTH: usize = 40;
/// Hanging indent of wrapped lines.
const HANGING_INDENT: usize = 2;

/// How to print lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PrintStyle {
    /// Whether colours may be used.
    pub colour: bool,
    /// Where to wrap, in characters; `None`: never.
    pub width: Option<usize>,
}

impl PrintStyle {
    /// For a terminal or another output: files and pipes get no colour and no wrapping.
    pub fn for_output(is_terminal: bool) -> Self {
        if !is_terminal {
            return Self::default();
        }
        let width = crossterm::terminal::size().ok().map(|(width, _)| usize::from(width));
        Self { colour: crate::Palette::from_environment().colour, width }
    }
}

/// Prints lines. Control characters, which may come from a target, are made visible. Fails if the writer does.
pub fn print(to: &mut impl Write, lines: &[Text], style: PrintStyle) -> io::Result<()> {
    for line in lines {
        let letters: Vec<(char, Tone)> =
            line.pieces.iter().flat_map(|s| s.text.chars().map(|c| (visible_char(c), s.tone))).collect();
        for row in wrap(&letters, style.width) {
            let mut tone = Tone::Plain;
            let mut text = String::with_capacity(row.len());
            for (letter, next) in row {
                if style.colour && next != tone {
                    text.push_str(ansi(next));
                }
                tone = next;
                text.push(letter);
            }
            if style.colour && tone != Tone::Plain {
                text.push_str(ansi(Tone::Plain));
            }
            text.push('\n');
            to.write_all(text.as_bytes())?;
        }
    }
    to.flush()
}

fn visible_char(letter: char) -> char {
    if letter.is_control() { '\u{fffd}' } else { letter }
}

/// ECMA-48 "select graphic rendition", each beginning with a reset.
fn ansi(tone: Tone) -> &'static str {
    match tone {
        Tone::Plain => "\x1b[0m",
        Tone::Strong => "\x1b[0;1m",
        Tone::Good => "\x1b[0;1;32m",
        Tone::Bad => "\x1b[0;1;31m",
        Tone::Warn => "\x1b[0;1;33m",
        Tone::Faint => "\x1b[0;2m",
    }
}

/// Breaks at spaces; the terminal breaks what has none.
fn wrap(letters: &[(char, Tone)], width: Option<usize>) -> Vec<Vec<(char, Tone)>> {
    let width = width.filter(|w| *w >= MIN_WRAP_WIDTH).unwrap_or(usize::MAX);
    let margin = letters.iter().take_while(|(c, _)| *c == ' ').count() + HANGING_INDENT;
    let mut rows = Vec::new();
    let mut rest = letters;
    loop {
        let indent = if rows.is_empty() { 0 } else { margin };
        let mut row = vec![(' ', Tone::Plain); indent];
        let room = width.saturating_sub(indent);
        let first = rest.iter().take_while(|(c, _)| *c == ' ').count();
        let break_at = if rest.len() <= room {
            None
        } else {
            let sticks = |at: usize| rest.get(at + 1).is_none_or(|(next, _)| matches!(next, ' ' | '%' | '·'));
            (first + 1..=room).rev().find(|at| rest[*at].0 == ' ' && !sticks(*at))
        };
        let Some(at) = break_at else {
            row.extend_from_slice(rest);
            rows.push(row);
            return rows;
        };
        row.extend_from_slice(&rest[..at]);
        while row.last().is_some_and(|(c, _)| *c == ' ') {
            row.pop();
        }
        rows.push(row);
        rest = &rest[at..];
        rest = &rest[rest.iter().take_while(|(c, _)| *c == ' ').count()..];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(line: Text, style: PrintStyle) -> String {
        let mut out = Vec::new();
        print(&mut out, &[line], style).expect("memory takes everything");
        String::from_utf8(out).expect("is text")
    }

    #[test]
    fn colours_only_when_asked() {
        let line = || Text::plain("  holds ").with_span(Tone::Good, "much").with_plain("!");
        assert_eq!(printed(line(), PrintStyle::default()), "  holds much!\n");
        let style = PrintStyle { colour: true, width: None };
        assert_eq!(printed(line(), style), "  holds \x1b[0;1;32mmuch\x1b[0m!\n");
        assert_eq!(printed(Text::new(Tone::Bad, "x"), style), "\x1b[0;1;31mx\x1b[0m\n");
    }

    #[test]
    fn a_target_cannot_drive_the_terminal() {
        let out =
            printed(Text::plain("not HTTP: \x1b]0;pwned\x07\r\n"), PrintStyle { colour: true, width: None });
        assert_eq!(out, "not HTTP: \u{fffd}]0;pwned\u{fffd}\u{fffd}\u{fffd}\n");
    }

    #[test]
    fn wraps_at_spaces_with_a_hanging_indent() {
        let style = PrintStyle { colour: false, width: Some(40) };
        for (text, expected) in [
            ("  short", "  short\n"),
            (
                "  the time was up before the bounds were close enough",
                "  the time was up before the bounds were\n    close enough\n",
            ),
            (
                "  it answers with status 503: lost 12.98 % of 200",
                "  it answers with status 503: lost\n    12.98 % of 200\n",
            ),
            (
                "  aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa b",
                "  aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa b\n",
            ),
            ("", "\n"),
        ] {
            assert_eq!(printed(Text::plain(text), style), expected, "{text}");
        }
        let narrow = PrintStyle { colour: false, width: Some(10) };
        assert_eq!(printed(Text::plain("as long as it happens to be"), narrow).lines().count(), 1);
    }
}
