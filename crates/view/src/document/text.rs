use crate::wording::collapse_blanks;
use serde::{Serialize, Serializer};
use std::fmt;

/// What a piece of text means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Tone {
    /// Nothing special.
    #[default]
    Plain,
    /// What the eye should find first.
    Strong,
    /// As hoped.
    Good,
    /// As feared.
    Bad,
    /// Doubtful: to be read before the number is believed.
    Warn,
    /// There if wanted.
    Faint,
}

/// A piece of text with one tone.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct TextSpan {
    /// The text itself, never markup.
    pub text: String,
    /// What it means.
    pub tone: Tone,
}

/// A line of text, without its line end: pieces with a tone each.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Text {
    /// Its pieces, from left to right.
    pub pieces: Vec<TextSpan>,
    /// How many steps it stands back, on a terminal.
    pub depth: u8,
}

impl TextSpan {
    /// A piece with that meaning.
    pub fn new(tone: Tone, text: impl Into<String>) -> Self {
        Self { text: text.into(), tone }
    }
}

impl From<(String, Tone)> for TextSpan {
    fn from((text, tone): (String, Tone)) -> Self {
        Self { text, tone }
    }
}

impl Text {
    /// A line without anything.
    pub fn empty() -> Self {
        Self::default()
    }

    /// A line of one piece; of none, if that is empty.
    pub fn new(tone: Tone, text: impl Into<String>) -> Self {
        Self::empty().with_span(tone, text)
    }

    /// A faint label before what it is of.
    pub fn labelled(label: &str, text: impl Into<String>) -> Self {
        Self::new(Tone::Faint, format!("{label}: ")).with_plain(text)
    }

    /// A line without anything, so many steps back.
    pub fn empty_at_depth(depth: u8) -> Self {
        Self { depth, ..Self::default() }
    }

    /// Whether nothing is said.
    pub fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// A line of one plain piece.
    pub fn plain(text: impl Into<String>) -> Self {
        Self::new(Tone::Plain, text)
    }

    /// The line with one more piece at its end; an empty one is left out.
    #[must_use]
    pub fn with_span(mut self, tone: Tone, text: impl Into<String>) -> Self {
        let text = text.into();
        if !text.is_empty() {
            self.pieces.push(TextSpan { text, tone });
        }
        self
    }

    /// The line with one more plain piece at its end.
    #[must_use]
    pub fn with_plain(self, text: impl Into<String>) -> Self {
        self.with_span(Tone::Plain, text)
    }

    /// As a terminal shows it: two columns back, and two for each step.
    #[must_use]
    pub fn indented(self) -> Self {
        if self.is_empty() {
            return self;
        }
        let mut line = Self::plain(Self::indent(self.depth));
        line.pieces.extend(self.pieces);
        line
    }

    pub(super) fn indent(depth: u8) -> String {
        "  ".repeat(1 + usize::from(depth))
    }

    /// The words alone, with one blank where a terminal has several.
    pub fn to_plain(&self) -> String {
        collapse_blanks(&self.to_string())
    }

    /// How many characters wide it is.
    pub fn width(&self) -> usize {
        self.pieces.iter().map(|s| s.text.chars().count()).sum()
    }
}

/// Those of a document as a terminal shows them.
pub(crate) fn indent_all(texts: impl IntoIterator<Item = Text>) -> Vec<Text> {
    texts.into_iter().map(Text::indented).collect()
}

/// Its pieces as a list; gaps and steps back are for who has columns.
impl Serialize for Text {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut gap = true;
        let mut one_blank = |text: &str| -> String {
            text.chars()
                .filter(|&letter| !(std::mem::replace(&mut gap, letter == ' ') && letter == ' '))
                .collect()
        };
        let pieces = self.pieces.iter().map(|piece| TextSpan::new(piece.tone, one_blank(&piece.text)));
        to.collect_seq(pieces.filter(|piece| !piece.text.is_empty()))
    }
}

/// The text alone.
impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.pieces.iter().try_for_each(|piece| f.write_str(&piece.text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_shows_how_far_back_a_line_stands() {
        let shown = |text: Text| text.indented().to_string();
        assert_eq!(shown(Text::labelled("next", "more")), "  next: more");
        assert_eq!(shown(Text::empty_at_depth(1).with_span(Tone::Good, "seen")), "    seen");
        assert_eq!(shown(Text::empty()), "", "an empty line has no blanks at its end");
        let json =
            serde_json::to_value(Text::empty_at_depth(1).with_span(Tone::Bad, "x  y").with_plain("   (z)"))
                .expect("is JSON");
        let expected =
            serde_json::json!([{ "text": "x y", "tone": "bad" }, { "text": " (z)", "tone": "plain" }]);
        assert_eq!(json, expected, "a page has room of its own");
    }
}
