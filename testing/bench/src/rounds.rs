//! Rounds: every program once, in a new random order.

use crate::cases::BenchCase;
use crate::child::ProcessRunner;
use crate::figures::BenchRun;
use crate::generators::LoadShape;
use crate::load_run::{InstalledContestant, ServerUnderLoad, run_load};
use serde::Serialize;
use stats::shuffled;

/// One turn in this many may be repeated because others used the processor, which bounds the total.
const RETRY_DIVISOR: usize = 6;

/// How often, how long, in which order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct RoundSettings {
    /// Rounds.
    pub rounds: u32,
    /// Seconds of each load.
    pub seconds: u32,
    /// Seed of the orders.
    pub seed: u64,
}

/// All runs of a case.
#[derive(Debug, Serialize)]
pub struct CaseRuns {
    /// The orders of the rounds, as indices into `rows`.
    pub orders: Vec<Vec<usize>>,
    /// One for each installed contestant.
    pub rows: Vec<ContestantRuns>,
    /// What went wrong.
    pub doubts: Vec<String>,
}

/// The runs of one contestant.
#[derive(Debug, Serialize)]
pub struct ContestantRuns {
    /// Its name.
    pub name: String,
    /// Whether it is torment.
    pub ours: bool,
    /// For each round the runs of its loads; none if one of them failed.
    pub rounds: Vec<Option<Vec<BenchRun>>>,
}

/// Measures one case. A disturbed turn is repeated once, whatever it showed. If the bench is stopped, returns what there is.
pub fn measure(
    case: &BenchCase,
    entries: &[InstalledContestant],
    server: &dyn ServerUnderLoad,
    runner: &ProcessRunner,
    settings: RoundSettings,
    print: &mut dyn FnMut(String),
) -> CaseRuns {
    let row = |entry: &InstalledContestant| {
        let contestant = &entry.contestant;
        ContestantRuns { name: contestant.name(), ours: contestant.is_ours(), rounds: Vec::new() }
    };
    let mut measured =
        CaseRuns { orders: Vec::new(), rows: entries.iter().map(row).collect(), doubts: Vec::new() };
    // The case is part of the seed, so that a case measured alone has the same orders.
    let seed = settings.seed ^ (u64::from(u32::from(case.id)) << 32);
    if let Some(first) = entries.first() {
        // The server's first requests warm its caches: they count for nobody.
        let _ = run_load(first, case.shapes[0], 1, server, runner);
    }
    let mut retries_left = case.shapes.len() * entries.len() * settings.rounds as usize / RETRY_DIVISOR;
    for round in 1..=settings.rounds {
        let order = shuffled(entries.len(), seed, round);
        let names: Vec<&str> = order.iter().map(|at| measured.rows[*at].name.as_str()).collect();
        print(format!("{}  round {round} of {}: {}", case.id, settings.rounds, names.join(", ")));
        for &at in &order {
            if runner.stopped() {
                return measured;
            }
            let mut run_shape = |shape: &LoadShape| {
                let attempt = || run_load(&entries[at], *shape, settings.seconds, server, runner);
                let run = attempt()?;
                if !run.disturbed() || retries_left == 0 {
                    return Ok(run);
                }
                retries_left -= 1;
                print(format!("   again: {}", run.doubts.join("; ")));
                attempt()
            };
            let runs: Result<Vec<BenchRun>, String> = case.shapes.iter().map(&mut run_shape).collect();
            let doubts = match &runs {
                Ok(runs) => runs.iter().flat_map(|run| run.doubts.clone()).collect(),
                Err(problem) => vec![problem.clone()],
            };
            doubts.iter().for_each(|doubt| print(format!("   {doubt}")));
            measured.doubts.extend(doubts.into_iter().map(|doubt| format!("round {round}: {doubt}")));
            measured.rows[at].rounds.push(runs.ok());
        }
        measured.orders.push(order);
    }
    measured
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cases::CASES;
    use crate::load_run::tests::{entry, fake_server};

    #[test]
    fn everyone_has_a_turn_in_every_round_and_a_failure_is_a_gap() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let result = r#"echo '{"trial": {"outcomes": {"ok": 7}, "loaded_seconds": 1}}'"#;
        let entries = [entry(folder.path(), "good", result), entry(folder.path(), "bad", "exit 1")];
        let bench = ProcessRunner::new(crate::machine::processors()[0], folder.path());
        let three = RoundSettings { rounds: 3, seconds: 1, seed: 1 };
        let measured = measure(&CASES[0], &entries, &fake_server(64), &bench, three, &mut |_| {});
        assert!(measured.orders.len() == 3 && measured.orders.iter().all(|order| order.len() == 2));
        let [good, bad] = measured.rows.as_slice() else { panic!("{measured:?}") };
        let answered = |round: &Option<Vec<BenchRun>>| round.as_ref().map(|runs| runs[0].said.answered);
        assert_eq!(good.rounds.iter().map(answered).collect::<Vec<_>>(), [Some(7); 3]);
        assert_eq!(bad.rounds.iter().map(answered).collect::<Vec<_>>(), [None; 3]);
        let why = "torment gave no result (exit code Some(1)): it said nothing";
        assert_eq!(measured.doubts.iter().filter(|doubt| doubt.ends_with(why)).count(), 3, "{measured:?}");
    }
}
