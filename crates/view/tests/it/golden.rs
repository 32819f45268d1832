//! A run's output, word for word. `BLESS=1 cargo test -p torment-view` rewrites the golden files; read the diff before keeping it.

use crate::synthetic;
use crate::synthetic::{LoadBuilder, RunBuilder, check, curve, limit, load, pair};
use record::watch::{MissingMeasure, WatchCoverage};
use record::{
    ArmAnswer, Cause, CostRange, Diagnosis, Event, Failure, GeneratorCapacity, HypothesisAnswer, NoFinding,
    Outcome, Purpose, Recovery, SearchEnd, Verdict,
};
use store::{AnswerCounts, FreezeSummary, LoadOutcome, PreviousLimit, RunState, RunSummary};
use torment_view::{
    RunView, Text, Tone, explain, list_json, list_lines, result_words, run_json, summary, verdict_change,
    who_waits,
};
use units::{Nanos, Rate};

fn check_summary(name: &str, run: &RunBuilder) {
    let lines: Vec<String> =
        summary(&RunView::from_events(&run.events)).iter().map(ToString::to_string).collect();
    check(&format!("{name}.txt"), &(lines.join("\n") + "\n"));
}

fn good(rate: f64) -> LoadBuilder {
    load(Purpose::Measure, rate, 10)
}

/// A search up to three clean trials at 1,984/s and a bad one above.
fn climbed() -> RunBuilder {
    RunBuilder::start("find")
        .trial(load(Purpose::Climb, 1000.0, 2))
        .bounds(pair(Some(1000.0), None))
        .trial(load(Purpose::WarmUp, 1000.0, 5))
        .trial(good(1984.0))
        .bounds(pair(Some(1984.0), None))
        .trial(good(1984.0))
        .trial(load(Purpose::Confirm, 1984.0, 10))
        .trial(good(2016.0).grows(16.0).bad(Outcome::Unfinished, 140))
        .bounds(pair(Some(1984.0), Some(2016.0)))
}

#[test]
fn find_converged() {
    let run = climbed().found(SearchEnd::Converged, pair(Some(1984.0), Some(2016.0)), curve(1984.0));
    check_summary("find-converged", &run);
    let limits = pair(Some(1984.0), Some(2016.0));
    let run = climbed().trial(good(1984.0).resent(4)).trial(good(1984.0).resent(3));
    check_summary("find-resent", &run.found(SearchEnd::Converged, limits, Vec::new()));
}

#[test]
fn find_of_a_target_that_sinks() {
    let did = |rate: f64| {
        let mut limits = pair(Some(1984.0), Some(2016.0));
        limits.iter_mut().for_each(|limit| limit.held = limit.lower);
        let mut run = climbed().found(SearchEnd::Converged, limits, Vec::new());
        if let Some(Event::RunEnded(end)) = run.events.last_mut()
            && let Some(Verdict::Limits { overloaded, .. }) = &mut end.verdict
        {
            *overloaded = Some(rate);
        }
        run
    };
    let run = did(1190.0);
    // "It does only about 23,000 requests/s, -6 % less" was said of one that held 21,720.
    let more = summary(&RunView::from_events(&did(2100.0).events));
    assert!(more.iter().all(|line| !line.to_string().contains("once a queue has formed")), "{more:#?}");
    check_summary("find-sinks", &run);
}

#[test]
fn find_with_hiccups_and_caveats() {
    let limits =
        vec![limit("strict", Some(1500.0), Some(1530.0)), limit("typical", Some(1984.0), Some(2016.0))];
    let run = climbed()
        .trial(good(1530.0).bad(Outcome::Timeout, 312))
        .trial(
            good(1530.0)
                .void("generator-late", "the generator was late by 4 ms at p99: give it an idle processor"),
        )
        .trial(load(Purpose::Curve, 374.6, 1))
        .doubt("one-machine", "target and generator share 2 processors, so each slows the other");
    // What was due in that second is a whole number: its trial is found nevertheless.
    let mut points = curve(1500.0);
    points[0].response_p99 = "40ms".parse().expect("a duration");
    check_summary("find-hiccups", &run.found(SearchEnd::Converged, limits, points));
}

#[test]
fn find_ends_of_every_kind() {
    let max = RunBuilder::start("find").trial(good(3000.0)).trial(good(3000.0)).trial(good(3000.0));
    check_summary("find-max", &max.found(SearchEnd::MaxReached, pair(Some(3000.0), None), curve(3000.0)));

    let below = RunBuilder::start("find").trial(load(Purpose::Climb, 10.0, 2).bad(Outcome::Late, 7));
    check_summary("find-below-min", &below.found(SearchEnd::BelowMin, pair(None, Some(10.0)), Vec::new()));

    let budget = climbed().found(SearchEnd::BudgetSpent, pair(Some(1500.0), Some(2016.0)), Vec::new());
    check_summary("find-budget", &budget);

    let late = "the generator was late by 4 ms at p99, more than a tenth of the deadline";
    let generator = climbed().trial(good(4000.0).void("generator-late", late));
    check_summary(
        "find-generator",
        &generator.found(SearchEnd::GeneratorLimit, pair(Some(1984.0), None), Vec::new()),
    );

    let us = |text: &str| text.parse().expect("a duration");
    let capacity = GeneratorCapacity {
        most: 94_310.0,
        user: us("2.1us"),
        kernel: us("6.3us"),
        worked: 0.97,
        waited: 0.02,
        connects: 0.001,
    };
    let ours = |capacity| {
        let run = climbed().trial(good(4000.0).void("generator-late", late));
        run.made(SearchEnd::GeneratorLimit, pair(Some(1984.0), None), Vec::new(), Some(capacity))
    };
    check_summary("find-generator-makes", &ours(capacity));
    let stolen =
        "the hypervisor gave 31 % of this machine's processor time to others; repeat at a quieter time";
    let starved = climbed().trial(good(4000.0).void("steal", stolen));
    check_summary(
        "find-generator-starved",
        &starved.found(SearchEnd::GeneratorLimit, pair(Some(1984.0), None), Vec::new()),
    );
    check_summary("find-generator-waits", &ours(GeneratorCapacity { waited: 0.3, worked: 0.7, ..capacity }));
    check_summary("find-generator-connects", &ours(GeneratorCapacity { connects: 1.0, ..capacity }));

    let drift = climbed().found(SearchEnd::NonStationary, pair(Some(1500.0), None), Vec::new());
    check_summary("find-non-stationary", &drift);

    let metastable = || {
        let mut overload = good(2200.0).bad(Outcome::Timeout, 9000);
        overload.recovery = Recovery::Not("30s".parse().expect("a duration"));
        climbed().trial(overload)
    };
    let down =
        |run: RunBuilder| run.found(SearchEnd::NotRecovered, pair(Some(1984.0), Some(2200.0)), Vec::new());
    check_summary("find-not-recovered", &down(metastable()));
    // RabbitMQ, out of descriptors: only its answers told.
    let fails = load(Purpose::Recovery, 20.0, 1).failed(Failure::Status(500), 20);
    check_summary("find-not-recovered-fails", &down(metastable().trial(fails)));

    let stopped = climbed().found(SearchEnd::Interrupted, pair(Some(1984.0), Some(2016.0)), Vec::new());
    check_summary("find-interrupted", &stopped);

    let nothing = RunBuilder::start("find").found(SearchEnd::Interrupted, pair(None, None), Vec::new());
    check_summary("find-interrupted-early", &nothing);

    let fails =
        RunBuilder::start("find").trial(load(Purpose::Climb, 50.0, 2).failed(Failure::Status(404), 100));
    check_summary("find-target-fails", &fails.found(SearchEnd::TargetFails, pair(None, None), Vec::new()));

    let silent = RunBuilder::start("find").trial(load(Purpose::Climb, 50.0, 2).bad(Outcome::Timeout, 100));
    check_summary("find-target-silent", &silent.found(SearchEnd::TargetFails, pair(None, None), Vec::new()));
}

#[test]
fn a_target_that_stood_still_is_told_of() {
    let beat = (1..6).fold(load(Purpose::Load, 1000.0, 60), |load, nth| load.still(10_000 * nth - 980, 980));
    let run = RunBuilder::start("run").trial(beat).judged(Some(true));
    check_summary("run-froze", &run);
    check(
        "run-froze.json",
        &(serde_json::to_string_pretty(&run_json(&RunView::from_events(&run.events))["freezes"])
            .expect("serialises")
            + "\n"),
    );
    let search = RunBuilder::start("find")
        .trial(good(2000.0).still(3_000, 200))
        .trial(good(2000.0).still(5_100, 1_700));
    let search = search.found(SearchEnd::MaxReached, pair(Some(2000.0), None), curve(2000.0));
    check_summary("find-froze", &search);
}

#[test]
fn a_limit_found_on_an_uneven_machine_says_so() {
    let says = |run: RunBuilder| {
        let run = run.found(SearchEnd::Noisy, pair(Some(1984.0), Some(2016.0)), Vec::new());
        let lines = summary(&RunView::from_events(&run.events));
        let line = lines.iter().map(ToString::to_string).find(|line| line.contains("its capacity varies"));
        line.expect("a noisy search says why its limit is not sharp")
    };
    let uneven =
        climbed().doubt("uneven-machine", "the machine itself did the same arithmetic at 90 % to 105 %");
    assert!(
        says(uneven).contains("its capacity varies, and so does the machine's own speed, so the limit is")
    );
    assert!(says(climbed()).contains("its capacity varies, so the limit is"));
}

#[test]
fn a_limit_that_does_not_last_says_so() {
    let run = climbed().doubt("slows-down", "the target did less from trial to trial");
    let run = run.found(SearchEnd::Noisy, pair(Some(1984.0), Some(2016.0)), Vec::new());
    let text: String =
        summary(&RunView::from_events(&run.events)).iter().map(|line| format!("{line}\n")).collect();
    assert!(
        text.contains(
            "it slowed down from trial to trial, so no limit holds for long: this one is known to ±1 %"
        ),
        "{text}"
    );
}

#[test]
fn find_sheds_load() {
    let run = climbed().trial(good(2100.0).grows(3.0).failed(Failure::Status(503), 900));
    let run = run.found(SearchEnd::Converged, pair(Some(1984.0), Some(2100.0)), Vec::new());
    check_summary("find-sheds", &run);
}

#[test]
fn find_cut_short_and_still_running() {
    let run = climbed().begin(&good(2000.0), 4);
    check_summary("find-cut-short", &run);
    let mut view = RunView::from_events(&run.events);
    view.running = true;
    view.skipped = 3;
    let text: Vec<String> = summary(&view).iter().map(|line| format!("{line}\n")).collect();
    check("find-running.txt", &text.concat());
}

#[test]
fn find_without_a_verdict() {
    let run = RunBuilder::start("find").end(
        None,
        1,
        Some("127.0.0.1:8080: connection refused; start the target first"),
    );
    check_summary("find-error", &run);
}

#[test]
fn run_of_every_kind() {
    let steady = || load(Purpose::Load, 1000.0, 30);
    check_summary("run-met", &RunBuilder::start("run").trial(steady()).judged(Some(true)));

    let failing = steady()
        .bad(Outcome::Timeout, 300)
        .failed(Failure::Status(503), 40)
        .failed(Failure::Connect("connection refused".to_owned()), 12)
        .grows(8.0);
    check_summary("run-not-met", &RunBuilder::start("run").trial(failing).judged(Some(false)));

    let late = steady().bad(Outcome::Unsent, 90).void(
        "unsent",
        "90 requests could not be sent in time: the generator was behind; give it an idle processor",
    );
    check_summary("run-void", &RunBuilder::start("run").trial(late).judged(None));

    let mut stopped = steady();
    stopped.loaded = Some(12);
    check_summary("run-interrupted", &RunBuilder::start("run").trial(stopped).judged(Some(true)));

    let closed = "POST is not resent".to_owned();
    let resent = steady().resent(12).failed(Failure::Dropped(closed), 3);
    check_summary("run-resent", &RunBuilder::start("run").trial(resent).judged(Some(false)));
    check_summary("run-cut-short", &RunBuilder::start("run").begin(&steady(), 7));
    check_summary("run-cut-at-once", &RunBuilder::start("run"));
}

#[test]
fn what_was_resent_is_said() {
    let said = |run: &RunBuilder| text(&summary(&RunView::from_events(&run.events)));
    let steady = || load(Purpose::Load, 1000.0, 30);
    let dropped = Failure::Dropped("POST is not resent".to_owned());
    let run =
        said(&RunBuilder::start("run").trial(steady().resent(12).failed(dropped, 3)).judged(Some(false)));
    for expected in [
        "12 resent: the server was closing their connection",
        "3 × the server closed a used connection; POST is not resent",
        "it closes used connections (POST is not resent): 3 of 30,000 requests",
    ] {
        assert!(run.contains(expected), "{run}");
    }
    let search = climbed().trial(good(1984.0).resent(4)).trial(good(1984.0).resent(3));
    let search = said(&search.found(SearchEnd::Converged, pair(Some(1984.0), Some(2016.0)), Vec::new()));
    assert!(search.contains("resent: 7 of "), "{search}");
    assert!(search.contains(" requests hit a connection that the server was closing\n"), "{search}");
    // Hypercorn closed each connection after its answer, which affected a third of all requests.
    let often = climbed().trial(good(1984.0).resent(90_000));
    let often = said(&often.found(SearchEnd::Converged, pair(Some(1984.0), Some(2016.0)), Vec::new()));
    assert!(often.contains("the server was closing: it often closes one right after an answer"), "{often}");
    assert!(!said(&RunBuilder::start("run").trial(steady()).judged(Some(true))).contains("resent"));
}

/// WildFly failed for two seconds at 1,606/s, and held as much for ten.
#[test]
fn what_was_held_for_longer_is_not_why_no_more_is() {
    let mut short = good(1998.0).grows(231.0).bad(Outcome::Unfinished, 400);
    short.seconds = 2;
    let run = climbed()
        .trial(short)
        .trial(good(2000.0))
        .trial(good(2050.0).grows(126.0).bad(Outcome::Unfinished, 900));
    let run = run.found(SearchEnd::Noisy, pair(Some(1984.0), Some(2030.0)), Vec::new());
    let said = text(&summary(&RunView::from_events(&run.events)));
    assert!(said.contains("above that the queue grows by 126 requests a second at 2,050/s"), "{said}");
}

#[test]
fn progress_of_a_search_and_of_a_load() {
    let say = |run: &RunBuilder| text(&run.progress());
    let search = climbed()
        .trial(good(2000.0).void("generator-late", "the generator was late by 4 ms at p99"))
        .trial(good(2050.0).failed(Failure::Status(503), 900))
        .doubt("one-machine", "target and generator share 2 processors")
        .found(SearchEnd::Converged, pair(Some(1984.0), Some(2016.0)), Vec::new());
    check("progress-find.txt", &say(&search));
    // RabbitMQ was down: sixty lines said so.
    let down = |rest| load(Purpose::Recovery, 20.0, 1).failed(Failure::Status(rest), 20);
    let looks = [500, 500, 503].into_iter().fold(climbed(), |run, status| run.trial(down(status)));
    let said = say(&looks);
    assert_eq!((said.matches("status 500").count(), said.matches("status 503").count()), (1, 1), "{said}");
    let load =
        RunBuilder::start("run").trial(load(Purpose::Load, 1000.0, 12).bad(Outcome::Timeout, 120).grows(8.0));
    check("progress-run.txt", &say(&load.judged(Some(false))));
}

#[test]
fn json_of_a_search_and_of_a_load() {
    let pretty = |run: &RunBuilder| {
        serde_json::to_string_pretty(&run_json(&RunView::from_events(&run.events))).expect("is JSON") + "\n"
    };
    let search = RunBuilder::start("find")
        .trial(good(1984.0))
        .trial(good(2016.0).grows(16.0).failed(Failure::Status(503), 40));
    let limits = pair(Some(1984.0), Some(2016.5));
    check("find.json", &pretty(&search.found(SearchEnd::Converged, limits, curve(1984.0)[..1].to_vec())));
    let load = RunBuilder::start("run").trial(load(Purpose::Load, 100.0, 3).bad(Outcome::Timeout, 3));
    check("run.json", &pretty(&load.judged(Some(false))));
    check("run-cut-at-once.json", &pretty(&RunBuilder::start("run")));
}

#[test]
fn list_of_every_kind() {
    let ended = RunSummary {
        id: record::RunId("20261120-161502-k3f".to_owned()),
        state: RunState::Ended,
        started_unix_ms: 1_795_191_302_000,
        ended_unix_ms: Some(1_795_191_400_000),
        command: "find".to_owned(),
        target: "http://127.0.0.1:8080/queue?us=500".to_owned(),
        goal: "zero-drop".to_owned(),
        version: "0.1.0".to_owned(),
        method: record::METHOD,
        exit_code: Some(0),
        error: None,
        limit_goal: Some("strict".to_owned()),
        held: None,
        lower: Some(1984.0),
        upper: Some(2016.5),
        unit: Some("requests/s".to_owned()),
        search_ended: Some("converged".to_owned()),
        goal_met: None,
        loss: None,
        freezes: None,
        load_outcome: None,
        costs: Vec::new(),
        part_of: None,
        answers: None,
        arms: Vec::new(),
        experiment_end: None,
        verdict: None,
        label: record::Label::default(),
        host: None,
        processor: None,
        cpus: None,
        comparable_key: None,
        previous_limit: None,
    };
    let search = |word: &str| RunSummary { search_ended: Some(word.to_owned()), ..ended.clone() };
    let open = |state| RunSummary {
        state,
        ended_unix_ms: None,
        exit_code: None,
        search_ended: None,
        ..ended.clone()
    };
    let load = |goal_met, loss| RunSummary {
        command: "run".to_owned(),
        limit_goal: None,
        held: None,
        lower: None,
        upper: None,
        unit: None,
        search_ended: None,
        goal_met,
        loss,
        ..ended.clone()
    };
    let experiment = |answers, over: Option<&str>| RunSummary {
        command: "try".to_owned(),
        answers: Some(answers),
        experiment_end: over.map(str::to_owned),
        ..load(None, None)
    };
    let named = |name: &str, tags: &[&str]| record::Label {
        name: Some(name.to_owned()),
        tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
        commit: Some("0123456789ab".to_owned()),
    };
    let after = |held, lower, upper| RunSummary {
        held: Some(2000.0),
        comparable_key: Some(3),
        previous_limit: Some(PreviousLimit {
            id: record::RunId("20261113-161502-p2d".to_owned()),
            held,
            lower,
            upper,
        }),
        ..ended.clone()
    };
    let still = |times, ms| FreezeSummary { count: times, longest: Nanos::from_millis(ms) };
    let carried = |offered, answered, run| RunSummary {
        load_outcome: Some(LoadOutcome {
            offered: Rate(offered),
            answered: Rate(answered),
            response_p99: Some(Nanos::from_micros(790)),
        }),
        ..run
    };
    let range = |table: &str, most_at: Option<&str>| CostRange {
        table: table.to_owned(),
        least: "async task".to_owned(),
        least_ns: 20.0,
        most: "fork".to_owned(),
        most_at: most_at.map(str::to_owned),
        most_ns: 2_070_000.0,
    };
    let costs = vec![range("launch", Some("256 MiB")), range("switch", None)];
    let probe = |doubtful, costs| RunSummary {
        command: "probe".to_owned(),
        target: "this machine".to_owned(),
        verdict: Some(Verdict::Sheet { figures: 58, doubtful, cut_short: false }),
        costs,
        ..load(None, None)
    };
    let answers = AnswerCounts { better: 2, no_difference: 1, undecided: 1, ..AnswerCounts::default() };
    let arm = |arm: &str, answer, factor| ArmAnswer { arm: arm.to_owned(), answer, factor };
    let arms = vec![
        arm("400 threads", HypothesisAnswer::Better, Some(1.38)),
        arm("virtual threads", HypothesisAnswer::Better, Some(2.04)),
        arm("pool of 50", HypothesisAnswer::NoDifference, Some(1.01)),
        arm("no cache", HypothesisAnswer::Worse, Some(0.62)),
        arm("two heaps", HypothesisAnswer::Undecided, None),
    ];
    let runs = [
        ended.clone(),
        search("max_reached"),
        search("budget_spent"),
        RunSummary { lower: None, ..search("below_min") },
        open(RunState::Running),
        RunSummary { lower: None, upper: None, ..open(RunState::CutShort) },
        load(Some(true), Some(0.0)),
        RunSummary { freezes: Some(still(7, 904)), ..load(Some(true), Some(0.0)) },
        RunSummary { freezes: Some(still(1, 450)), ..load(Some(false), Some(0.0117)) },
        carried(1500.0, 1499.8, load(Some(true), Some(0.0))),
        RunSummary { freezes: Some(still(7, 904)), ..carried(1500.0, 1499.8, load(Some(true), Some(0.0))) },
        carried(196.0, 99.4, load(Some(false), Some(0.512))),
        RunSummary {
            command: "run processes".to_owned(),
            ..carried(2000.0, 1200.0, load(Some(false), Some(0.4)))
        },
        probe(0, Vec::new()),
        probe(2, costs),
        RunSummary { freezes: Some(still(1, 450)), ..ended.clone() },
        load(Some(false), Some(0.0117)),
        load(None, Some(0.0)),
        RunSummary { error: Some("127.0.0.1:8080: connection refused".to_owned()), ..load(None, None) },
        RunSummary {
            target: "http://a-host-with-a-very-long-name.example.org/and/a/path".to_owned(),
            ..load(None, None)
        },
        experiment(answers, Some("blocks-made")),
        experiment(AnswerCounts { worse: 1, ..answers }, Some("budget-spent")),
        experiment(
            AnswerCounts { undecided: 2, not_measured: 1, ..AnswerCounts::default() },
            Some("interrupted"),
        ),
        RunSummary { state: RunState::CutShort, ..experiment(answers, None) },
        RunSummary { label: named("before <b>", &["pool=10", "nightly"]), ..ended.clone() },
        after(Some(2170.0), 2150.0, 2190.0),
        after(Some(1960.0), 1900.0, 2050.0),
        after(Some(1992.0), 1980.0, 2010.0),
        RunSummary { label: named("twice", &["nightly"]), ..after(None, 1000.0, 1020.0) },
        RunSummary { arms, ..experiment(AnswerCounts { worse: 1, ..answers }, Some("blocks-made")) },
    ];
    check("list.txt", &text(&list_lines(&runs, None)));
    let froze = text(&list_lines(&[RunSummary { freezes: Some(still(12, 3_210)), ..search("noisy") }], None));
    assert!(froze.contains("2,017; its capacity varies; the target froze 12 times, up to 3.2 s)"), "{froze}");
    check("list-empty.txt", &text(&list_lines(&[], None)));
    let lines = list_lines(&runs, None);
    let width = |of: &str| lines.iter().filter(|line| line.to_string().contains(of)).map(Text::width).max();
    let (all, noise) = width("switch: ").zip(width("could be noise")).expect("there are such lines");
    assert_eq!(list_lines(&runs, Some(all)), lines);
    let narrow = text(&list_lines(&runs, Some(all - 1)));
    assert!(!narrow.contains("between") && narrow.contains("could be noise"), "{narrow}");
    assert!(
        !narrow.contains("p99") && narrow.contains("caveats") && !narrow.contains("switch: "),
        "{narrow}"
    );
    let narrower = text(&list_lines(&runs, Some(noise - 40)));
    assert!(!narrower.contains("noise") && !narrower.contains(", sure"), "{narrower}");
    let tones = ["converged", "max_reached", "noisy", "below_min"].map(|word| result_words(&search(word)).1);
    assert_eq!(tones, [Tone::Good, Tone::Strong, Tone::Warn, Tone::Bad]);
    check("list.csv", &torment_view::list_grid(&runs).csv());
    check("list.json", &(serde_json::to_string_pretty(&list_json(&runs[24..26])).expect("is JSON") + "\n"));
}

fn text(lines: &[torment_view::Text]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// A search with a watched and diagnosed target.
fn judged(diagnosis: Diagnosis) -> RunBuilder {
    let windows = |waiting| (0..3).map(move |index| synthetic::watched::window(index, waiting));
    climbed()
        .watched(synthetic::watched::watched())
        .seen(5, windows(0.4))
        .seen(6, windows(188.8))
        .looked()
        .diagnosed(diagnosis)
}

#[test]
fn find_with_a_verdict() {
    let found =
        |run: RunBuilder| run.found(SearchEnd::Converged, pair(Some(1984.0), Some(2016.0)), curve(1984.0));
    let run = found(judged(synthetic::watched::diagnosis()));
    check_summary("find-diagnosed", &run);
    let view = RunView::from_events(&run.events);
    check("explain.txt", &text(&explain(&view)));
    let json = run_json(&view);
    let parts = serde_json::json!({ "diagnosis": json["diagnosis"], "watched": json["watched"] });
    check("diagnosed.json", &format!("{parts:#}\n"));

    let well = Diagnosis { none: Some(NoFinding::NotSaturated), ..Diagnosis::default() };
    let max = judged(well).found(SearchEnd::MaxReached, pair(Some(3000.0), None), curve(3000.0));
    check_summary("find-not-saturated", &max);

    let mut tied = synthetic::watched::diagnosis();
    tied.tie = true;
    tied.findings[1].follows_from = None;
    tied.arithmetic.as_mut().expect("it has one").measured = Rate(120.0);
    check_summary("find-tied", &found(judged(tied)));

    let outside = WatchCoverage {
        missing: vec![MissingMeasure::new(
            "the target's processes",
            "10.0.0.7 is not on this machine: run torment there",
        )],
        ..WatchCoverage::default()
    };
    let none = Diagnosis { none: Some(NoFinding::NotObservable), ..Diagnosis::default() };
    let run = found(climbed().watched(outside).diagnosed(none));
    check_summary("find-not-observable", &run);
    check("explain-not-observable.txt", &text(&explain(&RunView::from_events(&run.events))));
    check("explain-not-watched.txt", &text(&explain(&RunView::from_events(&found(climbed()).events))));
}

#[test]
fn run_with_a_verdict() {
    let run = RunBuilder::start("run")
        .watched(synthetic::watched::watched())
        .diagnosed(synthetic::watched::diagnosis());
    let run = run.trial(load(Purpose::Load, 1000.0, 30).grows(8.0));
    check_summary("run-diagnosed", &run.judged(Some(false)));
}

#[test]
fn who_waits_for_what() {
    let windows: Vec<_> = (0..3).map(|index| synthetic::watched::window(index, 188.8)).collect();
    let watched = synthetic::watched::watched();
    check("who-waits.txt", &text(&who_waits(&windows, &watched)));
    check("who-waits-nothing.txt", &text(&who_waits(&[], &WatchCoverage::default())));
    assert!(who_waits(&[], &watched).len() > 2);
}

#[test]
fn a_new_verdict_is_held_against_the_stored_one() {
    let stored = synthetic::watched::diagnosis();
    let said = |anew: &Diagnosis| verdict_change(Some(&stored), anew).to_string();
    assert_eq!(said(&stored), "  judged again: the same as stored");
    let mut anew = stored.clone();
    anew.sentences.clear();
    assert_eq!(said(&anew), "  judged again: the same cause as stored; its evidence or its words differ");
    anew.findings[0].confidence.margin = 0.6;
    assert_eq!(said(&anew), "  judged again: the same cause, medium confidence; it was high");
    anew.findings[0].cause = Cause::Lock;
    assert_eq!(said(&anew), "  judged again: now one lock; stored was a pool");
    assert_eq!(verdict_change(None, &anew).to_string(), "  judged again: the run had no verdict stored");
}
