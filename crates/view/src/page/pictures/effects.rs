//! An experiment's result: every start, and the combined estimates.

use crate::document::{AxisUnit, Chart, ChartForm, ChartPoint, ChartRow, SeriesRole, TextSpan};
use crate::experiment::{
    DesignLookup, answer_in_full, answer_word, block_of, cause_under_load, contrast_side, percent,
};
use crate::wording::distinct;
use crate::wording::quoted;
use crate::{RunView, Tone};
use plan::{ArmMeasure, Hypothesis};
use record::{ArmStart, HypothesisAnswer, HypothesisResult};

/// Vertical offset of the estimate within its row, and the range of its starts, the first at the top.
const ESTIMATE_OFFSET: f64 = -0.2;
const START_RANGE: (f64, f64) = (0.04, 0.4);

/// One per direction and smallest effect: charts share their bands.
pub(super) fn charts(view: &RunView) -> Vec<Chart> {
    let Some(lookup) = DesignLookup::of(view) else { return Vec::new() };
    let kinds = distinct(lookup.design.hypotheses.iter().map(kind));
    let all = kinds.into_iter().enumerate().map(|(nth, kind)| picture(&lookup, nth, kind));
    all.filter(Chart::has_points).collect()
}

/// Which way is better: in all charts numbers rise to the right.
pub(crate) fn better_side(more_is_better: bool) -> &'static str {
    if more_is_better { "; better to the right" } else { "; better to the left" }
}

pub(crate) fn better_direction(more_is_better: bool) -> &'static str {
    if more_is_better { "more is better" } else { "less is better" }
}

/// Adds the zones of a ratio that are better, worse, and neither: closer to 1 than the smallest effect that matters.
pub(crate) fn with_ratio_bands(chart: Chart, more_is_better: bool, effect: f64) -> Chart {
    let (worse, better) = (("worse", Tone::Bad), ("better", Tone::Good));
    let (below, above) = if more_is_better { (worse, better) } else { (better, worse) };
    let (low, high) = (1.0 / (1.0 + effect), 1.0 + effect);
    chart
        .band(below.0, None, Some(low), below.1)
        .band("no difference", Some(low), Some(high), Tone::Faint)
        .band(above.0, Some(high), None, above.1)
}

/// Whether more is better, and the smallest effect of interest.
fn kind(hypothesis: &Hypothesis) -> (bool, f64) {
    (hypothesis.measure.more_is_better(), hypothesis.effect.0)
}

fn picture(lookup: &DesignLookup<'_>, nth: usize, of: (bool, f64)) -> Chart {
    let (more_is_better, effect) = of;
    let all: Vec<(usize, &Hypothesis)> = lookup
        .design
        .hypotheses
        .iter()
        .enumerate()
        .filter(|(_, hypothesis)| kind(hypothesis) == of)
        .collect();
    let figures = distinct(all.iter().map(|(_, hypothesis)| (hypothesis.probe, hypothesis.measure)));
    let mut drawn = Vec::new();
    for &(probe, measure) in &figures {
        let compared = ProbedMeasure { lookup, probe, measure, is_only: figures.len() == 1 };
        drawn.push(compared.baseline());
        drawn.push(compared.placebo(placebo(lookup, (probe, measure))));
        let of_it =
            all.iter().filter(|(_, hypothesis)| (hypothesis.probe, hypothesis.measure) == (probe, measure));
        drawn.extend(of_it.map(|(place, hypothesis)| {
            let result = lookup.state.judged.iter().find(|result| result.hypothesis == Some(*place));
            compared.hypothesis(hypothesis, result)
        }));
    }
    let what = match figures.as_slice() {
        [(probe, measure)] => lookup.comparison_label(*probe, *measure),
        _ => "the effects".to_owned(),
    };
    let against_baseline =
        |hypothesis: &Hypothesis| hypothesis.contrast.iter().all(|(arm, w)| *w >= 0.0 || *arm == 0);
    let to = if all.iter().all(|(_, hypothesis)| against_baseline(hypothesis)) {
        "ratio to the baseline"
    } else {
        "ratio to what it is compared with"
    };
    let (title, id) = (format!("{what} ({})", better_direction(more_is_better)), format!("effects-{nth}"));
    let is_void = drawn.iter().flat_map(|drawn| &drawn.starts).any(|start| start.tone == Tone::Warn);
    let note = format!(
        "bar: a ratio with its interval; the zone that contains all of it is the answer (changes of less than {} do not \
         matter); points: single starts, as ratios to the baseline of their block, the baseline's own to their mean{}",
        percent(effect),
        if is_void { "; hollow: void, does not count" } else { "" }
    );
    let to = format!("{to}{}", better_side(more_is_better));
    let x = (to.as_str(), AxisUnit::Ratio);
    let chart = Chart::of(id, title, ChartForm::Intervals, x, ("", AxisUnit::Count))
        .log_x()
        .note(note)
        .hollow("void");
    let chart = with_ratio_bands(chart, more_is_better, effect);
    placed(chart.vertical_line("no effect", Some(1.0), Tone::Faint), drawn)
}

/// A measure's placebo: there is one per measure asked for, in the same order, once all can be compared.
fn placebo<'a>(lookup: &DesignLookup<'a>, of: (usize, ArmMeasure)) -> Option<&'a HypothesisResult> {
    let (figures, placebos) = (lookup.hypothesis_measures(), Vec::from_iter(lookup.placebos()));
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
        let step = (START_RANGE.1 - START_RANGE.0) / of_it.len().max(1) as f64;
        let first = middle + START_RANGE.0 + step / 2.0;
        estimates.extend(estimate.map(|point| ChartPoint { y: middle + ESTIMATE_OFFSET, ..point }));
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
    fn is_of(&self, start: &ArmStart) -> bool {
        start.arm == self.arm && self.placebo.is_none_or(|placebo| placebo == start.placebo)
    }
}

/// A measure under its load.
struct ProbedMeasure<'a> {
    lookup: &'a DesignLookup<'a>,
    probe: usize,
    measure: ArmMeasure,
    /// The only one in its chart.
    is_only: bool,
}

impl ProbedMeasure<'_> {
    /// The unchanged plan: spread between identical starts, and from block to block.
    fn baseline(&self) -> EffectRow {
        let counting = self.lookup.starts(0, self.probe);
        let mean = mean(counting.clone().filter_map(|start| self.log(start)));
        let since = counting.map(|start| start.block.min(1)).min().unwrap_or(1);
        let first = self.lookup.all_starts.iter().filter(|start| start.arm == 0 && !start.placebo);
        let starts = first
            .filter(|start| start.block >= since)
            .filter_map(|start| Some(point(block_of(start), start.void.is_some(), self.log(start)? - mean?)));
        let row = ChartRow { note: self.note([self.cause_words(0)]), ..ChartRow::named(self.lookup.arm(0)) };
        EffectRow { row, estimate: None, starts: starts.collect() }
    }

    /// The unchanged plan against itself.
    fn placebo(&self, result: Option<&HypothesisResult>) -> EffectRow {
        let side = |placebo, weight| ContrastSide { arm: 0, placebo: Some(placebo), weight };
        let note = self.note([Some(format!("{} once more", self.lookup.arm(0)))]);
        let word = |result: &HypothesisResult| match result.answer {
            HypothesisAnswer::Better | HypothesisAnswer::Worse => {
                TextSpan::new(Tone::Bad, "differs, but should not")
            }
            // Beside a hypothesis without a difference it would count as another one.
            HypothesisAnswer::NoDifference => TextSpan::new(Tone::Faint, "as it should be"),
            answer => TextSpan::new(answer_word(answer).1, answer_in_full(answer)),
        };
        let word = result.map(word).unwrap_or_default();
        EffectRow {
            estimate: result.and_then(|result| estimate(result, word.tone)),
            row: ChartRow { note, word, ..ChartRow::named("placebo") },
            starts: self.blocks(&[side(true, 1.0), side(false, -1.0)]),
        }
    }

    fn hypothesis(&self, asked: &Hypothesis, result: Option<&HypothesisResult>) -> EffectRow {
        let weighed = asked.contrast.iter().filter(|(_, weight)| *weight != 0.0);
        let sides: Vec<ContrastSide> =
            weighed.map(|(arm, weight)| ContrastSide { arm: *arm, placebo: None, weight: *weight }).collect();
        // Several arms have no common cause.
        let of_two = |sign: f64| contrast_side(asked, sign).next().filter(|_| sides.len() == 2);
        let other =
            of_two(-1.0).filter(|arm| *arm != 0).map(|arm| format!("against {}", self.lookup.arm(arm)));
        let cause = of_two(1.0).and_then(|arm| self.cause_words(arm));
        let changed =
            of_two(1.0).map(|arm| self.lookup.changes(arm).join(", ")).filter(|said| !said.is_empty());
        let note = self.note([changed, self.lookup.contrast(asked).or(other), cause]);
        let said =
            result.map(|result| TextSpan::new(answer_word(result.answer).1, answer_in_full(result.answer)));
        let word = said.unwrap_or_default();
        EffectRow {
            estimate: result.and_then(|result| estimate(result, word.tone)),
            row: ChartRow { note, word, ..ChartRow::named(quoted(&asked.name)) },
            starts: self.blocks(&sides),
        }
    }

    fn cause_words(&self, arm: usize) -> Option<String> {
        cause_under_load(self.lookup, arm, self.probe).map(|cause| format!("limited by {cause}"))
    }

    /// What is measured, unless all rows share it, and other remarks.
    fn note<const N: usize>(&self, parts: [Option<String>; N]) -> String {
        let measured = (!self.is_only).then(|| self.lookup.comparison_label(self.probe, self.measure));
        measured.into_iter().chain(parts.into_iter().flatten()).collect::<Vec<_>>().join(" · ")
    }

    /// Each block's ratio, as the analysis weighs it, and the ratios that void starts would give.
    fn blocks(&self, sides: &[ContrastSide]) -> Vec<ChartPoint> {
        let asked = |start: &&ArmStart| sides.iter().any(|side| side.weight > 0.0 && side.is_of(start));
        let mut points = Vec::new();
        for block in
            self.lookup.all_starts.chunk_by(|a, b| a.block == b.block).filter(|block| block[0].block > 0)
        {
            let void = block.iter().filter(|start| start.void.is_some()).filter(asked);
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
            let of_it = |start: &&ArmStart| side.is_of(start);
            let log = match instead.filter(of_it) {
                Some(visit) => self.log(visit),
                None => {
                    let counting = block.iter().filter(|start| start.void.is_none()).filter(of_it);
                    mean(counting.filter_map(|start| self.log(start)))
                }
            };
            Some(side.weight * log?)
        };
        sides.iter().map(weighed).sum()
    }

    /// The logarithm of a start's result under the blocks' load.
    fn log(&self, start: &ArmStart) -> Option<f64> {
        let figure = self.lookup.figure_at_load(start, self.probe, self.measure)?;
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

fn estimate(result: &HypothesisResult, tone: Tone) -> Option<ChartPoint> {
    let interval = result.ratio?;
    Some(ChartPoint {
        x: interval.value,
        low: Some(interval.low),
        high: Some(interval.high),
        tone,
        ..ChartPoint::default()
    })
}
