//! How many threads: the ramp, and every limit.

use crate::document::{Chart, Form, Point, Role, Section, Text, Unit};
use crate::page::pages::Pages;
use crate::summary::{headline, moments, rooms};
use crate::{Kind, Tone};

pub(super) fn section(pages: &Pages) -> Section {
    let (section, run) = (Section::named("tasks", "How many threads"), &pages.run);
    if run.kind() != Kind::Tasks {
        return section;
    }
    let over = |value: fn(&record::Ramped) -> f64| {
        let points = run.ramp.iter().map(move |moment| Point {
            x: moment.after.as_secs_f64(),
            y: value(moment),
            ..Point::default()
        });
        points.collect::<Vec<_>>()
    };
    let first = run.rooms.iter().find(|room| room.threads.is_some());
    let threads =
        Chart::of("ramp", "threads", Form::Lines, ("after", Unit::Seconds), ("threads", Unit::Count)).points(
            "threads",
            Role::Achieved,
            over(|moment| moment.tasks as f64),
        );
    let threads = match first {
        Some(room) => threads.bound(&room.name, room.threads.map(|threads| threads as f64), Tone::Bad),
        None => threads,
    };
    let free =
        Chart::of("free", "free memory", Form::Lines, ("after", Unit::Seconds), ("bytes", Unit::Bytes))
            .points("free", Role::Idle, over(|moment| moment.free.0 as f64));
    let raise = first.into_iter().flat_map(|room| {
        [
            Text::plain("to raise ").and(Tone::Strong, &room.name),
            Text::labelled("now", &room.now),
            Text::labelled("for good", &room.for_good),
        ]
    });
    section
        .texts(headline(run))
        .chart(pages, threads)
        .chart(pages, free)
        .table(moments(run).titled("the ramp"))
        .table(rooms(&run.rooms).titled("every limit"))
        .texts(raise)
}
