use serde::Serialize;
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

/// A piece of a line with one tone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    /// The text.
    pub text: String,
    /// What it means.
    pub tone: Tone,
}

/// One line of text, without its line end.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Line {
    /// Its pieces, from left to right.
    pub spans: Vec<Span>,
}

impl Line {
    /// A line without anything.
    pub fn empty() -> Self {
        Self::default()
    }

    /// A line of one plain piece.
    pub fn plain(text: impl Into<String>) -> Self {
        Self::empty().and(Tone::Plain, text)
    }

    /// The line with one more piece at its end; an empty one is left out.
    #[must_use]
    pub fn and(mut self, tone: Tone, text: impl Into<String>) -> Self {
        let text = text.into();
        if !text.is_empty() {
            self.spans.push(Span { text, tone });
        }
        self
    }

    /// The line with one more plain piece at its end.
    #[must_use]
    pub fn then(self, text: impl Into<String>) -> Self {
        self.and(Tone::Plain, text)
    }

    /// How many characters wide it is.
    pub fn width(&self) -> usize {
        self.spans.iter().map(|s| s.text.chars().count()).sum()
    }
}

/// The text alone.
impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.spans.iter().try_for_each(|span| f.write_str(&span.text))
    }
}
