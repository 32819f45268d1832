//! The first screen of a search.

use crate::page::support::{document, good, words};
use crate::synthetic::{RunBuilder, load, pair};
use record::{Caveat, CaveatDetails, CaveatKind, Outcome, Purpose, SearchEnd};
use torment_view::Tone;
use torment_view::document::PageFront;
use torment_view::page::PageBuilder;

/// "At least 92,520/s, none bad" above a cross at 87,890/s puzzled readers.
#[test]
fn a_bad_trial_below_what_was_held_is_told() {
    let late = "torment itself was 27.2 ms late at p99 (limit: 20 ms)";
    let below = || load(Purpose::Curve, 1900.0, 2);
    let front = |run: RunBuilder, ended: SearchEnd, upper: Option<f64>| {
        document(&PageBuilder::from_events(&run.found(ended, pair(Some(1984.0), upper), Vec::new()).events))
            .front
    };
    let told = |front: &PageFront| words(front).into_iter().find(|line| line.contains("below 1,984"));
    let bad = || RunBuilder::start("find").trial(good(1984.0)).trial(below().bad(Outcome::Unfinished, 836));
    let ours = front(bad().trial(below().void("generator-late", late)), SearchEnd::GeneratorLimit, None);
    let said = "in one trial below 1,984: answers are still missing 100 ms after the load: 836 of 3,800 requests (22 %) at 1,900/s; \
                torment fell behind at that rate in another trial, so this may be torment's doing";
    assert_eq!(told(&ours).as_deref(), Some(said));
    assert!(
        ours.pictures[0].note.contains("; 1 bad trial at or below the line;"),
        "{}",
        ours.pictures[0].note
    );
    let never = told(&front(bad(), SearchEnd::MaxReached, None)).expect("a cross is in that picture, too");
    assert!(never.ends_with("at 1,900/s; trials at that rate or above were good"), "{never}");
    assert_eq!(
        told(&front(bad(), SearchEnd::Converged, Some(2016.0))),
        None,
        "of a limit, nine trials in ten hold"
    );
}

/// When a load had opened all its connections, the caveat advised raising their number, and the advice beside it fewer.
#[test]
fn that_all_connections_were_busy_is_no_advice_to_open_more() {
    let mut busy = good(1984.0);
    busy.caveats.push(Caveat::with_details(
        CaveatKind::ConnectionsLimit,
        CaveatDetails::Crowded { connections: 10_000 },
    ));
    let run = RunBuilder::start("find").trial(busy).trial(good(2016.0).bad(Outcome::Unfinished, 140));
    let run = run.found(SearchEnd::Converged, pair(Some(1984.0), Some(2016.0)), Vec::new());
    let caveats = document(&PageBuilder::from_events(&run.events)).front.doubts;
    let said = "all 10,000 connections were busy (--max-connections): further arrivals waited in torment, where the target does not \
                see them (1 trial)";
    assert_eq!(caveats.iter().map(|doubt| doubt.text.as_str()).collect::<Vec<_>>(), [said]);
}

/// Amber said that a limit is less certain, without saying why.
#[test]
fn a_limit_that_is_amber_says_why() {
    let first = |ended: SearchEnd| {
        let run =
            RunBuilder::start("find").trial(good(1984.0)).trial(good(2016.0).bad(Outcome::Unfinished, 140));
        let run = run.found(ended, pair(Some(1984.0), Some(2016.0)), Vec::new());
        words(&document(&PageBuilder::from_events(&run.events)).front).remove(0)
    };
    assert!(
        first(SearchEnd::Noisy).ends_with("none bad); its capacity varies"),
        "{}",
        first(SearchEnd::Noisy)
    );
    assert!(
        first(SearchEnd::BudgetSpent).ends_with("none bad); the search ran out of time (--budget)"),
        "{}",
        first(SearchEnd::BudgetSpent)
    );
    assert!(first(SearchEnd::Converged).ends_with("none bad)"), "{}", first(SearchEnd::Converged));
}

/// For a service whose limit varies no trial was good within 3 % of it, and nothing was said of its response times.
#[test]
fn what_to_plan_for_is_told_also_where_no_trial_near_the_limit_was_good() {
    let run = RunBuilder::start("find")
        .trial(good(1600.0))
        .trial(good(2100.0))
        .trial(good(2200.0).bad(Outcome::Unfinished, 14));
    let told = |run: RunBuilder| {
        let mut limits = pair(Some(1900.0), Some(2150.0));
        limits[0].held = Some(2000.0);
        let front =
            document(&PageBuilder::from_events(&run.found(SearchEnd::Noisy, limits, Vec::new()).events))
                .front;
        words(&front).into_iter().filter(|line| line.starts_with("plan for: ")).collect::<Vec<_>>()
    };
    let asks = "; to set a limit: --goal 'p99<50ms'";
    let plan = "plan for: 1,600/s, 80 % of what holds, to have room: p50 is 549 µs and p99 598 µs there";
    assert_eq!(told(run), [format!("{plan}{asks}")], "once");
    let near = RunBuilder::start("find").trial(good(1600.0)).trial(good(2000.0));
    assert_eq!(told(near), [format!("{plan}; p99 up to 598 µs near 2,000/s{asks}")]);
}

/// The page of a leaking service advised planning for 255/s, which it would not have held for long.
#[test]
fn what_slows_down_is_nothing_to_plan_with() {
    let run = RunBuilder::start("find").trial(good(1600.0)).trial(good(1984.0));
    let run = run.doubt("slows-down", "the target did less from trial to trial");
    let run = run.found(SearchEnd::Noisy, pair(Some(1984.0), Some(2016.0)), Vec::new());
    let said = words(&document(&PageBuilder::from_events(&run.events)).front);
    assert!(said[0].ends_with("; it slows down"), "{}", said[0]);
    let plan: Vec<_> = said.iter().filter(|line| line.starts_with("plan for: ")).collect();
    assert_eq!(plan, ["plan for: no rate yet: it does less the longer it runs"]);
}

/// The page of a target that held all that was asked lacked the rate to plan for, which that of a limit has.
#[test]
fn every_search_says_what_to_plan_for() {
    let told = |ended: SearchEnd, upper: Option<f64>| {
        let run = RunBuilder::start("find").trial(good(1600.0)).trial(good(1984.0));
        let found = match ended {
            SearchEnd::GeneratorLimit => run.made(ended, pair(Some(1984.0), upper), Vec::new(), None),
            ended => run.found(ended, pair(Some(1984.0), upper), Vec::new()),
        };
        let said = words(&document(&PageBuilder::from_events(&found.events)).front);
        said.into_iter().filter(|line| line.starts_with("plan for: ")).collect::<Vec<_>>()
    };
    let quick = "p50 is 549 µs and p99 598 µs";
    let asks = "; to set a limit: --goal 'p99<50ms'";
    let plan = format!(
        "plan for: 1,600/s, 80 % of what holds, to have room: {quick} there; p99 up to 598 µs near 1,984/s"
    );
    assert_eq!(told(SearchEnd::MaxReached, None), [format!("{plan}{asks}")]);
    assert_eq!(told(SearchEnd::Converged, Some(2016.0)), [format!("{plan}{asks}")]);
    let ours = "plan for: 1,590/s, 80 % of what holds, to have room, until the target's own limit is known; response times here are partly torment's own";
    assert_eq!(told(SearchEnd::GeneratorLimit, None), [ours]);
}

/// A varying limit was grey on its page, green in its picture, and amber in the list of runs.
#[test]
fn what_a_search_came_to_has_one_colour_in_its_words_and_its_picture() {
    for (ended, tone) in [
        (SearchEnd::Converged, Tone::Good),
        (SearchEnd::MaxReached, Tone::Strong),
        (SearchEnd::Noisy, Tone::Warn),
        (SearchEnd::BudgetSpent, Tone::Warn),
        (SearchEnd::GeneratorLimit, Tone::Warn),
    ] {
        let upper = (!ended.is_at_least()).then_some(2016.0);
        let run =
            RunBuilder::start("find").trial(good(1984.0)).trial(good(2016.0).bad(Outcome::Unfinished, 140));
        let limits = pair(Some(1984.0), upper);
        let front =
            document(&PageBuilder::from_events(&run.found(ended.clone(), limits, Vec::new()).events)).front;
        let line =
            front.pictures[0].bounds.iter().find(|bound| bound.at == 1984.0).expect("what holds is drawn");
        assert_eq!((front.verdict[0].pieces[0].tone, line.tone), (tone, tone), "{ended:?}");
    }
}
