//! State shared by all threads of one service.

use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use units::Nanos;

use crate::answer::Answer;
use crate::clinic::{self, HandlerResult, Query};
use crate::database;
use crate::fault::{FaultState, FaultWork};
use crate::request_log::RequestLog;
use crate::request_parser::Request;
use crate::route::Route;
use crate::stop_signal::StopSignal;
use crate::virtual_servers::{VirtualServers, WarmUpCurve};

pub(crate) struct ServiceState {
    pub(crate) log: RequestLog,
    pub(crate) stop: StopSignal,
    pub(crate) database: database::SessionPool,
    pub(crate) faults: FaultState,
    /// Its name at `/truth`.
    pub(crate) model: &'static str,
    started: Instant,
    servers: Mutex<VirtualServers>,
}

impl ServiceState {
    pub(crate) fn new(
        stop: StopSignal,
        database: database::SessionPool,
        model: &'static str,
        warm_up: Option<WarmUpCurve>,
    ) -> Self {
        Self {
            log: RequestLog::new(),
            stop,
            database,
            faults: FaultState::default(),
            model,
            started: Instant::now(),
            servers: Mutex::new(VirtualServers::new(warm_up)),
        }
    }

    pub(crate) fn servers(&self) -> MutexGuard<'_, VirtualServers> {
        self.servers.lock().expect("arithmetic does not panic")
    }

    /// Converts an instant to time since the service started.
    pub(crate) fn since_start(&self, instant: Instant) -> Nanos {
        instant.saturating_duration_since(self.started).into()
    }

    /// Converts time since the service started to an instant.
    pub(crate) fn instant_of(&self, at: Nanos) -> Instant {
        // Bounded: a virtual queue of centuries is as good as one of a century.
        const CENTURY: Duration = Duration::from_secs(100 * 365 * 86_400);
        self.started + at.to_duration().min(CENTURY)
    }

    /// Handles a request; the same in every model.
    pub(crate) fn handle(&self, route: Route, request: &Request<'_>, arrival: Instant) -> HandlerResult {
        if let Some(allow) = route.allow()
            && !allow.split(", ").any(|method| method == request.method)
        {
            let words = format!("This page takes {allow}.\n");
            return HandlerResult::Answer(Answer::text(405, words).header("allow", allow));
        }
        let handled = match route {
            Route::Home | Route::Owner | Route::NewOwner | Route::CountOwners | Route::Fortunes => {
                Ok(clinic::handle_page(route, request))
            }
            Route::Fault | Route::Burn => {
                FaultWork::parse(request.path, request.query).map(HandlerResult::Fault)
            }
            _ => self.truth_page(route, request, arrival).map(HandlerResult::Answer),
        };
        handled.unwrap_or_else(|sentence| HandlerResult::Answer(Answer::text(400, format!("{sentence}\n"))))
    }

    /// Queries the database, waiting for a session and for the answer.
    pub(crate) fn query_database(&self, query: &Query, submitted: Instant) -> Answer {
        self.database
            .with_session(submitted + database::WAIT_LIMIT, |session| clinic::run_query(query, session))
            .unwrap_or_else(|_| Answer::text(503, "no database connection came free within 30 s\n"))
    }
}
