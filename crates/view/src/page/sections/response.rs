//! Response time over time and by how many: how it is spread.

use super::load::still;
use crate::document::{Chart, Form, Role, Section, Unit};
use crate::page::pages::Pages;

pub(super) fn section(pages: &Pages) -> Section {
    Section::named("response", "Response time").chart(pages, heat(pages)).chart(pages, spread(pages))
}

fn heat(pages: &Pages) -> Chart {
    let mut chart =
        Chart::over_time("heat", "response times over time", Form::Heat, ("response time", Unit::Seconds))
            .note("darker: more requests took that long")
            .log_y()
            .marks(still(&pages.run));
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
        .note("share of requests that took no longer; timed from when they were due, so no wait is left out")
        .log_x()
        .log_y()
        .points("response time", Role::NinetyNine, found.response)
        .points("service time", Role::Busy, found.service)
        .points("lateness", Role::Waiting, found.lateness)
}
