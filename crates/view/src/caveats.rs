use crate::contrary_trials::fell_behind;
use crate::experiment::is_of_several;
use crate::remedy::remedy;
use crate::wording::number_of;
use crate::{ReportKind, RunView, Text, Tone, Trial};
use record::{Cause, Caveat, CaveatDetails, CaveatKind};
use std::collections::BTreeMap;
use units::grouped;

/// Each caveat of a run once, with how many trials or measurements it concerns; the run's own first.
pub(crate) fn collect<'a>(view: &'a RunView) -> Vec<(&'a Caveat, usize)> {
    let mut found: Vec<(&Caveat, usize)> = Vec::new();
    let mut place: BTreeMap<&CaveatKind, usize> = BTreeMap::new();
    let mut note = |caveat: &'a Caveat, of_a_trial: bool| {
        let index = *place.entry(&caveat.doubt).or_insert(found.len());
        if index == found.len() {
            found.push((caveat, 0));
        }
        // Keep the latest words: their numbers are those of the last trial concerned.
        found[index].0 = caveat;
        found[index].1 += usize::from(of_a_trial);
    };
    view.caveats.iter().for_each(|c| note(c, false));
    view.trials.iter().flat_map(of_trial).for_each(|c| note(c, true));
    let state = view.experiment_state.iter();
    state.clone().flat_map(|state| &state.caveats).for_each(|c| note(c, false));
    for state in state {
        let each = state.judged.iter().flat_map(|result| &result.caveats);
        each.filter(|c| is_of_several(state, c)).for_each(|c| note(c, false));
    }
    let measurements = view.starts.iter().flat_map(|start| &start.taken);
    measurements.flat_map(|measurement| &measurement.caveats).for_each(|c| note(c, true));
    found
}

/// A trial's caveats, each code once; those that void it first.
pub(crate) fn of_trial(trial: &Trial) -> Vec<&Caveat> {
    let mut all: Vec<&Caveat> = Vec::new();
    for caveat in trial.void_reasons().iter().chain(&trial.caveats) {
        if !all.iter().any(|known| known.doubt == caveat.doubt) {
            all.push(caveat);
        }
    }
    all
}

pub(crate) fn line(text: String) -> Text {
    Text::new(Tone::Warn, "caveat: ").with_plain(text)
}

pub(crate) fn lines(view: &RunView) -> Vec<Text> {
    caveat_texts(view).into_iter().map(|(_, text)| line(text)).chain(skipped(view).map(line)).collect()
}

/// Each caveat in words; last those of trials that do not count anyway. Omits what the verdict already says where torment was the limit or
/// fell behind, or answers waited for acknowledgements.
pub(crate) fn caveat_texts(view: &RunView) -> Vec<(&Caveat, String)> {
    let by_generator =
        view.is_generator_limited() || view.cause() == Some(Cause::Generator) || fell_behind(view).is_some();
    let void = |kind: &CaveatKind| {
        view.trials.iter().filter(|trial| trial.void_reasons().iter().any(|c| c.doubt == *kind)).count()
    };
    let by_acks = view.cause() == Some(Cause::DelayedAcks);
    let is_said = |kind: &CaveatKind| {
        by_generator && kind.is_generator() || by_acks && *kind == CaveatKind::DelayedAcks
    };
    let counted = collect(view).into_iter().filter(|(caveat, _)| !is_said(&caveat.doubt));
    let mut counted: Vec<(bool, &Caveat, usize)> = counted
        .map(|(caveat, trials)| (trials > 0 && void(&caveat.doubt) == trials, caveat, trials))
        .collect();
    counted.sort_by_key(|(left_out, ..)| *left_out);
    counted
        .into_iter()
        .map(|(left_out, caveat, trials)| {
            let sentence = caveat.to_string();
            let of = match (view.kind(), trials) {
                (ReportKind::Experiment, 1..) => number_of(trials, "measurement"),
                (ReportKind::Search, 1) if left_out => "1 trial, which does not count".to_owned(),
                (ReportKind::Search, 1..) if left_out => {
                    format!("{}, which do not count", number_of(trials, "trial"))
                }
                (ReportKind::Search, 1..) => number_of(trials, "trial"),
                // How a search ended says what to do next.
                (ReportKind::Load, _) if caveat.doubt.is_generator() && !has_advice(caveat) => {
                    return (caveat, format!("{sentence}; {}", remedy(view, None)));
                }
                _ => return (caveat, sentence),
            };
            let text = match sentence.strip_suffix(')') {
                Some(open) => format!("{open}; {of})"),
                None => format!("{sentence} ({of})"),
            };
            (caveat, text)
        })
        .collect()
}

/// Earlier versions stored the advice in the sentence.
fn has_advice(caveat: &Caveat) -> bool {
    matches!(caveat.grounds, Some(CaveatDetails::Text(_)))
}

/// Says that events of a newer version are missing.
pub(crate) fn skipped(view: &RunView) -> Option<String> {
    (view.skipped > 0).then(|| {
        let [events, are, them] = match view.skipped {
            1 => ["event", "is", "it"],
            _ => ["events", "are", "them"],
        };
        format!(
            "{} {events} of this run could not be read by this version and {are} left out; a newer torment may know {them}",
            grouped(view.skipped)
        )
    })
}
