//! Where the target's threads are, and what processors they get.

use crate::Tone;
use crate::document::{AxisUnit, Chart, ChartForm, Section, SeriesRole};
use crate::page::builder::PageBuilder;
use crate::page::target_columns::TreeColumns;
use record::watch::ThreadWait;

/// Name for all that is not shown separately.
const OTHER: &str = "other";

pub(super) fn section(pages: &PageBuilder) -> Section {
    let mut section = Section::named("threads", "What the target's threads do");
    for (place, tree) in pages.seen.subjects.iter().enumerate() {
        let name = tree.title();
        section = section.chart(pages, processors(place, tree, &name));
        for (group, called) in tree.groups.shown() {
            section = section.chart(pages, states(pages, place, tree, (group, called)));
        }
        let ready = Chart::over_time(
            format!("ready-{place}"),
            format!("{name}: threads waiting for a processor"),
            ChartForm::Lines,
            ("threads", AxisUnit::Count),
        );
        section = section.chart(pages, ready.column("ready", SeriesRole::Waiting, format!("ready.{place}")));
        let column = format!("cgroup.cpu_throttled_share.{place}");
        if pages.has_nonzero(&column) {
            let throttled = Chart::over_time(
                format!("throttled-{place}"),
                format!("{name}: periods throttled by the quota"),
                ChartForm::Lines,
                ("share", AxisUnit::Share),
            );
            section = section.chart(pages, throttled.column("throttled", SeriesRole::Bad, column));
        }
    }
    section
}

/// Processors by thread group, against those allowed.
fn processors(place: usize, tree: &TreeColumns, name: &str) -> Chart {
    let chart = Chart::over_time(
        format!("cpu-{place}"),
        format!("{name}: processors used, by group of threads"),
        ChartForm::Stack,
        ("processors", AxisUnit::Processors),
    );
    let mut nth = 0;
    let mut chart = tree.groups.shown().fold(chart, |chart, (group, called)| {
        nth += 1;
        chart.column(called, SeriesRole::Nth(nth - 1), format!("cpu.{place}.{group}"))
    });
    chart = chart.column(OTHER, SeriesRole::Idle, format!("cpu.{place}.other"));
    // If no thread can be observed, what the processes report.
    if nth == 0 {
        chart = chart.column("all", SeriesRole::Busy, format!("cpu.{place}"));
    }
    let allowed = (tree.allowed > 0.0).then_some(tree.allowed);
    let quota =
        tree.limit("cgroup.cpu_quota").filter(|quota| allowed.is_none_or(|allowed| *quota <= allowed));
    let may = if quota.is_some() { None } else { allowed };
    chart.bound("quota", quota, Tone::Bad).bound("may use", may, Tone::Faint)
}

/// What a group's threads do, or wait for.
fn states(pages: &PageBuilder, place: usize, tree: &TreeColumns, (group, called): (usize, &str)) -> Chart {
    let chart = Chart::over_time(
        format!("threads-{place}-{group}"),
        format!("{}: {called}", tree.title()),
        ChartForm::Stack,
        ("threads", AxisUnit::Count),
    );
    let running = ThreadWait::Running.to_string();
    let chart = tree.states[group].shown().fold(chart, |chart, (state, word)| {
        let role = if word == running { SeriesRole::Busy } else { SeriesRole::Nth(pages.seen.word(word)) };
        chart.column(word, role, format!("threads.{place}.{group}.{state}"))
    });
    chart.column(OTHER, SeriesRole::Idle, format!("threads.{place}.{group}.other"))
}
