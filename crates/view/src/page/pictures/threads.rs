//! How many threads there were, the cost of each, and which limit gave.

use super::bars::needs_log_axis;
use crate::document::{AxisUnit, Chart, ChartForm, ChartPoint, SeriesRole};
use crate::summary::near;
use crate::{RunView, Tone};
use record::{RampEnd, RampProgress, Verdict};
use units::grouped;

/// Empty before the first threads.
pub(super) fn charts(view: &RunView) -> Vec<Chart> {
    let up = up(view);
    [limit(view, up), memory(view, up)].into_iter().filter(Chart::has_points).collect()
}

/// The rising part of the ramp: releasing threads shows no limit.
fn up(view: &RunView) -> &[RampProgress] {
    let most = view.ramp.iter().map(|moment| moment.tasks).max().filter(|most| *most > 0);
    let last = view.ramp.iter().position(|moment| Some(moment.tasks) == most);
    last.map_or(&[][..], |last| &view.ramp[..=last])
}

/// Time per thread, by their number.
fn limit(view: &RunView, up: &[RampProgress]) -> Chart {
    let points = up.windows(2).filter_map(|pair| {
        let more = pair[1].tasks.checked_sub(pair[0].tasks).filter(|more| *more > 0)?;
        let took = pair[1].after - pair[0].after;
        let label = format!("{} threads after {}", grouped(pair[1].tasks), pair[1].after);
        let (x, y) = (pair[1].tasks as f64, took.as_secs_f64() / more as f64);
        Some(ChartPoint { x, y, label, tone: Tone::Good, ..ChartPoint::default() })
    });
    let mut note = "each mark: time per thread since the previous mark, including the checks of all limits; \
                    upright: how many each limit allows"
        .to_owned();
    let title = match beyond(view) {
        Some((words, Tone::Bad)) => {
            note += &format!("; {words}");
            "where it breaks"
        }
        _ => "how many threads",
    };
    let y = ("time for a thread", AxisUnit::Seconds);
    let chart =
        Chart::of("limit", title, ChartForm::Points, ("threads", AxisUnit::Count), y).log_y().note(note);
    let chart = if is_far(view, up) { chart.log_x() } else { chart };
    with_bands(view, chart.points("each", SeriesRole::Achieved, points))
}

/// Free memory used by then.
fn memory(view: &RunView, up: &[RampProgress]) -> Chart {
    let before = up.first().map_or(0.0, |moment| moment.free.0 as f64);
    let points = up.iter().map(|moment| ChartPoint {
        x: moment.tasks as f64,
        y: before - moment.free.0 as f64,
        label: format!("{} free", moment.free),
        tone: Tone::Good,
        ..ChartPoint::default()
    });
    let y = ("less free memory than before", AxisUnit::Bytes);
    let chart = Chart::of("limit-memory", "memory", ChartForm::Points, ("threads", AxisUnit::Count), y)
        .note("by how much MemFree of the machine fell, whoever took it");
    let chart = if is_far(view, up) { chart.log_x() } else { chart };
    with_bands(view, chart.points("gone", SeriesRole::Achieved, points))
}

/// Whether the limits are so high that on a linear axis all threads would be at the start.
fn is_far(view: &RunView, up: &[RampProgress]) -> bool {
    let made = up.last().map(|moment| moment.tasks);
    needs_log_axis(
        made.into_iter()
            .chain(near(&view.system_limits).map(|(_, threads)| threads))
            .map(|threads| threads as f64),
    )
}

/// The number reached, what lies beyond, and the limits that bind first.
fn with_bands(view: &RunView, chart: Chart) -> Chart {
    let reached = verdict(view).map(|(reached, _)| reached as f64);
    let chart = match beyond(view) {
        Some((words, tone)) => chart.band(&words, reached, None, tone),
        None => chart,
    };
    let chart = chart.vertical_line("reached", reached, Tone::Good);
    near(&view.system_limits).fold(chart, |chart, (limit, threads)| {
        let (says, tone) = match verdict(view) {
            Some((_, RampEnd::Limit { room: gave, .. })) if gave.name == limit.name => {
                ("gave; allowed", Tone::Bad)
            }
            _ => ("allows", Tone::Faint),
        };
        chart.vertical_line(format!("{} {says}", limit.name), Some(threads as f64), tone)
    })
}

fn verdict(view: &RunView) -> Option<(u64, &RampEnd)> {
    match view.verdict()? {
        Verdict::Tasks { reached, gave, .. } => Some((*reached, gave)),
        _ => None,
    }
}

/// Why there were no more; `None` if no more were wanted.
fn beyond(view: &RunView) -> Option<(String, Tone)> {
    match verdict(view)?.1 {
        RampEnd::Limit { room, .. } => Some((format!("{} gave", room.name), Tone::Bad)),
        RampEnd::Killed { .. } => Some(("memory gave".to_owned(), Tone::Bad)),
        RampEnd::Unknown { call } => Some((call.clone(), Tone::Bad)),
        RampEnd::Reserve { .. } => Some(("left to others".to_owned(), Tone::Faint)),
        RampEnd::Asked | RampEnd::Interrupted => None,
    }
}
