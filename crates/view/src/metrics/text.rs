//! Metrics as text, for scrapers.

use super::{
    Buckets, ExpositionFormat, FAMILIES, LABELS, MetricFamily, MetricType, Sample, SampleValue, Snapshot,
};
use std::fmt::Write;

/// All metrics of some runs, grouped by family as both formats require.
pub fn text(runs: &[Snapshot], form: ExpositionFormat) -> String {
    let mut out = String::new();
    for family in FAMILIES.iter() {
        let mut is_begun = false;
        for run in runs {
            let samples = run.samples.iter().filter(|sample| sample.family == *family);
            for sample in samples {
                if !is_begun {
                    head(&mut out, family, form);
                    is_begun = true;
                }
                write_sample(&mut out, run, sample);
            }
        }
    }
    if form == ExpositionFormat::OpenMetrics {
        out.push_str("# EOF\n");
    }
    out
}

fn head(out: &mut String, family: &MetricFamily, form: ExpositionFormat) {
    let (name, kind) = match (form, family.kind) {
        (ExpositionFormat::OpenMetrics, kind) => (family.stem(), kind.name()),
        // Prometheus lacks this type.
        (ExpositionFormat::Prometheus, MetricType::Info) => (family.name, MetricType::Gauge.name()),
        (ExpositionFormat::Prometheus, kind) => (family.name, kind.name()),
    };
    let _ = writeln!(out, "# HELP {name} {}", escaped(family.help));
    let _ = writeln!(out, "# TYPE {name} {kind}");
    if let (ExpositionFormat::OpenMetrics, Some(unit)) = (form, family.unit_word()) {
        let _ = writeln!(out, "# UNIT {name} {unit}");
    }
}

fn write_sample(out: &mut String, run: &Snapshot, sample: &Sample) {
    let name = sample.family.name;
    match &sample.value {
        SampleValue::Count(count) => line(out, name, run, sample, None, count),
        SampleValue::Number(number) => line(out, name, run, sample, None, number),
        SampleValue::Times(times) => {
            let mut below = 0;
            for (bound, count) in Buckets::bounds().zip(times.counts()) {
                below += count;
                // Integers need a decimal point: 1.0.
                line(out, &format!("{name}_bucket"), run, sample, Some(&format!("{bound:?}")), below);
            }
            line(out, &format!("{name}_bucket"), run, sample, Some("+Inf"), times.count());
            line(out, &format!("{name}_sum"), run, sample, None, times.sum());
            line(out, &format!("{name}_count"), run, sample, None, times.count());
        }
    }
}

fn line(
    out: &mut String,
    name: &str,
    run: &Snapshot,
    sample: &Sample,
    le: Option<&str>,
    value: impl std::fmt::Display,
) {
    out.push_str(name);
    let of_run = LABELS.iter().copied().zip(run.labels.iter().map(String::as_str));
    let own = sample.family.labels.iter().copied().zip(sample.labels.iter().map(String::as_str));
    let bound = le.map(|le| ("le", le));
    for (number, (label, text)) in of_run.chain(own).chain(bound).enumerate() {
        let before = if number == 0 { '{' } else { ',' };
        let _ = write!(out, "{before}{label}=\"{}\"", escaped(text));
    }
    let _ = writeln!(out, "}} {value}");
}

/// Escaped as labels require, and help allows.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '"' => out.push_str("\\\""),
            '\n' => out.push_str("\\n"),
            c => out.push(c),
        }
    }
    out
}
