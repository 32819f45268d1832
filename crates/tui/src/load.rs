//! A running load or search. Top to bottom: progress, what holds, the last second, the target's threads, charts of the last minutes,
//! trials, caveats. The most important parts get their rows first.

use crate::frame_context::{FrameContext, WIDE_WIDTH, cut, whole};
use crate::row_layout::{RowRequest, allot_rows};
use crate::{charts, rate_scale, target_panel};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span, Text};
use record::{Outcome, Outcomes};
use units::{Nanos, Rate, Share, grouped};
use view::document::Timeline;
use view::{Glyphs, ReportKind, Tone, format_rate, outcome_tone, trial_line, trial_strip};

/// How far back to look for the last second, in seconds: observations come a little late.
const LAST_SECOND_S: f64 = 4.0;
/// Minimum and maximum height of charts.
const CHART_HEIGHT: (u16, u16) = (5, 16);
/// Trials to keep in sight, and at most.
const TRIAL_ROWS: (u16, u16) = (2, 12);
/// Columns of a trial strip that are not marks.
const STRIP_OVERHEAD: usize = 48;
/// Caveats shown if space is short, and at most.
const CAVEAT_ROWS: (u16, u16) = (1, 6);

/// The parts, top to bottom.
const TOP: usize = 0;
const SCALE: usize = 1;
const SUSPECTED: usize = 2;
const FIGURES: usize = 3;
const TARGET: usize = 4;
const GAP: usize = 5;
const CHART_PART: usize = 6;
const LOWER_GAP: usize = 7;
const TRIALS_PART: usize = 8;
const CAVEATS_PART: usize = 9;
const PARTS: usize = 10;

pub(crate) fn draw(frame: &mut Frame, area: Rect, context: &FrameContext<'_>) {
    let scale = context.scale();
    let (target, suspected) = (target_panel::TargetPanel::of(context), context.suspected());
    let (trials, caveats) = (context.trials(), context.doubts());
    let (top, figures) = (vec![context.header(), context.trial(), context.result()], context.figures());
    let rows = |lines: &[Line<'_>]| lines.len() as u16;
    let ask = |part, least, most: u16| RowRequest { part, min: least, max: most };
    // A narrow chart would be all labels.
    let drawn =
        |most: u16| ask(CHART_PART, CHART_HEIGHT.0, if context.width < WIDE_WIDTH { 0 } else { most });
    let target_rows = target.max_rows();
    let given: [u16; PARTS] = allot_rows(
        area.height,
        &[
            ask(TOP, 1, rows(&top)),
            ask(FIGURES, 1, rows(&figures)),
            ask(TARGET, 1, target_rows.min(1)),
            ask(SCALE, rows(&scale), rows(&scale)),
            ask(SUSPECTED, 1, suspected.iter().len() as u16),
            ask(CAVEATS_PART, 1, rows(&caveats).min(CAVEAT_ROWS.0)),
            drawn(CHART_HEIGHT.0 + 1),
            ask(TRIALS_PART, 1, rows(&trials).min(TRIAL_ROWS.0)),
            ask(TARGET, 1, target_rows),
            ask(GAP, 1, 1),
            ask(LOWER_GAP, 1, 1),
            drawn(CHART_HEIGHT.1 - 5),
            ask(TRIALS_PART, 1, rows(&trials).min(TRIAL_ROWS.1)),
            ask(CAVEATS_PART, 1, rows(&caveats).min(CAVEAT_ROWS.1)),
            drawn(CHART_HEIGHT.1),
        ],
    );
    let areas: [Rect; PARTS] = Layout::vertical(given.map(Constraint::Length)).areas(area);
    frame.render_widget(Text::from(top), areas[TOP]);
    // If the scale does not fit, drop its first line: it only repeats the trial's rate.
    frame.render_widget(Text::from(scale), areas[SCALE]);
    frame.render_widget(Text::from_iter(suspected), areas[SUSPECTED]);
    frame.render_widget(Text::from(figures), areas[FIGURES]);
    frame.render_widget(Text::from(target.lines(context, areas[TARGET].height)), areas[TARGET]);
    if areas[CHART_PART].height > 0 {
        charts::draw(frame, areas[CHART_PART], context);
    }
    let early = trials.len().saturating_sub(usize::from(areas[TRIALS_PART].height));
    frame.render_widget(Text::from(trials[early..].to_vec()), areas[TRIALS_PART]);
    frame.render_widget(Text::from(caveats), areas[CAVEATS_PART]);
}

impl FrameContext<'_> {
    /// The current trial and its progress.
    fn trial(&self) -> Line<'static> {
        let Some(current) = &self.view.current else {
            let words = match (&self.view.end, self.view.trials.last()) {
                (Some(_), _) => "done",
                (None, Some(_)) => "between two trials",
                (None, None) => "starting",
            };
            return Line::from(self.span(words, Tone::Faint));
        };
        let done = current.total.elapsed;
        let text = if self.width >= WIDE_WIDTH {
            let rate = current.rate.map(|r| format!(" at {r}")).unwrap_or_default();
            format!("trial {}: {}{rate}  ", current.number, current.purpose.name())
        } else {
            let rate = current.rate.map(|r| format!(" {r}")).unwrap_or_default();
            format!("{}{rate}  ", current.purpose.name())
        };
        let Some(planned) = current.planned.filter(|p| *p > Nanos::ZERO) else {
            return Line::from(vec![
                Span::raw(text),
                self.span(format!("{} so far", whole(done)), Tone::Plain),
            ]);
        };
        let mut spans = vec![Span::raw(text)];
        spans.extend(self.progress_bar(done, planned, spans[0].width()));
        spans.into()
    }

    /// A search's bounds, or a load's losses.
    fn result(&self) -> Line<'static> {
        if self.view.kind() == ReportKind::Search { self.bounds() } else { self.loss() }
    }

    /// A search's rates tried; only two lines if narrow.
    fn scale(&self) -> Vec<Line<'static>> {
        let lines = rate_scale::lines(self.view, usize::from(self.width), self.palette)
            .filter(|_| self.view.kind() == ReportKind::Search);
        lines.into_iter().flatten().skip(usize::from(self.width < WIDE_WIDTH)).collect()
    }

    fn suspected(&self) -> Option<Line<'static>> {
        let sentence = self.live_run.suspected()?;
        let label = self.span("so far  ", Tone::Faint);
        let spans = sentence.pieces.iter().map(|piece| self.span(&piece.text, piece.tone));
        Some(cut(std::iter::once(label).chain(spans), usize::from(self.width)).into())
    }

    fn bounds(&self) -> Line<'static> {
        let Some(limit) = self.view.limits.first() else {
            return Line::from(self.span("no bound yet: climbing until the goal fails", Tone::Plain));
        };
        let mut spans = Vec::new();
        if let Some(lower) = limit.lower {
            spans.push(self.span(format!("holds {}", format_rate(lower)), Tone::Good));
        }
        if let Some(upper) = limit.upper {
            let comma = if spans.is_empty() { "" } else { ", " };
            spans.push(Span::raw(comma));
            spans.push(self.span(format!("fails at {}", format_rate(upper)), Tone::Bad));
        }
        if spans.is_empty() {
            spans.push(Span::raw("no bound stands"));
        }
        spans.push(Span::raw(format!(" {}", limit.unit)));
        if let Some((lower, upper)) = limit.lower.zip(limit.upper).filter(|(_, u)| *u > 0.0) {
            spans.push(
                self.span(format!("   apart by {}", Share((upper - lower) / upper).rounded(3)), Tone::Faint),
            );
        }
        spans.into()
    }

    fn loss(&self) -> Line<'static> {
        let Some((outcomes, due)) = self.counts() else { return Line::default() };
        let bad = outcomes.bad();
        let tone = if bad == 0 { Tone::Good } else { Tone::Bad };
        Line::from(vec![
            self.span(format!("{} of {} bad", grouped(bad), grouped(due)), tone),
            Span::raw(format!("   loss {}", Share::of(bad, due))),
        ])
    }

    /// The outcomes and due arrivals of the current load, else of the last.
    fn counts(&self) -> Option<(Outcomes, u64)> {
        let current = self.view.current.as_ref().map(|c| (c.total.outcomes, c.total.due));
        current.or_else(|| self.view.trials.last().map(|t| (t.figures.outcomes, t.figures.due)))
    }

    /// The last second, in as many lines as necessary, and all outcomes.
    fn figures(&self) -> Vec<Line<'static>> {
        let ids =
            ["offered", "achieved", "goodput", "outstanding_max", "backlog", "response_p50", "response_p99"];
        let recent = self.live_run.page.recent(LAST_SECOND_S, &ids);
        let last = |id: &str| last_of(&recent, id);
        let dash = || "–".to_owned();
        let rate = |id| last(id).map_or_else(dash, |value| Rate(value).to_string());
        let count = |id| last(id).map_or_else(dash, |value| grouped(value as u64));
        let time = |id| last(id).map_or_else(dash, |value| Nanos::from_secs_f64(value).to_string());
        let cell = |name: &str, value: String, tone| {
            [self.span(format!("{name} "), Tone::Faint), self.span(format!("{value:<9}"), tone)]
        };
        let waits = if last("backlog").is_some_and(|value| value > 0.0) { Tone::Warn } else { Tone::Strong };
        let strong = |name: &str, value: String| cell(name, value, Tone::Strong);
        let rates = [strong("offered", rate("offered")), strong("achieved", rate("achieved"))].concat();
        let waiting =
            [strong("waiting", count("outstanding_max")), cell("not sent", count("backlog"), waits)].concat();
        let times = [strong("p50", time("response_p50")), strong("p99", time("response_p99"))].concat();
        let mut lines: Vec<Line<'static>> = match self.width {
            100.. => vec![[rates, waiting, times].concat().into()],
            WIDE_WIDTH.. => vec![[rates, waiting].concat().into(), times.into()],
            _ => vec![rates.into(), waiting.into(), times.into()],
        };
        lines.push(self.outcomes());
        lines
    }

    fn outcomes(&self) -> Line<'static> {
        let (outcomes, due) = self.counts().unwrap_or_default();
        let resent = self.view.current.as_ref().map(|current| current.total.resent);
        let resent =
            resent.or_else(|| Some(self.view.trials.last()?.figures.resent)).filter(|count| *count > 0);
        let resent = resent.map(|count| self.span(format!("  {} resent", grouped(count)), Tone::Faint));
        let shown = Outcome::ALL.into_iter().filter(|o| *o == Outcome::Ok || outcomes.get(*o) > 0);
        let due = [self.span("due ", Tone::Faint), self.span(grouped(due), Tone::Plain)];
        let each = shown.map(|o| {
            self.span(format!("  {} {}", grouped(outcomes.get(o)), o.name()), tone_of(o, outcomes.get(o)))
        });
        due.into_iter().chain(each).chain(resent).collect::<Vec<_>>().into()
    }

    /// The last trials, newest at the bottom, then all in one line, which stays if space is short.
    fn trials(&self) -> Vec<Line<'static>> {
        let early = self.view.trials.len().saturating_sub(usize::from(TRIAL_ROWS.1));
        let each = self.view.trials[early..].iter().map(trial_line);
        let all = trial_strip(
            &self.view.trials,
            Glyphs::Blocks,
            usize::from(self.width).saturating_sub(STRIP_OVERHEAD),
        );
        let line = |line: view::Text| {
            let line = self.palette.line(&line);
            Line::from(cut(line.spans, usize::from(self.width)))
        };
        each.chain(all).map(line).collect()
    }

    /// All caveats, last first: it is about what is on the screen.
    pub(crate) fn doubts(&self) -> Vec<Line<'static>> {
        let caveats = self.live_run.page.caveats().into_iter().rev();
        let line = |caveat: view::document::PageCaveat| {
            let spans = [self.span("doubt: ", Tone::Warn), Span::raw(caveat.text)];
            Line::from(cut(spans, usize::from(self.width)))
        };
        caveats.map(line).collect()
    }
}

/// A column's last value.
pub(crate) fn last_of(timeline: &Timeline, id: &str) -> Option<f64> {
    let column = timeline.columns.iter().find(|column| column.id == id)?;
    column.values.iter().rev().find_map(|value| *value)
}

fn tone_of(outcome: Outcome, count: u64) -> Tone {
    if count == 0 { Tone::Faint } else { outcome_tone(outcome) }
}
