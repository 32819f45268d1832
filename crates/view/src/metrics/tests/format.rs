//! The family table, and the output formats.

use super::everything;
use crate::metrics::{
    ExpositionFormat, FAMILIES, LABELS, MetricFamily, MetricType, Sample, SampleValue, otlp, text,
};
use serde_json::json;
use std::collections::BTreeSet;

#[test]
fn every_family_has_a_name_as_its_type_and_unit_want_it() {
    let mut names = BTreeSet::new();
    for family in FAMILIES.iter() {
        let MetricFamily { name, kind, unit, labels, help } = family;
        assert!(names.insert(*name), "{name} twice");
        assert!(
            name.chars().all(|c| c.is_ascii_lowercase() || c == '_') && name.starts_with("torment_"),
            "{name}"
        );
        assert_eq!(name.ends_with("_total"), *kind == MetricType::Counter, "{name}");
        assert_eq!(name.ends_with("_info"), *kind == MetricType::Info, "{name}");
        // Receivers of pushes append the unit to the name unless present.
        if let Some(word) = family.unit_word() {
            assert!(family.stem().ends_with(&format!("_{word}")), "{name}");
        }
        assert_eq!(unit.ends_with("}/s"), name.ends_with("_per_second"), "{name}");
        assert!(unit.is_empty() || unit.starts_with('{') || family.unit_word().is_some(), "{name}: {unit}");
        assert!(help.ends_with('.') && !help.contains(['|', '\n']), "{name}: {help}");
        assert!(labels.iter().all(|label| !LABELS.contains(label) && *label != "le"), "{name}");
    }
}

#[test]
fn whatever_is_told_has_its_family_s_labels_and_type() {
    let run = everything();
    for Sample { family, labels, value } in &run.samples {
        assert_eq!(labels.len(), family.labels.len(), "{}", family.name);
        assert_eq!(
            matches!(value, SampleValue::Times(_)),
            family.kind == MetricType::Histogram,
            "{}",
            family.name
        );
    }
    let told: BTreeSet<&str> = run.samples.iter().map(|sample| sample.family.name).collect();
    let silent: Vec<&str> =
        FAMILIES.iter().map(|family| family.name).filter(|name| !told.contains(name)).collect();
    assert!(silent.is_empty(), "{silent:?}");
}

#[test]
fn as_text_families_stand_together_and_nothing_breaks_out_of_a_label() {
    let runs = [everything(), everything()];
    let said = text(&runs, ExpositionFormat::OpenMetrics);
    assert!(said.ends_with("# EOF\n"), "{said}");
    assert!(said.contains("# TYPE torment_requests counter\n"), "{said}");
    assert!(said.contains("# UNIT torment_response_time_seconds seconds\n"), "{said}");
    assert!(said.contains("# TYPE torment_run info\n"), "{said}");
    let labels = r#"run="20261122-1-abc",command="find",name="a \"name\"\\",target="http://h/\n""#;
    for line in [
        format!("torment_requests_total{{{labels},outcome=\"ok\"}} 200\n"),
        format!("torment_response_time_seconds_bucket{{{labels},le=\"0.002\"}} 0\n"),
        format!("torment_response_time_seconds_bucket{{{labels},le=\"1.0\"}} 200\n"),
        format!("torment_response_time_seconds_bucket{{{labels},le=\"+Inf\"}} 200\n"),
        format!("torment_response_time_seconds_count{{{labels}}} 200\n"),
        format!("torment_run_start_time_seconds{{{labels}}} 1700000000.5\n"),
    ] {
        assert_eq!(said.matches(&line).count(), runs.len(), "{line}{said}");
    }
    let types: Vec<&str> = said.lines().filter_map(|line| line.strip_prefix("# TYPE ")).collect();
    assert_eq!(types.len(), types.iter().collect::<BTreeSet<_>>().len(), "{types:?}");

    let said = text(&runs, ExpositionFormat::Prometheus);
    assert!(said.contains("# TYPE torment_requests_total counter\n"), "{said}");
    assert!(said.contains("# TYPE torment_run_info gauge\n"), "{said}");
    assert!(!said.contains("# UNIT") && !said.contains("# EOF"), "{said}");
    assert_eq!(
        (text(&[], ExpositionFormat::Prometheus).as_str(), text(&[], ExpositionFormat::OpenMetrics).as_str()),
        ("", "# EOF\n")
    );
}

#[test]
fn a_push_has_texts_for_numbers_of_64_bits_and_counts_from_the_beginning() {
    let body = otlp(&[everything()], 1_700_000_009_000);
    let resource = &body["resourceMetrics"][0];
    let service = json!({ "key": "service.name", "value": { "stringValue": "torment" } });
    assert_eq!(resource["resource"]["attributes"][0], service);
    let scope = &resource["scopeMetrics"][0];
    assert_eq!(scope["scope"], json!({ "name": "torment", "version": "0.1.0" }));
    let metrics = scope["metrics"].as_array().expect("a list");
    let metric = |name: &str| {
        metrics
            .iter()
            .find(|metric| metric["name"] == name)
            .unwrap_or_else(|| panic!("no {name} in {metrics:#?}"))
    };
    let requests = metric("torment_requests");
    assert_eq!((&requests["unit"], &requests["sum"]["isMonotonic"]), (&json!("{request}"), &json!(true)));
    assert_eq!(requests["sum"]["aggregationTemporality"], 2);
    let point = &requests["sum"]["dataPoints"][0];
    assert_eq!(
        (&point["asInt"], &point["startTimeUnixNano"], &point["timeUnixNano"]),
        (&json!("200"), &json!("1700000000500000000"), &json!("1700000009000000000"))
    );
    let outcome = json!({ "key": "outcome", "value": { "stringValue": "ok" } });
    assert!(point["attributes"].as_array().is_some_and(|all| all.contains(&outcome)), "{point}");
    let times = metric("torment_response_time_seconds");
    assert_eq!(times["histogram"]["aggregationTemporality"], 2);
    let point = &times["histogram"]["dataPoints"][0];
    let lengths = ["bucketCounts", "explicitBounds"].map(|name| point[name].as_array().map(Vec::len));
    assert_eq!(lengths, [Some(44), Some(43)], "{point}");
    assert_eq!((&point["count"], &point["bucketCounts"][0]), (&json!("200"), &json!("0")));
    let offered = metric("torment_offered_per_second");
    assert_eq!(offered["gauge"]["dataPoints"][0]["asDouble"], 200.0);
    assert_eq!(metric("torment_run_info")["gauge"]["dataPoints"][0]["asInt"], "1");
}
