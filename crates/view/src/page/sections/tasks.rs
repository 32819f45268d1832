//! How many threads: the ramp, and every limit.

use crate::document::{AxisUnit, Chart, ChartForm, ChartPoint, Section, SeriesRole, Text};
use crate::page::builder::PageBuilder;
use crate::summary::{headline, limit_table, ramp_table};
use crate::{ReportKind, Tone};

pub(super) fn section(pages: &PageBuilder) -> Section {
    let (section, run) = (Section::named("tasks", "How many threads"), &pages.run);
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
    let first = run.rooms.iter().find(|room| room.threads.is_some());
    let threads = Chart::of(
        "ramp",
        "threads",
        ChartForm::Lines,
        ("after", AxisUnit::Seconds),
        ("threads", AxisUnit::Count),
    )
    .points("threads", SeriesRole::Achieved, over(|moment| moment.tasks as f64));
    let threads = match first {
        Some(room) => threads.bound(&room.name, room.threads.map(|threads| threads as f64), Tone::Bad),
        None => threads,
    };
    let free = Chart::of(
        "free",
        "free memory",
        ChartForm::Lines,
        ("after", AxisUnit::Seconds),
        ("bytes", AxisUnit::Bytes),
    )
    .points("free", SeriesRole::Idle, over(|moment| moment.free.0 as f64));
    let raise = first.into_iter().flat_map(|room| {
        [
            Text::plain("to raise ").with_span(Tone::Strong, &room.name),
            Text::labelled("now", &room.now),
            Text::labelled("for good", &room.for_good),
        ]
    });
    section
        .texts(headline(run))
        .chart(pages, threads)
        .chart(pages, free)
        .table(ramp_table(run).titled("the ramp"))
        .table(limit_table(&run.rooms).titled("every limit"))
        .texts(raise)
}
