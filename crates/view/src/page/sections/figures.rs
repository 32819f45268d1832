//! Figures of the machine: tables, and the rate against the size of a working set.

use crate::document::{Chart, Form, Point, Role, Section, Text, Unit};
use crate::page::pages::Pages;
use crate::sheet::{distinct, whole};
use crate::summary::headline;
use crate::{Kind, RunView, Tone};
use record::{CacheModel, Figure, Verdict};
use units::Bytes;

/// Points of the model between two sizes.
const BETWEEN: usize = 8;

pub(super) fn section(pages: &Pages) -> Section {
    let mut section = Section::named("figures", "Figures of the machine");
    let run = &pages.run;
    if run.measured.is_empty() {
        return section;
    }
    if matches!(run.kind(), Kind::Sheet | Kind::WorkingSet) {
        section = section.texts(headline(run));
    }
    section = section.chart(pages, working_set(run));
    let names = run.measured.iter().map(|figure| &figure.table);
    for name in distinct(names.chain(run.notes.iter().map(|(table, _)| table))) {
        let (tables, said) = whole(name, &run.measured, &run.notes);
        section = tables.into_iter().fold(section, |section, table| section.table(table.titled(name)));
        section = section.texts(said.into_iter().map(Text::plain));
    }
    section
}

/// The rate against the size of the set, beside what follows from the model.
fn working_set(run: &RunView) -> Chart {
    let chart = Chart::of(
        "working-set",
        "rate against size of the working set",
        Form::Points,
        ("size", Unit::Bytes),
        ("reads a second", Unit::PerSecond),
    )
    .log_x()
    .log_y();
    if run.kind() != Kind::WorkingSet {
        return chart;
    }
    let size = |figure: &Figure| Some(figure.row.parse::<Bytes>().ok()?.0 as f64);
    let rates = run.measured.iter().filter(|figure| figure.unit == record::Unit::PerSecond);
    let mut measured: Vec<Point> = rates
        .filter_map(|figure| {
            let tone = if figure.caveats.is_empty() { Tone::Plain } else { Tone::Warn };
            let (low, high) = (Some(figure.low), Some(figure.high));
            Some(Point { x: size(figure)?, y: figure.median, low, high, label: figure.row.clone(), tone })
        })
        .collect();
    measured.sort_by(|a, b| a.x.total_cmp(&b.x));
    let verdict = run.end.as_ref().and_then(|end| end.verdict.as_ref());
    let (model, predicted, found) = match verdict {
        Some(Verdict::WorkingSet { model, half_predicted, half_measured }) => {
            (*model, *half_predicted, *half_measured)
        }
        _ => (None, None, None),
    };
    let model_points = model.map_or_else(Vec::new, |model| modelled(&model, &measured));
    let bytes = |bytes: Option<Bytes>| bytes.map(|bytes| bytes.0 as f64);
    chart
        .note("what was measured, and what follows from the cost of a hit, the cost of a miss and what fits")
        .points("measured", Role::Achieved, measured)
        .points("from the model", Role::Offered, model_points)
        .upright("what fits", bytes(model.map(|model| model.cache)), Tone::Strong)
        .upright("half the rate, predicted", bytes(predicted), Tone::Faint)
        .upright("more than half", bytes(found.map(|(more, _)| more)), Tone::Good)
        .upright("less than half", bytes(found.map(|(_, less)| less)), Tone::Bad)
}

fn modelled(model: &CacheModel, measured: &[Point]) -> Vec<Point> {
    let rate = |size: f64| {
        let hits = (model.cache.0 as f64 / size).min(1.0);
        1.0 / (hits * model.hit.as_secs_f64() + (1.0 - hits) * model.miss.as_secs_f64())
    };
    let point = |x: f64| Point { x, y: rate(x), ..Point::default() };
    let between = measured.windows(2).flat_map(|pair| {
        let (from, ratio) = (pair[0].x, pair[1].x / pair[0].x);
        (0..BETWEEN).map(move |step| from * ratio.powf(step as f64 / BETWEEN as f64))
    });
    between.chain(measured.last().map(|last| last.x)).map(point).collect()
}
