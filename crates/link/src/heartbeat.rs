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
const ROUNDS: usize = 20;
/// Heartbeat interval.
const BEAT: Duration = Duration::from_secs(1);
/// One heartbeat in this many is a clock query: receiving its answer costs more than everything else in a second.
const QUESTION: u32 = 4;
/// Heartbeats stop when the conductor has asked for no events for this long: members end the load of one that hangs.
const CONDUCTED: Nanos = Nanos::from_secs(3);

/// Sends heartbeats and clock queries: in rounds before a load, and now and then in between. One member after the
/// other: queried all at once, they would wait for each other.
pub(crate) async fn run_heartbeat(office: Arc<MemberRegistry>, mut rounds: Receiver<oneshot::Sender<()>>) {
    let (mut next, mut beats) = (Instant::now() + BEAT, 0_u32);
    loop {
        let asked = timeout_at(next, rounds.recv()).await;
        let all =
            || office.handles().iter().map(|(member, end)| (*member, Arc::clone(end))).collect::<Vec<_>>();
        match asked {
            Ok(Some(done)) => {
                for (_, end) in all() {
                    for _ in 0..ROUNDS {
                        if !end.ask().await {
                            break;
                        }
                    }
                }
                drop(done);
            }
            Ok(None) => return,
            Err(_) => {
                (next, beats) = (Instant::now() + BEAT, beats.wrapping_add(1));
                if office.conducted.silent_for() < CONDUCTED {
                    let is_asked =
                        |(member, _): &(u32, _)| member.wrapping_add(beats).is_multiple_of(QUESTION);
                    let (asked, others): (Vec<_>, Vec<_>) = all().into_iter().partition(is_asked);
                    // No heartbeat waits for another member's answer.
                    for (_, end) in others {
                        end.send(ToMember::Alive);
                    }
                    for (_, end) in asked {
                        end.ask().await;
                    }
                }
            }
        }
    }
}
