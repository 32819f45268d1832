//! A running experiment: the current start, the answers so far, and each arm's last result.

use crate::frame_context::FrameContext;
use ratatui::text::Line;
use units::Nanos;
use view::{Tone, arm_lines, current_start_line, hypothesis_lines};

/// Most important first: the end is cut off.
pub(crate) fn lines(context: &FrameContext<'_>) -> Vec<Line<'static>> {
    let (view, palette) = (context.view, context.palette);
    let mut lines = vec![context.header(), start(context), Line::default()];
    let answers = hypothesis_lines(view, usize::from(context.width));
    if answers.is_empty() {
        lines.push(context.span("  no answer yet: the first come after a whole block", Tone::Faint).into());
    }
    lines.extend(answers.iter().map(|line| palette.line(line)));
    lines.push(Line::default());
    lines.extend(arm_lines(view).iter().map(|line| palette.line(line)));
    let caveats = view.experiment_state.iter().flat_map(|state| &state.caveats).chain(&view.caveats);
    let mut caveats = caveats
        .map(|caveat| view::Text::new(Tone::Warn, "caveat: ").with_plain(caveat.to_string()))
        .peekable();
    if caveats.peek().is_some() {
        lines.push(Line::default());
    }
    lines.extend(caveats.map(|line| palette.line(&line)));
    lines
}

/// The current start and its expected progress.
fn start(context: &FrameContext<'_>) -> Line<'static> {
    let view = context.view;
    let mut line = context.palette.line(&current_start_line(view));
    let Some(expected) =
        view.ongoing_start.and_then(|visiting| visiting.expected).filter(|e| *e > Nanos::ZERO)
    else {
        return line;
    };
    // It began when the last one ended, or with the run.
    let last = view
        .starts
        .last()
        .map(|last_start| last_start.at_unix_ms.saturating_add(last_start.took.0 / 1_000_000));
    let began = last
        .or_else(|| view.started.as_ref().map(|started| started.at_unix_ms))
        .unwrap_or(context.now_unix_ms);
    let done = Nanos::from_millis(context.now_unix_ms.saturating_sub(began));
    line.push_span("  ");
    let used = line.width();
    line.spans.extend(context.progress_bar(done, expected, used));
    line
}
