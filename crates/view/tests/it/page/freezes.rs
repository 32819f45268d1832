//! A search whose target froze.

use crate::page::support::{document, good, words};
use crate::synthetic::{LoadBuilder, RunBuilder, load, pair};
use diagnosis::{ObservedRun, diagnose};
use record::{GeneratorCapacity, Outcome, Purpose, SearchEnd};
use torment_view::document::PageFront;
use torment_view::page::PageBuilder;
use torment_view::{RunView, Tone, explain, run_json, summary};
use units::Nanos;

fn front(run: &RunBuilder) -> PageFront {
    document(&PageBuilder::from_events(&run.events)).front
}

/// It froze from the third second on, for one second.
fn froze(load: LoadBuilder) -> LoadBuilder {
    load.still(3_000, 1_000)
}

fn void(load: LoadBuilder) -> LoadBuilder {
    load.void("generator-late", "the generator was late by 40 ms at p99")
}

/// A search ended by torment, which is not named as the limit by itself.
fn ended_by_torment(run: RunBuilder, upper: Option<f64>) -> PageFront {
    let cost = Nanos::from_micros(4);
    let capacity = GeneratorCapacity {
        most: 1_990.0,
        user: cost,
        kernel: cost,
        worked: 0.1,
        waited: 0.4,
        connects: 0.0,
    };
    front(&run.made(SearchEnd::GeneratorLimit, pair(Some(1984.0), upper), Vec::new(), Some(capacity)))
}

/// A service that froze for one second in ten held 320/s in one trial and failed at 540/s in another; no line said why.
#[test]
fn trials_that_are_bad_where_the_target_froze_are_explained_by_that() {
    let bad = || froze(good(2022.0).bad(Outcome::Unfinished, 300));
    let run = |calm: LoadBuilder| {
        RunBuilder::start("find").trial(calm.clone()).trial(calm).trial(bad()).trial(bad())
    };
    let limits = || pair(Some(1984.0), Some(2022.0));
    let said = words(&front(&run(good(1984.0)).found(SearchEnd::Converged, limits(), Vec::new())));
    let cost = "a freeze of 1 s at 2,022/s leaves 2,022 requests waiting; what it did then could not be seen";
    assert_eq!(said[1], format!("above that the target froze in every bad trial (2): {cost}"), "{said:?}");
    assert!(said[2].starts_with("next: look into the target's log at those moments"), "{said:?}");
    assert!(said[3].starts_with("expect: without the freezes no answer is held up for 1 s"), "{said:?}");
    let unknown = "; the limit is then 1,984/s or more: above it nothing failed without a freeze";
    assert!(said[3].ends_with(unknown), "{said:?}");
    let fails = run(good(1984.0)).trial(good(2100.0).bad(Outcome::Unfinished, 300));
    let said = words(&front(&fails.found(SearchEnd::Converged, limits(), Vec::new())));
    let bound = "; the limit is then between 1,984/s and 2,100/s, where trials failed without a freeze";
    assert!(said[3].ends_with(bound), "{said:?}");
    // Twisted froze twice for a tenth of a second, once in a bad trial: if little more fails without freezes, they are not the reason.
    let little = run(good(1984.0)).trial(good(2083.0).bad(Outcome::Unfinished, 300));
    let said = words(&front(&little.found(SearchEnd::Converged, limits(), Vec::new())));
    assert!(!said.iter().any(|line| line.contains("every bad trial")), "{said:?}");
    // Keycloak froze in the only bad trial near its limit, as it may by chance.
    let once = RunBuilder::start("find").trial(good(1984.0)).trial(good(1984.0)).trial(bad());
    let said = words(&front(&once.found(SearchEnd::Converged, limits(), Vec::new())));
    assert!(!said.iter().any(|line| line.contains("every bad trial")), "{said:?}");
    // If good trials freeze as often, freezes are not the reason.
    let said = words(&front(&run(froze(good(1984.0))).found(SearchEnd::Converged, limits(), Vec::new())));
    assert!(!said.iter().any(|line| line.contains("every bad trial")), "{said:?}");
}

/// As `find` diagnoses it at its end.
fn diagnosed(run: RunBuilder) -> RunBuilder {
    let mut recording = ObservedRun::default();
    run.events.iter().for_each(|event| recording.fold(event));
    run.diagnosed(diagnose(&recording))
}

/// A diagnosis in stored runs: of a search whose trials near the limit all froze it said, with low confidence, that the queue of new
/// connections was full, and not why.
#[test]
fn freezes_that_left_most_of_those_who_wait_are_what_gave_first() {
    let froze = |rate: f64| good(rate).still(200, 1_000).left(490);
    let bad = |load: LoadBuilder| load.grows(7.0);
    let run = RunBuilder::start("find").trial(good(250.0)).trial(froze(490.0)).trial(froze(494.0));
    let run = run.trial(bad(froze(503.0))).trial(bad(good(572.0)));
    let run = diagnosed(run).found(SearchEnd::Noisy, pair(Some(494.0), Some(503.0)), Vec::new());
    let said = words(&front(&run));
    assert!(said[0].starts_with("holds 494 requests/s in trials of 10 s (between 494 and 503; "), "{said:?}");
    assert!(said[0].ends_with("none bad); about 473 for longer; its capacity varies"), "{said:?}");
    // The cost of freezes is not taken for what sets the limit, which is unknown.
    let unknown = "what sets the limit is not known: between freezes it answers no more than that either, however many requests queue";
    assert_eq!(said[1], unknown, "{said:?}");
    let cost = "the service froze 3 times for 1 s each: at 503/s each freeze leaves 503 requests waiting; what it did then could not be seen. (after a trial it can catch up; in the long run it has only 94 % of the time)";
    assert_eq!(said[2], cost, "{said:?}");
    assert!(said[3].starts_with("next: look into the target's log at those moments"), "{said:?}");
    assert_eq!(
        said[4],
        "expect: without the freezes no answer is held up for 1 s, and the target serves all of the time, not 94 % of it; for longer than a trial it then holds about 494/s, too"
    );
    assert_eq!(front(&run).chain, [], "nothing in it gave first");
    let summary: Vec<String> =
        summary(&RunView::from_events(&run.events)).iter().map(ToString::to_string).collect();
    assert_eq!(summary.iter().filter(|line| line.contains("froze 3 times")).count(), 1, "{summary:#?}");
    let explained: Vec<String> =
        explain(&RunView::from_events(&run.events)).iter().map(ToString::to_string).collect();
    assert!(explained.iter().any(|line| line.contains("expect: without the freezes")), "{explained:#?}");
    assert_eq!(run_json(&RunView::from_events(&run.events))["diagnosis"]["findings"][0]["cause"], "freeze");
}

/// If something else sets the limit, the gain from removing the freezes comes second.
#[test]
fn freezes_beside_what_sets_the_limit_come_second() {
    let run = RunBuilder::start("find").trial(froze(good(1984.0))).trial(froze(good(1984.0)));
    let run = run.trial(good(2022.0).grows(30.0)).diagnosed(crate::synthetic::watched::diagnosis());
    let said = words(&front(&run.found(SearchEnd::Converged, pair(Some(1984.0), Some(2022.0)), Vec::new())));
    let line = |label: &str| said.iter().find(|line| line.starts_with(label)).cloned().unwrap_or_default();
    let (next, expect) = (line("next: "), line("expect: "));
    assert!(next.contains("; then, for the freezes, look into the target's log"), "{said:#?}");
    let longer = "; without the freezes it holds as much for longer than a trial";
    assert!(expect.ends_with(longer), "{said:#?}");
}

/// If the target froze in each trial in which torment was late, torment is not the limit.
#[test]
fn who_falls_behind_only_in_freezes_is_not_the_limit() {
    let run = |late: LoadBuilder| {
        RunBuilder::start("find").trial(good(1984.0)).trial(void(froze(good(2100.0)))).trial(void(late))
    };
    let said = words(&ended_by_torment(run(froze(good(2200.0))), None));
    let headline = "at least 1,984 requests/s: above that torment fell behind whenever the target froze";
    assert!(said[0].starts_with(headline), "{said:?}");
    assert!(said.iter().any(|line| line.starts_with("next: look into the target's log")), "{said:?}");
    let said = words(&ended_by_torment(run(good(2200.0)), None));
    assert!(
        said[0]
            .starts_with("at least 1,984 requests/s: torment was the limit, and the target's is not known"),
        "{said:?}"
    );
}

/// Whatever torment could not do, a bad trial that counts is the target's own.
#[test]
fn what_fails_all_the_same_is_told_and_drawn() {
    let bad = good(4000.0).grows(900.0);
    let run = RunBuilder::start("find").trial(good(1984.0)).trial(bad).trial(void(good(2500.0)));
    let front = ended_by_torment(run, Some(4000.0));
    let said = words(&front);
    assert!(
        said[0].starts_with("at least 1,984 requests/s: fails at 4,000, torment fell behind in between"),
        "{said:?}"
    );
    let bands: Vec<_> = front.pictures[0].bands.iter().map(|band| (band.from, band.to, band.tone)).collect();
    assert_eq!(bands, [(Some(1984.0), Some(4000.0), Tone::Faint), (Some(4000.0), None, Tone::Bad)]);
}

/// "Seen 5 times in trials" was also said of a load, which has none.
#[test]
fn how_often_it_froze_is_told_of_what_there_was() {
    let beat = |load: LoadBuilder| (1..6).fold(load, |load, nth| load.still(10_000 * nth - 980, 980));
    let said = |run: RunBuilder| {
        let lines = summary(&RunView::from_events(&run.events)).into_iter().map(|line| line.to_string());
        lines.filter(|line| line.contains("froze")).collect::<Vec<_>>().join("; ")
    };
    let fails = beat(load(Purpose::Load, 1_000.0, 60)).bad(Outcome::Timeout, 9);
    let of_load = said(RunBuilder::start("run").trial(fails).judged(Some(false)));
    assert!(
        of_load.contains("the target froze 5 times for 980 ms each, every 10 s: 9.8 % of the time;"),
        "{of_load}"
    );
    let holds = beat(load(Purpose::Measure, 1_000.0, 60));
    let search = RunBuilder::start("find").trial(holds);
    let of_search = said(search.found(SearchEnd::Interrupted, pair(Some(1_000.0), None), Vec::new()));
    assert!(
        of_search.contains(
            "the target froze for 980 ms each, every 10 s, seen 5 times in trials: 9.8 % of the time;"
        ),
        "{of_search}"
    );
}
