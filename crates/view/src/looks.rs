//! One-off inspections that a verdict asked for.

use crate::{Text, Tone};
use record::watch::{ApplicationFrame, CloserLook, StackGroup};
use units::{Nanos, grouped};

/// Thread groups, blocked sessions and statements shown per inspection.
const MAX_SHOWN: usize = 8;

/// Formats one inspection.
pub(crate) fn look_lines(look: &CloserLook) -> Vec<Text> {
    match look {
        CloserLook::Threads { pid, took_ns, at } => {
            let head = format!("threads of JVM {pid}, from its thread dump ({})", Nanos(*took_ns));
            listed(head, at, place)
        }
        CloserLook::Stacks { pid, took_ns, at } => {
            let whose = if *pid == 0 { String::new() } else { format!(" of process {pid}") };
            let head = format!("threads{whose} that wait, by their stacks ({})", Nanos(*took_ns));
            listed(head, at, place)
        }
        CloserLook::VirtualThreads(virtual_threads) => {
            let v = virtual_threads;
            let text = format!(
                "virtual threads of the JVM {}: {} of {} carriers busy, {} ready, {} wait with a deadline, \
                 {} sockets waited for",
                v.pid,
                v.mounted,
                v.parallelism,
                grouped(v.queued),
                grouped(v.delayed),
                grouped(v.reading)
            );
            vec![Text::empty_at_depth(1).with_plain(text)]
        }
        CloserLook::Blockers { blocked } => {
            let head = format!("{} sessions of PostgreSQL blocked by others", blocked.len());
            listed(head, blocked, |session| {
                let by: Vec<String> = session.by.iter().map(u32::to_string).collect();
                let (pid, by, event) = (session.pid, by.join(", "), &session.event);
                format!("session {pid} waits for {by} ({event}): {}", session.statement)
            })
        }
        CloserLook::Statements { statements } => {
            let head = "statements that took most of PostgreSQL's time".to_owned();
            listed(head, statements, |statement| {
                let mean = Nanos((statement.total_ms / statement.calls.max(1) as f64 * 1e6) as u64);
                let total = Nanos((statement.total_ms * 1e6) as u64);
                format!("{total} in {} calls of {mean}: {}", grouped(statement.calls), statement.text)
            })
        }
        CloserLook::Refused { of, why } => {
            vec![Text::empty_at_depth(1).with_span(Tone::Warn, format!("{of}: ")).with_plain(why)]
        }
    }
}

/// The first items, a line each, and how many more there are.
fn listed<T>(head: String, all: &[T], line: impl Fn(&T) -> String) -> Vec<Text> {
    let left = all.len().saturating_sub(MAX_SHOWN);
    let more = Text::empty_at_depth(2).with_span(Tone::Faint, format!("and {} more", grouped(left as u64)));
    let shown = all.iter().take(MAX_SHOWN).map(|one| Text::empty_at_depth(2).with_plain(line(one)));
    std::iter::once(Text::empty_at_depth(1).with_plain(head))
        .chain(shown)
        .chain((left > 0).then_some(more))
        .collect()
}

/// `190 × http-nio-N-exec-N in com.zaxxer.hikari.pool.HikariPool.getConnection, asked by …`.
fn place(at: &StackGroup) -> String {
    let asked = at.asked_by.as_ref().map_or(String::new(), |ApplicationFrame { method, place }| {
        let place = place.as_ref().map(|place| format!(" ({place})")).unwrap_or_default();
        format!(", asked by {method}{place}")
    });
    format!("{} × {} {} in {}{asked}", at.threads, at.group, at.state, at.frame)
}
