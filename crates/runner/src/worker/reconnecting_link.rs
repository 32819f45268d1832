//! A worker's link to its coordinator, which reconnects and resends reports that may not have arrived.

use crate::worker::hello;
use fleet::{FleetRole, Hello, Instruction, MemberReport};
use link::{Error, JoinFile, MemberLink};
use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, TryRecvError, sync_channel};
use std::time::{Duration, Instant};
use units::Nanos;

/// A coordinator not found again within this is gone: it makes no load without us.
const RECONNECT_LIMIT: Duration = Duration::from_secs(60);
/// Interval between attempts.
const RECONNECT_INTERVAL: Duration = Duration::from_millis(250);
/// Most unacknowledged reports: two minutes of slices, and the rest of a trial's.
const UNACKNOWLEDGED_MOST: usize = 128;

/// A link, and how to open another.
pub(super) struct ReconnectingLink {
    link: Option<MemberLink>,
    /// For reconnecting; `None` for a worker started by its coordinator, which has only the link it was given.
    file: Option<JoinFile>,
    /// Its number, once known.
    member: Option<u32>,
    /// Reports since the last trial was ordered, less those acknowledged.
    unacknowledged: VecDeque<MemberReport>,
    /// A connection attempt under way.
    attempt: Option<Receiver<Result<MemberLink, Error>>>,
    outage: Option<Outage>,
}

struct Outage {
    since: Instant,
    /// Time of the next attempt.
    next_attempt: Instant,
    /// How long the coordinator had been silent before.
    silent_before: Nanos,
    why: String,
}

impl ReconnectingLink {
    pub fn new(link: MemberLink, file: Option<JoinFile>) -> Self {
        Self {
            link: Some(link),
            file,
            member: None,
            unacknowledged: VecDeque::new(),
            attempt: None,
            outage: None,
        }
    }

    /// The coordinator's next instruction; `None` if there is none within this time, also while reconnecting.
    ///
    /// # Errors
    /// Once it is gone, and not found again.
    pub fn next(&mut self, within: Duration) -> Result<Option<Instruction>, Error> {
        if let Some(link) = &mut self.link {
            match link.next(within) {
                Ok(instruction) => {
                    self.drop_acknowledged(instruction.as_ref());
                    return Ok(instruction);
                }
                Err(Error::Gone(why)) if self.member.is_some() && self.file.is_some() => {
                    let (now, silent) = (Instant::now(), link.silent_for());
                    self.outage = Some(Outage { since: now, next_attempt: now, silent_before: silent, why });
                    self.link = None;
                }
                Err(why) => return Err(why),
            }
        }
        std::thread::sleep(within.min(RECONNECT_INTERVAL / 10));
        self.reconnect()?;
        Ok(None)
    }

    /// Sends a report, now or once reconnected.
    pub fn send(&mut self, what: MemberReport) {
        if self.file.is_some() && self.unacknowledged.len() < UNACKNOWLEDGED_MOST {
            self.unacknowledged.push_back(what.clone());
        }
        // A failure shows when something is next received.
        let _ = self.link.as_ref().map(|link| link.send(what));
    }

    /// Whether nothing more can be sent before an acknowledgement.
    pub fn is_full(&self) -> bool {
        self.unacknowledged.len() >= UNACKNOWLEDGED_MOST
    }

    /// Time since the coordinator was last heard.
    pub fn silent_for(&self) -> Nanos {
        match (&self.link, &self.outage) {
            (Some(link), _) => link.silent_for(),
            (None, Some(outage)) => outage.silent_before + Nanos::from(outage.since.elapsed()),
            (None, None) => Nanos::ZERO,
        }
    }

    /// Drops reports that an instruction acknowledges or makes obsolete.
    fn drop_acknowledged(&mut self, instruction: Option<&Instruction>) {
        match instruction {
            Some(Instruction::Welcome { member, .. }) => {
                self.member = Some(*member);
                self.unacknowledged.clear();
            }
            Some(Instruction::Arm(_)) => self.unacknowledged.clear(),
            Some(Instruction::Heard { trial, second }) => self.unacknowledged.retain(|report| match report {
                MemberReport::Slice { trial: of, slice } => of != trial || slice.index > *second,
                _ => true,
            }),
            _ => {}
        }
    }

    fn reconnect(&mut self) -> Result<(), Error> {
        let (Some(file), Some(outage)) = (&self.file, &mut self.outage) else { return Ok(()) };
        let now = Instant::now();
        match self.attempt.as_ref().map(Receiver::try_recv) {
            Some(Err(TryRecvError::Empty)) => return Ok(()),
            Some(Ok(Ok(link))) => {
                self.attempt = None;
                self.outage = None;
                for report in &self.unacknowledged {
                    // If it breaks again, that shows when receiving.
                    link.send(report.clone());
                }
                self.link = Some(link);
                return Ok(());
            }
            // It is there, and rejects us.
            Some(Ok(Err(why @ Error::Refused(_)))) => return Err(why),
            Some(Ok(Err(_)) | Err(TryRecvError::Disconnected)) => {
                self.attempt = None;
                outage.next_attempt = now + RECONNECT_INTERVAL;
            }
            None => {}
        }
        if outage.since.elapsed() > RECONNECT_LIMIT {
            return Err(Error::Gone(std::mem::take(&mut outage.why)));
        }
        if self.attempt.is_none() && now >= outage.next_attempt {
            let hello = Hello { member: self.member, ..hello(FleetRole::Worker) };
            let (file, (tell, report)) = (file.clone(), sync_channel(1));
            // A worker under load does not wait for a connection.
            let join = move || drop(tell.send(MemberLink::join(&file, hello, &[])));
            std::thread::Builder::new().name("rejoining".to_owned()).spawn(join).map_err(Error::Start)?;
            self.attempt = Some(report);
        }
        Ok(())
    }
}
