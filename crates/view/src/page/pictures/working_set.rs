//! The size at which data no longer fit their cache: read time by working set.

use crate::document::{AxisUnit, Chart, ChartForm, ChartPoint, SeriesRole};
use crate::wording::distinct;
use crate::{RunView, Tone};
use record::{CacheModel, Figure, Verdict};
use units::{Bytes, Nanos};

/// Model points between two sizes.
const MODEL_POINTS: usize = 8;
/// At half the rate a read takes this many times as long as from the cache.
const HALF_RATE_FACTOR: f64 = 2.0;
/// Suffix of machine facts that give a processor cache's size: `L1 cache`.
const CACHE_SUFFIX: &str = " cache";
/// Prefix of figures for one of several read methods: `each, huge pages`.
const METHOD_PREFIX: &str = "each, ";

/// Empty before the first size.
pub(super) fn charts(view: &RunView) -> Vec<Chart> {
    let (model, predicted, found) = match view.verdict() {
        Some(Verdict::WorkingSet { model, half_predicted, half_measured }) => {
            (*model, *half_predicted, *half_measured)
        }
        _ => (None, None, None),
    };
    let of_unit = |unit: record::FigureUnit| view.figures.iter().filter(move |figure| figure.unit == unit);
    // Time per read is the inverse of the rate.
    let mean = points(of_unit(record::FigureUnit::PerSecond), |rate| 1.0 / rate, model);
    let times = |column: &str| {
        let of_it = of_unit(record::FigureUnit::Nanos).filter(|figure| figure.column == column);
        points(of_it, |nanos| nanos / 1e9, model)
    };
    // A size is judged only by its mean.
    let quantiles = |column: &str| {
        let judged = times(column).into_iter().map(|point| {
            let of_it = mean.iter().find(|mean| mean.label == point.label);
            ChartPoint { tone: of_it.map_or(point.tone, |mean| mean.tone), ..point }
        });
        judged.collect::<Vec<_>>()
    };
    let (p50, p99) = (quantiles("p50"), quantiles("p99"));
    let ways = distinct(of_unit(record::FigureUnit::Nanos).map(|figure| figure.column.as_str()));
    let mut ways = ways.into_iter().rev().filter(|column| column.starts_with(METHOD_PREFIX));
    let modelled = model.filter(|_| !mean.is_empty()).map(|model| modelled(model, &mean));

    let mut note = "each mark is a size, with the interval of what a read takes on average".to_owned();
    let mut says = |is_so: bool, text: &str| note.push_str(if is_so { text } else { "" });
    says(modelled.is_some(), "; line: by the cost of a hit, the cost of a miss and what fits");
    says(caches(view).next().is_some(), "; shaded in turn: the processor's caches");
    says(found.is_some(), "; beyond the limit the rate is less than half of that from the cache");
    let (x, y) = (("size", AxisUnit::Bytes), ("time of a read", AxisUnit::Seconds));
    let chart =
        Chart::of("limit", "where it no longer fits", ChartForm::Points, x, y).log_x().log_y().note(note);
    // Of several methods the last is the one explained.
    let first = ways.next().map(|way| (&way[METHOD_PREFIX.len()..], times(way)));
    let (name, main) = first.unwrap_or(("mean", mean));
    let mut chart = chart
        .points(name, SeriesRole::Achieved, main)
        .points("p50", SeriesRole::Half, p50)
        .points("p99", SeriesRole::NinetyNine, p99)
        .points("model", SeriesRole::Offered, modelled.unwrap_or_default());
    for (nth, way) in (1..).zip(ways) {
        chart = chart.points(&way[METHOD_PREFIX.len()..], SeriesRole::Nth(nth), times(way));
    }
    chart.series.retain(|series| !series.points.is_empty());
    if chart.series.is_empty() {
        return Vec::new();
    }
    let chart = with_bands(view, chart, found);
    let bytes = |bytes: Bytes| bytes.0 as f64;
    let fits = model.map(|model| bytes(model.cache));
    let chart = chart.vertical_line("fits", fits, if found.is_some() { Tone::Plain } else { Tone::Good });
    let chart = chart.vertical_line("half the rate, predicted", predicted.map(bytes), Tone::Faint);
    let half = model.map(|model| HALF_RATE_FACTOR * model.hit.as_secs_f64());
    vec![chart.bound("half the rate", half, Tone::Bad)]
}

/// The processor's caches in order, the sizes between which the rate falls below half, and the region beyond.
fn with_bands(view: &RunView, chart: Chart, found: Option<(Bytes, Bytes)>) -> Chart {
    let mut from = None;
    let chart = caches(view).enumerate().fold(chart, |chart, (nth, (name, size))| {
        let since = from.replace(size);
        let chart = if nth % 2 == 0 { chart.band(name, since, Some(size), Tone::Faint) } else { chart };
        chart.vertical_line(name, Some(size), Tone::Faint)
    });
    let Some((more, less)) = found.map(|(more, less)| (more.0 as f64, less.0 as f64)) else { return chart };
    chart
        .band("", Some(more), Some(less), Tone::Strong)
        .band_meaning("where the rate falls below half")
        .band("too much", Some(less), None, Tone::Bad)
        .vertical_line("half the rate at", Some(more), Tone::Good)
}

/// Smallest first; only where processor caches are measured.
fn caches(view: &RunView) -> impl Iterator<Item = (&str, f64)> {
    let facts = view.conditions.iter().flat_map(|conditions| &conditions.facts);
    facts.filter_map(|(name, size)| {
        Some((name.strip_suffix(CACHE_SUFFIX)?, size.parse::<Bytes>().ok()?.0 as f64))
    })
}

/// One point per size, smallest first; good if a read takes less than twice the time from the cache.
fn points<'a>(
    figures: impl Iterator<Item = &'a Figure>,
    seconds: impl Fn(f64) -> f64,
    model: Option<CacheModel>,
) -> Vec<ChartPoint> {
    let tone = |y: f64, figure: &Figure| match model {
        _ if !figure.caveats.is_empty() => Tone::Warn,
        None => Tone::Plain,
        Some(model) if y < HALF_RATE_FACTOR * model.hit.as_secs_f64() => Tone::Good,
        Some(_) => Tone::Bad,
    };
    let point = |figure: &Figure| {
        let [y, one, other] = [figure.median, figure.low, figure.high].map(&seconds);
        let (low, high) = (Some(one.min(other)), Some(one.max(other)));
        let size = figure.row.parse::<Bytes>().ok()?;
        let label = figure.row.clone();
        Some(ChartPoint { x: size.0 as f64, y, low, high, label, tone: tone(y, figure) })
    };
    let mut all: Vec<ChartPoint> = figures.filter_map(point).collect();
    all.sort_by(|a, b| a.x.total_cmp(&b.x));
    all
}

/// The model's mean read time, at the measured sizes and between.
fn modelled(model: CacheModel, measured: &[ChartPoint]) -> Vec<ChartPoint> {
    let [hit, miss] = [model.hit, model.miss].map(Nanos::as_secs_f64);
    let mean = |size: f64| {
        let hits = (model.cache.0 as f64 / size).min(1.0);
        hits * hit + (1.0 - hits) * miss
    };
    let between = measured.windows(2).flat_map(|pair| {
        let (from, ratio) = (pair[0].x, pair[1].x / pair[0].x);
        (0..MODEL_POINTS).map(move |step| from * ratio.powf(step as f64 / MODEL_POINTS as f64))
    });
    let point = |x: f64| ChartPoint { x, y: mean(x), ..ChartPoint::default() };
    between.chain(measured.last().map(|last| last.x)).map(point).collect()
}
