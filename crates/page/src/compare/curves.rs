//! The curves of several runs in one chart.

use super::ComparedDocument;
use view::document::{AxisUnit, Chart, ChartForm, ChartSeries, SeriesRole};

/// The charts drawn for all runs: their id and the units of their axes, x first.
const CURVES: [(&str, AxisUnit, AxisUnit); 2] = [
    ("compared-by-rate", AxisUnit::PerSecond, AxisUnit::Seconds),
    ("compared-by-percentile", AxisUnit::Percentile, AxisUnit::Seconds),
];

/// Every chart that at least two runs have.
pub(super) fn charts(runs: &[ComparedDocument]) -> Vec<Chart> {
    CURVES.iter().filter_map(|curve| chart(runs, *curve)).collect()
}

fn chart(runs: &[ComparedDocument], (id, x, y): (&str, AxisUnit, AxisUnit)) -> Option<Chart> {
    let curve_of = |run: &ComparedDocument| -> Option<(Chart, ChartSeries)> {
        let mut charts = run.document.front.sections.iter().flat_map(|section| &section.charts);
        let chart = charts.find(|chart| {
            (chart.x.unit, chart.y.unit) == (x, y)
                && matches!(chart.form, ChartForm::Lines | ChartForm::Points)
        })?;
        let drawn = || chart.series.iter().filter(|series| !series.points.is_empty());
        let one = drawn().find(|series| series.role == SeriesRole::NinetyNine).or_else(|| drawn().next())?;
        Some((chart.clone(), one.clone()))
    };
    let curves: Vec<(u8, &ComparedDocument, (Chart, ChartSeries))> =
        (0..).zip(runs).filter_map(|(nth, run)| Some((nth, run, curve_of(run)?))).collect();
    let (_, _, (first, _)) = curves.first().filter(|_| curves.len() > 1)?;
    let is_one_target = curves.iter().all(|(_, run, _)| run.summary.target == curves[0].1.summary.target);
    let series = |(nth, run, (_, one)): &(u8, &ComparedDocument, (Chart, ChartSeries))| {
        let id = || run.summary.id.0.clone();
        let label = run.summary.label.name.as_ref().map_or_else(id, |name| format!("“{name}”"));
        let target = if is_one_target { String::new() } else { format!(" {}", run.summary.target) };
        ChartSeries {
            name: format!("{label}{target}: {}", one.name),
            role: SeriesRole::Nth(*nth),
            column: None,
            points: one.points.clone(),
        }
    };
    Some(Chart {
        id: id.to_owned(),
        // The trial of the first run says nothing of the others.
        title: first.title.split(" (").next().unwrap_or_default().to_owned(),
        series: curves.iter().map(series).collect(),
        // The knee and the goal of one run are not those of another.
        bounds: Vec::new(),
        bands: Vec::new(),
        ..first.clone()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::tests::run_summary;
    use record::RunId;
    use store::RunSummary;
    use view::document::{Axis, ChartPoint, Document, PageFront, SCHEMA, Section, Timeline};

    fn run(id: &str, points: &[(f64, f64)], form: ChartForm) -> ComparedDocument {
        let axis = |name: &str, unit| Axis { name: name.to_owned(), unit, log: false };
        let series = |name: &str, role| ChartSeries {
            name: name.to_owned(),
            role,
            column: None,
            points: points
                .iter()
                .map(|(x, y)| ChartPoint { x: *x, y: *y, ..ChartPoint::default() })
                .collect(),
        };
        let chart = Chart {
            id: "rate".to_owned(),
            title: "Response time by rate".to_owned(),
            note: String::new(),
            form,
            x: axis("offered rate", AxisUnit::PerSecond),
            y: axis("response time", AxisUnit::Seconds),
            series: vec![series("half", SeriesRole::Half), series("99 %", SeriesRole::NinetyNine)],
            bounds: Vec::new(),
            bands: Vec::new(),
            rows: Vec::new(),
            heat: None,
            marks: Vec::new(),
            hollow: String::new(),
        };
        let section = Section { charts: vec![chart], ..Section::default() };
        let front = PageFront { sections: vec![section], ..PageFront::default() };
        let line = RunSummary { id: RunId(id.to_owned()), target: format!("http://{id}/"), ..run_summary() };
        ComparedDocument {
            summary: line,
            document: Document { schema: SCHEMA, front, timeline: Timeline::default() },
        }
    }

    #[test]
    fn curves_lie_over_each_other() {
        let runs = [
            run("a", &[(1.0, 2.0)], ChartForm::Points),
            run("b", &[], ChartForm::Points),
            run("c", &[(3.0, 4.0)], ChartForm::Points),
        ];
        let charts = charts(&runs);
        let [chart] = charts.as_slice() else { panic!("one curve: {charts:?}") };
        let names: Vec<&str> = chart.series.iter().map(|series| series.name.as_str()).collect();
        assert_eq!(names, ["a http://a/: 99 %", "c http://c/: 99 %"], "what has no point is no line");
        assert_eq!([chart.series[0].role, chart.series[1].role], [SeriesRole::Nth(0), SeriesRole::Nth(2)]);
        assert_eq!((chart.id.as_str(), chart.series[1].points[0].x), ("compared-by-rate", 3.0));
    }

    #[test]
    fn what_one_alone_has_is_no_comparison() {
        let runs = [run("a", &[(1.0, 2.0)], ChartForm::Lines), run("b", &[(1.0, 2.0)], ChartForm::Stack)];
        assert!(charts(&runs).is_empty());
    }
}
