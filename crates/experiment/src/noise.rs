use crate::course::{Experiment, worth};
use crate::group::Group;
use record::Noise;

/// The 90 % point of the normal distribution.
const NINE_IN_TEN: f64 = 1.281_552;

/// What is known of the noise of a group: by the blocks from the first look on, before that by the pilot.
///
/// `visible` is the smallest ratio that all planned blocks decide to the better in nine of ten experiments. The
/// estimate is normal about the true effect with the standard error that the deviation gives, and has to be more
/// than the last look's half width beyond the smallest effect: ln(ratio) = δ + (half width + 1.28) × standard error.
/// Of several hypotheses it is that of the one which needs most. Earlier looks make it a little smaller; that the
/// deviation is itself an estimate is not in it.
pub(crate) fn noise(experiment: &Experiment, group: &Group) -> Option<Noise> {
    let (deviation, freedom) = deviation(experiment, group)?;
    let bounds = group.bounds.as_ref()?;
    let half = bounds.last().copied()?;
    let most = f64::from(experiment.design.most);
    let needed = |place: &usize| {
        let asked = &experiment.design.hypotheses[*place];
        let squares: f64 = group.weights(asked)?.iter().map(|weight| weight * weight).sum();
        Some(worth(asked).delta + (half + NINE_IN_TEN) * deviation * (squares / most).sqrt())
    };
    let visible = group.asked.iter().filter_map(needed).max_by(f64::total_cmp)?.exp();
    Some(Noise { probe: group.probe, measure: group.measure, deviation, freedom, visible })
}

/// Standard deviation of the logarithm between two starts of the same, and its degrees of freedom.
fn deviation(experiment: &Experiment, group: &Group) -> Option<(f64, u32)> {
    if let Some(fit) = group.fit(&experiment.visits)
        && fit.blocks() >= experiment.design.least as usize
    {
        return Some((fit.variance().sqrt(), fit.freedom() as u32));
    }
    let pilot = group.pilot(&experiment.visits);
    let freedom = u32::try_from(pilot.len()).ok()?.checked_sub(1).filter(|freedom| *freedom > 0)?;
    let mean = pilot.iter().sum::<f64>() / pilot.len() as f64;
    let squares: f64 = pilot.iter().map(|y| (y - mean).powi(2)).sum();
    Some(((squares / f64::from(freedom)).sqrt(), freedom))
}
