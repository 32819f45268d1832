//! Compares several runs with the first: each figure with its interval and meaning.

use super::code_changes::CodeChanges;
use super::comparability::comparability_caveats;
use super::compared_run::ComparedRun;
use super::difference::Significance;
use super::load_samples::LoadSamples;
use super::measure::ComparedMeasure;
use super::measures::{compare_measures, load_difference};
use crate::{ReportKind, RunView, Text};
use record::{Caveat, CaveatKind};

/// The most runs that can be compared at a glance.
pub const MAX_COMPARED: usize = 8;

/// Several runs, compared with the first.
#[derive(Debug, Clone, PartialEq)]
pub struct RunComparison {
    /// The runs; the baseline first.
    pub runs: Vec<ComparedRun>,
    /// Intended differences, and why runs may be incomparable; gravest first.
    pub all_caveats: Vec<Caveat>,
    /// Every measure that at least one run has.
    pub measures: Vec<ComparedMeasure>,
    /// Per run, how its functions differ from the first's; `None` for the first, and without profiles.
    pub code: Vec<Option<CodeChanges>>,
    /// The verdict on each run but the first.
    pub verdicts: Vec<RunVerdict>,
    /// The noise: a smaller relative difference counts as the same.
    pub noise: f64,
}

/// The verdict on a run.
#[derive(Debug, Clone, PartialEq)]
pub struct RunVerdict {
    /// Over all deciding measures: worse if any is, else undecided if any is, else better if any is.
    pub significance: Significance,
    /// In one sentence, with the run's title.
    pub sentence: String,
}

/// Compares runs with the first, each with its [`LoadSamples`]; relative differences below `noise` count as the same. A single run has
/// figures but no differences.
///
/// # Errors
/// A message, if the runs are not of one kind, or of one that has nothing to compare.
pub fn compare_runs(runs: &[(&RunView, &LoadSamples)], noise: f64) -> Result<RunComparison, String> {
    if runs.is_empty() || runs.len() > MAX_COMPARED {
        return Err(format!("{} runs; expected at most {MAX_COMPARED}, and one at least", runs.len()));
    }
    let name = |view: &RunView| view.started.as_ref().and_then(|started| started.label.name.clone());
    let names: Vec<Option<String>> = runs.iter().map(|(view, _)| name(view)).collect();
    let is_unique = |name: &&String| names.iter().flatten().filter(|other| other == name).count() == 1;
    let mut compared = Vec::new();
    for (view, _) in runs {
        let Some(started) = &view.started else {
            return Err("the first event of a run is missing: nothing can be said about it".to_owned());
        };
        if !matches!(view.kind(), ReportKind::Load | ReportKind::Search) {
            return Err(format!(
                "run {} is of `torment {}`; what can be compared are runs of `torment run` and `torment find`, and two of `torment probe`",
                started.id, started.command
            ));
        }
        compared.push(ComparedRun {
            id: started.id.clone(),
            title: started.label.name.as_ref().filter(is_unique).unwrap_or(&started.id.0).clone(),
            command: started.command.clone(),
            target: started.target.clone(),
            started_unix_ms: started.at_unix_ms,
            machine: started.machine.clone(),
            label: started.label.clone(),
            first_cause: view.cause().and_then(|_| view.diagnosis.as_ref()?.sentences.first().cloned()),
        });
    }
    let different = runs.iter().find(|(view, _)| view.kind() != runs[0].0.kind());
    if let Some(other) = different.and_then(|(view, _)| view.started.as_ref()) {
        return Err(format!(
            "run {} is of `torment {}`, run {} of `torment {}`: a search and a load have no figure in common",
            compared[0].id, compared[0].command, other.id, other.command
        ));
    }
    let measures = compare_measures(runs, noise);
    let void = |run: usize| (!is_trustworthy(runs[run].0)).then(|| compared[run].display_name());
    let verdicts = (1..runs.len())
        .map(|run| {
            let run_name = compared[run].display_name();
            let undecided = |why: String| RunVerdict {
                significance: Significance::Undecided,
                sentence: format!("{run_name}{why}"),
            };
            match (void(run).or_else(|| void(0)), load_difference(runs[0], runs[run])) {
                (Some(void), _) => undecided(format!(
                    ": undecided: {void} is not trustworthy; see its caveats, and repeat it"
                )),
                (None, Some(load)) => undecided(format!(
                    " ran at another load ({load}), so neither can be called better{}",
                    beside(run, &measures)
                )),
                (None, None) => verdict(&run_name, run, &measures, noise),
            }
        })
        .collect();
    let changes = runs[1..].iter().map(|(view, _)| CodeChanges::between(runs[0].0, view));
    let code = std::iter::once(None).chain(changes).collect();
    Ok(RunComparison {
        all_caveats: comparability_caveats(runs, &compared),
        runs: compared,
        measures,
        code,
        verdicts,
        noise,
    })
}

/// Whether the load may be judged: the generator was not the limit.
fn is_trustworthy(view: &RunView) -> bool {
    view.kind() != ReportKind::Load || view.load().is_none_or(|load| !load.is_void())
}

/// How many differences a sentence names, the first with its confidence.
const MAX_NAMED: usize = 3;
/// The same for measures that do not decide.
const MAX_SECONDARY: usize = 1;

/// What to show first where nothing is significant.
fn beside(run: usize, measures: &[ComparedMeasure]) -> String {
    let changed = |measure: &&ComparedMeasure| {
        measure.id == "response_p99"
            || (measure.id == "goal"
                && measure.differences[run].is_some_and(|difference| difference.by != 0.0))
    };
    let changes =
        measures.iter().filter(changed).map(|measure| measure.change_words(run, false, measure.is_near(run)));
    let changes = changes.collect::<Vec<_>>().join(", ");
    if changes.is_empty() { changes } else { format!(": {changes}") }
}

fn verdict(title: &str, run: usize, measures: &[ComparedMeasure], noise: f64) -> RunVerdict {
    let found = |significance: Significance| -> Vec<&ComparedMeasure> {
        let differs = |measure: &&ComparedMeasure| {
            measure.differences[run].is_some_and(|d| d.significance == significance)
        };
        measures.iter().filter(|measure| measure.decides).filter(differs).collect()
    };
    let (worse, better) = (found(Significance::Worse), found(Significance::Better));
    // A search answers what it was asked for, its limit; of its seconds at a rate below, response times have no interval.
    let is_limit_known = [&worse, &better, &found(Significance::Same)]
        .iter()
        .any(|of| of.iter().any(|measure| measure.id == "capacity"));
    let unknown = if is_limit_known { Vec::new() } else { found(Significance::Unknown) };
    let undecided = [found(Significance::Undecided), unknown].concat();
    let percents = measures.iter().filter(|measure| measure.decides).all(|measure| measure.is_near(run));
    let is_known =
        |measure: &&ComparedMeasure| measure.differences[run].is_some_and(|d| d.interval.is_some());
    let list = |of: &[&ComparedMeasure], most: usize, sure: bool| {
        let first = of.iter().position(is_known).filter(|_| sure);
        let words = |(nth, measure): (usize, &&ComparedMeasure)| {
            measure.change_words(run, Some(nth) == first, percents)
        };
        let shown = of.iter().take(most).enumerate().map(words).collect::<Vec<_>>().join(", ");
        let more = of.len().saturating_sub(most);
        if more > 0 { format!("{shown} and {more} more") } else { shown }
    };
    let also = |word: &str, of: &[&ComparedMeasure]| {
        if of.is_empty() { String::new() } else { format!("; {word}: {}", list(of, MAX_SECONDARY, false)) }
    };
    let beyond = units::Share(noise);
    let same = found(Significance::Same);
    // Equal limits are stated with them: it is what a comparison of searches is for.
    let limit = same
        .iter()
        .find(|measure| measure.id == "capacity")
        .map(|measure| measure.change_words(run, true, percents));
    let (significance, words) = if let Some(leading) = worse.first() {
        let word = adjective(leading.id, true);
        let words = format!("{word}: {}{}", list(&worse, MAX_NAMED, true), also("but better", &better));
        (Significance::Worse, words + &also("undecided", &undecided))
    } else if !undecided.is_empty() {
        let words = match limit {
            Some(limit) => format!("{limit}, no difference{}", also("undecided", &undecided)),
            None => format!("undecided: {}", list(&undecided, MAX_NAMED, true)),
        };
        (Significance::Undecided, words + &also("better", &better))
    } else if let Some(leading) = better.first() {
        (
            Significance::Better,
            format!("{}: {}", adjective(leading.id, false), list(&better, MAX_NAMED, true)),
        )
    } else if let Some(limit) = limit {
        (Significance::Same, format!("{limit}, no difference beyond the noise of {beyond}"))
    } else if !same.is_empty() {
        (Significance::Same, format!("no difference beyond the noise of {beyond}"))
    } else {
        (Significance::Unknown, "nothing to compare it by".to_owned())
    };
    let verb = if matches!(significance, Significance::Worse | Significance::Better) { " is" } else { ":" };
    RunVerdict { significance, sentence: format!("{title}{verb} {words}") }
}

/// The adjective for a run that differs most in this measure.
fn adjective(measure: &str, worse: bool) -> &'static str {
    match (measure.starts_with("response"), worse) {
        (true, true) => "slower",
        (true, false) => "faster",
        (false, true) => "worse",
        (false, false) => "better",
    }
}

/// Advice before a difference of two single runs is believed.
const REPEAT_ADVICE: &str = "before you rely on it, repeat both with torment try, which alternates them";
/// The caveat that a verdict begins with.
const VERDICT_CAVEAT: CaveatKind = CaveatKind::OtherLoad;
/// Caveats for what was changed on purpose.
const INTENDED_CAVEATS: [CaveatKind; 2] = [CaveatKind::OtherTarget, CaveatKind::OtherPlan];

impl RunComparison {
    /// What was changed on purpose, usually the reason to compare.
    pub fn changes(&self) -> impl Iterator<Item = &Caveat> {
        self.all_caveats.iter().filter(|caveat| INTENDED_CAVEATS.contains(&caveat.doubt))
    }

    /// Why runs may be incomparable; gravest first.
    pub fn caveats(&self) -> impl Iterator<Item = &Caveat> {
        self.all_caveats
            .iter()
            .filter(|caveat| caveat.doubt != VERDICT_CAVEAT && !INTENDED_CAVEATS.contains(&caveat.doubt))
    }

    /// What to do next given the outcome, and what to expect from it; empty where nothing is compared.
    pub fn next_steps(&self) -> Vec<Text> {
        let next =
            |next: &str, expect: &str| vec![Text::labelled("next", next), Text::labelled("expect", expect)];
        if self.verdicts.is_empty() {
            return Vec::new();
        }
        if self.all_caveats.iter().any(|caveat| caveat.doubt == VERDICT_CAVEAT) {
            return next(
                "repeat one of them at the load of the other, and compare again",
                "at the same load, what differs by more than chance is the target's own doing",
            );
        }
        match self.overall() {
            Significance::Undecided | Significance::Unknown => next(
                "repeat both for longer (-d, or --budget for a search), or repeat them with torment try",
                "four times as long halves an interval",
            ),
            Significance::Same => next(
                REPEAT_ADVICE,
                "no difference again, with an interval that includes run-to-run variation",
            ),
            Significance::Better | Significance::Worse => next(
                REPEAT_ADVICE,
                "the same difference again, unless it is chance, with an interval that includes run-to-run variation",
            ),
        }
    }

    /// Over all runs but the first: worse if any is, else undecided if any is, else the same, or better.
    pub fn overall(&self) -> Significance {
        let any = |significance| self.verdicts.iter().any(|verdict| verdict.significance == significance);
        if any(Significance::Worse) {
            Significance::Worse
        } else if any(Significance::Undecided) || any(Significance::Unknown) {
            Significance::Undecided
        } else if any(Significance::Same) || self.verdicts.is_empty() {
            Significance::Same
        } else {
            Significance::Better
        }
    }
}
