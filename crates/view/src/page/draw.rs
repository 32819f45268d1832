//! Charts in a few words.

use super::pages::Pages;
use super::{Axis, Bound, Chart, Form, Phase, Point, Role, Section, Series, Table, Text, Unit};
use crate::{Tone, table};

impl Axis {
    fn of(name: &str, unit: Unit) -> Self {
        Self { name: name.to_owned(), unit, log: false }
    }
}

impl Chart {
    /// A chart over time.
    pub(super) fn over_time(
        id: impl Into<String>,
        title: impl Into<String>,
        form: Form,
        y: (&str, Unit),
    ) -> Self {
        Self::of(id, title, form, ("time", Unit::Time), y)
    }

    /// Any other.
    pub(super) fn of(
        id: impl Into<String>,
        title: impl Into<String>,
        form: Form,
        x: (&str, Unit),
        y: (&str, Unit),
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
            heat: None,
            marks: Vec::new(),
        }
    }

    pub(super) fn note(mut self, note: impl Into<String>) -> Self {
        self.note = note.into();
        self
    }

    pub(super) fn log_x(mut self) -> Self {
        self.x.log = true;
        self
    }

    pub(super) fn log_y(mut self) -> Self {
        self.y.log = true;
        self
    }

    /// A column of the timeline.
    pub(super) fn column(mut self, name: impl Into<String>, role: Role, column: impl Into<String>) -> Self {
        let column = Some(column.into());
        self.series.push(Series { name: name.into(), role, column, points: Vec::new() });
        self
    }

    /// Points of its own; numbers that no page could write are left out.
    pub(super) fn points(
        mut self,
        name: impl Into<String>,
        role: Role,
        points: impl IntoIterator<Item = Point>,
    ) -> Self {
        let is_real = |value: &f64| value.is_finite();
        let (log_x, log_y) = (self.x.log, self.y.log);
        let fits = move |point: &Point| {
            is_real(&point.x) && is_real(&point.y) && (!log_x || point.x > 0.0) && (!log_y || point.y > 0.0)
        };
        let ends = |point: Point| Point {
            low: point.low.filter(|low| is_real(low)),
            high: point.high.filter(|high| is_real(high)),
            ..point
        };
        let points: Vec<Point> = points.into_iter().filter(fits).map(ends).collect();
        self.series.push(Series { name: name.into(), role, column: None, points });
        self
    }

    /// A value drawn across, if there is one.
    pub(super) fn bound(mut self, name: impl Into<String>, at: Option<f64>, tone: Tone) -> Self {
        let bound = at.filter(|at| at.is_finite());
        self.bounds.extend(bound.map(|at| Bound { name: name.into(), at, along_x: false, tone }));
        self
    }

    /// What happened for a while.
    pub(super) fn marks(mut self, marks: Vec<Phase>) -> Self {
        self.marks = marks;
        self
    }

    /// A place of the x axis.
    pub(super) fn upright(mut self, name: impl Into<String>, at: Option<f64>, tone: Tone) -> Self {
        let bound = at.filter(|at| at.is_finite() && (!self.x.log || *at > 0.0));
        self.bounds.extend(bound.map(|at| Bound { name: name.into(), at, along_x: true, tone }));
        self
    }
}

impl Section {
    pub(super) fn named(id: &str, title: &str) -> Self {
        Self { id: id.to_owned(), title: title.to_owned(), ..Self::default() }
    }

    /// With texts that say something.
    pub(super) fn texts(mut self, texts: impl IntoIterator<Item = Text>) -> Self {
        self.texts.extend(texts.into_iter().filter(|text| !text.is_empty()));
        self
    }

    /// With a table, if it has rows.
    pub(super) fn table(mut self, title: &str, table: table::Table) -> Self {
        self.tables.extend(super::text::table(title, table));
        self
    }

    /// With a table that was made for the page.
    pub(super) fn tabled(mut self, table: Option<Table>) -> Self {
        self.tables.extend(table.filter(|table| !table.rows.is_empty()));
        self
    }

    /// With a chart, if it holds anything: series without a value are left out.
    pub(super) fn chart(mut self, pages: &Pages, mut chart: Chart) -> Self {
        chart.series.retain(|series| match &series.column {
            Some(column) => pages.holds(column),
            None => !series.points.is_empty(),
        });
        if !chart.series.is_empty() || chart.heat.is_some() {
            self.charts.push(chart);
        }
        self
    }

    /// Nothing is left of one that says and shows nothing.
    pub(super) fn kept(self) -> Option<Self> {
        (!(self.texts.is_empty() && self.tables.is_empty() && self.charts.is_empty())).then_some(self)
    }
}

impl Pages {
    /// Whether a column of the page has a value anywhere.
    pub(super) fn holds(&self, column: &str) -> bool {
        self.parts(column).any(|id| self.rows.is_used(id))
    }

    /// Whether it is more than zero anywhere.
    pub(super) fn moves(&self, column: &str) -> bool {
        self.parts(column).any(|id| self.rows.is_moved(id))
    }
}
