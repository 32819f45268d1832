//! A run as a document: texts, tables and charts in sections.
//!
//! It carries meaning (a [`Tone`], a [`SeriesRole`]), never looks. The terminal lays out the texts and tables; the live page, the frozen
//! report and JSON readers get all of it. The page in `crates/page/ui` draws any document without knowing what a trial or a database
//! session is; its `document.ts` uses the same nouns.
//!
//! The two parts are updated differently. The [`PageFront`] is small and is resent when it changes; the [`Timeline`] only gains rows, so a
//! live page asks for those after its last.

mod chart;
mod flame;
mod round;
mod table;
mod text;

pub use chart::{
    Axis, AxisUnit, Band, Chart, ChartForm, ChartPoint, ChartRow, ChartSeries, Heatmap, ReferenceLine,
    SeriesRole,
};
pub use flame::FlameChart;
pub use table::TextTable;
pub(crate) use text::indent_all;
pub use text::{Text, TextSpan, Tone};

use serde::Serialize;

/// Incremented when older pages can no longer read a document.
pub const SCHEMA: u32 = 1;

/// Everything a page shows of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Document {
    /// [`SCHEMA`].
    pub schema: u32,
    /// Texts, and all charts.
    pub front: PageFront,
    /// The data of charts over time.
    pub timeline: Timeline,
}

/// The texts of a run, and the charts that go with them.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct PageFront {
    /// The run's identity.
    pub head: PageHeader,
    /// The verdict, at most two sentences: what holds, and what gave first.
    pub verdict: Vec<Text>,
    /// A request's path to what gave first; empty if nothing did.
    pub chain: Vec<StationBox>,
    /// The run's result as charts, shown beside the verdict.
    pub pictures: Vec<Chart>,
    /// All caveats.
    pub doubts: Vec<PageCaveat>,
    /// Most important first.
    pub sections: Vec<Section>,
    /// The phases marked on all charts over time.
    pub phases: Vec<Phase>,
}

/// A run's identity and state.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct PageHeader {
    /// Its id.
    pub id: String,
    /// Its user-given name; may be empty.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// `find`, `run`, `try`, `probe`, …
    pub command: String,
    /// The target, as displayed.
    pub target: String,
    /// The goal in words; empty if none.
    pub goal: String,
    /// torment's version.
    pub version: String,
    /// Milliseconds since 1970.
    pub started_unix_ms: u64,
    /// Milliseconds since 1970; `None` while it runs, or if it was cut short.
    pub ended_unix_ms: Option<u64>,
    /// Its state.
    pub state: PageState,
    /// The machine in one line: processors, memory, kernel.
    pub machine: String,
    /// What a run in progress is doing: `trial 4: 1,200/s, 6 s of 10`.
    pub now: Option<String>,
    /// The shell command that repeats the run; `None` if the stored data do not tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub again: Option<String>,
}

/// The state of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PageState {
    /// Still running.
    #[default]
    Running,
    /// Finished.
    Ended,
    /// Has no end, and is no longer written.
    CutShort,
}

/// A station on a request's path.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct StationBox {
    /// Its name: `200 workers`.
    pub name: String,
    /// What was observed there.
    pub facts: Vec<Text>,
    /// Its occupancy where the target was well; `None` if unknown.
    pub well: Option<Occupancy>,
    /// Its occupancy where the target was degraded.
    pub degraded: Option<Occupancy>,
    /// Id of the section with its charts.
    pub section: Option<String>,
    /// [`Tone::Bad`] for the one that gave first.
    pub tone: Tone,
}

/// A station's average occupancy; `None` where unknown.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Occupancy {
    /// Number in use: `9.9 of 10`, or `9.9 in use`.
    pub in_use: Option<String>,
    /// Share of its size in use, at most 1.
    #[serde(serialize_with = "round::maybe")]
    pub share: Option<f64>,
    /// Time a request spent there: `52 ms`.
    pub stay: Option<String>,
    /// Number waiting for it: `190`.
    pub waiting: Option<String>,
}

/// A caveat, as the page shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PageCaveat {
    /// Its text.
    pub text: String,
    /// Id of the section whose figures it affects; `None`: all.
    pub section: Option<String>,
}

/// A part of the page, under one heading.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Section {
    /// Unique on the page and usable in a URL: `evidence`, `response`, `search`.
    pub id: String,
    /// Its heading.
    pub title: String,
    /// Lines of text.
    pub texts: Vec<Text>,
    /// Tables.
    pub tables: Vec<TextTable>,
    /// Charts.
    pub charts: Vec<Chart>,
    /// Flame graphs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub flames: Vec<FlameChart>,
}

/// A time span of the run.
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
    /// How it ended.
    pub tone: Tone,
}

/// Values for each second, or for each stretch of a long run.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Timeline {
    /// Seconds since the run began, ascending.
    #[serde(serialize_with = "round::times")]
    pub at: Vec<f64>,
    /// The columns, each as long as `at`.
    pub columns: Vec<TimelineColumn>,
}

/// One value over time.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct TimelineColumn {
    /// Unique in the timeline: `offered`, `response_p99`, `threads.0.running`.
    pub id: String,
    /// In the unit of the chart's y axis; `None` where not measured.
    #[serde(serialize_with = "round::maybes")]
    pub values: Vec<Option<f64>>,
    /// Part of a sum: joined rows are averaged. Otherwise they keep minimum and maximum.
    pub adds: bool,
}

impl PageHeader {
    /// The run in one line: `torment find demo`.
    pub fn title(&self) -> String {
        let words = ["torment", self.command.as_str(), self.target.as_str()];
        words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
    }
}

impl Section {
    pub(crate) fn named(id: &str, title: &str) -> Self {
        Self { id: id.to_owned(), title: title.to_owned(), ..Self::default() }
    }

    /// Adds the texts that are not empty.
    pub(crate) fn texts(mut self, texts: impl IntoIterator<Item = Text>) -> Self {
        self.texts.extend(texts.into_iter().filter(|text| !text.is_empty()));
        self
    }

    pub(crate) fn flame(mut self, flame: FlameChart) -> Self {
        self.flames.push(flame);
        self
    }

    /// Adds a table, if it has rows.
    pub(crate) fn table(mut self, table: TextTable) -> Self {
        self.tables.extend((!table.is_empty()).then(|| table.padded()));
        self
    }

    /// For a terminal: texts and tables under a faint heading, preceded by an empty line.
    pub(crate) fn lines(&self) -> Vec<Text> {
        let head = indent_all([Text::empty(), Text::new(Tone::Faint, &self.title)]);
        let tables = self.tables.iter().flat_map(|table| table.indented_lines(1));
        head.into_iter().chain(indent_all(self.texts.iter().cloned())).chain(tables).collect()
    }

    /// Appends another section's content, under its heading.
    pub(crate) fn merged(mut self, part: Self) -> Self {
        if !part.texts.is_empty() {
            self.texts.push(Text::new(Tone::Strong, &part.title));
            self.texts.extend(part.texts);
        }
        self.tables.extend(part.tables.into_iter().map(|table| table.titled(&part.title)));
        self.charts.extend(part.charts);
        self.flames.extend(part.flames);
        self
    }

    /// Drops what is said elsewhere already: every figure appears once.
    pub(crate) fn without_repeated(mut self, texts: &[Text]) -> Option<Self> {
        self.texts.retain(|text| !texts.contains(text));
        self.non_empty()
    }

    /// `None` if the section is empty.
    pub(crate) fn non_empty(self) -> Option<Self> {
        let is_empty = self.texts.is_empty() && self.tables.is_empty() && self.charts.is_empty();
        (!is_empty || !self.flames.is_empty()).then_some(self)
    }
}
