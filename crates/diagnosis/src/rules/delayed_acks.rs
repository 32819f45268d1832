//! Answers held back until the client's kernel acknowledges their first piece.

use super::contention::outstanding_fact;
use crate::case::Case;
use crate::finding::{EvidenceExt, RuleFinding, source};
use crate::format::{format_number, format_time};
use record::{Cause, CaveatDetails};

/// The least share of the outstanding requests that waits for this.
const MIN_SHARE: f64 = 0.5;

pub(crate) fn delayed_acks(case: &Case<'_>) -> Option<RuleFinding> {
    let CaveatDetails::HeldBack { share, pause } = case.held_back? else { return None };
    let load = &case.degraded.load;
    // Little's law.
    let held = (load.answered * share.0 * pause.as_secs_f64()).min(load.outstanding);
    if held < MIN_SHARE * load.outstanding {
        return None;
    }
    let (name, pause) = (case.name(), format_time(pause.as_secs_f64()));
    Some(
        RuleFinding::new(Cause::DelayedAcks)
            .with_sentence(format!(
                "{} of {} outstanding requests wait for an acknowledgement: {name} writes an answer in pieces, and Nagle's algorithm \
                 holds back the next until the client's kernel acknowledges the first, {pause} later.",
                format_number(held),
                format_number(load.outstanding)
            ))
            .margin(held, MIN_SHARE * load.outstanding, 0.9 * load.outstanding)
            .sources(2)
            .fact(format!("{share} of the answers were complete {pause} after their first bytes"))
            .measured(share.0, MIN_SHARE, "of the answers", source::LOAD)
            .fact("the kernel delayed an acknowledgement for each of them")
            .measured(held, MIN_SHARE * load.outstanding, "requests", "/proc/net/netstat DelayedACKs")
            .evidence(outstanding_fact(case))
            .chain(["requests", "delayed acknowledgements"])
            .advise("set TCP_NODELAY on its connections, or write each answer at once")
            .unless("its answers take as long with TCP_NODELAY"),
    )
}
