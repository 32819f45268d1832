//! Charts, and how to read them.

use super::{Phase, TextSpan, Tone, round};
use serde::Serialize;

/// A chart.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Chart {
    /// Unique on the page.
    pub id: String,
    /// Its heading.
    pub title: String,
    /// How to read it, in one sentence; empty if obvious.
    pub note: String,
    /// How it is drawn.
    pub form: ChartForm,
    /// The horizontal axis; over time the points are those of the [`super::Timeline`].
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// Its series.
    pub series: Vec<ChartSeries>,
    /// Reference values drawn across: a goal, a quota, a bound.
    pub bounds: Vec<ReferenceLine>,
    /// Meaningful ranges of the x axis.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub bands: Vec<Band>,
    /// The rows of [`ChartForm::Intervals`] and [`ChartForm::Bars`], top to bottom.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rows: Vec<ChartRow>,
    /// Only for [`ChartForm::Heat`].
    pub heat: Option<Heatmap>,
    /// Events with a duration, marked along the lower edge of a chart over time.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub marks: Vec<Phase>,
    /// What a hollow mark, one with [`Tone::Warn`], means: `void`; empty: merely doubtful.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub hollow: String,
}

/// How a chart is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ChartForm {
    /// A line for each series.
    Lines,
    /// Stacked areas.
    Stack,
    /// Points, with their intervals if any.
    Points,
    /// Values along x with their intervals, one per entry of [`Chart::rows`]. The first series has the values, any other the data behind
    /// them. y is the row plus an offset: 1.2 is a fifth of a row below the middle of the second.
    Intervals,
    /// Horizontal bars, one per entry of [`Chart::rows`]; rows of the same name are grouped, and a point's label tells its bar from the
    /// group's others. The first series has the values with their intervals; a second one the expected value of each as consecutive parts,
    /// with the size of each part as x.
    Bars,
    /// Cells shaded by count.
    Heat,
}

/// An axis.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Axis {
    /// Its name: `time`, `offered rate`, `response time`, `percentile`.
    pub name: String,
    /// Its unit.
    pub unit: AxisUnit,
    /// Logarithmic.
    pub log: bool,
}

/// Units that the page can format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AxisUnit {
    /// Seconds since the run began: only for the time axis.
    Time,
    /// A duration, in seconds.
    Seconds,
    /// Per second.
    PerSecond,
    /// A count.
    Count,
    /// Bytes.
    Bytes,
    /// Bytes per second, with decimal prefixes, as for links and memory.
    BytesPerSecond,
    /// 0 to 1, shown in percent.
    Share,
    /// A factor: ×1.4.
    Ratio,
    /// Processors busy.
    Processors,
    /// 1 ÷ (1 − quantile), on a logarithmic axis: shown as the percentile.
    Percentile,
}

/// One series of a chart.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ChartSeries {
    /// Its name in the legend.
    pub name: String,
    /// Its role, so that the same thing has the same colour everywhere.
    pub role: SeriesRole,
    /// Over time: the id of its [`super::Timeline`] column; `points` is then empty.
    pub column: Option<String>,
    /// Otherwise its points.
    pub points: Vec<ChartPoint>,
}

/// A point outside the timeline.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct ChartPoint {
    /// Horizontal position.
    #[serde(serialize_with = "round::value")]
    pub x: f64,
    /// Vertical position; the row, counted from the top, for [`ChartForm::Intervals`] and [`ChartForm::Bars`].
    #[serde(serialize_with = "round::value")]
    pub y: f64,
    /// Lower end of its interval; along x for [`ChartForm::Intervals`] and [`ChartForm::Bars`], else along y.
    #[serde(serialize_with = "round::maybe")]
    pub low: Option<f64>,
    /// Upper end.
    #[serde(serialize_with = "round::maybe")]
    pub high: Option<f64>,
    /// Its name, if any.
    pub label: String,
    /// What it means.
    pub tone: Tone,
}

/// What a series shows; determines its colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SeriesRole {
    /// Asked for.
    Offered,
    /// Done.
    Achieved,
    /// Done well.
    Good,
    /// Gone wrong.
    Bad,
    /// Waiting.
    Waiting,
    /// Working.
    Busy,
    /// Present but idle.
    Idle,
    /// The median.
    Half,
    /// The 90th percentile.
    Ninety,
    /// The 99th.
    NinetyNine,
    /// The largest.
    Largest,
    /// One of several of a kind, by index: 0, 1, 2, …
    Nth(u8),
}

/// A reference value drawn across a chart.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ReferenceLine {
    /// Its name.
    pub name: String,
    /// Its position: on the y axis, unless `along_x`.
    #[serde(serialize_with = "round::value")]
    pub at: f64,
    /// Vertical, at this position on the x axis.
    pub along_x: bool,
    /// What it means.
    pub tone: Tone,
}

/// A range of the x axis, shaded over the full height.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Band {
    /// The name written into it; empty if a bound within says it.
    pub name: String,
    /// What its shade means, for the legend; empty if not listed there.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub means: String,
    /// Left end; `None`: the chart's edge.
    #[serde(serialize_with = "round::maybe")]
    pub from: Option<f64>,
    /// Right end; `None`: the chart's edge.
    #[serde(serialize_with = "round::maybe")]
    pub to: Option<f64>,
    /// What it means.
    pub tone: Tone,
}

/// One of several rows.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct ChartRow {
    /// Its name.
    pub name: String,
    /// A short remark; may be empty.
    pub note: String,
    /// Its outcome, in a word; may be empty.
    pub word: TextSpan,
}

/// Counts in a grid.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Heatmap {
    /// Column edges, one more than columns.
    #[serde(serialize_with = "round::times")]
    pub x: Vec<f64>,
    /// Row edges, one more than rows.
    #[serde(serialize_with = "round::values")]
    pub y: Vec<f64>,
    /// Counts, column by column, each from the lowest row up.
    pub counts: Vec<u32>,
}

impl ChartPoint {
    /// Index of the row it belongs to.
    pub(crate) fn row(&self) -> usize {
        self.y.round().max(0.0) as usize
    }
}

impl ChartSeries {
    /// Points with neither names nor intervals are vertices of a polyline.
    pub(crate) fn is_line(&self) -> bool {
        !self.points.is_empty()
            && self.points.iter().all(|point| point.label.is_empty() && point.low.is_none())
    }
}

impl ChartRow {
    /// A row with only a name.
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
    /// Lines over time.
    pub(crate) fn lines(id: impl Into<String>, title: impl Into<String>, y: (&str, AxisUnit)) -> Self {
        Self::of(id, title, ChartForm::Lines, ("time", AxisUnit::Time), y)
    }

    /// Stacked areas over time.
    pub(crate) fn stack(id: impl Into<String>, title: impl Into<String>, y: (&str, AxisUnit)) -> Self {
        Self::of(id, title, ChartForm::Stack, ("time", AxisUnit::Time), y)
    }

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

    /// Whether any of its series has points.
    pub(crate) fn has_points(&self) -> bool {
        self.series.iter().any(|series| !series.points.is_empty())
    }

    pub(crate) fn note(mut self, note: impl Into<String>) -> Self {
        self.note = note.into();
        self
    }

    pub(crate) fn log_x(mut self) -> Self {
        self.x.log = true;
        self
    }

    /// Sets what a hollow mark means.
    pub(crate) fn hollow(mut self, hollow: &str) -> Self {
        hollow.clone_into(&mut self.hollow);
        self
    }

    pub(crate) fn log_y(mut self) -> Self {
        self.y.log = true;
        self
    }

    /// Adds a timeline column as a series.
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

    /// Adds a series of points; values that JSON cannot encode are dropped.
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

    /// Adds a horizontal reference line, if there is a value.
    pub(crate) fn bound(mut self, name: impl Into<String>, at: Option<f64>, tone: Tone) -> Self {
        let bound = at.filter(|at| at.is_finite());
        self.bounds.extend(bound.map(|at| ReferenceLine { name: name.into(), at, along_x: false, tone }));
        self
    }

    pub(crate) fn marks(mut self, marks: Vec<Phase>) -> Self {
        self.marks = marks;
        self
    }

    /// Adds a band; `None` is an open end.
    pub(crate) fn band(mut self, name: &str, from: Option<f64>, to: Option<f64>, tone: Tone) -> Self {
        let is_real = |end: Option<f64>| end.is_none_or(f64::is_finite);
        if (from.is_some() || to.is_some()) && is_real(from) && is_real(to) {
            self.bands.push(Band { name: name.to_owned(), means: String::new(), from, to, tone });
        }
        self
    }

    /// Sets what the last band's shade means.
    pub(crate) fn band_meaning(mut self, means: &str) -> Self {
        if let Some(band) = self.bands.last_mut() {
            means.clone_into(&mut band.means);
        }
        self
    }

    /// Adds a vertical reference line.
    pub(crate) fn vertical_line(mut self, name: impl Into<String>, at: Option<f64>, tone: Tone) -> Self {
        let bound = at.filter(|at| at.is_finite() && (!self.x.log || *at > 0.0));
        self.bounds.extend(bound.map(|at| ReferenceLine { name: name.into(), at, along_x: true, tone }));
        self
    }
}
