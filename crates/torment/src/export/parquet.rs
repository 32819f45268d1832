use parquet::basic::{Compression, LogicalType, Repetition, TimeUnit, Type as Physical};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::Type;
use std::io::{self, Write};
use std::sync::Arc;
use view::tables::{CellValue, ColumnType, ExportColumn, ExportRow};

/// Rows per batch: some 20 MB of the widest table.
const ROWS_AT_ONCE: usize = 16_384;

/// Columns of values, with one definition level per row.
pub struct ParquetWriter<W: Write + Send> {
    file: SerializedFileWriter<W>,
    columns: Vec<ColumnBuffer>,
    rows: usize,
}

impl<W: Write + Send> ParquetWriter<W> {
    pub fn begin(name: &str, columns: &[ExportColumn], out: W) -> io::Result<Self> {
        let fields = columns.iter().map(field).collect::<Result<_, _>>().map_err(into_io_error)?;
        let schema = Type::group_type_builder(name).with_fields(fields).build().map_err(into_io_error)?;
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_created_by(concat!("torment ", env!("CARGO_PKG_VERSION")).to_owned())
            .build();
        let file =
            SerializedFileWriter::new(out, Arc::new(schema), Arc::new(properties)).map_err(into_io_error)?;
        Ok(Self {
            file,
            columns: columns.iter().map(|column| ColumnBuffer::of(column.kind)).collect(),
            rows: 0,
        })
    }

    pub fn write_row(&mut self, row: ExportRow) -> io::Result<()> {
        self.columns.iter_mut().zip(row).for_each(|(column, cell)| column.push(cell));
        self.rows += 1;
        if self.rows == ROWS_AT_ONCE { self.write() } else { Ok(()) }
    }

    fn write(&mut self) -> io::Result<()> {
        self.rows = 0;
        let mut group = self.file.next_row_group().map_err(into_io_error)?;
        for column in &mut self.columns {
            let mut writer =
                group.next_column().map_err(into_io_error)?.expect("the schema has a field for each column");
            column.write(&mut writer).and_then(|()| writer.close()).map_err(into_io_error)?;
        }
        group.close().map(|_| ()).map_err(into_io_error)
    }

    pub fn finish(mut self) -> io::Result<()> {
        if self.rows > 0 {
            self.write()?;
        }
        self.file.close().map(|_| ()).map_err(into_io_error)
    }
}

fn field(column: &ExportColumn) -> Result<Arc<Type>, ParquetError> {
    let (physical, logical) = match column.kind {
        ColumnType::Time => {
            let is_utc = true;
            (Physical::INT64, Some(LogicalType::timestamp(is_utc, TimeUnit::MICROS)))
        }
        ColumnType::Whole => (Physical::INT64, Some(LogicalType::integer(64, false))),
        ColumnType::Number => (Physical::DOUBLE, None),
        ColumnType::Flag => (Physical::BOOLEAN, None),
        ColumnType::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
    };
    Type::primitive_type_builder(&column.name, physical)
        .with_logical_type(logical)
        .with_repetition(Repetition::OPTIONAL)
        .build()
        .map(Arc::new)
}

/// A column's present values, and for every row 1 if it has one, else 0.
struct ColumnBuffer {
    definition_levels: Vec<i16>,
    values: ColumnValues,
}

enum ColumnValues {
    Whole(Vec<i64>),
    Number(Vec<f64>),
    Flag(Vec<bool>),
    Text(Vec<ByteArray>),
}

impl ColumnBuffer {
    fn of(kind: ColumnType) -> Self {
        let values = match kind {
            ColumnType::Time | ColumnType::Whole => ColumnValues::Whole(Vec::new()),
            ColumnType::Number => ColumnValues::Number(Vec::new()),
            ColumnType::Flag => ColumnValues::Flag(Vec::new()),
            ColumnType::Text => ColumnValues::Text(Vec::new()),
        };
        Self { definition_levels: Vec::new(), values }
    }

    fn push(&mut self, cell: CellValue) {
        let is_present = match (&mut self.values, cell) {
            // The bits of an unsigned number: the schema says so.
            (
                ColumnValues::Whole(values),
                CellValue::Time(units::Moment(number)) | CellValue::Whole(number),
            ) => {
                values.push(number.cast_signed());
                true
            }
            (ColumnValues::Number(values), CellValue::Number(number)) => {
                values.push(number);
                true
            }
            (ColumnValues::Flag(values), CellValue::Flag(flag)) => {
                values.push(flag);
                true
            }
            (ColumnValues::Text(values), CellValue::Text(text)) => {
                values.push(ByteArray::from(text.into_owned().into_bytes()));
                true
            }
            (_, cell) => {
                debug_assert_eq!(cell, CellValue::Nothing, "a cell is of its column's kind");
                false
            }
        };
        self.definition_levels.push(i16::from(is_present));
    }

    /// Writes and clears it.
    fn write(&mut self, writer: &mut SerializedColumnWriter<'_>) -> Result<(), ParquetError> {
        let definition_levels = std::mem::take(&mut self.definition_levels);
        match &mut self.values {
            ColumnValues::Whole(values) => batch::<Int64Type>(writer, values, &definition_levels),
            ColumnValues::Number(values) => batch::<DoubleType>(writer, values, &definition_levels),
            ColumnValues::Flag(values) => batch::<BoolType>(writer, values, &definition_levels),
            ColumnValues::Text(values) => batch::<ByteArrayType>(writer, values, &definition_levels),
        }
    }
}

fn batch<T: DataType>(
    writer: &mut SerializedColumnWriter<'_>,
    values: &mut Vec<T::T>,
    definition_levels: &[i16],
) -> Result<(), ParquetError> {
    writer.typed::<T>().write_batch(&std::mem::take(values), Some(definition_levels), None).map(|_| ())
}

/// The error of the underlying writer, if it was one.
fn into_io_error(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(inner) => {
            inner.downcast::<io::Error>().map_or_else(io::Error::other, |error| *error)
        }
        other => io::Error::other(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::writer::{TableFormat, TableWriter};
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::Field;
    use units::Moment;

    const KINDS: [ColumnType; 5] =
        [ColumnType::Time, ColumnType::Whole, ColumnType::Number, ColumnType::Flag, ColumnType::Text];

    fn cells(number: u64) -> ExportRow {
        match number % 3 {
            0 => vec![CellValue::Nothing; 5],
            _ => vec![
                CellValue::Time(Moment(number)),
                CellValue::Whole(u64::MAX - number),
                CellValue::Number(number as f64 / 8.0),
                CellValue::Flag(number.is_multiple_of(2)),
                CellValue::Text(format!("row {number}, ø").into()),
            ],
        }
    }

    /// More rows than one batch survive, and nulls stay null.
    #[test]
    fn what_is_written_is_read_back() {
        let columns =
            KINDS.map(|kind| ExportColumn { name: kind.name().to_owned(), kind, about: String::new() });
        let count = ROWS_AT_ONCE as u64 + 5;
        let path = std::env::temp_dir().join(format!("torment-export-{}.parquet", std::process::id()));
        let file = std::fs::File::create(&path).expect("a temporary folder");
        let mut writer = TableWriter::begin(TableFormat::Parquet, "t", &columns, file).expect("a file");
        (0..count).for_each(|number| writer.write_row(cells(number)).expect("a disk"));
        writer.finish().expect("a disk");
        let reader = SerializedFileReader::new(std::fs::File::open(&path).expect("it is there"));
        let reader = reader.expect("Parquet");
        std::fs::remove_file(&path).expect("it is ours");
        assert_eq!(reader.metadata().num_row_groups(), 2);
        let mut rows = 0;
        for (number, row) in reader.get_row_iter(None).expect("rows").enumerate() {
            let row = row.expect("a row");
            let expected = cells(number as u64);
            for ((name, field), cell) in row.get_column_iter().zip(&expected) {
                let is_it = match (field, cell) {
                    (Field::Null, CellValue::Nothing) => true,
                    (Field::TimestampMicros(found), CellValue::Time(time)) => *found == time.0.cast_signed(),
                    (Field::ULong(found), CellValue::Whole(number)) => found == number,
                    (Field::Double(found), CellValue::Number(number)) => found == number,
                    (Field::Bool(found), CellValue::Flag(flag)) => found == flag,
                    (Field::Str(found), CellValue::Text(text)) => found == text,
                    _ => false,
                };
                assert!(is_it, "row {number}, {name}: {field:?} is not {cell:?}");
            }
            rows += 1;
        }
        assert_eq!(rows, count);
    }
}
