//! Names: large numbers of them, and special characters.

use crate::page::search::search;
use crate::page::support::{at, chart, document, said, section};
use crate::synthetic::{RunBuilder, load};
use record::watch::{ThreadGroup, ThreadState, ThreadWait, TreeWindow, Window};
use record::{Caveat, Event, Purpose};
use torment_view::document::Chart;
use torment_view::page::PageBuilder;
use units::Nanos;

#[test]
fn many_groups_and_states_are_summed_as_other() {
    let state = |nth: u32| ThreadState {
        wait: ThreadWait::Other { what: format!("call {nth}") },
        threads: f64::from(nth + 1),
    };
    let groups = (0..9).map(|nth| ThreadGroup {
        name: format!("pool-{nth}"),
        threads: 78.0 + f64::from(nth),
        on_cpu_ns: 100_000_000,
        states: (0..12).map(state).collect(),
        ..ThreadGroup::default()
    });
    let window = Window {
        to: Nanos::from_secs(1),
        subjects: vec![TreeWindow { processes: 1, groups: groups.collect(), ..TreeWindow::default() }],
        ..Window::default()
    };
    let run = RunBuilder::start("run").watched(crate::synthetic::watched::watched());
    let mut run = run.begin(&load(Purpose::Load, 10.0, 2), 1);
    run.events.push(Event::Observed { trial: 1, place: String::new(), window: Box::new(window) });
    let document = document(&PageBuilder::from_events(&run.events));
    let stacks: Vec<&Chart> = section(&document.front, "threads")
        .charts
        .iter()
        .filter(|chart| chart.id.starts_with("threads-"))
        .collect();
    assert_eq!(stacks.len(), 6);
    assert!(stacks.iter().all(|chart| chart.series.len() == 9));
    // Of 12 states with 1 to 12 threads the largest eight are shown.
    assert_eq!(at(&document.timeline, "threads.0.8.other", 13.0), Some(1.0 + 2.0 + 3.0 + 4.0));
    let cpu = at(&document.timeline, "cpu.0.other", 13.0).expect("three groups are not shown");
    assert!((cpu - 0.3).abs() < 1e-6, "{cpu}");
}

/// Text is never markup, and arrives unchanged.
#[test]
fn markup_in_names_is_left_alone() {
    let nasty = "<img src=x onerror=alert(1)> & \"quoted\"";
    let mut events = search();
    for event in &mut events {
        match event {
            Event::RunStarted(started) => {
                started.target = nasty.to_owned();
                started.plan = format!("name = '{nasty}'\n");
            }
            Event::WatchStarted { watched, .. } => watched.subjects[0].name = nasty.to_owned(),
            Event::Observed { window, .. } => window.subjects[0].groups[0].name = nasty.to_owned(),
            Event::Caveat { caveat } => *caveat = Caveat::new(caveat.doubt.clone(), nasty),
            _ => {}
        }
    }
    let document = document(&PageBuilder::from_events(&events));
    assert_eq!(document.front.head.target, nasty);
    assert!(document.front.doubts.iter().any(|doubt| doubt.text == nasty));
    assert_eq!(chart(&document.front, "threads-0-0").title, format!("{nasty}: {nasty}"));
    assert!(said(section(&document.front, "run")).contains(nasty));
}
