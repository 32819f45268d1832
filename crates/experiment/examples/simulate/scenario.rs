//! Experiments with known truth: the results of starts are simulated, and fed to the experiment like real ones.

use plan::{ArmMeasure, Hypothesis, LoadLevel};
use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};
use record::{
    ArmStart, Design, DesignArm, DesignMeasurement, ExperimentState, HypothesisAnswer, MeasurementResult,
    OngoingStart,
};
use torment_experiment::{Experiment, ExperimentStep};
use units::{Nanos, Share};

/// The smallest effect worth having in all scenarios.
pub const EFFECT: f64 = 0.1;

/// A disturbance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Disturbance {
    None,
    /// A linear drift of −20 % over all planned blocks, and a tenth up and down from block to block.
    Drift,
    /// Student's t with five degrees of freedom, of the same deviation.
    Tails,
    /// The first variant twice as noisy as the rest.
    Noisier,
    /// The baseline twice as noisy as the rest.
    Baseline,
    /// One start in twenty is void.
    Voids,
    /// Drift, tails and voids.
    All,
}

/// A row of the table.
#[derive(Debug, Clone)]
pub struct Scenario {
    pub name: &'static str,
    /// Standard deviation of the logarithm between starts.
    pub noise: f64,
    pub disturbance: Disturbance,
    /// The true ratio of each variant to the baseline.
    pub ratios: Vec<f64>,
    /// The variants are two crossed factors (a, b, both), and the hypotheses are two main effects and an interaction.
    pub is_factorial: bool,
    pub max_blocks: u32,
    pub requirement: Requirement,
}

/// The row's requirement.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Requirement {
    /// At most 5 % find any difference.
    NothingFound,
    /// 90 % find the first hypothesis better.
    Found,
    /// Only that intervals cover the truth.
    Covered,
}

/// The outcome of one experiment.
#[derive(Debug, Clone)]
pub struct Outcome {
    pub answers: Vec<HypothesisAnswer>,
    /// The intervals of all hypotheses hold the truth.
    pub covered: bool,
    /// Some interval excludes 1.
    pub some_effect: bool,
    pub placebo_differs: bool,
    pub blocks: u32,
    /// Width of the first interval, high ÷ low.
    pub width: f64,
}

impl Scenario {
    pub fn design(&self) -> Design {
        let arms = self.ratios.len() + 1;
        let contrasts: Vec<Vec<(usize, f64)>> = if self.is_factorial {
            vec![
                vec![(0, -0.5), (1, 0.5), (2, -0.5), (3, 0.5)],
                vec![(0, -0.5), (1, -0.5), (2, 0.5), (3, 0.5)],
                vec![(0, 1.0), (1, -1.0), (2, -1.0), (3, 1.0)],
            ]
        } else {
            (1..arms).map(|arm| vec![(0, -1.0), (arm, 1.0)]).collect()
        };
        let hypothesis = |contrast: Vec<(usize, f64)>| Hypothesis {
            name: format!("{contrast:?}"),
            contrast,
            probe: 0,
            measure: ArmMeasure::Capacity,
            effect: Share(EFFECT),
            relieves: Vec::new(),
        };
        Design {
            arms: (0..arms)
                .map(|arm| DesignArm { name: format!("arm {arm}"), changes: Vec::new() })
                .collect(),
            probes: vec![DesignMeasurement {
                workload: "all".to_owned(),
                at: LoadLevel::Limit,
                arms: (0..arms).collect(),
            }],
            hypotheses: contrasts.into_iter().map(hypothesis).collect(),
            pilot: 3,
            least: 4,
            most: self.max_blocks,
            budget: None,
            confidence: Share(0.95),
            seed: 0,
        }
    }

    /// The logarithm of each hypothesis' true ratio.
    fn truths(&self, design: &Design) -> Vec<f64> {
        let log = |arm: usize| if arm == 0 { 0.0 } else { self.ratios[arm - 1].ln() };
        let of = |asked: &Hypothesis| asked.contrast.iter().map(|(arm, weight)| log(*arm) * weight).sum();
        design.hypotheses.iter().map(of).collect()
    }

    /// Runs one experiment; `prepared` is one of this scenario's design, with computed bounds.
    pub fn run(&self, prepared: &Experiment, seed: u64) -> Outcome {
        self.outcome(&self.simulate(prepared, seed))
    }

    /// The smallest effect that it claims to find in nine in ten experiments.
    pub fn visible(&self, prepared: &Experiment, seed: u64) -> f64 {
        self.simulate(prepared, seed).noise[0].visible
    }

    fn simulate(&self, prepared: &Experiment, seed: u64) -> ExperimentState {
        let mut experiment = prepared.reseeded(seed);
        let mut simulator = StartSimulator::new(self, seed);
        while let ExperimentStep::Start { start: OngoingStart { number, block, arm, placebo, .. }, .. } =
            experiment.next(Nanos(0))
        {
            experiment.add_start(&simulator.start_arm(number, block, arm, placebo));
        }
        experiment.state()
    }

    fn outcome(&self, state: &ExperimentState) -> Outcome {
        let results = || state.judged.iter().filter(|judged| judged.hypothesis.is_some());
        let truths = self.truths(&self.design());
        let holds = |(judged, truth): (&record::HypothesisResult, &f64)| {
            judged.ratio.is_none_or(|ratio| ratio.low.ln() <= *truth && *truth <= ratio.high.ln())
        };
        Outcome {
            answers: results().map(|judged| judged.answer).collect(),
            covered: results().zip(&truths).all(holds),
            some_effect: results().any(|judged| judged.some_effect),
            placebo_differs: state
                .judged
                .iter()
                .any(|judged| judged.hypothesis.is_none() && judged.some_effect),
            blocks: state.blocks,
            width: results()
                .next()
                .and_then(|judged| judged.ratio)
                .map_or(f64::NAN, |ratio| ratio.high / ratio.low),
        }
    }
}

/// Simulates the results of starts.
struct StartSimulator<'a> {
    scenario: &'a Scenario,
    random: ChaCha8Rng,
    /// Shifts of the blocks so far.
    shifts: Vec<f64>,
}

impl<'a> StartSimulator<'a> {
    fn new(scenario: &'a Scenario, seed: u64) -> Self {
        let mut key = [9; 32];
        key[..8].copy_from_slice(&seed.to_le_bytes());
        Self { scenario, random: ChaCha8Rng::from_seed(key), shifts: Vec::new() }
    }

    fn even(&mut self) -> f64 {
        ((self.random.next_u64() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    /// Box and Muller (1958).
    fn normal(&mut self) -> f64 {
        let (radius, angle) = ((-2.0 * self.even().ln()).sqrt(), std::f64::consts::TAU * self.even());
        radius * angle.cos()
    }

    /// Of variance 1.
    fn noise(&mut self) -> f64 {
        let normal = self.normal();
        if !matches!(self.scenario.disturbance, Disturbance::Tails | Disturbance::All) {
            return normal;
        }
        let square: f64 = (0..5).map(|_| self.normal().powi(2)).sum::<f64>() / 5.0;
        normal / square.sqrt() * (3.0_f64 / 5.0).sqrt()
    }

    fn shift(&mut self, block: u32) -> f64 {
        if !matches!(self.scenario.disturbance, Disturbance::Drift | Disturbance::All) {
            return 0.0;
        }
        while self.shifts.len() <= block as usize {
            let drift = 0.8_f64.ln() * self.shifts.len() as f64 / f64::from(self.scenario.max_blocks);
            let shift = drift + 0.1 * self.normal();
            self.shifts.push(shift);
        }
        self.shifts[block as usize]
    }

    fn start_arm(&mut self, number: u32, block: u32, arm: usize, placebo: bool) -> ArmStart {
        let scenario = self.scenario;
        let effect = if arm == 0 { 0.0 } else { scenario.ratios[arm - 1].ln() };
        let noisier = match scenario.disturbance {
            Disturbance::Noisier => arm == 1,
            Disturbance::Baseline => arm == 0,
            _ => false,
        };
        let deviation = scenario.noise * if noisier { 2.0 } else { 1.0 };
        let y = 1000.0_f64.ln() + self.shift(block) + effect + deviation * self.noise();
        let void =
            matches!(scenario.disturbance, Disturbance::Voids | Disturbance::All) && self.even() < 0.05;
        let result = MeasurementResult {
            probe: 0,
            run: record::RunId(String::new()),
            rate: None,
            figures: vec![(ArmMeasure::Capacity, y.exp())],
            at_least: false,
            cause: None,
            says: String::new(),
            caveats: Vec::new(),
        };
        ArmStart {
            number,
            block,
            arm,
            placebo,
            at_unix_ms: 0,
            took: Nanos(1),
            started_in: Nanos(0),
            spent: record::StartTimes::default(),
            taken: vec![result],
            void: void.then(|| "a neighbour woke up".to_owned()),
        }
    }
}

/// The rows of the table.
pub fn rows() -> Vec<Scenario> {
    let mut rows = Vec::new();
    let mut row = |name, noise, trouble, ratios: &[f64], most, asks| {
        rows.push(Scenario {
            name,
            noise,
            disturbance: trouble,
            ratios: ratios.to_vec(),
            is_factorial: false,
            max_blocks: most,
            requirement: asks,
        });
    };
    let twice = 1.0 + 2.0 * EFFECT;
    // Maximum blocks, by noise: as needed for a true effect of twice the smallest.
    let sizes = [(0.03, 8), (0.07, 20), (0.15, 90)];
    for (noise, most) in sizes {
        row("A/A", noise, Disturbance::None, &[1.0], most, Requirement::NothingFound);
        row("twice the smallest effect", noise, Disturbance::None, &[twice], most, Requirement::Found);
    }
    row("exactly the smallest effect", 0.07, Disturbance::None, &[1.0 + EFFECT], 20, Requirement::Covered);
    row(
        "five times the smallest effect",
        0.07,
        Disturbance::None,
        &[1.0 + 5.0 * EFFECT],
        20,
        Requirement::Found,
    );
    for (trouble, most) in [
        (Disturbance::Drift, 20),
        (Disturbance::Tails, 20),
        (Disturbance::Voids, 20),
        (Disturbance::All, 20),
        (Disturbance::Noisier, 60),
        (Disturbance::Baseline, 60),
    ] {
        row("A/A", 0.07, trouble, &[1.0], most, Requirement::NothingFound);
        row("twice the smallest effect", 0.07, trouble, &[twice], most, Requirement::Found);
    }
    row("exactly the smallest effect", 0.07, Disturbance::Noisier, &[1.0 + EFFECT], 60, Requirement::Covered);
    row("two, one of twice", 0.07, Disturbance::None, &[twice, 1.0], 22, Requirement::Found);
    row("two, one of twice", 0.07, Disturbance::Noisier, &[twice, 1.0], 60, Requirement::Found);
    row("four A/A", 0.07, Disturbance::None, &[1.0; 4], 24, Requirement::NothingFound);
    row("four, one of twice", 0.07, Disturbance::None, &[twice, 1.0, 1.0, 1.0], 24, Requirement::Found);
    row("four, one of twice", 0.07, Disturbance::All, &[twice, 1.0, 1.0, 1.0], 24, Requirement::Found);
    row("four, one of twice", 0.07, Disturbance::Noisier, &[twice, 1.0, 1.0, 1.0], 60, Requirement::Found);
    row("four, of all sizes", 0.07, Disturbance::None, &[0.8, 1.0, 1.1, 1.5], 24, Requirement::Covered);
    for (name, ratios, asks) in [
        ("two factors, no effect", [1.0, 1.0, 1.0], Requirement::NothingFound),
        ("two factors, one of twice", [twice, 1.0, twice], Requirement::Found),
        ("two factors that need each other", [1.0, 1.0, 1.5], Requirement::Covered),
    ] {
        let (noise, trouble, ratios) = (0.07, Disturbance::None, ratios.to_vec());
        rows.push(Scenario {
            name,
            noise,
            disturbance: trouble,
            ratios,
            is_factorial: true,
            max_blocks: 40,
            requirement: asks,
        });
    }
    rows
}

impl Disturbance {
    pub fn words(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Drift => "drift",
            Self::Tails => "heavy tails",
            Self::Noisier => "variant 1 twice as noisy",
            Self::Baseline => "baseline twice as noisy",
            Self::Voids => "void starts",
            Self::All => "drift, heavy tails, void starts",
        }
    }
}
