//! Extracts the series that a rule may use from Prometheus' text format.
//!
//! <https://prometheus.io/docs/instrumenting/exposition_formats/>; OpenMetrics differs only after the
//! value, which is not read.

use record::watch::MetricSeries;
use std::collections::HashMap;

/// Maximum series per window.
pub(crate) const MOST: usize = 200;

/// Names, or prefixes with `*`, the most important first. Histogram buckets are dropped.
const KEPT: [&str; 19] = units::texts![
    "hikaricp_*" "jdbc_connections_*" "tomcat_threads_*" "tomcat_connections_*" "executor_*"
    "jetty_threads_*" "process_cpu_usage" "system_cpu_usage" "process_files_*" "jvm_threads_states_*"
    "jvm_gc_pause_seconds_count" "jvm_gc_pause_seconds_sum" "jvm_gc_pause_seconds_max" "go_goroutines"
    "nodejs_eventloop_lag_*" "http_server_requests_seconds_count" "http_server_requests_seconds_sum"
    "http_server_requests_active_*" "pg_stat_*"
];

/// One per route, method and status; only their sum is used.
const SUMMED: &str = "http_server_requests_";

/// The series worth keeping. Invalid lines are skipped.
///
/// Fails if no line is a series: then it is not this format.
pub(crate) fn parse_series(body: &[u8]) -> Result<Vec<MetricSeries>, String> {
    let text = String::from_utf8_lossy(body);
    let mut kept: Vec<(usize, MetricSeries)> = Vec::new();
    // Index of the sum of each name.
    let mut sums = HashMap::new();
    let mut has_series = false;
    for (name, labels, value) in text.lines().filter_map(parse_line) {
        has_series = true;
        let Some(rank) = rank(name) else { continue };
        if !value.is_finite() {
            continue;
        }
        let summed = name.starts_with(SUMMED);
        if summed {
            let at = *sums.entry(name).or_insert(kept.len());
            if let Some((_, sum)) = kept.get_mut(at) {
                sum.value += value;
                continue;
            }
        }
        let name = if summed || labels.is_empty() { name.to_owned() } else { format!("{name}{{{labels}}}") };
        kept.push((rank, MetricSeries { name, value }));
    }
    if !has_series {
        return Err("the answer is not in the Prometheus text format".to_owned());
    }
    kept.retain(|(_, series)| series.value.is_finite());
    kept.sort_by_key(|(rank, _)| *rank);
    kept.truncate(MOST);
    Ok(kept.into_iter().map(|(_, series)| series).collect())
}

fn rank(name: &str) -> Option<usize> {
    if name.ends_with("_bucket") {
        return None;
    }
    KEPT.iter().position(|kept| match kept.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => name == *kept,
    })
}

/// Name, raw labels, value.
fn parse_line(line: &str) -> Option<(&str, &str, f64)> {
    let line = line.trim();
    if line.starts_with('#') {
        return None;
    }
    let end =
        line.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | ':'))).unwrap_or(line.len());
    let (name, rest) = line.split_at(end);
    if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let rest = rest.trim_start();
    let (labels, rest) = match rest.strip_prefix('{') {
        Some(inside) => {
            let end = labels_end(inside)?;
            let labels = inside[..end].trim_start().trim_end_matches(|c: char| c == ',' || c.is_whitespace());
            (labels, &inside[end + 1..])
        }
        None => ("", rest),
    };
    let value = rest.split_ascii_whitespace().next()?;
    Some((name, labels, value.parse().ok()?))
}

/// Offset of the brace that closes the labels, not counting those in quoted values.
fn labels_end(text: &str) -> Option<usize> {
    let (mut quoted, mut escaped) = (false, false);
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            '}' if !quoted => return Some(at),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str) -> Vec<(String, f64)> {
        parse_series(text.as_bytes()).expect(text).into_iter().map(|s| (s.name, s.value)).collect()
    }

    #[test]
    fn a_line_is_a_name_labels_and_a_value() {
        for (text, name, value) in [
            ("go_goroutines 7", "go_goroutines", 7.0),
            ("go_goroutines\t 1.5e3 1700000000000", "go_goroutines", 1500.0),
            (r#"hikaricp_connections{pool="main",} 10.0"#, r#"hikaricp_connections{pool="main"}"#, 10.0),
            (r#"hikaricp_connections {pool="a\"}b\\"} 1"#, r#"hikaricp_connections{pool="a\"}b\\"}"#, 1.0),
            (r#"process_files_open_files{} 3 # {trace="x"} 1"#, "process_files_open_files", 3.0),
            ("go_goroutines +7\r", "go_goroutines", 7.0),
        ] {
            assert_eq!(read(text), [(name.to_owned(), value)]);
        }
    }

    #[test]
    fn what_is_no_number_or_no_line_is_passed_over() {
        let text = "# HELP go_goroutines NaN\n# TYPE go_goroutines gauge\n\ngo_goroutines 1\nprocess_cpu_usage NaN\n\
                    system_cpu_usage +Inf\nhikaricp_x{pool=\"a 1\nhikaricp_y\nhikaricp_z much\n7up 1\n{a=\"b\"} 2\n";
        assert_eq!(read(text), [("go_goroutines".to_owned(), 1.0)]);
        assert!(parse_series(b"<html>\n<body>Sign in</body>").is_err());
        assert!(parse_series(b"").is_err());
        // Metrics, but none that is used.
        assert_eq!(parse_series(b"node_load1 0.5\n"), Ok(Vec::new()));
    }

    /// Two finite numbers may sum to infinity, with which a stored run could not have been read.
    #[test]
    fn a_sum_beyond_all_numbers_is_left_out() {
        let text = "http_server_requests_seconds_sum{a=\"1\"} 1e308\nhttp_server_requests_seconds_sum{a=\"2\"} 1e308\ngo_goroutines 1\n";
        assert_eq!(read(text), [("go_goroutines".to_owned(), 1.0)]);
    }

    /// Each was compared with all before: four megabytes took a processor minutes.
    #[test]
    fn many_sums_take_no_longer_than_as_many_lines() {
        let many: String = (0..120_000).map(|i| format!("http_server_requests_active_{i} 1\n")).collect();
        assert_eq!(read(&many).len(), MOST);
    }

    /// Labels identify a series; an exporter's blanks do not.
    #[test]
    fn blanks_and_commas_at_the_end_are_no_labels() {
        for text in ["go_goroutines{a=\"1\" , } 1", "go_goroutines{ a=\"1\",, }1", "go_goroutines{a=\"1\"} 1"]
        {
            assert_eq!(read(text), [("go_goroutines{a=\"1\"}".to_owned(), 1.0)], "{text}");
        }
    }

    #[test]
    fn more_than_is_kept_loses_what_matters_least() {
        let many: String =
            (0..500).map(|i| format!("pg_stat_user_tables_n_live_tup{{t=\"{i}\"}} {i}\n")).collect();
        let all = read(&format!("{many}hikaricp_connections_pending 5\n"));
        assert_eq!(all.len(), MOST);
        assert_eq!(all[0], ("hikaricp_connections_pending".to_owned(), 5.0));
    }

    /// As exported by a Spring Boot service with Tomcat and HikariCP.
    #[test]
    fn an_actuator_gives_its_pools_threads_and_requests() {
        let all = read(include_str!("../../tests/fixtures/actuator.txt"));
        let value = |name: &str| all.iter().find(|(n, _)| n == name).map(|(_, value)| *value);
        assert_eq!(value(r#"hikaricp_connections_active{pool="HikariPool-1"}"#), Some(10.0));
        assert_eq!(value(r#"hikaricp_connections_pending{pool="HikariPool-1"}"#), Some(190.0));
        assert_eq!(value(r#"hikaricp_connections_max{pool="HikariPool-1"}"#), Some(10.0));
        assert_eq!(value(r#"tomcat_threads_busy_threads{name="http-nio-8080"}"#), Some(200.0));
        assert_eq!(value(r#"tomcat_threads_config_max_threads{name="http-nio-8080"}"#), Some(200.0));
        assert_eq!(value("http_server_requests_seconds_count"), Some(18_432.0 + 12.0 + 57.0));
        assert_eq!(value(r#"jvm_threads_states_threads{state="timed-waiting"}"#), Some(197.0));
        assert_eq!(value("process_files_max_files"), Some(1_048_576.0));
        assert!(all.iter().all(|(name, _)| !name.contains("_bucket") && !name.starts_with("jvm_memory")));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_harm(body in proptest::collection::vec(any::<u8>(), 0..500)) {
            let _ = parse_series(&body);
        }

        #[test]
        fn any_line_is_read_without_harm(text in "(hikaricp_a|pg_stat_b)? ?\\{?[a-z=\",\\\\{} é]{0,20}\\}? ?[0-9.eE+NaIinf-]{0,6}\n?") {
            if let Ok(all) = parse_series(text.as_bytes()) {
                prop_assert!(all.iter().all(|s| s.value.is_finite()));
            }
        }
    }
}
