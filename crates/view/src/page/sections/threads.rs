//! Where the target's threads are, and what processors they get.

use crate::Tone;
use crate::document::{AxisUnit, Chart, Section, SeriesRole};
use crate::page::builder::PageBuilder;
use crate::page::target_columns::TreeColumns;
use record::watch::ThreadWait;

/// Name for all that is not shown separately.
const OTHER: &str = "other";

pub(super) fn section(page: &PageBuilder) -> Section {
    let mut section = Section::named("threads", "What the target's threads do");
    for (place, tree) in page.target.tree_columns.iter().enumerate() {
        let name = tree.title();
        section = section.chart(page, processors(place, tree, &name));
        for (group, group_name) in tree.groups.shown() {
            section = section.chart(page, states(page, place, tree, (group, group_name)));
        }
        let title = format!("{name}: threads waiting for a processor");
        let ready = Chart::lines(format!("ready-{place}"), title, ("threads", AxisUnit::Count));
        section = section.chart(page, ready.column("ready", SeriesRole::Waiting, format!("ready.{place}")));
        let column = format!("cgroup.cpu_throttled_share.{place}");
        if page.has_nonzero(&column) {
            let title = format!("{name}: periods throttled by the quota");
            let throttled = Chart::lines(format!("throttled-{place}"), title, ("share", AxisUnit::Share));
            section = section.chart(page, throttled.column("throttled", SeriesRole::Bad, column));
        }
    }
    section
}

/// Processors by thread group, against those allowed.
fn processors(place: usize, tree: &TreeColumns, name: &str) -> Chart {
    let title = format!("{name}: processors used, by group of threads");
    let chart = Chart::stack(format!("cpu-{place}"), title, ("processors", AxisUnit::Processors));
    let mut nth = 0;
    let mut chart = tree.groups.shown().fold(chart, |chart, (group, group_name)| {
        nth += 1;
        chart.column(group_name, SeriesRole::Nth(nth - 1), format!("cpu.{place}.{group}"))
    });
    chart = chart.column(OTHER, SeriesRole::Idle, format!("cpu.{place}.other"));
    // If no thread can be observed, what the processes report.
    if nth == 0 {
        chart = chart.column("all", SeriesRole::Busy, format!("cpu.{place}"));
    }
    let allowed = (tree.allowed_cpus > 0.0).then_some(tree.allowed_cpus);
    let quota =
        tree.limit("cgroup.cpu_quota").filter(|quota| allowed.is_none_or(|allowed| *quota <= allowed));
    let may = if quota.is_some() { None } else { allowed };
    chart.bound("quota", quota, Tone::Bad).bound("may use", may, Tone::Faint)
}

/// What a group's threads do, or wait for.
fn states(page: &PageBuilder, place: usize, tree: &TreeColumns, (group, called): (usize, &str)) -> Chart {
    let (id, title) = (format!("threads-{place}-{group}"), format!("{}: {called}", tree.title()));
    let chart = Chart::stack(id, title, ("threads", AxisUnit::Count));
    let running = ThreadWait::Running.to_string();
    let chart = tree.states[group].shown().fold(chart, |chart, (state, word)| {
        let role = if word == running { SeriesRole::Busy } else { SeriesRole::Nth(page.target.word(word)) };
        chart.column(word, role, format!("threads.{place}.{group}.{state}"))
    });
    chart.column(OTHER, SeriesRole::Idle, format!("threads.{place}.{group}.other"))
}
