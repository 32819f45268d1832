//! `torment try`.

use super::plan;
use crate::*;
use units::{Nanos, Rate, Share};

const BASE: &str = "target.url = 'http://127.0.0.1:8080/'\nrequest = [{ name = 'reads' }, { name = 'writes', method = 'POST' }]\n\
                    postgres.port = 5555\nservice = { command = 'app', env = { THREADS = '200', POOL = '10' } }\n";
const THREADS: &str =
    "[[variant]]\nname = '400 threads'\nfactor = 'threads'\nrelieves = ['workers']\nenv.THREADS = 400\n";
const POOL: &str =
    "[[variant]]\nname = 'pool of 20'\nfactor = 'pool'\nenv.POOL = 20\nsettings.max_connections = 200\n";

fn tried(text: &str) -> ExperimentPlan {
    match plan(PlanCommand::Try, &format!("{BASE}{text}")).unwrap_or_else(|e| panic!("{text}\n{e}")).task {
        Task::Try(experiment) => *experiment,
        other => panic!("{other:?}"),
    }
}

/// `workload load: arms`.
fn probes(experiment: &ExperimentPlan) -> Vec<String> {
    let text = |probe: &Measurement| {
        format!("{} {}: {:?}", experiment.workloads[probe.workload].name, probe.at, probe.arms)
    };
    experiment.probes.iter().map(text).collect()
}

#[test]
fn one_variant_and_one_question() {
    let found = tried(&format!("{THREADS}[[hypothesis]]\nvariant = '400 threads'"));
    let names: Vec<&str> = found.arms.iter().map(|arm| arm.name.as_str()).collect();
    assert_eq!(names, ["baseline", "400 threads"]);
    let env = |arm: &Arm| arm.setup.service.as_ref().map(|service| service.env[0].1.to_string());
    assert_eq!((env(&found.arms[0]), env(&found.arms[1])), (Some("200".into()), Some("400".into())));
    assert_eq!(probes(&found), ["all the capacity: [0, 1]", "all 50 % of the capacity: [0]"]);
    let expected = Hypothesis {
        name: "400 threads changes capacity".to_owned(),
        contrast: vec![(1, 1.0), (0, -1.0)],
        probe: 0,
        measure: ArmMeasure::Capacity,
        effect: Share(0.1),
        relieves: vec!["workers".to_owned()],
    };
    assert_eq!(found.hypotheses, [expected]);
    assert_eq!((found.pilot, found.least, found.most, found.budget), (3, 4, 10, None));
    assert_eq!((found.confidence, found.warm), (Share(0.95), Nanos::from_secs(20)));
    assert_eq!((found.hold, found.find), (Nanos::from_secs(10), SearchPlan::default()));
}

#[test]
fn measures_at_loads_of_workloads() {
    let found = tried(&format!(
        "{THREADS}{POOL}[[hypothesis]]\nvariant = '400 threads'\nmeasure = 'p99'\non = 'writes'\n\
         [[hypothesis]]\nname = 'better'\nvariant = 'pool of 20'\nbaseline = '400 threads'\nmeasure = 'cpu'\nat = '200/s'\n\
         effect = '5%'\n[[hypothesis]]\nvariant = 'pool of 20'\nmeasure = 'throughput'\nat = '1000 connections'\non = 'reads'\n\
         [try]\nworkloads = ['reads', 'writes']\nat = ['70%']"
    ));
    assert_eq!(
        probes(&found),
        [
            "reads the capacity: [0]",
            "reads 70 % of the capacity: [0, 1, 2]",
            "reads 200/s: [1, 2]",
            "reads 1,000 connections: [0, 2]",
            "writes the capacity: [0]",
            "writes 70 % of the capacity: [0, 1, 2]",
            "writes 200/s: [1, 2]",
        ]
    );
    let asked: Vec<(&str, usize)> =
        found.hypotheses.iter().map(|one| (one.name.as_str(), one.probe)).collect();
    assert_eq!(
        asked,
        [
            ("400 threads changes p99", 5),
            ("better on reads", 2),
            ("better on writes", 6),
            ("pool of 20 changes throughput", 3)
        ]
    );
    assert_eq!(found.hypotheses[1].contrast, [(2, 1.0), (1, -1.0)]);
    assert_eq!(found.hypotheses[1].effect, Share(0.05));
    assert_eq!(found.workloads[1], Workload { name: "writes".to_owned(), flows: vec![1] });
}

#[test]
fn crossed_factors() {
    let third = "[[variant]]\nname = '800 threads'\nfactor = 'threads'\nenv.THREADS = 800\n";
    let found = tried(&format!("{THREADS}{third}{POOL}[try]\ncross = ['threads', 'pool']\neffect = '20%'"));
    let names: Vec<&str> = found.arms.iter().map(|arm| arm.name.as_str()).collect();
    let combined = ["400 threads + pool of 20", "800 threads + pool of 20"];
    assert_eq!(names, ["baseline", "400 threads", "800 threads", "pool of 20", combined[0], combined[1]]);
    let service = found.arms[5].setup.service.as_ref().expect("a service");
    let env: Vec<String> = service.env.iter().map(|(name, value)| format!("{name}={value}")).collect();
    assert_eq!(env, ["THREADS=800", "POOL=20"]);
    assert_eq!(found.arms[5].setup.postgres().expect("a database").settings.len(), 1);
    assert_eq!(probes(&found)[0], "all the capacity: [0, 1, 2, 3, 4, 5]");
    let third = 1.0 / 3.0;
    let half =
        |arms: [usize; 4]| [0.5, 0.5, -0.5, -0.5].into_iter().zip(arms).map(|(w, arm)| (arm, w)).collect();
    for (name, contrast) in [
        ("400 threads changes capacity", half([1, 4, 0, 3])),
        ("800 threads changes capacity", half([2, 5, 0, 3])),
        (
            "pool of 20 changes capacity",
            vec![(3, third), (4, third), (5, third), (0, -third), (1, -third), (2, -third)],
        ),
        (
            "400 threads changes what pool of 20 does to capacity",
            vec![(4, 1.0), (0, 1.0), (1, -1.0), (3, -1.0)],
        ),
        (
            "800 threads changes what pool of 20 does to capacity",
            vec![(5, 1.0), (0, 1.0), (2, -1.0), (3, -1.0)],
        ),
    ] {
        let one = found.hypotheses.iter().find(|one| one.name == name).expect(name);
        let sorted = |contrast: &[(usize, f64)]| {
            let mut contrast = contrast.to_vec();
            contrast.sort_by_key(|(arm, _)| *arm);
            contrast
        };
        assert_eq!(sorted(&one.contrast), sorted(&contrast), "{name}");
        assert_eq!(one.effect, Share(0.2));
    }
    assert_eq!(found.hypotheses.len(), 5);
}

#[test]
fn a_table_without_a_question() {
    let found = tried(&format!(
        "{THREADS}[try]\nconnections = [1000, 5_000]\nat = ['50%', 300]\ncapacity = true\npilot = 1\nleast = 2\nmost = 2\n\
         budget = '2h'\nconfidence = '90%'\nwarm = '0s'\nhold = '5s'\n[find]\ntrial = '2s'"
    ));
    assert!(found.hypotheses.is_empty());
    assert_eq!(
        probes(&found),
        [
            "all the capacity: [0, 1]",
            "all 50 % of the capacity: [0, 1]",
            "all 300/s: [0, 1]",
            "all 1,000 connections: [0, 1]",
            "all 5,000 connections: [0, 1]",
        ]
    );
    assert_eq!((found.warm, found.budget), (Nanos::ZERO, Some(Nanos::from_secs(7200))));
    assert_eq!((found.pilot, found.least, found.most), (1, 2, 2));
    assert_eq!(found.find.trial, Nanos::from_secs(2));
}

#[test]
fn a_quick_look_replaces_what_it_says() {
    let text = format!(
        "{BASE}{THREADS}[try]\nmost = 20\nconnections = [10]\nworkloads = ['reads']\n[find]\ntrial = '5s'\nwidth = '1%'\n\
         [quick]\nmost = 3\ntrial = '1s'\nconnections = []\ncapacity = true\nbudget = '5m'"
    );
    let check = |draft: Draft| match draft.check(PlanCommand::Try, &mut super::read).expect("valid").task {
        Task::Try(experiment) => experiment,
        other => panic!("{other:?}"),
    };
    let draft = || Draft::from_toml("p", &text).expect("valid");
    let full = check(draft());
    assert_eq!(
        (full.most, full.find.trial, &full.said.connections[..]),
        (20, Nanos::from_secs(5), &[10][..])
    );
    let mut quick = draft();
    quick.apply_quick().expect("there is one");
    let quick = check(quick);
    assert_eq!((quick.most, quick.least, quick.find.trial), (3, 3, Nanos::from_secs(1)));
    assert_eq!((quick.find.width, quick.find.budget), (Share(0.01), None));
    assert_eq!(quick.budget, Some(Nanos::from_secs(300)));
    assert_eq!(probes(&quick), ["reads the capacity: [0, 1]", "reads 50 % of the capacity: [0]"]);
    // The command line wins over both.
    let mut overrides = Draft::default();
    overrides.set(Key::TryBudget, "--budget", "1h");
    overrides.set(Key::Trial, "--trial", "3s");
    let mut both = draft().overlaid_by(overrides);
    both.apply_quick().expect("there is one");
    let both = check(both);
    assert_eq!(
        (both.budget, both.find.trial, both.most),
        (Some(Nanos::from_secs(3600)), Nanos::from_secs(3), 3)
    );
    let error =
        Draft::from_toml("p", BASE).expect("valid").apply_quick().expect_err("there is none").to_string();
    assert!(error.starts_with("this plan has no [quick]: expected that section"), "{error}");
}

#[test]
fn what_was_not_named_is_not_named_when_printed() {
    let text = format!(
        "{BASE}{THREADS}[[hypothesis]]\nvariant = '400 threads'\nmeasure = 'throughput'\nat = '32 connections'\n\
         [try]\nconnections = [32]"
    );
    let whole = plan(PlanCommand::Try, &text).expect("valid");
    let back = Plan::from_toml(&whole.to_toml(), PlanCommand::Try).expect("a plan");
    let (Task::Try(one), Task::Try(other)) = (&whole.task, &back.task) else { panic!("{:?}", back.task) };
    assert_eq!(probes(one), ["all 32 connections: [0, 1]"]);
    assert_eq!(probes(other), probes(one), "{}", whole.to_toml());
}

#[test]
fn a_part_is_a_plan() {
    let text = format!("{BASE}{THREADS}[try]\nworkloads = ['writes']\ncapacity = true");
    let whole = plan(PlanCommand::Try, &text).expect("valid");
    let Task::Try(experiment) = &whole.task else { panic!("{:?}", whole.task) };
    let load = Load::Closed { connections: 40, requests: None, duration: Some(Nanos::from_secs(5)) };
    let part = whole.for_workload(&experiment.workloads[0], Task::Run(load));
    assert_eq!((part.flows.len(), part.flows[0].name.as_str(), &part.setup), (1, "writes", &None));
    assert_eq!(Plan::from_toml(&part.to_toml(), PlanCommand::Run).expect("a plan"), part);
    let text = "target.url = 'postgres://postgres@h:5555/torment'\nrequest.sql = 'select 1'\npostgres.port = 5555\n\
                variant = [{ name = 'v', settings = { a = 1 } }]\ntry.connections = [100]";
    let whole = plan(PlanCommand::Try, text).expect("valid");
    let Task::Try(experiment) = &whole.task else { panic!("{:?}", whole.task) };
    let load = Load::Closed { connections: 100, requests: Some(5), duration: None };
    assert_eq!(whole.for_workload(&experiment.workloads[0], Task::Run(load)).generator.connections, 100);
}

#[test]
fn other_commands_start_the_plan_as_it_stands() {
    let text = format!("{BASE}{THREADS}[[hypothesis]]\nvariant = '400 threads'\n[load]\nrate = 5");
    for command in [PlanCommand::Run, PlanCommand::Find] {
        let found = plan(command, &text).expect("valid");
        assert_eq!(found.command(), command);
        assert!(found.setup.is_some_and(|setup| setup.service.is_some()));
        let error = plan(command, &text.replace("= '400 threads'\n[load]", "= '40 threads'\n[load]"));
        assert!(error.expect_err("no such variant").to_string().contains("'40 threads' is not a variant"));
    }
    assert_eq!(PlanCommand::Try.name(), "try");
}

#[test]
fn describes_an_experiment_to_people() {
    let text = format!(
        "{BASE}{THREADS}{POOL}[[hypothesis]]\nvariant = '400 threads'\nmeasure = 'p99'\n[[hypothesis]]\nvariant = 'pool of 20'\n\
         [try]\nbudget = '2h'"
    );
    let text =
        text.replace("command = 'app',", "command = 'java -jar app.jar', cpus = 1.5, memory = '2GiB',");
    let lines = plan(PlanCommand::Try, &text).expect("valid").describe().join("\n");
    for expected in [
        "\nneeds    a PostgreSQL of its own at port 5555\nservice  java -jar app.jar · 1.5 processors, 2 GiB\n",
        "\narms     baseline\n         400 threads\n         pool of 20\n",
        "\nasks     400 threads changes p99 at 50 % of the capacity, by 10 % at least\n         pool of 20 changes \
         capacity, by 10 % at least\n",
        "\nblocks   3 starts of the baseline, then 4 to 10 blocks of one start of each arm, done after 2 h at the latest; \
         verdicts hold together with 95 % confidence\nsearch   from 10/s",
    ] {
        assert!(lines.contains(expected), "{expected}\nfound:\n{lines}");
    }
    assert!(lines.contains("\nload     held for "), "{lines}");

    let text = format!(
        "{BASE}{THREADS}[try]\nmeasure = 'throughput'\nconnections = [100]\nwarm = '30s'\nhold = '8s'"
    );
    let lines = plan(PlanCommand::Try, &text).expect("valid").describe().join("\n");
    assert!(lines.contains("\nload     held for 8 s, after 30 s that do not count\n"), "{lines}");
    assert!(!lines.contains("\nsearch "), "nothing is searched: {lines}");
}

#[test]
fn rates_are_numbers() {
    let found = tried(&format!("{THREADS}[try]\nat = [0.5, '1.5k/s']"));
    assert_eq!(found.said.at, [LoadLevel::Rate(Rate(0.5)), LoadLevel::Rate(Rate(1500.0))]);
}

#[test]
fn a_message_says_where_what_and_what_else() {
    const ASKED: &str = "[[hypothesis]]\nvariant = '400 threads'\n";
    let both = format!("{THREADS}{POOL}");
    let asked = |text: &str| format!("{THREADS}[[hypothesis]]\n{text}");
    let tried = |text: &str| format!("{THREADS}{ASKED}[try]\n{text}");
    let mut wrong = Vec::new();
    for (text, expected) in [
        (
            String::new(),
            "nothing to try: expected at least one [[variant]], which changes the service, and a",
        ),
        ("[try]\npilot = 3".to_owned(), "5:2: nothing to try: expected at least one [[variant]]"),
        (
            THREADS.to_owned(),
            "6:8: '400 threads' is never tested: expected a [[hypothesis]] with this variant, its factor \
             in [try] cross, or [try] connections, at or capacity\n",
        ),
        (format!("{both}{ASKED}"), "'pool of 20' is never tested"),
        ("[[variant]]\nenv.A = 1".to_owned(), "5:1: a variant without a name; expected name ="),
        ("[[variant]]\nname = ''\nenv.A = 1".to_owned(), "6:8: expected a name for reports"),
        (
            "[[variant]]\nname = 'baseline'\nenv.A = 1".to_owned(),
            "6:8: the plan as it stands is the baseline",
        ),
        (
            "[[variant]]\nname = 'same'\nenv.THREADS = 200".to_owned(),
            "plans/p.toml:6:8: 'same' changes nothing: it resolves to the command, environment and limits of the plan as it \
             stands\n 6 | name = 'same'\n   |        ^^^^^^",
        ),
        ("[[variant]]\nname = 'none'".to_owned(), "6:8: 'none' changes nothing"),
        ("[[variant]]\nname = 'none'\ncommand = ['app']".to_owned(), "6:8: 'none' changes nothing"),
        (
            format!("{THREADS}{}", THREADS.replace("400 threads", "the same")),
            "11:8: 'the same' is the same as '400 threads': it resolves to the command, environment and limits of that one",
        ),
        (format!("{THREADS}{THREADS}"), "11:8: '400 threads' is already used as a name"),
        ("[[variant]]\nname = 'x'\ncommand = ['']".to_owned(), "7:12: no command; expected the program"),
        ("[[variant]]\nname = 'x'\nfactor = ''".to_owned(), "7:10: expected the name of a factor"),
        ("[[variant]]\nname = 'x'\ncpus = -1".to_owned(), "7:8: '-1' is not a number of processors"),
        (
            "[[variant]]\nname = 'x'\nport = 1".to_owned(),
            "7:1: unknown key 'port' in [[variant]]; it belongs in [postgres]",
        ),
        ("[[variant]]\nname = 'x'\nrelives = 'a'".to_owned(), "did you mean 'relieves'?"),
        ("variant = 5".to_owned(), "'variant' is a number; expected a section [[variant]]"),
        (asked("measure = 'p99'"), "10:1: about which variant? Expected variant ="),
        (
            asked("variant = '400 thread'"),
            "11:11: '400 thread' is not a variant; did you mean '400 threads'?",
        ),
        (asked("variant = 'pool'"), "11:11: 'pool' is not a variant; expected one of: baseline, 400 threads"),
        (asked("variant = 'baseline'"), "11:11: 'baseline' is compared with itself"),
        (
            asked("variant = '400 threads'\nbaseline = '400 threads'"),
            "12:12: '400 threads' is compared with itself",
        ),
        (
            asked("variant = '400 threads'\nmeasure = 'p95'"),
            "12:11: 'p95' is not known here; did you mean 'p9",
        ),
        (
            asked("variant = '400 threads'\nmeasure = 'speed'"),
            "expected one of: capacity, throughput, p50, p99, max, cpu, memory, threads",
        ),
        (
            asked("variant = '400 threads'\nat = '50%'"),
            "12:6: the capacity is searched for, not measured at a load: leave this out, or name a measure",
        ),
        (
            asked("variant = '400 threads'\nmeasure = 'p99'\nat = 'much'"),
            "13:6: 'much' is not a load such as 50% (of the capacity), 200/s or 1000 connections",
        ),
        (asked("variant = '400 threads'\nmeasure = 'p99'\nat = '150%'"), "13:6: '150%' is not a load"),
        (
            asked("variant = '400 threads'\nmeasure = 'p99'\nat = '0 connections'"),
            "'0' is not a number of connections",
        ),
        (
            asked("variant = '400 threads'\nmeasure = 'p99'\nat = [1, 2]"),
            "13:10: a hypothesis is about one load",
        ),
        (
            asked("variant = '400 threads'\neffect = 0"),
            "12:10: no experiment can show that nothing at all has changed",
        ),
        (asked("variant = '400 threads'\neffect = '200%'"), "12:10: '200%' is not a share"),
        (
            asked("variant = '400 threads'\non = 'reads'"),
            "12:6: 'reads' is not a workload; expected one of: all (they are listed in [try] workloads)",
        ),
        (
            asked("variant = '400 threads'\nname = 'a'\n[[hypothesis]]\nvariant = '400 threads'\nname = 'a'"),
            "15:8: 'a' is already used as a name",
        ),
        (
            tried("workloads = ['raeds']"),
            "13:14: 'raeds' is the name of no request or flow; did you mean 'reads'?",
        ),
        (tried("workloads = ['x']"), "expected one of: reads, writes, all"),
        (tried("workloads = ['reads', 'reads']"), "13:23: 'reads' is listed twice"),
        (
            tried("cross = ['thread']"),
            "13:10: no variant is a level of the factor 'thread'; did you mean 'threads'?",
        ),
        (tried("cross = ['threads', 'threads']"), "13:21: 'threads' is listed twice"),
        (tried("measure = 'p98'"), "13:11: 'p98' is not known here; did you mean 'p99'?"),
        (tried("search = 0"), "13:10: '0' is too short; expected a time above 0"),
        (tried("at = ['100 connections']"), "13:7: connections go in [try] connections = [1000]"),
        (tried("at = ['50%', 0.5, '50 %']"), "13:19: this load is listed twice"),
        (tried("connections = [0]"), "13:16: '0' is not a number of connections"),
        (tried("least = 1"), "13:9: one block shows no noise: expected at least 2"),
        (tried("least = 5\nmost = 3"), "14:8: at least 5 blocks and at most 3: least is above most"),
        (tried("pilot = 0"), "13:9: '0' is not a number of starts, a whole number from 1"),
        (tried("most = 5000"), "13:8: '5000' is too large; expected at most 1000"),
        (tried("confidence = '100%'"), "13:14: 100 % is not a confidence such as 95%"),
        (tried("budget = '0s'"), "13:10: '0s' is too short; expected a time above 0"),
        (tried("hold = 5"), "13:8: '5' is not a duration"),
        (tried("capacity = 'yes'"), "13:12: 'capacity' is text; expected true or false"),
        (
            tried("blocks = 5"),
            "13:1: unknown key 'blocks' in [try]; expected one of: workloads, cross, measure",
        ),
        (tried("width = '1%'"), "13:1: unknown key 'width' in [try]; it belongs in [find]"),
        (tried("[find]\nwidth = 0"), "14:9: 0 % is not above 0 %"),
        (tried("[quick]\nrate = 5"), "14:1: unknown key 'rate' in [quick]; it belongs in [load]"),
    ] {
        let error = plan(PlanCommand::Try, &format!("{BASE}{text}")).expect_err(&text).to_string();
        if !error.contains(expected) || error.lines().count() > 3 {
            wrong.push(format!("{text}\nexpected: {expected}\nfound: {error}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn only_what_is_started_can_be_changed() {
    let alone = "target.url = 'http://h/'\n";
    for (text, expected) in [
        (
            format!("{THREADS}[[hypothesis]]\nvariant = 'x'"),
            "7:1: an experiment restarts the service for each",
        ),
        (THREADS.to_owned(), "2:1: an experiment restarts the service for each"),
        (format!("postgres.port = 5\n{THREADS}"), "7:5: the plan starts no [service] that this could change"),
        (
            format!("service.command = 'x'\n{POOL}"),
            "7:10: the plan starts no [postgres] that this could change",
        ),
    ] {
        let error = plan(PlanCommand::Try, &format!("{alone}{text}")).expect_err(&text).to_string();
        assert!(error.contains(expected), "{text}\nexpected: {expected}\nfound: {error}");
    }
}

#[test]
fn combinations_are_arms_of_their_own() {
    let again = THREADS.replace("400", "800").replace("factor = 'threads'", "factor = 'more'");
    let text = format!("{BASE}{THREADS}{again}[try]\ncross = ['threads', 'more']");
    let error = plan(PlanCommand::Try, &text).expect_err("one hides the other").to_string();
    assert!(error.contains("'400 threads + 800 threads' is the same as '800 threads'"), "{error}");
    let many = |factor: &str| {
        let level =
            |n: u32| format!("[[variant]]\nname = '{factor}{n}'\nfactor = '{factor}'\nenv.{factor} = {n}\n");
        (0..8).map(level).collect::<String>()
    };
    let text = format!("{BASE}{}{}[try]\ncross = ['A', 'B']", many("A"), many("B"));
    let error = plan(PlanCommand::Try, &text).expect_err("too many").to_string();
    assert!(
        error.contains("81 combinations, each of which is started many times; expected at most 64"),
        "{error}"
    );
    // They can be asked about like any other.
    let text = format!(
        "{THREADS}{POOL}[[hypothesis]]\nvariant = '400 threads + pool of 20'\nbaseline = 'pool of 20'\n[try]\n\
         cross = ['threads', 'pool']"
    );
    assert_eq!(tried(&text).hypotheses[0].contrast, [(3, 1.0), (2, -1.0)]);
    assert_eq!(tried(&text).hypotheses[0].relieves, ["workers"]);
}
