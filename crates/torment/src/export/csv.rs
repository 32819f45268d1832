use std::io::{self, Write};
use view::csv_line;
use view::tables::{Cell, Column};

/// The names, then the rows.
pub struct Csv<W>(W);

impl<W: Write> Csv<W> {
    pub fn begin(columns: &[Column], mut out: W) -> io::Result<Self> {
        out.write_all(csv_line(columns.iter().map(|column| &column.name)).as_bytes())?;
        Ok(Self(out))
    }

    pub fn row(&mut self, row: &[Cell]) -> io::Result<()> {
        self.0.write_all(csv_line(row.iter().map(plain)).as_bytes())
    }

    pub fn end(mut self) -> io::Result<()> {
        self.0.flush()
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
    use crate::export::writer::{Format, Writer};
    use units::Moment;
    use view::tables::{Cell, Column, Kind};

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
