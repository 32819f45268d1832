//! The finding of a rule that holds.

use crate::case::Case;
use crate::format::{format_factor, format_number, round_to_three_digits};
use crate::loaded_window::LoadedWindow;
use record::{CapacityCheck, Cause, Confidence, Evidence, Prediction, Station};
use units::Rate;

/// Factor on the independence of sources if a formula contradicts them: below *high*.
pub(crate) const CONTRADICTION_FACTOR: f64 = 0.75;

/// A rule that holds, before it is weighed against the others.
pub(crate) struct RuleFinding {
    pub cause: Cause,
    pub sentence: String,
    pub evidence: Vec<Evidence>,
    pub confidence: Confidence,
    /// The first degraded window in which it held.
    pub first_window: Option<usize>,
    /// Degraded windows in which it held.
    windows: u32,
    /// From the request to what waits for nothing else.
    pub chain: Vec<Station>,
    pub arithmetic: Option<CapacityCheck>,
    pub next: Vec<String>,
    pub prediction: Option<Prediction>,
    pub unless: Vec<String>,
}

impl RuleFinding {
    pub fn new(cause: Cause) -> Self {
        Self {
            cause,
            sentence: String::new(),
            evidence: Vec::new(),
            confidence: Confidence { margin: 1.0, persistence: 1.0, independence: 0.6, coverage: 1.0 },
            first_window: None,
            windows: 0,
            chain: Vec::new(),
            arithmetic: None,
            next: Vec::new(),
            prediction: None,
            unless: Vec::new(),
        }
    }

    /// What gave, in one sentence.
    pub fn with_sentence(mut self, sentence: impl Into<String>) -> Self {
        self.sentence = sentence.into();
        self
    }

    /// How far past its threshold: 0.6 at it, 1 at `full`.
    pub fn margin(mut self, value: f64, threshold: f64, full: f64) -> Self {
        let progress = (value - threshold) / (full - threshold);
        self.confidence.margin = 0.6 + 0.4 * progress.clamp(0.0, 1.0);
        self
    }

    /// Share of the degraded windows in which it holds by itself.
    pub fn persisting(self, case: &Case<'_>, is: impl Fn(&LoadedWindow<'_>) -> bool) -> Self {
        let (share, windows) = case.degraded.share_of_windows(&is);
        self.persisting_for(share, windows, case.degraded.windows.iter().position(is))
    }

    /// The same by count, if it was not looked for in windows; `first`: the first second in which it held.
    pub fn persisting_for(mut self, share: f64, seconds: u32, first: Option<usize>) -> Self {
        (self.windows, self.first_window) = (seconds, first);
        self.confidence.persistence = share.max(0.3);
        self
    }

    /// If this is so, once is enough: at a hard limit something is refused.
    pub fn persisting_if(mut self, is_so: bool) -> Self {
        if is_so {
            self.confidence.persistence = 1.0;
        }
        self
    }

    /// Number of independent sources.
    pub fn sources(mut self, count: u32) -> Self {
        self.confidence.independence = match count {
            0 | 1 => 0.6,
            2 => 0.85,
            _ => 1.0,
        };
        self
    }

    /// It rests on looks at threads.
    pub fn seen_by_sweeps(mut self, case: &Case<'_>) -> Self {
        self.confidence.coverage = case.coverage();
        self
    }

    /// Adds a fact, seen in as many windows as the rule held in.
    pub fn evidence(mut self, evidence: Evidence) -> Self {
        self.evidence.push(Evidence { windows: self.windows, ..evidence });
        self
    }

    /// Adds a fact, whose figures follow.
    pub fn fact(self, text: impl Into<String>) -> Self {
        self.evidence(fact(text))
    }

    pub fn evidences(self, evidence: impl IntoIterator<Item = Evidence>) -> Self {
        evidence.into_iter().fold(self, Self::evidence)
    }

    pub fn chain(mut self, links: impl IntoIterator<Item = impl Into<Station>>) -> Self {
        self.chain.extend(links.into_iter().map(Into::into));
        self
    }

    /// Adds the next link, which gave: needed if that is not the last.
    pub fn limiting(mut self, link: impl Into<Station>) -> Self {
        self.chain.push(Station { gave: true, ..link.into() });
        self
    }

    pub fn advise(mut self, advice: impl Into<String>) -> Self {
        self.next.push(advice.into());
        self
    }

    pub fn advise_all(self, advice: Option<String>) -> Self {
        advice.into_iter().fold(self, Self::advise)
    }

    pub fn unless(mut self, fact: impl Into<String>) -> Self {
        self.unless.push(fact.into());
        self
    }

    pub fn predicts(
        mut self,
        change: impl Into<String>,
        capacity: Option<Rate>,
        then: impl Into<String>,
    ) -> Self {
        self.prediction = Some(Prediction { change: change.into(), capacity, from: None, then: then.into() });
        self
    }

    /// Twice as much of what gave: doubles the answered rate, unless the service's processors are full before that.
    pub fn predicts_doubling(
        self,
        case: &Case<'_>,
        change: impl Into<String>,
        answered: f64,
        then: &str,
    ) -> Self {
        let saturation = case.saturation_rate().filter(|full| full.0 > answered && full.0 < 2.0 * answered);
        let capacity = saturation.map_or(2.0 * answered, |full| full.0);
        let saturation_note = saturation.map(|full| {
            format!(
                "its processors would be full at about {} ({} of {} used now); ",
                Rate(round_to_three_digits(full.0)),
                format_factor(case.cpu()),
                format_number(case.cpus())
            )
        });
        self.predicts(change, Some(Rate(capacity)), saturation_note.unwrap_or_default() + then)
    }

    /// A formula that should give the measured rate; if it does, that is one more source. If it does not, it is withdrawn, and lowers the
    /// confidence. Call after [`RuleFinding::sources`].
    pub fn arithmetic(mut self, arithmetic: Option<CapacityCheck>) -> Self {
        if let Some(arithmetic) = &arithmetic {
            let confidence = &mut self.confidence;
            confidence.independence = match (arithmetic.agrees(), confidence.independence) {
                (true, i) if i < 0.8 => 0.85,
                (true, _) => 1.0,
                // With one contradiction nothing is sure, however many sources agree.
                (false, i) => i * CONTRADICTION_FACTOR,
            };
        }
        self.arithmetic = arithmetic.filter(CapacityCheck::agrees);
        self
    }
}

/// A fact in words.
pub(crate) fn fact(text: impl Into<String>) -> Evidence {
    Evidence { text: text.into(), ..Evidence::default() }
}

/// Details of a fact.
pub(crate) trait EvidenceExt: Sized {
    fn with(self, change: impl FnOnce(&mut Evidence)) -> Self;

    /// Its value with its threshold, and its source.
    fn measured(self, value: f64, threshold: f64, unit: &str, source: &str) -> Self {
        self.with(|fact| {
            (fact.value, fact.threshold) = (value, threshold);
            (fact.unit, fact.source) = (unit.to_owned(), source.to_owned());
        })
    }

    /// The same figure while the target was well.
    fn well(self, value: Option<f64>) -> Self {
        self.with(|fact| fact.well = value)
    }
}

impl EvidenceExt for Evidence {
    fn with(mut self, change: impl FnOnce(&mut Evidence)) -> Self {
        change(&mut self);
        self
    }
}

/// Applies to its last fact.
impl EvidenceExt for RuleFinding {
    fn with(mut self, change: impl FnOnce(&mut Evidence)) -> Self {
        debug_assert!(!self.evidence.is_empty(), "a fact comes before its figures");
        self.evidence.last_mut().map(change);
        self
    }
}

/// Sources of facts, where users can look themselves.
pub(crate) mod source {
    pub const SCHEDSTAT: &str = "/proc/PID/task/*/schedstat";
    pub const SWEEP: &str = "/proc/PID/task/*/{stat,wchan,syscall}";
    pub const HOST: &str = "/proc/stat";
    pub const CGROUP: &str = "control group";
    pub const SOCKETS: &str = "sock_diag";
    pub const ACTIVITY: &str = "pg_stat_activity";
    pub const PERFDATA: &str = "hsperfdata";
    pub const LOAD: &str = "own load";
    pub const PROCESS: &str = "/proc/PID";
    pub const DUMP: &str = "thread dump";
    pub const STACKS: &str = "/proc/PID/task/*/syscall, stacks";
}

#[cfg(test)]
mod tests {
    use super::*;

    /// "0.2 / 5.53 ms = 36.2/s, but 48.1/s were measured" stood beside "confidence: high", and later beside "medium".
    #[test]
    fn a_formula_that_contradicts_what_was_measured_is_withdrawn_and_nothing_is_sure() {
        let reckoned = |ceiling: f64| {
            let arithmetic =
                CapacityCheck { formula: String::new(), ceiling: Rate(ceiling), measured: Rate(100.0) };
            let found =
                RuleFinding::new(Cause::Cpu).margin(2.0, 1.0, 2.0).sources(3).arithmetic(Some(arithmetic));
            (found.confidence.word(), found.arithmetic.is_some())
        };
        for (ceiling, expected) in [
            (100.0, ("high", true)),
            (114.0, ("high", true)),
            (86.0, ("high", true)),
            (116.0, ("medium", false)),
            (75.3, ("medium", false)),
            (0.0, ("medium", false)),
        ] {
            assert_eq!(reckoned(ceiling), expected, "{ceiling}");
        }
    }
}
