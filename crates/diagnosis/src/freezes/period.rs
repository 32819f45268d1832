//! Whether events recur with a fixed period.

/// With fewer, recurrence may be chance.
const MIN_FREEZES: usize = 4;
/// Largest standard deviation from an even beat, as a share of it; chance alone gives 0.29.
const MAX_DEVIATION: f64 = 0.08;
/// Share of the beats within observed time that must have been met.
const MIN_MET_SHARE: f64 = 0.75;

/// The period in seconds, from ascending moments; between the observed stretches events may be missing.
pub(super) fn find_period(moments: &[f64], observed: &[(f64, f64)]) -> Option<f64> {
    let (first, last) = (*moments.first()?, *moments.last()?);
    if moments.len() < MIN_FREEZES {
        return None;
    }
    let gaps: Vec<f64> = moments.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let mut period = gaps.iter().copied().min_by(f64::total_cmp)?;
    // Each gap counts in beats of the period estimated so far.
    let mut beats = vec![0.0];
    for gap in &gaps {
        let (passed, at) = (beats[beats.len() - 1], beats.len());
        let beat = passed + (gap / period).round().max(1.0);
        beats.push(beat);
        period = (moments[at] - first) / beat;
    }
    let count = moments.len() as f64;
    let (mean_at, mean_beat) = (moments.iter().sum::<f64>() / count, beats.iter().sum::<f64>() / count);
    let deviations = || moments.iter().zip(&beats).map(|(at, beat)| (at - mean_at, beat - mean_beat));
    let period = deviations().map(|(at, beat)| at * beat).sum::<f64>()
        / deviations().map(|(_, beat)| beat * beat).sum::<f64>();
    let deviation = (deviations().map(|(at, beat)| (at - period * beat).powi(2)).sum::<f64>() / count).sqrt();
    if deviation > MAX_DEVIATION * period {
        return None;
    }
    let start = mean_at - period * mean_beat;
    let is_seen = |at: f64| observed.iter().any(|(from, to)| *from <= at && at <= *to);
    let due = beats_within(first, last, period).filter(|beat| is_seen(start + beat * period)).count();
    (count >= MIN_MET_SHARE * due as f64).then_some(period)
}

fn beats_within(first: f64, last: f64, period: f64) -> impl Iterator<Item = f64> {
    /// At most this many beats per run.
    const MOST: f64 = 1e5;
    (0..=((last - first) / period).round().min(MOST) as u64).map(|beat| beat as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(moments: &[f64], observed: &[(f64, f64)], expected: Option<f64>) {
        let found = find_period(moments, observed);
        let near = found.zip(expected).is_none_or(|(found, expected)| (found / expected - 1.0).abs() < 0.02);
        assert!(
            near && found.is_some() == expected.is_some(),
            "{found:?}, expected {expected:?}: {moments:?}"
        );
    }

    #[test]
    fn what_is_even_has_a_period_and_nothing_else() {
        let all = [(0.0, 100.0)];
        check(&[9.9, 20.1, 30.0, 39.8, 50.1], &all, Some(10.0));
        check(&[10.0, 20.0, 30.0], &all, None);
        check(&[3.0, 4.5, 11.0, 29.0, 31.0, 47.0], &all, None);
        // One may be missed; most may not.
        check(&[10.0, 20.0, 30.0, 50.0, 60.0], &all, Some(10.0));
        check(&[10.0, 20.0, 50.0, 90.0], &all, None);
        // Nothing is observed between two trials.
        check(&[10.0, 20.0, 50.0, 90.0], &[(5.0, 25.0), (45.0, 55.0), (85.0, 95.0)], Some(10.0));
    }
}
