//! The chart of a limit in characters, for a terminal: shows at a glance where the target breaks.

#[cfg(test)]
mod tests;

use crate::document::{Band, Chart, ChartPoint, ChartSeries, ReferenceLine, SeriesRole};
use crate::page::pictures;
use crate::scale::Scale;
use crate::sparkline::Glyphs;
use crate::{ReportKind, RunView, Text, Tone, TrialState};
use std::ops::Range;

/// Columns: at most; if the output's width is unknown; and at least.
const MAX_WIDTH: usize = 100;
const DEFAULT_WIDTH: usize = 80;
const MIN_WIDTH: usize = 50;
/// Rows of marks: twelve lines minus an empty one, the heading, the axis, and its labels.
const ROWS: usize = 8;
/// Fewer marks make no curve.
const MIN_MARKS: usize = 3;
/// Between the labels below the axis.
const GAP: usize = 2;
/// Where several marks coincide the last of these wins: failures must not disappear.
const TONE_ORDER: [Tone; 5] = [Tone::Plain, Tone::Faint, Tone::Warn, Tone::Good, Tone::Bad];

/// Drawn in full, and behind that: the first of these that exists.
const MAIN_ROLES: [SeriesRole; 2] = [SeriesRole::Achieved, SeriesRole::NinetyNine];
const SECONDARY_ROLES: [SeriesRole; 2] = [SeriesRole::Half, SeriesRole::Nth(1)];

/// A character, and its tone.
type StyledChar = (char, Tone);

struct PlotSymbols {
    half: char,
    limit: char,
    beyond: char,
    goal: char,
    side: char,
    corner: char,
    axis: char,
    ends: [char; 2],
    within: char,
    caret: char,
}

const BLOCKS: PlotSymbols = PlotSymbols {
    half: '○',
    limit: '▒',
    beyond: '░',
    goal: '╌',
    side: '│',
    corner: '└',
    axis: '─',
    ends: ['╞', '╡'],
    within: '═',
    caret: '▲',
};
const PLAIN: PlotSymbols = PlotSymbols {
    half: '.',
    limit: '|',
    beyond: ':',
    goal: '-',
    side: '|',
    corner: '+',
    axis: '-',
    ends: ['[', ']'],
    within: '=',
    caret: '^',
};

/// At most twelve lines, as wide as the terminal if known: what was tried and how long it took, such as a search's trials by rate and
/// response time, and the limit as wide as its interval. Empty without a limit, with fewer than three marks, or without room.
pub fn sketch(view: &RunView, glyphs: Glyphs, width: Option<usize>) -> Vec<Text> {
    let limit = pictures::charts(view).into_iter().find(|chart| chart.id == "limit");
    let width = width.unwrap_or(DEFAULT_WIDTH).min(MAX_WIDTH);
    let unit = match view.kind() {
        ReportKind::Tasks => "threads".to_owned(),
        // A size has its own.
        ReportKind::WorkingSet => String::new(),
        _ => view.arrival_kind().unit().to_string(),
    };
    limit.map(|chart| lines(&chart, &unit, glyphs, width)).unwrap_or_default()
}

fn lines(chart: &Chart, unit: &str, glyphs: Glyphs, width: usize) -> Vec<Text> {
    let series = |role: &SeriesRole| chart.series.iter().find(|series| series.role == *role);
    // Others, such as the 99.9th percentile, would hide these: there are too few rows.
    let Some(main) = MAIN_ROLES.iter().find_map(series) else { return Vec::new() };
    if width < MIN_WIDTH || main.points.len() < MIN_MARKS {
        return Vec::new();
    }
    let mut drawing = TextPlot::of(chart, main, SECONDARY_ROLES.iter().find_map(series), glyphs, width);
    drawing.bands();
    drawing.goals();
    drawing.marks();
    drawing.lines(unit, width)
}

/// A chart's marks by row, from the top.
struct TextPlot<'a> {
    chart: &'a Chart,
    /// What each was judged by: the mean, or the 99th percentile.
    main: &'a ChartSeries,
    /// The medians, or the alternative measurement.
    secondary: Option<&'a ChartSeries>,
    glyphs: Glyphs,
    symbols: &'static PlotSymbols,
    x: Scale,
    y: Scale,
    /// Row labels.
    row_labels: [String; ROWS],
    rows: [Vec<StyledChar>; ROWS],
}

impl<'a> TextPlot<'a> {
    fn of(
        chart: &'a Chart,
        main: &'a ChartSeries,
        half: Option<&'a ChartSeries>,
        glyphs: Glyphs,
        width: usize,
    ) -> Self {
        let points = || half.into_iter().chain([main]).flat_map(|series| &series.points);
        let along =
            |x: bool| chart.bounds.iter().filter(move |bound| bound.along_x == x).map(|bound| bound.at);
        let x = Scale::tight(&chart.x, points().map(|point| point.x).chain(along(true)));
        let y = Scale::tight(&chart.y, points().map(|point| point.y).chain(along(false)));
        let mut names: [String; ROWS] = Default::default();
        for value in along(false).chain(y.ends()).chain(y.ticks(ROWS)) {
            let name = &mut names[row(&y, value)];
            if name.is_empty() {
                *name = y.words(value);
            }
        }
        // Two blanks and the label, one blank and the axis.
        let columns = width - 4 - widest(&names);
        Self {
            chart,
            main,
            secondary: half,
            glyphs,
            symbols: match glyphs {
                Glyphs::Blocks => &BLOCKS,
                Glyphs::Plain => &PLAIN,
            },
            x,
            y,
            row_labels: names,
            rows: std::array::from_fn(|_| vec![(' ', Tone::Plain); columns]),
        }
    }

    fn columns(&self) -> usize {
        self.rows[0].len()
    }

    fn column(&self, value: f64) -> usize {
        (self.x.place(value) * (self.columns() - 1) as f64).round() as usize
    }

    /// A band's first and last column.
    fn span(&self, band: &Band) -> (usize, usize) {
        let from = band.from.map_or(0, |at| self.column(at));
        (from, band.to.map_or(self.columns() - 1, |at| self.column(at)).max(from))
    }

    /// The limit's band; if only one side is known, all beyond it.
    fn limit(&self) -> Option<&'a Band> {
        let is_open = |band: &&Band| band.tone == Tone::Faint && band.from.is_some() && band.to.is_none();
        let bands = &self.chart.bands;
        bands.iter().find(|band| band.tone == Tone::Strong).or_else(|| bands.iter().find(is_open))
    }

    /// What holds: the first vertical line, as the others depend on it.
    fn holds(&self) -> Option<&'a ReferenceLine> {
        self.chart.bounds.iter().find(|bound| bound.along_x)
    }

    fn write(&mut self, row: usize, column: usize, text: &str, tone: Tone) {
        let cells = self.rows[row].iter_mut().skip(column);
        cells.zip(text.chars()).for_each(|(cell, letter)| *cell = (letter, tone));
    }

    /// The limit last: it may be a single column, which the band beyond would cover.
    fn bands(&mut self) {
        for band in self.chart.bands.iter().rev() {
            let (from, to) = self.span(band);
            // So large an area in the colour of bad would hide all else.
            let shade = match band.tone {
                Tone::Bad => Some((self.symbols.beyond, Tone::Faint)),
                Tone::Strong => Some((self.symbols.limit, Tone::Strong)),
                // Bands that only mark a position have just their name.
                _ => None,
            };
            if let Some(shade) = shade {
                self.rows.iter_mut().for_each(|row| row[from..=to].fill(shade));
            }
            let name = format!(" {} ", band.name);
            let room = from + 1..from + 1 + name.chars().count();
            if !band.name.is_empty()
                && room.end <= to
                && let Some(row) = self.free(room)
            {
                self.write(row, from + 1, &name, band.tone);
            }
        }
    }

    /// The row nearest to the middle without a mark in these columns: marks within a word make it unreadable.
    fn free(&self, columns: Range<usize>) -> Option<usize> {
        let points = self.secondary.into_iter().chain([self.main]).flat_map(|series| &series.points);
        let taken = points.filter(|point| columns.contains(&self.column(point.x)));
        let taken: Vec<usize> = taken.map(|point| row(&self.y, point.y)).collect();
        (0..ROWS).filter(|row| !taken.contains(row)).min_by_key(|row| row.abs_diff(ROWS / 2))
    }

    fn goals(&mut self) {
        for bound in self.chart.bounds.iter().filter(|bound| !bound.along_x) {
            let row = row(&self.y, bound.at);
            self.rows[row].fill((self.symbols.goal, Tone::Faint));
            self.write(row, 1, &format!(" {} ", bound.name), bound.tone);
        }
    }

    /// Background first: where both coincide, what is drawn in full must be visible.
    fn marks(&mut self) {
        let (main, half, glyphs) = (self.main, self.secondary, self.glyphs);
        for tone in TONE_ORDER {
            let points = half.into_iter().flat_map(|half| &half.points);
            self.mark(points.filter(|point| point.tone == tone), self.symbols.half);
        }
        for tone in TONE_ORDER {
            self.mark(main.points.iter().filter(|point| point.tone == tone), glyphs.mark(tone));
        }
    }

    fn mark(&mut self, points: impl Iterator<Item = &'a ChartPoint>, mark: char) {
        for point in points {
            let (row, column) = (row(&self.y, point.y), self.column(point.x));
            self.rows[row][column] = (mark, point.tone);
        }
    }

    fn lines(&self, unit: &str, width: usize) -> Vec<Text> {
        let wide = widest(&self.row_labels);
        let named = self.row_labels.iter().zip(&self.rows);
        let rows = named.map(|(name, row)| line(format!("  {name:>wide$} {}", self.symbols.side), row));
        let indent = " ".repeat(wide + 3);
        let axis = line(format!("{indent}{}", self.symbols.corner), &self.axis());
        let head = [Text::empty(), self.head(width)];
        head.into_iter().chain(rows).chain([axis, self.below(&indent, unit)]).collect()
    }

    /// The title and, if there is room, the legend.
    fn head(&self, width: usize) -> Text {
        let mut key = Text::new(Tone::Faint, format!("{}, {}", self.chart.y.name, self.main.name));
        for state in [TrialState::Good, TrialState::Bad, TrialState::Void] {
            let tone = state.tone();
            if self.main.points.iter().any(|point| point.tone == tone) {
                key = key.with_plain(" ").with_span(tone, self.glyphs.mark(tone));
                key = key.with_span(Tone::Faint, format!(" {}", state.name()));
            }
        }
        if let Some(half) = self.secondary {
            key = key.with_span(Tone::Faint, format!(", {} {}", half.name, self.symbols.half));
        }
        let title = Text::plain("  ").with_span(Tone::Strong, &self.chart.title).with_plain(": ");
        let mut head = if title.width() + key.width() <= width { title } else { Text::plain("  ") };
        head.pieces.extend(key.pieces);
        head
    }

    /// With the limit, as wide as its interval.
    fn axis(&self) -> Vec<StyledChar> {
        let mut cells = vec![(self.symbols.axis, Tone::Faint); self.columns()];
        if let Some(limit) = self.limit() {
            let (from, to) = self.span(limit);
            cells[from..=to].fill((self.symbols.within, limit.tone));
            for (column, end, mark) in
                [(from, limit.from, self.symbols.ends[0]), (to, limit.to, self.symbols.ends[1])]
            {
                if end.is_some() {
                    cells[column].0 = mark;
                }
            }
        }
        if let Some(holds) = self.holds() {
            cells[self.column(holds.at)] = (self.symbols.caret, holds.tone);
        }
        cells
    }

    /// The axis ends and, as close below the limit as they allow, its label.
    fn below(&self, indent: &str, unit: &str) -> Text {
        let [left, right] = self.x.ends().map(|end| self.x.words(end));
        let (first, last) = (left.len() + GAP, self.columns().saturating_sub(right.len() + GAP));
        let room = last.saturating_sub(first);
        let label = self.limit_labels(unit).into_iter().find(|label| label.len() <= room).unwrap_or_default();
        let limit = self.holds().map(|holds| holds.at).or(self.limit().and_then(|limit| limit.to));
        let middle = limit.map_or(0, |at| self.column(at));
        let from = middle.saturating_sub(label.len() / 2).min(last.saturating_sub(label.len())).max(first);
        let (before, after) =
            (from - left.len(), self.columns().saturating_sub(from + label.len() + right.len()));
        Text::plain(format!("{indent} "))
            .with_span(Tone::Faint, left)
            .with_plain(" ".repeat(before))
            .with_span(Tone::Strong, label)
            .with_plain(" ".repeat(after))
            .with_span(Tone::Faint, right)
    }

    /// The limit in words, long and short.
    fn limit_labels(&self, unit: &str) -> [String; 2] {
        let words = |at: f64| self.x.words(at);
        let full = |at: f64| format!("{} {unit}", words(at)).trim_end().to_owned();
        let ends = self.limit().map(|limit| (limit.from, limit.to));
        match (self.holds().map(|bound| (&bound.name, bound.at)), ends) {
            (Some((name, at)), Some((Some(low), Some(high)))) => {
                let (low, high) = (words(low), words(high));
                [format!("{name} {}, between {low} and {high}", full(at)), format!("{name} {}", words(at))]
            }
            // One end is open, or it is known exactly.
            (Some((name, at)), _) => [format!("{name} {}", full(at)), format!("{name} {}", words(at))],
            (None, Some((_, Some(high)))) => {
                [format!("fails at {}", full(high)), format!("fails at {}", words(high))]
            }
            (None, _) => Default::default(),
        }
    }
}

/// A value's row, counted from the top.
fn row(y: &Scale, value: f64) -> usize {
    ROWS - 1 - (y.place(value) * (ROWS - 1) as f64).round() as usize
}

fn widest(names: &[String]) -> usize {
    names.iter().map(|name| name.chars().count()).max().unwrap_or(0)
}

/// Joins characters of one tone into spans, without trailing blanks.
fn line(before: String, cells: &[StyledChar]) -> Text {
    let filled = cells.iter().rposition(|(letter, _)| *letter != ' ').map_or(0, |last| last + 1);
    let pieces = cells[..filled].chunk_by(|one, next| one.1 == next.1);
    pieces.fold(Text::new(Tone::Faint, before), |line, piece| {
        line.with_span(piece[0].1, piece.iter().map(|(letter, _)| *letter).collect::<String>())
    })
}
