//! Numbers and short lists as sentences have them.

use units::grouped;

/// To three significant digits: more of them would promise what no prediction can keep.
pub(crate) fn three_digits(value: f64) -> f64 {
    let last = 10_f64.powi((value.log10().floor() as i32 - 2).max(0));
    (value / last).round() * last
}

/// A number of threads, sessions, processors: as many decimals as it deserves.
pub(crate) fn number(value: f64) -> String {
    if value.abs() >= 9.95 || (value - value.round()).abs() < 0.005 {
        let whole = value.abs().round() as u64;
        format!("{}{}", if value < -0.5 { "-" } else { "" }, grouped(whole))
    } else {
        let text = format!("{value:.*}", if value.abs() >= 0.995 { 1 } else { 2 });
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    }
}

/// `3 threads`, `1 thread`.
pub(crate) fn count(value: f64, one: &str) -> String {
    let text = number(value);
    if text == "1" { format!("1 {one}") } else { format!("{text} {one}s") }
}

/// A time in milliseconds, or seconds.
pub(crate) fn time(seconds: f64) -> String {
    let ms = seconds * 1e3;
    match ms {
        ms if ms >= 1e4 => format!("{:.0} s", seconds),
        ms if ms >= 1e3 => format!("{seconds:.1} s"),
        ms if ms >= 9.95 => format!("{ms:.0} ms"),
        ms if ms >= 0.0995 => format!("{ms:.1} ms"),
        ms => format!("{:.0} µs", ms * 1e3),
    }
}

/// Bytes, in powers of 1,024.
pub(crate) fn bytes(value: u64) -> String {
    units::Bytes(value).to_string()
}

/// `a, b and c`.
pub(crate) fn list(items: &[String]) -> String {
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
            assert_eq!(number(value), text);
        }
        assert_eq!(count(1.0, "thread"), "1 thread");
        assert_eq!(count(9.9, "worker"), "9.9 workers");
        assert_eq!((time(0.051), time(0.0053), time(30.0)), ("51 ms".into(), "5.3 ms".into(), "30 s".into()));
        let items = ["a", "b", "c"].map(str::to_owned);
        assert_eq!(list(&items), "a, b and c");
    }
}
