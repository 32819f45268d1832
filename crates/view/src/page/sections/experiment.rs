//! An experiment: the effects as intervals against the smallest one worth having, what each arm does, and every start.

use crate::Tone;
use crate::document::{Chart, Form, Piece, Point, Role, Section, Table, Text, Unit};
use crate::experiment::{
    Names, Row, answer_word, expected, figure, noise_table, now, percent, ratio, rows, says, value, visited,
    void, whole_tables,
};
use crate::page::pages::Pages;
use crate::summary::headline;
use plan::Measure;
use record::{Judged, Standing, Visit};

/// Starts in the table, the last ones.
const STARTS: usize = 400;

pub(super) fn section(pages: &Pages) -> Section {
    let section = Section::named("experiment", "The experiment");
    let Some(names) = Names::of(pages) else { return section };
    let nothing = Standing::default();
    let standing = pages.standing.as_ref().unwrap_or(&nothing);
    let mut lines = headline(pages);
    lines.extend(pages.running.then(|| now(pages)));
    let mut section = section.texts(lines);
    for chart in effects(&names, standing) {
        section = section.chart(pages, chart);
    }
    section = section.table(answers(&names, standing)).texts(sentences(&names, standing));
    for (index, table) in whole_tables(&names).into_iter().enumerate() {
        section = section.table(table.titled(if index == 0 { "what each arm does" } else { "" }));
    }
    section = section.table(arms(&names)).table(noise_table(&names, standing).titled("how sure"));
    for (index, (probe, measure)) in asked(&names).into_iter().enumerate() {
        section = section.chart(pages, by_start(&names, index, probe, measure));
    }
    section.table(starts(&names)).texts(void(&names))
}

/// A chart for each direction and each smallest effect: beyond its bounds an effect matters.
fn effects(names: &Names<'_>, standing: &Standing) -> Vec<Chart> {
    let all = rows(names, standing);
    let kind = |row: &Row<'_>| (row.asked.measure.more_is_better(), row.asked.effect.0);
    let kinds = crate::sheet::distinct(all.iter().map(kind));
    let each = kinds.into_iter().enumerate().map(|(index, (more_is_better, effect))| {
        let of_it = all.iter().filter(|row| kind(row) == (more_is_better, effect));
        let hypotheses: Vec<Point> = of_it.filter_map(|row| point(names, row)).collect();
        let better = if more_is_better { "more is better" } else { "less is better" };
        let (above, below) = if more_is_better { (Tone::Good, Tone::Bad) } else { (Tone::Bad, Tone::Good) };
        let word = |tone| if tone == Tone::Good { "better" } else { "worse" };
        Chart::of(
            format!("effects-{index}"),
            format!("effects: {better}"),
            Form::Intervals,
            ("ratio to what it is compared with", Unit::Ratio),
            ("", Unit::Count),
        )
        .note(format!("beyond the bounds an effect is worth having: {}", percent(effect)))
        .log_x()
        .points("effects", Role::Achieved, hypotheses)
        .upright("no effect", Some(1.0), Tone::Faint)
        .upright(word(above), Some(1.0 + effect), above)
        .upright(word(below), Some(1.0 / (1.0 + effect)), below)
    });
    let mut charts: Vec<Chart> = each.collect();
    let placebos = standing.judged.iter().filter(|judged| judged.hypothesis.is_none());
    let placebos: Vec<Point> =
        placebos.filter_map(|judged| interval(judged, Tone::Faint, &judged.name)).collect();
    if !placebos.is_empty() {
        let chart = Chart::of(
            "placebo",
            "placebo: the plan as it stands against itself",
            Form::Intervals,
            ("ratio", Unit::Ratio),
            ("", Unit::Count),
        );
        let chart = chart.log_x().points("placebo", Role::Idle, placebos);
        charts.push(chart.upright("no effect", Some(1.0), Tone::Faint));
    }
    charts
}

fn point(names: &Names<'_>, row: &Row<'_>) -> Option<Point> {
    let measured = names.measured(row.asked.probe, row.asked.measure);
    interval(row.judged, answer_word(row.judged.answer).1, &format!("{} ({measured})", row.judged.name))
}

fn interval(judged: &Judged, tone: Tone, label: &str) -> Option<Point> {
    let interval = judged.ratio?;
    let (low, high) = (Some(interval.low), Some(interval.high));
    Some(Point { x: interval.value, y: 0.0, low, high, label: label.to_owned(), tone })
}

/// Every hypothesis and the placebos with their answers.
fn answers(names: &Names<'_>, standing: &Standing) -> Table {
    let head = ["hypothesis", "answer", "ratio", "worth having", "measured", "blocks"];
    let ratio =
        |judged: &Judged| Piece::of(judged.ratio.as_ref().map(ratio).unwrap_or("–".to_owned()), Tone::Plain);
    let hypotheses = rows(names, standing).into_iter().map(|row| {
        let (word, tone) = answer_word(row.judged.answer);
        vec![
            Piece::of(&row.judged.name, Tone::Strong),
            Piece::of(word, tone),
            ratio(row.judged),
            Piece::of(percent(row.asked.effect.0), Tone::Plain),
            Piece::of(names.measured(row.asked.probe, row.asked.measure), Tone::Plain),
            Piece::of(row.judged.blocks.to_string(), Tone::Faint),
        ]
    });
    let placebos = standing.judged.iter().filter(|judged| judged.hypothesis.is_none()).map(|judged| {
        let (text, tone) = says(judged);
        // The ratio has its own column.
        let word = text.split(", ×").next().unwrap_or_default().to_owned();
        let none = || Piece::of("", Tone::Plain);
        let blocks = Piece::of(judged.blocks.to_string(), Tone::Faint);
        vec![
            Piece::of(&judged.name, Tone::Faint),
            Piece::of(word, tone),
            ratio(judged),
            none(),
            none(),
            blocks,
        ]
    });
    let mut table = Table { text: vec![1, 4], ..Table::new(&head).titled("answers") };
    hypotheses.chain(placebos).for_each(|row| table.row(row));
    table
}

/// What there is to say of each hypothesis beside its figures.
fn sentences(names: &Names<'_>, standing: &Standing) -> Vec<Text> {
    let mut texts = Vec::new();
    for row in rows(names, standing) {
        let judged = row.judged;
        let named = |text: Text| {
            let name = Piece::of(format!("{}: ", judged.name), Tone::Strong);
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
    let mut table = Table::with_text_last(&["arm", "changes"]).titled("what is different in each arm");
    for arm in &names.design.arms {
        let changes =
            if arm.changes.is_empty() { "the plan as it stands".to_owned() } else { arm.changes.join(", ") };
        table.row([Piece::of(&arm.name, Tone::Strong), Piece::of(changes, Tone::Plain)]);
    }
    table
}

/// The figures that hypotheses ask for, each once.
fn asked(names: &Names<'_>) -> Vec<(usize, Measure)> {
    crate::sheet::distinct(names.design.hypotheses.iter().map(|asked| (asked.probe, asked.measure)))
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
                label: format!("{}{placebo}: {}", block(visit), value(measure, y)),
                ..Point::default()
            })
        });
        chart.points(names.arm(arm), Role::Nth(arm.min(255) as u8), points)
    })
}

fn block(visit: &Visit) -> String {
    if visit.block == 0 { "pilot".to_owned() } else { format!("block {}", visit.block) }
}

/// Every start with what it gave; it leads to the first of its measurements.
fn starts(names: &Names<'_>) -> Table {
    let early = names.visits.len().saturating_sub(STARTS);
    let title = if early == 0 { "starts".to_owned() } else { format!("starts, the last {STARTS}") };
    let table = Table::new(&["start", "block", "arm", "gave"]).titled(title);
    let mut table = Table { text: vec![2, 3], ..table };
    for visit in &names.visits[early..] {
        let placebo = if visit.placebo { " (placebo)" } else { "" };
        let tone = if visit.void.is_some() { Tone::Warn } else { Tone::Plain };
        let gave = visited(names, visit).to_string();
        table.row([
            Piece::of(visit.number.to_string(), Tone::Plain),
            Piece::of(block(visit), Tone::Plain),
            Piece::of(format!("{}{placebo}", names.arm(visit.arm)), Tone::Strong),
            Piece::of(gave, tone),
        ]);
        table.runs.push(visit.taken.first().map(|taken| taken.run.0.clone()));
    }
    table
}
