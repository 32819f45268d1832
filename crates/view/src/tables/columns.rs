use super::RowOrigin;
use crate::TimeSummary;
use std::borrow::Cow;
use units::Moment;

/// A column of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExportColumn {
    /// Its name, including the unit.
    pub name: String,
    /// Its cell type.
    pub kind: ColumnType,
    /// Its meaning, as a part of a sentence.
    pub about: String,
}

units::named! {
    /// The cell type of a column; any cell may also be empty.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum ColumnType {
        /// A timestamp.
        Time = "timestamp",
        /// An unsigned integer.
        Whole = "u64",
        /// A number.
        Number = "f64",
        /// True or false.
        Flag = "bool",
        /// Text.
        Text = "text",
    }
}

/// A cell; of its column's [`ColumnType`], or empty.
#[derive(Debug, Clone, PartialEq)]
pub enum CellValue {
    /// Not measured, or unknown.
    Nothing,
    /// A timestamp.
    Time(Moment),
    /// An unsigned integer.
    Whole(u64),
    /// A finite number.
    Number(f64),
    /// True or false.
    Flag(bool),
    /// Text.
    Text(Cow<'static, str>),
}

type CellReader<R> = Box<dyn Fn(&R) -> CellValue>;

/// A table's columns, each with its reader for a row's source.
pub(super) struct Columns<R>(Vec<(ExportColumn, CellReader<R>)>);

impl<R: 'static> Columns<R> {
    pub fn new() -> Self {
        Self(Vec::new())
    }

    pub fn names(&self) -> Vec<ExportColumn> {
        self.0.iter().map(|(column, _)| column.clone()).collect()
    }

    pub fn row(&self, of: &R) -> Vec<CellValue> {
        self.0.iter().map(|(_, value)| value(of)).collect()
    }

    pub fn with(mut self, name: &str, kind: ColumnType, about: &str, value: CellReader<R>) -> Self {
        self.0.push((ExportColumn { name: name.to_owned(), kind, about: about.to_owned() }, value));
        self
    }

    pub fn moment(self, name: &str, about: &str, value: impl Fn(&R) -> Moment + 'static) -> Self {
        self.with(name, ColumnType::Time, about, Box::new(move |of| CellValue::Time(value(of))))
    }

    pub fn whole(self, name: &str, about: &str, value: impl Fn(&R) -> Option<u64> + 'static) -> Self {
        let value = move |of: &R| value(of).map_or(CellValue::Nothing, CellValue::Whole);
        self.with(name, ColumnType::Whole, about, Box::new(value))
    }

    pub fn number(self, name: &str, about: &str, value: impl Fn(&R) -> Option<f64> + 'static) -> Self {
        let value =
            move |of: &R| value(of).filter(|n| n.is_finite()).map_or(CellValue::Nothing, CellValue::Number);
        self.with(name, ColumnType::Number, about, Box::new(value))
    }

    pub fn flag(self, name: &str, about: &str, value: impl Fn(&R) -> Option<bool> + 'static) -> Self {
        let value = move |of: &R| value(of).map_or(CellValue::Nothing, CellValue::Flag);
        self.with(name, ColumnType::Flag, about, Box::new(value))
    }

    pub fn text<T: Into<Cow<'static, str>>>(
        self,
        name: &str,
        about: &str,
        value: impl Fn(&R) -> Option<T> + 'static,
    ) -> Self {
        let value = move |of: &R| value(of).map_or(CellValue::Nothing, |text| CellValue::Text(text.into()));
        self.with(name, ColumnType::Text, about, Box::new(value))
    }

    /// Timestamp and trial.
    pub fn at(self, at: fn(&R) -> &RowOrigin) -> Self {
        self.text("run", "id of the run", move |of| Some(at(of).run.clone()))
            .moment("time", "when it began", move |of| at(of).time)
            .number("run_seconds", "the same, since the run began", move |of| Some(at(of).since))
            .whole("trial", "number of the trial, from 1; 0: without a load", move |of| {
                Some(u64::from(at(of).trial))
            })
    }

    /// The quantiles of a histogram.
    pub fn times(
        self,
        name: &str,
        about: &str,
        times: impl Fn(&R) -> Option<TimeSummary> + Copy + 'static,
    ) -> Self {
        /// Name part, meaning, and accessor.
        type Quantile = (&'static str, &'static str, fn(&TimeSummary) -> units::Nanos);
        let get: [Quantile; 7] = [
            ("p50", "half of it is at or below", |t| t.quantiles.p50),
            ("p90", "90 % of it is at or below", |t| t.quantiles.p90),
            ("p95", "95 % of it is at or below", |t| t.quantiles.p95),
            ("p99", "99 % of it is at or below", |t| t.quantiles.p99),
            ("p99_9", "99.9 % of it is at or below", |t| t.quantiles.p99_9),
            ("max", "the largest", |t| t.quantiles.max),
            ("mean", "the mean", |t| t.mean),
        ];
        let count = format!("how many times: {about}");
        let counted = self.whole(&format!("{name}_count"), &count, move |of| times(of).map(|t| t.count));
        get.into_iter().fold(counted, |columns, (part, of_it, get)| {
            let about = format!("{name} time: {of_it}");
            columns.number(&format!("{name}_{part}_seconds"), &about, move |of| {
                times(of).map(|t| get(&t).as_secs_f64())
            })
        })
    }
}
