//! What came of the cells: each against its truth, and all of them together.

use crate::cell::Expected;
use record::{Cause, Diagnosis, Event, NoFinding};

/// A cell carried out once.
#[derive(Debug, Clone, PartialEq)]
pub struct Tried {
    /// Its name.
    pub cell: &'static str,
    /// The truth.
    pub expected: Expected,
    /// For the how manieth time, from 1.
    pub repetition: u32,
    /// What came of it.
    pub outcome: Outcome,
}

/// What came of a cell.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// There was a load, and a verdict or none.
    Judged(Judged),
    /// This machine cannot show the fault; the reason.
    Skipped(String),
    /// Something went wrong with the cell itself; what.
    Failed(String),
}

/// What was said of a cell.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Judged {
    /// The causes named, the verdict first.
    pub causes: Vec<Cause>,
    /// How sure the verdict is, from 0 to 1, and as a word.
    pub confidence: Option<(f64, &'static str)>,
    /// Why no cause was named.
    pub none: Option<NoFinding>,
    /// In words.
    pub sentences: Vec<String>,
}

impl Judged {
    /// The last diagnosis of a run.
    pub(crate) fn of(events: &[Event]) -> Self {
        let diagnosis = events.iter().rev().find_map(|event| match event {
            Event::Diagnosed { diagnosis } => Some(diagnosis.as_ref()),
            _ => None,
        });
        diagnosis.map_or_else(Self::default, Self::from)
    }

    /// Whether the verdict is the truth.
    pub fn first_right(&self, expected: Expected) -> bool {
        match expected {
            Expected::First { cause, .. } => self.causes.first() == Some(&cause),
            Expected::Nothing => self.causes.is_empty(),
        }
    }

    /// Whether the truth, or what is true as well, is among the first two.
    pub fn second_right(&self, expected: Expected) -> bool {
        match expected {
            Expected::First { cause, also } => {
                self.causes.iter().take(2).any(|named| *named == cause || also.contains(named))
            }
            Expected::Nothing => self.causes.is_empty(),
        }
    }

    /// Whether something that is not true is said as if it were certain.
    pub fn wrong_and_sure(&self, expected: Expected) -> bool {
        let wrong = match expected {
            Expected::First { cause, also } => {
                self.causes.first().is_some_and(|named| *named != cause && !also.contains(named))
            }
            Expected::Nothing => !self.causes.is_empty(),
        };
        wrong && self.confidence.is_some_and(|(_, word)| word == "high")
    }
}

impl From<&Diagnosis> for Judged {
    fn from(diagnosis: &Diagnosis) -> Self {
        Self {
            causes: diagnosis.findings.iter().map(|finding| finding.cause).collect(),
            confidence: diagnosis
                .findings
                .first()
                .map(|finding| (finding.confidence.value(), finding.confidence.word())),
            none: diagnosis.none,
            sentences: diagnosis.sentences.clone(),
        }
    }
}

/// Shares of cells that have to be right.
const FIRST_RIGHT: f64 = 0.90;
const SECOND_RIGHT: f64 = 0.97;

/// All that was tried.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Report {
    /// In the order in which it was done.
    pub tried: Vec<Tried>,
}

impl Report {
    /// What was judged, with the truth about it.
    pub fn judged(&self) -> impl Iterator<Item = (&Tried, &Judged)> {
        self.tried.iter().filter_map(|tried| match &tried.outcome {
            Outcome::Judged(judged) => Some((tried, judged)),
            _ => None,
        })
    }

    fn count(&self, right: impl Fn(&Judged, Expected) -> bool) -> usize {
        self.judged().filter(|(tried, judged)| right(judged, tried.expected)).count()
    }

    /// Verdicts that are the truth.
    pub fn first_right(&self) -> usize {
        self.count(Judged::first_right)
    }

    /// Verdicts with the truth among the first two.
    pub fn second_right(&self) -> usize {
        self.count(Judged::second_right)
    }

    /// Wrong verdicts with high confidence.
    pub fn wrong_and_sure(&self) -> usize {
        self.count(Judged::wrong_and_sure)
    }

    /// Cells that went wrong themselves.
    pub fn failed(&self) -> usize {
        self.tried.iter().filter(|tried| matches!(tried.outcome, Outcome::Failed(_))).count()
    }

    /// Whether a cell could not be had.
    pub(crate) fn skipped(&self, cell: &str) -> bool {
        self.tried.iter().any(|tried| tried.cell == cell && matches!(tried.outcome, Outcome::Skipped(_)))
    }

    /// Nine of ten verdicts right, almost all within the first two, none wrong with high confidence, and
    /// no cell went wrong itself.
    pub fn passes(&self) -> bool {
        let judged = self.judged().count() as f64;
        judged > 0.0
            && self.first_right() as f64 >= FIRST_RIGHT * judged
            && self.second_right() as f64 >= SECOND_RIGHT * judged
            && self.wrong_and_sure() == 0
            && self.failed() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOCK: Expected = Expected::First { cause: Cause::Lock, also: &[Cause::Inside] };

    fn named(causes: &[Cause], sure: f64) -> Judged {
        let word = if sure >= 0.8 { "high" } else { "low" };
        Judged { causes: causes.to_vec(), confidence: Some((sure, word)), ..Judged::default() }
    }

    #[test]
    fn a_verdict_is_held_to_the_truth() {
        for (causes, sure, first, second, wrong) in [
            (&[Cause::Lock][..], 0.9, true, true, false),
            (&[Cause::Cpu, Cause::Lock], 0.9, false, true, true),
            (&[Cause::Inside], 0.9, false, true, false),
            (&[Cause::Cpu], 0.4, false, false, false),
            (&[Cause::Cpu, Cause::Pool, Cause::Lock], 0.9, false, false, true),
            (&[], 0.0, false, false, false),
        ] {
            let judged = named(causes, sure);
            let found = (judged.first_right(LOCK), judged.second_right(LOCK), judged.wrong_and_sure(LOCK));
            assert_eq!(found, (first, second, wrong), "{causes:?}");
        }
        assert!(named(&[Cause::Cpu], 0.9).wrong_and_sure(Expected::Nothing));
        assert!(named(&[], 0.0).first_right(Expected::Nothing));
    }

    #[test]
    fn nine_of_ten_have_to_be_right_and_none_surely_wrong() {
        let tried = |outcome| Tried { cell: "a", expected: LOCK, repetition: 1, outcome };
        let report = |right: usize, near: usize, wrong: &[Judged]| {
            let right = std::iter::repeat_n(named(&[Cause::Lock], 0.9), right);
            let near = std::iter::repeat_n(named(&[Cause::Cpu, Cause::Lock], 0.4), near);
            let all = right.chain(near).chain(wrong.iter().cloned());
            Report { tried: all.map(|judged| tried(Outcome::Judged(judged))).collect() }
        };
        assert!(report(9, 1, &[]).passes());
        assert!(!report(8, 2, &[]).passes());
        assert!(!report(9, 0, &[named(&[], 0.0)]).passes());
        assert!(!report(99, 0, &[named(&[Cause::Cpu], 0.9)]).passes());
        assert!(!Report::default().passes(), "nothing judged proves nothing");
        let mut broken = report(9, 0, &[]);
        broken.tried.push(tried(Outcome::Skipped("no root".to_owned())));
        assert!(broken.passes() && broken.skipped("a"));
        broken.tried.push(tried(Outcome::Failed("it panicked".to_owned())));
        assert!(!broken.passes());
    }
}
