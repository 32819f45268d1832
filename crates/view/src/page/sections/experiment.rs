//! An experiment: each hypothesis's answer, each arm's results, and every start.

use crate::Tone;
use crate::document::{
    AxisUnit, Chart, ChartForm, ChartPoint, Section, SeriesRole, Text, TextSpan, TextTable,
};
use crate::experiment::{
    DesignLookup, answer_word, block_of, current_start_line, figure, hypothesis_rows, noise_table, percent,
    placebo_answer, prediction_line, ratio, start_done_line, value, void_starts, whole_tables,
};
use crate::page::builder::PageBuilder;
use crate::summary::headline;
use crate::wording::quoted;
use plan::ArmMeasure;
use record::{ExperimentState, HypothesisResult};

/// Maximum starts in the table; the last ones.
const STARTS: usize = 400;

pub(super) fn section(pages: &PageBuilder) -> Section {
    let section = Section::named("experiment", "The experiment");
    let run = &pages.run;
    let Some(names) = DesignLookup::of(run) else { return section };
    let nothing = ExperimentState::default();
    let standing = run.standing.as_ref().unwrap_or(&nothing);
    let mut lines = headline(run);
    lines.extend(run.running.then(|| current_start_line(run)));
    let mut section =
        section.texts(lines).table(answers(&names, standing)).texts(sentences(&names, standing));
    for (index, table) in whole_tables(&names).into_iter().enumerate() {
        section = section.table(table.titled(if index == 0 { "results of each arm" } else { "" }));
    }
    section = section.table(arms(&names)).table(noise_table(&names, standing).titled("how sure"));
    for (index, (probe, measure)) in names.hypothesis_measures().into_iter().enumerate() {
        section = section.chart(pages, by_start(&names, index, probe, measure));
    }
    section.table(starts(&names)).texts(void_starts(&names))
}

fn answers(names: &DesignLookup<'_>, standing: &ExperimentState) -> TextTable {
    let head = ["hypothesis", "answer", "ratio", "worth having", "measured", "blocks"];
    let ratio = |judged: &HypothesisResult| {
        TextSpan::new(Tone::Plain, judged.ratio.as_ref().map(ratio).unwrap_or("–".to_owned()))
    };
    let hypotheses = hypothesis_rows(names, standing).into_iter().map(|row| {
        let (word, tone) = answer_word(row.judged.answer);
        vec![
            TextSpan::new(Tone::Strong, &row.judged.name),
            TextSpan::new(tone, word),
            ratio(row.judged),
            TextSpan::new(Tone::Plain, percent(row.asked.effect.0)),
            TextSpan::new(Tone::Plain, names.comparison_label(row.asked.probe, row.asked.measure)),
            TextSpan::new(Tone::Faint, row.judged.blocks.to_string()),
        ]
    });
    let placebos = standing.judged.iter().filter(|judged| judged.hypothesis.is_none()).map(|judged| {
        let (text, tone) = placebo_answer(judged);
        // The ratio has its own column.
        let word = text.split(", ×").next().unwrap_or_default().to_owned();
        let none = || TextSpan::new(Tone::Plain, "");
        let blocks = TextSpan::new(Tone::Faint, judged.blocks.to_string());
        vec![
            TextSpan::new(Tone::Faint, &judged.name),
            TextSpan::new(tone, word),
            ratio(judged),
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
fn sentences(names: &DesignLookup<'_>, standing: &ExperimentState) -> Vec<Text> {
    let mut texts = Vec::new();
    for row in hypothesis_rows(names, standing) {
        let judged = row.judged;
        let named = |text: Text| {
            let name = TextSpan::new(Tone::Strong, format!("{}: ", quoted(&judged.name)));
            Text { pieces: std::iter::once(name).chain(text.pieces).collect(), ..Text::default() }
        };
        let contrast = names.contrast(row.asked).map(Text::plain);
        let says = (!judged.says.is_empty()).then(|| Text::plain(&judged.says));
        let all = contrast.into_iter().chain(says).chain(prediction_line(judged));
        texts.extend(all.map(named));
    }
    texts
}

/// Each arm's change.
fn arms(names: &DesignLookup<'_>) -> TextTable {
    let mut table = TextTable::with_text_last(&["arm", "changes"]).titled("what each arm changes");
    for (nth, arm) in names.design.arms.iter().enumerate() {
        let changes = names.changes(nth);
        let changes =
            if changes.is_empty() { "the plan as it stands".to_owned() } else { changes.join(", ") };
        table.push_row([TextSpan::new(Tone::Strong, &arm.name), TextSpan::new(Tone::Plain, changes)]);
    }
    table
}

/// A measure at every start under the same load, one series per arm.
fn by_start(names: &DesignLookup<'_>, index: usize, probe: usize, measure: ArmMeasure) -> Chart {
    let unit = match measure {
        ArmMeasure::Capacity | ArmMeasure::Throughput => AxisUnit::PerSecond,
        ArmMeasure::P50 | ArmMeasure::P99 | ArmMeasure::Max | ArmMeasure::Cpu => AxisUnit::Seconds,
        ArmMeasure::Memory => AxisUnit::Bytes,
        ArmMeasure::Threads => AxisUnit::Count,
    };
    let title = names.comparison_label(probe, measure);
    let chart = Chart::of(
        format!("starts-{index}"),
        format!("{title}, at each start"),
        ChartForm::Points,
        ("start", AxisUnit::Count),
        (title.as_str(), unit),
    );
    (0..names.design.arms.len()).fold(chart, |chart, arm| {
        let visits = names.visits.iter().filter(|visit| visit.arm == arm && visit.void.is_none());
        let points = visits.filter_map(|visit| {
            let taken = visit.taken.iter().find(|taken| taken.probe == probe && names.is_at_load(taken))?;
            let y = figure(taken, measure)?;
            let placebo = if visit.placebo { ", placebo" } else { "" };
            Some(ChartPoint {
                x: f64::from(visit.number),
                y,
                label: format!("{}{placebo}: {}", block_of(visit), value(measure, y)),
                ..ChartPoint::default()
            })
        });
        chart.points(names.arm(arm), SeriesRole::Nth(arm.min(255) as u8), points)
    })
}

/// Every start with its results, linked to its first measurement's run.
fn starts(names: &DesignLookup<'_>) -> TextTable {
    let early = names.visits.len().saturating_sub(STARTS);
    let title = if early == 0 { "starts".to_owned() } else { format!("starts, the last {STARTS}") };
    let table = TextTable::new(&["start", "block", "arm", "result"]).titled(title);
    let mut table = TextTable { text: vec![2, 3], ..table };
    for visit in &names.visits[early..] {
        let placebo = if visit.placebo { " (placebo)" } else { "" };
        let tone = if visit.void.is_some() { Tone::Warn } else { Tone::Plain };
        let gave = start_done_line(names, visit).to_string();
        table.push_row([
            TextSpan::new(Tone::Plain, visit.number.to_string()),
            TextSpan::new(Tone::Plain, block_of(visit)),
            TextSpan::new(Tone::Strong, format!("{}{placebo}", names.arm(visit.arm))),
            TextSpan::new(tone, gave),
        ]);
        table.runs.push(visit.taken.first().map(|taken| taken.run.0.clone()));
    }
    table
}
