//! What differs between runs, with its intervals, as tables and charts.

use super::plain;
use record::Unit as Measured;
use view::document::{Axis, Bound, Chart, Doubt, Form, Piece, Point, Role, Row, Series, Table, Text, Unit};
use view::{Measure, RunComparison, Tone};

/// What came of each run but the first.
pub(super) fn verdict(compared: &RunComparison) -> Vec<Text> {
    let one = |verdict: &view::RunVerdict| Text::empty().and(verdict.standing.tone(), &verdict.words);
    compared.verdicts.iter().map(one).collect()
}

pub(super) fn doubts(compared: &RunComparison) -> Vec<Doubt> {
    compared.doubts.iter().map(|doubt| Doubt { text: doubt.to_string(), section: None }).collect()
}

/// The figures of all, and how each differs from the first.
pub(super) fn tables(compared: &RunComparison) -> Vec<Table> {
    let titles = || compared.runs.iter().map(|run| run.title.clone());
    let figures = Table {
        title: "Figures, each with its 95 % interval".to_owned(),
        head: std::iter::once(String::new()).chain(titles()).collect(),
        rows: compared.measures.iter().map(figures).collect(),
        ..Table::default()
    };
    let against = compared.runs.first().map_or("", |run| run.title.as_str());
    let differences = Table {
        title: format!("Differences from {against}"),
        head: std::iter::once(String::new()).chain(titles().skip(1)).collect(),
        rows: compared.measures.iter().map(differences).collect(),
        ..Table::default()
    };
    vec![figures, differences]
}

fn figures(measure: &Measure) -> Vec<Piece> {
    let figure = |figure: &Option<view::RunFigure>| {
        let Some(figure) = figure else {
            return Piece { text: "not measured".to_owned(), tone: Tone::Faint };
        };
        let interval = measure.interval_words(figure);
        let interval = if interval.is_empty() { interval } else { format!(" ({interval})") };
        plain(format!("{}{interval}", measure.words(figure.value)))
    };
    std::iter::once(plain(measure.title.clone())).chain(measure.figures.iter().map(figure)).collect()
}

fn differences(measure: &Measure) -> Vec<Piece> {
    let difference = |difference: &Option<view::Difference>| {
        let Some(difference) = difference else { return plain(String::new()) };
        let words = format!("{} {}", difference.standing.name(), measure.difference_words(difference));
        // What only explains is neither good nor bad.
        let tone = if measure.decides { difference.standing.tone() } else { Tone::Plain };
        Piece { text: words.trim_end().to_owned(), tone }
    };
    std::iter::once(plain(measure.title.clone()))
        .chain(measure.differences.iter().skip(1).map(difference))
        .collect()
}

/// For each run but the first, how many times as much every figure is.
pub(super) fn charts(compared: &RunComparison) -> Vec<Chart> {
    let against = compared.runs.first().map_or("", |run| run.title.as_str());
    let runs = compared.runs.iter().enumerate().skip(1);
    runs.filter_map(|(nth, run)| {
        let drawn = compared.measures.iter().filter_map(|measure| Some((measure, point(measure, nth)?)));
        let (rows, points): (Vec<Row>, Vec<Point>) = drawn
            .enumerate()
            .map(|(row, (measure, point))| (Row::named(&measure.title), Point { y: row as f64, ..point }))
            .unzip();
        (!points.is_empty()).then(|| Chart {
            id: format!("compared-with-{nth}"),
            title: format!("{} against {against}", run.title),
            note: format!("Each figure as a multiple of that of {against}; the line is its 95 % interval."),
            form: Form::Intervals,
            x: Axis { name: "times as much".to_owned(), unit: Unit::Ratio, log: true },
            y: Axis { name: String::new(), unit: Unit::Count, log: false },
            series: vec![Series {
                name: run.title.clone(),
                role: Role::Nth(nth as u8),
                column: None,
                points,
            }],
            bounds: vec![Bound { name: "the same".to_owned(), at: 1.0, along_x: true, tone: Tone::Plain }],
            bands: Vec::new(),
            rows,
            heat: None,
            marks: Vec::new(),
        })
    })
    .collect()
}

/// None of what is no multiple: a share differs by points, a goal is met or not.
fn point(measure: &Measure, nth: usize) -> Option<Point> {
    let difference = measure.differences.get(nth)?.as_ref()?;
    let drawn = |value: f64| value.is_finite() && value > 0.0;
    if measure.unit == Measured::Share || measure.id == "goal" || !drawn(difference.by) {
        return None;
    }
    let end =
        |of: fn(&stats::Estimate) -> f64| difference.interval.as_ref().map(of).filter(|value| drawn(*value));
    Some(Point {
        x: difference.by,
        low: end(|interval| interval.low),
        high: end(|interval| interval.high),
        tone: if measure.decides { difference.standing.tone() } else { Tone::Plain },
        ..Point::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::RunId;
    use stats::Estimate;
    use view::{Compared, Difference, RunFigure, RunVerdict, Standing};

    fn compared() -> RunComparison {
        let run = |id: &str| Compared {
            id: RunId(id.to_owned()),
            title: id.to_owned(),
            command: record::RunKind::Run,
            target: "http://a/".to_owned(),
            started_unix_ms: 1,
            machine: record::Machine::default(),
            label: record::Label::default(),
            gave: None,
        };
        let interval = |low, value, high| Some(Estimate { value, low, high });
        let measure = |id: &'static str, unit, difference| Measure {
            id,
            title: id.to_owned(),
            unit,
            less_is_better: true,
            decides: true,
            figures: vec![Some(RunFigure { value: 2e6, interval: interval(1e6, 2e6, 3e6) }), None],
            differences: vec![None, difference],
        };
        let worse =
            Difference { by: 1.8, interval: interval(1.5, 1.8, f64::INFINITY), standing: Standing::Worse };
        let lost = Difference { by: 0.01, interval: None, standing: Standing::Unknown };
        RunComparison {
            runs: vec![run("before"), run("after")],
            doubts: vec![record::Caveat::new(record::Doubt::OtherPlan, "the plans differ")],
            measures: vec![
                measure("response_p99", Measured::Nanos, Some(worse)),
                measure("lost", Measured::Share, Some(lost)),
            ],
            verdicts: vec![RunVerdict { standing: Standing::Worse, words: "after is slower".to_owned() }],
            noise: 0.05,
        }
    }

    #[test]
    fn differences_have_their_interval_and_their_meaning() {
        let compared = compared();
        assert_eq!(verdict(&compared), [Text::empty().and(Tone::Bad, "after is slower")]);
        assert_eq!(doubts(&compared)[0].text, "the plans differ");
        let tables = tables(&compared);
        assert_eq!(tables[0].head, ["", "before", "after"]);
        assert_eq!(tables[0].rows[0][1].text, "2 ms (1 ms–3 ms)");
        assert_eq!(tables[0].rows[0][2].text, "not measured");
        assert_eq!((tables[1].title.as_str(), tables[1].head.len()), ("Differences from before", 2));
        let cell = &tables[1].rows[0][1];
        assert!(cell.text.starts_with("worse ×1.8 (1.5–") && cell.tone == Tone::Bad, "{cell:?}");
        let [chart]: [Chart; 1] = charts(&compared).try_into().expect("one run against the first");
        let points = &chart.series[0].points;
        assert_eq!(points.len(), 1, "a share is no multiple");
        assert_eq!(
            (points[0].x, points[0].low, points[0].high),
            (1.8, Some(1.5), None),
            "an end that is open is none"
        );
        assert_eq!(chart.rows, [Row::named("response_p99")]);
    }
}
