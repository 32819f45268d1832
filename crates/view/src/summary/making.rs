//! What the generator makes where it was the limit itself, what it spends on a request, and what helps.

use crate::words::number;
use crate::{Text, Tone, Words};
use record::Making;
use units::Share;

/// From this share of the requests on that make a connection of their own, that is what they cost.
const CONNECTS: f64 = 0.5;
/// From this share of the time on that the loops wait for a processor, somebody else has it.
const WAITS: f64 = 0.1;

/// With the least and the most that it was asked for where it fell behind.
pub(super) fn lines(words: Words, making: &Making, asked: Option<(f64, f64)>) -> Vec<Text> {
    let Making { most, user, kernel, worked, waited, .. } = *making;
    let each = words.arrival();
    let unit = words.unit();
    // What it sent in other trials may be more: somebody else had the processors then, or did not.
    let sent =
        |asked: f64| if most < asked { format!(" and sent at most {}", number(most)) } else { String::new() };
    let fell = match asked {
        Some((lowest, highest)) if lowest < highest => {
            let (lowest, asked) = (number(lowest), number(highest));
            format!("asked for {lowest} to {asked} {unit}, it fell behind{}", sent(highest))
        }
        Some((rate, _)) => format!("asked for {} {unit}, it fell behind{}", number(rate), sent(rate)),
        None => format!("against it torment sends at most {} {unit}", number(most)),
    };
    let limit =
        Text::empty().and(Tone::Warn, "torment is the limit").then(format!(", not the target: {fell}"));
    let spends = Text::plain(format!(
        "a {each} costs torment {user} of its own and {kernel} in the kernel; its loops were busy {} of the time, and waited for a processor {}",
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
        "most requests make a connection of their own: with keep-alive torment sends several times as many"
    } else {
        "give torment more idle processors (--cores), or make the load on another machine, or on several (--on)"
    };
    Text::empty().and(Tone::Faint, "next: ").then(helps)
}
