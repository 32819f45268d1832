use crate::{Line, RunView, Tone, Trial};
use record::Caveat;
use std::collections::BTreeMap;

/// Every caveat of a run once, with how many trials it concerns: the run's own first.
pub(crate) fn gathered(view: &RunView) -> Vec<(&Caveat, usize)> {
    let mut found: Vec<(&Caveat, usize)> = Vec::new();
    let mut place: BTreeMap<&str, usize> = BTreeMap::new();
    let mut note = |caveat, of_a_trial: bool| {
        let index = *place.entry(code(caveat)).or_insert(found.len());
        if index == found.len() {
            found.push((caveat, 0));
        }
        // The latest words: numbers in them are those of the last trial concerned.
        found[index].0 = caveat;
        found[index].1 += usize::from(of_a_trial);
    };
    view.caveats.iter().for_each(|c| note(c, false));
    view.trials.iter().flat_map(of_trial).for_each(|c| note(c, true));
    found
}

/// The caveats of a trial, those that void it first, each code once.
pub(crate) fn of_trial(trial: &Trial) -> Vec<&Caveat> {
    let void = trial.judgement.iter().flat_map(|j| &j.invalid);
    let mut all: Vec<&Caveat> = Vec::new();
    for caveat in void.chain(&trial.caveats) {
        if !all.iter().any(|known| known.code == caveat.code) {
            all.push(caveat);
        }
    }
    all
}

fn code(caveat: &Caveat) -> &str {
    &caveat.code
}

/// One line for each.
pub(crate) fn lines(view: &RunView) -> Vec<Line> {
    gathered(view)
        .into_iter()
        .map(|(caveat, trials)| {
            let of = if view.is_search() && trials > 0 {
                format!(" ({trials} trial{})", if trials == 1 { "" } else { "s" })
            } else {
                String::new()
            };
            Line::empty().and(Tone::Warn, "  caveat: ").then(format!("{}{of}", caveat.text))
        })
        .collect()
}
