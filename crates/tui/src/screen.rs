//! One frame: what is drawn where, at any size. Text first; charts get what is left.

use crate::{Palette, attempt, charts, scale};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout};
use ratatui::text::{Line, Span, Text};
use record::{Outcome, Outcomes};
use units::{Nanos, Share, grouped};
use view::{RunView, Second, Tone, trial_line};

/// Charts below this height show nothing.
const CHART: u16 = 5;
/// Charts above it show no more.
const TALL_CHART: u16 = 14;
/// Trials that should stay in sight under the charts.
const TRIALS: u16 = 4;
/// With at least this much room the parts stand apart, and there are charts.
const ROOMY: (u16, u16) = (60, 20);
/// With at least this much, outcomes stand below each other instead of in one line.
const LARGE: (u16, u16) = (100, 32);
/// With less height, what is said twice is said once.
const LOW: u16 = 14;
/// The outcomes below each other, with their head.
const OUTCOMES: u16 = 8;

/// Draws the run into the frame. `now_unix_ms` is the time, `stopping` whether a stop was asked for.
pub fn draw(frame: &mut Frame, view: &RunView, now_unix_ms: u64, stopping: bool, palette: Palette) {
    let area = frame.area();
    let pen = Pen { view, palette, width: area.width, low: area.height < LOW };
    if view.is_experiment() {
        let text = Text::from(attempt::lines(&pen, now_unix_ms));
        let [above, foot] = Layout::vertical([Constraint::Fill(1), Constraint::Length(1)]).areas(area);
        frame.render_widget(text, above);
        frame.render_widget(pen.foot(stopping), foot);
        return;
    }
    let fits = |(width, height)| area.width >= width && area.height >= height;
    let (roomy, large) = (fits(ROOMY), fits(LARGE));
    let mut top = vec![pen.header(now_unix_ms), pen.trial()];
    top.extend(roomy.then(Line::default));
    top.extend(pen.result());
    top.extend(roomy.then(Line::default));
    top.extend(pen.figures());
    top.extend(pen.watched().filter(|_| !pen.low));
    top.extend((!large).then(|| pen.outcomes_in_a_line()));
    let height = top.len() as u16;
    let [text, rest, foot] =
        Layout::vertical([Constraint::Length(height), Constraint::Fill(1), Constraint::Length(1)])
            .areas(area);
    frame.render_widget(Text::from(top), text);
    frame.render_widget(pen.foot(stopping), foot);

    let below = match (large, view.is_search()) {
        (true, _) => OUTCOMES,
        (false, true) => TRIALS,
        (false, false) => TRIALS.min(view.caveats.len() as u16),
    };
    // Each part has an empty line above it.
    let charts_height = rest.height.saturating_sub(below + 2).min(TALL_CHART);
    let rest = if roomy && charts_height >= CHART {
        let [_, charts_at, _, rest] = Layout::vertical([
            Constraint::Length(1),
            Constraint::Length(charts_height),
            Constraint::Length(1),
            Constraint::Fill(1),
        ])
        .areas(rest);
        charts::draw(frame, charts_at, view, palette);
        rest
    } else {
        rest
    };
    if large {
        let [left, right] =
            Layout::horizontal([Constraint::Length(24), Constraint::Fill(1)]).spacing(2).areas(rest);
        frame.render_widget(pen.outcomes(), left);
        frame.render_widget(pen.trials(right.height), right);
    } else {
        frame.render_widget(pen.trials(rest.height), rest);
    }
}

/// What every part of the frame needs.
pub(crate) struct Pen<'a> {
    pub view: &'a RunView,
    pub palette: Palette,
    pub width: u16,
    low: bool,
}

impl Pen<'_> {
    pub fn span(&self, text: impl Into<String>, tone: Tone) -> Span<'static> {
        Span::styled(text.into(), self.palette.style(tone))
    }

    /// Target and goal to the left, time to the right.
    pub fn header(&self, now_unix_ms: u64) -> Line<'static> {
        let Some(started) = &self.view.started else { return Line::from("torment") };
        let seconds = now_unix_ms.saturating_sub(started.at_unix_ms) / 1000;
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

    /// The trial that goes on, and how far it is.
    fn trial(&self) -> Line<'static> {
        let Some(current) = &self.view.current else {
            let words = match (&self.view.end, self.view.trials.last()) {
                (Some(_), _) => "done",
                (None, Some(_)) => "between two trials",
                (None, None) => "beginning",
            };
            return Line::from(self.span(words, Tone::Faint));
        };
        let done = current.total.elapsed;
        let text = if self.width >= ROOMY.0 {
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
        spans.extend(self.way(done, planned, spans[0].width()));
        spans.into()
    }

    /// How far something is, in what room there is beside `used` columns.
    pub fn way(&self, done: Nanos, planned: Nanos, used: usize) -> [Span<'static>; 3] {
        let share = (done.as_secs_f64() / planned.as_secs_f64()).min(1.0);
        let of = format!("  {} of {}", whole(done.min(planned)), whole(planned));
        let room = usize::from(self.width).saturating_sub(used + of.chars().count()).min(30);
        let full = (share * room as f64).round() as usize;
        [
            self.span("━".repeat(full), Tone::Strong),
            self.span("─".repeat(room - full), Tone::Faint),
            Span::raw(of),
        ]
    }

    /// Of a search its bounds, of a load what was lost.
    fn result(&self) -> Vec<Line<'static>> {
        if !self.view.is_search() {
            return vec![self.loss()];
        }
        let mut lines = vec![self.bounds()];
        let scale = scale::lines(self.view, usize::from(self.width), self.palette).into_iter().flatten();
        // The first line of the scale only repeats the rate of the trial.
        lines.extend(scale.skip(usize::from(self.low)));
        lines
    }

    fn bounds(&self) -> Line<'static> {
        let number = |rate: f64| units::Rate(rate).to_string().trim_end_matches("/s").to_owned();
        let Some(limit) = self.view.limits.first() else {
            return Line::from(self.span("no bound yet: climbing until the goal fails", Tone::Plain));
        };
        let mut spans = Vec::new();
        if let Some(lower) = limit.lower {
            spans.push(self.span(format!("holds {}", number(lower)), Tone::Good));
        }
        if let Some(upper) = limit.upper {
            let comma = if spans.is_empty() { "" } else { ", " };
            spans.push(Span::raw(comma));
            spans.push(self.span(format!("fails at {}", number(upper)), Tone::Bad));
        }
        if spans.is_empty() {
            spans.push(Span::raw("no bound stands"));
        }
        spans.push(Span::raw(format!(" {}", limit.unit)));
        if let Some((lower, upper)) = limit.lower.zip(limit.upper).filter(|(_, u)| *u > 0.0) {
            spans.push(
                self.span(format!("   apart by {}", Share(rounded((upper - lower) / upper))), Tone::Faint),
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

    /// The outcomes of the load that goes on, else of the last, with what was due.
    fn counts(&self) -> Option<(Outcomes, u64)> {
        let current = self.view.current.as_ref().map(|c| (c.total.outcomes, c.total.due));
        current.or_else(|| self.view.trials.last().map(|t| (t.figures.outcomes, t.figures.due)))
    }

    /// The last second, in one line where it fits and two where it does not.
    fn figures(&self) -> Vec<Line<'static>> {
        let last = self.view.seconds.iter().rev().find(|s| s.is_whole());
        let rate = |of: fn(&Second) -> units::Rate| last.map_or("–".to_owned(), |s| of(s).to_string());
        let count = |of: fn(&Second) -> u64| last.map_or("–".to_owned(), |s| grouped(of(s)));
        let time =
            |of: fn(&Second) -> Option<Nanos>| last.and_then(of).map_or("–".to_owned(), |t| t.to_string());
        let backlog = last.map_or(0, |s| s.backlog);
        let cell = |name: &str, value: String, tone| {
            [self.span(format!("{name} "), Tone::Faint), self.span(format!("{value:<9}"), tone)]
        };
        let first: Vec<Span> = [
            cell("offered", rate(|s| s.offered), Tone::Strong),
            cell("achieved", rate(|s| s.achieved), Tone::Strong),
        ]
        .concat();
        let second: Vec<Span> = [
            cell("in flight", format!("{:<7}", count(|s| s.in_flight)).trim_end().to_owned(), Tone::Strong),
            cell("backlog", count(|s| s.backlog), if backlog > 0 { Tone::Warn } else { Tone::Strong }),
        ]
        .concat();
        let third: Vec<Span> = [
            cell("p50", time(|s| s.response_p50), Tone::Strong),
            cell("p99", time(|s| s.response_p99), Tone::Strong),
        ]
        .concat();
        match self.width {
            100.. => vec![[first, second, third].concat().into()],
            60.. => vec![[first, second].concat().into(), third.into()],
            _ => vec![first.into(), second.into(), third.into()],
        }
    }

    /// What the service did in the last window, if it is watched: processors, threads that are ready for
    /// one, and what most of the others wait for.
    fn watched(&self) -> Option<Line<'static>> {
        let window = self.view.window.as_ref()?;
        let figure = view::figure(window, self.view.watched.as_ref()?)?;
        let allowed = if figure.allowed > 0.0 { format!(" of {:.1}", figure.allowed) } else { String::new() };
        let full = figure.allowed > 0.0 && figure.cpus >= 0.9 * figure.allowed;
        let cpus = format!("{:.2}{} CPUs", figure.cpus, allowed.trim_end_matches(".0"));
        let mut rest = figure.ready.map(|ready| format!("{ready:.1} ready")).into_iter().collect::<Vec<_>>();
        let named = |(what, count): &(String, f64)| format!("{count:.0} {what}");
        rest.extend(figure.sessions.first().map(|session| format!("PostgreSQL: {}", named(session))));
        rest.extend(figure.waits.iter().take(2).map(named));
        let rest: String = rest.into_iter().map(|part| format!(" · {part}")).collect();
        let spans = [
            self.span("target ", Tone::Faint),
            self.span(cpus, if full { Tone::Warn } else { Tone::Strong }),
            self.span(rest, Tone::Plain),
        ];
        Some(cut(spans, usize::from(self.width)).into())
    }

    /// Every outcome on its own line, those that should not be there highlighted.
    fn outcomes(&self) -> Text<'static> {
        let (outcomes, due) = self.counts().unwrap_or_default();
        let mut lines =
            vec![Line::from(self.span(format!("{:<10}{:>14}", "due", grouped(due)), Tone::Faint))];
        for outcome in Outcome::ALL {
            let count = outcomes.get(outcome);
            lines.push(Line::from(
                self.span(format!("{:<10}{:>14}", outcome.name(), grouped(count)), tone_of(outcome, count)),
            ));
        }
        Text::from(lines)
    }

    fn outcomes_in_a_line(&self) -> Line<'static> {
        let (outcomes, due) = self.counts().unwrap_or_default();
        let shown = Outcome::ALL.into_iter().filter(|o| *o == Outcome::Ok || outcomes.get(*o) > 0);
        let due = [self.span("due ", Tone::Faint), self.span(grouped(due), Tone::Plain)];
        let each = shown.map(|o| {
            self.span(format!("  {} {}", grouped(outcomes.get(o)), o.name()), tone_of(o, outcomes.get(o)))
        });
        due.into_iter().chain(each).collect::<Vec<_>>().into()
    }

    /// The last trials, the newest at the bottom; of a load the last doubts.
    fn trials(&self, height: u16) -> Text<'static> {
        let trials = self.view.trials.iter().map(trial_line);
        let doubts =
            self.view.caveats.iter().map(|c| view::Line::empty().and(Tone::Warn, "caveat: ").then(&c.text));
        let all: Vec<view::Line> = doubts.chain(trials).collect();
        let skip = all.len().saturating_sub(usize::from(height));
        all[skip..].iter().map(|line| self.palette.line(line)).collect()
    }

    fn foot(&self, stopping: bool) -> Line<'static> {
        Line::from(if stopping {
            self.span("stopping: the open requests are waited for; Ctrl-C again ends at once", Tone::Warn)
        } else {
            self.span("q stops; what was measured is kept", Tone::Faint)
        })
    }
}

fn tone_of(outcome: Outcome, count: u64) -> Tone {
    match outcome {
        _ if count == 0 => Tone::Faint,
        Outcome::Ok => Tone::Good,
        Outcome::Unsent => Tone::Warn,
        _ => Tone::Bad,
    }
}

/// In whole seconds, also when there is none yet.
fn whole(time: Nanos) -> String {
    match time.as_secs_f64().round() as u64 {
        0 => "0 s".to_owned(),
        seconds => Nanos::from_secs(seconds).to_string(),
    }
}

/// To a tenth of a percent, for reading at a glance.
fn rounded(share: f64) -> f64 {
    (share * 1000.0).round() / 1000.0
}

/// The spans as far as they fit, with an ellipsis where they do not.
fn cut<const N: usize>(spans: [Span<'static>; N], room: usize) -> Vec<Span<'static>> {
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
