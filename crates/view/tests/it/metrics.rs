//! Names that other tools rely on must match the code: in the manual, and on the dashboard.

use std::collections::BTreeSet;
use torment_view::metrics::{FAMILIES, LABELS, MetricFamily, MetricType};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

fn read(path: &str) -> String {
    std::fs::read_to_string(format!("{ROOT}/{path}")).unwrap_or_else(|e| panic!("{path}: {e}"))
}

/// The unit in words: `seconds`, `request/s`.
fn unit(family: &MetricFamily) -> String {
    family.unit_word().map_or_else(|| family.unit.replace(['{', '}'], ""), str::to_owned)
}

/// Its row in the manual.
fn row(family: &MetricFamily) -> String {
    let MetricFamily { name, kind, labels, help, .. } = family;
    let labels: Vec<String> = labels.iter().map(|label| format!("`{label}`")).collect();
    format!("| `{name}` | {} | {} | {} | {help} |", kind.name(), unit(family), labels.join(", "))
        .replace("|  |", "| |")
        .replace("|  |", "| |")
}

#[test]
fn the_manual_has_every_family_as_it_is() {
    let page = read("docs/metrics.md");
    let rows: Vec<&str> = page.lines().filter(|line| line.starts_with("| `torment_")).collect();
    let expected: Vec<String> = FAMILIES.iter().map(|family| row(family)).collect();
    for row in &expected {
        assert!(
            rows.contains(&row.as_str()),
            "docs/metrics.md lacks this row:\n{row}\nall of them:\n{}",
            expected.join("\n")
        );
    }
    assert_eq!(rows.len(), expected.len(), "docs/metrics.md has rows of no family: {rows:#?}");
}

/// All names in a query.
fn names(text: &str) -> BTreeSet<&str> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    words.filter(|word| word.starts_with("torment_")).collect()
}

#[test]
fn the_dashboard_asks_for_what_there_is_and_for_all_of_it() {
    let text = read("dashboards/grafana.json");
    let board: serde_json::Value = serde_json::from_str(&text).expect("dashboards/grafana.json is JSON");
    let panels = board["panels"].as_array().expect("panels");
    let targets = || panels.iter().flat_map(|panel| panel["targets"].as_array().into_iter().flatten());
    let queries: Vec<&str> = targets().map(|target| target["expr"].as_str().expect("a query")).collect();
    assert!(queries.len() > 30, "{queries:?}");
    let told = |family: &&MetricFamily| match family.kind {
        MetricType::Histogram => {
            ["_bucket", "_sum", "_count"].map(|end| format!("{}{end}", family.name)).to_vec()
        }
        _ => vec![family.name.to_owned()],
    };
    let known: Vec<String> = FAMILIES.iter().flat_map(told).collect();
    let asked: BTreeSet<&str> = queries.iter().flat_map(|query| names(query)).collect();
    for name in &asked {
        assert!(known.iter().any(|known| known == name), "the dashboard asks for {name}, which there is not");
    }
    for family in FAMILIES.iter() {
        let is_asked = told(family).iter().any(|name| asked.contains(name.as_str()));
        assert!(is_asked, "no panel of the dashboard asks for {}", family.name);
    }
    for query in queries {
        assert!(query.contains("run=\"$run\""), "of one run only: {query}");
        assert_eq!(query.matches('(').count(), query.matches(')').count(), "{query}");
        assert_eq!(query.matches('{').count(), query.matches('}').count(), "{query}");
    }
}

#[test]
fn the_dashboard_s_legends_name_labels_that_there_are() {
    let text = read("dashboards/grafana.json");
    let known: BTreeSet<&str> =
        FAMILIES.iter().flat_map(|family| family.labels).chain(&LABELS).chain(&["le"]).copied().collect();
    let mut found = 0;
    for part in text.split("{{").skip(1) {
        let name = part.split("}}").next().expect("it is closed");
        assert!(known.contains(name), "no family has the label {name}");
        found += 1;
    }
    assert!(found > 20, "{found}");
}

#[test]
fn panels_do_not_lie_on_each_other() {
    let board: serde_json::Value = serde_json::from_str(&read("dashboards/grafana.json")).expect("JSON");
    let panels = board["panels"].as_array().expect("panels");
    let mut measurement = BTreeSet::new();
    let mut ids = BTreeSet::new();
    for panel in panels {
        let [x, y, w, h] = ["x", "y", "w", "h"].map(|side| panel["gridPos"][side].as_u64().expect("a place"));
        assert!(ids.insert(panel["id"].as_u64()) && x + w <= 24, "{panel}");
        for cell in (x..x + w).flat_map(|x| (y..y + h).map(move |y| (x, y))) {
            assert!(measurement.insert(cell), "{} lies on another", panel["title"]);
        }
    }
}
