//! Rows of tables to files: CSV and Parquet.
//!
//! Rows are written as they come, so that a table of any length takes the same memory. It does not know what a column
//! means, where a row comes from, or which file it goes to: it writes to whatever can be written to.

use super::{csv, parquet};
use std::io::{self, Write};
use view::tables::{Column, Row};

/// How a table is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// As RFC 4180 has it, in UTF-8; times as RFC 3339.
    Csv,
    /// Apache Parquet; times in microseconds, UTC.
    Parquet,
}

impl Format {
    /// As a file's name ends.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::Parquet => "parquet",
        }
    }
}

/// A table that is being written.
pub struct Writer<W: Write + Send>(Form<W>);

enum Form<W: Write + Send> {
    Csv(csv::Csv<W>),
    Parquet(Box<parquet::Parquet<W>>),
}

impl<W: Write + Send> Writer<W> {
    /// Begins a table of this name and these columns.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn begin(format: Format, name: &str, columns: &[Column], out: W) -> io::Result<Self> {
        Ok(Self(match format {
            Format::Csv => Form::Csv(csv::Csv::begin(columns, out)?),
            Format::Parquet => Form::Parquet(Box::new(parquet::Parquet::begin(name, columns, out)?)),
        }))
    }

    /// Adds a row: a cell for each column, of its kind or nothing.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn row(&mut self, row: Row) -> io::Result<()> {
        match &mut self.0 {
            Form::Csv(csv) => csv.row(&row),
            Form::Parquet(parquet) => parquet.row(row),
        }
    }

    /// Ends it; without this it cannot be read.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn end(self) -> io::Result<()> {
        match self.0 {
            Form::Csv(csv) => csv.end(),
            Form::Parquet(parquet) => parquet.end(),
        }
    }
}
