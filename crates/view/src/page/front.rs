//! The texts at the top, and the phases.

use super::builder::PageBuilder;
use super::{conclusions, pictures, request_path, rerun, response_advice, sections};
use crate::document::{PageCaveat, PageFront, PageHeader, PageState, Phase, Text, Tone};
use crate::experiment::DesignLookup;
use crate::summary::{
    failures_below_line, generator_next_steps, headline, machine_words, no_events_line, not_recovered_line,
    raise_advice, raise_gain, sheet_usage_line, target_near_limit, why_no_more_line,
};
use crate::trial_state::TrialState;
use crate::wording::{quoted, whole_seconds};
use crate::{
    ReportKind, RunView, Trial, caveats, experiment, explain, figure_tables, freezes, hot_code, verdict,
};
use plan::Objective;
use record::{Cause, ExperimentState, Purpose, SearchEnd};
use units::{Nanos, grouped};

/// Only the last phases: more would be indistinguishable.
const MAX_PHASES: usize = 1_000;

pub(super) fn build(page: &PageBuilder) -> PageFront {
    let run = &page.run;
    let mut verdict = front_headline(run);
    // Nothing from above is repeated below.
    let mut chain = request_path::stations(run);
    // What gave far above what torment can send, or what the limit does not depend on, did not give first.
    let is_ours = run.is_generator_limited() && run.cause() != Some(Cause::Generator);
    if is_ours || freezes::unknown_cause_line(run).is_some() {
        chain.clear();
    }
    // If torment was the limit, the target's freezes are all there is to know of it.
    if run.is_generator_limited() && freezes::is_recurrent(run) {
        verdict.extend(freezes::line(run));
    }
    verdict.extend(failures_below_line(run));
    verdict.extend(hot_code::line(run));
    verdict.extend(next_steps(run));
    verdict.extend(response_advice::line(run));
    let drawn = run.diagnosis.as_ref().filter(|_| !chain.is_empty()).map(verdict::chain);
    // That torment is the limit is stated with its capacity; the diagnosis need not repeat it.
    let generator_sentences = run
        .diagnosis
        .as_ref()
        .filter(|_| run.is_generator_limited())
        .map(verdict::sentences)
        .unwrap_or_default();
    // The arithmetic follows what gave first.
    let arithmetic = run.diagnosis.iter().flat_map(verdict::arithmetic_sentences);
    let shown: Vec<Text> =
        verdict.iter().cloned().chain(drawn).chain(generator_sentences).chain(arithmetic).collect();
    let sections = sections::all(page).into_iter().filter_map(|section| section.without_repeated(&shown));
    let sections: Vec<_> = sections.collect();
    hedge(run, &mut verdict);
    let there = |id: &str| sections.iter().any(|section| section.id == id);
    request_path::link_sections(&mut chain, there);
    PageFront {
        head: head(run),
        verdict,
        chain,
        pictures: sections::picture(page).into_iter().chain(pictures::charts(run)).collect(),
        doubts: page_caveats(run, there),
        phases: phases(run, MAX_PHASES),
        sections,
    }
}

fn head(view: &RunView) -> PageHeader {
    let state = match (&view.end, view.running) {
        (Some(_), _) => PageState::Ended,
        (None, true) => PageState::Running,
        (None, false) => PageState::CutShort,
    };
    let mut head = PageHeader {
        state,
        ended_unix_ms: view.end.as_ref().map(|end| end.at_unix_ms),
        ..PageHeader::default()
    };
    if let Some(started) = &view.started {
        head.id = started.id.0.clone();
        head.name = started.label.name.clone().unwrap_or_default();
        head.command = started.command.to_string();
        head.target.clone_from(&started.target);
        head.goal = goal(view, &started.goal);
        head.version.clone_from(&started.version);
        head.started_unix_ms = started.at_unix_ms;
        head.machine = machine_words(&started.machine);
        head.again = rerun::rerun_command(started, &view.fleet, &view.places);
    }
    head.now = (state == PageState::Running).then(|| now(view)).flatten();
    head
}

/// Explains a goal whose name does not. A search applies it to each trial, and its limit is what most trials meet.
fn goal(view: &RunView, goal: &str) -> String {
    let name = Objective::ZERO_DROP.to_string();
    let (of, queue) = match view.kind() {
        ReportKind::Search => ("a trial is good if ", " and no queue grows"),
        _ => ("", ""),
    };
    match goal.strip_prefix(&name) {
        Some(rest) => format!("{name} ({of}no {} fails{queue}){rest}", view.arrival_kind().arrival()),
        None => goal.to_owned(),
    }
}

/// What the run is doing now.
fn now(view: &RunView) -> Option<String> {
    if view.kind() == ReportKind::Experiment {
        return Some(experiment::current_start_line(view).to_string());
    }
    if let Some(current) = &view.current {
        let seconds = current.total.elapsed.as_secs_f64().round() as u64;
        let so_far = match current.planned {
            Some(planned) => format!("{} of {}", Nanos::from_secs(seconds), whole_seconds(planned)),
            None => Nanos::from_secs(seconds).to_string(),
        };
        return Some(format!("{}, {so_far}", name(current.number, current.purpose, current.rate)));
    }
    if let Some(ramped) = view.ramp.last() {
        return Some(format!("{} threads", grouped(ramped.tasks)));
    }
    let figure =
        view.figures.last().map(|figure| format!("{}: {}, {}", figure.table, figure.row, figure.column));
    figure.or_else(|| Some(if view.trials.is_empty() { "starting" } else { "between trials" }.to_owned()))
}

/// `trial 4: 1,200/s`.
fn name(number: u32, purpose: Purpose, rate: Option<units::Rate>) -> String {
    let what = if purpose == Purpose::Load { "load".to_owned() } else { format!("trial {number}") };
    rate.map_or(what.clone(), |rate| format!("{what}: {rate}"))
}

/// What holds, and what gave first; if that is unknown, what else matters most. In between, why a load missed its goal, or what an overload
/// did to the target for good.
fn front_headline(view: &RunView) -> Vec<Text> {
    if view.started.is_none() {
        return vec![no_events_line()];
    }
    let mut lines = headline(view).into_iter();
    // What an experiment found says more than the number of answers.
    let found = conclusions::decided_line(view);
    let is_found = found.is_some();
    let first = found.or_else(|| lines.next()).map(|first| match less_sure(view) {
        Some(why) => first.with_span(Tone::Warn, format!("; {why}")),
        None => first,
    });
    let why = if view.goal_met() == Some(false) { lines.next() } else { not_recovered_line(view) };
    // If all was held, what to do is stated with how to go on.
    let held_all = view.search_ended() == Some(&SearchEnd::MaxReached);
    let second = view
        .end
        .as_ref()
        .and_then(|end| Some(Text::new(Tone::Bad, "error: ").with_plain(end.error.as_ref()?)))
        .or_else(|| if view.is_generator_limited() { lines.next() } else { None })
        .or_else(|| freezes::unknown_cause_line(view))
        .or_else(|| if freezes::why_trials_bad(view).is_some() { why_no_more_line(view) } else { None })
        .or_else(|| freezes::line(view).filter(|_| freezes::is_main_finding(view)))
        .or_else(|| {
            let found = view.diagnosis.as_ref()?;
            if found.findings.is_empty() { None } else { verdict::sentences(found).into_iter().next() }
        })
        .or_else(|| if is_found { lines.next() } else { None })
        .or_else(|| {
            let none = || verdict::why_no_cause(view.diagnosis.as_ref()?);
            if held_all { None } else { lines.find(|line| Some(line) != why.as_ref()).or_else(none) }
        });
    first
        .into_iter()
        .chain(why)
        .chain(second)
        .chain(target_near_limit(view))
        .chain(cost_beside(view))
        .collect()
}

/// The cost of freezes that do not affect the limit, to follow what sets it.
fn cost_beside(view: &RunView) -> Vec<Text> {
    if view.is_generator_limited() || !freezes::is_recurrent(view) || !freezes::is_limit_unaffected(view) {
        return Vec::new();
    }
    if let Some(found) = view.diagnosis.as_ref().filter(|found| found.cause() == Some(Cause::Freeze)) {
        return verdict::sentences(found);
    }
    let Some(line) = freezes::line(view) else { return Vec::new() };
    vec![line.with_span(Tone::Faint, freezes::limit_unaffected_words(view))]
}

/// Why a limit is not green, where what holds does not say it.
fn less_sure(view: &RunView) -> Option<&'static str> {
    view.limits.first()?.lower?;
    Some(match view.search_ended()? {
        _ if view.is_slowing_down() => "it slows down",
        SearchEnd::Noisy => "its capacity varies",
        SearchEnd::BudgetSpent => "the search ran out of time (--budget)",
        SearchEnd::NonStationary => "the target kept changing",
        SearchEnd::Interrupted => "interrupted",
        _ => return None,
    })
}

/// What to do about what gave first, and the expected gain.
fn next_steps(view: &RunView) -> Vec<Text> {
    if view.is_generator_limited() {
        return generator_next_steps(view);
    }
    if let Some(gain) = raise_gain(view) {
        return raise_advice(view).into_iter().chain([gain]).collect();
    }
    match view.kind() {
        ReportKind::Experiment => {
            let way = conclusions::next_step(view).into_iter().chain(conclusions::expected_gain(view));
            return way.chain(conclusions::response_time_line(view)).collect();
        }
        ReportKind::Probe => return sheet_usage_line(view).into_iter().collect(),
        _ => {}
    }
    let steps = freezes::next_steps(view);
    if !steps.is_empty() {
        return steps;
    }
    let Some(found) = view.diagnosis.as_ref().filter(|found| !found.findings.is_empty()) else {
        let next = view.diagnosis.as_ref().and_then(|found| explain::recommendations(found).next());
        return next.into_iter().flat_map(|next| [next, verdict::how_to_measure(view)]).collect();
    };
    // First what sets the limit, then freezes that do not affect it.
    let beside = view.freezes().filter(|_| freezes::is_recurrent(view) && freezes::is_limit_unaffected(view));
    let next = explain::recommendations(found).next().map(|next| match &beside {
        Some(froze) => next.with_plain(format!("; then, for the freezes, {}", froze.advice())),
        None => next,
    });
    let gain = verdict::expected_gain(view, found);
    let gain = match beside.and_then(|_| freezes::sustained_rate(view)) {
        Some(_) => gain.with_plain("; without the freezes it holds as much for longer than a trial"),
        None => gain,
    };
    next.into_iter().chain([gain]).collect()
}

/// Adds to what gave first its arithmetic and confidence.
fn hedge(view: &RunView, said: &mut [Text]) {
    if let Some((line, sure)) = freezes::line(view).zip(freezes::certainty_words(view))
        && let Some(line) = said.iter_mut().find(|said| **said == line)
    {
        *line = std::mem::take(line).with_span(Tone::Faint, sure);
    }
    let Some(found) = &view.diagnosis else { return };
    let Some(first) = found.findings.first() else { return };
    let sentence = verdict::sentences(found).into_iter().next();
    let line = match view.is_generator_limited() {
        // It stands for torment falling behind.
        true if first.cause == Cause::Generator => said.get_mut(1),
        true => None,
        false => said.iter_mut().find(|line| Some(&**line) == sentence.as_ref()),
    };
    if let Some(line) = line {
        let word = first.confidence.word();
        // Freezes are certain.
        let sure = match first.cause {
            Cause::Freeze if freezes::unknown_cause_line(view).is_some() => {
                freezes::limit_unaffected_words(view)
            }
            Cause::Freeze => format!(" ({word} confidence that this sets the limit)"),
            _ => format!(" ({word} confidence)"),
        };
        let reckoned = verdict::arithmetic_words(view, found).filter(|_| !view.is_generator_limited());
        let line_with =
            reckoned.into_iter().fold(std::mem::take(line), |line, reckoned| line.with_plain(reckoned));
        *line = line_with.with_span(Tone::Faint, sure);
    }
}

/// All caveats, each with its section.
pub(super) fn page_caveats(view: &RunView, there: impl Fn(&str) -> bool) -> Vec<PageCaveat> {
    let about =
        |kind: &record::CaveatKind| section(kind, view.kind()).filter(|id| there(id)).map(str::to_owned);
    let mut caveats: Vec<PageCaveat> = caveats::caveat_texts(view)
        .into_iter()
        .map(|(caveat, text)| PageCaveat { text: text.trim().to_owned(), section: about(&caveat.doubt) })
        .collect();
    let mut add = |text: String, section: &str| {
        if !caveats.iter().any(|known| known.text == text) {
            let section = there(section).then(|| section.to_owned());
            caveats.push(PageCaveat { text, section });
        }
    };
    if let Some(state) = &view.experiment_state {
        for result in &state.judged {
            let own = result.caveats.iter().filter(|caveat| !experiment::is_of_several(state, caveat));
            own.for_each(|caveat| add(format!("{}: {caveat}", quoted(&result.name)), "experiment"));
        }
        placebo(state).for_each(|text| add(text, "experiment"));
    }
    for caveat in view.conditions.iter().flat_map(|conditions| &conditions.caveats) {
        add(caveat.to_string(), "figures");
    }
    let figures: Vec<&record::Figure> = view.figures.iter().collect();
    figure_tables::caveats(&figures).into_iter().for_each(|text| add(text, "figures"));
    if let Some(text) = caveats::skipped(view) {
        caveats.push(PageCaveat { text, section: None });
    }
    caveats
}

/// Placebos found to differ from the identical plan.
fn placebo(state: &ExperimentState) -> impl Iterator<Item = String> {
    let placebos = state.judged.iter().filter(|result| result.hypothesis.is_none());
    placebos.filter_map(|result| {
        let (text, tone) = experiment::placebo_answer(result);
        (tone == Tone::Bad).then(|| format!("{}: {text}", quoted(&result.name)))
    })
}

/// A caveat's section, by its kind.
fn section(caveat_kind: &record::CaveatKind, kind: ReportKind) -> Option<&'static str> {
    use record::CaveatKind::*;
    match caveat_kind {
        GeneratorLate | GeneratorBusy => Some("load"),
        NotAnswered | TooShort | LooksDisagree => Some("evidence"),
        PlaceboDiffers | Drift | UnequalNoise | NoNoise | FewFreedom | BeforeFirstLook | ArmDropped
        | AtLeast => Some("experiment"),
        Disturbed if matches!(kind, ReportKind::Probe | ReportKind::WorkingSet) => Some("figures"),
        _ => None,
    }
}

/// The last trials of a search, or starts of an experiment.
pub(super) fn phases(run: &RunView, most: usize) -> Vec<Phase> {
    // A single load has nothing to tell apart.
    if run.kind() == ReportKind::Load {
        return Vec::new();
    }
    let early = run.trials.len().saturating_sub(most);
    let mut phases: Vec<Phase> = run.trials[early..].iter().filter_map(|trial| phase(run, trial)).collect();
    if let Some(current) = &run.current {
        let stretch = run.trial_spans.get(&current.number).copied().unwrap_or_default();
        let label = name(current.number, current.purpose, current.rate);
        let label = if run.running { label } else { format!("{label}, cut short") };
        let tone = TrialState::Unjudged.tone();
        phases.push(Phase { from: stretch.from, to: stretch.to(), label, tone });
    }
    if let Some(lookup) = DesignLookup::of(run) {
        let since = run.started.as_ref().map_or(0, |started| started.at_unix_ms);
        phases.extend(run.starts.iter().map(|start| {
            let from = start.at_unix_ms.saturating_sub(since) as f64 / 1000.0;
            let placebo = if start.placebo { ", placebo" } else { "" };
            let (void, tone) = if start.void.is_some() { (", void", Tone::Warn) } else { ("", Tone::Plain) };
            let label = format!("start {}: {}{placebo}{void}", start.number, lookup.arm(start.arm));
            Phase { from, to: from + start.took.as_secs_f64(), label, tone }
        }));
    }
    let early = phases.len().saturating_sub(most);
    phases.split_off(early)
}

fn phase(run: &RunView, trial: &Trial) -> Option<Phase> {
    let stretch = run.trial_spans.get(&trial.number)?;
    let state = trial.state();
    let word = match state {
        TrialState::Unjudged => trial.purpose.name(),
        state => state.name(),
    };
    let label = format!("{}, {word}", name(trial.number, trial.purpose, trial.rate));
    Some(Phase { from: stretch.from, to: stretch.to(), label, tone: state.tone() })
}
