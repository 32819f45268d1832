//! Experiments with made-up figures.

use plan::{ArmMeasure, Hypothesis, LoadLevel};
use record::{ArmStart, Cause, Design, DesignArm, DesignMeasurement, MeasurementResult, OngoingStart, RunId};
use torment_experiment::{Experiment, ExperimentStep};
use units::{Nanos, Share};

/// Each variant against the baseline, by the capacity; arms are named `baseline`, `a`, `b`, ….
pub fn design(variants: usize) -> Design {
    let arms: Vec<usize> = (0..=variants).collect();
    let name =
        |arm: &usize| if *arm == 0 { "baseline".to_owned() } else { ["a", "b", "c"][arm - 1].to_owned() };
    Design {
        arms: arms.iter().map(|arm| DesignArm { name: name(arm), changes: Vec::new() }).collect(),
        probes: vec![DesignMeasurement {
            workload: "all".to_owned(),
            at: LoadLevel::Limit,
            arms: arms.clone(),
        }],
        hypotheses: arms[1..].iter().map(|arm| capacity_hypothesis(vec![(0, -1.0), (*arm, 1.0)])).collect(),
        pilot: 2,
        least: 3,
        most: 8,
        budget: None,
        confidence: Share(0.95),
        seed: 7,
    }
}

pub fn capacity_hypothesis(contrast: Vec<(usize, f64)>) -> Hypothesis {
    Hypothesis {
        name: "it helps".to_owned(),
        contrast,
        probe: 0,
        measure: ArmMeasure::Capacity,
        effect: Share(0.1),
        relieves: Vec::new(),
    }
}

/// A start's result: the capacity and what gave first, or why it is void.
pub struct StartResult {
    pub figure: f64,
    pub cause: Option<Cause>,
    pub void: Option<&'static str>,
}

pub fn start_result(figure: f64) -> StartResult {
    StartResult { figure, cause: None, void: None }
}

/// A start as proposed by an experiment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StartRequest {
    pub number: u32,
    pub block: u32,
    pub arm: usize,
    pub placebo: bool,
}

pub fn visit(asked: StartRequest, told: StartResult) -> ArmStart {
    let StartRequest { number, block, arm, placebo } = asked;
    let taken = MeasurementResult {
        probe: 0,
        run: RunId(String::new()),
        rate: None,
        figures: vec![(ArmMeasure::Capacity, told.figure)],
        at_least: false,
        cause: told.cause,
        says: String::new(),
        caveats: Vec::new(),
    };
    ArmStart {
        number,
        block,
        arm,
        placebo,
        at_unix_ms: 0,
        took: Nanos::from_secs_f64(10.0),
        started_in: Nanos(0),
        spent: record::StartTimes::default(),
        taken: vec![taken],
        void: told.void.map(str::to_owned),
    }
}

/// Runs to the end; each start takes ten seconds. Returns the proposed starts.
pub fn conduct(
    experiment: &mut Experiment,
    mut gives: impl FnMut(StartRequest) -> StartResult,
) -> Vec<StartRequest> {
    let mut made = Vec::new();
    while let ExperimentStep::Start { start: OngoingStart { number, block, arm, placebo, .. }, .. } =
        experiment.next(Nanos::from_secs_f64(10.0 * made.len() as f64))
    {
        let asked = StartRequest { number, block, arm, placebo };
        made.push(asked);
        experiment.add_start(&visit(asked, gives(asked)));
    }
    made
}

/// Noise, the same for the same start: uniform within ± `size`.
pub fn wobble(asked: StartRequest, size: f64) -> f64 {
    let mut z = u64::from(asked.block) * 1000 + asked.arm as u64 * 10 + u64::from(asked.placebo);
    z = (z ^ (z >> 30)).wrapping_add(0x9e37_79b9_7f4a_7c15).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((z >> 11) as f64 / (1_u64 << 52) as f64 - 1.0) * size
}
