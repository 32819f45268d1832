//! Outstanding requests, waiting for a connection or an answer, and users between two requests.

use crate::cookies::CookieJar;
use crate::recorder::OutstandingArrival;
use crate::slots::Slots;
use units::Nanos;

/// One request of one arrival.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StepRequest {
    pub arrival: OutstandingArrival,
    /// The arrival's due time for a first step, else the end of the pause.
    pub due: Nanos,
    pub flow: u32,
    pub step: u32,
    /// Who makes it, if that matters.
    pub user: Option<u32>,
    /// How often it was sent before and lost with its connection; it then already counts as sent.
    pub resends: u8,
}

pub(crate) struct InFlightRequest {
    pub request: StepRequest,
    pub sent: Nanos,
    /// The slot of its connection.
    pub connection: u32,
    /// Whether the connection had carried an answer before.
    pub used: bool,
    /// The arrival was decided when its trial ended; the answer is read and discarded.
    pub orphan: bool,
}

/// A user who makes several requests in a row, or keeps something of an answer.
#[derive(Default)]
pub(crate) struct User {
    pub taken: Vec<Vec<u8>>,
    pub jar: CookieJar,
    /// The step after the current pause, if any.
    pub next: Option<StepRequest>,
}

pub(crate) type InFlightRequests = Slots<InFlightRequest>;
pub(crate) type Users = Slots<User>;
