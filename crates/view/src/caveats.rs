use crate::contrary_trials::fell_behind;
use crate::experiment::is_of_several;
use crate::remedy::remedy;
use crate::wording::number_of;
use crate::{ReportKind, RunView, Text, Tone, Trial};
use record::{Cause, Caveat, CaveatDetails, CaveatKind, Purpose};
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
    for trial in &view.trials {
        of_trial(trial).into_iter().filter(|c| matters(trial, c)).for_each(|c| note(c, true));
    }
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

/// A recovery check only waits for the target to be as quick as before: what disturbed its machine meanwhile does not
/// change the result.
fn matters(trial: &Trial, caveat: &Caveat) -> bool {
    trial.purpose != Purpose::Recovery || caveat.doubt != CaveatKind::Steal
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
        let voids =
            |trial: &&Trial| trial.void_reasons().iter().any(|c| c.doubt == *kind && matters(trial, c));
        view.trials.iter().filter(voids).count()
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ArrivalKind, LoadFigures};
    use record::{Recovery, Slice};
    use units::{Nanos, Share};

    fn trial(purpose: Purpose, stolen: f64) -> Trial {
        Trial {
            number: 1,
            arrival_kind: ArrivalKind::Requests,
            purpose,
            rate: None,
            planned: None,
            loaded: Nanos::from_millis(500),
            drain: Nanos::ZERO,
            hopeless: false,
            recovery: Recovery::NotNeeded,
            caveats: vec![Caveat::with_details(
                CaveatKind::Steal,
                CaveatDetails::Stolen { share: Share(stolen) },
            )],
            members: Vec::new(),
            judgement: None,
            figures: LoadFigures::from_slice(&Slice::default()),
        }
    }

    /// "The hypervisor gave 14 % of this machine's processor time to others; repeat at a quieter time (2 trials)":
    /// two recovery checks of half a second; in the trials that count it was below 1 %.
    #[test]
    fn stolen_time_of_recovery_checks_is_left_out() {
        let said = |purposes: &[(Purpose, f64)]| {
            let trials = purposes.iter().map(|(purpose, stolen)| trial(*purpose, *stolen)).collect();
            let view = RunView { trials, ..RunView::default() };
            collect(&view).into_iter().map(|(c, trials)| (c.to_string(), trials)).collect::<Vec<_>>()
        };
        assert_eq!(said(&[(Purpose::Recovery, 0.14), (Purpose::Recovery, 0.14)]), []);
        let both = said(&[(Purpose::WarmUp, 0.12), (Purpose::Measure, 0.06), (Purpose::Recovery, 0.14)]);
        assert!(both.len() == 1 && both[0].0.contains("gave 6 %") && both[0].1 == 2, "{both:?}");
    }
}
