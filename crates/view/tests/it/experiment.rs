//! An experiment's output, word for word. `BLESS=1 cargo test -p torment-view` rewrites the golden files; read the diff before
//! keeping it.

#[allow(dead_code, reason = "loads and watches are shown by the other test")]
use crate::synthetic::check;
use crate::synthetic::experiment::{ArmSpec, ExperimentBuilder, JudgedExt, asks, judged, noise, probe};
use plan::{ArmMeasure, LoadLevel};
use record::{Cause, Caveat, CaveatKind, ExperimentEnd, ExperimentState, HypothesisAnswer};
use torment_view::{
    RunView, Text, arm_lines, current_start_line, hypothesis_lines, log_lines, run_json, summary,
};
use units::{Rate, Share};

/// Maximum width of tables and bars; sentences are wrapped when printed.
const WIDTH: usize = 100;

fn text(lines: &[Text]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

fn check_summary(name: &str, view: &RunView) {
    let lines = summary(view);
    let drawn =
        |line: &&Text| line.to_string().contains(['│', '◀', '▶', '–']) && !line.to_string().contains(". ");
    for line in lines.iter().filter(drawn) {
        assert!(line.width() <= WIDTH, "{} columns: {line}", line.width());
    }
    check(&format!("{name}.txt"), &text(&lines));
}

fn figures(capacity: f64, p99: f64, memory: f64, threads: f64) -> [Vec<(ArmMeasure, f64)>; 2] {
    let at_rate = vec![
        (ArmMeasure::P50, p99 / 2.3),
        (ArmMeasure::P99, p99),
        (ArmMeasure::Max, p99 * 9.0),
        (ArmMeasure::Cpu, 0.0031),
        (ArmMeasure::Memory, memory * 1_048_576.0),
        (ArmMeasure::Threads, threads),
    ];
    [vec![(ArmMeasure::Capacity, capacity)], at_rate]
}

fn arm(
    name: &'static str,
    change: &'static str,
    [limit, rate]: [Vec<(ArmMeasure, f64)>; 2],
    cause: Option<Cause>,
) -> ArmSpec {
    ArmSpec { name, change, probes: vec![(0, limit, cause), (1, rate, None)] }
}

/// The article's four hypotheses, and one that could not be measured.
fn homelab() -> ExperimentBuilder {
    let arms = vec![
        arm("baseline", "", figures(212.0, 0.0142, 412.0, 231.0), Some(Cause::Workers)),
        arm(
            "400 threads",
            "TOMCAT_THREADS 200 → 400",
            figures(214.0, 0.0144, 433.0, 431.0),
            Some(Cause::Pool),
        ),
        arm(
            "virtual threads",
            "VIRTUAL_THREADS false → true",
            figures(263.0, 0.0121, 405.0, 43.0),
            Some(Cause::Pool),
        ),
        arm(
            "pool of 50",
            "POOL_SIZE 10 → 50",
            figures(171.0, 0.0188, 423.0, 231.0),
            Some(Cause::PostgresLock),
        ),
        arm("12 cores", "cpus 2 → 12", figures(511.0, 0.0093, 418.0, 243.0), Some(Cause::PostgresWal)),
        arm("native image", "command", figures(205.0, 0.0139, 96.0, 231.0), Some(Cause::Workers)),
    ];
    let all = [0, 1, 2, 3, 4, 5];
    let probes =
        vec![probe("writes", LoadLevel::Limit, &all), probe("writes", LoadLevel::Share(Share(0.5)), &all)];
    let against = |arm| [(arm, 1.0), (0, -1.0)];
    ExperimentBuilder::of(
        arms,
        probes,
        vec![
            asks("more Tomcat threads", &against(1), 0, ArmMeasure::Capacity),
            asks("virtual threads", &against(2), 0, ArmMeasure::Capacity),
            asks("virtual threads answer faster where there is room", &against(2), 1, ArmMeasure::P99),
            asks("a pool of 50", &against(3), 0, ArmMeasure::Capacity),
            asks("12 cores", &against(4), 0, ArmMeasure::Capacity),
            asks("native image", &against(5), 0, ArmMeasure::Capacity),
        ],
    )
}

fn answers() -> ExperimentState {
    let expected = |result: record::HypothesisResult, answer, held| {
        result.expected(Some(answer), Some(held), "the baseline waits for workers")
    };
    ExperimentState {
        blocks: 4,
        judged: vec![
            expected(
                judged(
                    Some(0),
                    "more Tomcat threads",
                    HypothesisAnswer::NoDifference,
                    Some((1.01, 0.97, 1.05)),
                ),
                HypothesisAnswer::NoDifference,
                true,
            )
            .says("With 400 threads a pool of 10 connections gives first: its capacity is the same."),
            judged(Some(1), "virtual threads", HypothesisAnswer::Better, Some((1.24, 1.15, 1.34)))
                .expected(
                    Some(HypothesisAnswer::NoDifference),
                    Some(false),
                    "behind the workers the pool of 10 connections would give at 215/s",
                )
                .says("The workers no longer wait, the pool of connections does."),
            judged(
                Some(2),
                "virtual threads answer faster where there is room",
                HypothesisAnswer::Undecided,
                Some((0.86, 0.72, 1.03)),
            )
            .expected(None, None, "the baseline is well at that rate"),
            judged(Some(3), "a pool of 50", HypothesisAnswer::Worse, Some((0.81, 0.76, 0.86)))
                .expected(
                    Some(HypothesisAnswer::NoDifference),
                    Some(false),
                    "the baseline does not wait for the pool",
                )
                .says("PostgreSQL's sessions wait for each other's locks."),
            judged(Some(4), "12 cores", HypothesisAnswer::Better, Some((2.41, 2.18, 2.67)))
                .expected(Some(HypothesisAnswer::Better), Some(true), "the workers are busy, not waiting")
                .says("PostgreSQL's write-ahead log gives first instead of the workers.")
                .doubt("first-above", "the generator used 71 % of its processor at this arm's limit"),
            judged(Some(5), "native image", HypothesisAnswer::NotMeasured, None)
                .says("None of its starts became ready within 60 s: it was left out after block 1."),
            judged(None, "placebo: capacity", HypothesisAnswer::NoDifference, Some((1.0, 0.97, 1.03))),
            judged(None, "placebo: p99", HypothesisAnswer::Undecided, Some((1.04, 0.91, 1.18))),
        ],
        noise: vec![noise(0, ArmMeasure::Capacity, 0.021, 1.042), noise(1, ArmMeasure::P99, 0.094, 1.21)],
        caveats: vec![Caveat::new(
            CaveatKind::Drift,
            "the baseline's capacity fell by 3.1 % from the first block to the last: other work on the machine",
        )],
        over: None,
    }
}

const NEVER_READY: &str = "not ready within 60 s; its log ends in: Killed";

/// Up to the third block.
fn course() -> ExperimentBuilder {
    let mut pilot = answers();
    pilot.judged.clear();
    pilot.blocks = 0;
    let mut early = answers();
    early.blocks = 1;
    early.judged.iter_mut().for_each(|result| result.answer = HypothesisAnswer::Undecided);
    early.judged[5] = answers().judged[5].clone();
    homelab().pilot().stands(&pilot).block(1, &[(5, NEVER_READY)]).stands(&early)
}

fn whole() -> ExperimentBuilder {
    (2..=4).fold(course(), |course, block| course.block(block, &[(5, NEVER_READY)]))
}

#[test]
fn an_experiment_of_all_answers() {
    let course = whole().stands(&answers()).logged("service", "started\nready\n", 4096);
    let run = course.over(answers(), ExperimentEnd::BlocksMade, 0);
    let view = RunView::from_events(&run.events);
    check_summary("try", &view);
    check("try-logs.txt", &text(&log_lines(&view)));
    check("try-no-logs.txt", &text(&log_lines(&RunView::default())));
    check("try.json", &format!("{:#}\n", run_json(&view)["experiment"]));

    check("progress-try.txt", &text(&run.progress()));
}

#[test]
fn an_experiment_that_goes_on_or_was_cut_short() {
    let course = course().visit(2, 0, false, None).begins(2, 2, false);
    let mut view = RunView::from_events(&course.run.events);
    check_summary("try-cut-short", &view);
    view.running = true;
    check_summary("try-running", &view);
    let live = [
        vec![current_start_line(&view)],
        hypothesis_lines(&view, WIDTH),
        hypothesis_lines(&view, 80),
        arm_lines(&view),
    ]
    .concat();
    assert!(live.iter().all(|line| line.width() <= WIDTH + 20), "{}", text(&live));
    check("try-live.txt", &text(&live));

    let early = homelab().begins(0, 0, false);
    check_summary("try-cut-at-once", &RunView::from_events(&early.run.events));
    let stopped = whole().over(answers(), ExperimentEnd::Interrupted, 130);
    assert!(
        text(&summary(&RunView::from_events(&stopped.events)))
            .contains("torment try --resume 20261120-161502-k3f")
    );
}

/// Two factors at two levels: main effects and the interaction.
#[test]
fn a_factorial_experiment() {
    let both = |name, change, capacity, cause| {
        arm(name, change, figures(capacity, 0.0142, 412.0, 231.0), Some(cause))
    };
    let arms = vec![
        both("baseline", "", 212.0, Cause::Workers),
        both("threads=400", "TOMCAT_THREADS 200 → 400", 213.0, Cause::Pool),
        both("pool=50", "POOL_SIZE 10 → 50", 214.0, Cause::Workers),
        both("threads=400 + pool=50", "TOMCAT_THREADS 200 → 400, POOL_SIZE 10 → 50", 388.0, Cause::Cpu),
    ];
    let all = [0, 1, 2, 3];
    let half = |plus: [usize; 2], minus: [usize; 2]| {
        let side = |arms: [usize; 2], weight: f64| arms.map(|arm| (arm, weight));
        [side(plus, 0.5), side(minus, -0.5)].concat()
    };
    let hypotheses = vec![
        asks("threads=400", &half([1, 3], [0, 2]), 0, ArmMeasure::Capacity),
        asks("pool=50", &half([2, 3], [0, 1]), 0, ArmMeasure::Capacity),
        asks("threads=400 with pool=50", &half([0, 3], [1, 2]), 0, ArmMeasure::Capacity),
    ];
    let mut state = ExperimentState {
        blocks: 4,
        judged: vec![
            judged(Some(0), "threads=400", HypothesisAnswer::Better, Some((1.35, 1.28, 1.42))),
            judged(Some(1), "pool=50", HypothesisAnswer::Better, Some((1.36, 1.29, 1.43))),
            judged(Some(2), "threads=400 with pool=50", HypothesisAnswer::Better, Some((1.34, 1.27, 1.41)))
                .says("Each of the two does nothing by itself: the other gives first."),
            judged(None, "placebo", HypothesisAnswer::NoDifference, Some((0.99, 0.95, 1.03))),
        ],
        noise: vec![noise(0, ArmMeasure::Capacity, 0.021, 1.042)],
        ..ExperimentState::default()
    };
    let once = Caveat::new(
        CaveatKind::Other("one-machine".to_owned()),
        "target and generator share 2 processors, so each slows the other",
    );
    state.judged.iter_mut().for_each(|result| result.caveats.push(once.clone()));
    let probes = vec![probe("all", LoadLevel::Limit, &all), probe("all", LoadLevel::Rate(Rate(100.0)), &all)];
    let mut course = ExperimentBuilder::of(arms, probes, hypotheses).pilot();
    for block in 1..=4 {
        course = course.block(block, &[]);
    }
    let run = course.over(state, ExperimentEnd::Decided, 0);
    check_summary("try-factorial", &RunView::from_events(&run.events));
}

/// Threads against fibers: closed loops of many connections.
#[test]
fn a_table_by_connections() {
    let counts = [1_000, 5_000, 10_000, 20_000, 40_000];
    let measurement = |answers: [f64; 5], base: f64, each: f64, threads: fn(f64) -> f64, cause| {
        let at = |(place, answers): (usize, f64)| {
            let connections = f64::from(counts[place]);
            let memory = base * 1_048_576.0 + each * 1024.0 * connections;
            let figures = vec![
                (ArmMeasure::Throughput, answers),
                (ArmMeasure::Memory, memory),
                (ArmMeasure::Threads, threads(connections)),
            ];
            (place, figures, (place == 4).then_some(cause))
        };
        answers.into_iter().enumerate().map(at).collect::<Vec<_>>()
    };
    let arms = vec![
        ArmSpec {
            name: "pool of 200",
            change: "",
            probes: measurement(
                [1990.0, 1994.0, 1989.0, 1971.0, 1930.0],
                61.0,
                9.4,
                |_| 204.0,
                Cause::Workers,
            ),
        },
        ArmSpec {
            name: "thread per connection",
            change: "MODE pool → threads",
            probes: measurement(
                [8900.0, 9600.0, 7500.0, 5300.0, 4600.0],
                61.0,
                42.0,
                |c| c + 4.0,
                Cause::TaskLimit,
            ),
        },
        ArmSpec {
            name: "async",
            change: "MODE pool → async",
            probes: measurement(
                [9800.0, 16_900.0, 17_200.0, 17_000.0, 21_600.0],
                58.0,
                4.1,
                |_| 6.0,
                Cause::Cpu,
            ),
        },
    ];
    let probes = counts.map(|count| probe("json", LoadLevel::Connections(count), &[0, 1, 2])).to_vec();
    let hypotheses = vec![
        asks("a thread for each connection", &[(1, 1.0), (0, -1.0)], 3, ArmMeasure::Throughput),
        asks("async takes less memory", &[(2, 1.0), (1, -1.0)], 3, ArmMeasure::Memory),
    ];
    let state = ExperimentState {
        blocks: 2,
        judged: vec![
            judged(
                Some(0),
                "a thread for each connection",
                HypothesisAnswer::Better,
                Some((2.69, 2.41, 3.01)),
            ),
            judged(Some(1), "async takes less memory", HypothesisAnswer::Better, Some((0.16, 0.15, 0.17))),
            judged(None, "placebo: throughput", HypothesisAnswer::Better, Some((1.21, 1.12, 1.31))),
        ],
        noise: vec![noise(3, ArmMeasure::Throughput, 0.031, 1.09), noise(3, ArmMeasure::Memory, 0.008, 1.02)],
        ..ExperimentState::default()
    };
    let course = ExperimentBuilder::of(arms, probes, hypotheses)
        .block(1, &[])
        .block(2, &[(1, "the port was taken by nginx 812")]);
    let run = course.over(state, ExperimentEnd::BudgetSpent, 91);
    check_summary("try-connections", &RunView::from_events(&run.events));
}
