//! A run that measures the machine: progress, expected time, and the figures so far.

use crate::frame_context::{FrameContext, cut, whole};
use ratatui::text::Line;
use units::{Nanos, grouped};
use view::{ReportKind, Tone};

/// Top to bottom; of the figures the last that fit.
pub(crate) fn lines(context: &FrameContext<'_>, room: u16) -> Vec<Line<'static>> {
    let mut lines = vec![context.header(), progress(context)];
    lines.extend(context.doubts().into_iter().take(2));
    let figures: Vec<Line<'static>> = view::figure_lines(context.view, usize::from(context.width))
        .iter()
        .map(|line| cut(context.palette.line(line).spans, usize::from(context.width)).into())
        .collect();
    let left = usize::from(room).saturating_sub(lines.len() + 1);
    lines.push(Line::default());
    // For threads the beginning says most: the ramp, then what binds first.
    let early = if context.view.kind() == ReportKind::Tasks { 0 } else { figures.len().saturating_sub(left) };
    lines.extend(figures.into_iter().skip(early).take(left));
    lines
}

fn progress(context: &FrameContext<'_>) -> Line<'static> {
    match context.view.kind() {
        ReportKind::Tasks => tasks(context),
        ReportKind::Profile => sampling(context),
        _ => table(context),
    }
}

/// Time sampled so far.
fn sampling(context: &FrameContext<'_>) -> Line<'static> {
    let began = context.view.started.as_ref().map_or(context.now_unix_ms, |started| started.at_unix_ms);
    let seconds = Nanos::from_millis(context.now_unix_ms.saturating_sub(began) / 1000 * 1000);
    context.span(format!("sampling for {seconds} by now"), Tone::Plain).into()
}

/// The table being measured, and its progress by expected time.
fn table(context: &FrameContext<'_>) -> Line<'static> {
    let Some(probing) = context.view.table_starts.last() else {
        return context.span("looking at the machine", Tone::Faint).into();
    };
    let there = context.view.figures.iter().filter(|figure| figure.table == probing.table).count();
    let nth = context.view.table_starts.len();
    let what = format!("table {nth}, {}: {there} of {} figures  ", probing.table, probing.figures);
    let mut line = Line::from(context.span(what, Tone::Plain));
    if there < probing.figures as usize && probing.expected > Nanos::ZERO {
        let began = context.live_run.table_begun_unix_ms();
        let done = Nanos::from_millis(context.now_unix_ms.saturating_sub(began));
        let used = line.width();
        line.spans.extend(context.progress_bar(done, probing.expected, used));
    }
    line
}

/// Threads so far, of those the first limit allows.
fn tasks(context: &FrameContext<'_>) -> Line<'static> {
    let Some(last) = context.view.ramp.last() else {
        return context.span("reading every limit", Tone::Faint).into();
    };
    let most = context.view.ramp.iter().map(|moment| moment.tasks).max().unwrap_or(0);
    if last.tasks < most {
        let text = format!("{} threads were made; {} are left", grouped(most), grouped(last.tasks));
        return context.span(text, Tone::Strong).into();
    }
    let mut line = Line::from(context.span(format!("{} threads  ", grouped(last.tasks)), Tone::Strong));
    let first = context.view.system_limits.first();
    let Some((first, limit)) =
        first.and_then(|first| Some((first, first.threads.filter(|limit| *limit > 0)?)))
    else {
        return line;
    };
    let share = (last.tasks as f64 / limit as f64).min(1.0);
    let left = Nanos::from_secs_f64(last.after.as_secs_f64() * (1.0 - share) / share.max(1e-9));
    let left =
        if share < 1.0 && last.tasks > 0 { format!(", about {} left", whole(left)) } else { String::new() };
    let of = format!("  of {} that {} allows{left}", grouped(limit), first.name);
    let used = line.width();
    line.spans.extend(context.bar(share, of, used));
    line
}
