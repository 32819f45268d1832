//! Formatting of numbers and short lists in sentences.

use units::{Nanos, grouped};

/// Three significant digits: more would promise what no prediction can keep.
pub(crate) fn round_to_three_digits(value: f64) -> f64 {
    let last = 10_f64.powi((value.log10().floor() as i32 - 2).max(0));
    (value / last).round() * last
}

/// A number of threads, sessions, processors: with as many decimals as it deserves.
pub(crate) fn format_number(value: f64) -> String {
    if value.abs() >= 9.95 || (value - value.round()).abs() < 0.005 {
        let whole = value.abs().round() as u64;
        format!("{}{}", if value < -0.5 { "-" } else { "" }, grouped(whole))
    } else {
        let text = format!("{value:.*}", if value.abs() >= 0.995 { 1 } else { 2 });
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    }
}

/// `3 threads`, `1 thread`.
pub(crate) fn format_count(value: f64, one: &str) -> String {
    let text = format_number(value);
    if text == "1" { format!("1 {one}") } else { format!("{text} {one}s") }
}

/// A factor of a calculation, with three digits, so that readers can reproduce it.
pub(crate) fn format_factor(value: f64) -> String {
    if value >= 99.95 {
        return format_number(value);
    }
    let decimals = (2 - value.abs().max(0.001).log10().floor() as i32).max(0) as usize;
    let text = format!("{value:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// A time with three significant digits.
pub(crate) fn format_time(seconds: f64) -> String {
    Nanos::from_secs_f64(seconds).to_string()
}

/// `a, b and c`.
pub(crate) fn format_list(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [one] => one.clone(),
        [head @ .., last] => format!("{} and {last}", head.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_the_decimals_they_deserve() {
        for (value, text) in [
            (0.0, "0"),
            (0.09, "0.09"),
            (1.0, "1"),
            (1.85, "1.9"),
            (9.9, "9.9"),
            (188.9, "189"),
            (1234.4, "1,234"),
        ] {
            assert_eq!(format_number(value), text);
        }
        for (value, text) in
            [(0.1234, "0.123"), (1.0, "1"), (1.856, "1.86"), (12.34, "12.3"), (1234.4, "1,234")]
        {
            assert_eq!(format_factor(value), text);
        }
        assert_eq!(format_count(1.0, "thread"), "1 thread");
        assert_eq!(format_count(9.9, "worker"), "9.9 workers");
        assert_eq!(
            (format_time(0.051), format_time(0.0053), format_time(30.0)),
            ("51 ms".into(), "5.3 ms".into(), "30 s".into())
        );
        let items = ["a", "b", "c"].map(str::to_owned);
        assert_eq!(format_list(&items), "a, b and c");
    }
}
