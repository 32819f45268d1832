//! PostgreSQL by its own statistics: what its sessions wait for.

use super::contention;
use crate::case::Case;
use crate::finding::{EvidenceExt, RuleFinding, source};
use crate::format::{format_count, format_number, format_time};
use crate::loaded_window::{cpu as cpu_of, runnable as runnable_of};
use crate::processors::idle_cpus;
use crate::request_path;
use crate::rules::hidden_pool::{active_sessions, station};
use record::watch::{CloserLook, PostgresWindow, SessionCount, TreeWindow, WatchedProcesses, Window};
use record::{Cause, Failure, Station, StationKind, StationUse};
use units::{Share, grouped};

/// Share of the busy sessions that wait for one thing.
const MIN_SHARE: f64 = 0.3;
/// With fewer busy sessions there is no crowd.
const MIN_BUSY_SESSIONS: f64 = 1.5;

fn waits_for(session: &SessionCount, kind: &str, events: &[&str]) -> bool {
    let same = |name: &Option<String>, known: &str| {
        name.as_ref().is_some_and(|name| name.eq_ignore_ascii_case(known))
    };
    session.state == "active"
        && same(&session.wait_type, kind)
        && (events.is_empty() || events.iter().any(|event| same(&session.wait_event, event)))
}

/// Sessions that wait for the write-ahead log. Versions differ in the names' capitals only.
fn waits_for_wal(s: &SessionCount) -> bool {
    waits_for(s, "IO", &["WALSync", "WALWrite", "WALInitSync", "WALSyncMethodAssign"])
        || waits_for(s, "LWLock", &["WALWrite", "WALInsert"])
        || waits_for(s, "IPC", &["SyncRep"])
}

fn waits_for_lock(s: &SessionCount) -> bool {
    // Contention on the lock manager is an echo of the locks it manages.
    waits_for(s, "Lock", &[]) || waits_for(s, "LWLock", &["LockManager"])
}

fn waits_for_reads(s: &SessionCount) -> bool {
    let named = |name: &str| {
        name.starts_with("DataFileRead")
            || name.starts_with("DataFilePrefetch")
            || name.starts_with("Aio")
            || name.starts_with("BufFileRead")
    };
    s.state == "active"
        && s.wait_type.as_deref().is_some_and(|t| t == "IO" || t == "LWLock" || t == "BufferPin")
        && s.wait_event.as_deref().is_some_and(|e| named(e) || e == "BufferIO" || e == "BufferIo")
}

fn on_processor(s: &SessionCount) -> bool {
    s.state == "active" && s.wait_type.is_none()
}

fn sum(postgres: &PostgresWindow, which: impl Fn(&SessionCount) -> bool) -> f64 {
    postgres.sessions.iter().filter(|s| which(s)).map(|s| s.count).sum()
}

fn busy_postgres<'a>(case: &'a Case<'_>) -> Option<&'a PostgresWindow> {
    case.degraded.postgres().filter(|postgres| active_sessions(postgres) >= MIN_BUSY_SESSIONS)
}

fn share_in(window: &Window, which: fn(&SessionCount) -> bool) -> f64 {
    let Some(postgres) = &window.postgres else { return 0.0 };
    sum(postgres, which) / active_sessions(postgres).max(MIN_BUSY_SESSIONS)
}

/// A finding on a share of the busy sessions; the sentence is made of how many wait, and how many are busy.
fn by_share(
    case: &Case<'_>,
    cause: Cause,
    which: fn(&SessionCount) -> bool,
    what: &str,
    sentence: impl FnOnce(&str, &str) -> String,
) -> Option<RuleFinding> {
    let postgres = busy_postgres(case)?;
    let (busy, waiting) = (active_sessions(postgres), sum(postgres, which));
    let share = waiting / busy;
    if share < MIN_SHARE {
        return None;
    }
    let (waiting, of_busy) = (format_number(waiting), format_number(busy));
    let events: Vec<String> = postgres
        .sessions
        .iter()
        .filter(|s| which(s) && s.count >= 0.05)
        .take(3)
        .map(|s| {
            let name = |name: &Option<String>| name.clone().unwrap_or_default();
            format!("{} {}:{}", format_number(s.count), name(&s.wait_type), name(&s.wait_event))
        })
        .collect();
    Some(
        RuleFinding::new(cause)
            .with_sentence(sentence(&waiting, &of_busy))
            .margin(share, MIN_SHARE, 2.0 * MIN_SHARE)
            .persisting(case, |w| share_in(w, which) >= MIN_SHARE)
            .sources(2)
            .fact(format!("{waiting} of {of_busy} busy sessions {what}: {}", events.join(", ")))
            .measured(share, MIN_SHARE, "share", source::ACTIVITY)
            .well(case.when_well(|side| share_in(&side.merged, which)))
            .chain(entrance(case))
            .chain([station(case, format_count(busy.round(), "session"), active_sessions)]),
    )
}

/// What sessions wait for, and how many do.
fn wait_station(case: &Case<'_>, name: impl Into<String>, which: fn(&SessionCount) -> bool) -> Station {
    case.station(StationKind::Database.station(name), |side| {
        Some(StationUse { waiting: Some(sum(side.postgres()?, which)), ..StationUse::default() })
    })
}

/// The links before the sessions.
fn entrance(case: &Case<'_>) -> Vec<Station> {
    if case.is_postgres() {
        return vec!["requests".into()];
    }
    let Some(workers) = case.degraded.workers.as_ref().filter(|workers| workers.reading() >= 0.5) else {
        let connections = StationKind::Peers.station(format!("connections of {}", case.name()));
        return vec!["requests".into(), connections];
    };
    let named = StationKind::Peers
        .station(format!("{} in use", format_count(workers.reading().round(), "connection")));
    let connections = case.station(named, |side| {
        Some(request_path::use_of(side.workers.as_ref()?.reading(), None, &side.load))
    });
    contention::station(case).into_iter().chain([connections]).collect()
}

pub(crate) fn wal(case: &Case<'_>) -> Option<RuleFinding> {
    let sentence = |waiting: &str, busy: &str| {
        format!(
            "Commits wait for PostgreSQL's write-ahead log to reach the disk: {waiting} of {busy} busy sessions."
        )
    };
    let what = "wait for the write-ahead log";
    let mut found = by_share(case, Cause::PostgresWal, waits_for_wal, what, sentence)?;
    let postgres = busy_postgres(case)?;
    if let Some(syncs) = postgres.wal_syncs.filter(|syncs| *syncs > 0) {
        let each = postgres
            .wal_sync_ms
            .filter(|ms| *ms > 0.0)
            .map(|ms| format!(", {} each", format_time(ms / 1e3 / syncs as f64)));
        let text = format!(
            "{} flushes and {} commits a second{}",
            format_number(case.degraded.per_second(syncs)),
            format_number(case.degraded.per_second(postgres.commits)),
            each.unwrap_or_default()
        );
        found =
            found.fact(text).measured(case.degraded.per_second(syncs), 0.0, "1/s", "pg_stat_wal").sources(3);
    }
    Some(
        found
            .limiting(wait_station(case, "write-ahead log", waits_for_wal))
            .chain(["disk"])
            .advise("commit less often: several changes in one transaction, or commit_delay for many sessions")
            .advise("a faster disk for pg_wal; synchronous_commit=off where losing the last moments of acknowledged commits is acceptable")
            .unless("the same load is just as slow with synchronous_commit=off"),
    )
}

pub(crate) fn locks(case: &Case<'_>) -> Option<RuleFinding> {
    let sentence = |waiting: &str, busy: &str| {
        format!("{waiting} of {busy} busy PostgreSQL sessions wait for a lock that another session holds.")
    };
    let mut found = by_share(case, Cause::PostgresLock, waits_for_lock, "wait for a lock", sentence)?;
    for look in &case.looks {
        let CloserLook::Blockers { blocked } = look else { continue };
        let Some(first) =
            blocked.iter().max_by_key(|b| blocked.iter().filter(|o| o.by.contains(&b.pid)).count())
        else {
            continue;
        };
        let text =
            format!("{} sessions blocked, e.g. in {} at: {}", blocked.len(), first.event, first.statement);
        found =
            found.fact(text).measured(blocked.len() as f64, 1.0, "sessions", "pg_blocking_pids").sources(3);
        break;
    }
    let locked = busy_postgres(case)?.sessions.iter().find(|s| waits_for(s, "Lock", &[]));
    let what = match locked.and_then(|s| s.wait_event.as_deref()) {
        Some("transactionid" | "tuple") => "a row that many sessions change".to_owned(),
        Some("advisory") => "an advisory lock".to_owned(),
        Some(other) => format!("a lock ({other})"),
        None => "a lock".to_owned(),
    };
    Some(
        found
            .chain([wait_station(case, &what, waits_for_lock)])
            .advise(format!(
                "spread it, or hold it for less time: {what} lets one transaction through at a time"
            ))
            .advise("a larger connection pool only makes the queue in the database longer")
            .predicts("twice the connections", None, "more sessions wait for the same lock")
            .unless(format!(
                "fewer than {} of the busy sessions wait for locks in a run that is just as slow",
                Share(MIN_SHARE)
            )),
    )
}

pub(crate) fn reads(case: &Case<'_>) -> Option<RuleFinding> {
    let sentence = |waiting: &str, busy: &str| {
        format!(
            "PostgreSQL reads from disk: {waiting} of {busy} busy sessions wait for pages that are not in memory."
        )
    };
    let what = "wait for pages from outside shared buffers";
    let found = by_share(case, Cause::PostgresReads, waits_for_reads, what, sentence)?;
    let postgres = busy_postgres(case)?;
    let hit = |p: &PostgresWindow| p.blocks_hit as f64 / (p.blocks_hit + p.blocks_read).max(1) as f64;
    let text = format!(
        "{} pages read a second, {} found in shared buffers",
        format_number(case.degraded.per_second(postgres.blocks_read)),
        Share(hit(postgres))
    );
    Some(
        found
            .fact(text)
            .measured(hit(postgres), 0.99, "share", "pg_stat_database")
            .well(case.when_well(|side| side.merged.postgres.as_ref().map_or(0.0, hit)))
            .sources(3)
            .limiting(wait_station(case, "pages not in memory", waits_for_reads))
            .chain(["disk"])
            .advise("more memory (shared_buffers and page cache), an index, or a smaller working set")
            .advise("a larger connection pool will not help")
            .unless("the same load is just as slow with all its data in memory"),
    )
}

/// The database's own processes, if observed.
fn server<'a>(case: &Case<'a>, window: &'a Window) -> Option<(&'a WatchedProcesses, &'a TreeWindow)> {
    case.watched.subjects.iter().zip(&window.subjects).find(|(about, _)| about.is_postgres)
}

pub(crate) fn cpu(case: &Case<'_>) -> Option<RuleFinding> {
    let length = case.degraded.merged.length();
    let local = server(case, &case.degraded.merged);
    let host = case.degraded.merged.host.as_ref();
    let cpus = local.map_or(f64::from(host.map_or(1, |h| h.cpus)), |(about, _)| about.cpus).max(1.0);
    let used = local.map(|(_, seen)| cpu_of(seen, length));
    let ready = local.map(|(_, seen)| runnable_of(seen, length));
    let sessions = case.degraded.postgres();
    let (busy, running) = sessions.map_or((0.0, 0.0), |p| (active_sessions(p), sum(p, on_processor)));
    // Sessions on a processor prove nothing alone: that the processors are used up shows in the processes, if observed.
    let by_processes = used.zip(ready).is_some_and(|(used, ready)| {
        let idle = idle_cpus(&case.degraded.merged);
        let full = idle <= 0.1 * host.map_or(1.0, |h| f64::from(h.cpus)) || used >= 0.85 * cpus;
        let service = if case.is_postgres() { 0.0 } else { case.cpu() };
        full && used >= 0.4 * cpus && used > service && ready >= 0.5
    });
    let by_sessions = running >= cpus && running >= 0.5 * busy && busy >= MIN_BUSY_SESSIONS;
    let holds = match (used, sessions) {
        (Some(_), Some(_)) => by_processes && running >= 0.4 * busy,
        (Some(_), None) => by_processes,
        (None, _) => by_sessions,
    };
    if !holds {
        return None;
    }
    // Processors its processes used while all was well.
    let before = case.when_well(|side| {
        server(case, &side.merged).map_or(0.0, |(_, seen)| cpu_of(seen, side.merged.length()))
    });
    let processors = Station {
        size: Some(cpus),
        well: used
            .and(before)
            .zip(case.well.as_ref())
            .map(|(before, well)| request_path::use_of(before, None, &well.load)),
        degraded: used.map(|used| request_path::use_of(used, ready, &case.degraded.load)),
        ..StationKind::Database.station(format!("{} of the database", format_count(cpus, "processor")))
    };
    let mut found = RuleFinding::new(Cause::PostgresCpu)
        .with_sentence(match used {
            Some(used) => format!(
                "PostgreSQL needs more processor time: it uses {} of {}, and {} more of its processes are \
                 ready to run.",
                format_number(used),
                format_number(cpus),
                format_number(ready.unwrap_or(0.0))
            ),
            None => format!(
                "PostgreSQL needs more processor time: {} of {} busy sessions wait for nothing else.",
                format_number(running),
                format_number(busy)
            ),
        })
        .margin(used.unwrap_or(running), 0.4 * cpus, 0.8 * cpus)
        .persisting(case, |window| match server(case, window) {
            Some((_, seen)) => cpu_of(seen, window.length()) >= 0.4 * cpus,
            None => window.postgres.as_ref().is_some_and(|p| sum(p, on_processor) >= cpus),
        })
        .sources(
            1 + u32::from(used.is_some()) + u32::from(running >= 0.4 * busy && busy >= MIN_BUSY_SESSIONS),
        );
    if let (Some(used), Some(ready)) = (used, ready) {
        found = found
            .fact(format!(
                "its processes use {} of {}, {} ready",
                format_number(used),
                format_count(cpus, "processor"),
                format_number(ready)
            ))
            .measured(used, 0.4 * cpus, "processors", source::SCHEDSTAT)
            .well(before);
    }
    if busy >= MIN_BUSY_SESSIONS {
        found = found
            .fact(format!(
                "{} of {} busy sessions wait for nothing but a processor",
                format_number(running),
                format_number(busy)
            ))
            .measured(running, 0.4 * busy, "sessions", source::ACTIVITY);
    }
    if let Some(statement) = case.looks.iter().find_map(|look| match look {
        CloserLook::Statements { statements } => statements.first(),
        _ => None,
    }) {
        let text = format!(
            "most of its time went into: {} ({} calls, {} each)",
            statement.text,
            grouped(statement.calls),
            format_time(statement.total_ms / 1e3 / statement.calls.max(1) as f64)
        );
        found = found.fact(text).measured(statement.total_ms, 0.0, "ms", "pg_stat_statements");
    }
    Some(
        found
            .chain(entrance(case))
            .chain([
                station(case, format_count(busy.max(1.0).round(), "session"), active_sessions),
                processors,
            ])
            .advise("make the statements cheaper: an index, another plan (EXPLAIN ANALYZE), fewer rows")
            .advise("then more processors for the database; a larger pool will not help")
            .predicts("twice the connections", None, "more sessions share the same processors")
            .unless("its processes are idle in a run that is just as slow"),
    )
}

/// too_many_connections (PostgreSQL's documentation, appendix A).
const TOO_MANY_CONNECTIONS: &str = "53300";

pub(crate) fn connections(case: &Case<'_>) -> Option<RuleFinding> {
    let refused = case.degraded.load.count_failures(|failure| {
        matches!(failure, Failure::Full(_)) || failure.sqlstate() == Some(TOO_MANY_CONNECTIONS)
    });
    let postgres = case.degraded.merged.postgres.as_ref();
    // The error reported to the observer begins with the code.
    let reports_full =
        postgres.and_then(|p| p.error.as_ref()).is_some_and(|why| why.starts_with(TOO_MANY_CONNECTIONS));
    let info = case.watched.postgres.as_ref();
    let setting = |name: &str| info.and_then(|info| info.setting(name)?.parse::<f64>().ok());
    let max_sessions = setting("max_connections")
        .map(|most| most - setting("superuser_reserved_connections").unwrap_or(3.0));
    let used = postgres.map_or(0.0, |p| f64::from(p.connections));
    // Our own session is one of them.
    let full = max_sessions.is_some_and(|most| most > 0.0 && used >= most);
    if refused == 0 && !reports_full && !full {
        return None;
    }
    let limit = setting("max_connections").map_or("its limit".to_owned(), format_number);
    let connections = match case.is_postgres() {
        true => "connections".to_owned(),
        false => format!("connections of {}", case.name()),
    };
    let name = format!("max_connections = {limit}");
    let limited = match postgres.and(setting("max_connections")) {
        Some(most) => request_path::limit_station(name, used, most),
        None => name.into(),
    };
    Some(
        RuleFinding::new(Cause::PostgresConnections)
            .with_sentence(format!(
                "PostgreSQL takes no more connections: {} of {limit} are open.",
                format_number(used)
            ))
            .sources(1 + u32::from(refused > 0 || reports_full) + u32::from(full))
            .fact(format!("{} sessions open, max_connections = {limit}", format_number(used)))
            .measured(used, max_sessions.unwrap_or(0.0), "sessions", "pg_stat_database")
            .fact(format!("{} requests refused with \"too many clients\"", grouped(refused)))
            .measured(refused as f64, 1.0, "requests", source::LOAD)
            .chain(["requests".to_owned(), connections])
            .chain([limited])
            .advise("smaller pools in the applications, or a pooler (PgBouncer) in front of the database")
            .advise("raise max_connections only if the database has processors and memory for more sessions")
            .unless("sessions stay below the limit in a run that fails the same way"),
    )
}

pub(crate) fn idle_in_transaction(case: &Case<'_>) -> Option<RuleFinding> {
    let postgres = busy_postgres(case)?;
    let idles = |s: &SessionCount| s.state.starts_with("idle in transaction");
    let idle = |p: &PostgresWindow| sum(p, idles);
    let (holding, busy) = (idle(postgres), active_sessions(postgres));
    let share = holding / busy;
    const MOST: f64 = 0.5;
    if share < MOST || holding < MIN_BUSY_SESSIONS {
        return None;
    }
    Some(
        RuleFinding::new(Cause::PostgresIdleInTransaction)
            .with_sentence(format!(
                "{} of {} busy PostgreSQL sessions are idle in a transaction: the application \
                 holds them while it does something else.",
                format_number(holding),
                format_number(busy)
            ))
            .margin(share, MOST, 0.85)
            .persisting(case, |w| {
                w.postgres
                    .as_ref()
                    .is_some_and(|p| idle(p) >= MOST * active_sessions(p).max(MIN_BUSY_SESSIONS))
            })
            .sources(2)
            .fact(format!(
                "{} of {} sessions idle in transaction, the oldest transaction {}",
                format_number(holding),
                format_number(busy),
                format_time(postgres.oldest_transaction_s)
            ))
            .measured(share, MOST, "share", source::ACTIVITY)
            .well(case.when_well(|side| share_in(&side.merged, idles)))
            .chain(entrance(case))
            .limiting(station(
                case,
                format!("{} idle in transaction", format_count(holding.round(), "session")),
                idle,
            ))
            .chain([case.name().to_owned()])
            .advise("keep transactions short: no remote calls and no computing between begin and commit")
            .advise("then the same pool serves more; a larger one only hides it")
            .unless("transactions are short in a run that is just as slow"),
    )
}
