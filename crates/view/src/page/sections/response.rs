//! Response time against rate, over time and by how many: where it begins to climb, and how it is spread.

use crate::page::pages::Pages;
use crate::page::{Chart, Form, Point, Role, Section, Unit};
use crate::words::number;
use crate::{Kind, Times, Tone, Trial, TrialState};
use record::{CurvePoint, Purpose, Verdict};
use units::Nanos;

/// The knee is where the 99th percentile is so many times what it is at the lowest rate.
const KNEE: f64 = 2.0;

pub(super) fn section(pages: &Pages) -> Section {
    Section::named("response", "Response time")
        .chart(pages, by_rate(pages))
        .chart(pages, heat(pages))
        .chart(pages, spread(pages))
}

fn by_rate(pages: &Pages) -> Chart {
    let chart = Chart::of(
        "by-rate",
        "response time against offered rate",
        Form::Points,
        ("offered rate", Unit::PerSecond),
        ("response time", Unit::Seconds),
    )
    .log_y();
    if pages.kind() != Kind::Search {
        return chart;
    }
    let verdict = pages.end.as_ref().and_then(|end| end.verdict.as_ref());
    let curve: &[CurvePoint] = match verdict {
        Some(Verdict::Limits { curve, .. }) => curve,
        _ => &[],
    };
    let judged = |trial: &&Trial| !matches!(trial.purpose, Purpose::WarmUp | Purpose::Recovery);
    let of = |quantile: fn(&Times) -> Nanos| {
        let mut points: Vec<Point> = pages
            .trials
            .iter()
            .filter(judged)
            .filter_map(|trial| {
                Some(Point {
                    x: trial.rate?.0,
                    y: quantile(trial.figures.response.as_ref()?).as_secs_f64(),
                    label: format!("trial {}: {}", trial.number, TrialState::of(trial).name()),
                    tone: TrialState::of(trial).tone(),
                    ..Point::default()
                })
            })
            .collect();
        points.sort_by(|a, b| a.x.total_cmp(&b.x));
        points
    };
    let at_share = |quantile: fn(&CurvePoint) -> Nanos| {
        let point = move |at: &CurvePoint| Point {
            x: at.rate.0,
            y: quantile(at).as_secs_f64(),
            label: format!("{} % of the capacity", (at.share * 100.0).round()),
            ..Point::default()
        };
        curve.iter().map(point).collect::<Vec<_>>()
    };
    let strict = pages.limits.first();
    let knee = knee(curve);
    let note = match knee {
        Some(rate) => format!(
            "from {}/s on, the 99th percentile is more than {KNEE} times what it is at the lowest rate: \
             the knee",
            number(rate)
        ),
        None => String::new(),
    };
    chart
        .note(note)
        .points("p50 of trials", Role::Half, of(|times| times.quantiles.p50))
        .points("p99 of trials", Role::NinetyNine, of(|times| times.quantiles.p99))
        .points("p50, measured apart", Role::Nth(0), at_share(|at| at.response_p50))
        .points("p99, measured apart", Role::Nth(1), at_share(|at| at.response_p99))
        .upright("knee", knee, Tone::Warn)
        .upright("holds", strict.and_then(|limit| limit.held.or(limit.lower)), Tone::Good)
        .upright("fails", strict.and_then(|limit| limit.upper), Tone::Bad)
}

/// The lowest rate of the curve at which response time has begun to climb.
fn knee(curve: &[CurvePoint]) -> Option<f64> {
    let lowest = curve.iter().min_by(|a, b| a.rate.0.total_cmp(&b.rate.0))?;
    let climbs = |at: &&CurvePoint| at.response_p99.0 as f64 > KNEE * lowest.response_p99.0 as f64;
    curve.iter().filter(climbs).map(|at| at.rate.0).min_by(f64::total_cmp)
}

fn heat(pages: &Pages) -> Chart {
    let mut chart =
        Chart::over_time("heat", "response times over time", Form::Heat, ("response time", Unit::Seconds))
            .note("the darker, the more requests took that long")
            .log_y();
    chart.heat = pages.answers.grid();
    chart
}

fn spread(pages: &Pages) -> Chart {
    let found = pages.distribution().unwrap_or_default();
    let title = match found.name.as_str() {
        "" => "distribution".to_owned(),
        name => format!("distribution ({name})"),
    };
    Chart::of("distribution", title, Form::Lines, ("percentile", Unit::Percentile), ("time", Unit::Seconds))
        .note("percent of requests that took no longer; times from the due time leave out no waiting")
        .log_x()
        .log_y()
        .points("response time", Role::NinetyNine, found.response)
        .points("service time", Role::Busy, found.service)
        .points("lateness", Role::Waiting, found.lateness)
}
