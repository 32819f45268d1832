//! A load.

use crate::page::support::{at, chart, document, golden, said, section, words};
use crate::synthetic::{RunBuilder, load};
use record::{Outcome, Purpose};
use torment_view::document::{Document, Timeline};
use torment_view::page::PageBuilder;

/// Rare events are on the common time axis: resent requests, and freezes of the target.
#[test]
fn what_happens_now_and_then_is_drawn_where_it_happened() {
    let of = |load| {
        document(&PageBuilder::from_events(&RunBuilder::start("run").trial(load).judged(Some(true)).events))
    };
    let calm = of(load(Purpose::Load, 400.0, 30));
    let ids = |document: &Document| -> Vec<String> {
        section(&document.front, "load").charts.iter().map(|chart| chart.id.clone()).collect()
    };
    assert!(!ids(&calm).contains(&"resent".to_owned()), "{:?}", ids(&calm));
    assert!(chart(&calm.front, "heat").marks.is_empty());

    let again = of(load(Purpose::Load, 400.0, 30).resent(60));
    assert_eq!(ids(&again).last().map(String::as_str), Some("resent"));
    assert_eq!(at(&again.timeline, "resent", 13.0), Some(2.0));

    let froze = (1..6).fold(load(Purpose::Load, 1000.0, 60), |load, nth| load.still(10_000 * nth - 980, 980));
    let froze = of(froze);
    let image = torment_view::svg(&froze).expect("a load has its course");
    assert_eq!(
        image.matches("class=\"still\"").count(),
        3 * (5 + 1),
        "five in each panel, and what they are"
    );
    assert_eq!(image.matches(">frozen</text>").count(), 3, "{image}");
    for id in ["rate", "response-time", "waiting", "heat"] {
        let marks: Vec<f64> = chart(&froze.front, id).marks.iter().map(|mark| mark.to - mark.from).collect();
        assert!(!marks.is_empty() && marks.iter().all(|length| *length > 0.5), "{id}: {marks:?}");
    }
}

#[test]
fn a_load_that_fails_its_goal() {
    let failing = load(Purpose::Load, 400.0, 30).bad(Outcome::Timeout, 300).grows(8.0);
    let page = PageBuilder::from_events(&RunBuilder::start("run").trial(failing).judged(Some(false)).events);
    let document = document(&page);
    golden("load", &document);
    let front = &document.front;
    let words = words(front);
    assert_eq!(words[0], "goal not met: zero-drop (400/s for 30 s)");
    assert!(
        words[1].starts_with("lost 2.5 %: 300 of 12,000 requests bad; the queue grows by 8 "),
        "{words:?}"
    );
    assert!(
        !words.iter().any(|said| said.starts_with("response time: ")),
        "it failed a weaker goal: {words:?}"
    );
    // The load's course comes first.
    let pictures: Vec<&str> = front.pictures.iter().map(|chart| chart.id.as_str()).collect();
    assert_eq!(pictures, ["rate", "response-time", "waiting"]);
    assert!(section(front, "load").charts.iter().all(|chart| !pictures.contains(&chart.id.as_str())));
    let image = torment_view::svg(&document).expect("a load has its course");
    for drawn in [
        ">rate, a second<",
        ">response time<",
        ">outstanding requests<",
        "course ninety-nine",
        ">15 s<",
        ">400<",
    ] {
        assert!(image.contains(drawn), "no {drawn} in {image}");
    }
    assert!(!image.contains("NaN") && !image.contains("inf") && !image.contains("frozen"), "{image}");
    let nothing = Document { timeline: Timeline::default(), ..document.clone() };
    assert!(!torment_view::svg(&nothing).expect("its axes").contains("course ninety-nine"));
    let outcomes = chart(front, "outcomes");
    let names: Vec<&str> = outcomes.series.iter().map(|series| series.name.as_str()).collect();
    assert_eq!(names, ["ok", "timeout"]);
    assert_eq!(at(&document.timeline, "outcomes.timeout", 13.0), Some(10.0));
    assert_eq!(at(&document.timeline, "goodput", 13.0), Some(390.0));
    let heat = chart(front, "heat").heat.as_ref().expect("something was answered");
    assert_eq!(heat.counts.iter().sum::<u32>(), 11_700);
    let spread = &chart(front, "distribution").series[0];
    assert_eq!(spread.name, "response time");
    assert!(spread.points.len() > 10 && spread.points[0].y < 0.001);
    assert!(said(section(front, "evidence")).contains("nothing was watched"));
    assert!(said(section(front, "run")).contains("target = \"http://127.0.0.1:8080/queue?us=500\""));
}
