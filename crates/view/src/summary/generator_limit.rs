//! The generator's capacity where it was the limit, its cost per request, and what helps.

use crate::contrary_trials::ContraryTrials;
use crate::remedy::{is_of_connections, processors, remedy};
use crate::verdict::how_to_measure;
use crate::wording::number_of;
use crate::wording::{format_rate, rounded};
use crate::{RunView, Text, Tone};
use record::GeneratorCapacity;
use units::{Rate, Share};

/// Where it fell behind, its cost per request, what helps, and the expected gain.
pub(super) fn lines(view: &RunView, capacity: &GeneratorCapacity) -> Vec<Text> {
    let GeneratorCapacity { most, user, kernel, worked, waited, .. } = *capacity;
    let each = view.arrival_kind().arrival();
    let unit = view.arrival_kind().unit();
    let strays = ContraryTrials::from_view(view);
    let behind = strays.void + strays.void_above;
    let rates = |(least, highest): (f64, f64)| {
        if least < highest {
            format!("{} to {}", format_rate(least), format_rate(highest))
        } else {
            format_rate(highest)
        }
    };
    let (count, asked) = match strays.void_rates {
        Some(asked) => (number_of(behind, "trial"), Some(asked)),
        None => ("the warm-up".to_owned(), strays.warm_up_rates),
    };
    let fell = match asked {
        // If it once sent more than in the trials it fell behind in, that figure would contradict what holds.
        Some(asked) if most < asked.1 && view.held().is_none_or(|held| held <= most) => {
            format!(" in {count} at {} {unit}, and sent at most {} a second", rates(asked), format_rate(most))
        }
        Some(asked) => format!(" in {count} at {} {unit}", rates(asked)),
        None => format!(": it sends at most {} {unit} to this target", format_rate(most)),
    };
    let limit = Text::new(Tone::Warn, "torment fell behind").with_plain(fell);
    let spends = Text::plain(format!(
        "each {each} costs torment {user} in its own code and {kernel} in the kernel; its loops were busy {} of the time, and waited for a processor {}",
        Share(worked),
        Share(waited)
    ));
    let way_on = [next_step(view, Some(capacity)), expected_gain(view, Some(capacity))];
    [limit, spends].into_iter().chain(target_near_limit(view)).chain(way_on).collect()
}

/// The same during the search, after `lead`.
pub(crate) fn capacity_line(lead: Text, view: &RunView, capacity: &GeneratorCapacity) -> Text {
    let (most, unit) = (format_rate(capacity.most), view.arrival_kind().unit());
    lead.with_span(Tone::Warn, "so far torment is the limit").with_plain(format!(
        ": it fell behind again and again, and sends at most {most} {unit} to this target"
    ))
}

/// What the target had nearly exhausted although torment was the limit: its own limit is near.
pub(crate) fn target_near_limit(view: &RunView) -> Option<Text> {
    let full = view.diagnosis.as_ref().filter(|_| view.is_generator_limited())?.also_saturated()?;
    let is = if full.confidence.word() == "high" { "is" } else { "may be" };
    let said = Text::new(Tone::Strong, format!("the target {is} near its own limit, too"));
    Some(said.with_plain(format!(": {}", full.sentence)))
}

pub(super) fn next_step(view: &RunView, capacity: Option<&GeneratorCapacity>) -> Text {
    let relieve =
        if target_near_limit(view).is_some() { "; and relieve the target, as said above" } else { "" };
    Text::labelled("next", format!("{}{relieve}", remedy(view, capacity)))
}

/// The expected gain: requests per processor, from the cost of one.
pub(super) fn expected_gain(view: &RunView, capacity: Option<&GeneratorCapacity>) -> Text {
    let each = capacity
        .filter(|capacity| !is_of_connections(capacity))
        .map(|capacity| capacity.user + capacity.kernel);
    let Some(each) = each.filter(|each| each.0 > 0) else { return how_to_measure(view) };
    let rate = format_rate(rounded(Rate(1.0 / each.as_secs_f64())).0);
    let (unit, one) = (view.arrival_kind().unit(), view.arrival_kind().arrival());
    let more = processors(view);
    let saturates = match target_near_limit(view) {
        Some(_) => "; the effect of relieving the target is unknown: run this again afterwards",
        None => ", unless the target saturates first",
    };
    let text = format!("{more}, if as fast as here, sends about {rate} {unit} ({each} per {one}){saturates}");
    Text::labelled("expect", text)
}
