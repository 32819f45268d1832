//! Load metrics: counters over all trials, gauges of the last second.

use super::families::of_metric;
use super::watched::value;
use super::{Buckets, SampleValue, Samples};
use crate::load_second::is_whole;
use record::Slice;
use record::catalogue::{LOAD, LoadReader, LoadRow};
use units::Rate;

/// Adds all load measures that have a metric, from the total and the last second.
pub(super) fn add_samples(total: &Slice, last: Option<&LastSecond>, samples: &mut Samples) {
    for (place, LoadRow { measure, read, .. }) in LOAD.iter().enumerate() {
        let Some(metric) = measure.metric else { continue };
        let family = of_metric(metric.family);
        let labels: Vec<&str> = metric.label.iter().map(|(_, name)| *name).collect();
        let value = match read {
            LoadReader::Number(get) if measure.grows => Some(value(measure, get(total))),
            LoadReader::Times(get) => Some(SampleValue::Times(Box::new(Buckets::from_histogram(get(total))))),
            LoadReader::Each(get) => {
                get(total).iter().for_each(|(name, count)| samples.count(family, &[name.as_str()], *count));
                None
            }
            _ => last.and_then(|last| last.0[place]).map(|counted| value(measure, counted)),
        };
        value.into_iter().for_each(|value| samples.push(family, &labels, value));
    }
}

/// The last second of load: a value for each instantaneous row of the catalogue.
#[derive(Debug, Clone)]
pub(super) struct LastSecond(Vec<Option<f64>>);

impl LastSecond {
    /// A partial second makes no rates: those of the second before stay.
    pub fn of(slice: &Slice, before: Option<&Self>) -> Self {
        let value = |(place, row): (usize, &LoadRow)| match row.read {
            LoadReader::Rate(get) if is_whole(slice.elapsed) => Some(Rate::of(get(slice), slice.elapsed).0),
            LoadReader::Rate(_) => before?.0[place],
            LoadReader::Longest(get) => get(slice).max().map(|time| time.0 as f64),
            LoadReader::Number(get) => Some(get(slice)),
            _ => None,
        };
        Self(LOAD.iter().enumerate().map(value).collect())
    }
}
