//! What all threads of one service share.

use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use units::Nanos;

use crate::answer::Answer;
use crate::clinic::{self, Query, Reply};
use crate::codec::Request;
use crate::database;
use crate::fault::{Faults, Work};
use crate::log::Log;
use crate::route::Route;
use crate::stop::Stop;
use crate::virtual_servers::{VirtualServers, Warming};

pub(crate) struct Shared {
    pub(crate) log: Log,
    pub(crate) stop: Stop,
    pub(crate) database: database::Pool,
    pub(crate) faults: Faults,
    /// As `/truth` names it.
    pub(crate) model: &'static str,
    started: Instant,
    servers: Mutex<VirtualServers>,
}

impl Shared {
    pub(crate) fn new(
        stop: Stop,
        database: database::Pool,
        model: &'static str,
        warming: Option<Warming>,
    ) -> Self {
        Self {
            log: Log::new(),
            stop,
            database,
            faults: Faults::default(),
            model,
            started: Instant::now(),
            servers: Mutex::new(VirtualServers::new(warming)),
        }
    }

    pub(crate) fn servers(&self) -> MutexGuard<'_, VirtualServers> {
        self.servers.lock().expect("arithmetic does not panic")
    }

    /// An instant as time since the service started.
    pub(crate) fn at(&self, instant: Instant) -> Nanos {
        instant.saturating_duration_since(self.started).into()
    }

    /// A time since the service started as an instant.
    pub(crate) fn instant(&self, at: Nanos) -> Instant {
        // Bounded: a virtual server whose queue is centuries long is as good as one of a century.
        const CENTURY: Duration = Duration::from_secs(100 * 365 * 86_400);
        self.started + at.to_duration().min(CENTURY)
    }

    /// What the service says to a request; the same in every model.
    pub(crate) fn reply(&self, route: Route, request: &Request<'_>, arrival: Instant) -> Reply {
        if let Some(allow) = route.allow()
            && !allow.split(", ").any(|method| method == request.method)
        {
            let words = format!("This page takes {allow}.\n");
            return Reply::Now(Answer::text(405, words).header("allow", allow));
        }
        match route {
            Route::Home | Route::Owner | Route::NewOwner | Route::CountOwners | Route::Fortunes => {
                clinic::reply(route, request)
            }
            Route::Fault | Route::Burn => match Work::read(request.path, request.query) {
                Ok(work) => Reply::Do(work),
                Err(sentence) => Reply::Now(Answer::text(400, format!("{sentence}\n"))),
            },
            _ => Reply::Now(
                self.truth_page(route, request, arrival)
                    .unwrap_or_else(|sentence| Answer::text(400, format!("{sentence}\n"))),
            ),
        }
    }

    /// Asks the database, waiting for a session and for the answer.
    pub(crate) fn ask(&self, query: &Query, asked: Instant) -> Answer {
        self.database
            .with(asked + database::WAIT_LIMIT, |session| clinic::ask(query, session))
            .unwrap_or_else(|_| Answer::text(503, "no database connection came free within 30 s\n"))
    }
}
