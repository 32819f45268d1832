//! How many threads: the ramp, and every limit.

use crate::document::{AxisUnit, Chart, ChartForm, ChartPoint, Section, SeriesRole, Text};
use crate::page::builder::PageBuilder;
use crate::summary::{headline, limit_table, ramp_table};
use crate::{ReportKind, Tone};

pub(super) fn section(page: &PageBuilder) -> Section {
    let (section, run) = (Section::named("tasks", "How many threads"), &page.run);
    if run.kind() != ReportKind::Tasks {
        return section;
    }
    let over = |value: fn(&record::RampProgress) -> f64| {
        let points = run.ramp.iter().map(move |moment| ChartPoint {
            x: moment.after.as_secs_f64(),
            y: value(moment),
            ..ChartPoint::default()
        });
        points.collect::<Vec<_>>()
    };
    let first = run.system_limits.iter().find(|limit| limit.threads.is_some());
    let after = ("after", AxisUnit::Seconds);
    let threads = Chart::of("ramp", "threads", ChartForm::Lines, after, ("threads", AxisUnit::Count)).points(
        "threads",
        SeriesRole::Achieved,
        over(|moment| moment.tasks as f64),
    );
    let threads = match first {
        Some(room) => threads.bound(&room.name, room.threads.map(|threads| threads as f64), Tone::Bad),
        None => threads,
    };
    let free = Chart::of("free", "free memory", ChartForm::Lines, after, ("bytes", AxisUnit::Bytes)).points(
        "free",
        SeriesRole::Idle,
        over(|moment| moment.free.0 as f64),
    );
    let raise = first.into_iter().flat_map(|limit| {
        [
            Text::plain("to raise ").with_span(Tone::Strong, &limit.name),
            Text::labelled("now", &limit.now),
            Text::labelled("for good", &limit.for_good),
        ]
    });
    section
        .texts(headline(run))
        .chart(page, threads)
        .chart(page, free)
        .table(ramp_table(run).titled("the ramp"))
        .table(limit_table(&run.system_limits).titled("every limit"))
        .texts(raise)
}
