//! The database, as it reports itself.

use crate::Tone;
use crate::document::{AxisUnit, Chart, Section, SeriesRole};
use crate::page::builder::PageBuilder;

pub(super) fn section(page: &PageBuilder) -> Section {
    let title = "sessions of PostgreSQL, by what they do";
    let sessions =
        Chart::stack("sessions", title, ("sessions", AxisUnit::Count)).note("idle sessions are left out");
    let sessions = page
        .target
        .sessions
        .shown()
        .fold(sessions, |chart, (nth, word)| {
            chart.column(word, SeriesRole::Nth(nth as u8), format!("sessions.{nth}"))
        })
        .column("other", SeriesRole::Idle, "sessions.other");
    let watched = page.run.places.iter().find_map(|place| place.coverage.postgres.as_ref());
    let most = watched.and_then(|postgres| postgres.setting("max_connections")?.parse().ok());
    let connections = Chart::lines("database-connections", "connections", ("connections", AxisUnit::Count))
        .column("all databases", SeriesRole::Busy, "postgres.connections")
        .bound("max_connections", most, Tone::Bad);
    let done = Chart::lines("transactions", "transactions", ("a second", AxisUnit::PerSecond)).column(
        "committed",
        SeriesRole::Good,
        "postgres.commits",
    );
    let done = match page.has_nonzero("postgres.rollbacks") {
        true => done.column("rolled back", SeriesRole::Bad, "postgres.rollbacks"),
        false => done,
    };
    let wal = Chart::lines("wal", "write-ahead log, bytes a second", ("bytes", AxisUnit::Bytes)).column(
        "written",
        SeriesRole::Busy,
        "postgres.wal",
    );
    let section = Section::named("database", "The database");
    let section = section.chart(page, sessions).chart(page, connections).chart(page, done).chart(page, wal);
    if !page.has_nonzero("postgres.blocks_read") {
        return section;
    }
    let title = "pages read from outside shared buffers";
    let read = Chart::lines("pages-read", title, ("a second", AxisUnit::PerSecond));
    section.chart(page, read.column("pages", SeriesRole::Waiting, "postgres.blocks_read"))
}
