/// The share that the true one is below at `confidence`, after `hits` of `n` independent requests.
///
/// The one-sided bound of Clopper and Pearson (Biometrika 26, 1934): the share p at which `hits` or fewer would be seen with probability
/// 1 − confidence. For no hits it is 1 − (1 − confidence)^(1/n), near 3/n at 95 %: the rule of three. Assumes that requests fail
/// independently; they often fail in bunches, so the true uncertainty is at least this. Without requests: 1.
pub fn binomial_upper_bound(hits: u64, n: u64, confidence: f64) -> f64 {
    if hits >= n {
        return 1.0;
    }
    let doubt = 1.0 - confidence;
    if hits == 0 {
        return -f64::exp_m1(doubt.ln() / n as f64);
    }
    let (mut low, mut high) = (hits as f64 / n as f64, 1.0);
    // 60 bisections exhaust f64's precision.
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if binomial_cdf(hits, n, middle) > doubt { low = middle } else { high = middle }
    }
    high
}

/// The probability of `hits` or fewer of `n`, each with probability `p`; summed from the largest
/// term downwards in proportion to it, so that nothing under- or overflows.
pub fn binomial_cdf(hits: u64, n: u64, p: f64) -> f64 {
    if p >= 1.0 {
        return 0.0;
    }
    let (k, count) = (hits as f64, n as f64);
    let log_choose = (1..=hits).map(|i| ((count - k + i as f64) / i as f64).ln()).sum::<f64>();
    let last = log_choose + k * p.ln() + (count - k) * (-p).ln_1p();
    let (mut term, mut sum) = (1.0, 1.0);
    for i in (1..=hits).rev() {
        term *= i as f64 / (count - i as f64 + 1.0) * (1.0 - p) / p;
        sum += term;
        // Above the observed share the terms only shrink from here on.
        if term < sum * 1e-16 {
            break;
        }
    }
    (last + f64::ln(sum)).exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_known_bounds() {
        // By hand for no hits; the others from the quantile of the beta distribution, the usual way to compute the bound: qbeta(0.95, k +
        // 1, n − k).
        for (hits, n, expected) in [
            (0, 1, 0.95),
            (0, 60_000, 4.993e-5),
            (0, 100, 0.029_513),
            (1, 10, 0.394_163),
            (5, 100, 0.102_253),
            (10, 10, 1.0),
            (0, 0, 1.0),
        ] {
            let bound = binomial_upper_bound(hits, n, 0.95);
            assert!((bound - expected).abs() < expected * 1e-3, "{hits} of {n}: {bound} against {expected}");
        }
    }

    #[test]
    fn many_hits_come_near_the_normal_bound() {
        let (hits, n) = (20_000u64, 2_000_000u64);
        let share = hits as f64 / n as f64;
        let normal = share + 1.645 * (share * (1.0 - share) / n as f64).sqrt();
        let bound = binomial_upper_bound(hits, n, 0.95);
        assert!((bound / normal - 1.0).abs() < 1e-3, "{bound} against {normal}");
    }
}
