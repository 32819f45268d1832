//! Rows of tables to files: CSV and Parquet.
//!
//! Rows are written as they come, so that a table of any length takes the same memory. It does not know what a column
//! means, where a row comes from, or which file it goes to: it writes to whatever can be written to.

use super::{csv, parquet};
use std::io::{self, Write};
use view::tables::{Column, Row};

units::named! {
    /// How a table is written; named as its files end.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Format {
        /// As RFC 4180 has it, in UTF-8; times as RFC 3339.
        Csv = "csv",
        /// Apache Parquet; times in microseconds, UTC.
        Parquet = "parquet",
    }
}

/// A table that is being written.
pub enum Writer<W: Write + Send> {
    Csv(csv::Csv<W>),
    Parquet(Box<parquet::Parquet<W>>),
}

impl<W: Write + Send> Writer<W> {
    /// Begins a table of this name and these columns.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn begin(format: Format, name: &str, columns: &[Column], out: W) -> io::Result<Self> {
        Ok(match format {
            Format::Csv => Self::Csv(csv::Csv::begin(columns, out)?),
            Format::Parquet => Self::Parquet(Box::new(parquet::Parquet::begin(name, columns, out)?)),
        })
    }

    /// Adds a row: a cell for each column, of its kind or nothing.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn row(&mut self, row: Row) -> io::Result<()> {
        match self {
            Self::Csv(csv) => csv.row(&row),
            Self::Parquet(parquet) => parquet.row(row),
        }
    }

    /// Ends it; without this it cannot be read.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn end(self) -> io::Result<()> {
        match self {
            Self::Csv(csv) => csv.end(),
            Self::Parquet(parquet) => parquet.end(),
        }
    }
}
