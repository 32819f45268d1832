//! What a chart shows, and how it is to be read.

use super::{Phase, TextSpan, Tone, round};
use serde::Serialize;

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
    pub form: ChartForm,
    /// What runs from left to right; over time the points are those of the [`Timeline`].
    pub x: Axis,
    /// What runs upwards.
    pub y: Axis,
    /// What is drawn.
    pub series: Vec<ChartSeries>,
    /// Values that are drawn across: a goal, a quota, a bound.
    pub bounds: Vec<ReferenceLine>,
    /// Stretches of the x axis that mean something.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub bands: Vec<Band>,
    /// Only for [`Form::Intervals`] and [`Form::Bars`]: what stands one below the other.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rows: Vec<ChartRow>,
    /// Only for [`Form::Heat`].
    pub heat: Option<Heatmap>,
    /// What happened for a while, marked along the lower edge of a chart over time.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub marks: Vec<Phase>,
    /// What a hollow mark is, one with the tone [`Tone::Warn`]: `void`; empty: no more than doubtful.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub hollow: String,
}

/// How a chart is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ChartForm {
    /// A line for each series.
    Lines,
    /// Areas on top of each other.
    Stack,
    /// Points, each with its interval if it has one.
    Points,
    /// Values along x with their intervals, in [`Chart::rows`] one below the other. The first series has the values, any
    /// other what they come from. y is the place of the row, and where in it a point stands: 1.2 is a fifth of a row below
    /// the middle of the second.
    Intervals,
    /// Bars along x, one in each of [`Chart::rows`]; rows of the same name stand together, and the label of a point tells its bar
    /// from theirs. The first series has the values with their intervals, a second one what each should come to: its parts, one after the
    /// other, with how much of it each is as x.
    Bars,
    /// Cells whose shade says how many.
    Heat,
}

/// An axis.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Axis {
    /// What it is: `time`, `offered rate`, `response time`, `percentile`.
    pub name: String,
    /// Its unit.
    pub unit: AxisUnit,
    /// Equal steps are equal factors.
    pub log: bool,
}

/// Units that the page knows how to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AxisUnit {
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
    /// Bytes a second, in powers of ten as links and memory are.
    BytesPerSecond,
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
pub struct ChartSeries {
    /// Its name in the legend.
    pub name: String,
    /// What it is, so that the same thing has the same colour everywhere.
    pub role: SeriesRole,
    /// Over time: the id of its column in the [`Timeline`]; `points` is empty then.
    pub column: Option<String>,
    /// Otherwise its points.
    pub points: Vec<ChartPoint>,
}

/// A point that is not of the timeline.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct ChartPoint {
    /// From left to right.
    #[serde(serialize_with = "round::value")]
    pub x: f64,
    /// Upwards; the row, counted downwards, for [`Form::Intervals`] and [`Form::Bars`].
    #[serde(serialize_with = "round::value")]
    pub y: f64,
    /// The lower end of its interval; along x for [`Form::Intervals`] and [`Form::Bars`], else along y.
    #[serde(serialize_with = "round::maybe")]
    pub low: Option<f64>,
    /// The upper.
    #[serde(serialize_with = "round::maybe")]
    pub high: Option<f64>,
    /// What it is, where it has a name.
    pub label: String,
    /// What it means.
    pub tone: Tone,
}

/// What a series is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SeriesRole {
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
pub struct ReferenceLine {
    /// Its name.
    pub name: String,
    /// Where: on the y axis, unless `along_x`.
    #[serde(serialize_with = "round::value")]
    pub at: f64,
    /// It stands upright, at this place of the x axis.
    pub along_x: bool,
    /// What it means.
    pub tone: Tone,
}

/// A stretch of the x axis, shaded from top to bottom.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Band {
    /// What holds there, to be written into it; empty if a bound within says it.
    pub name: String,
    /// What its shade means, for the legend; empty where none tells of it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub means: String,
    /// Where it begins; none: at the left edge.
    #[serde(serialize_with = "round::maybe")]
    pub from: Option<f64>,
    /// Where it ends; none: at the right edge.
    #[serde(serialize_with = "round::maybe")]
    pub to: Option<f64>,
    /// What it means.
    pub tone: Tone,
}

/// One of several things that stand one below the other.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct ChartRow {
    /// Its name.
    pub name: String,
    /// What else there is to say of it, in a few words; may be empty.
    pub note: String,
    /// What became of it, in a word; may be empty.
    pub word: TextSpan,
}

/// Counts in a grid.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Heatmap {
    /// Edges of the columns, one more than there are.
    #[serde(serialize_with = "round::times")]
    pub x: Vec<f64>,
    /// Edges of the rows, one more than there are.
    #[serde(serialize_with = "round::values")]
    pub y: Vec<f64>,
    /// How many, column by column from the lowest row upwards.
    pub counts: Vec<u32>,
}

impl ChartPoint {
    /// The place of the row that it stands in.
    pub(crate) fn row(&self) -> usize {
        self.y.round().max(0.0) as usize
    }
}

impl ChartSeries {
    /// Points that have neither names nor intervals are places of a line, which runs straight from one to the next.
    pub(crate) fn is_line(&self) -> bool {
        !self.points.is_empty()
            && self.points.iter().all(|point| point.label.is_empty() && point.low.is_none())
    }
}

impl ChartRow {
    /// One of which nothing is known but its name.
    pub fn named(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }
}

impl Axis {
    fn of(name: &str, unit: AxisUnit) -> Self {
        Self { name: name.to_owned(), unit, log: false }
    }
}

impl Chart {
    /// A chart over time.
    pub(crate) fn over_time(
        id: impl Into<String>,
        title: impl Into<String>,
        form: ChartForm,
        y: (&str, AxisUnit),
    ) -> Self {
        Self::of(id, title, form, ("time", AxisUnit::Time), y)
    }

    /// Any other.
    pub(crate) fn of(
        id: impl Into<String>,
        title: impl Into<String>,
        form: ChartForm,
        x: (&str, AxisUnit),
        y: (&str, AxisUnit),
    ) -> Self {
        Self {
            id: id.into(),
            title: title.into(),
            note: String::new(),
            form,
            x: Axis::of(x.0, x.1),
            y: Axis::of(y.0, y.1),
            series: Vec::new(),
            bounds: Vec::new(),
            bands: Vec::new(),
            rows: Vec::new(),
            heat: None,
            marks: Vec::new(),
            hollow: String::new(),
        }
    }

    pub(crate) fn note(mut self, note: impl Into<String>) -> Self {
        self.note = note.into();
        self
    }

    pub(crate) fn log_x(mut self) -> Self {
        self.x.log = true;
        self
    }

    /// What a hollow mark is.
    pub(crate) fn hollow(mut self, hollow: &str) -> Self {
        hollow.clone_into(&mut self.hollow);
        self
    }

    pub(crate) fn log_y(mut self) -> Self {
        self.y.log = true;
        self
    }

    /// A column of the timeline.
    pub(crate) fn column(
        mut self,
        name: impl Into<String>,
        role: SeriesRole,
        column: impl Into<String>,
    ) -> Self {
        let column = Some(column.into());
        self.series.push(ChartSeries { name: name.into(), role, column, points: Vec::new() });
        self
    }

    /// Points of its own; numbers that no page could write are left out.
    pub(crate) fn points(
        mut self,
        name: impl Into<String>,
        role: SeriesRole,
        points: impl IntoIterator<Item = ChartPoint>,
    ) -> Self {
        let is_real = |value: &f64| value.is_finite();
        let (log_x, log_y) = (self.x.log, self.y.log);
        let fits = move |point: &ChartPoint| {
            is_real(&point.x) && is_real(&point.y) && (!log_x || point.x > 0.0) && (!log_y || point.y > 0.0)
        };
        let ends = |point: ChartPoint| ChartPoint {
            low: point.low.filter(|low| is_real(low)),
            high: point.high.filter(|high| is_real(high)),
            ..point
        };
        let points: Vec<ChartPoint> = points.into_iter().filter(fits).map(ends).collect();
        self.series.push(ChartSeries { name: name.into(), role, column: None, points });
        self
    }

    /// A value drawn across, if there is one.
    pub(crate) fn bound(mut self, name: impl Into<String>, at: Option<f64>, tone: Tone) -> Self {
        let bound = at.filter(|at| at.is_finite());
        self.bounds.extend(bound.map(|at| ReferenceLine { name: name.into(), at, along_x: false, tone }));
        self
    }

    /// What happened for a while.
    pub(crate) fn marks(mut self, marks: Vec<Phase>) -> Self {
        self.marks = marks;
        self
    }

    /// A stretch of the x axis, from and to wherever an end is known.
    pub(crate) fn band(mut self, name: &str, from: Option<f64>, to: Option<f64>, tone: Tone) -> Self {
        let is_real = |end: Option<f64>| end.is_none_or(f64::is_finite);
        if (from.is_some() || to.is_some()) && is_real(from) && is_real(to) {
            self.bands.push(Band { name: name.to_owned(), means: String::new(), from, to, tone });
        }
        self
    }

    /// What the shade of the last stretch means.
    pub(crate) fn band_meaning(mut self, means: &str) -> Self {
        if let Some(band) = self.bands.last_mut() {
            means.clone_into(&mut band.means);
        }
        self
    }

    /// A place of the x axis.
    pub(crate) fn vertical_line(mut self, name: impl Into<String>, at: Option<f64>, tone: Tone) -> Self {
        let bound = at.filter(|at| at.is_finite() && (!self.x.log || *at > 0.0));
        self.bounds.extend(bound.map(|at| ReferenceLine { name: name.into(), at, along_x: true, tone }));
        self
    }
}
