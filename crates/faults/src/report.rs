//! Results of the cases: each against its truth, and all of them together.

use crate::case::ExpectedCause;
use record::{Cause, Event, NoFinding};

/// One repetition of a case.
#[derive(Debug, Clone, PartialEq)]
pub struct CaseResult {
    /// Its name.
    pub case: &'static str,
    /// The truth.
    pub expected: ExpectedCause,
    /// Number of the repetition, from 1.
    pub repetition: u32,
    /// The outcome.
    pub outcome: CaseOutcome,
}

/// Outcome of a case.
#[derive(Debug, Clone, PartialEq)]
pub enum CaseOutcome {
    /// There was a load, and a verdict or none.
    Judged(CaseVerdict),
    /// This machine cannot show the fault; the reason.
    Skipped(String),
    /// The case itself failed; why.
    Failed(String),
}

/// The verdict on a case.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CaseVerdict {
    /// The causes named, the verdict first.
    pub causes: Vec<Cause>,
    /// Confidence of the verdict, from 0 to 1, and as a word.
    pub confidence: Option<(f64, &'static str)>,
    /// Why no cause was named.
    pub none: Option<NoFinding>,
    /// The verdict in words.
    pub sentences: Vec<String>,
}

impl CaseVerdict {
    /// From the last diagnosis of a run.
    pub(crate) fn from_events(events: &[Event]) -> Self {
        let diagnosis = events.iter().rev().find_map(|event| match event {
            Event::Diagnosed { diagnosis } => Some(diagnosis),
            _ => None,
        });
        let Some(diagnosis) = diagnosis else { return Self::default() };
        let confidence = diagnosis.findings.first().map(|finding| finding.confidence);
        Self {
            causes: diagnosis.findings.iter().map(|finding| finding.cause).collect(),
            confidence: confidence.map(|confidence| (confidence.value(), confidence.word())),
            none: diagnosis.none,
            sentences: diagnosis.sentences.clone(),
        }
    }

    /// Whether the verdict is the truth.
    pub fn is_correct(&self, expected: ExpectedCause) -> bool {
        match expected {
            ExpectedCause::First { cause, .. } => self.causes.first() == Some(&cause),
            ExpectedCause::Nothing => self.causes.is_empty(),
        }
    }

    /// Whether the truth, or an acceptable cause, is among the first two.
    pub fn is_in_first_two(&self, expected: ExpectedCause) -> bool {
        match expected {
            ExpectedCause::First { cause, also } => {
                self.causes.iter().take(2).any(|named| *named == cause || also.contains(named))
            }
            ExpectedCause::Nothing => self.causes.is_empty(),
        }
    }

    /// Whether something untrue is stated with high confidence.
    pub fn is_confidently_wrong(&self, expected: ExpectedCause) -> bool {
        let wrong = match expected {
            ExpectedCause::First { cause, also } => {
                self.causes.first().is_some_and(|named| *named != cause && !also.contains(named))
            }
            ExpectedCause::Nothing => !self.causes.is_empty(),
        };
        wrong && self.confidence.is_some_and(|(_, word)| word == "high")
    }
}

/// Required shares of correct cases.
const FIRST_RIGHT: f64 = 0.90;
const SECOND_RIGHT: f64 = 0.97;

/// All results.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SelftestReport {
    /// In the order in which they ran.
    pub results: Vec<CaseResult>,
}

impl SelftestReport {
    /// Results with a verdict.
    pub fn verdicts(&self) -> impl Iterator<Item = (&CaseResult, &CaseVerdict)> {
        self.results.iter().filter_map(|tried| match &tried.outcome {
            CaseOutcome::Judged(judged) => Some((tried, judged)),
            _ => None,
        })
    }

    fn count(&self, right: impl Fn(&CaseVerdict, ExpectedCause) -> bool) -> usize {
        self.verdicts().filter(|(tried, judged)| right(judged, tried.expected)).count()
    }

    /// Verdicts that are the truth.
    pub fn count_correct(&self) -> usize {
        self.count(CaseVerdict::is_correct)
    }

    /// Verdicts with the truth among the first two.
    pub fn count_in_first_two(&self) -> usize {
        self.count(CaseVerdict::is_in_first_two)
    }

    /// Wrong verdicts with high confidence.
    pub fn count_confidently_wrong(&self) -> usize {
        self.count(CaseVerdict::is_confidently_wrong)
    }

    /// Cases that failed themselves.
    pub fn count_failed(&self) -> usize {
        self.results.iter().filter(|tried| matches!(tried.outcome, CaseOutcome::Failed(_))).count()
    }

    /// Whether a case was skipped.
    pub(crate) fn is_skipped(&self, case: &str) -> bool {
        self.results
            .iter()
            .any(|tried| tried.case == case && matches!(tried.outcome, CaseOutcome::Skipped(_)))
    }

    /// Nine in ten verdicts right, almost all within the first two, none wrong with high confidence, and
    /// no case failed itself.
    pub fn passes(&self) -> bool {
        let judged = self.verdicts().count() as f64;
        judged > 0.0
            && self.count_correct() as f64 >= FIRST_RIGHT * judged
            && self.count_in_first_two() as f64 >= SECOND_RIGHT * judged
            && self.count_confidently_wrong() == 0
            && self.count_failed() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOCK: ExpectedCause = ExpectedCause::First { cause: Cause::Lock, also: &[Cause::Inside] };

    fn verdict(causes: &[Cause], sure: f64) -> CaseVerdict {
        let word = if sure >= 0.8 { "high" } else { "low" };
        CaseVerdict { causes: causes.to_vec(), confidence: Some((sure, word)), ..CaseVerdict::default() }
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
            let judged = verdict(causes, sure);
            let found =
                (judged.is_correct(LOCK), judged.is_in_first_two(LOCK), judged.is_confidently_wrong(LOCK));
            assert_eq!(found, (first, second, wrong), "{causes:?}");
        }
        assert!(verdict(&[Cause::Cpu], 0.9).is_confidently_wrong(ExpectedCause::Nothing));
        assert!(verdict(&[], 0.0).is_correct(ExpectedCause::Nothing));
    }

    #[test]
    fn nine_of_ten_have_to_be_right_and_none_surely_wrong() {
        let result = |outcome| CaseResult { case: "a", expected: LOCK, repetition: 1, outcome };
        let report = |right: usize, near: usize, wrong: &[CaseVerdict]| {
            let right = std::iter::repeat_n(verdict(&[Cause::Lock], 0.9), right);
            let near = std::iter::repeat_n(verdict(&[Cause::Cpu, Cause::Lock], 0.4), near);
            let all = right.chain(near).chain(wrong.iter().cloned());
            SelftestReport { results: all.map(|judged| result(CaseOutcome::Judged(judged))).collect() }
        };
        assert!(report(9, 1, &[]).passes());
        assert!(!report(8, 2, &[]).passes());
        assert!(!report(9, 0, &[verdict(&[], 0.0)]).passes());
        assert!(!report(99, 0, &[verdict(&[Cause::Cpu], 0.9)]).passes());
        assert!(!SelftestReport::default().passes(), "nothing judged proves nothing");
        let mut broken = report(9, 0, &[]);
        broken.results.push(result(CaseOutcome::Skipped("no root".to_owned())));
        assert!(broken.passes() && broken.is_skipped("a"));
        broken.results.push(result(CaseOutcome::Failed("it panicked".to_owned())));
        assert!(!broken.passes());
    }
}
