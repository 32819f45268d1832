//! A machine's figures as tables: one for each of its tables and each subject of its columns.

use crate::document::TextTable;
use crate::wording::distinct;
use crate::{Text, Tone};
use record::{Caveat, CostRange, Figure, FigureUnit};
use units::{Bytes, Nanos, Share, grouped};

/// Maximum width; excess columns go to another table below.
const MAX_WIDTH: usize = 100;
/// Intervals reaching less far from the median are not shown.
const PRECISE_INTERVAL: f64 = 0.015;

/// All tables, each followed by what explains its figures.
pub(crate) fn tables(figures: &[Figure], notes: &[(String, String)]) -> Vec<Text> {
    let names = distinct(figures.iter().map(|f| &f.table).chain(notes.iter().map(|(table, _)| table)));
    let mut lines = Vec::new();
    for name in names {
        let of_it: Vec<&Figure> = figures.iter().filter(|figure| figure.table == *name).collect();
        lines.extend([Text::empty(), Text::plain("  ").with_span(Tone::Strong, name)]);
        lines.extend(part_lines(name, figures, MAX_WIDTH));
        lines.extend(arguments(&of_it).iter().flat_map(|text| wrap("    ", text, Tone::Faint)));
        lines.extend(caveats(&of_it).iter().flat_map(|text| wrap("  caveat: ", text, Tone::Warn)));
        let of_it = notes.iter().filter(|(table, _)| table == name);
        lines.extend(of_it.flat_map(|(_, text)| wrap("  · ", text, Tone::Plain)));
    }
    lines
}

/// The figures of one table, split to this width.
pub(crate) fn part_lines(name: &str, figures: &[Figure], width: usize) -> Vec<Text> {
    parts(name, figures, width).iter().flat_map(TextTable::lines).collect()
}

fn parts(name: &str, figures: &[Figure], width: usize) -> Vec<TextTable> {
    let of_it: Vec<&Figure> = figures.iter().filter(|figure| figure.table == name).collect();
    let parts = distinct(of_it.iter().map(|figure| figure.circumstances().1));
    parts.into_iter().flat_map(|what| part(what, &of_it, width)).collect()
}

/// The tables of one name, however wide, then the notes that explain their figures.
pub(crate) fn tables_and_notes(
    name: &str,
    figures: &[Figure],
    notes: &[(String, String)],
) -> (Vec<TextTable>, Vec<String>) {
    let of_it: Vec<&Figure> = figures.iter().filter(|figure| figure.table == name).collect();
    let tables = parts(name, figures, usize::MAX);
    let notes = notes.iter().filter(|(table, _)| table == name).map(|(_, text)| text.clone());
    (tables, arguments(&of_it).into_iter().chain(notes).collect())
}

/// `launch: 20.0 ns (async task) to 2.07 ms (fork, 256 MiB)`.
pub(crate) fn range_words(range: &CostRange) -> String {
    let CostRange { table, least, least_ns, most, most_at, most_ns } = range;
    let at = most_at.as_ref().map(|at| format!(", {at}")).unwrap_or_default();
    let [low, high] = [least_ns, most_ns].map(|ns| value(FigureUnit::Nanos, *ns));
    format!("{table}: {low} ({least}) to {high} ({most}{at})")
}

/// The figures of one subject, in as many tables as the width requires.
fn part(what: &str, figures: &[&Figure], most: usize) -> Vec<TextTable> {
    let of_it: Vec<&Figure> =
        figures.iter().copied().filter(|figure| figure.circumstances().1 == what).collect();
    let rows = distinct(of_it.iter().map(|figure| figure.row.as_str()));
    let columns = distinct(of_it.iter().map(|figure| figure.circumstances().0));
    let cell = |row: &str, column: &str| {
        let figure = of_it.iter().find(|figure| figure.row == row && figure.circumstances().0 == column)?;
        Some((shown(figure), if figure.caveats.is_empty() { Tone::Plain } else { Tone::Warn }))
    };
    let broad = |column: &str| {
        let cells = rows.iter().filter_map(|row| Some(cell(row, column)?.0.chars().count()));
        2 + cells.chain([column.chars().count()]).max().unwrap_or(0)
    };
    let first = 2 + rows.iter().map(|row| row.chars().count()).max().unwrap_or(0);
    let mut tables = Vec::new();
    let mut left = columns.as_slice();
    while !left.is_empty() {
        let mut width = first;
        let fits = left.iter().take_while(|column| {
            width += broad(column);
            width <= most
        });
        let (here, later) = left.split_at(fits.count().max(1));
        let head: Vec<&str> = [what].into_iter().chain(here.iter().copied()).collect();
        let mut table = TextTable::new(&head);
        for row in &rows {
            let cells: Vec<_> = here.iter().map(|column| cell(row, column)).collect();
            if cells.iter().any(Option::is_some) {
                let cells = cells.into_iter().map(Option::unwrap_or_default);
                table.push_row([((*row).to_owned(), Tone::Plain)].into_iter().chain(cells));
            }
        }
        tables.push(table);
        left = later;
    }
    tables
}

/// The median, and its interval if wide.
fn shown(figure: &Figure) -> String {
    let reach = (figure.high - figure.median).max(figure.median - figure.low) / figure.median.abs();
    let text = value(figure.unit, figure.median);
    if reach.is_finite() && reach >= PRECISE_INTERVAL {
        format!("{text} ±{:.0} %", reach * 100.0)
    } else {
        text
    }
}

/// A value in words.
pub(crate) fn value(unit: FigureUnit, value: f64) -> String {
    let whole = value.max(0.0).round() as u64;
    match unit {
        FigureUnit::Nanos if value < 99.95 => format!("{value:.1} ns"),
        FigureUnit::Nanos => Nanos(whole).to_string(),
        FigureUnit::Bytes => Bytes(whole).to_string(),
        FigureUnit::PerSecond => format!("{}/s", grouped(whole)),
        FigureUnit::BytesPerSecond if value >= 1e9 => format!("{:.1} GB/s", value / 1e9),
        FigureUnit::BytesPerSecond => format!("{:.0} MB/s", value / 1e6),
        FigureUnit::Count if value < 100.0 && value.fract() != 0.0 => format!("{value:.1}"),
        FigureUnit::Count => grouped(whole),
        FigureUnit::Share => Share(value).to_string(),
    }
}

/// What explains a row: its first figure with an argument.
fn arguments(figures: &[&Figure]) -> Vec<String> {
    let rows = distinct(figures.iter().map(|figure| figure.row.as_str()));
    rows.into_iter()
        .filter_map(|row| {
            let said = figures.iter().filter(|figure| figure.row == row).find_map(|f| f.argument.as_ref())?;
            Some(format!("{row}: {said}"))
        })
        .collect()
}

/// Each caveat once, with the figures concerned.
pub(crate) fn caveats(figures: &[&Figure]) -> Vec<String> {
    let all = distinct(figures.iter().flat_map(|figure| &figure.caveats));
    let line = |caveat: &Caveat| {
        let about = figures.iter().filter(|figure| figure.caveats.contains(caveat));
        let about: Vec<String> = about.map(|f| format!("{} ({})", f.row, f.column)).collect();
        let whom = if about.len() == figures.len() {
            "all figures".to_owned()
        } else if about.len() > 3 {
            format!("{} and {} more", about[..2].join(", "), about.len() - 2)
        } else {
            about.join(", ")
        };
        format!("{whom}: {caveat}")
    };
    all.into_iter().map(line).collect()
}

/// Wraps a long sentence with a hanging indent.
pub(crate) fn wrap(before: &str, text: &str, tone: Tone) -> Vec<Text> {
    let indent = before.chars().count();
    let mut rows: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match rows.last_mut() {
            Some(row) if indent + row.chars().count() + 1 + word.chars().count() <= MAX_WIDTH => {
                row.push(' ');
                row.push_str(word);
            }
            _ => rows.push(word.to_owned()),
        }
    }
    let lead = |at: usize| if at == 0 { before.to_owned() } else { " ".repeat(indent) };
    rows.into_iter().enumerate().map(|(at, row)| Text::plain(lead(at)).with_span(tone, row)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::{Caveat, CaveatKind};

    fn figure(row: &str, column: &str, median: f64) -> Figure {
        let figure = Figure::from_blocks(("launch", row, column), FigureUnit::Nanos, vec![median], 1)
            .expect("it is a number");
        Figure {
            low: median * 0.9,
            high: median * 1.05,
            argument: (row == "fork").then(|| "a call and copies".to_owned()),
            ..figure
        }
    }

    #[test]
    fn columns_say_what_and_under_which_circumstances() {
        let mut figures = vec![
            figure("fork", "0, launch", 40_000.0),
            figure("fork", "0, launch and join", 113_000.0),
            figure("fork", "64 MiB, launch", 902_000.0),
            figure("thread", "0, launch", 8_000.0),
        ];
        figures[3].caveats.push(Caveat::new(CaveatKind::Disturbed, "others were at work"));
        let notes = [("launch".to_owned(), "50 ns a page".to_owned())];
        let text: Vec<String> = tables(&figures, &notes).iter().map(ToString::to_string).collect();
        let expected = [
            "",
            "  launch",
            "  launch            0        64 MiB",
            "  fork    40 µs ±10 %  902 µs ±10 %",
            "  thread   8 µs ±10 %              ",
            "  launch and join             0",
            "  fork             113 µs ±10 %",
            "    fork: a call and copies",
            "  caveat: thread (0, launch): others were at work",
            "  · 50 ns a page",
        ];
        assert_eq!(text, expected);
    }

    #[test]
    fn a_wide_table_goes_on_below() {
        let figures: Vec<Figure> =
            (0..12).map(|size| figure("fork", &format!("{size} MiB, launch"), 1000.0)).collect();
        let lines = tables(&figures, &[]);
        assert!(lines.iter().all(|line| line.width() <= MAX_WIDTH), "{lines:?}");
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        assert!((0..12).all(|size| text.contains(&format!(" {size} MiB"))), "{text}");
        assert_eq!(text.matches("  fork ").count(), 2, "{text}");
    }

    #[test]
    fn values_read_well() {
        for (unit, number, expected) in [
            (FigureUnit::Nanos, 0.74, "0.7 ns"),
            (FigureUnit::Nanos, 2650.0, "2.65 µs"),
            (FigureUnit::Bytes, 8489.0, "8.3 KiB"),
            (FigureUnit::PerSecond, 174_956.4, "174,956/s"),
            (FigureUnit::BytesPerSecond, 5.134e9, "5.1 GB/s"),
            (FigureUnit::BytesPerSecond, 37e6, "37 MB/s"),
            (FigureUnit::Count, 98.5, "98.5"),
            (FigureUnit::Count, 10_000.0, "10,000"),
            (FigureUnit::Share, 0.61, "61 %"),
        ] {
            assert_eq!(value(unit, number).replace('%', " %").replace("  ", " "), expected);
        }
    }
}
