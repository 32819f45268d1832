//! What the generator makes where it was the limit itself, what it spends on a request, and what helps.

use crate::words::number;
use crate::{Text, Tone, Words};
use record::Making;
use units::Share;

/// From this share of the requests on that make a connection of their own, that is what they cost.
const CONNECTS: f64 = 0.5;
/// From this share of the time on that the loops wait for a processor, somebody else has it.
const WAITS: f64 = 0.1;

pub(super) fn lines(words: Words, making: &Making) -> Vec<Text> {
    let Making { most, user, kernel, worked, waited, .. } = *making;
    let each = words.arrival();
    let limit = Text::empty().and(Tone::Warn, "torment is the limit").then(format!(
        ", not the target: against it torment makes {} {} at most",
        number(most),
        words.unit()
    ));
    let spends = Text::plain(format!(
        "torment spends {user} of its own and {kernel} in the kernel on a {each}; its loops worked {} of the time and waited {} for a processor",
        Share(worked),
        Share(waited)
    ));
    vec![limit, spends, next(making)]
}

/// What helps.
pub(super) fn next(making: &Making) -> Text {
    let Making { waited, connects, .. } = *making;
    let helps = if waited >= WAITS {
        "give torment processors that the target does not use (--cores), or a machine of its own"
    } else if connects >= CONNECTS {
        "most requests make a connection of their own: with keep-alive torment makes several times as many"
    } else {
        "give torment more loops on idle processors (--cores), or load from another machine, or from several"
    };
    Text::empty().and(Tone::Faint, "next: ").then(helps)
}
