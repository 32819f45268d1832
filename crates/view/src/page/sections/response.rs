//! Response times over time and their distribution.

use super::load::freeze_phases;
use crate::document::{AxisUnit, Chart, ChartForm, Section, SeriesRole};
use crate::page::builder::PageBuilder;

pub(super) fn section(page: &PageBuilder) -> Section {
    Section::named("response", "Response time").chart(page, heat(page)).chart(page, spread(page))
}

fn heat(page: &PageBuilder) -> Chart {
    let (time, y) = (("time", AxisUnit::Time), ("response time", AxisUnit::Seconds));
    let chart = Chart::of("heat", "response times over time", ChartForm::Heat, time, y)
        .note("darker: more requests took that long")
        .log_y()
        .marks(freeze_phases(&page.run));
    Chart { heat: page.heatmap.grid(), ..chart }
}

fn spread(page: &PageBuilder) -> Chart {
    let found = page.distribution().unwrap_or_default();
    let title = match found.name.as_str() {
        "" => "distribution".to_owned(),
        name => format!("distribution ({name})"),
    };
    let (x, y) = (("percentile", AxisUnit::Percentile), ("time", AxisUnit::Seconds));
    Chart::of("distribution", title, ChartForm::Lines, x, y)
        .note("share of requests that took no longer; timed from when they were due, so no wait is left out")
        .log_x()
        .log_y()
        .points("response time", SeriesRole::NinetyNine, found.response)
        .points("service time", SeriesRole::Busy, found.service)
        .points("lateness", SeriesRole::Waiting, found.lateness)
}
