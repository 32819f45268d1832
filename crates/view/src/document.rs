//! What is said and shown of a run, and what it means: texts, tables and charts in sections.
//!
//! It says what a thing means (a [`Tone`], a [`Role`]), never how it looks. The terminal lays out the texts and tables; the live page, the
//! frozen report and whoever reads JSON get all of it. The page in `crates/page/ui` draws any document without knowing what a trial or a
//! session of a database is; its `document.ts` has the same nouns.
//!
//! Two parts grow differently. The [`Front`] is small and is sent anew when it changed; the [`Timeline`] only gets rows added, so that a
//! live page asks for those after the last it has.

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

/// Raised when a document can no longer be read by an older page.
pub const SCHEMA: u32 = 1;

/// Everything that a page shows of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Document {
    /// [`SCHEMA`].
    pub schema: u32,
    /// What is said, and every chart.
    pub front: PageFront,
    /// What charts over time draw.
    pub timeline: Timeline,
}

/// What is said of a run, and which charts go with it.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct PageFront {
    /// Which run.
    pub head: PageHeader,
    /// The verdict in two sentences at most: what holds, and what gave first.
    pub verdict: Vec<Text>,
    /// The way of a request to what gave first; empty if nothing did.
    pub chain: Vec<StationBox>,
    /// What a run came to, drawn: to be seen beside the verdict.
    pub pictures: Vec<Chart>,
    /// Every reason for doubt.
    pub doubts: Vec<PageCaveat>,
    /// From the most important to the rest.
    pub sections: Vec<Section>,
    /// What went on when, for all charts over time.
    pub phases: Vec<Phase>,
}

/// Which run it is.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct PageHeader {
    /// Its id.
    pub id: String,
    /// What whoever started it called it; empty if nothing.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
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
    pub state: PageState,
    /// The machine in one line: processors, memory, kernel.
    pub machine: String,
    /// What is going on at this moment, of a run that is not over: `trial 4: 1,200/s, 6 s of 10`.
    pub now: Option<String>,
    /// What to type in a shell to make the run again; none if what is kept of it does not tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub again: Option<String>,
}

/// How a run stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PageState {
    /// It goes on.
    #[default]
    Running,
    /// It came to its end.
    Ended,
    /// It has no end, and nobody writes it any longer.
    CutShort,
}

/// Somewhere that a request comes by.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct StationBox {
    /// What it is: `200 workers`.
    pub name: String,
    /// What was seen there.
    pub facts: Vec<Text>,
    /// How full it was where the target was well; none if that is not known.
    pub well: Option<Occupancy>,
    /// How full it was where the target was degraded.
    pub degraded: Option<Occupancy>,
    /// The section with its charts.
    pub section: Option<String>,
    /// Bad of the one that gave first.
    pub tone: Tone,
}

/// How full a station was, on average; what is not known is none.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Occupancy {
    /// How many were in use: `9.9 of 10`, or `9.9 in use`.
    pub in_use: Option<String>,
    /// The share of its size that was in use, 1 at most.
    #[serde(serialize_with = "round::maybe")]
    pub share: Option<f64>,
    /// How long a request stayed: `52 ms`.
    pub stay: Option<String>,
    /// How many waited before it: `190`.
    pub waiting: Option<String>,
}

/// A reason for doubt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PageCaveat {
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
    pub tables: Vec<TextTable>,
    /// Charts.
    pub charts: Vec<Chart>,
    /// Flame graphs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub flames: Vec<FlameChart>,
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
    pub tone: Tone,
}

/// Figures of every second, or of every stretch of a long run.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Timeline {
    /// Seconds since the run began, rising.
    #[serde(serialize_with = "round::times")]
    pub at: Vec<f64>,
    /// The columns; all as long as `at`.
    pub columns: Vec<TimelineColumn>,
}

/// One figure over time.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct TimelineColumn {
    /// Unique in the timeline: `offered`, `response_p99`, `threads.0.running`.
    pub id: String,
    /// Its values, in the unit of the chart's y axis; none where nothing was measured.
    #[serde(serialize_with = "round::maybes")]
    pub values: Vec<Option<f64>>,
    /// It is part of a sum: where rows are joined it is averaged. Otherwise the smallest and the largest stay.
    pub adds: bool,
}

impl PageHeader {
    /// Which run it is, in a line: `torment find demo`.
    pub fn title(&self) -> String {
        let words = ["torment", self.command.as_str(), self.target.as_str()];
        words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
    }
}

impl Section {
    pub(crate) fn named(id: &str, title: &str) -> Self {
        Self { id: id.to_owned(), title: title.to_owned(), ..Self::default() }
    }

    /// With texts that say something.
    pub(crate) fn texts(mut self, texts: impl IntoIterator<Item = Text>) -> Self {
        self.texts.extend(texts.into_iter().filter(|text| !text.is_empty()));
        self
    }

    /// With a flame graph.
    pub(crate) fn flame(mut self, flame: FlameChart) -> Self {
        self.flames.push(flame);
        self
    }

    /// With a table, if it has rows.
    pub(crate) fn table(mut self, table: TextTable) -> Self {
        self.tables.extend((!table.is_empty()).then(|| table.padded()));
        self
    }

    /// For a terminal: texts and tables under a faint heading, an empty line before it.
    pub(crate) fn lines(&self) -> Vec<Text> {
        let head = indent_all([Text::empty(), Text::new(Tone::Faint, &self.title)]);
        let tables = self.tables.iter().flat_map(|table| table.indented_lines(1));
        head.into_iter().chain(indent_all(self.texts.iter().cloned())).chain(tables).collect()
    }

    /// With what another says and shows, under its heading.
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

    /// Without what is said elsewhere already: a reader wants every figure once.
    pub(crate) fn without_repeated(mut self, said: &[Text]) -> Option<Self> {
        self.texts.retain(|text| !said.contains(text));
        self.non_empty()
    }

    /// Nothing is left of one that says and shows nothing.
    pub(crate) fn non_empty(self) -> Option<Self> {
        let is_empty = self.texts.is_empty() && self.tables.is_empty() && self.charts.is_empty();
        (!is_empty || !self.flames.is_empty()).then_some(self)
    }
}
