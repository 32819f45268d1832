//! Heartbeats and clock queries.

use crate::registry::MemberRegistry;
use fleet::ToMember;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc::Receiver;
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout_at};
use units::Nanos;

/// Clock queries per member before a load: one in a few is quick both ways.
const QUERIES_PER_ROUND: usize = 20;
/// Heartbeat interval.
const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(1);
/// One heartbeat in this many is a clock query: receiving its answer costs more than everything else in a second.
const BEATS_PER_QUERY: u32 = 4;
/// Heartbeats stop when the conductor has asked for no events for this long: members end the load of one that hangs.
const CONDUCTOR_TIMEOUT: Nanos = Nanos::from_secs(3);

/// Sends heartbeats and clock queries: in rounds before a load, and now and then in between. One member after the
/// other: queried all at once, they would wait for each other.
pub(crate) async fn run_heartbeat(registry: Arc<MemberRegistry>, mut rounds: Receiver<oneshot::Sender<()>>) {
    let (mut next, mut beats) = (Instant::now() + HEARTBEAT_INTERVAL, 0_u32);
    loop {
        let query_round = timeout_at(next, rounds.recv()).await;
        let all =
            || registry.handles().iter().map(|(member, end)| (*member, Arc::clone(end))).collect::<Vec<_>>();
        match query_round {
            Ok(Some(done)) => {
                for (_, end) in all() {
                    for _ in 0..QUERIES_PER_ROUND {
                        if !end.query_clock().await {
                            break;
                        }
                    }
                }
                drop(done);
            }
            Ok(None) => return,
            Err(_) => {
                (next, beats) = (Instant::now() + HEARTBEAT_INTERVAL, beats.wrapping_add(1));
                if registry.conductor_liveness.silent_for() < CONDUCTOR_TIMEOUT {
                    let is_asked =
                        |(member, _): &(u32, _)| member.wrapping_add(beats).is_multiple_of(BEATS_PER_QUERY);
                    let (query_round, others): (Vec<_>, Vec<_>) = all().into_iter().partition(is_asked);
                    // No heartbeat waits for another member's answer.
                    for (_, end) in others {
                        end.send(ToMember::Alive);
                    }
                    for (_, end) in query_round {
                        end.query_clock().await;
                    }
                }
            }
        }
    }
}
