//! An experiment's result: every start, and the combined estimates.

use crate::document::{AxisUnit, Chart, ChartForm, ChartPoint, ChartRow, SeriesRole, TextSpan};
use crate::experiment::{
    DesignLookup, answer_in_full, answer_word, block_of, cause_under_load, figure, percent,
};
use crate::figure_tables::distinct;
use crate::wording::quoted;
use crate::{RunView, Tone};
use plan::{ArmMeasure, Hypothesis};
use record::{ArmStart, ExperimentState, HypothesisAnswer, HypothesisResult};

/// Vertical offset of the estimate within its row, and the range of its starts, the first at the top.
const ESTIMATE: f64 = -0.2;
const STARTS: (f64, f64) = (0.04, 0.4);

/// Better is to the right: in all charts numbers rise to the right.
pub(crate) const UP: &str = "; better to the right";
pub(crate) const DOWN: &str = "; better to the left";

/// One per direction and smallest effect: charts share their bands.
pub(super) fn charts(view: &RunView) -> Vec<Chart> {
    let Some(names) = DesignLookup::of(view) else { return Vec::new() };
    let nothing = ExperimentState::default();
    let standing = view.standing.as_ref().unwrap_or(&nothing);
    let kinds = distinct(names.design.hypotheses.iter().map(kind));
    let all = kinds.into_iter().enumerate().map(|(nth, kind)| picture(&names, standing, nth, kind));
    all.filter(|chart| chart.series.iter().any(|series| !series.points.is_empty())).collect()
}

/// Whether more is better, and the smallest effect of interest.
fn kind(asked: &Hypothesis) -> (bool, f64) {
    (asked.measure.more_is_better(), asked.effect.0)
}

fn picture(names: &DesignLookup<'_>, standing: &ExperimentState, nth: usize, of: (bool, f64)) -> Chart {
    let (more_is_better, effect) = of;
    let all: Vec<(usize, &Hypothesis)> =
        names.design.hypotheses.iter().enumerate().filter(|(_, asked)| kind(asked) == of).collect();
    let figures = distinct(all.iter().map(|(_, asked)| (asked.probe, asked.measure)));
    let mut drawn = Vec::new();
    for &(probe, measure) in &figures {
        let compared = ProbedMeasure { names, probe, measure, alone: figures.len() == 1 };
        drawn.push(compared.baseline());
        drawn.push(compared.placebo(placebo(names, standing, (probe, measure))));
        let of_it = all.iter().filter(|(_, asked)| (asked.probe, asked.measure) == (probe, measure));
        drawn.extend(of_it.map(|(place, asked)| {
            let judged = standing.judged.iter().find(|judged| judged.hypothesis == Some(*place));
            compared.hypothesis(asked, judged)
        }));
    }
    let what = match figures.as_slice() {
        [(probe, measure)] => names.comparison_label(*probe, *measure),
        _ => "the effects".to_owned(),
    };
    let (direction, below, above) = if more_is_better {
        ("more is better", ("worse", Tone::Bad), ("better", Tone::Good))
    } else {
        ("less is better", ("better", Tone::Good), ("worse", Tone::Bad))
    };
    let against_baseline = |asked: &Hypothesis| asked.contrast.iter().all(|(arm, w)| *w >= 0.0 || *arm == 0);
    let to = if all.iter().all(|(_, asked)| against_baseline(asked)) {
        "ratio to the baseline"
    } else {
        "ratio to what it is compared with"
    };
    let (title, id) = (format!("{what} ({direction})"), format!("effects-{nth}"));
    let is_void = drawn.iter().flat_map(|drawn| &drawn.starts).any(|start| start.tone == Tone::Warn);
    let note = format!(
        "bar: a ratio with its interval; the zone that contains all of it is the answer (changes of less than {} do not \
         matter); points: single starts, as ratios to the baseline of their block, the baseline's own to their mean{}",
        percent(effect),
        if is_void { "; hollow: void, does not count" } else { "" }
    );
    let to = format!("{to}{}", if more_is_better { UP } else { DOWN });
    let x = (to.as_str(), AxisUnit::Ratio);
    let chart = Chart::of(id, title, ChartForm::Intervals, x, ("", AxisUnit::Count))
        .log_x()
        .note(note)
        .hollow("void");
    let (low, high) = (1.0 / (1.0 + effect), 1.0 + effect);
    let chart = chart
        .band(below.0, None, Some(low), below.1)
        .band("no difference", Some(low), Some(high), Tone::Faint)
        .band(above.0, Some(high), None, above.1)
        .vertical_line("no effect", Some(1.0), Tone::Faint);
    placed(chart, drawn)
}

/// A measure's placebo: there is one per measure asked for, in the same order, once all can be compared.
fn placebo<'a>(
    names: &DesignLookup<'_>,
    standing: &'a ExperimentState,
    of: (usize, ArmMeasure),
) -> Option<&'a HypothesisResult> {
    let figures = names.hypothesis_measures();
    let placebos: Vec<&HypothesisResult> =
        standing.judged.iter().filter(|judged| judged.hypothesis.is_none()).collect();
    let place = figures.iter().position(|figure| *figure == of)?;
    placebos.get(place).copied().filter(|_| placebos.len() == figures.len())
}

/// A row not yet placed.
struct EffectRow {
    row: ChartRow,
    estimate: Option<ChartPoint>,
    starts: Vec<ChartPoint>,
}

/// Stacks rows; starts are offset so that equal ratios stay visible.
fn placed(chart: Chart, drawn: Vec<EffectRow>) -> Chart {
    let (mut rows, mut estimates, mut starts) = (Vec::new(), Vec::new(), Vec::new());
    for EffectRow { row, estimate, starts: of_it } in drawn {
        let middle = rows.len() as f64;
        let step = (STARTS.1 - STARTS.0) / of_it.len().max(1) as f64;
        let first = middle + STARTS.0 + step / 2.0;
        estimates.extend(estimate.map(|point| ChartPoint { y: middle + ESTIMATE, ..point }));
        let each = of_it.into_iter().enumerate();
        starts.extend(each.map(|(nth, point)| ChartPoint { y: first + step * nth as f64, ..point }));
        rows.push(row);
    }
    let chart =
        chart.points("estimate", SeriesRole::Achieved, estimates).points("start", SeriesRole::Idle, starts);
    Chart { rows, ..chart }
}

/// A block's starts on one side of a comparison.
struct ContrastSide {
    arm: usize,
    /// Only the baseline's first start (false) or second (true); otherwise both.
    placebo: Option<bool>,
    weight: f64,
}

impl ContrastSide {
    fn is_of(&self, visit: &ArmStart) -> bool {
        visit.arm == self.arm && self.placebo.is_none_or(|placebo| placebo == visit.placebo)
    }
}

/// A measure under its load.
struct ProbedMeasure<'a> {
    names: &'a DesignLookup<'a>,
    probe: usize,
    measure: ArmMeasure,
    /// The only one in its chart.
    alone: bool,
}

impl ProbedMeasure<'_> {
    /// The unchanged plan: spread between identical starts, and from block to block.
    fn baseline(&self) -> EffectRow {
        let counting = self.names.starts(0, self.probe);
        let mean = mean(counting.clone().filter_map(|visit| self.log(visit)));
        let since = counting.map(|visit| visit.block.min(1)).min().unwrap_or(1);
        let first = self.names.visits.iter().filter(|visit| visit.arm == 0 && !visit.placebo);
        let starts = first
            .filter(|visit| visit.block >= since)
            .filter_map(|visit| Some(point(block_of(visit), visit.void.is_some(), self.log(visit)? - mean?)));
        let row = ChartRow { note: self.note([self.gave(0)]), ..ChartRow::named(self.names.arm(0)) };
        EffectRow { row, estimate: None, starts: starts.collect() }
    }

    /// The unchanged plan against itself.
    fn placebo(&self, judged: Option<&HypothesisResult>) -> EffectRow {
        let side = |placebo, weight| ContrastSide { arm: 0, placebo: Some(placebo), weight };
        let note = self.note([Some(format!("{} once more", self.names.arm(0)))]);
        let word = |judged: &HypothesisResult| match judged.answer {
            HypothesisAnswer::Better | HypothesisAnswer::Worse => {
                TextSpan::new(Tone::Bad, "differs, but should not")
            }
            // Beside a hypothesis without a difference it would count as another one.
            HypothesisAnswer::NoDifference => TextSpan::new(Tone::Faint, "as it should be"),
            answer => TextSpan::new(answer_word(answer).1, answer_in_full(answer)),
        };
        let word = judged.map(word).unwrap_or_default();
        EffectRow {
            estimate: judged.and_then(|judged| estimate(judged, word.tone)),
            row: ChartRow { note, word, ..ChartRow::named("placebo") },
            starts: self.blocks(&[side(true, 1.0), side(false, -1.0)]),
        }
    }

    fn hypothesis(&self, asked: &Hypothesis, judged: Option<&HypothesisResult>) -> EffectRow {
        let weighed = || asked.contrast.iter().filter(|(_, weight)| *weight != 0.0);
        let sides: Vec<ContrastSide> = weighed()
            .map(|(arm, weight)| ContrastSide { arm: *arm, placebo: None, weight: *weight })
            .collect();
        let arm = |sign: f64| weighed().find(|(_, weight)| weight * sign > 0.0).map(|(arm, _)| *arm);
        // Several arms have no common cause.
        let of_two = |arm: Option<usize>| arm.filter(|_| sides.len() == 2);
        let other =
            of_two(arm(-1.0)).filter(|arm| *arm != 0).map(|arm| format!("against {}", self.names.arm(arm)));
        let gave = of_two(arm(1.0)).and_then(|arm| self.gave(arm));
        let changed =
            of_two(arm(1.0)).map(|arm| self.names.changes(arm).join(", ")).filter(|said| !said.is_empty());
        let note = self.note([changed, self.names.contrast(asked).or(other), gave]);
        let said =
            judged.map(|judged| TextSpan::new(answer_word(judged.answer).1, answer_in_full(judged.answer)));
        let word = said.unwrap_or_default();
        EffectRow {
            estimate: judged.and_then(|judged| estimate(judged, word.tone)),
            row: ChartRow { note, word, ..ChartRow::named(quoted(&asked.name)) },
            starts: self.blocks(&sides),
        }
    }

    fn gave(&self, arm: usize) -> Option<String> {
        cause_under_load(self.names, arm, self.probe).map(|cause| format!("limited by {cause}"))
    }

    /// What is measured, unless all rows share it, and other remarks.
    fn note<const N: usize>(&self, said: [Option<String>; N]) -> String {
        let measured = (!self.alone).then(|| self.names.comparison_label(self.probe, self.measure));
        measured.into_iter().chain(said.into_iter().flatten()).collect::<Vec<_>>().join(" · ")
    }

    /// Each block's ratio, as the analysis weighs it, and the ratios that void starts would give.
    fn blocks(&self, sides: &[ContrastSide]) -> Vec<ChartPoint> {
        let asked = |visit: &&ArmStart| sides.iter().any(|side| side.weight > 0.0 && side.is_of(visit));
        let mut points = Vec::new();
        for block in self.names.visits.chunk_by(|a, b| a.block == b.block).filter(|block| block[0].block > 0)
        {
            let void = block.iter().filter(|visit| visit.void.is_some()).filter(asked);
            for instead in std::iter::once(None).chain(void.map(Some)) {
                let ratio = self.ratio(block, sides, instead);
                points.extend(ratio.map(|log| point(block_of(&block[0]), instead.is_some(), log)));
            }
        }
        points
    }

    /// The log ratio in a block, with one start replacing its arm's valid ones.
    fn ratio(&self, block: &[ArmStart], sides: &[ContrastSide], instead: Option<&ArmStart>) -> Option<f64> {
        let weighed = |side: &ContrastSide| {
            let of_it = |visit: &&ArmStart| side.is_of(visit);
            let log = match instead.filter(of_it) {
                Some(visit) => self.log(visit),
                None => {
                    let counting = block.iter().filter(|visit| visit.void.is_none()).filter(of_it);
                    mean(counting.filter_map(|visit| self.log(visit)))
                }
            };
            Some(side.weight * log?)
        };
        sides.iter().map(weighed).sum()
    }

    /// The logarithm of a start's result under the blocks' load.
    fn log(&self, visit: &ArmStart) -> Option<f64> {
        let is_it =
            |taken: &&record::MeasurementResult| taken.probe == self.probe && self.names.is_at_load(taken);
        let figure = figure(visit.taken.iter().find(is_it)?, self.measure)?;
        (figure.is_finite() && figure > 0.0).then(|| figure.ln())
    }
}

fn mean(logs: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = logs.fold((0.0, 0_u32), |(sum, count), log| (sum + log, count + 1));
    (count > 0).then(|| sum / f64::from(count))
}

fn point(block: String, is_void: bool, log: f64) -> ChartPoint {
    let (label, tone) = if is_void { (format!("{block}, void"), Tone::Warn) } else { (block, Tone::Plain) };
    ChartPoint { x: log.exp(), label, tone, ..ChartPoint::default() }
}

fn estimate(judged: &HypothesisResult, tone: Tone) -> Option<ChartPoint> {
    let interval = judged.ratio?;
    Some(ChartPoint {
        x: interval.value,
        low: Some(interval.low),
        high: Some(interval.high),
        tone,
        ..ChartPoint::default()
    })
}
