//! The machine's figures as bars, each with a thin bar for the value expected from other figures.

use crate::document::{AxisUnit, Chart, ChartForm, ChartPoint, ChartRow, SeriesRole, TextSpan};
use crate::figure_tables::value;
use crate::wording::distinct;
use crate::{RunView, Tone};
use record::Figure;

/// Larger ratios need a logarithmic axis: otherwise the smaller bars would be invisible.
const LOG_AXIS_RATIO: f64 = 30.0;
/// A larger relative difference between sum and measurement is visible.
const VISIBLE_DIFFERENCE: f64 = 0.02;
/// A single bar has nothing to compare with.
const MIN_BARS: usize = 2;
/// The subject of a storm's figures on where a process's time goes.
const ALONE: &str = "one alone";

/// One per table, divided as the tables below.
pub(super) fn charts(view: &RunView) -> Vec<Chart> {
    pictures(&view.figures.iter().collect::<Vec<_>>())
}

/// Where a process's time goes.
pub(super) fn process_charts(view: &RunView) -> Vec<Chart> {
    pictures(&view.figures.iter().filter(|figure| figure.circumstances().1 == ALONE).collect::<Vec<_>>())
}

/// What shares a chart: figures of one table, subject and unit.
fn kind(figure: &Figure) -> (&str, &str, record::FigureUnit) {
    (figure.table.as_str(), figure.circumstances().1, figure.unit)
}

fn pictures(all: &[&Figure]) -> Vec<Chart> {
    let kinds = distinct(all.iter().map(|figure| kind(figure)));
    let mut drawn = Vec::new();
    for (table, what, unit) in &kinds {
        let of_it: Vec<&Figure> =
            all.iter().copied().filter(|figure| kind(figure) == (*table, *what, *unit)).collect();
        if of_it.len() < MIN_BARS {
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

/// A unit's quantity, its better direction, its axis unit, and the factor to convert to that.
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
        // What applies to all is said above.
        let word = if doubtful && !all_doubtful {
            TextSpan::new(Tone::Warn, "doubtful")
        } else {
            TextSpan::default()
        };
        // What several in a row share is said once.
        let argument = figure.argument.as_ref().filter(|argument| said != Some(*argument));
        let note: Vec<String> = argument.cloned().into_iter().chain(unlike(figure)).collect();
        let row = ChartRow { note: note.join("; "), word, ..ChartRow::named(&figure.row) };
        said = figure.argument.as_ref();
        if is_log && figure.median <= 0.0 {
            // Off the logarithmic axis: show the value alone.
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

/// How much the sum of the parts differs from the measurement, if visible.
fn unlike(figure: &Figure) -> Option<String> {
    let sum: f64 = figure.parts.iter().map(|part| part.amount).sum();
    let more = sum - figure.median;
    let word = if more > 0.0 { "more" } else { "less" };
    let is_seen = !figure.parts.is_empty() && more.abs() > VISIBLE_DIFFERENCE * figure.median;
    is_seen.then(|| format!("that is {} {word} than was measured", value(figure.unit, more.abs())))
}

/// Whether the ratio of largest to smallest requires a logarithmic axis.
pub(super) fn needs_log_axis(values: impl Iterator<Item = f64>) -> bool {
    let positive = values.filter(|value| value.is_finite() && *value > 0.0);
    let (least, most) =
        positive.fold((f64::INFINITY, 0.0_f64), |(least, most), value| (least.min(value), most.max(value)));
    most > LOG_AXIS_RATIO * least
}
