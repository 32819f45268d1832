//! The product's face: what a run came to, for a tired engineer at a glance. First what holds,
//! then why no more, then the figures, then how sure all that is.

mod experiment;
mod load;
mod search;

use crate::reason::requests;
use crate::{Line, RunView, Tone, caveats};
use stats::upper_bound;
use units::{Share, grouped};

/// How sure a bound stated beside a count is.
const CONFIDENCE: f64 = 0.95;

/// The summary of a run that ended, goes on, or was cut short.
pub fn summary(view: &RunView) -> Vec<Line> {
    let Some(started) = &view.started else {
        return vec![
            Line::empty().and(Tone::Bad, "  the run's first event is missing: nothing can be said of it"),
        ];
    };
    let mut lines = vec![
        Line::plain("  ")
            .and(Tone::Strong, &started.target)
            .and(Tone::Faint, format!(" · {} · goal {}", started.command, started.goal)),
        Line::empty(),
    ];
    let body = match (view.is_experiment(), view.is_search()) {
        (true, _) => experiment::lines(view),
        (false, true) => search::lines(view),
        (false, false) => load::lines(view),
    };
    lines.extend(body);
    if let Some(error) = view.end.as_ref().and_then(|end| end.error.as_ref()) {
        lines.push(Line::empty().and(Tone::Bad, "  error: ").then(error));
    }
    lines.extend(caveats::lines(view));
    if view.skipped > 0 {
        let text = format!(
            "{} events of this run could not be read by this version and are left out; a newer torment may know them",
            grouped(view.skipped)
        );
        lines.push(Line::empty().and(Tone::Warn, "  caveat: ").then(text));
    }
    let part =
        started.part_of.as_ref().map(|whole| format!(" · a measurement of {whole}")).unwrap_or_default();
    lines.push(Line::empty().and(Tone::Faint, format!("  run {0} · torment show {0}{part}", started.id)));
    lines
}

/// The headline of a run without an end, if it has none.
fn unfinished(view: &RunView) -> Option<Line> {
    if view.end.is_some() {
        return None;
    }
    Some(if view.running {
        Line::plain("  ").and(Tone::Strong, "still running").then(": this is what is known so far")
    } else {
        Line::plain("  ")
            .and(Tone::Bad, "cut short")
            .then(": torment itself ended before the run did; what it had measured is kept")
    })
}

/// "How sure" as a statement about n: a share is never zero, only below something.
fn how_sure(bad: u64, due: u64) -> String {
    let below = Share(upper_bound(bad, due, CONFIDENCE));
    format!("{} of {} bad: below {} at 95 % confidence", grouped(bad), requests(due), two_digits(below))
}

/// A share with two significant digits, rounded up: it is a bound.
fn two_digits(share: Share) -> Share {
    if share.0 <= 0.0 {
        return share;
    }
    let scale = 10f64.powi(1 - share.0.log10().floor() as i32);
    Share(((share.0 * scale - 1e-9).ceil() / scale).min(1.0))
}
