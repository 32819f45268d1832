//! Incomplete runs.

use crate::page::support::{at, chart, document, good, words};
use crate::synthetic::{RunBuilder, limit, load, pair};
use record::Purpose;
use torment_view::page::PageBuilder;

#[test]
fn runs_that_are_not_whole() {
    let cut = RunBuilder::start("find")
        .trial(load(Purpose::Climb, 1000.0, 2))
        .bounds(pair(Some(1000.0), None))
        .begin(&good(2000.0), 4);
    let mut page = PageBuilder::from_events(&cut.events);
    let cut = document(&page);
    assert_eq!(words(&cut.front)[0], "holds 1,000 requests/s, perhaps more");
    assert!(words(&cut.front)[1].starts_with("cut short: torment itself ended before the run did"));
    assert_eq!(cut.front.phases[1].label, "trial 2: 2,000/s, cut short");
    assert_eq!(at(&cut.timeline, "offered", 28.0), Some(2000.0), "the last seconds are there too");
    assert_eq!(serde_json::to_value(cut.front.head.state).expect("is JSON"), "cut_short");

    assert!(cut.front.head.again.is_some_and(|typed| typed.contains("\ntorment find ")));

    page.run.running = true;
    page.run.skipped = 3;
    let running = document(&page).front;
    assert_eq!(running.head.now.as_deref(), Some("trial 2: 2,000/s, 4 s of 10 s"));
    assert!(words(&running)[1].starts_with("still running"));
    assert!(
        running.doubts.last().expect("a doubt").text.starts_with("3 events of this run could not be read")
    );

    let nothing = document(&PageBuilder::default());
    assert_eq!(words(&nothing.front), ["the run's first event is missing: nothing can be said about it"]);
    assert!(nothing.timeline.at.is_empty() && nothing.front.sections.is_empty());

    let at_once = document(&PageBuilder::from_events(&RunBuilder::start("run").events));
    assert_eq!(at_once.front.sections.iter().map(|s| s.id.as_str()).collect::<Vec<_>>(), ["evidence", "run"]);

    let one = document(&PageBuilder::from_events(
        &RunBuilder::start("run").begin(&load(Purpose::Load, 100.0, 1), 1).events,
    ));
    assert_eq!(one.timeline.at, [13.0]);
    assert_eq!(at(&one.timeline, "offered", 13.0), Some(100.0));
    assert!(chart(&one.front, "heat").heat.is_some());

    let failed = RunBuilder::start("find").end(
        None,
        1,
        Some("127.0.0.1:8080: connection refused; start the target first"),
    );
    let failed = document(&PageBuilder::from_events(&failed.events));
    assert_eq!(words(&failed.front)[1], "error: 127.0.0.1:8080: connection refused; start the target first");

    // A search with another goal's name has its bounds as well.
    let odd = RunBuilder::start("find").bounds(vec![limit("typical", None, Some(5.0))]);
    document(&PageBuilder::from_events(&odd.events));
}
