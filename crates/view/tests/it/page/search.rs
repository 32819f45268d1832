//! A search.

use crate::page::support::{at, chart, document, golden, good, image, said, section, words};
use crate::synthetic::{RunBuilder, curve, load, pair};
use record::{Cause, Diagnosis, Event, Failure, GeneratorCapacity, Outcome, Purpose, Recovery, SearchEnd};
use torment_view::Tone;
use torment_view::document::{AxisUnit, ChartForm, Document, Occupancy, StationBox};
use torment_view::page::PageBuilder;
use units::Nanos;

/// Adds observations after each second of load, as a watch does.
pub fn watched(events: Vec<Event>, waiting: impl Fn(u32) -> f64) -> Vec<Event> {
    let mut all = Vec::new();
    for event in events {
        let seen = match &event {
            Event::SliceDone { trial, slice } => {
                let window = crate::synthetic::watched::window(u64::from(slice.index), waiting(*trial));
                Some(Event::Observed { trial: *trial, place: String::new(), window: Box::new(window) })
            }
            _ => None,
        };
        all.push(event);
        if all.len() == 1 {
            all.push(Event::WatchStarted {
                place: String::new(),
                watched: Box::new(crate::synthetic::watched::watched()),
            });
        }
        all.extend(seen);
    }
    all
}

/// A watched search: well up to 1,984/s; at 2,016/s workers wait.
pub fn search() -> Vec<Event> {
    let run = RunBuilder::start("find")
        .trial(load(Purpose::Climb, 1000.0, 2))
        .bounds(pair(Some(1000.0), None))
        .trial(load(Purpose::WarmUp, 1000.0, 5))
        .trial(good(1984.0))
        .bounds(pair(Some(1984.0), None))
        .trial(good(2016.0).grows(16.0).bad(Outcome::Unfinished, 140))
        .bounds(pair(Some(1984.0), Some(2016.0)))
        .trial(load(Purpose::Confirm, 1984.0, 10))
        .trial(good(1990.0).void("generator-late", "the generator was late by 4 ms at p99"))
        .doubt("one-machine", "target and generator share 2 processors, so each slows the other")
        .looked()
        .diagnosed(crate::synthetic::watched::diagnosis())
        .found(SearchEnd::Converged, pair(Some(1984.0), Some(2016.0)), curve(1984.0));
    watched(run.events, |trial| if trial == 4 { 188.8 } else { 0.4 })
}

/// The image has the verdict in words and every mark with its tooltip; a target's name never becomes markup.
#[test]
fn the_picture_of_a_limit_is_an_image() {
    let mut front = document(&PageBuilder::from_events(&search())).front;
    front.head.target = "http://h/?a=<b>&c=\"".to_owned();
    let picture = image(&front).expect("a search has a limit");
    assert!(
        picture.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\"") && picture.ends_with("</svg>\n")
    );
    for said in
        ["holds 1,984 requests/s (between 1,984 and 2,016;", "a=&lt;b&gt;&amp;c=&quot;", ">holds 1,984<"]
    {
        assert!(picture.contains(said), "no {said} in {picture}");
    }
    let marks = front.pictures.iter().flat_map(|chart| &chart.series).map(|series| series.points.len());
    assert_eq!(picture.matches("<g><title>").count(), marks.sum::<usize>());
    assert!(picture.contains("<title>trial 4: bad, p99 "), "{picture}");
    assert!(!picture.contains("NaN") && !picture.contains("inf"), "{picture}");
    let opened = picture.matches("<g>").count() + picture.matches("<text ").count() + 1;
    let closed = picture.matches("</g>").count() + picture.matches("</text>").count() + 1;
    assert_eq!(opened, closed);

    front.pictures.clear();
    assert_eq!(image(&front), None, "of a run without a limit there is none");
}

/// The Markdown has all that the page says, with its tables, and the picture as an image file beside it.
#[test]
fn a_search_is_written_as_markdown() {
    let front = document(&PageBuilder::from_events(&search())).front;
    let text = torment_view::markdown(&front, Some("report-limit.svg"));
    for said in [
        "# torment find http://127.0.0.1:8080/queue?us=500\n\n**holds 1,984 requests/s** (between 1,984 and 2,016;",
        "Request path: requests → torment: 1 loop → 400 connections → 200 workers → **10 connections** (gave first) → 10 sessions",
        "![where it breaks: each mark is a percentile of one trial, good if it met the goal;",
        "](report-limit.svg)\n\n## Caveats\n\n- ",
        "\n## What gave first\n",
        "\n### all trials\n\n| trial | purpose | offered |",
        "\n| response time | p50 | p99 | max | waiting |\n| --- | ---: |",
        "\n## How it was measured\n\n- goal: zero-drop (a trial is good if no request fails and no queue grows)\n- machine: hill: Abacus 3000, 2 processors",
        "\n    target = \"http://127.0.0.1:8080/queue?us=500\"\n",
    ] {
        assert!(text.contains(said), "no {said} in {text}");
    }
    assert!(!text.contains("## Response time"), "it only draws: {text}");
    assert!(!text.contains("\n\n\n") && text.lines().all(|line| line.trim_end() == line), "{text}");
}

/// All trials of a search for connections have one rate: they are placed by open connections. A deadline is drawn across.
#[test]
fn connections_stand_at_their_number() {
    let run = RunBuilder::start("find connections")
        .trial(load(Purpose::Climb, 200.0, 5))
        .trial(load(Purpose::Climb, 200.0, 5).bad(Outcome::Timeout, 7))
        .found(SearchEnd::Converged, pair(Some(16.0), Some(32.0)), Vec::new());
    let mut events = run.events;
    for event in &mut events {
        match event {
            Event::RunStarted(started) => started.goal = "p99<50ms, held at 200/s".to_owned(),
            Event::TrialDone { trial, result, .. } => result.total.connections = 16 * u64::from(*trial),
            _ => {}
        }
    }
    let front = document(&PageBuilder::from_events(&events)).front;
    let limit = &front.pictures[0];
    let stand: Vec<(f64, Tone)> = limit.series[1].points.iter().map(|point| (point.x, point.tone)).collect();
    assert_eq!(stand, [(16.0, Tone::Good), (32.0, Tone::Bad)]);
    assert_eq!(limit.x.unit, AxisUnit::Count);
    let goal = limit.bounds.iter().find(|bound| bound.name == "goal").expect("it has a deadline");
    assert_eq!((goal.at, goal.along_x), (0.05, false));
    assert_eq!(
        front.pictures[1].series[0].points.len(),
        2,
        "each number of connections is a rate of its own"
    );
}

/// A chain's stations, whether each gave first, and its link.
fn way(chain: &[StationBox]) -> Vec<(&str, bool, Option<&str>)> {
    chain.iter().map(|s| (s.name.as_str(), s.tone == Tone::Bad, s.section.as_deref())).collect()
}

/// Earlier versions stored the stations' names without figures; what gave first is marked all the same, and links to its evidence if no
/// drawable data were stored.
#[test]
fn a_chain_of_an_earlier_version_has_no_figures() {
    let diagnosis = Diagnosis { stations: Vec::new(), ..crate::synthetic::watched::diagnosis() };
    let front =
        document(&PageBuilder::from_events(&RunBuilder::start("find").diagnosed(diagnosis).events)).front;
    let expected = [
        ("requests", false, None),
        ("200 workers", false, None),
        ("10 connections", true, Some("evidence")),
        ("10 sessions", false, None),
        ("Timeout PgSleep", false, None),
    ];
    assert_eq!(way(&front.chain), expected);
    assert!(front.chain.iter().all(|station| station.well.is_none() && station.degraded.is_none()));
}

#[test]
fn a_search_that_was_watched() {
    let page = PageBuilder::from_events(&search());
    let document = document(&page);
    golden("search", &document);
    let Document { front, timeline, .. } = &document;
    let words = words(front);
    assert!(words[0].starts_with("holds 1,984 requests/s (between 1,984 and 2,016;"), "{words:?}");
    let gave = "The service's 200 workers wait for one of 10 connections to 127.0.0.1:5432. 10 connections / 51 ms held per request = 196/s: that is about what it answered in overloads. (high confidence)";
    assert_eq!(words[1], gave);
    let sections: Vec<&str> = front.sections.iter().map(|section| section.id.as_str()).collect();
    let expected = [
        "evidence", "search", "load", "response", "threads", "memory", "jvm", "database", "sockets",
        "machine", "run",
    ];
    assert_eq!(sections, expected);

    // Trial 4 began 49 s into the run.
    let fourth = &front.phases[3];
    assert_eq!((fourth.from, fourth.label.as_str()), (49.0, "trial 4: 2,016/s, bad"));
    assert_eq!(front.phases[1].label, "trial 2: 1,000/s, warm-up");
    assert_eq!(at(timeline, "offered", 50.0), Some(2016.0));
    assert_eq!(at(timeline, "offered", 38.0), Some(1984.0));
    assert_eq!(at(timeline, "cpu.0.0", 50.0), Some(f64::from(0.09f32)));

    // The workers, and what they wait for.
    let threads = chart(front, "threads-0-0");
    assert_eq!(threads.title, "java: http-nio-N-exec-N");
    assert_eq!(threads.form, ChartForm::Stack);
    let waits =
        threads.series.iter().find(|s| s.name == "waits for another thread, at most 30 s").expect("a state");
    let column = waits.column.as_deref().expect("over time");
    assert_eq!(at(timeline, column, 50.0), Some(f64::from(188.8f32)));
    assert_eq!(at(timeline, column, 38.0), Some(f64::from(0.4f32)));

    let trials = chart(front, "trials");
    let series = |name: &str| trials.series.iter().find(|series| series.name == name).expect("a series");
    assert_eq!(series("bad").points.iter().map(|p| (p.x, p.y)).collect::<Vec<_>>(), [(4.0, 2016.0)]);
    assert_eq!(series("void").points[0].x, 6.0);
    assert_eq!(series("upper bound").points.iter().map(|p| (p.x, p.y)).collect::<Vec<_>>(), [(4.0, 2016.0)]);
    // The request path: the pool gave first; what it guards follows.
    let expected = [
        ("requests", false, Some("load")),
        ("torment: 1 loop", false, Some("machine")),
        ("400 connections", false, Some("load")),
        ("200 workers", false, Some("threads")),
        ("10 connections", true, Some("sockets")),
        ("10 sessions", false, Some("database")),
        ("Timeout PgSleep", false, None),
    ];
    assert_eq!(way(&front.chain), expected);
    assert_eq!(front.chain[0].facts[0].to_string(), "well, at 1,984/s on average");
    // Occupancy, from the same figures; unknown values are omitted.
    let pool = &front.chain[4];
    let full = |in_use: &str, share, stay: &str, waiting: &str| {
        let [in_use, stay, waiting] = [in_use, stay, waiting].map(|text| Some(text.to_owned()));
        Some(Occupancy { in_use, share: Some(share), stay, waiting })
    };
    assert_eq!(pool.well, full("2 of 10", 0.2, "50 ms", "0"));
    assert_eq!(pool.degraded, full("9.9 of 10", 0.99, "52.1 ms", "190"));
    let sessions = front.chain[5].degraded.as_ref().expect("they were seen");
    assert_eq!((sessions.in_use.as_deref(), sessions.share), (Some("9.7 in use"), None));
    assert_eq!((&front.chain[5].well, &front.chain[6].degraded), (&None, &None));
    // Nothing from above is repeated below.
    assert!(!said(section(front, "evidence")).contains("200 workers → "));
    assert!(!said(section(front, "search")).contains("holds 1,984"));

    // The picture of the limit: one mark per trial except the warm-up, the limit as wide as its interval, and the region beyond.
    let [limit, good] = front.pictures.as_slice() else { panic!("two pictures: {:?}", front.pictures) };
    let holds = limit.bounds.iter().find(|bound| bound.name == "holds").expect("it is known");
    assert!((holds.at - 1984.0).abs() < 1e-6 && holds.along_x);
    let bands: Vec<_> = limit.bands.iter().map(|band| (band.from, band.to, band.tone)).collect();
    assert_eq!(bands, [(Some(1984.0), Some(2016.0), Tone::Strong), (Some(2016.0), None, Tone::Bad)]);
    let marks: Vec<(f64, Tone)> = limit.series[0].points.iter().map(|point| (point.x, point.tone)).collect();
    assert!(marks.contains(&(2016.0, Tone::Bad)) && marks.contains(&(1984.0, Tone::Good)), "{marks:?}");
    assert!(marks.contains(&(1990.0, Tone::Warn)), "the void one is there, and looks it: {marks:?}");
    let shares: Vec<(f64, f64)> = good.series[0].points.iter().map(|point| (point.x, point.y)).collect();
    assert_eq!(shares, [(1000.0, 1.0), (1984.0, 1.0), (2016.0, 0.0)], "a void trial is neither");
    let fails = &good.series[0].points[2];
    assert!(
        fails.low.is_none() && fails.high.is_none(),
        "one trial says next to nothing of the others: {fails:?}"
    );

    let caveats: Vec<(&str, Option<&str>)> =
        front.doubts.iter().map(|doubt| (doubt.text.as_str(), doubt.section.as_deref())).collect();
    assert!(
        caveats.contains(&(
            "the generator was late by 4 ms at p99 (1 trial, which does not count)",
            Some("load")
        )),
        "{caveats:?}"
    );
    assert!(
        caveats.iter().any(|(text, about)| text.starts_with("target and generator share") && about.is_none())
    );
    // What is above, with its expected gain, is not repeated.
    assert_eq!(words[2], "next: make the query shorter before you raise the pool");
    assert!(!said(section(front, "evidence")).contains("make the query shorter"));
}

/// During the search the picture's caption says what is tried and why; not between trials, nor after it was cut short.
#[test]
fn what_is_asked_now_stands_under_the_picture() {
    let begun =
        || RunBuilder::start("find").trial(load(Purpose::Climb, 1000.0, 2)).bounds(pair(Some(1000.0), None));
    let caption = |run: RunBuilder, running| {
        let mut page = PageBuilder::from_events(&run.events);
        page.run.running = running;
        document(&page).front.pictures[0].note.clone()
    };
    let always = "each mark is a percentile of one trial";
    let now = caption(begun().begin(&good(1240.0), 4), true);
    assert!(now.starts_with(&format!("now: 1,240/s, to narrow the interval; {always}")), "{now}");
    for (run, running) in [(begun(), true), (begun().begin(&good(1240.0), 4), false)] {
        let caption = caption(run, running);
        assert!(caption.starts_with(always), "{caption}");
    }
}

/// If torment was the limit, what failed above is no limit of the target's and not drawn as one; torment's capacity is stated once, with
/// what helps.
#[test]
fn a_limit_that_was_not_found_is_open_above() {
    let us = |text: &str| text.parse().expect("a duration");
    let capacity = GeneratorCapacity {
        most: 3_610.0,
        user: us("2.1us"),
        kernel: us("6.3us"),
        worked: 0.97,
        waited: 0.02,
        connects: 0.001,
    };
    let late = "the generator was late by 4 ms at p99, more than a tenth of the deadline";
    let mut diagnosis = crate::synthetic::watched::diagnosis();
    let sentence = "The load generator itself was the limit: these figures measure torment, not the target.";
    diagnosis.findings.truncate(1);
    diagnosis.findings[0].cause = Cause::Generator;
    diagnosis.findings[0].sentence = sentence.to_owned();
    diagnosis.sentences = vec![sentence.to_owned()];
    let run = RunBuilder::start("find")
        .trial(good(1984.0))
        .trial(good(4000.0).void("generator-late", late))
        .diagnosed(diagnosis)
        .made(SearchEnd::GeneratorLimit, pair(Some(1984.0), Some(4000.0)), Vec::new(), Some(capacity));
    let front = document(&PageBuilder::from_events(&run.events)).front;
    let words = words(&front);
    assert!(
        words[0]
            .starts_with("at least 1,984 requests/s: torment was the limit, and the target's is not known"),
        "{words:?}"
    );
    assert!(!words[0].contains("4,000"), "{words:?}");
    assert!(
        words[1]
            == "torment fell behind in 1 trial at 4,000 requests/s, and sent at most 3,610 a second (high confidence)",
        "{words:?}"
    );
    assert!(
        words[2].starts_with(
            "next: generate the load on another machine (--on ssh:HOST): this one has only 2 processors"
        ),
        "{words:?}"
    );
    // It said "each further processor" of a machine without any, and other advice below.
    assert!(
        words[3]
            .starts_with("expect: each processor there, if as fast as here, sends about 119,000 requests/s"),
        "{words:?}"
    );
    let again = said(section(&front, "evidence"));
    assert!(!again.contains("next: ") && !again.contains("expect: "), "{again}");
    let limit = &front.pictures[0];
    let bands: Vec<_> = limit.bands.iter().map(|band| (band.from, band.to, band.tone)).collect();
    assert_eq!(
        (limit.title.as_str(), bands),
        ("what it held: torment was the limit", vec![(Some(1984.0), None, Tone::Faint)])
    );
    assert_eq!(limit.bands[0].means, "not known", "as in the legend");
    assert!(
        limit.bounds.iter().any(|bound| bound.name == "at least" && bound.tone == Tone::Warn),
        "{:?}",
        limit.bounds
    );
    assert!(limit.note.ends_with("; hollow: void, not counted"), "{}", limit.note);
    assert_eq!(front.pictures.len(), 1, "none was bad, so that there is nothing to be seen of how many were");
    let picture = image(&front).expect("a search has a picture");
    assert!(
        picture.contains("full: good, crossed: bad, hollow: void<"),
        "the key has what is there: {picture}"
    );
    assert!(picture.contains(">not known<"), "there is room for what lies beyond: {picture}");
    assert!(!said(section(&front, "evidence")).contains(sentence));
    assert!(!front.doubts.iter().any(|doubt| doubt.text.contains("was late by 4 ms")), "{:?}", front.doubts);
}

/// torment's capacity was searched for two minutes without saying why.
#[test]
fn that_torment_is_the_limit_is_said_while_the_search_goes_on() {
    let cost = Nanos::from_micros(4);
    let capacity = GeneratorCapacity {
        most: 3_610.0,
        user: cost,
        kernel: cost,
        worked: 0.97,
        waited: 0.02,
        connects: 0.0,
    };
    let late = "torment itself was 103 ms late at p99 (limit: 20 ms)";
    let void = || good(4000.0).void("generator-late", late);
    let limits = pair(Some(1984.0), None);
    let mut run = RunBuilder::start("find").trial(good(1984.0)).trial(void()).trial(void());
    run.events.push(Event::Bounds { limits, making: Some(capacity) });
    let said = "so far torment is the limit: it fell behind again and again, and sends at most 3,610 requests/s to this target";
    let words = words(&document(&PageBuilder::from_events(&run.events)).front);
    assert!(words.iter().any(|line| line == said), "{words:?}");
    // What held it up is over.
    run.events.push(Event::Bounds { limits: pair(Some(1984.0), None), making: None });
    let words = self::words(&document(&PageBuilder::from_events(&run.events)).front);
    assert!(!words.iter().any(|line| line.starts_with("so far torment")), "{words:?}");
}

/// Of 42 trials up to the highest rate allowed 17 were void, and the advice was to quadruple that rate.
#[test]
fn where_torment_fell_behind_on_the_way_that_comes_first() {
    let late = "torment itself was 103 ms late at p99 (limit: 20 ms)";
    let void = || good(500.0).void("generator-late", late);
    let run = RunBuilder::start("find").trial(good(600.0)).trial(void()).trial(void()).trial(good(600.0));
    let front = document(&PageBuilder::from_events(
        &run.found(SearchEnd::MaxReached, pair(Some(600.0), None), Vec::new()).events,
    ))
    .front;
    let words = words(&front);
    let next = "next: torment fell behind in 2 trials, so generate the load on another machine (--on ssh:HOST): this one has only \
                2 processors; then raise --max to 2400";
    assert!(words.iter().any(|line| line == next), "{words:?}");
    assert!(
        front.doubts.iter().all(|doubt| !doubt.text.contains("late at p99")),
        "it is said once: {:?}",
        front.doubts
    );
}

/// RabbitMQ was down after an overload, and the first page only had "the target did not recover".
#[test]
fn a_target_that_is_down_comes_right_after_what_it_held() {
    let run = || {
        let mut overload = good(2200.0).bad(Outcome::Timeout, 9000);
        overload.recovery = Recovery::Not(Nanos::from_secs(30));
        let run = RunBuilder::start("find").trial(good(1984.0)).trial(overload);
        run.trial(load(Purpose::Recovery, 20.0, 1).failed(Failure::Status(500), 20))
    };
    let said = |run: RunBuilder| {
        let ended = run.found(SearchEnd::NotRecovered, pair(Some(1984.0), Some(2200.0)), Vec::new());
        words(&document(&PageBuilder::from_events(&ended.events)).front)
    };
    let down =
        "the target did not recover from an overload within 30 s: since then it answers with status 500";
    let bare = said(run());
    assert!(bare[1].starts_with(down), "{bare:?}");
    assert_eq!(bare.iter().filter(|line| line.contains("did not recover")).count(), 1, "{bare:?}");
    let diagnosed = said(run().diagnosed(crate::synthetic::watched::diagnosis()));
    assert!(diagnosed[1].starts_with(down) && !diagnosed[2].contains("did not recover"), "{diagnosed:?}");
    // It had run out of descriptors, though processors gave first.
    let mut found = crate::synthetic::watched::diagnosis();
    found.findings.push(record::Finding {
        cause: Cause::Descriptors,
        sentence: "beam.smp has no descriptors left: 1,024 of 1,024 are open.".to_owned(),
        ..found.findings[0].clone()
    });
    let lacked = said(run().diagnosed(found));
    let words = "; in that overload beam.smp has no descriptors left: 1,024 of 1,024 are open";
    assert!(lacked[1].ends_with(words), "{lacked:?}");
}
