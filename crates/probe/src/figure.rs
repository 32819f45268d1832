//! From blocks to figures.

use crate::block::{BlockResult, FigureName};
use record::{Figure, OperationTimes};
use stats::Histogram;
use units::Nanos;

pub(crate) fn median(figures: &[Figure], row: &str, column: &str) -> Option<f64> {
    figures.iter().find(|figure| figure.row == row && figure.column == column).map(|figure| figure.median)
}

pub(crate) fn find_figure<'a>(figures: &'a mut [Figure], row: &str, column: &str) -> Option<&'a mut Figure> {
    figures.iter_mut().find(|figure| figure.row == row && figure.column == column)
}

/// A difference of two figures; a negative one is noise.
pub(crate) fn clamped_nanos(nanos: f64) -> Nanos {
    Nanos(nanos.max(0.0).round() as u64)
}

/// Summarises all blocks of a probe.
pub(crate) fn figures(table: &str, named: Vec<FigureName>, blocks: &[BlockResult]) -> Vec<Figure> {
    let named = named.into_iter().enumerate();
    named
        .filter_map(|(at, named)| {
            let values: Vec<f64> = blocks.iter().filter_map(|block| block.values.get(at).copied()).collect();
            let operations = blocks.iter().map(|block| block.operations).sum();
            let names = (table, named.row.as_str(), named.column.as_str());
            Some(Figure {
                single: operation_times(blocks.iter().filter_map(|block| block.single.get(at))),
                // None if any is none.
                switches: (blocks.iter().map(|block| block.switches).sum::<Option<u64>>())
                    .map(|all| all as f64 / operations as f64),
                apart: apart_share(blocks),
                ..Figure::from_blocks(names, named.unit, values, operations)?
            })
        })
        .collect()
}

fn operation_times<'a>(histograms: impl Iterator<Item = &'a Histogram>) -> Option<OperationTimes> {
    let mut all = Histogram::default();
    histograms.for_each(|histogram| all.merge(histogram));
    OperationTimes::from_histogram(&all)
}

fn apart_share(blocks: &[BlockResult]) -> Option<f64> {
    let looks: u64 = blocks.iter().map(|block| Some(block.looks?.0)).sum::<Option<u64>>()?;
    let apart: u64 = blocks.iter().map(|block| Some(block.looks?.1)).sum::<Option<u64>>()?;
    (looks > 0).then(|| apart as f64 / looks as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::Measurable;
    use crate::copy::CopyProbe;
    use units::Nanos;

    #[test]
    fn blocks_become_a_figure() {
        let block = |value: f64, time: u64| {
            let mut single = Histogram::default();
            single.record(Nanos(time));
            BlockResult {
                values: vec![value],
                single: vec![single],
                operations: 10,
                switches: Some(20),
                looks: Some((4, 1)),
                ..BlockResult::default()
            }
        };
        let blocks = [block(5.0, 4), block(7.0, 9), block(6.0, 5)];
        let figures = figures("memcpy", CopyProbe::Call.figures(), &blocks);
        let [figure] = figures.as_slice() else { panic!("{figures:?}") };
        assert_eq!((figure.median, figure.low, figure.high), (6.0, 5.0, 7.0));
        assert_eq!(figure.blocks, [5.0, 7.0, 6.0]);
        assert_eq!((figure.operations, figure.switches, figure.apart), (30, Some(2.0), Some(0.25)));
        let single = figure.single.expect("each was timed");
        assert_eq!((single.min, single.p50, single.max), (Nanos(4), Nanos(5), Nanos(9)));
    }

    #[test]
    fn one_that_cannot_tell_makes_none() {
        let blocks = [BlockResult { values: vec![1.0], operations: 1, ..BlockResult::default() }];
        let figure = &figures("memcpy", CopyProbe::Call.figures(), &blocks)[0];
        assert_eq!((figure.switches, figure.apart, figure.single), (None, None, None));
    }
}
