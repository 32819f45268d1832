use crate::wording::collapse_blanks;
use serde::{Serialize, Serializer};
use std::fmt;

/// The meaning of a piece of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Tone {
    /// Neutral.
    #[default]
    Plain,
    /// Catches the eye first.
    Strong,
    /// Desired.
    Good,
    /// Undesired.
    Bad,
    /// Doubtful: a warning to read before trusting a number.
    Warn,
    /// Secondary.
    Faint,
}

/// A span of text with one tone.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct TextSpan {
    /// The text, never markup.
    pub text: String,
    /// Its tone.
    pub tone: Tone,
}

/// A line of text without its line end, as spans.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Text {
    /// Its spans, left to right.
    pub pieces: Vec<TextSpan>,
    /// Indentation steps on a terminal.
    pub depth: u8,
}

impl TextSpan {
    /// Creates a span.
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
    /// An empty line.
    pub fn empty() -> Self {
        Self::default()
    }

    /// A line of one span, or of none if `text` is empty.
    pub fn new(tone: Tone, text: impl Into<String>) -> Self {
        Self::empty().with_span(tone, text)
    }

    /// Text after a faint label.
    pub fn labelled(label: &str, text: impl Into<String>) -> Self {
        Self::new(Tone::Faint, format!("{label}: ")).with_plain(text)
    }

    /// An empty line, indented by this many steps.
    pub fn empty_at_depth(depth: u8) -> Self {
        Self { depth, ..Self::default() }
    }

    /// Whether there is no text.
    pub fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// A line of one plain span.
    pub fn plain(text: impl Into<String>) -> Self {
        Self::new(Tone::Plain, text)
    }

    /// Appends a span, unless empty.
    #[must_use]
    pub fn with_span(mut self, tone: Tone, text: impl Into<String>) -> Self {
        let text = text.into();
        if !text.is_empty() {
            self.pieces.push(TextSpan { text, tone });
        }
        self
    }

    /// Appends a plain span.
    #[must_use]
    pub fn with_plain(self, text: impl Into<String>) -> Self {
        self.with_span(Tone::Plain, text)
    }

    /// As a terminal shows it: indented by two columns, plus two per step.
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

    /// The text alone, with runs of blanks collapsed.
    pub fn to_plain(&self) -> String {
        collapse_blanks(&self.to_string())
    }

    /// Its width in characters.
    pub fn width(&self) -> usize {
        self.pieces.iter().map(|s| s.text.chars().count()).sum()
    }
}

/// Indents each as a terminal shows it.
pub(crate) fn indent_all(texts: impl IntoIterator<Item = Text>) -> Vec<Text> {
    texts.into_iter().map(Text::indented).collect()
}

/// Serializes as a list of spans; alignment gaps and indentation are for terminals.
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
