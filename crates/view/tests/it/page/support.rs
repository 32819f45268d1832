//! Pages and accessors to their parts.

use crate::synthetic::{LoadBuilder, check, load};
use record::Purpose;
use serde_json::Value;
use torment_view::document::{Chart, Document, PageFront, Section, Text, Timeline};
use torment_view::page::PageBuilder;

/// Maximum rows of these documents.
pub const ROWS: usize = 2_000;

pub fn words(front: &PageFront) -> Vec<String> {
    let words = |text: &Text| text.to_string().split_whitespace().collect::<Vec<_>>().join(" ");
    front.verdict.iter().map(words).collect()
}

/// The image of the charts at the top, none of which is over time.
pub fn image(front: &PageFront) -> Option<String> {
    let (schema, timeline) = (torment_view::document::SCHEMA, Timeline::default());
    torment_view::svg(&Document { schema, front: front.clone(), timeline })
}

pub fn section<'a>(front: &'a PageFront, id: &str) -> &'a Section {
    front.sections.iter().find(|section| section.id == id).unwrap_or_else(|| panic!("no section {id}"))
}

pub fn chart<'a>(front: &'a PageFront, id: &str) -> &'a Chart {
    let mut all = front.pictures.iter().chain(front.sections.iter().flat_map(|section| &section.charts));
    all.find(|chart| chart.id == id).unwrap_or_else(|| panic!("no chart {id}"))
}

pub fn said(section: &Section) -> String {
    section
        .texts
        .iter()
        .flat_map(|text| &text.pieces)
        .map(|piece| piece.text.as_str())
        .collect::<Vec<_>>()
        .join("\n")
}

/// A column's value in the row that begins at this second.
pub fn at(timeline: &Timeline, column: &str, second: f64) -> Option<f64> {
    let row = timeline.at.iter().position(|at| (at - second).abs() < 1e-6).expect("a row begins there");
    let column = timeline.columns.iter().find(|found| found.id == column);
    column.unwrap_or_else(|| panic!("there is such a column")).values[row]
}

/// Charts over time have a column for each series, ids are unique, columns are as long as the rows.
pub fn assert_sound(document: &Document) {
    let Document { front, timeline, .. } = document;
    let mut ids: Vec<&str> = front.sections.iter().map(|section| section.id.as_str()).collect();
    ids.extend(front.sections.iter().flat_map(|section| &section.charts).map(|chart| chart.id.as_str()));
    ids.extend(front.pictures.iter().map(|chart| chart.id.as_str()));
    let count = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), count, "{ids:?}");
    // What holds, what gave first or went wrong below, what to do, its expected gain, what to plan for.
    assert!(front.verdict.len() <= 6, "{:?}", words(front));
    for station in &front.chain {
        let there = |id: &String| front.sections.iter().any(|section| section.id == *id);
        assert!(station.section.as_ref().is_none_or(there), "{station:?}");
    }
    assert!(timeline.at.windows(2).all(|pair| pair[0] < pair[1]), "{:?}", timeline.at);
    for column in &timeline.columns {
        assert_eq!(column.values.len(), timeline.at.len(), "{}", column.id);
        assert!(column.values.iter().flatten().all(|value| value.is_finite()), "{}", column.id);
    }
    for chart in front.pictures.iter().chain(front.sections.iter().flat_map(|section| &section.charts)) {
        for series in &chart.series {
            match &series.column {
                Some(column) => {
                    assert!(timeline.columns.iter().any(|known| known.id == *column), "{column}");
                    assert!(series.points.is_empty());
                }
                None => assert!(!series.points.is_empty(), "{}: {}", chart.id, series.name),
            }
        }
        if let Some(heat) = &chart.heat {
            assert_eq!(heat.counts.len(), (heat.x.len() - 1) * (heat.y.len() - 1));
        }
    }
    for table in front.sections.iter().flat_map(|section| &section.tables) {
        assert!(
            table.rows.iter().all(|row| row.len() == table.head.len()),
            "{}: {:?}",
            table.title,
            table.head
        );
        assert!(table.runs.is_empty() || table.runs.len() == table.rows.len());
    }
}

pub fn document(page: &PageBuilder) -> Document {
    let document = page.document(ROWS);
    assert_sound(&document);
    document
}

/// Human-readable JSON, with lists of numbers in one line each.
pub fn pretty(value: &Value, indent: usize, to: &mut String) {
    let pad = |to: &mut String, indent: usize| to.push_str(&format!("\n{:1$}", "", indent * 2));
    match value {
        Value::Array(all) if all.iter().any(|one| one.is_object() || one.is_array() || one.is_string()) => {
            to.push('[');
            for (index, one) in all.iter().enumerate() {
                to.push_str(if index > 0 { "," } else { "" });
                pad(to, indent + 1);
                pretty(one, indent + 1, to);
            }
            pad(to, indent);
            to.push(']');
        }
        Value::Object(all) if all.len() > 2 => {
            to.push('{');
            for (index, (name, one)) in all.iter().enumerate() {
                to.push_str(if index > 0 { "," } else { "" });
                pad(to, indent + 1);
                to.push_str(&format!("{}: ", Value::from(name.as_str())));
                pretty(one, indent + 1, to);
            }
            pad(to, indent);
            to.push('}');
        }
        short => to.push_str(&short.to_string()),
    }
}

pub fn golden(name: &str, document: &Document) {
    let json = serde_json::to_value(document).expect("is JSON");
    let mut text = String::new();
    pretty(&json, 0, &mut text);
    text.push('\n');
    assert!(text.len() < 200_000, "{} bytes", text.len());
    check(&format!("page/{name}.json"), &text);
}

pub fn good(rate: f64) -> LoadBuilder {
    load(Purpose::Measure, rate, 10)
}
