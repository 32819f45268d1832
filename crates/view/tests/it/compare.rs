//! Comparisons of synthetic runs, word for word. `BLESS=1` rewrites the golden files.

#[allow(dead_code, unused_imports, reason = "the makers of runs serve other tests too")]
use crate::synthetic;
use crate::synthetic::{RunBuilder, check, curve, pair};
use record::watch::{AccessLevel, TreeWindow, WatchCoverage, WatchedProcesses, Window};
use record::{
    CaveatKind, Diagnosis, Event, Judgement, Outcome, Purpose, Recovery, SearchEnd, Slice, TrialResult,
    Verdict,
};
use torment_view::{LoadSamples, RunComparison, RunView, Significance, compare_runs, sparklines};
use units::{Nanos, Rate};

/// A synthetic load.
struct LoadSpec {
    id: &'static str,
    name: Option<&'static str>,
    seconds: u32,
    rate: u64,
    /// Factor on response times.
    slow: f64,
    /// Wrong answers per second.
    failed: u64,
    /// Processors used by the service.
    cpus: f64,
    met: Option<bool>,
}

const USUAL: LoadSpec = LoadSpec {
    id: "20261120-161502-aaa",
    name: Some("before"),
    seconds: 30,
    rate: 500,
    slow: 1.0,
    failed: 0,
    cpus: 0.5,
    met: Some(true),
};

fn slice(wanted: &LoadSpec, index: u32) -> Slice {
    let mut slice =
        Slice { index, due: wanted.rate, sent: wanted.rate, elapsed: record::SLICE, ..Slice::default() };
    slice.outcomes.add(Outcome::Failed, wanted.failed);
    slice.outcomes.add(Outcome::Ok, wanted.rate - wanted.failed);
    // Seconds vary by up to six percent, requests within one by far more.
    let second = 1.0 + f64::from(index * 7 % 13) / 200.0;
    for request in 0..wanted.rate - wanted.failed {
        let rank = (request as f64 + 0.5) / wanted.rate as f64;
        let us = 400.0 * second * wanted.slow / (1.0 - rank).sqrt();
        slice.response.record(Nanos((us * 1e3) as u64));
    }
    slice.in_flight = 1 + u64::from(index % 3);
    slice
}

fn window(wanted: &LoadSpec, index: u32) -> Window {
    let service = TreeWindow {
        processes: 1,
        threads: 8,
        cpu_ns: (1e9 * wanted.cpus * (1.0 + f64::from(index * 5 % 11) / 100.0)) as u64,
        rss_bytes: (200 << 20) + (u64::from(index) << 20),
        ..TreeWindow::default()
    };
    Window {
        from: Nanos::from_secs(index.into()),
        to: Nanos::from_secs(u64::from(index) + 1),
        subjects: vec![service],
        ..Window::default()
    }
}

fn named(mut first: Event, wanted: &LoadSpec) -> Event {
    let Event::RunStarted(started) = &mut first else { panic!("a run begins with its start") };
    started.id.0 = wanted.id.to_owned();
    started.label.name = wanted.name.map(str::to_owned);
    first
}

fn events(wanted: &LoadSpec) -> Vec<Event> {
    let mut events = vec![named(RunBuilder::start("run").events.remove(0), wanted)];
    let watched = WatchCoverage {
        level: AccessLevel::SameUser,
        subjects: vec![WatchedProcesses {
            pid: 7,
            name: "java".to_owned(),
            cpus: 2.0,
            ..WatchedProcesses::default()
        }],
        ..WatchCoverage::default()
    };
    events.push(Event::WatchStarted { place: String::new(), watched: Box::new(watched) });
    let planned = Nanos::from_secs(wanted.seconds.into());
    events.push(Event::TrialStarted {
        trial: 1,
        purpose: Purpose::Load,
        rate: Some(Rate(wanted.rate as f64)),
        duration: Some(planned),
        at_unix_ms: 1_795_191_303_000,
    });
    let mut total = Slice::default();
    for index in 0..wanted.seconds {
        let slice = slice(wanted, index);
        total.merge_after(&slice);
        events.push(Event::SliceDone { trial: 1, slice: Box::new(slice) });
        events.push(Event::Observed {
            trial: 1,
            place: String::new(),
            window: Box::new(window(wanted, index)),
        });
    }
    let outcomes = total.outcomes;
    let loss = outcomes.bad() as f64 / total.due.max(1) as f64;
    let result = TrialResult {
        purpose: Purpose::Load,
        rate: Rate(wanted.rate as f64),
        planned,
        loaded: planned,
        drain: Nanos::from_millis(10),
        hopeless: false,
        total,
        recovery: Recovery::NotNeeded,
        caveats: Vec::new(),
        members: Vec::new(),
    };
    let judgement =
        Judgement { loss, good: wanted.failed == 0, growth_per_second: None, invalid: Vec::new() };
    events.push(Event::TrialDone { trial: 1, result: Box::new(result), judgement });
    let verdict = Verdict::Goal { met: wanted.met, goal: "zero-drop".to_owned(), outcomes, loss };
    events.push(Event::RunEnded(Box::new(record::RunEnd {
        at_unix_ms: 1_795_191_400_000,
        verdict: Some(verdict),
        exit_code: 0,
        error: None,
    })));
    events
}

fn compared(runs: &[Vec<Event>]) -> Result<RunComparison, String> {
    let views: Vec<RunView> = runs.iter().map(RunView::from_events).collect();
    let spreads: Vec<LoadSamples> =
        views.iter().zip(runs).map(|(view, events)| LoadSamples::from_events(view, events)).collect();
    let all: Vec<(&RunView, &LoadSamples)> = views.iter().zip(&spreads).collect();
    compare_runs(&all, 0.05)
}

fn text(compared: &RunComparison) -> String {
    compared.lines().iter().map(|line| format!("{line}\n")).collect()
}

fn slower() -> LoadSpec {
    LoadSpec { id: "20261121-090000-bbb", name: Some("after <b>&\"'|*"), slow: 1.8, cpus: 0.8, ..USUAL }
}

#[test]
fn a_slower_run_is_said_to_be_slower_in_every_form() {
    let found = compared(&[events(&USUAL), events(&slower())]).expect("they can be compared");
    assert_eq!((found.overall(), found.verdicts[0].significance), (Significance::Worse, Significance::Worse));
    assert!(
        found.verdicts[0].sentence.contains("is slower: p50 1.05 ms against 582 µs (+80 %; 95 % interval +7"),
        "{}",
        found.verdicts[0].sentence
    );
    check("compare-slower.txt", &text(&found));
    check("compare-slower.json", &format!("{:#}\n", found.json()));
    check("compare-slower.csv", &found.grid().csv());
    check("compare-slower.md", &found.markdown());
    check("compare-slower.xml", &found.junit());
    let back = compared(&[events(&slower()), events(&USUAL)]).expect("they can be compared");
    assert_eq!(back.overall(), Significance::Better);
    assert!(
        back.verdicts[0].sentence.contains("is faster: p50 582 µs against 1.05 ms (−44 %; 95 % interval −4"),
        "{}",
        back.verdicts[0].sentence
    );
}

#[test]
fn every_interval_holds_what_it_is_of() {
    let found = compared(&[events(&USUAL), events(&slower())]).expect("they can be compared");
    for measure in &found.measures {
        for figure in measure.figures.iter().flatten() {
            if let Some(interval) = figure.interval {
                assert!(
                    interval.low <= figure.value && figure.value <= interval.high,
                    "{}: {figure:?}",
                    measure.id
                );
            }
        }
        for difference in measure.differences.iter().flatten() {
            if let Some(interval) = difference.interval {
                // One is a quotient, the others are from logarithms.
                let hair = difference.by.abs() * 1e-9;
                let holds = interval.low <= difference.by + hair && difference.by - hair <= interval.high;
                assert!(holds, "{}: {difference:?}", measure.id);
            }
        }
    }
    let ids: Vec<&str> = found.measures.iter().map(|measure| measure.id).collect();
    let expected = [
        "goal",
        "response_p50",
        "response_p90",
        "response_p99",
        "response_max",
        "goodput",
        "lost",
        "cpu_per_request",
        "memory",
    ];
    assert_eq!(ids, expected);
}

#[test]
fn what_is_the_same_is_said_to_be() {
    let again = LoadSpec { id: "20261121-090000-bbb", name: Some("before"), ..USUAL };
    let found = compared(&[events(&USUAL), events(&again)]).expect("they can be compared");
    assert_eq!(found.overall(), Significance::Same, "{}", text(&found));
    assert!(
        found.verdicts[0].sentence.ends_with("no difference beyond the noise of 5 %"),
        "{}",
        found.verdicts[0].sentence
    );
    // Ids tell runs of one name apart.
    assert_eq!(found.runs[0].title, USUAL.id);
    assert!(
        found.all_caveats.iter().all(|doubt| doubt.doubt == CaveatKind::SingleRuns),
        "{:?}",
        found.all_caveats
    );
}

#[test]
fn what_fails_more_often_is_worse_and_a_goal_missed_too() {
    let failing =
        LoadSpec { id: "20261121-090000-bbb", name: Some("after"), failed: 20, met: Some(false), ..USUAL };
    let found = compared(&[events(&USUAL), events(&failing)]).expect("they can be compared");
    let standing = |id: &str| {
        let measure = found.measures.iter().find(|measure| measure.id == id).expect("it was measured");
        measure.differences[1].expect("both have it").significance
    };
    assert_eq!(
        (standing("goal"), standing("lost"), standing("goodput")),
        (Significance::Worse, Significance::Worse, Significance::Same)
    );
    assert!(
        found.verdicts[0]
            .sentence
            .starts_with("“after” is worse: goal no longer met, lost 4 % against 0 %, +4 % ("),
        "{}",
        found.verdicts[0].sentence
    );
}

#[test]
fn a_short_run_decides_nothing() {
    let short = LoadSpec { id: "20261121-090000-bbb", name: Some("after"), seconds: 3, slow: 1.8, ..USUAL };
    let found = compared(&[events(&USUAL), events(&short)]).expect("they can be compared");
    assert_eq!(found.overall(), Significance::Undecided, "{}", text(&found));
    check("compare-short.txt", &text(&found));
    let none = LoadSpec { id: "20261121-090000-ccc", name: None, seconds: 0, ..USUAL };
    let found = compared(&[events(&USUAL), events(&none)]).expect("they can be compared");
    assert_eq!(found.overall(), Significance::Undecided, "{}", text(&found));
    assert!(text(&found).contains("not measured"), "{}", text(&found));
}

#[test]
fn a_run_that_is_not_trustworthy_decides_nothing() {
    let mut void = events(&slower());
    for event in &mut void {
        if let Event::TrialDone { judgement, .. } = event {
            judgement.invalid.push(record::Caveat::new(
                CaveatKind::GeneratorLate,
                "the generator was late by 4 ms at p99",
            ));
        }
    }
    let found = compared(&[events(&USUAL), void]).expect("they can be compared");
    assert_eq!(found.overall(), Significance::Undecided, "{}", text(&found));
    assert!(found.verdicts[0].sentence.contains("not trustworthy"), "{}", found.verdicts[0].sentence);
}

fn search(id: &str, name: &str, lower: f64, upper: Option<f64>) -> Vec<Event> {
    let run = RunBuilder::start("find")
        .trial(synthetic::load(Purpose::Measure, lower, 10))
        .trial(synthetic::load(Purpose::Curve, lower * 0.8, 5))
        .bounds(pair(Some(lower), upper));
    let diagnosis = Diagnosis {
        sentences: vec![format!("A pool of 10 gave first in {name}.")],
        findings: synthetic::watched::diagnosis().findings,
        ..Diagnosis::default()
    };
    let mut events =
        run.diagnosed(diagnosis).found(SearchEnd::Converged, pair(Some(lower), upper), curve(lower)).events;
    let wanted = LoadSpec { id: "", name: None, ..USUAL };
    events[0] = named(events[0].clone(), &wanted);
    let Event::RunStarted(started) = &mut events[0] else { panic!("a run begins with its start") };
    started.id.0 = id.to_owned();
    started.label.name = Some(name.to_owned());
    events
}

#[test]
fn searches_are_compared_by_their_bounds() {
    let runs = [
        search("a", "main", 1984.0, Some(2016.0)),
        search("b", "half", 990.0, Some(1010.0)),
        search("c", "same", 1970.0, Some(2010.0)),
        search("d", "open", 1984.0, None),
    ];
    let found = compared(&runs).expect("they can be compared");
    let standings: Vec<Significance> = {
        let capacity = found.measures.iter().find(|measure| measure.id == "capacity").expect("all have it");
        capacity.differences.iter().flatten().map(|difference| difference.significance).collect()
    };
    assert_eq!(standings, [Significance::Worse, Significance::Same, Significance::Undecided]);
    assert_eq!(found.overall(), Significance::Worse);
    assert!(
        found.verdicts[0]
            .sentence
            .contains("limit 990/s against 1,984/s (×0.5; 95 % interval ×0.49 to ×0.51)"),
        "{}",
        found.verdicts[0].sentence
    );
    check("compare-search.txt", &text(&found));
    check("compare-search.md", &found.markdown());
}

/// The curve's second at 80 % of a limit tells no interval of response times; a limit that doubled was "undecided" for it. Its rate is
/// counted, and so is off by part of an arrival.
#[test]
fn a_limit_decides_though_a_second_below_it_does_not() {
    let search = |id: &str, name: &str, lower: f64| {
        let mut events = search(id, name, lower, Some(lower * 1.02));
        for event in &mut events {
            match event {
                Event::TrialStarted { purpose: Purpose::Curve, rate: Some(rate), duration, .. } => {
                    rate.0 = rate.0.floor();
                    *duration = Some(record::SLICE);
                }
                Event::TrialDone { result, .. } if result.purpose == Purpose::Curve => {
                    result.rate.0 = result.rate.0.floor();
                    result.loaded = record::SLICE;
                    result.planned = record::SLICE;
                }
                _ => {}
            }
        }
        let mut seconds = 0;
        let mut curve = false;
        events.retain(|event| match event {
            Event::TrialStarted { purpose, .. } => {
                curve = *purpose == Purpose::Curve;
                true
            }
            Event::SliceDone { .. } if curve => {
                seconds += 1;
                seconds == 1
            }
            _ => true,
        });
        events
    };
    let runs = [search("a", "main", 1984.3), search("b", "twice", 3971.7)];
    let found = compared(&runs).expect("they can be compared");
    let times = found.measures.iter().find(|measure| measure.id == "response_p50").expect("both have it");
    let significance =
        |measure: &torment_view::ComparedMeasure| measure.differences[1].expect("it has both").significance;
    assert_eq!(significance(times), Significance::Unknown);
    assert_eq!(found.verdicts[0].significance, Significance::Better, "{}", found.verdicts[0].sentence);
}

#[test]
fn what_makes_runs_incomparable_is_said_first() {
    let mut other = events(&slower());
    let Event::RunStarted(started) = &mut other[0] else { panic!("it is a start") };
    started.machine.cpus = 16;
    started.method = 1;
    started.plan = "target = \"elsewhere\"\n".to_owned();
    started.version = "0.0.9".to_owned();
    let cut = events(&USUAL).into_iter().take(20).collect::<Vec<_>>();
    let found = compared(&[events(&USUAL), other, cut]).expect("they can be compared");
    let codes: Vec<&str> = found.all_caveats.iter().map(|doubt| doubt.doubt.name()).collect();
    assert_eq!(codes, ["other-machine", "other-method", "other-plan", "cut-short", "single-runs"]);
    check("compare-doubts.txt", &text(&found));
}

#[test]
fn who_made_the_load_is_said_where_that_differs() {
    let mut by_two = events(&slower());
    let member =
        |number, place: &str| record::FleetMember { number, place: place.to_owned(), ..Default::default() };
    by_two.insert(1, Event::FleetStands { members: vec![member(0, "b"), member(1, "c")] });
    let caveats = |runs: &[Vec<Event>]| {
        let found = compared(runs).expect("they can be compared");
        found.all_caveats.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let said = caveats(&[events(&USUAL), by_two.clone()]);
    assert!(
        said[0].contains("was generated by 2 workers on b, c") && said[0].contains("by one process"),
        "{said:?}"
    );
    assert!(caveats(&[by_two.clone(), by_two]).iter().all(|said| !said.contains("workers")));
}

#[test]
fn what_cannot_be_compared_is_refused() {
    let load = events(&USUAL);
    let find = search("a", "main", 1984.0, Some(2016.0));
    let refused = |runs: &[Vec<Event>]| compared(runs).expect_err("must be refused");
    assert!(refused(&[load.clone(), find]).contains("no figure in common"));
    let tries = RunBuilder::start("try").events;
    assert!(refused(&[load.clone(), tries]).contains("is of `torment try`"));
    assert!(refused(&[]).contains("0 runs"));
    assert!(refused(&vec![load.clone(); 9]).contains("9 runs"));
    assert!(refused(&[load.clone(), Vec::new()]).contains("first event"));
    let alone = compared(&[load]).expect("a run has figures of its own");
    assert!(alone.verdicts.is_empty() && alone.all_caveats.is_empty());
    assert!(alone.markdown().contains("| response p99 |"), "{}", alone.markdown());
}

#[test]
fn charts_of_a_load_and_of_a_search() {
    use torment_view::Glyphs;
    let drawn = |events: &[Event], glyphs| -> String {
        sparklines(&RunView::from_events(events), glyphs).iter().map(|line| format!("{line}\n")).collect()
    };
    let load = drawn(&events(&USUAL), Glyphs::Blocks);
    let find = drawn(&search("a", "main", 1984.0, Some(2016.0)), Glyphs::Blocks);
    check("charts.txt", &format!("{load}{find}{}", drawn(&events(&USUAL), Glyphs::Plain)));
    assert!(load.lines().count() <= 8 && find.lines().count() <= 8);
    let short = LoadSpec { seconds: 4, ..USUAL };
    assert_eq!(drawn(&events(&short), Glyphs::Blocks), "", "four seconds are no curve");
    assert!(drawn(&events(&USUAL), Glyphs::Plain).is_ascii());
}

/// A load of 2,200/s at a service with a capacity of 2,000/s lost 9 % by its verdict and nothing by its comparison, whose goodput was the
/// 2,200/s answered in the end.
#[test]
fn a_load_whose_queue_grows_has_lost_what_its_verdict_says() {
    let mut growing = events(&LoadSpec { name: Some("after"), ..slower() });
    let done = growing.iter().position(|event| matches!(event, Event::TrialDone { .. })).expect("it is done");
    let mut drain = Slice { index: USUAL.seconds, elapsed: record::SLICE, ..Slice::default() };
    drain.outcomes.add(Outcome::Ok, 3000);
    growing.insert(done, Event::SliceDone { trial: 1, slice: Box::new(drain) });
    let Event::TrialDone { judgement, .. } = &mut growing[done + 1] else { panic!("it moved") };
    *judgement = Judgement { loss: 0.09, good: false, growth_per_second: Some(45.0), ..judgement.clone() };
    let found = compared(&[events(&USUAL), growing]).expect("they can be compared");
    let measure = |id| found.measures.iter().find(|measure| measure.id == id).expect("both have it");
    let lost = measure("lost");
    assert_eq!(lost.differences[1].expect("both have it").significance, Significance::Worse);
    assert_eq!(lost.figures[1].map(|figure| lost.format_value(figure.value)).as_deref(), Some("9 %"));
    let goodput = measure("goodput").figures[1].expect("it is measured").value;
    assert!((goodput - 500.0).abs() < 1.0, "{goodput}: of the load, not of what came after it");
}

/// Whoever raises the rate knows that, and that more answers are then no merit of the second.
#[test]
fn what_was_changed_on_purpose_is_no_doubt_and_more_asked_no_merit() {
    let with = |wanted: &LoadSpec, rate: u32| {
        let mut events = events(wanted);
        let Event::RunStarted(started) = &mut events[0] else { panic!("a run begins with its start") };
        started.plan = format!("[target]\nurl = \"demo\"\n[load]\nrate = {rate}\n");
        events
    };
    let more = LoadSpec { id: "20261121-090000-bbb", name: Some("after"), rate: 800, ..USUAL };
    let found = compared(&[with(&USUAL, 500), with(&more, 800)]).expect("they can be compared");
    assert_eq!(found.changes().count(), 0, "the verdict begins with it: {:?}", found.all_caveats);
    assert!(found.caveats().all(|doubt| doubt.doubt == CaveatKind::SingleRuns), "{:?}", found.all_caveats);
    assert!(
        found.all_caveats.iter().any(|doubt| doubt.doubt == CaveatKind::OtherLoad),
        "for programs: {:?}",
        found.all_caveats
    );
    assert_eq!(found.overall(), Significance::Undecided, "{}", text(&found));
    let words = &found.verdicts[0].sentence;
    let load = "“after” ran at another load (rate 500 → 800), so neither can be called better: p99 ";
    assert!(words.starts_with(load), "{words}");
    assert!(text(&found).contains("next: repeat one of them at the load of the other"), "{}", text(&found));
    let result = found.measures.iter().filter_map(|measure| measure.differences[1]);
    assert!(
        result.clone().count() > 5 && result.clone().all(|d| d.significance == Significance::Unknown),
        "{:?}",
        found.measures
    );
}
