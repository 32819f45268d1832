//! PostgreSQL's checkpoints: forced by the amount written, they make all writers wait for the disk.

use crate::case::Case;
use crate::finding::{EvidenceExt, RuleFinding, source};
use crate::format::{format_number, format_time};
use crate::loaded_window::LoadedWindow;
use crate::part_summary::PartSummary;
use crate::rules::hidden_pool::active_sessions;
use record::Cause;
use record::watch::{PostgresWindow, SessionCount};
use units::{Share, grouped};

/// Share of the degraded seconds with a checkpoint in progress.
const MIN_UNDER_WAY_SHARE: f64 = 0.5;
/// While it was well, at most this fraction of that share.
const MAX_WELL_RATIO: f64 = 0.5;
/// Share of the busy sessions that wait for a checkpoint's effect on the disk.
const MIN_WAITING_SHARE: f64 = 0.3;
/// Fewer busy sessions say nothing.
const MIN_BUSY_SESSIONS: f64 = 1.5;

/// The duration of a checkpoint that ended in this window, in seconds; its counters grow when it ends.
fn checkpoint_duration(postgres: &PostgresWindow) -> f64 {
    (postgres.checkpoint_write_ms + postgres.checkpoint_sync_ms) / 1e3
}

/// Share of the windows with a checkpoint in progress: those before its end, for its duration, and those after it was requested, if the
/// load ended first.
fn under_way(side: &PartSummary<'_>) -> f64 {
    let counted = |moment: &&LoadedWindow<'_>| moment.postgres.is_some();
    let windows: Vec<&LoadedWindow<'_>> = side.windows.iter().filter(counted).collect();
    let mut during = vec![false; windows.len()];
    let mut in_progress = false;
    for at in 0..windows.len() {
        let Some(postgres) = &windows[at].postgres else { continue };
        // Another trial begins: what was in progress at the end of the last one is unknown.
        in_progress &= at > 0 && windows[at].from >= windows[at - 1].to;
        let took = checkpoint_duration(postgres);
        if took > 0.0 {
            let mut left = took;
            for back in (0..=at).rev() {
                if left <= 0.0 || (back < at && windows[back].to > windows[back + 1].from) {
                    break;
                }
                during[back] = true;
                left -= windows[back].length().as_secs_f64();
            }
        }
        // One that ends now may be the one requested now.
        in_progress = (in_progress || postgres.checkpoints_requested > 0) && took == 0.0;
        during[at] |= in_progress;
    }
    during.iter().filter(|during| **during).count() as f64 / windows.len().max(1) as f64
}

/// Sessions that wait for the disk, or for those who do: writes, the log, and pages being written.
fn waits_for_writes(session: &SessionCount) -> bool {
    let kind = session.wait_type.as_deref().unwrap_or("");
    let event = session.wait_event.as_deref().unwrap_or("").to_ascii_lowercase();
    let writes = ["wal", "datafilewrite", "datafilesync", "datafileflush", "datafileextend", "slruwrite"];
    session.state == "active"
        && (kind == "IO" && writes.iter().any(|write| event.starts_with(write))
            || kind == "LWLock"
                && ["walwrite", "walinsert", "buffercontent", "bufferio"].contains(&event.as_str()))
}

fn waiting_sessions(postgres: &PostgresWindow) -> f64 {
    postgres.sessions.iter().filter(|s| waits_for_writes(s)).map(|s| s.count).sum()
}

pub(crate) fn checkpoints(case: &Case<'_>) -> Option<RuleFinding> {
    let postgres = case.degraded.postgres()?;
    let (busy, waits) = (active_sessions(postgres), waiting_sessions(postgres));
    let (now, well) = (under_way(&case.degraded), case.when_well(under_way));
    // Timed checkpoints are spread out, and harm nobody.
    let is_forced = postgres.checkpoints_requested > 0 || postgres.backend_syncs > 0;
    let is_new = well.is_none_or(|well| well <= MAX_WELL_RATIO * now);
    if !is_forced
        || now < MIN_UNDER_WAY_SHARE
        || !is_new
        || busy < MIN_BUSY_SESSIONS
        || waits < MIN_WAITING_SHARE * busy
    {
        return None;
    }
    let share = |postgres: &PostgresWindow| {
        waiting_sessions(postgres) / active_sessions(postgres).max(MIN_BUSY_SESSIONS)
    };
    let synced = postgres.checkpoint_sync_ms / 1e3 >= 0.1 * case.degraded.observed_seconds();
    let setting = |name: &str| case.watched.postgres.as_ref().and_then(|info| info.setting(name));
    let limit = setting("max_wal_size").map_or(String::new(), |size| format!(", now {size}"));
    let mut found = RuleFinding::new(Cause::PostgresCheckpoints)
        .with_sentence(format!(
            "The volume of writes forces PostgreSQL into checkpoints: one is under way in {} of the \
             slow seconds, and {} of {} busy sessions wait for the disk.",
            Share(now),
            format_number(waits),
            format_number(busy)
        ))
        .margin(now, MIN_UNDER_WAY_SHARE, 0.8)
        .persisting(case, |w| w.postgres.as_ref().is_some_and(|p| share(p) >= MIN_WAITING_SHARE))
        // Without a comparison this may be normal.
        .sources(1 + u32::from(well.is_some()) + u32::from(synced || postgres.backend_syncs > 0))
        .fact(format!(
            "a checkpoint under way in {} of the seconds; {} triggered by WAL volume, {} by \
                 time",
            Share(now),
            postgres.checkpoints_requested,
            postgres.checkpoints_timed
        ))
        .measured(now, MIN_UNDER_WAY_SHARE, "share", "pg_stat_bgwriter, pg_stat_checkpointer")
        .well(well)
        .fact(format!("{} of {} busy sessions wait for writes", format_number(waits), format_number(busy)))
        .measured(waits / busy, MIN_WAITING_SHARE, "share", source::ACTIVITY)
        .well(case.when_well(|side| side.merged.postgres.as_ref().map_or(0.0, share)));
    if checkpoint_duration(postgres) > 0.0 {
        let (write, sync) = (postgres.checkpoint_write_ms / 1e3, postgres.checkpoint_sync_ms / 1e3);
        let text = format!(
            "those that ended took {} to write and {} to flush",
            format_time(write),
            format_time(sync)
        );
        found = found.fact(text).measured(write + sync, 0.0, "s", "pg_stat_bgwriter, pg_stat_checkpointer");
    }
    if postgres.backend_syncs > 0 {
        let text = format!("{} files flushed by sessions themselves", grouped(postgres.backend_syncs));
        let well =
            case.when_well(|side| side.merged.postgres.as_ref().map_or(0.0, |p| p.backend_syncs as f64));
        let source = "buffers_backend_fsync, pg_stat_io";
        found = found.fact(text).measured(postgres.backend_syncs as f64, 1.0, "files", source).well(well);
    }
    Some(
        found
            .chain(["requests", "sessions that write"])
            .limiting("checkpoint")
            .chain(["disk"])
            .advise(format!(
                "raise max_wal_size{limit}: checkpoints triggered only by time are rare and spread out"
            ))
            .advise("write less: fewer indexes, no updates that change nothing, several changes in one transaction")
            .predicts(
                "max_wal_size four times as large",
                None,
                "a quarter as many slow seconds; if they stay, the log or the disk is the limit",
            )
            .unless("a run that is just as slow has no checkpoint under way"),
    )
}
