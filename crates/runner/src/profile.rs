//! `torment profile`: which code runs.

use crate::{Error, RunExit, RunHeader, Sink, StopFlag, exit, record_run};
use ::profile::{RawProfile, Sampling};
use procfs::running_process;
use record::watch::{TreeRole, WatchCoverage};
use record::{Event, Profile, ProfiledLoad, RunKind, Verdict};
use stacks::Tally;
use std::thread;
use std::time::{Duration, Instant};
use units::Nanos;

/// How often to check for a stop, or the processes' end.
const POLL: Duration = Duration::from_millis(50);

/// What to sample.
pub struct ProfileRequest {
    /// Process IDs; children are sampled too.
    pub pids: Vec<u32>,
    /// Description of the processes, for people.
    pub description: String,
    /// How long.
    pub length: Nanos,
    /// Samples a second on each processor.
    pub hz: u32,
    /// What was typed after the command.
    pub words: String,
}

/// Samples them for the requested time, or until they end.
pub fn profile(request: &ProfileRequest, sink: &mut dyn Sink, stop: &StopFlag) -> RunExit {
    let machine = RunHeader::for_machine(RunKind::Profile, &request.words);
    let header = RunHeader { target: request.description.clone(), ..machine };
    record_run(header, sink, |sink| {
        let sampling =
            ::profile::start(&request.pids, request.hz).map_err(|why| Error::Machine(why.to_string()))?;
        let until = Instant::now() + request.length.to_duration();
        let lives = || request.pids.iter().any(|pid| running_process(*pid).is_some());
        while Instant::now() < until && !stop.is_requested() && lives() {
            thread::sleep(POLL.min(until.saturating_duration_since(Instant::now())));
        }
        // Only of processes still alive.
        let waiting = lives().then(|| observe::sample_waiting_threads(0, &request.pids));
        let sampled = sampling.end().ok_or_else(|| Error::Machine("the sampler failed".to_owned()))?;
        let profile = sampled.symbolize();
        let verdict = verdict(&profile);
        let code = match profile.samples {
            _ if stop.is_requested() => exit::INTERRUPTED,
            0 => exit::UNDECIDED,
            _ => exit::MET,
        };
        sink.event(&Event::Profiled { profile: Box::new(profile) });
        if let Some(look) = waiting {
            sink.event(&Event::Looked { trial: 0, place: String::new(), look });
        }
        Ok((verdict, code))
    })
}

/// Samples the watched processes during loads.
#[derive(Default)]
pub(crate) struct TargetSampler {
    pids: Vec<u32>,
    sampling: Option<Sampling>,
    raw_profile: Option<RawProfile>,
}

impl TargetSampler {
    /// Processes to sample from the next load on.
    pub fn set_processes(&mut self, watched: &WatchCoverage) {
        let service = watched.subjects.iter().filter(|subject| subject.role == TreeRole::Service);
        self.pids = service.map(|subject| subject.pid).filter(|pid| *pid > 0).collect();
    }

    /// Whether sampling would be permitted.
    ///
    /// # Errors
    /// If not: why.
    pub fn check_permitted(&self) -> Result<(), String> {
        self.start(1).map(drop)
    }

    /// A load begins, to be sampled at `hz`. That nobody can be sampled ends no run.
    ///
    /// # Errors
    /// If nothing is sampled: why.
    pub fn begin(&mut self, hz: u32) -> Result<(), String> {
        (self.sampling, self.raw_profile) = (None, None);
        self.sampling = Some(self.start(hz)?);
        Ok(())
    }

    fn start(&self, hz: u32) -> Result<Sampling, String> {
        if self.pids.is_empty() {
            return Err("no process of the target was found on this machine".to_owned());
        }
        ::profile::start(&self.pids, hz).map_err(|why| why.to_string())
    }

    /// The load is over.
    pub fn end(&mut self) {
        if let Some(sampling) = self.sampling.take() {
            self.raw_profile = sampling.end();
        }
    }

    /// The profile of a load that the target held or did not.
    pub fn take_profile(&mut self, load: ProfiledLoad, requests: u64) -> Option<Profile> {
        let profile = self.raw_profile.take()?.symbolize();
        Some(Profile { load: Some(load), requests: Some(requests), ..profile })
    }
}

fn verdict(profile: &Profile) -> Verdict {
    let tally = Tally::of(profile);
    let most = tally.by_own().first().filter(|most| most.own > 0).and_then(|most| {
        let name = profile.functions.get(most.index as usize)?.name.clone();
        Some((name, tally.share(most.own)?.value))
    });
    Verdict::Profiled { samples: profile.samples, most }
}
