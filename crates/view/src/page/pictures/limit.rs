//! Where a service breaks, and how sure that is.

use crate::contrary_trials::{ContraryTrials, SAME_MARK, plotted_trials};
use crate::document::{AxisUnit, Chart, ChartForm, ChartPoint, SeriesRole};
use crate::summary::why_no_more;
use crate::wording::format_rate;
use crate::{ArrivalKind, RunView, Tone, Trial, TrialState, freezes, summary};
use plan::Objective;
use record::{Purpose, SearchEnd};
use stats::Quantiles;
use units::Nanos;

/// Beyond the knee the 99th percentile exceeds this multiple of its value below half of the limit,
const KNEE_RATIO: f64 = 2.0;
/// in all good trials, with at least this many on either side: one slow trial is none. A knee this near to the limit is no news.
const KNEE_TRIALS: usize = 2;
const AT_LIMIT: f64 = 0.95;
/// What the band of the limit means.
const LIMIT_BAND: &str = "where the limit lies";
/// From this share of the limit on, a percentile this many times that of a higher rate is mentioned.
const HICCUP_FROM: f64 = 0.25;
const HICCUP_RATIO: f64 = 3.0;
/// The region beyond a rate that held, if none failed.
const UNKNOWN: &str = "not known";
/// The region beyond a rate that failed, if the range between is unknown.
const FAILS: &str = "fails";
/// The region beyond what most trials hold, if some good ones lie there; and otherwise.
const FAILS_OFTEN: &str = "fails too often";
const FAILS_OFTEN_MEANING: &str = "more than one trial of ten fails, though some are good";
const OVERLOAD: &str = "overload";

/// Empty before any trial bears on the limit.
pub(super) fn charts(view: &RunView) -> Vec<Chart> {
    if plotted_trials(view).next().is_none() {
        return Vec::new();
    }
    // Without bad trials there is nothing to show.
    let is_bad = |(_, trial): (f64, &Trial)| trial.state() == TrialState::Bad;
    let good = plotted_trials(view).any(is_bad).then(|| good(view));
    std::iter::once(limit(view)).chain(good).collect()
}

/// What varies from trial to trial.
fn raised(view: &RunView) -> (&'static str, AxisUnit) {
    match view.arrival_kind() {
        ArrivalKind::Connections => ("connections", AxisUnit::Count),
        words => (words.raised(), AxisUnit::PerSecond),
    }
}

/// The goal's deadline, if any; a search for connections also states how they are held.
fn deadline(view: &RunView) -> Option<f64> {
    let goal = view.started.as_ref()?.goal.split(", ").next()?;
    Some(goal.parse::<Objective>().ok()?.deadline?.as_secs_f64())
}

/// Response time by rate, one mark per trial; the limit as wide as its interval, and the region beyond.
fn limit(view: &RunView) -> Chart {
    let of = |quantile: fn(Quantiles) -> Nanos| {
        let point = |(x, trial): (f64, &Trial)| {
            let state = trial.state();
            Some(ChartPoint {
                x,
                y: quantile(trial.figures.quantiles()?).as_secs_f64(),
                label: format!("trial {}: {}", trial.number, state.name()),
                tone: state.tone(),
                ..ChartPoint::default()
            })
        };
        let mut points: Vec<ChartPoint> = plotted_trials(view).filter_map(point).collect();
        points.sort_by(|a, b| a.x.total_cmp(&b.x));
        points
    };
    let knee = knee(view);
    let unit = view.arrival_kind().unit();
    let (holds, title) = match view.fails_at() {
        Some(_) => ("holds", "where it breaks"),
        None if view.end.is_none() => ("holds so far", "what it holds so far"),
        None => ("at least", held_up_to(view)),
    };
    let beyond = beyond(view);
    let strays = ContraryTrials::from_view(view);
    let is_all_good = plotted_trials(view).all(|(_, trial)| trial.state() == TrialState::Good);
    let good = if is_all_good { "" } else { ", good if it met the goal" };
    let mut note = format!("each mark is a percentile of one trial{good}{}", strays.words(view));
    // If freezes make them fail, the verdict says so.
    if let Some(why) =
        why_no_more(view).filter(|_| view.fails_at().is_some() && freezes::why_trials_bad(view).is_none())
    {
        note += &format!("; beyond the line {why}");
    }
    if knee.is_some() {
        note += "; knee: from there on p99 is more than twice what it is below half of the limit";
    }
    if let Some((at, p99)) = hiccup(view).filter(|_| !freezes::is_recurrent(view)) {
        let at = format_rate(at);
        note +=
            &format!("; p99 of {p99} at {at} {unit} is a hiccup of one trial: at higher rates it is lower");
    }
    if let Some(asked) = current_trial_words(view) {
        note = format!("{asked}; {note}");
    }
    let y = ("response time", AxisUnit::Seconds);
    let chart = Chart::of("limit", title, ChartForm::Points, raised(view), y)
        .log_y()
        .note(note)
        .hollow("void")
        .points("p50", SeriesRole::Half, of(|times| times.p50))
        .points("p99", SeriesRole::NinetyNine, of(|times| times.p99))
        .points("p99.9", SeriesRole::Largest, of(|times| times.p99_9))
        .bound("goal", deadline(view), Tone::Bad);
    let held = view.held();
    let tone =
        view.search_ended().map_or(Tone::Strong, |ended| summary::tone(ended, freezes::is_recurrent(view)));
    with_bands(view, chart, beyond)
        .vertical_line(holds, held, tone)
        .vertical_line("knee", knee, Tone::Plain)
        .vertical_line("before the warm-up", strays.cold_at, Tone::Faint)
}

/// What a running search is trying, and why. `None` between trials, and unless a search is running.
fn current_trial_words(view: &RunView) -> Option<String> {
    let current = view.current.as_ref().filter(|_| view.running)?;
    let why = match current.purpose {
        Purpose::Load => return None,
        Purpose::Climb => "to find an overload",
        Purpose::WarmUp => "to warm the target up",
        Purpose::Measure => "to narrow the interval",
        Purpose::Sentinel => "to see whether the target has changed",
        Purpose::Confirm => "to try a bound once more",
        Purpose::Recovery => "to see whether the target is as quick as before",
        Purpose::Curve => "to see how quick answers are below the limit",
        Purpose::Profile => "to see which code runs",
    };
    // All trials of a search for connections have one rate.
    let rate = current.rate.filter(|_| current.arrival_kind != ArrivalKind::Connections);
    Some(rate.map_or_else(|| format!("now: {why}"), |rate| format!("now: {rate}, {why}")))
}

/// The headline's wording for a limit that was not found.
fn held_up_to(view: &RunView) -> &'static str {
    match view.search_ended() {
        Some(SearchEnd::MaxReached) => "what it held: no limit found",
        _ if view.is_generator_limited() && view.failed_rate().is_none() => {
            "what it held: torment was the limit"
        }
        _ => "what it held",
    }
}

/// The share of good trials at each rate.
fn good(view: &RunView) -> Chart {
    let mut rates: Vec<(f64, u64, u64)> = Vec::new();
    let mut trials: Vec<(f64, &Trial)> = plotted_trials(view).collect();
    trials.sort_by(|a, b| a.0.total_cmp(&b.0));
    for (rate, trial) in trials {
        let good = match trial.state() {
            TrialState::Good => 1,
            TrialState::Bad => 0,
            TrialState::Void | TrialState::Unjudged => continue,
        };
        match rates.last_mut() {
            Some((known, all, well)) if rate <= *known * (1.0 + SAME_MARK) => {
                *all += 1;
                *well += good;
            }
            _ => rates.push((rate, 1, good)),
        }
    }
    let point = |(rate, all, good): (f64, u64, u64)| ChartPoint {
        x: rate,
        y: good as f64 / all as f64,
        label: format!("{good} of {all} good"),
        tone: match good {
            0 => Tone::Bad,
            good if good == all => Tone::Good,
            _ => Tone::Warn,
        },
        ..ChartPoint::default()
    };
    let y = ("share of trials that met the goal", AxisUnit::Share);
    let chart = Chart::of("good-trials", "how many trials were good", ChartForm::Points, raised(view), y)
        .hollow("some of each")
        .points("good trials", SeriesRole::Good, rates.into_iter().map(point));
    with_bands(view, chart, "")
}

/// The limit, as wide as its interval, and the region beyond; unknown if no load failed.
fn with_bands(view: &RunView, chart: Chart, beyond: &str) -> Chart {
    let lower = view.limits.first().and_then(|limit| limit.lower);
    match view.fails_at() {
        Some(upper) => {
            let far = if self::beyond(view) == FAILS_OFTEN { FAILS_OFTEN_MEANING } else { OVERLOAD };
            let chart = chart.band("", lower, Some(upper), Tone::Strong).band_meaning(LIMIT_BAND);
            chart.band(beyond, Some(upper), None, Tone::Bad).band_meaning(far)
        }
        // The target may still have failed at what torment could not come near.
        None => {
            let upper = view.failed_rate().filter(|upper| Some(*upper) > lower);
            let named = |name| if beyond.is_empty() { "" } else { name };
            let chart = chart.band(named(UNKNOWN), lower, upper, Tone::Faint).band_meaning(UNKNOWN);
            match upper {
                Some(_) => chart.band(named(FAILS), upper, None, Tone::Bad).band_meaning(FAILS),
                None => chart,
            }
        }
    }
}

/// The label for the region beyond the limit.
fn beyond(view: &RunView) -> &'static str {
    let good = |from: f64| {
        let mut there = plotted_trials(view).filter(|(at, _)| *at > from * (1.0 + SAME_MARK));
        there.any(|(_, trial)| trial.state() == TrialState::Good)
    };
    if view.fails_at().is_some_and(good) { FAILS_OFTEN } else { OVERLOAD }
}

/// The lowest rate from which every good trial is slower than all below: otherwise the marks would not show it. `None` below half of the
/// limit, its baseline, and at the limit itself.
pub(crate) fn knee(view: &RunView) -> Option<f64> {
    // If torment is the limit, the climb is its own.
    let limit = view.limits.first().filter(|_| !view.is_generator_limited())?;
    let (held, lower) = (view.held()?, limit.lower?);
    let good = plotted_trials(view).filter(|(at, trial)| *at <= held && trial.state() == TrialState::Good);
    let p99 = |trial: &Trial| trial.figures.quantiles().map(|times| times.p99.as_secs_f64());
    let mut good: Vec<(f64, f64)> = good.filter_map(|(at, trial)| Some((at, p99(trial)?))).collect();
    good.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut quick: Vec<f64> = good.iter().filter(|(at, _)| *at <= held / 2.0).map(|(_, p99)| *p99).collect();
    quick.sort_by(f64::total_cmp);
    let usual = quick.get(quick.len() / 2).filter(|_| quick.len() >= KNEE_TRIALS)?;
    let is_between = |at: f64| at > held / 2.0 && at < AT_LIMIT * lower;
    let mut least = f64::INFINITY;
    let rising = (1..).zip(&good).filter_map(|(count, (at, p99))| {
        least = least.min(*p99);
        let is_seen = good[count..].iter().all(|(_, below)| *below < least);
        (is_seen && count >= KNEE_TRIALS && least > KNEE_RATIO * usual && is_between(*at)).then_some(*at)
    });
    rising.last()
}

/// The good trial whose 99th percentile most exceeds one nearer to the limit, if by far: it seems to contradict the figures given, from
/// trials further on.
fn hiccup(view: &RunView) -> Option<(f64, Nanos)> {
    let held = view.held().filter(|_| view.fails_at().is_some())?;
    let near = held * HICCUP_FROM..=held;
    let good =
        plotted_trials(view).filter(|(at, trial)| near.contains(at) && trial.state() == TrialState::Good);
    let mut good: Vec<(f64, Nanos)> =
        good.filter_map(|(at, trial)| Some((at, trial.figures.quantiles()?.p99))).collect();
    good.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut least = f64::INFINITY;
    let above = good.into_iter().map(|(at, p99)| {
        let above = p99.as_secs_f64() / least;
        least = least.min(p99.as_secs_f64());
        (above, (at, p99))
    });
    // Near the limit all is slow now and then.
    let far = above.filter(|(_, (at, _))| *at < AT_LIMIT * held).max_by(|a, b| a.0.total_cmp(&b.0))?;
    (far.0 > HICCUP_RATIO).then_some(far.1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LoadFigures;
    use record::{Caveat, CaveatKind, Judgement, Limit, LimitUnit, Purpose, Recovery, Slice};
    use units::Rate;

    fn trial(number: u32, rate: f64, p99_ms: u64) -> Trial {
        let mut total = Slice { due: 100, ..Slice::default() };
        (0..100).for_each(|_| total.response.record(Nanos::from_millis(p99_ms)));
        Trial {
            number,
            arrival_kind: ArrivalKind::Requests,
            purpose: Purpose::Measure,
            rate: Some(Rate(rate)),
            planned: None,
            loaded: Nanos::from_secs(1),
            drain: Nanos::ZERO,
            hopeless: false,
            recovery: Recovery::NotNeeded,
            caveats: Vec::new(),
            members: Vec::new(),
            judgement: Some(Judgement {
                loss: 0.0,
                good: true,
                growth_per_second: None,
                invalid: Vec::new(),
            }),
            figures: LoadFigures::from_slice(&total),
        }
    }

    fn found(trials: &[(f64, u64)]) -> RunView {
        let numbered = (1..).zip(trials);
        let limit = Limit {
            goal: "nine-of-ten".to_owned(),
            held: Some(1000.0),
            lower: Some(980.0),
            upper: Some(1020.0),
            unit: LimitUnit::Requests,
            regular: true,
            good_trials: 1,
            bad_trials: 1,
            lower_due: 100,
            lower_bad: 0,
            throughput: None,
        };
        RunView {
            trials: numbered.map(|(number, (rate, p99))| trial(number, *rate, *p99)).collect(),
            limits: vec![limit],
            ..RunView::default()
        }
    }

    /// At half of a Node service's limit one two-second trial was slow; it was drawn as the knee.
    #[test]
    fn a_knee_is_where_response_time_climbs_and_stays() {
        let quick = [(100.0, 4), (200.0, 5), (400.0, 4)];
        let knee = |more: &[(f64, u64)]| knee(&found(&[&quick, more].concat()));
        assert_eq!(knee(&[(500.0, 150), (800.0, 5), (900.0, 6)]), None, "one slow trial");
        assert_eq!(knee(&[(700.0, 6), (800.0, 12), (900.0, 40)]), Some(800.0));
        assert_eq!(knee(&[(700.0, 6), (800.0, 5), (900.0, 40)]), None, "only one is slow");
        assert_eq!(knee(&[(800.0, 90), (850.0, 12), (900.0, 13)]), Some(800.0), "it stays above what it was");
        // A knee was shown at 1,891/s of 1,991, but a mark at a quarter of that rate was higher.
        assert_eq!(knee(&[(450.0, 28), (600.0, 4), (800.0, 16), (900.0, 17)]), None, "no mark shows it");
        assert_eq!(knee(&[(900.0, 6), (960.0, 40), (1000.0, 60)]), None, "that is the limit");
        // A knee at 1,280/s of 3,133 was compared with trials that included itself.
        assert_eq!(knee(&[(450.0, 12), (980.0, 40)]), None, "below half of the limit");
        assert_eq!(super::knee(&found(&[(800.0, 12), (900.0, 40)])), None, "nothing to compare it with");
    }

    /// The planned load lay beyond the knee in the chart beside it.
    #[test]
    fn nobody_plans_for_more_than_the_knee() {
        let view = found(&[(100.0, 4), (200.0, 5), (400.0, 4), (500.0, 6), (700.0, 12), (900.0, 40)]);
        let plan = crate::page::response_advice::of_search(&view).expect("it holds something");
        assert!(plan.starts_with("700/s, where the knee is: "), "{plan}");
    }

    /// At 1,280/s of 1,990 one second had a p99 of 11 ms, while the text said 1.3 ms at 1,592/s.
    #[test]
    fn a_mark_far_above_those_at_higher_rates_is_told() {
        let mut view = found(&[(100.0, 60), (640.0, 11), (800.0, 1), (900.0, 2), (990.0, 26)]);
        assert_eq!(hiccup(&view).map(|(at, _)| at), Some(640.0), "of those near the limit");
        let note = limit(&view).note;
        assert!(
            note.ends_with(" at 640 requests/s is a hiccup of one trial: at higher rates it is lower"),
            "{note}"
        );
        view.trials.remove(1);
        assert_eq!(hiccup(&view), None, "it rises");
    }

    #[test]
    fn good_trials_beyond_a_limit_that_varies_are_not_called_overload() {
        let mut view = found(&[(900.0, 5), (1040.0, 8)]);
        assert_eq!(beyond(&view), FAILS_OFTEN);
        assert_eq!(limit(&view).bands.last().map(|band| band.means.as_str()), Some(FAILS_OFTEN_MEANING));
        view.trials.pop();
        assert_eq!(beyond(&view), OVERLOAD);
    }

    /// A bad trial lay on the line of what holds, beside the words that none was bad; void ones lay below it.
    #[test]
    fn marks_on_the_other_side_are_explained() {
        let mut view = found(&[(900.0, 5), (995.0, 6), (1040.0, 8), (2000.0, 8)]);
        assert_eq!(
            ContraryTrials::from_view(&view),
            ContraryTrials { good: 2, longest_good: Nanos::from_secs(1), ..ContraryTrials::default() }
        );
        assert!(!limit(&view).note.contains("hollow"));
        let judge = |view: &mut RunView, nth: usize, good: bool, is_void: bool| {
            let judgement = view.trials[nth].judgement.as_mut().expect("it was judged");
            judgement.good = good;
            judgement.invalid.extend(is_void.then(|| Caveat::new(CaveatKind::GeneratorLate, "late")));
        };
        judge(&mut view, 1, false, false);
        judge(&mut view, 3, true, true);
        let note = limit(&view).note;
        assert!(
            note.contains("1 bad trial at or below the line: the limit is what nine trials in ten hold"),
            "{note}"
        );
        assert!(note.ends_with("; hollow: void, not counted"), "{note}");
        judge(&mut view, 0, true, true);
        let note = limit(&view).note;
        assert!(note.ends_with("; hollow: void, not counted"), "{note}");
        view.trials[2].purpose = Purpose::WarmUp;
        view.trials[2].number = 9;
        judge(&mut view, 2, true, true);
        assert_eq!(
            ContraryTrials::from_view(&view).warm_up_rates,
            Some((1040.0, 1040.0)),
            "where torment fell behind, though it is not drawn"
        );
        let drawn = limit(&view);
        assert!(
            drawn.note.contains("1 bad trial before the warm-up, up to the dashed line"),
            "{}",
            drawn.note
        );
        assert!(
            drawn.note.ends_with("; 1 void trial not drawn: a warm-up or recovery check"),
            "{}",
            drawn.note
        );
        assert!(
            drawn.bounds.iter().any(|bound| bound.name == "before the warm-up" && bound.at == 995.0),
            "what is told is marked: {:?}",
            drawn.bounds
        );
    }

    #[test]
    fn how_many_were_good_is_drawn_where_some_were_not() {
        let mut view = found(&[(900.0, 5), (1040.0, 8)]);
        assert_eq!(charts(&view).len(), 1);
        view.trials[1].judgement.as_mut().expect("it was judged").good = false;
        assert_eq!(charts(&view).len(), 2);
    }
}
