//! Synthetic experiments.

use super::RunBuilder;
use plan::{ArmMeasure, Hypothesis, LoadLevel};
use record::{
    ArmStart, Cause, Caveat, CaveatKind, Design, DesignArm, DesignMeasurement, Event, ExpectedAnswer,
    ExperimentEnd, ExperimentState, HypothesisAnswer, HypothesisResult, Interval, MeasurementResult, Noise,
    RunId, StartTimes, Verdict,
};
use units::{Nanos, Rate, Share};

/// A probe's result: its index, its figures, and what gave first.
type ProbeResult = (usize, Vec<(ArmMeasure, f64)>, Option<Cause>);

/// An arm's name, and each probe's figures.
pub struct ArmSpec {
    pub name: &'static str,
    pub change: &'static str,
    pub probes: Vec<ProbeResult>,
}

pub fn probe(workload: &str, at: LoadLevel, arms: &[usize]) -> DesignMeasurement {
    DesignMeasurement { workload: workload.to_owned(), at, arms: arms.to_vec() }
}

pub fn asks(name: &str, contrast: &[(usize, f64)], probe: usize, measure: ArmMeasure) -> Hypothesis {
    Hypothesis {
        name: name.to_owned(),
        contrast: contrast.to_vec(),
        probe,
        measure,
        effect: Share(0.1),
        relieves: Vec::new(),
    }
}

pub fn design(arms: &[ArmSpec], probes: Vec<DesignMeasurement>, hypotheses: Vec<Hypothesis>) -> Design {
    let change = |arm: &ArmSpec| (!arm.change.is_empty()).then(|| arm.change.to_owned());
    Design {
        arms: arms
            .iter()
            .map(|arm| DesignArm { name: arm.name.to_owned(), changes: change(arm).into_iter().collect() })
            .collect(),
        probes,
        hypotheses,
        pilot: 3,
        least: 4,
        most: 10,
        budget: None,
        confidence: Share(0.95),
        seed: 1,
    }
}

pub fn judged(
    hypothesis: Option<usize>,
    name: &str,
    answer: HypothesisAnswer,
    ratio: Option<(f64, f64, f64)>,
) -> HypothesisResult {
    let ratio = ratio.map(|(value, low, high)| Interval { value, low, high });
    HypothesisResult {
        hypothesis,
        name: name.to_owned(),
        answer,
        ratio,
        some_effect: ratio.is_some_and(|r| r.low > 1.0 || r.high < 1.0),
        blocks: 4,
        expected: None,
        held: None,
        says: String::new(),
        caveats: Vec::new(),
    }
}

pub fn noise(probe: usize, measure: ArmMeasure, deviation: f64, visible: f64) -> Noise {
    Noise { probe, measure, deviation, freedom: 11, visible }
}

pub trait JudgedExt {
    fn says(self, text: &str) -> Self;
    fn expected(self, answer: Option<HypothesisAnswer>, held: Option<bool>, why: &str) -> Self;
    fn doubt(self, code: &str, text: &str) -> Self;
}

impl JudgedExt for HypothesisResult {
    fn says(mut self, text: &str) -> Self {
        self.says = text.to_owned();
        self
    }
    fn expected(mut self, answer: Option<HypothesisAnswer>, held: Option<bool>, why: &str) -> Self {
        self.expected = Some(ExpectedAnswer { answer, why: why.to_owned() });
        self.held = held;
        self
    }
    fn doubt(mut self, code: &str, text: &str) -> Self {
        self.caveats.push(Caveat::new(CaveatKind::from(code.to_owned()), text));
        self
    }
}

/// Starts arms by index.
pub struct ExperimentBuilder {
    pub run: RunBuilder,
    pub design: Design,
    arms: Vec<ArmSpec>,
    visits: u32,
}

impl ExperimentBuilder {
    pub fn of(arms: Vec<ArmSpec>, probes: Vec<DesignMeasurement>, hypotheses: Vec<Hypothesis>) -> Self {
        let design = design(&arms, probes, hypotheses);
        let mut run = RunBuilder::start("try");
        run.events.push(Event::Designed { design: Box::new(design.clone()) });
        Self { run, design, arms, visits: 0 }
    }

    pub fn begins(mut self, block: u32, arm: usize, placebo: bool) -> Self {
        let expected = Some(Nanos::from_secs(80));
        let number = self.visits + 1;
        self.run.events.push(Event::VisitStarted(record::OngoingStart {
            number,
            block,
            arm,
            placebo,
            expected,
        }));
        self
    }

    /// A start whose figures differ slightly from the last one's.
    pub fn visit(mut self, block: u32, arm: usize, placebo: bool, void: Option<&str>) -> Self {
        self = self.begins(block, arm, placebo);
        self.visits += 1;
        let wobble = 1.0 + (f64::from(self.visits * 7 % 11) - 5.0) / 200.0;
        let measurement =
            |(probe, figures, cause): &(usize, Vec<(ArmMeasure, f64)>, Option<Cause>)| MeasurementResult {
                probe: *probe,
                run: RunId(format!("20261120-1{:05}-{}{}{probe}", 30_000 + self.visits * 100, block, arm)),
                rate: match self.design.probes[*probe].at {
                    LoadLevel::Share(share) => Some(Rate(212.0 * share.0)),
                    LoadLevel::Rate(rate) => Some(rate),
                    LoadLevel::Limit | LoadLevel::Connections(_) => None,
                },
                figures: figures
                    .iter()
                    .map(|(measure, figure)| match measure {
                        ArmMeasure::Threads => (*measure, *figure),
                        _ => (*measure, figure * wobble),
                    })
                    .collect(),
                at_least: false,
                cause: *cause,
                says: String::new(),
                caveats: Vec::new(),
            };
        let pilot = |probe: usize| block > 0 || self.design.probes[probe].at == LoadLevel::Limit;
        let start = ArmStart {
            number: self.visits,
            block,
            arm,
            placebo,
            at_unix_ms: 1_795_191_303_000 + u64::from(self.visits) * 80_000,
            took: Nanos::from_secs(78 + u64::from(self.visits % 3)),
            started_in: Nanos::from_millis(6_100 + u64::from(self.visits % 4) * 130),
            spent: StartTimes {
                needs: Nanos::from_millis(4_200),
                reset: Nanos::from_millis(300),
                warm: Nanos::from_millis(20_100),
                load: Nanos::from_secs(40),
                again: Nanos::ZERO,
                drain: Nanos::from_millis(2_400),
                rest: Nanos::from_millis(1_100),
                stop: Nanos::from_millis(3_700),
            },
            taken: match void {
                Some(_) => Vec::new(),
                None => self.arms[arm]
                    .probes
                    .iter()
                    .filter(|(probe, ..)| pilot(*probe))
                    .map(measurement)
                    .collect(),
            },
            void: void.map(str::to_owned),
        };
        self.run.events.push(Event::Visited { visit: Box::new(start) });
        self
    }

    pub fn pilot(mut self) -> Self {
        for _ in 0..self.design.pilot {
            self = self.visit(0, 0, false, None);
        }
        self
    }

    /// A block's arms and the placebo; some void.
    pub fn block(mut self, block: u32, void: &[(usize, &str)]) -> Self {
        for arm in 0..self.arms.len() {
            let why = void.iter().find(|(place, _)| *place == arm).map(|(_, why)| *why);
            self = self.visit(block, arm, false, why);
        }
        self.visit(block, 0, true, None)
    }

    pub fn stands(mut self, state: &ExperimentState) -> Self {
        self.run.events.push(Event::Stands { standing: Box::new(state.clone()) });
        self
    }

    pub fn logged(mut self, program: &str, text: &str, left_out: u64) -> Self {
        let (program, text) = (program.to_owned(), text.to_owned());
        self.run.events.push(Event::Logged(record::ProgramLog { program, text, left_out }));
        self
    }

    pub fn over(self, mut state: ExperimentState, over: ExperimentEnd, exit_code: u8) -> RunBuilder {
        state.over = Some(over);
        self.run.end(Some(Verdict::Answers { standing: state }), exit_code, None)
    }
}
