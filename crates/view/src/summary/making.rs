//! What the generator makes where it was the limit itself, what it spends on a request, and what helps.

use crate::experiment::number_of;
use crate::strays::Strays;
use crate::verdict::{measured, rounded};
use crate::words::number;
use crate::{RunView, Text, Tone};
use record::Making;
use units::{Rate, Share};

/// From this share of the requests on that make a connection of their own, that is what they cost.
const CONNECTS: f64 = 0.5;
/// From this share of the time on that the loops wait for a processor, somebody else has it.
const WAITS: f64 = 0.1;
/// Of no more processors than this none can be set aside: the target, or whoever else is at work, needs them.
const FEW: u32 = 2;

/// Where it fell behind, what a request costs it, what helps, and what that should bring.
pub(super) fn lines(view: &RunView, making: &Making, held: Option<f64>) -> Vec<Text> {
    let Making { most, user, kernel, worked, waited, .. } = *making;
    let each = view.words().arrival();
    let unit = view.words().unit();
    let strays = Strays::of(view);
    let behind = strays.void + strays.void_above;
    let rates = |(least, highest): (f64, f64)| {
        if least < highest { format!("{} to {}", number(least), number(highest)) } else { number(highest) }
    };
    let (count, asked) = match strays.asked {
        Some(asked) => (number_of(behind, "trial"), Some(asked)),
        None => ("the warm-up".to_owned(), strays.warm),
    };
    let fell = match asked {
        // Where it once sent more than in the trials it fell behind in, that figure would contradict what holds.
        Some(asked) if most < asked.1 && held.is_none_or(|held| held <= most) => {
            format!(" in {count} at {} {unit}, and sent at most {}", rates(asked), number(most))
        }
        Some(asked) => format!(" in {count} at {} {unit}", rates(asked)),
        None => format!(": it sends at most {} {unit} to this target", number(most)),
    };
    let limit = Text::empty().and(Tone::Warn, "torment fell behind").then(fell);
    let spends = Text::plain(format!(
        "a {each} costs torment {user} in its own code and {kernel} in the kernel; its loops were busy {} of the time, and waited for a processor {}",
        Share(worked),
        Share(waited)
    ));
    vec![limit, spends, next(view, Some(making)), brings(view, Some(making))]
}

/// What helps.
pub(super) fn next(view: &RunView, making: Option<&Making>) -> Text {
    Text::labelled("next", remedy(view, making))
}

/// The same as a clause: what can be done on this machine, by what torment lacks.
pub(crate) fn remedy(view: &RunView, making: Option<&Making>) -> String {
    let cpus = view.started.as_ref().map_or(0, |started| started.machine.cpus);
    let waits = making.is_none_or(|making| making.waited >= WAITS);
    if making.is_some_and(is_of_connections) {
        "reuse connections (keep-alive): most requests make one of their own, which costs most of that"
            .to_owned()
    } else if !view.fleet.is_empty() {
        "spread the load over more machines (--on)".to_owned()
    } else if (1..=FEW).contains(&cpus) {
        let s = if cpus == 1 { "" } else { "s" };
        format!("make the load from another machine (--on ssh:HOST): this one has only {cpus} processor{s}")
    } else if waits {
        "give torment processors that nothing else uses (--cores), or make the load from another machine (--on ssh:HOST)"
            .to_owned()
    } else {
        "give torment more processors (--cores), or make the load from more machines (--on ssh:HOST,…)"
            .to_owned()
    }
}

fn is_of_connections(making: &Making) -> bool {
    making.waited < WAITS && making.connects >= CONNECTS
}

/// What that should bring: by what a request costs, a processor that torment has to itself makes so many.
pub(super) fn brings(view: &RunView, making: Option<&Making>) -> Text {
    let each = making.filter(|making| !is_of_connections(making)).map(|making| making.user + making.kernel);
    let Some(each) = each.filter(|each| each.0 > 0) else { return measured(view) };
    let rate = number(rounded(Rate(1.0 / each.as_secs_f64())).0);
    let (unit, one) = (view.words().unit(), view.words().arrival());
    let text = format!(
        "with a processor of its own torment sends at least {rate} {unit} ({each} a {one}), until the target gives"
    );
    Text::labelled("expect", text)
}
