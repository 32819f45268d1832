//! A worker's link to its coordinator, which reconnects and resends reports that may not have arrived.

use crate::worker::hello;
use fleet::{FleetRole, Hello, Instruction, MemberReport};
use link::{Error, JoinFile, MemberLink};
use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, TryRecvError, sync_channel};
use std::time::{Duration, Instant};
use units::Nanos;

/// A coordinator not found again within this is gone: it makes no load without us.
const FOUND_AGAIN: Duration = Duration::from_secs(60);
/// Interval between attempts.
const PAUSE: Duration = Duration::from_millis(250);
/// Most unacknowledged reports: two minutes of slices, and the rest of a trial's.
const KEPT: usize = 128;

/// A link, and how to open another.
pub(super) struct ReconnectingLink {
    wire: Option<MemberLink>,
    /// For reconnecting; `None` for a worker started by its coordinator, which has only the link it was given.
    file: Option<JoinFile>,
    /// Its number, once known.
    member: Option<u32>,
    /// Reports since the last trial was ordered, less those acknowledged.
    kept: VecDeque<MemberReport>,
    /// A connection attempt under way.
    coming: Option<Receiver<Result<MemberLink, Error>>>,
    broken: Option<Outage>,
}

struct Outage {
    since: Instant,
    /// Time of the next attempt.
    next: Instant,
    /// How long the coordinator had been silent before.
    silent: Nanos,
    why: String,
}

impl ReconnectingLink {
    pub fn new(wire: MemberLink, file: Option<JoinFile>) -> Self {
        Self { wire: Some(wire), file, member: None, kept: VecDeque::new(), coming: None, broken: None }
    }

    /// The coordinator's next instruction; `None` if there is none within this time, also while reconnecting.
    ///
    /// # Errors
    /// Once it is gone, and not found again.
    pub fn next(&mut self, within: Duration) -> Result<Option<Instruction>, Error> {
        if let Some(wire) = &mut self.wire {
            match wire.next(within) {
                Ok(said) => {
                    self.understand(said.as_ref());
                    return Ok(said);
                }
                Err(Error::Gone(why)) if self.member.is_some() && self.file.is_some() => {
                    let (now, silent) = (Instant::now(), wire.silent_for());
                    self.broken = Some(Outage { since: now, next: now, silent, why });
                    self.wire = None;
                }
                Err(why) => return Err(why),
            }
        }
        std::thread::sleep(within.min(PAUSE / 10));
        self.reconnect()?;
        Ok(None)
    }

    /// Sends a report, now or once reconnected.
    pub fn send(&mut self, what: MemberReport) {
        if self.file.is_some() && self.kept.len() < KEPT {
            self.kept.push_back(what.clone());
        }
        // A failure shows when something is next received.
        let _ = self.wire.as_ref().map(|wire| wire.send(what));
    }

    /// Whether nothing more can be sent before an acknowledgement.
    pub fn is_full(&self) -> bool {
        self.kept.len() >= KEPT
    }

    /// Time since the coordinator was last heard.
    pub fn silent_for(&self) -> Nanos {
        match (&self.wire, &self.broken) {
            (Some(wire), _) => wire.silent_for(),
            (None, Some(broken)) => broken.silent + Nanos::from(broken.since.elapsed()),
            (None, None) => Nanos::ZERO,
        }
    }

    /// Drops reports that an instruction acknowledges or makes obsolete.
    fn understand(&mut self, said: Option<&Instruction>) {
        match said {
            Some(Instruction::Welcome { member, .. }) => {
                self.member = Some(*member);
                self.kept.clear();
            }
            Some(Instruction::Arm(_)) => self.kept.clear(),
            Some(Instruction::Heard { trial, second }) => self.kept.retain(|told| match told {
                MemberReport::Slice { trial: of, slice } => of != trial || slice.index > *second,
                _ => true,
            }),
            _ => {}
        }
    }

    fn reconnect(&mut self) -> Result<(), Error> {
        let (Some(file), Some(broken)) = (&self.file, &mut self.broken) else { return Ok(()) };
        let now = Instant::now();
        match self.coming.as_ref().map(Receiver::try_recv) {
            Some(Err(TryRecvError::Empty)) => return Ok(()),
            Some(Ok(Ok(wire))) => {
                self.coming = None;
                self.broken = None;
                for told in &self.kept {
                    // If it breaks again, that shows when receiving.
                    wire.send(told.clone());
                }
                self.wire = Some(wire);
                return Ok(());
            }
            // It is there, and rejects us.
            Some(Ok(Err(why @ Error::Refused(_)))) => return Err(why),
            Some(Ok(Err(_)) | Err(TryRecvError::Disconnected)) => {
                self.coming = None;
                broken.next = now + PAUSE;
            }
            None => {}
        }
        if broken.since.elapsed() > FOUND_AGAIN {
            return Err(Error::Gone(std::mem::take(&mut broken.why)));
        }
        if self.coming.is_none() && now >= broken.next {
            let hello = Hello { member: self.member, ..hello(FleetRole::Worker) };
            let (file, (tell, told)) = (file.clone(), sync_channel(1));
            // A worker under load does not wait for a connection.
            let join = move || drop(tell.send(MemberLink::join(&file, hello, &[])));
            std::thread::Builder::new().name("rejoining".to_owned()).spawn(join).map_err(Error::Start)?;
            self.coming = Some(told);
        }
        Ok(())
    }
}
