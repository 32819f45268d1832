//! An in-memory terminal.

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use record::{Event, Machine, RunId, RunKind};
use torment_tui::{Palette, draw};
use view::LiveRun;

pub const STARTED: u64 = 1_795_191_302_000;

pub fn started(command: &str, target: &str) -> Event {
    Event::RunStarted(Box::new(record::RunStart {
        id: RunId("20261120-161502-k3f".to_owned()),
        at_unix_ms: STARTED,
        version: "0.1.0".to_owned(),
        method: record::METHOD,
        command: RunKind::from(command.to_owned()),
        target: target.to_owned(),
        goal: "zero-drop".to_owned(),
        plan: String::new(),
        parts: Vec::new(),
        machine: Machine::default(),
        part_of: None,
        label: record::Label::default(),
    }))
}

/// A run's state at its beginning.
pub fn of<'a>(events: impl IntoIterator<Item = &'a Event>) -> LiveRun {
    LiveRun::from_events(events, STARTED)
}

/// The screen after so many milliseconds.
pub fn screen_at(view: &LiveRun, (width, height): (u16, u16), after_ms: u64, stopping: bool) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).expect("memory is a terminal");
    let palette = Palette { colour: true };
    terminal
        .draw(|frame| draw(frame, view, STARTED + after_ms, stopping, palette))
        .expect("memory takes everything");
    let buffer = terminal.backend().buffer();
    let row = |y| (0..width).map(|x| buffer[(x, y)].symbol().to_owned()).collect::<String>();
    (0..height).map(|y| row(y).trim_end().to_owned() + "\n").collect()
}

pub fn screen(view: &LiveRun, size: (u16, u16)) -> String {
    screen_at(view, size, 83_000, false)
}

#[track_caller]
pub fn check(screen: &str, words: &[&str]) {
    for word in words {
        assert!(screen.contains(word), "'{word}' is missing from\n{screen}");
    }
}
