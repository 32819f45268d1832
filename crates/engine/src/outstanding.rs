//! What is on its way: requests that wait for a connection, requests that wait for an answer, and
//! users between two requests.

use crate::cookies::CookieJar;
use crate::recorder::OutstandingArrival;
use crate::slots::Slots;
use units::Nanos;

/// One request of one arrival.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StepRequest {
    pub arrival: OutstandingArrival,
    /// When it was due: of a first step the arrival's due time, of a later one the end of the pause.
    pub due: Nanos,
    pub flow: u32,
    pub step: u32,
    /// Who makes it, where that matters.
    pub user: Option<u32>,
    /// How often it was sent before, and came to nothing with its connection: it counts as sent then.
    pub again: u8,
}

/// A request that was sent and waits for its answer.
pub(crate) struct InFlightRequest {
    pub request: StepRequest,
    pub sent: Nanos,
    /// The slot of its connection.
    pub connection: u32,
    /// Whether that had carried an answer before.
    pub used: bool,
    /// The arrival was decided when its trial ended; the answer is read and forgotten.
    pub orphan: bool,
}

/// Somebody who makes several requests in a row, or keeps something of an answer.
#[derive(Default)]
pub(crate) struct User {
    pub taken: Vec<Vec<u8>>,
    pub jar: CookieJar,
    /// What comes after the pause, while there is one.
    pub next: Option<StepRequest>,
}

/// Exchanges by number.
pub(crate) type InFlightRequests = Slots<InFlightRequest>;
/// Users by number.
pub(crate) type Users = Slots<User>;
