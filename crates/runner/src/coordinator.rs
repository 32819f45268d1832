//! The coordinator of a run conducted near its workers: receives the plan, runs it, and reports to the owner.

use crate::build::{VERSION, build_stamp};
use crate::fleet::JoinListener;
use crate::{FleetConfig, RunOptions, Sink, StopFlag};
use fleet::{FleetRole, Instruction, MemberReport, OwnerRequest, OwnerUpdate, RunOrder};
use link::{CoordinatorLink, Credentials, JoinFile, MemberEvent};
use record::Event;
use std::net::{Ipv4Addr, Ipv6Addr, TcpListener};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

const POLL: Duration = Duration::from_millis(50);
/// How long to wait for a plan.
const PLAN_LIMIT: Duration = Duration::from_secs(300);
/// How long a finished run is kept for its owner to come back.
const RETENTION: Duration = Duration::from_secs(3600);
/// Events sent ahead of acknowledgement: the link drops a peer that lets more pile up.
const UNACKNOWLEDGED_MOST: u64 = 64;

/// Events so far, and the result.
#[derive(Default)]
struct RunLog {
    events: Vec<String>,
    result: Option<(u8, Option<String>)>,
}

#[derive(Clone, Default)]
struct RunLogSink(Arc<Mutex<RunLog>>);

impl RunLogSink {
    fn lock(&self) -> MutexGuard<'_, RunLog> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Sink for RunLogSink {
    fn event(&mut self, event: &Event) {
        // As the store does: an event that cannot be serialized is skipped.
        if let Ok(event) = serde_json::to_string(event) {
            self.lock().events.push(event);
        }
    }
}

/// Listens on all addresses, of either kind.
fn listen(port: u16) -> Result<TcpListener, String> {
    let all = TcpListener::bind((Ipv6Addr::UNSPECIFIED, port));
    all.or_else(|_| TcpListener::bind((Ipv4Addr::UNSPECIFIED, port)))
        .map_err(|why| format!("port {port}: {why}"))
}

/// Conducts one run for its owner. `credentials` hold for two ports: workers' and the owner's. When `stop_flag`
/// is set, it ends the run and exits.
///
/// # Errors
/// If it cannot listen, or nobody came.
pub fn coordinate(credentials: &str, ports: (u16, u16), stop_flag: &Arc<AtomicBool>) -> Result<(), String> {
    let file: JoinFile = credentials.parse().map_err(|why: link::Error| why.to_string())?;
    let workers = listen(ports.0)?;
    let mut coordinator_link = CoordinatorLink::open(VERSION, build_stamp(), FleetRole::Owner, &[])
        .map_err(|why| why.to_string())?;
    coordinator_link.listen(listen(ports.1)?, &file.credentials).map_err(|why| why.to_string())?;
    let mut run = CoordinatedRun {
        credentials: file.credentials,
        workers: Some(workers),
        log: RunLogSink::default(),
        stop: Arc::default(),
        thread: None,
    };
    let (mut owner, mut next, mut acknowledged) = (None, 0_u64, 0_u64);
    let mut idle = Instant::now();
    loop {
        match coordinator_link.next(POLL) {
            Some((member, MemberEvent::Joined(hello))) if hello.role == FleetRole::Owner => {
                (owner, next) = (Some(member), acknowledged);
            }
            Some((member, MemberEvent::Reported(MemberReport::Owner(word)))) if owner == Some(member) => {
                match word {
                    OwnerRequest::Begin(order) => run.begin(*order)?,
                    OwnerRequest::From(number) => {
                        // A new owner may have received more or less than its predecessor was sent.
                        next = if number < acknowledged || number > next { number } else { next };
                        acknowledged = number;
                    }
                    OwnerRequest::End => run.stop.store(true, Ordering::Relaxed),
                    OwnerRequest::Thanks => return Ok(()),
                }
            }
            Some((member, MemberEvent::Gone(_))) if owner == Some(member) => owner = None,
            _ => {}
        }
        let is_stopped = stop_flag.load(Ordering::Relaxed);
        run.stop.fetch_or(is_stopped, Ordering::Relaxed);
        let run_log = run.log.lock();
        if let Some(owner) = owner {
            while next < run_log.events.len() as u64 && next < acknowledged + UNACKNOWLEDGED_MOST {
                let event = run_log.events[next as usize].clone();
                coordinator_link.send(owner, Instruction::Owner(OwnerUpdate::Event { number: next, event }));
                next += 1;
            }
            if let (Some((exit_code, error)), true) = (&run_log.result, next == run_log.events.len() as u64) {
                let over = OwnerUpdate::Over { events: next, exit_code: *exit_code, error: error.clone() };
                coordinator_link.send(owner, Instruction::Owner(over));
                // Repeat until the owner confirms.
                thread::sleep(POLL);
            }
            idle = Instant::now();
        }
        let (is_begun, is_over) = (run.workers.is_none(), run_log.result.is_some());
        drop(run_log);
        if !is_over
            && run.thread.as_ref().is_some_and(JoinHandle::is_finished)
            && run.log.lock().result.is_none()
        {
            return Err("the run ended without a word: please report this as a bug in torment".to_owned());
        }
        if !is_begun && idle.elapsed() > PLAN_LIMIT {
            return Err(format!("nobody has handed over a plan for {} s", PLAN_LIMIT.as_secs()));
        }
        if is_stopped && (is_over || !is_begun) || is_over && idle.elapsed() > RETENTION {
            return Ok(());
        }
    }
}

/// The run, before and after its start.
struct CoordinatedRun {
    credentials: Credentials,
    /// Where workers join, until it begins.
    workers: Option<TcpListener>,
    log: RunLogSink,
    stop: Arc<AtomicBool>,
    /// Conducts it.
    thread: Option<JoinHandle<()>>,
}

impl CoordinatedRun {
    fn begin(&mut self, order: RunOrder) -> Result<(), String> {
        let Some(listener) = self.workers.take() else { return Ok(()) };
        let RunOrder { parcel, workers, waits, costs } = order;
        let join_listener = Arc::new(JoinListener::from_listener(listener, self.credentials.clone(), waits));
        let (mut log, stop) = (self.log.clone(), StopFlag::new(Arc::clone(&self.stop)));
        let conduct = move || {
            let fleet = FleetConfig::Join { workers, most: workers, listener: join_listener };
            let costs = costs.and_then(|costs| serde_json::from_str(&costs).ok());
            let around = RunOptions { costs: costs.as_ref(), fleet: Some(&fleet), ..RunOptions::default() };
            let outcome = crate::conduct(&parcel.plan, around, &mut log, &stop);
            log.lock().result = Some((outcome.exit_code, outcome.error.map(|why| why.to_string())));
        };
        let thread = thread::Builder::new().name("run".to_owned()).spawn(conduct);
        self.thread = Some(thread.map_err(|why| why.to_string())?);
        Ok(())
    }
}
