//! Requests that met a connection which the server was closing: resent, or not, and why.

use super::LoadLoop;
use crate::outstanding::StepRequest;
use crate::prepared_flows::PreparedStep;
use crate::protocol::ServerHandling;
use record::Failure;

impl LoadLoop {
    /// Has the request wait for another connection, keeping its due time. An error is the failure that it ends
    /// with instead.
    ///
    /// `used`: it was sent on a connection that had carried an answer before.
    pub(super) fn resend(
        &mut self,
        request: &StepRequest,
        used: bool,
        handling: ServerHandling,
        why: Failure,
    ) -> Result<(), Failure> {
        let step = self.setup.script.step(request);
        check_resend(step, self.setup.resend, request.resends, used, handling, why)?;
        if let Some(running) = &mut self.running
            && request.resends == 0
        {
            running.recorder.resent();
        }
        self.backlog.put_back(
            request.due,
            step.timeout,
            StepRequest { resends: request.resends.saturating_add(1), ..*request },
        );
        Ok(())
    }
}

/// The most closing connections that a request may meet: a server with a keep-alive time closes all that have
/// been idle for that long at once.
const TRIES: u8 = 3;

/// A server may close a connection at any moment, even with a request on its way: that is no failure, so
/// clients resend it (RFC 9112 section 9.3.1). But a server that refuses or drops a new connection has no room,
/// which must show; so must whatever happens again and again.
fn check_resend(
    step: &PreparedStep,
    resend: bool,
    resends: u8,
    used: bool,
    handling: ServerHandling,
    why: Failure,
) -> Result<(), Failure> {
    let dropped = |why: &str| Err(Failure::Dropped(why.to_owned()));
    match handling {
        // However often: each connection takes some, and leaves only after those.
        ServerHandling::GoingAway if resend => Ok(()),
        ServerHandling::Refused if resend && resends == 0 => Ok(()),
        ServerHandling::Unknown if resends > 0 && !(used && resends < TRIES) => {
            dropped("it was resent, and that connection closed too")
        }
        ServerHandling::Unknown if used && !resend => dropped("the plan says not to resend"),
        ServerHandling::Unknown if used && !step.idempotent => {
            dropped(&format!("{} is not resent", step.method))
        }
        ServerHandling::Unknown if used => Ok(()),
        ServerHandling::Answered
        | ServerHandling::Unknown
        | ServerHandling::Refused
        | ServerHandling::GoingAway => Err(why),
    }
}
