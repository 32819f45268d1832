//! Rows of tables to files: CSV and Parquet.
//!
//! Rows are written as they come, so that a table of any length takes the same memory. It does not know what a column
//! means, where a row comes from, or which file it goes to: it writes to whatever can be written to.

use super::parquet;
use std::io::{self, Write};
use view::csv_line;
use view::tables::{Cell, Column, Row};

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
    Csv(W),
    Parquet(Box<parquet::Parquet<W>>),
}

impl<W: Write + Send> Writer<W> {
    /// Begins a table of this name and these columns.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn begin(format: Format, name: &str, columns: &[Column], mut out: W) -> io::Result<Self> {
        Ok(match format {
            Format::Csv => {
                out.write_all(csv_line(columns.iter().map(|column| &column.name)).as_bytes())?;
                Self::Csv(out)
            }
            Format::Parquet => Self::Parquet(Box::new(parquet::Parquet::begin(name, columns, out)?)),
        })
    }

    /// Adds a row: a cell for each column, of its kind or nothing.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn row(&mut self, row: Row) -> io::Result<()> {
        match self {
            Self::Csv(out) => out.write_all(csv_line(row.iter().map(plain)).as_bytes()),
            Self::Parquet(parquet) => parquet.row(row),
        }
    }

    /// Ends it; without this it cannot be read.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn end(self) -> io::Result<()> {
        match self {
            Self::Csv(mut out) => out.flush(),
            Self::Parquet(parquet) => parquet.end(),
        }
    }
}

/// Numbers in as many digits as it takes to read them back.
fn plain(cell: &Cell) -> String {
    match cell {
        Cell::Nothing => String::new(),
        Cell::Time(time) => time.to_string(),
        Cell::Whole(number) => number.to_string(),
        Cell::Number(number) => number.to_string(),
        Cell::Flag(flag) => flag.to_string(),
        Cell::Text(text) => text.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Moment;
    use view::tables::Kind;

    #[test]
    fn every_kind_of_cell_is_written() {
        let kinds = [Kind::Time, Kind::Whole, Kind::Number, Kind::Flag, Kind::Text];
        let columns = kinds.map(|kind| Column { name: kind.name().to_owned(), kind, about: String::new() });
        let mut out = Vec::new();
        let mut csv = Writer::begin(Format::Csv, "t", &columns, &mut out).expect("memory can be written to");
        let rows = [
            vec![
                Cell::Time(Moment(1_795_190_399_500_000)),
                Cell::Whole(u64::MAX),
                Cell::Number(1e-9),
                Cell::Flag(true),
                Cell::Text("a \"b\", c".into()),
            ],
            vec![Cell::Nothing; 5],
        ];
        rows.into_iter().for_each(|row| csv.row(row).expect("memory can be written to"));
        csv.end().expect("memory can be written to");
        assert_eq!(
            String::from_utf8(out).expect("UTF-8"),
            "timestamp,u64,f64,bool,text\r\n\
             2026-11-20T15:59:59.500000Z,18446744073709551615,0.000000001,true,\"a \"\"b\"\", c\"\r\n,,,,\r\n"
        );
    }
}
