use crate::experiment::{Experiment, effect_threshold};
use crate::group::{HypothesisGroup, pilot};
use record::Noise;
use stats::error_spread;

/// The 90 % point of the normal distribution.
const Z_90: f64 = 1.281_552;

/// The noise of a group: from the blocks from the first look on, before that from the pilot.
///
/// `visible` is the smallest ratio that all planned blocks decide to the better in nine in ten experiments: the lower end, estimate −
/// half width × error, has to be above the smallest effect. The estimate is normal with the standard error σ that the deviation gives;
/// the error found is nearly so, with a mean m and a variance v of its own ([`stats::error_spread`]). So ln(ratio) = δ + σ × (half × m +
/// 1.28 × root of (1 + half² × v)).
///
/// With several hypotheses it is the largest one needed. Earlier looks make it a little smaller; that the deviation is itself an estimate
/// is not included.
pub(crate) fn noise(experiment: &Experiment, group: &HypothesisGroup) -> Option<Noise> {
    let (deviation, freedom) = deviation(experiment, group)?;
    let bounds = group.bounds.as_ref()?;
    let half_width = bounds.last().copied()?;
    let most = f64::from(experiment.design.most);
    let (mean, variance) = error_spread(experiment.design.most as usize, group.rows.len());
    let reach = half_width * mean + Z_90 * (1.0 + half_width * half_width * variance).sqrt();
    let needed = |place: &usize| {
        let hypothesis = &experiment.design.hypotheses[*place];
        let squares: f64 = group.weights(hypothesis)?.iter().map(|weight| weight * weight).sum();
        let sigma = deviation * (squares / most).sqrt();
        Some(effect_threshold(hypothesis).delta + sigma * reach)
    };
    let visible = group.hypotheses.iter().filter_map(needed).max_by(f64::total_cmp)?.exp();
    Some(Noise { probe: group.probe, measure: group.measure, deviation, freedom, visible })
}

/// Standard deviation of the logarithm between two starts of the same arm, and its degrees of freedom.
fn deviation(experiment: &Experiment, group: &HypothesisGroup) -> Option<(f64, u32)> {
    if let Some(fit) = group.fit(&experiment.starts)
        && fit.blocks() >= experiment.design.least as usize
    {
        return Some((fit.variance().sqrt(), fit.freedom() as u32));
    }
    let pilot: Vec<f64> = pilot(&experiment.starts).filter_map(|start| group.figure(start)).collect();
    let freedom = u32::try_from(pilot.len()).ok()?.checked_sub(1).filter(|freedom| *freedom > 0)?;
    let mean = pilot.iter().sum::<f64>() / pilot.len() as f64;
    let squares: f64 = pilot.iter().map(|y| (y - mean).powi(2)).sum();
    Some(((squares / f64::from(freedom)).sqrt(), freedom))
}
