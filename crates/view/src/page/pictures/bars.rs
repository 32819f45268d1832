//! Figures of the machine: each a bar, and thin below it what it should come to by what else was measured.

use crate::document::{AxisUnit, Chart, ChartForm, ChartPoint, ChartRow, SeriesRole, TextSpan};
use crate::figure_tables::{distinct, value};
use crate::{RunView, Tone};
use record::Figure;

/// What differs by more than this stands on a logarithmic axis: on another the smaller ones could not be seen.
const SPREAD: f64 = 30.0;
/// A sum that differs by more than this from what was measured is seen to.
const UNLIKE: f64 = 0.02;
/// One alone has nothing to be seen beside.
const FEWEST: usize = 2;
/// What the figures of a storm are of that say where the time of one process goes.
const ALONE: &str = "one alone";

/// One for each table, as the tables below are divided.
pub(super) fn charts(view: &RunView) -> Vec<Chart> {
    pictures(&view.measured.iter().collect::<Vec<_>>())
}

/// Where the time of a process goes.
pub(super) fn process_charts(view: &RunView) -> Vec<Chart> {
    pictures(&view.measured.iter().filter(|figure| figure.circumstances().1 == ALONE).collect::<Vec<_>>())
}

/// What stands in one picture: figures of a table that are of the same thing, in the same unit.
fn kind(figure: &Figure) -> (&str, &str, record::FigureUnit) {
    (figure.table.as_str(), figure.circumstances().1, figure.unit)
}

fn pictures(all: &[&Figure]) -> Vec<Chart> {
    let kinds = distinct(all.iter().map(|figure| kind(figure)));
    let mut drawn = Vec::new();
    for (table, what, unit) in &kinds {
        let of_it: Vec<&Figure> =
            all.iter().copied().filter(|figure| kind(figure) == (*table, *what, *unit)).collect();
        if of_it.len() < FEWEST {
            continue;
        }
        let mut title = vec![*table, *what];
        title.retain(|word| !word.is_empty());
        title.dedup();
        let title = title.join(": ");
        let is_alike = |other: &&(&str, &str, record::FigureUnit)| (other.0, other.1) == (*table, *what);
        let title = match kinds.iter().filter(is_alike).count() {
            1 => title,
            _ => format!("{title} ({})", quantity(*unit).0),
        };
        drawn.push(picture(format!("figures-{}", drawn.len()), title, *unit, &of_it));
    }
    drawn
}

/// What is counted in a unit, which is better, what the page calls it, and how many of the page's one of it is.
fn quantity(unit: record::FigureUnit) -> (&'static str, &'static str, AxisUnit, f64) {
    let (less, more) = (" (less is better)", " (more is better)");
    match unit {
        record::FigureUnit::Nanos => ("time", less, AxisUnit::Seconds, 1e-9),
        record::FigureUnit::Bytes => ("memory", less, AxisUnit::Bytes, 1.0),
        record::FigureUnit::PerSecond => ("rate", more, AxisUnit::PerSecond, 1.0),
        record::FigureUnit::BytesPerSecond => ("bytes a second", more, AxisUnit::BytesPerSecond, 1.0),
        record::FigureUnit::Count => ("number", "", AxisUnit::Count, 1.0),
        record::FigureUnit::Share => ("share", "", AxisUnit::Share, 1.0),
    }
}

fn picture(id: String, title: String, unit: record::FigureUnit, figures: &[&Figure]) -> Chart {
    let (counted, better, axis, scale) = quantity(unit);
    let is_log = needs_log_axis(figures.iter().map(|figure| figure.median));
    let several = distinct(figures.iter().map(|figure| figure.circumstances().0)).len() > 1;
    let (mut rows, mut bars, mut parts) = (Vec::new(), Vec::new(), Vec::new());
    let all_doubtful = figures.iter().all(|figure| !figure.caveats.is_empty());
    let mut said = None;
    for (place, figure) in figures.iter().enumerate() {
        let (circumstances, _) = figure.circumstances();
        let label = if several { circumstances } else { "" };
        let doubtful = !figure.caveats.is_empty();
        // What is so of all is said above.
        let word = if doubtful && !all_doubtful {
            TextSpan::new(Tone::Warn, "doubtful")
        } else {
            TextSpan::default()
        };
        // What several in a row have in common is said once.
        let argument = figure.argument.as_ref().filter(|argument| said != Some(*argument));
        let note: Vec<String> = argument.cloned().into_iter().chain(unlike(figure)).collect();
        let row = ChartRow { note: note.join("; "), word, ..ChartRow::named(&figure.row) };
        said = figure.argument.as_ref();
        if is_log && figure.median <= 0.0 {
            // On such an axis it has no place: its value stands there alone.
            let name = if several { format!("{}, {label}", figure.row) } else { figure.row.clone() };
            rows.push(ChartRow {
                name,
                word: TextSpan::new(row.word.tone, value(unit, figure.median)),
                ..row
            });
            continue;
        }
        rows.push(row);
        // A single measurement has no interval.
        let end = |end: f64| (figure.low < figure.high).then_some(end * scale);
        bars.push(ChartPoint {
            x: figure.median * scale,
            y: place as f64,
            low: end(figure.low),
            high: end(figure.high),
            label: label.to_owned(),
            tone: if doubtful { Tone::Warn } else { Tone::Plain },
        });
        parts.extend(figure.parts.iter().map(|part| ChartPoint {
            x: part.amount * scale,
            y: place as f64,
            label: if several { format!("{label}: {}", part.name) } else { part.name.clone() },
            tone: Tone::Faint,
            ..ChartPoint::default()
        }));
    }
    let mut note = "bar: the median with its interval".to_owned();
    let says = [
        (
            !parts.is_empty(),
            "; thin bar: what its parts, measured apart, add up to; where it ends elsewhere, the rest is unexplained",
        ),
        (all_doubtful, "; hollow: all are doubtful"),
        (!all_doubtful && bars.iter().any(|bar| bar.tone == Tone::Warn), "; hollow: doubtful"),
        (is_log, "; logarithmic scale: compare where bars end, not how long they are"),
    ];
    says.into_iter().filter(|(is_so, _)| *is_so).for_each(|(_, text)| note.push_str(text));
    let counted = format!("{counted}{better}");
    let chart =
        Chart::of(id, title, ChartForm::Bars, (counted.as_str(), axis), ("", AxisUnit::Count)).note(note);
    let chart = if is_log { chart.log_x() } else { chart };
    let chart = chart.points("measured", SeriesRole::Achieved, bars);
    let chart = if parts.is_empty() { chart } else { chart.points("part", SeriesRole::Idle, parts) };
    Chart { rows, ..chart }
}

/// By how much what the parts add up to is not what was measured, where that can be seen.
fn unlike(figure: &Figure) -> Option<String> {
    let sum: f64 = figure.parts.iter().map(|part| part.amount).sum();
    let more = sum - figure.median;
    let word = if more > 0.0 { "more" } else { "less" };
    let is_seen = !figure.parts.is_empty() && more.abs() > UNLIKE * figure.median;
    is_seen.then(|| format!("that is {} {word} than was measured", value(figure.unit, more.abs())))
}

/// Whether the largest of these is so many times the smallest that only a logarithmic axis shows both.
pub(super) fn needs_log_axis(values: impl Iterator<Item = f64>) -> bool {
    let positive = values.filter(|value| value.is_finite() && *value > 0.0);
    let (least, most) =
        positive.fold((f64::INFINITY, 0.0_f64), |(least, most), value| (least.min(value), most.max(value)));
    most > SPREAD * least
}
