//! A live run over real sockets.

use crate::client::{
    PATIENCE, ReceivedRows, ServedPage, StoreFolder, begin_run, connect, cut_short, end_run, numbers,
    record_load, send, wait_for,
};
use record::RunId;
use std::time::Instant;
use store::RunWriter;

/// A run of six seconds so far, and its page.
fn going_on(target: &str) -> (RunWriter, ServedPage, StoreFolder) {
    let folder = StoreFolder::new();
    let store = folder.store();
    let mut recording = begin_run(&store, "a", target);
    record_load(&mut recording, 0..6);
    wait_for(&store, "a", 8);
    (recording, folder.serve(None), folder)
}

#[test]
fn a_run_is_told_as_it_goes_on_until_its_end() {
    let (mut recording, served, _place) = going_on("http://</script>/");
    let mut events = served.events("a", None);
    let front = events.next_of("front");
    assert_eq!(front.data["head"]["state"], "running");
    assert_eq!(front.data["head"]["target"], "http://</script>/", "it is JSON, no markup");
    let mut rows = ReceivedRows::default();
    rows.take(&events.next_of("rows"));
    let before = rows.at.len();
    assert!(before >= 2, "six seconds, of which the last are not settled: {rows:?}");

    // Later rows are sent, whoever writes them.
    record_load(&mut recording, 6..13);
    while rows.at.len() < before + 5 {
        let event = events.next_of("rows");
        assert!(event.data["from"].as_u64() > Some(0), "only what came since: {}", event.data["from"]);
        rows.take(&event);
    }
    end_run(recording);
    let (mut state, mut last) = (None, None);
    while let Some(event) = events.next() {
        match event.event.as_str() {
            "front" => state = Some(event.data["head"]["state"].clone()),
            "rows" => rows.take(&event),
            _ => last = Some(event),
        }
    }
    assert_eq!(state, Some("ended".into()), "the last that is said is how it ended");
    let last = last.expect("an end");
    assert_eq!((last.event.as_str(), &last.data["state"]), ("end", &"ended".into()));
    let document = served.json("/api/runs/a");
    assert_eq!(rows.at, numbers(&document["timeline"]["at"]), "all of it was told");
}

#[test]
fn whoever_comes_back_goes_on_where_it_was() {
    let (mut recording, served, folder) = going_on("http://a/");
    let mut rows = ReceivedRows::default();
    rows.take(&served.events("a", None).next_of("rows"));

    record_load(&mut recording, 6..12);
    wait_for(&folder.store(), "a", 14);
    let mut again = served.events("a", Some(&rows.id));
    assert_eq!(again.next().expect("an event").event, "front", "what is said is told anew");
    let event = again.next_of("rows");
    assert_eq!(event.data["from"].as_u64(), Some(rows.at.len() as u64), "{}", event.data);
    rows.take(&event);

    for unknown in ["", "x", "7:1", "0:99999", &format!("{}:99999", rows.generation.expect("was told"))] {
        let event = served.events("a", Some(unknown)).next_of("rows");
        assert_eq!(event.data["from"], 0, "'{unknown}' is no place in this run");
    }
    end_run(recording);
    // A browser that lost its connection just before the end gets the rest, and the end.
    let mut after = served.events("a", Some(&rows.id));
    after.next_of("end");
    assert!(after.next().is_none());
}

#[test]
fn runs_without_an_end_have_one_all_the_same() {
    let folder = StoreFolder::new();
    let store = folder.store();
    for id in ["cut", "gone"] {
        let mut recording = begin_run(&store, id, "http://a/");
        record_load(&mut recording, 0..6);
        recording.finish().expect("is kept");
    }
    let served = folder.serve(None);
    let mut events = served.events("cut", None);
    events.next_of("rows");
    cut_short(&folder, "cut");
    assert_eq!(events.next_of("end").data["state"], "cut_short");

    let mut events = served.events("gone", None);
    events.next_of("rows");
    cut_short(&folder, "gone");
    // It may appear as cut short in between, if a poll falls there.
    store.remove(&RunId("gone".to_owned())).expect("nobody writes it");
    let data = events.next_of("end").data;
    assert!(
        data["state"] == "cut_short"
            || data["error"].as_str().is_some_and(|why| why.contains("no run 'gone'")),
        "{data}"
    );
}

#[test]
fn a_browser_that_stands_still_holds_up_nobody() {
    let folder = StoreFolder::new();
    let store = folder.store();
    // This run's front fits into no socket buffer.
    let mut recording = begin_run(&store, "long", &"x".repeat(16 << 20));
    record_load(&mut recording, 0..2);
    wait_for(&store, "long", 4);
    let mut other = begin_run(&store, "other", "http://other/");
    record_load(&mut other, 0..6);
    wait_for(&store, "other", 8);
    let served = folder.serve(None);
    let standing: Vec<_> = (0..3)
        .map(|_| {
            let mut stream = connect(served.at);
            send(&mut stream, "GET", "/api/runs/long/events", "1.1", &[("Host", "localhost")]);
            stream
        })
        .collect();
    let mut events = served.events("other", None);
    events.next_of("rows");
    record_load(&mut other, 6..10);
    events.next_of("rows");
    assert_eq!(served.json("/api/runs/other")["front"]["head"]["target"], "http://other/");
    // Nor does it delay the end.
    let begun = Instant::now();
    served.page.shut_down();
    assert!(begun.elapsed() < PATIENCE, "{:?}", begun.elapsed());
    drop(standing);
}

#[test]
fn the_end_of_a_run_is_told_before_its_page_ends() {
    let (recording, served, _place) = going_on("http://a/");
    let mut events = served.events("a", None);
    events.next_of("rows");
    end_run(recording);
    let at = served.at;
    let ends = std::thread::spawn(move || served.page.shut_down());
    assert_eq!(events.next_of("end").data["state"], "ended");
    assert!(events.next().is_none());
    ends.join().expect("no panic");
    assert!(std::net::TcpStream::connect(at).is_err(), "nothing listens any longer");
}
