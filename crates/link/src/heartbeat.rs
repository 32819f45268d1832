//! That somebody is there, and what time it is.

use crate::registry::MemberRegistry;
use fleet::ToMember;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc::Receiver;
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout_at};
use units::Nanos;

/// So many times each is asked for the time before a load: one in a few is quick both ways.
const ROUNDS: usize = 20;
/// So often each hears that somebody is there,
const BEAT: Duration = Duration::from_secs(1);
/// which one in so many times is a question for the time: to hear the answer costs more than all else that is said in a second,
const QUESTION: u32 = 4;
/// unless whoever conducts a load has not asked for news for so long: members end one whose conductor hangs.
const CONDUCTED: Nanos = Nanos::from_secs(3);

/// Lets members hear that somebody is there, and asks them for the time: in rounds before a load, and now and then in between. One
/// after the other: asked all at once, they would wait for each other.
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
                    // Nobody's pulse waits for another's answer.
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
