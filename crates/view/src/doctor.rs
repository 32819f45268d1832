//! What a machine allows, by area: one line if fine, else what it means and the setting that changes it.

use crate::figure_tables::wrap;
use crate::{Text, Tone};
use record::{Area, Machine, Prerequisite, Severity};
use serde_json::{Value, json};
use units::Bytes;

/// Formats a machine's prerequisites.
pub fn doctor_lines(machine: &Machine, rows: &[Prerequisite]) -> Vec<Text> {
    let name = rows.iter().map(|row| row.name.chars().count()).max().unwrap_or_default();
    let Machine { host, processor, kernel, memory_bytes, .. } = machine;
    let mut head =
        vec![host.clone(), processor.clone(), Bytes(*memory_bytes).to_string(), format!("Linux {kernel}")];
    head.retain(|part| !part.is_empty());
    let mut lines = vec![
        Text::plain("  ")
            .with_span(Tone::Strong, "what this machine allows")
            .with_span(Tone::Faint, format!(" · {}", head.join(" · "))),
    ];
    for area in [Area::Sight, Area::Rights, Area::Room, Area::Time] {
        let heading = heading(&area);
        lines.extend([Text::empty(), Text::plain("  ").with_span(Tone::Strong, heading)]);
        for row in rows.iter().filter(|row| row.area == area) {
            lines.extend(row_lines(row, name));
        }
    }
    lines.extend([Text::empty(), total(rows)]);
    lines
}

/// The same for a place in a cluster, noting what was not tried.
pub fn cluster_lines(place: &str, rows: &[Prerequisite], is_tried: bool) -> Vec<Text> {
    let name = rows.iter().map(|row| row.name.chars().count()).max().unwrap_or_default();
    let head = Text::plain("  ")
        .with_span(Tone::Strong, "what a cluster allows")
        .with_span(Tone::Faint, format!(" · {place}"));
    let mut lines = vec![head, Text::empty()];
    lines.extend(rows.iter().flat_map(|row| row_lines(row, name)));
    if !is_tried {
        let words = "not tried: the image, the way from pods to this machine, their clocks: --try";
        lines.push(Text::plain("    ").with_span(Tone::Faint, words));
    }
    lines.extend([Text::empty(), total(rows)]);
    lines
}

/// The same as JSON.
pub fn cluster_json(place: &str, rows: &[Prerequisite]) -> Value {
    json!({"schema": record::SCHEMA, "cluster": place, "hinders": hindering(rows), "allows": rows})
}

fn hindering(rows: &[Prerequisite]) -> Vec<&String> {
    rows.iter().filter(|row| row.bearing == Severity::Hinders).map(|row| &row.name).collect()
}

fn heading(area: &Area) -> &'static str {
    match area {
        Area::Sight => "what torment sees",
        Area::Rights => "what it may do",
        Area::Room => "how much it can make",
        Area::Time => "how exactly it keeps time",
        Area::Other(_) => "more",
    }
}

fn tone(bearing: &Severity) -> Tone {
    match bearing {
        Severity::Fine => Tone::Good,
        Severity::Less => Tone::Warn,
        Severity::Hinders => Tone::Bad,
        Severity::Unknown | Severity::Other(_) => Tone::Faint,
    }
}

fn row_lines(row: &Prerequisite, name: usize) -> Vec<Text> {
    let first = Text::plain("    ")
        .with_span(tone(&row.bearing), format!("{:<8}", row.bearing.name()))
        .with_plain(format!("{:<name$}  ", row.name))
        .with_plain(row.found.as_str());
    let under = " ".repeat(12);
    let remedy = row.remedy.as_ref();
    let facts = [
        (String::new(), row.means.as_ref(), Tone::Plain),
        ("now       ".to_owned(), remedy.and_then(|remedy| remedy.now.as_ref()), Tone::Faint),
        ("for good  ".to_owned(), remedy.and_then(|remedy| remedy.for_good.as_ref()), Tone::Faint),
    ];
    let facts = facts.into_iter().filter_map(|(label, text, tone)| Some((label, text?, tone)));
    std::iter::once(first)
        .chain(facts.flat_map(|(label, text, tone)| wrap(&format!("{under}{label}"), text, tone)))
        .collect()
}

fn total(rows: &[Prerequisite]) -> Text {
    let count = |bearing: Severity| rows.iter().filter(|row| row.bearing == bearing).count() as u64;
    let (hinders, less, unknown) =
        (count(Severity::Hinders), count(Severity::Less), count(Severity::Unknown));
    let line = match hinders {
        0 => Text::plain("  ").with_span(Tone::Good, "nothing hinders a measurement"),
        _ => Text::plain("  ")
            .with_span(Tone::Bad, format!("{hinders} of {} things hinder what is measured", rows.len())),
    };
    let line = if less > 0 { line.with_plain(format!(" · {less} could be improved")) } else { line };
    if unknown > 0 { line.with_plain(format!(" · {unknown} could not be read")) } else { line }
}

/// Encodes a machine's prerequisites as JSON.
pub fn doctor_json(machine: &Machine, rows: &[Prerequisite]) -> Value {
    json!({
        "schema": record::SCHEMA,
        "machine": machine,
        "hinders": hindering(rows),
        "allows": rows,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::Remedy;

    fn row(name: &str, bearing: Severity, means: Option<&str>) -> Prerequisite {
        Prerequisite {
            name: name.to_owned(),
            area: Area::Room,
            bearing,
            found: "4 of 8".to_owned(),
            figures: std::collections::BTreeMap::from([("limit".to_owned(), 8)]),
            means: means.map(str::to_owned),
            remedy: means.map(|_| Remedy { now: Some("sysctl -w a=9".to_owned()), for_good: None }),
        }
    }

    #[test]
    fn what_is_fine_is_a_line_and_the_rest_says_what_to_do() {
        let machine = Machine {
            host: "lab".to_owned(),
            kernel: "6.1".to_owned(),
            memory_bytes: 1 << 30,
            ..Machine::default()
        };
        let rows = [
            row("ports", Severity::Fine, None),
            row("backlog", Severity::Hinders, Some("it is full")),
            row("x", Severity::Unknown, None),
        ];
        let lines: Vec<String> = doctor_lines(&machine, &rows).iter().map(ToString::to_string).collect();
        let from = lines.iter().position(|line| line == "  how much it can make").expect("its area is there");
        let expected = [
            "    ok      ports    4 of 8",
            "    hinders backlog  4 of 8",
            "            it is full",
            "            now       sysctl -w a=9",
            "    unknown x        4 of 8",
        ];
        assert_eq!(lines[from + 1..from + 6], expected);
        assert_eq!(
            lines.last().map(String::as_str),
            Some("  1 of 3 things hinder what is measured · 1 could not be read")
        );
        let json = doctor_json(&machine, &rows);
        assert_eq!(json["hinders"], json!(["backlog"]));
        assert_eq!(
            (&json["allows"][0]["bearing"], &json["allows"][0]["figures"]["limit"]),
            (&json!("ok"), &json!(8))
        );
        assert_eq!(json["allows"][0].get("means"), None);
    }
}
