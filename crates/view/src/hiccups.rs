//! Response times below a limit that exceed those nearer to it: surprising to a reader, and not caused by the load.

use crate::{RunView, Text, Tone};
use record::CurvePoint;
use units::{Nanos, Share};

/// A 99th percentile this many times that of a higher rate is not caused by the load.
pub(crate) const HICCUP_RATIO: f64 = 1.5;
/// With fewer requests a 99th percentile rests on fewer than twenty.
const MIN_REQUESTS: u64 = 2_000;

/// Note below the response times: which exceeds a later one, and why; the most extreme if several.
pub(crate) fn line(view: &RunView) -> Option<Text> {
    let curve = view.curve();
    let pairs =
        curve.iter().enumerate().flat_map(|(nth, point)| curve[nth + 1..].iter().map(move |on| (point, on)));
    let times = |(point, on): &(&CurvePoint, &CurvePoint)| {
        point.response_p99.as_secs_f64() / on.response_p99.as_secs_f64().max(1e-9)
    };
    let (point, on) =
        pairs.filter(|pair| times(pair) > HICCUP_RATIO).max_by(|a, b| times(a).total_cmp(&times(b)))?;
    let percent = |point: &CurvePoint| Share(point.share).rounded(2);
    let text = format!(
        "p99 at {} is higher than at {}: {}",
        percent(point),
        percent(on),
        why(view, point.rate.0, point.response_p50 <= on.response_p50.max(Nanos(1)) * 2)
    );
    Some(Text::new(Tone::Faint, text))
}

/// Why the 99th percentile at this rate is not caused by the load.
pub(crate) fn why(view: &RunView, rate: f64, is_median_low: bool) -> String {
    let Some(trial) = view.trials.iter().rev().find(|trial| trial.is_curve_at(rate)) else {
        return "a single slow trial".to_owned();
    };
    let froze =
        view.freezes().is_some_and(|found| found.each.iter().any(|freeze| freeze.trial == trial.number));
    let length = Nanos::from_secs(trial.loaded.as_secs_f64().round().max(1.0) as u64);
    let one = format!("one trial of {length}");
    match trial.figures.due {
        _ if froze => format!("{one}, in which the target froze"),
        due if due < MIN_REQUESTS => format!("{one} and {}, so a few slow ones decide", trial.count(due)),
        _ if is_median_low => format!("{one}; p50 is no higher, so this is a hiccup and not the load"),
        _ => format!("{one}, slow for another reason than its rate"),
    }
}
