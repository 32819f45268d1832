use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use std::ffi::OsStr;
use view::Tone;
use view::document::SeriesRole;

/// Colours for several of a kind, by index; without those that have a meaning.
const SERIES_COLOURS: [Color; 6] =
    [Color::Blue, Color::Magenta, Color::Cyan, Color::Yellow, Color::LightBlue, Color::LightMagenta];

/// The looks of tones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Palette {
    /// Whether colours may be used; otherwise weight and words must do.
    pub colour: bool,
}

impl Palette {
    /// From the environment: no colour if `NO_COLOR` is set and not empty (no-color.org), or the terminal is dumb.
    pub fn from_environment() -> Self {
        Self::of(std::env::var_os("NO_COLOR").as_deref(), std::env::var_os("TERM").as_deref())
    }

    fn of(no_color: Option<&OsStr>, term: Option<&OsStr>) -> Self {
        Self { colour: no_color.is_none_or(OsStr::is_empty) && term != Some(OsStr::new("dumb")) }
    }

    pub(crate) fn style(self, tone: Tone) -> Style {
        let bold = Style::new().add_modifier(Modifier::BOLD);
        match tone {
            Tone::Plain => Style::new(),
            Tone::Strong => bold,
            Tone::Good => self.tint(bold, Color::Green),
            Tone::Bad => self.tint(bold, Color::Red),
            Tone::Warn => self.tint(bold, Color::Yellow),
            Tone::Faint => Style::new().add_modifier(Modifier::DIM),
        }
    }

    /// Applies a colour, if colours may be used.
    pub(crate) fn tint(self, style: Style, colour: Color) -> Style {
        if self.colour { style.fg(colour) } else { style }
    }

    /// The style of a stack's part: the same thing has the same colour everywhere.
    pub(crate) fn role(self, role: SeriesRole) -> Style {
        let colour = match role {
            SeriesRole::Busy | SeriesRole::Good | SeriesRole::Achieved => Color::Green,
            SeriesRole::Bad => Color::Red,
            SeriesRole::Idle => Color::DarkGray,
            SeriesRole::Nth(nth) => SERIES_COLOURS[usize::from(nth) % SERIES_COLOURS.len()],
            _ => Color::Blue,
        };
        self.tint(Style::new(), colour)
    }

    /// Converts a line for ratatui.
    pub(crate) fn line(self, line: &view::Text) -> Line<'static> {
        line.pieces
            .iter()
            .map(|s| Span::styled(s.text.clone(), self.style(s.tone)))
            .collect::<Vec<_>>()
            .into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colour_is_off_when_asked() {
        for (no_color, term, colour) in [
            (None, Some("xterm"), true),
            (Some(""), Some("xterm"), true),
            (Some("1"), Some("xterm"), false),
            (None, Some("dumb"), false),
            (None, None, true),
        ] {
            let palette = Palette::of(no_color.map(OsStr::new), term.map(OsStr::new));
            assert_eq!(palette.colour, colour, "{no_color:?} {term:?}");
        }
    }
}
