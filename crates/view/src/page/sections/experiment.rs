//! An experiment: each hypothesis's answer, each arm's results, and every start.

use crate::Tone;
use crate::document::{
    AxisUnit, Chart, ChartForm, ChartPoint, Section, SeriesRole, Text, TextSpan, TextTable,
};
use crate::experiment::{
    DesignLookup, answer_word, block_of, current_start_line, hypothesis_rows, noise_table, percent,
    placebo_answer, prediction_line, ratio, start_done_line, value, void_starts, whole_tables,
};
use crate::page::builder::PageBuilder;
use crate::summary::headline;
use crate::wording::{or_dash, quoted};
use plan::ArmMeasure;
use record::HypothesisResult;

/// Maximum starts in the table; the last ones.
const MAX_STARTS: usize = 400;

pub(super) fn section(page: &PageBuilder) -> Section {
    let section = Section::named("experiment", "The experiment");
    let run = &page.run;
    let Some(lookup) = DesignLookup::of(run) else { return section };
    let mut lines = headline(run);
    lines.extend(run.running.then(|| current_start_line(run)));
    let mut section = section.texts(lines).table(answers(&lookup)).texts(sentences(&lookup));
    for (index, table) in whole_tables(&lookup).into_iter().enumerate() {
        section = section.table(table.titled(if index == 0 { "results of each arm" } else { "" }));
    }
    section = section.table(arms(&lookup)).table(noise_table(&lookup).titled("how sure"));
    for (index, (probe, measure)) in lookup.hypothesis_measures().into_iter().enumerate() {
        section = section.chart(page, by_start(&lookup, index, probe, measure));
    }
    section.table(starts(&lookup)).texts(void_starts(&lookup))
}

fn answers(lookup: &DesignLookup<'_>) -> TextTable {
    let head = ["hypothesis", "answer", "ratio", "worth having", "measured", "blocks"];
    let ratio =
        |result: &HypothesisResult| TextSpan::new(Tone::Plain, or_dash(result.ratio.as_ref().map(ratio)));
    let hypotheses = hypothesis_rows(lookup).into_iter().map(|row| {
        let (word, tone) = answer_word(row.result.answer);
        vec![
            TextSpan::new(Tone::Strong, &row.result.name),
            TextSpan::new(tone, word),
            ratio(row.result),
            TextSpan::new(Tone::Plain, percent(row.hypothesis.effect.0)),
            TextSpan::new(Tone::Plain, lookup.comparison_label(row.hypothesis.probe, row.hypothesis.measure)),
            TextSpan::new(Tone::Faint, row.result.blocks.to_string()),
        ]
    });
    let placebos = lookup.placebos().map(|result| {
        let (text, tone) = placebo_answer(result);
        // The ratio has its own column.
        let word = text.split(", ×").next().unwrap_or_default().to_owned();
        let none = || TextSpan::new(Tone::Plain, "");
        let blocks = TextSpan::new(Tone::Faint, result.blocks.to_string());
        vec![
            TextSpan::new(Tone::Faint, &result.name),
            TextSpan::new(tone, word),
            ratio(result),
            none(),
            none(),
            blocks,
        ]
    });
    let mut table = TextTable { text: vec![1, 4], ..TextTable::new(&head).titled("hypotheses") };
    hypotheses.chain(placebos).for_each(|row| table.push_row(row));
    table
}

/// Remarks on each hypothesis beside its figures.
fn sentences(lookup: &DesignLookup<'_>) -> Vec<Text> {
    let mut texts = Vec::new();
    for row in hypothesis_rows(lookup) {
        let result = row.result;
        let named = |text: Text| {
            let name = TextSpan::new(Tone::Strong, format!("{}: ", quoted(&result.name)));
            Text { pieces: std::iter::once(name).chain(text.pieces).collect(), ..Text::default() }
        };
        let contrast = lookup.contrast(row.hypothesis).map(Text::plain);
        let says = (!result.says.is_empty()).then(|| Text::plain(&result.says));
        let all = contrast.into_iter().chain(says).chain(prediction_line(result));
        texts.extend(all.map(named));
    }
    texts
}

/// Each arm's change.
fn arms(lookup: &DesignLookup<'_>) -> TextTable {
    let mut table = TextTable::with_text_last(&["arm", "changes"]).titled("what each arm changes");
    for (nth, arm) in lookup.design.arms.iter().enumerate() {
        let changes = lookup.changes(nth);
        let changes =
            if changes.is_empty() { "the plan as it stands".to_owned() } else { changes.join(", ") };
        table.push_row([TextSpan::new(Tone::Strong, &arm.name), TextSpan::new(Tone::Plain, changes)]);
    }
    table
}

/// A measure at every start under the same load, one series per arm.
fn by_start(lookup: &DesignLookup<'_>, index: usize, probe: usize, measure: ArmMeasure) -> Chart {
    let unit = match measure {
        ArmMeasure::Capacity | ArmMeasure::Throughput => AxisUnit::PerSecond,
        ArmMeasure::P50 | ArmMeasure::P99 | ArmMeasure::Max | ArmMeasure::Cpu => AxisUnit::Seconds,
        ArmMeasure::Memory => AxisUnit::Bytes,
        ArmMeasure::Threads => AxisUnit::Count,
    };
    let title = lookup.comparison_label(probe, measure);
    let (id, heading) = (format!("starts-{index}"), format!("{title}, at each start"));
    let (x, y) = (("start", AxisUnit::Count), (title.as_str(), unit));
    let chart = Chart::of(id, heading, ChartForm::Points, x, y);
    (0..lookup.design.arms.len()).fold(chart, |chart, arm| {
        let starts = lookup.all_starts.iter().filter(|start| start.arm == arm && start.void.is_none());
        let points = starts.filter_map(|start| {
            let y = lookup.figure_at_load(start, probe, measure)?;
            let placebo = if start.placebo { ", placebo" } else { "" };
            Some(ChartPoint {
                x: f64::from(start.number),
                y,
                label: format!("{}{placebo}: {}", block_of(start), value(measure, y)),
                ..ChartPoint::default()
            })
        });
        chart.points(lookup.arm(arm), SeriesRole::Nth(arm.min(255) as u8), points)
    })
}

/// Every start with its results, linked to its first measurement's run.
fn starts(lookup: &DesignLookup<'_>) -> TextTable {
    let early = lookup.all_starts.len().saturating_sub(MAX_STARTS);
    let title = if early == 0 { "starts".to_owned() } else { format!("starts, the last {MAX_STARTS}") };
    let table = TextTable::new(&["start", "block", "arm", "result"]).titled(title);
    let mut table = TextTable { text: vec![2, 3], ..table };
    for start in &lookup.all_starts[early..] {
        let placebo = if start.placebo { " (placebo)" } else { "" };
        let tone = if start.void.is_some() { Tone::Warn } else { Tone::Plain };
        let gave = start_done_line(lookup, start).to_string();
        table.push_row([
            TextSpan::new(Tone::Plain, start.number.to_string()),
            TextSpan::new(Tone::Plain, block_of(start)),
            TextSpan::new(Tone::Strong, format!("{}{placebo}", lookup.arm(start.arm))),
            TextSpan::new(tone, gave),
        ]);
        table.runs.push(start.taken.first().map(|measurement| measurement.run.0.clone()));
    }
    table
}
