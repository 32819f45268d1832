//! The line of a worker to its coordinator: one that breaks is made again, and what was told and is not known to have arrived is told once more.

use crate::worker::hello;
use fleet::{FleetRole, Hello, Instruction, MemberReport};
use link::{Error, JoinFile, MemberLink};
use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, TryRecvError, sync_channel};
use std::time::{Duration, Instant};
use units::Nanos;

/// A coordinator that was not found again for so long is gone: it makes no load without us.
const FOUND_AGAIN: Duration = Duration::from_secs(60);
/// Between two tries.
const PAUSE: Duration = Duration::from_millis(250);
/// So much may be told that is not known to have arrived: two minutes of slices, and what else there is to say of a trial.
const KEPT: usize = 128;

/// A wire, and how to come by another.
pub(super) struct ReconnectingLink {
    wire: Option<MemberLink>,
    /// What lets in; none of a worker whose coordinator has started it: its only way is the one that it was given.
    file: Option<JoinFile>,
    /// Its number, once it has been told.
    member: Option<u32>,
    /// What was told since the last trial was ordered, less what is known to have arrived.
    kept: VecDeque<MemberReport>,
    /// A wire that is being made.
    coming: Option<Receiver<Result<MemberLink, Error>>>,
    broken: Option<Outage>,
}

/// A line that is not there.
struct Outage {
    since: Instant,
    /// When it is tried again.
    next: Instant,
    /// How long the coordinator had been silent before.
    silent: Nanos,
    why: String,
}

impl ReconnectingLink {
    pub fn new(wire: MemberLink, file: Option<JoinFile>) -> Self {
        Self { wire: Some(wire), file, member: None, kept: VecDeque::new(), coming: None, broken: None }
    }

    /// What the coordinator says next; none within this time, also while it is looked for.
    ///
    /// # Errors
    /// Once it is gone, and is not found again.
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

    /// Tells the coordinator something, now or once there is a line again.
    pub fn send(&mut self, what: MemberReport) {
        if self.file.is_some() && self.kept.len() < KEPT {
            self.kept.push_back(what.clone());
        }
        // That it is gone is heard where something is waited for.
        let _ = self.wire.as_ref().map(|wire| wire.send(what));
    }

    /// Whether no more can be told before something of it has arrived.
    pub fn is_full(&self) -> bool {
        self.kept.len() >= KEPT
    }

    /// So long nothing was heard of the coordinator.
    pub fn silent_for(&self) -> Nanos {
        match (&self.wire, &self.broken) {
            (Some(wire), _) => wire.silent_for(),
            (None, Some(broken)) => broken.silent + Nanos::from(broken.since.elapsed()),
            (None, None) => Nanos::ZERO,
        }
    }

    /// What was told before some orders is known to have arrived, or is no longer asked for.
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
                    // One that breaks again is heard to.
                    wire.send(told.clone());
                }
                self.wire = Some(wire);
                return Ok(());
            }
            // It is there, and does not want us any more.
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
            // Whoever makes a load does not wait for a connection.
            let join = move || drop(tell.send(MemberLink::join(&file, hello, &[])));
            std::thread::Builder::new().name("rejoining".to_owned()).spawn(join).map_err(Error::Start)?;
            self.coming = Some(told);
        }
        Ok(())
    }
}
