//! What all parts of a frame share.

use crate::Palette;
use ratatui::text::{Line, Span};
use units::Nanos;
use view::{LiveRun, RunView, Tone};

/// From this width on full names are used.
pub(crate) const WIDE_WIDTH: u16 = 60;

/// The run, and how to draw it.
pub(crate) struct FrameContext<'a> {
    pub view: &'a RunView,
    pub live_run: &'a LiveRun,
    pub palette: Palette,
    pub width: u16,
    pub now_unix_ms: u64,
}

impl FrameContext<'_> {
    pub fn span(&self, text: impl Into<String>, tone: Tone) -> Span<'static> {
        Span::styled(text.into(), self.palette.style(tone))
    }

    /// Target and goal on the left, time on the right.
    pub fn header(&self) -> Line<'static> {
        let Some(started) = &self.view.started else { return Line::from("torment") };
        let seconds = self.now_unix_ms.saturating_sub(started.at_unix_ms) / 1000;
        let clock = format!("{}:{:02}", seconds / 60, seconds % 60);
        let id = if self.width >= 90 { format!("{}  ", started.id) } else { String::new() };
        let left = [
            self.span(format!("torment {} ", started.command), Tone::Faint),
            self.span(started.target.clone(), Tone::Strong),
            self.span(format!("  {}", started.goal), Tone::Faint),
        ];
        let room = usize::from(self.width).saturating_sub(id.len() + clock.len() + 1);
        let mut spans = cut(left, room);
        let used: usize = spans.iter().map(Span::width).sum();
        spans.push(Span::raw(" ".repeat(room + 1 - used.min(room))));
        spans.push(self.span(id, Tone::Faint));
        spans.push(self.span(clock, Tone::Plain));
        spans.into()
    }

    /// A progress bar in the room left beside `used` columns.
    pub fn progress_bar(&self, done: Nanos, planned: Nanos, used: usize) -> [Span<'static>; 3] {
        let of = format!("  {} of {}", whole(done.min(planned)), whole(planned));
        self.bar(done.as_secs_f64() / planned.as_secs_f64(), of, used)
    }

    /// A bar filled by a share of at most one, then its meaning, in the room left beside `used` columns.
    pub fn bar(&self, share: f64, of: String, used: usize) -> [Span<'static>; 3] {
        let room = usize::from(self.width).saturating_sub(used + of.chars().count()).min(30);
        let full = (share.min(1.0) * room as f64).round() as usize;
        [
            self.span("━".repeat(full), Tone::Strong),
            self.span("─".repeat(room - full), Tone::Faint),
            Span::raw(of),
        ]
    }

    pub fn footer(&self, stopping: bool) -> Line<'static> {
        Line::from(if stopping {
            self.span("stopping: the open requests are waited for; Ctrl-C again ends at once", Tone::Warn)
        } else {
            self.span("q or Ctrl-C stops; what was measured is kept", Tone::Faint)
        })
    }
}

/// In whole seconds, even below one.
pub(crate) fn whole(time: Nanos) -> String {
    match time.as_secs_f64().round() as u64 {
        0 => "0 s".to_owned(),
        seconds => Nanos::from_secs(seconds).to_string(),
    }
}

/// The spans that fit, with an ellipsis if cut.
pub(crate) fn cut(spans: impl IntoIterator<Item = Span<'static>>, room: usize) -> Vec<Span<'static>> {
    let mut left = room;
    let mut out = Vec::new();
    for span in spans {
        let width = span.content.chars().count();
        if width <= left {
            left -= width;
            out.push(span);
            continue;
        }
        if left > 0 {
            let text: String = span.content.chars().take(left - 1).chain(['…']).collect();
            out.push(Span::styled(text, span.style));
        }
        break;
    }
    out
}
