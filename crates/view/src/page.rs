//! A run as a page: what is said, in order of its weight, and what is drawn beside it.
//!
//! One document for the live page, the frozen report and whoever reads it as JSON. It says what a thing means
//! (a [`Tone`], a [`Role`]), never how it looks; the page in `crates/page/ui` draws any document without knowing
//! what a trial or a session of a database is. `ui/src/document.ts` has the same nouns.
//!
//! Two parts grow differently. The [`Front`] is small and is sent anew when it changed; the [`Timeline`] only gets
//! rows added, so that a live page asks for those after the last it has.

mod distribution;
mod draw;
mod front;
mod heat;
mod now;
mod pages;
mod ranks;
mod round;
mod rows;
mod second;
mod sections;
mod seen;
mod text;
mod thin;

pub use now::{GroupNow, Part, TreeNow};
pub use pages::Pages;

use serde::Serialize;

/// Raised when a document can no longer be read by an older page.
pub const SCHEMA: u32 = 1;

/// Everything that a page shows of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Document {
    /// [`SCHEMA`].
    pub schema: u32,
    /// What is said, and every chart.
    pub front: Front,
    /// What charts over time draw.
    pub timeline: Timeline,
}

/// What is said of a run, and which charts go with it.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Front {
    /// Which run.
    pub head: Head,
    /// The verdict in two sentences at most: what holds, and what gave first.
    pub verdict: Vec<Text>,
    /// Every reason for doubt.
    pub doubts: Vec<Doubt>,
    /// From the most important to the rest.
    pub sections: Vec<Section>,
    /// What went on when, for all charts over time.
    pub phases: Vec<Phase>,
}

/// Which run it is.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Head {
    /// Its id.
    pub id: String,
    /// `find`, `run`, `try`, `probe`, …
    pub command: String,
    /// The target as shown to people.
    pub target: String,
    /// The objective in words; empty if there is none.
    pub goal: String,
    /// torment's version.
    pub version: String,
    /// Milliseconds since 1970.
    pub started_unix_ms: u64,
    /// Milliseconds since 1970; none while it runs, or if it was cut short.
    pub ended_unix_ms: Option<u64>,
    /// How it stands.
    pub state: State,
    /// The machine in one line: processors, memory, kernel.
    pub machine: String,
    /// What is going on at this moment, of a run that is not over: `trial 4: 1,200/s, 6 s of 10`.
    pub now: Option<String>,
}

/// How a run stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// It goes on.
    #[default]
    Running,
    /// It came to its end.
    Ended,
    /// It has no end, and nobody writes it any longer.
    CutShort,
}

/// A line of text: pieces with a tone each.
pub type Text = Vec<Piece>;

/// A piece of text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Piece {
    /// The text itself, never markup.
    pub text: String,
    /// What it means.
    pub tone: crate::Tone,
}

/// A reason for doubt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Doubt {
    /// In words.
    pub text: String,
    /// The section whose numbers it touches; none: all of them.
    pub section: Option<String>,
}

/// A part of the page under one heading.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Section {
    /// Unique on the page, fit for an address: `evidence`, `response`, `search`.
    pub id: String,
    /// Its heading.
    pub title: String,
    /// What is said.
    pub texts: Vec<Text>,
    /// Tables.
    pub tables: Vec<Table>,
    /// Charts.
    pub charts: Vec<Chart>,
}

/// A table.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Table {
    /// Its caption; empty if the section's heading says it.
    pub title: String,
    /// The heads of its columns; the first column is text, the others are figures unless `text` says so.
    pub head: Vec<String>,
    /// Its rows, a piece for each column.
    pub rows: Vec<Vec<Piece>>,
    /// Columns, beside the first, that hold text.
    pub text: Vec<usize>,
    /// A row that leads to another run: its id, for each row; empty if no row does.
    pub runs: Vec<Option<String>>,
}

/// A chart.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Chart {
    /// Unique on the page.
    pub id: String,
    /// What it shows, as a heading.
    pub title: String,
    /// How to read it, in a sentence; empty if that is plain.
    pub note: String,
    /// How it is drawn.
    pub form: Form,
    /// What runs from left to right; over time the points are those of the [`Timeline`].
    pub x: Axis,
    /// What runs upwards.
    pub y: Axis,
    /// What is drawn.
    pub series: Vec<Series>,
    /// Values that are drawn across: a goal, a quota, a bound.
    pub bounds: Vec<Bound>,
    /// Only for [`Form::Heat`].
    pub heat: Option<Heat>,
    /// What happened for a while, marked along the lower edge of a chart over time.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub marks: Vec<Phase>,
}

/// How a chart is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// A line for each series.
    Lines,
    /// Areas on top of each other.
    Stack,
    /// Points, each with its interval if it has one.
    Points,
    /// Intervals one below the other, a row for each point of the one series: x is the value, the label its name.
    Intervals,
    /// Cells whose shade says how many.
    Heat,
}

/// An axis.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Axis {
    /// What it is: `time`, `offered rate`, `response time`, `percentile`.
    pub name: String,
    /// Its unit.
    pub unit: Unit,
    /// Equal steps are equal factors.
    pub log: bool,
}

/// Units that the page knows how to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Seconds since the run began: only of the axis of time.
    Time,
    /// A length of time, in seconds.
    Seconds,
    /// A second.
    PerSecond,
    /// A number of things.
    Count,
    /// Bytes.
    Bytes,
    /// 0 to 1, written in percent.
    Share,
    /// A factor: ×1.4.
    Ratio,
    /// Processors busy.
    Processors,
    /// 1 ÷ (1 − quantile), on a logarithmic axis: written as the percentile.
    Percentile,
}

/// One series of a chart.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Series {
    /// Its name in the legend.
    pub name: String,
    /// What it is, so that the same thing has the same colour everywhere.
    pub role: Role,
    /// Over time: the id of its column in the [`Timeline`]; `points` is empty then.
    pub column: Option<String>,
    /// Otherwise its points.
    pub points: Vec<Point>,
}

/// A point that is not of the timeline.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Point {
    /// From left to right.
    #[serde(serialize_with = "round::value")]
    pub x: f64,
    /// Upwards.
    #[serde(serialize_with = "round::value")]
    pub y: f64,
    /// The lower end of its interval; along x for [`Form::Intervals`], else along y.
    #[serde(serialize_with = "round::maybe")]
    pub low: Option<f64>,
    /// The upper.
    #[serde(serialize_with = "round::maybe")]
    pub high: Option<f64>,
    /// What it is, where it has a name.
    pub label: String,
    /// What it means.
    pub tone: crate::Tone,
}

/// What a series is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// What was asked for.
    Offered,
    /// What was done.
    Achieved,
    /// What was done well.
    Good,
    /// What went wrong.
    Bad,
    /// Waiting.
    Waiting,
    /// Working.
    Busy,
    /// There, and idle.
    Idle,
    /// The median.
    Half,
    /// The 90th percentile.
    Ninety,
    /// The 99th.
    NinetyNine,
    /// The largest.
    Largest,
    /// One of several of a kind, told apart by their order: 0, 1, 2, …
    Nth(u8),
}

/// A value drawn across a chart.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Bound {
    /// Its name.
    pub name: String,
    /// Where: on the y axis, unless `along_x`.
    #[serde(serialize_with = "round::value")]
    pub at: f64,
    /// It stands upright, at this place of the x axis.
    pub along_x: bool,
    /// What it means.
    pub tone: crate::Tone,
}

/// Counts in a grid.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Heat {
    /// Edges of the columns, one more than there are.
    #[serde(serialize_with = "round::times")]
    pub x: Vec<f64>,
    /// Edges of the rows, one more than there are.
    #[serde(serialize_with = "round::values")]
    pub y: Vec<f64>,
    /// How many, column by column from the lowest row upwards.
    pub counts: Vec<u32>,
}

/// A stretch of the run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Phase {
    /// Seconds since the run began.
    #[serde(serialize_with = "round::time")]
    pub from: f64,
    /// Seconds since the run began.
    #[serde(serialize_with = "round::time")]
    pub to: f64,
    /// `trial 4: 1,200/s, bad`.
    pub label: String,
    /// How it came out.
    pub tone: crate::Tone,
}

/// Figures of every second, or of every stretch of a long run.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Timeline {
    /// Seconds since the run began, rising.
    #[serde(serialize_with = "round::times")]
    pub at: Vec<f64>,
    /// The columns; all as long as `at`.
    pub columns: Vec<Column>,
}

/// One figure over time.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Column {
    /// Unique in the timeline: `offered`, `response_p99`, `threads.0.running`.
    pub id: String,
    /// Its values, in the unit of the chart's y axis; none where nothing was measured.
    #[serde(serialize_with = "round::maybes")]
    pub values: Vec<Option<f64>>,
    /// It is part of a sum: where rows are joined it is averaged. Otherwise the smallest and the largest stay.
    pub adds: bool,
}
