//! Differences from the first run as charts: each with its interval, beside the band that does not matter.

use super::compared_run::ComparedRun;
use super::difference::{Difference, Significance};
use super::measure::ComparedMeasure;
use super::run_comparison::RunComparison;
use crate::Tone;
use crate::document::{AxisUnit, Chart, ChartForm, ChartPoint, ChartRow, SeriesRole, TextSpan};
use crate::page::pictures::{better_direction, better_side, with_ratio_bands};
use record::CaveatKind;

impl RunComparison {
    /// One chart where more is better, one, with a reversed axis, where less is better: better is always to the right.
    pub fn charts(&self) -> Vec<Chart> {
        let all = [true, false].map(|more_is_better| self.picture(more_is_better));
        all.into_iter().filter(Chart::has_points).collect()
    }

    fn picture(&self, more_is_better: bool) -> Chart {
        let (mut rows, mut points) = (Vec::new(), Vec::new());
        let measures = self.measures.iter().filter(|measure| measure.less_is_better != more_is_better);
        for measure in measures {
            let runs = self.runs.iter().zip(&measure.differences).skip(1);
            for (run, difference) in runs.filter_map(|(run, difference)| Some((run, difference.as_ref()?))) {
                let point = point(measure, difference);
                let note = if self.runs.len() > 2 { run.title.clone() } else { String::new() };
                let word = word(measure, difference, point.is_some());
                if point.is_none() && word.text.is_empty() {
                    continue;
                }
                points.extend(point.map(|point| ChartPoint { y: rows.len() as f64, ..point }));
                rows.push(ChartRow { note, word, ..ChartRow::named(&measure.title) });
            }
        }
        let id = if more_is_better { "differences-more" } else { "differences-less" };
        let direction = better_direction(more_is_better);
        let against = self.runs.first().map(ComparedRun::display_name).unwrap_or_default();
        let title = match self.runs.as_slice() {
            [_, other] => format!("how {} differs from {against} ({direction})", other.display_name()),
            _ => format!("how they differ from {against} ({direction})"),
        };
        // At another load nothing is better or worse, and no mark may lie in a zone that says so.
        let judged = !self.all_caveats.iter().any(|caveat| caveat.doubt == CaveatKind::OtherLoad);
        let better = better_side(more_is_better);
        let (x, note) = match judged {
            true => (format!("times as much{better}"), "the zone that contains all of it is the answer"),
            false => ("times as much".to_owned(), "their loads differ, so none is called better or worse"),
        };
        let note = format!("line: the 95 % interval of a difference, by the seconds of one run each; {note}");
        let chart = Chart::of(id, title, ChartForm::Intervals, (&x, AxisUnit::Ratio), ("", AxisUnit::Count))
            .log_x()
            .note(note);
        let chart = if judged { with_ratio_bands(chart, more_is_better, self.noise) } else { chart };
        let chart = chart.vertical_line("the same", Some(1.0), Tone::Faint);
        Chart { rows, ..chart.points("difference", SeriesRole::Achieved, points) }
    }
}

/// `None` for what is no ratio: a share differs by points, a goal is met or not.
fn point(measure: &ComparedMeasure, difference: &Difference) -> Option<ChartPoint> {
    let drawn = |value: f64| value.is_finite() && value > 0.0;
    if !measure.is_multiple() || !drawn(difference.by) {
        return None;
    }
    let end = |value: f64| Some(value).filter(|value| drawn(*value));
    let interval = difference.interval.as_ref();
    Some(ChartPoint {
        x: difference.by,
        low: interval.and_then(|interval| end(interval.low)),
        high: interval.and_then(|interval| end(interval.high)),
        tone: measure.significance_words(difference).1,
        ..ChartPoint::default()
    })
}

/// What a difference means, and its size where no mark shows it.
fn word(measure: &ComparedMeasure, difference: &Difference, is_drawn: bool) -> TextSpan {
    let by = if is_drawn { String::new() } else { measure.difference_words(difference) };
    let (means, tone) = measure.significance_words(difference);
    let said = match difference.significance {
        _ if measure.id == "goal" && !by.is_empty() => "",
        Significance::Unknown if is_drawn && difference.interval.is_some() => "other load",
        Significance::Unknown if is_drawn && measure.id == "response_max" => "one request each: no interval",
        Significance::Unknown if is_drawn => "no interval",
        _ => means,
    };
    // That neither lost more than the other is no figure.
    let is_judged = difference.significance != Significance::Unknown;
    let alike = by.strip_prefix("0 % ").filter(|_| measure.unit == record::FigureUnit::Share && is_judged);
    if let Some(interval) = alike {
        let text = format!("no difference {}", interval.replace('–', " to "));
        return TextSpan { text, tone };
    }
    let text = [by.as_str(), said].join(" ").trim().to_owned();
    TextSpan { text, tone }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::RunVerdict;
    use record::RunId;
    use stats::Estimate;

    fn compared(names: &[&str], measures: Vec<ComparedMeasure>) -> RunComparison {
        let run = |id: &&str| ComparedRun {
            id: RunId(format!("20261125-101633-{id}")),
            title: (*id).to_owned(),
            command: record::RunKind::Run,
            target: "http://a/".to_owned(),
            started_unix_ms: 1,
            machine: record::Machine::default(),
            label: record::Label::default(),
            first_cause: None,
        };
        RunComparison {
            runs: names.iter().map(run).collect(),
            all_caveats: Vec::new(),
            measures,
            code: names.iter().map(|_| None).collect(),
            verdicts: vec![RunVerdict {
                significance: Significance::Worse,
                sentence: "after is slower".to_owned(),
            }],
            noise: 0.05,
        }
    }

    fn measure(
        id: &'static str,
        unit: record::FigureUnit,
        less_is_better: bool,
        others: &[Difference],
    ) -> ComparedMeasure {
        let differences = std::iter::once(None).chain(others.iter().copied().map(Some)).collect();
        let figures = vec![None; 1 + others.len()];
        ComparedMeasure {
            id,
            title: id.to_owned(),
            unit,
            less_is_better,
            decides: id != "memory",
            figures,
            differences,
        }
    }

    fn difference(by: f64, ends: Option<(f64, f64)>, significance: Significance) -> Difference {
        Difference { by, interval: ends.map(|(low, high)| Estimate { value: by, low, high }), significance }
    }

    #[test]
    fn what_has_one_direction_stands_in_one_picture() {
        let compared = compared(
            &["before", "after"],
            vec![
                measure(
                    "goal",
                    record::FigureUnit::Count,
                    false,
                    &[difference(-1.0, None, Significance::Worse)],
                ),
                measure(
                    "capacity",
                    record::FigureUnit::PerSecond,
                    false,
                    &[difference(1.2, Some((1.1, f64::INFINITY)), Significance::Better)],
                ),
                measure(
                    "p99",
                    record::FigureUnit::Nanos,
                    true,
                    &[difference(1.8, Some((1.5, 2.1)), Significance::Worse)],
                ),
                measure(
                    "lost",
                    record::FigureUnit::Share,
                    true,
                    &[difference(0.01, Some((0.005, 0.02)), Significance::Worse)],
                ),
                measure(
                    "memory",
                    record::FigureUnit::Bytes,
                    true,
                    &[difference(2.0, None, Significance::Unknown)],
                ),
            ],
        );
        let pictures = compared.charts();
        let [more, less] = pictures.as_slice() else { panic!("{pictures:?}") };
        assert_eq!(more.title, "how “after” differs from “before” (more is better)");
        let names: Vec<&str> = more.bands.iter().map(|band| band.name.as_str()).collect();
        assert_eq!(names, ["worse", "no difference", "better"]);
        assert_eq!(
            (less.bands[0].name.as_str(), less.bands[0].to < Some(1.0)),
            ("better", true),
            "less of it"
        );
        assert!(less.x.name.ends_with("better to the left"), "{}", less.x.name);
        let said = |chart: &Chart| {
            let words = chart.rows.iter().map(|row| format!("{}: {}", row.name, row.word.text));
            words.collect::<Vec<_>>()
        };
        assert_eq!(said(more), ["goal: no longer met", "capacity: better"]);
        assert_eq!(said(less), ["p99: worse", "lost: +1 % (+0.5 %–+2 %) worse", "memory: no interval"]);
        let point = &more.series[0].points[0];
        assert_eq!((more.series[0].points.len(), point.row()), (1, 1), "a goal is no multiple");
        assert_eq!((point.low, point.high), (Some(1.1), None), "an end that is open is none");
        assert_eq!(less.series[0].points[1].tone, Tone::Faint, "what only explains is no judgement");
    }

    /// A load of 1,900/s was compared with one of 1,500/s: its goodput, labelled "other load", lay in the green zone.
    #[test]
    fn of_another_load_nothing_is_drawn_as_better() {
        let goodput = difference(1.27, Some((1.26, 1.28)), Significance::Unknown);
        // Both met it: nothing to draw, and at another load nothing to say.
        let goal = difference(0.0, None, Significance::Unknown);
        let measures = vec![
            measure("goal", record::FigureUnit::Count, false, &[goal]),
            measure("goodput", record::FigureUnit::PerSecond, false, &[goodput]),
        ];
        let mut compared = compared(&["before", "after"], measures);
        compared.all_caveats.push(record::Caveat::new(CaveatKind::OtherLoad, "rate 1500 → 1900"));
        let pictures = compared.charts();
        let [chart] = pictures.as_slice() else { panic!("{pictures:?}") };
        let names: Vec<&str> = chart.bands.iter().map(|band| band.name.as_str()).collect();
        let rows: Vec<&str> = chart.rows.iter().map(|row| row.word.text.as_str()).collect();
        assert_eq!((names, rows), (vec![], vec!["other load"]));
        assert!(chart.note.ends_with("none is called better or worse"), "{}", chart.note);
    }

    #[test]
    fn of_several_runs_each_is_named() {
        let two = [difference(1.0, None, Significance::Same), difference(2.0, None, Significance::Worse)];
        let compared =
            compared(&["a", "b", "c"], vec![measure("p99", record::FigureUnit::Nanos, true, &two)]);
        let pictures = compared.charts();
        let [chart] = pictures.as_slice() else { panic!("{pictures:?}") };
        let notes: Vec<&str> = chart.rows.iter().map(|row| row.note.as_str()).collect();
        assert_eq!(
            (chart.title.as_str(), notes),
            ("how they differ from “a” (less is better)", vec!["b", "c"])
        );
    }
}
