//! An experiment: what became of each hypothesis, what each arm does, and every start.

use crate::Tone;
use crate::document::{Chart, Form, Piece, Point, Role, Section, Table, Text, Unit};
use crate::experiment::{
    Names, answer_word, block_of, expected, figure, noise_table, now, percent, ratio, rows, says, value,
    visited, void, whole_tables,
};
use crate::page::pages::Pages;
use crate::summary::headline;
use crate::words::quoted;
use plan::Measure;
use record::{Judged, Standing};

/// Starts in the table, the last ones.
const STARTS: usize = 400;

pub(super) fn section(pages: &Pages) -> Section {
    let section = Section::named("experiment", "The experiment");
    let run = &pages.run;
    let Some(names) = Names::of(run) else { return section };
    let nothing = Standing::default();
    let standing = run.standing.as_ref().unwrap_or(&nothing);
    let mut lines = headline(run);
    lines.extend(run.running.then(|| now(run)));
    let mut section =
        section.texts(lines).table(answers(&names, standing)).texts(sentences(&names, standing));
    for (index, table) in whole_tables(&names).into_iter().enumerate() {
        section = section.table(table.titled(if index == 0 { "results of each arm" } else { "" }));
    }
    section = section.table(arms(&names)).table(noise_table(&names, standing).titled("how sure"));
    for (index, (probe, measure)) in names.asked().into_iter().enumerate() {
        section = section.chart(pages, by_start(&names, index, probe, measure));
    }
    section.table(starts(&names)).texts(void(&names))
}

/// Every hypothesis and the placebos with their answers.
fn answers(names: &Names<'_>, standing: &Standing) -> Table {
    let head = ["hypothesis", "answer", "ratio", "worth having", "measured", "blocks"];
    let ratio =
        |judged: &Judged| Piece::of(Tone::Plain, judged.ratio.as_ref().map(ratio).unwrap_or("–".to_owned()));
    let hypotheses = rows(names, standing).into_iter().map(|row| {
        let (word, tone) = answer_word(row.judged.answer);
        vec![
            Piece::of(Tone::Strong, &row.judged.name),
            Piece::of(tone, word),
            ratio(row.judged),
            Piece::of(Tone::Plain, percent(row.asked.effect.0)),
            Piece::of(Tone::Plain, names.measured(row.asked.probe, row.asked.measure)),
            Piece::of(Tone::Faint, row.judged.blocks.to_string()),
        ]
    });
    let placebos = standing.judged.iter().filter(|judged| judged.hypothesis.is_none()).map(|judged| {
        let (text, tone) = says(judged);
        // The ratio has its own column.
        let word = text.split(", ×").next().unwrap_or_default().to_owned();
        let none = || Piece::of(Tone::Plain, "");
        let blocks = Piece::of(Tone::Faint, judged.blocks.to_string());
        vec![
            Piece::of(Tone::Faint, &judged.name),
            Piece::of(tone, word),
            ratio(judged),
            none(),
            none(),
            blocks,
        ]
    });
    let mut table = Table { text: vec![1, 4], ..Table::new(&head).titled("hypotheses") };
    hypotheses.chain(placebos).for_each(|row| table.row(row));
    table
}

/// What there is to say of each hypothesis beside its figures.
fn sentences(names: &Names<'_>, standing: &Standing) -> Vec<Text> {
    let mut texts = Vec::new();
    for row in rows(names, standing) {
        let judged = row.judged;
        let named = |text: Text| {
            let name = Piece::of(Tone::Strong, format!("{}: ", quoted(&judged.name)));
            Text { pieces: std::iter::once(name).chain(text.pieces).collect(), ..Text::default() }
        };
        let contrast = names.contrast(row.asked).map(Text::plain);
        let says = (!judged.says.is_empty()).then(|| Text::plain(&judged.says));
        let all = contrast.into_iter().chain(says).chain(expected(judged));
        texts.extend(all.map(named));
    }
    texts
}

/// What is different in each arm.
fn arms(names: &Names<'_>) -> Table {
    let mut table = Table::with_text_last(&["arm", "changes"]).titled("what each arm changes");
    for (nth, arm) in names.design.arms.iter().enumerate() {
        let changes = names.changes(nth);
        let changes =
            if changes.is_empty() { "the plan as it stands".to_owned() } else { changes.join(", ") };
        table.row([Piece::of(Tone::Strong, &arm.name), Piece::of(Tone::Plain, changes)]);
    }
    table
}

/// A figure at every start under the same load, a series for each arm.
fn by_start(names: &Names<'_>, index: usize, probe: usize, measure: Measure) -> Chart {
    let unit = match measure {
        Measure::Capacity | Measure::Throughput => Unit::PerSecond,
        Measure::P50 | Measure::P99 | Measure::Max | Measure::Cpu => Unit::Seconds,
        Measure::Memory => Unit::Bytes,
        Measure::Threads => Unit::Count,
    };
    let title = names.measured(probe, measure);
    let chart = Chart::of(
        format!("starts-{index}"),
        format!("{title}, at each start"),
        Form::Points,
        ("start", Unit::Count),
        (title.as_str(), unit),
    );
    (0..names.design.arms.len()).fold(chart, |chart, arm| {
        let visits = names.visits.iter().filter(|visit| visit.arm == arm && visit.void.is_none());
        let points = visits.filter_map(|visit| {
            let taken = visit.taken.iter().find(|taken| taken.probe == probe && names.is_at_load(taken))?;
            let y = figure(taken, measure)?;
            let placebo = if visit.placebo { ", placebo" } else { "" };
            Some(Point {
                x: f64::from(visit.number),
                y,
                label: format!("{}{placebo}: {}", block_of(visit), value(measure, y)),
                ..Point::default()
            })
        });
        chart.points(names.arm(arm), Role::Nth(arm.min(255) as u8), points)
    })
}

/// Every start with what it gave; it leads to the first of its measurements.
fn starts(names: &Names<'_>) -> Table {
    let early = names.visits.len().saturating_sub(STARTS);
    let title = if early == 0 { "starts".to_owned() } else { format!("starts, the last {STARTS}") };
    let table = Table::new(&["start", "block", "arm", "result"]).titled(title);
    let mut table = Table { text: vec![2, 3], ..table };
    for visit in &names.visits[early..] {
        let placebo = if visit.placebo { " (placebo)" } else { "" };
        let tone = if visit.void.is_some() { Tone::Warn } else { Tone::Plain };
        let gave = visited(names, visit).to_string();
        table.row([
            Piece::of(Tone::Plain, visit.number.to_string()),
            Piece::of(Tone::Plain, block_of(visit)),
            Piece::of(Tone::Strong, format!("{}{placebo}", names.arm(visit.arm))),
            Piece::of(tone, gave),
        ]);
        table.runs.push(visit.taken.first().map(|taken| taken.run.0.clone()));
    }
    table
}
