//! The database by its own account.

use crate::Tone;
use crate::document::{Chart, Form, Role, Section, Unit};
use crate::page::pages::Pages;

pub(super) fn section(pages: &Pages) -> Section {
    let sessions = Chart::over_time(
        "sessions",
        "sessions of PostgreSQL, by what they do",
        Form::Stack,
        ("sessions", Unit::Count),
    )
    .note("idle sessions are left out");
    let sessions = pages
        .seen
        .sessions
        .shown()
        .fold(sessions, |chart, (nth, word)| {
            chart.column(word, Role::Nth(nth as u8), format!("sessions.{nth}"))
        })
        .column("other", Role::Idle, "sessions.other");
    let watched = pages.run.places.iter().find_map(|place| place.watched.postgres.as_ref());
    let most = watched.and_then(|postgres| postgres.setting("max_connections")?.parse().ok());
    let connections =
        Chart::over_time("database-connections", "connections", Form::Lines, ("connections", Unit::Count))
            .column("all databases", Role::Busy, "postgres.connections")
            .bound("max_connections", most, Tone::Bad);
    let done = Chart::over_time("transactions", "transactions", Form::Lines, ("a second", Unit::PerSecond))
        .column("committed", Role::Good, "postgres.commits");
    let done = match pages.moves("postgres.rollbacks") {
        true => done.column("rolled back", Role::Bad, "postgres.rollbacks"),
        false => done,
    };
    let wal = Chart::over_time("wal", "write-ahead log, bytes a second", Form::Lines, ("bytes", Unit::Bytes))
        .column("written", Role::Busy, "postgres.wal");
    let section = Section::named("database", "The database");
    let section =
        section.chart(pages, sessions).chart(pages, connections).chart(pages, done).chart(pages, wal);
    if !pages.moves("postgres.blocks_read") {
        return section;
    }
    let title = "pages read from outside shared buffers";
    let read = Chart::over_time("pages-read", title, Form::Lines, ("a second", Unit::PerSecond));
    section.chart(pages, read.column("pages", Role::Waiting, "postgres.blocks_read"))
}
