//! A running experiment: the current start, the answers so far, and each arm's last result.

use crate::frame_context::FrameContext;
use ratatui::text::Line;
use units::Nanos;
use view::{Tone, arm_lines, current_start_line, hypothesis_lines};

/// Most important first: the end is cut off.
pub(crate) fn lines(pen: &FrameContext<'_>) -> Vec<Line<'static>> {
    let (view, palette) = (pen.view, pen.palette);
    let mut lines = vec![pen.header(), start(pen), Line::default()];
    let answers = hypothesis_lines(view, usize::from(pen.width));
    if answers.is_empty() {
        lines.push(pen.span("  no answer yet: the first come after a whole block", Tone::Faint).into());
    }
    lines.extend(answers.iter().map(|line| palette.line(line)));
    lines.push(Line::default());
    lines.extend(arm_lines(view).iter().map(|line| palette.line(line)));
    let doubts = view.standing.iter().flat_map(|standing| &standing.caveats).chain(&view.caveats);
    let mut doubts = doubts
        .map(|caveat| view::Text::new(Tone::Warn, "caveat: ").with_plain(caveat.to_string()))
        .peekable();
    if doubts.peek().is_some() {
        lines.push(Line::default());
    }
    lines.extend(doubts.map(|line| palette.line(&line)));
    lines
}

/// The current start and its expected progress.
fn start(pen: &FrameContext<'_>) -> Line<'static> {
    let view = pen.view;
    let mut line = pen.palette.line(&current_start_line(view));
    let Some(expected) = view.visiting.and_then(|visiting| visiting.expected).filter(|e| *e > Nanos::ZERO)
    else {
        return line;
    };
    // It began when the last one ended, or with the run.
    let last = view.visits.last().map(|visit| visit.at_unix_ms.saturating_add(visit.took.0 / 1_000_000));
    let began =
        last.or_else(|| view.started.as_ref().map(|started| started.at_unix_ms)).unwrap_or(pen.now_unix_ms);
    let done = Nanos::from_millis(pen.now_unix_ms.saturating_sub(began));
    line.push_span("  ");
    let used = line.width();
    line.spans.extend(pen.progress_bar(done, expected, used));
    line
}
