//! Writes table rows as CSV or Parquet.
//!
//! Rows are streamed, so a table of any length takes the same memory. It knows neither a column's meaning nor the
//! source of a row nor the file: it writes to any writer.

use super::parquet;
use std::io::{self, Write};
use view::csv_line;
use view::tables::{CellValue, ExportColumn, ExportRow};

units::named! {
    /// Format of a table; the name is the file extension.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum TableFormat {
        /// RFC 4180, in UTF-8; times as RFC 3339.
        Csv = "csv",
        /// Apache Parquet; times in microseconds, UTC.
        Parquet = "parquet",
    }
}

/// A table being written.
pub enum TableWriter<W: Write + Send> {
    Csv(W),
    Parquet(Box<parquet::ParquetWriter<W>>),
}

impl<W: Write + Send> TableWriter<W> {
    /// Begins a table with this name and these columns.
    pub fn begin(format: TableFormat, name: &str, columns: &[ExportColumn], mut out: W) -> io::Result<Self> {
        Ok(match format {
            TableFormat::Csv => {
                out.write_all(csv_line(columns.iter().map(|column| &column.name)).as_bytes())?;
                Self::Csv(out)
            }
            TableFormat::Parquet => {
                Self::Parquet(Box::new(parquet::ParquetWriter::begin(name, columns, out)?))
            }
        })
    }

    /// Adds a row: for each column a cell of its type, or null.
    pub fn write_row(&mut self, row: ExportRow) -> io::Result<()> {
        match self {
            Self::Csv(out) => out.write_all(csv_line(row.iter().map(plain)).as_bytes()),
            Self::Parquet(parquet) => parquet.write_row(row),
        }
    }

    /// Finishes it; without this it is unreadable.
    pub fn finish(self) -> io::Result<()> {
        match self {
            Self::Csv(mut out) => out.flush(),
            Self::Parquet(parquet) => parquet.finish(),
        }
    }
}

/// Numbers with as many digits as a round trip needs.
fn plain(cell: &CellValue) -> String {
    match cell {
        CellValue::Nothing => String::new(),
        CellValue::Time(time) => time.to_string(),
        CellValue::Whole(number) => number.to_string(),
        CellValue::Number(number) => number.to_string(),
        CellValue::Flag(flag) => flag.to_string(),
        CellValue::Text(text) => text.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Moment;
    use view::tables::ColumnType;

    #[test]
    fn every_kind_of_cell_is_written() {
        let kinds =
            [ColumnType::Time, ColumnType::Whole, ColumnType::Number, ColumnType::Flag, ColumnType::Text];
        let columns =
            kinds.map(|kind| ExportColumn { name: kind.name().to_owned(), kind, about: String::new() });
        let mut out = Vec::new();
        let mut csv =
            TableWriter::begin(TableFormat::Csv, "t", &columns, &mut out).expect("memory can be written to");
        let rows = [
            vec![
                CellValue::Time(Moment(1_795_190_399_500_000)),
                CellValue::Whole(u64::MAX),
                CellValue::Number(1e-9),
                CellValue::Flag(true),
                CellValue::Text("a \"b\", c".into()),
            ],
            vec![CellValue::Nothing; 5],
        ];
        rows.into_iter().for_each(|row| csv.write_row(row).expect("memory can be written to"));
        csv.finish().expect("memory can be written to");
        assert_eq!(
            String::from_utf8(out).expect("UTF-8"),
            "timestamp,u64,f64,bool,text\r\n\
             2026-11-20T15:59:59.500000Z,18446744073709551615,0.000000001,true,\"a \"\"b\"\", c\"\r\n,,,,\r\n"
        );
    }
}
