//! A load.

use crate::hand::{Run, load};
use crate::page::kit::{at, chart, document, golden, said, section, words};
use record::{Outcome, Purpose};
use torment_view::page::Pages;

#[test]
fn a_load_that_fails_its_goal() {
    let failing = load(Purpose::Load, 400.0, 30).bad(Outcome::Timeout, 300).grows(8.0);
    let pages = Pages::of(&Run::start("run").trial(failing).judged(Some(false)).events);
    let document = document(&pages);
    golden("load", &document);
    let front = &document.front;
    let words = words(front);
    assert_eq!(words[0], "goal not met: zero-drop (400/s for 30 s)");
    assert!(
        words[1].starts_with("lost 2.5 %: 300 of 12,000 requests bad; the queue grows by 8 "),
        "{words:?}"
    );
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
