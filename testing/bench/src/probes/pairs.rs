//! Alternating blocks of both sides.

use super::block_source::{BuildContext, RunningSource};
use super::cases::ReferenceComparison;
use crate::estimate::{MedianEstimate, estimate_median};
use crate::machine::CpuTicks;
use std::time::Duration;

/// Warm-up blocks of each side, once their size is known.
const WARM: u32 = 2;
/// Steps to find the number of operations per block.
const MAX_CALIBRATIONS: u32 = 8;
/// Maximum growth of the operations from one step to the next.
const GROWTH: f64 = 10.0;
/// With a larger share of the machine stolen by the hypervisor the pairs are doubtful.
const STOLEN: f64 = 0.01;

/// One figure of a comparison.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FigureRatio {
    /// Median of torment's blocks.
    pub ours: f64,
    /// Median of the reference's blocks.
    pub reference: f64,
    /// torment ÷ reference, pair by pair.
    pub ratio: MedianEstimate,
}

/// Result of a comparison.
#[derive(Debug, Clone, PartialEq)]
pub struct PairedResult {
    /// One per figure of the comparison.
    pub figures: Vec<FigureRatio>,
    /// The share of the machine stolen by the hypervisor, if too large.
    pub stolen: Option<f64>,
}

/// Measures this many pairs of blocks, each of about this length.
///
/// Fails, saying why, if a side is unavailable or does not answer.
pub fn measure(
    case: &ReferenceComparison,
    context: &mut BuildContext,
    pairs: u32,
    block: Duration,
) -> Result<PairedResult, String> {
    let mut ours = RunningSource::new(&case.ours, context, None)?;
    let operations = if ours.takes_operations() { calibrate(&mut ours, block)? } else { 1 };
    // Its own pages and mappings once it is warm.
    let own = ours.prober_size();
    let mut reference = RunningSource::new(&case.reference, context, own)?;
    if ours.takes_operations() && reference.takes_operations() {
        for _ in 0..WARM {
            ours.run_block(operations)?;
            reference.run_block(operations)?;
        }
    }
    let before = CpuTicks::of_all();
    let mut values = Vec::new();
    for pair in 0..pairs {
        let (mut first, mut second) = (&mut ours, &mut reference);
        if pair % 2 == 1 {
            (first, second) = (second, first);
        }
        let (a, b) = (first.run_block(operations)?.0, second.run_block(operations)?.0);
        values.push(if pair % 2 == 1 { (b, a) } else { (a, b) });
    }
    let stolen = before.zip(CpuTicks::of_all()).map_or(0.0, |(before, now)| now.since(&before).stolen);
    let figures = case.figures.iter().enumerate().map(|(at, name)| {
        figure_ratio(&values, at).ok_or_else(|| format!("{}: no figures of {name}", case.name))
    });
    Ok(PairedResult {
        figures: figures.collect::<Result<_, _>>()?,
        stolen: Some(stolen).filter(|share| *share > STOLEN),
    })
}

/// Operations per block.
fn calibrate(side: &mut RunningSource, block: Duration) -> Result<u64, String> {
    let mut operations = side.min_operations();
    for _ in 0..MAX_CALIBRATIONS {
        let (_, took) = side.run_block(operations)?;
        let factor = block.as_secs_f64() / took.as_secs_f64().max(1e-9);
        operations = ((operations as f64 * factor.min(GROWTH)) as u64).max(side.min_operations());
        if factor < 1.5 {
            break;
        }
    }
    Ok(operations)
}

fn figure_ratio(values: &[(Vec<f64>, Vec<f64>)], at: usize) -> Option<FigureRatio> {
    let pairs: Vec<(f64, f64)> =
        values.iter().filter_map(|(ours, reference)| Some((*ours.get(at)?, *reference.get(at)?))).collect();
    let median_of = |side: fn(&(f64, f64)) -> f64| {
        Some(estimate_median(&pairs.iter().map(side).collect::<Vec<f64>>())?.median)
    };
    let ratios: Vec<f64> =
        pairs.iter().filter(|(_, reference)| *reference > 0.0).map(|(ours, r)| ours / r).collect();
    Some(FigureRatio {
        ours: median_of(|pair| pair.0)?,
        reference: median_of(|pair| pair.1)?,
        ratio: estimate_median(&ratios)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probes::{BlockSource, RatioGoal};
    use std::path::PathBuf;
    use std::process::Output;

    #[test]
    fn ratios_are_of_pairs() {
        // A machine that slows down by half affects both.
        let values = [(vec![8.0], vec![10.0]), (vec![16.0], vec![20.0]), (vec![8.0], vec![10.0])];
        let found = figure_ratio(&values, 0).expect("three pairs");
        assert_eq!((found.ours, found.reference, found.ratio.median, found.ratio.low), (8.0, 10.0, 0.8, 0.8));
        assert_eq!(figure_ratio(&values, 1), None);
    }

    #[test]
    fn who_is_first_does_not_change_whose_value_it_is() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let read = |output: &Output, _: Duration| {
            Some(vec![String::from_utf8_lossy(&output.stdout).trim().parse().ok()?])
        };
        let side = |word: &str| BlockSource::Command {
            program: "sh",
            arguments: vec!["-c".to_owned(), format!("echo {word}")],
            install: "apt install dash",
            read,
        };
        let case = ReferenceComparison {
            table: "test",
            name: "echo".to_owned(),
            figures: &["what it says"],
            ours: side("6"),
            reference: side("3"),
            goal: RatioGoal::Shown,
        };
        let mut here = BuildContext::new(PathBuf::from("/the/torment"), folder.path().to_owned());
        let measured = measure(&case, &mut here, 4, Duration::ZERO).expect("there is a shell");
        let [figure] = measured.figures.as_slice() else { panic!("{measured:?}") };
        assert_eq!((figure.ours, figure.reference), (6.0, 3.0));
        assert_eq!((figure.ratio.low, figure.ratio.high), (2.0, 2.0));
    }
}
