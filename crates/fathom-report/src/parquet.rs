//! Stored cells as Apache Parquet (format 2.x, <https://parquet.apache.org/docs/file-format/>): one row group, uncompressed.

use std::fmt::{self, Display};
use std::sync::Arc;

use fathom_model::{Run, StoredCell};
use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::{Type, TypePtr};

use crate::table::{Column, Values, columns};

/// The Parquet writer rejected the cells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CellsParquetError(String);

impl Display for CellsParquetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "cannot write the cells as Parquet: {}; use csv or json",
            self.0
        )
    }
}

impl std::error::Error for CellsParquetError {}

impl From<ParquetError> for CellsParquetError {
    fn from(error: ParquetError) -> CellsParquetError {
        CellsParquetError(error.to_string())
    }
}

/// Runs with their cells as a Parquet document: a row for each cell, a column for each axis (text) and figure (double,
/// in base units: 1/s, B/s, s) that any of them has, null if a cell lacks it. Wall clock and duration are nanoseconds.
///
/// # Errors
/// If the Parquet writer fails.
pub fn cells_parquet(runs: &[(Run, Vec<StoredCell>)]) -> Result<Vec<u8>, CellsParquetError> {
    let columns = columns(runs);
    let fields = columns
        .iter()
        .map(field)
        .collect::<Result<Vec<TypePtr>, ParquetError>>()?;
    let schema = Type::group_type_builder("cells")
        .with_fields(fields)
        .build()?;
    let properties = WriterProperties::builder()
        .set_created_by("fathom".to_owned())
        .build();
    let mut writer = SerializedFileWriter::new(Vec::new(), Arc::new(schema), Arc::new(properties))?;
    let mut group = writer.next_row_group()?;
    for column in &columns {
        let Some(mut out) = group.next_column()? else {
            break;
        };
        write(&column.values, &mut out)?;
        out.close()?;
    }
    group.close()?;
    Ok(writer.into_inner()?)
}

fn field(column: &Column) -> Result<TypePtr, ParquetError> {
    let (physical, logical, repetition) = match column.values {
        Values::Texts(_) => (
            Physical::BYTE_ARRAY,
            Some(LogicalType::String),
            Repetition::OPTIONAL,
        ),
        Values::Counts(_) => (Physical::INT64, None, Repetition::REQUIRED),
        Values::Figures(_) => (Physical::DOUBLE, None, Repetition::OPTIONAL),
    };
    let field = Type::primitive_type_builder(&column.name, physical)
        .with_logical_type(logical)
        .with_repetition(repetition);
    field.build().map(Arc::new)
}

fn write(values: &Values, out: &mut SerializedColumnWriter<'_>) -> Result<(), ParquetError> {
    match values {
        Values::Texts(texts) => {
            optional::<ByteArrayType, _>(texts, |text| ByteArray::from(text.as_str()), out)
        }
        Values::Figures(figures) => optional::<DoubleType, _>(figures, |figure| *figure, out),
        Values::Counts(counts) => {
            let counts: Vec<i64> = counts
                .iter()
                .map(|count| i64::try_from(*count).unwrap_or(i64::MAX))
                .collect();
            out.typed::<Int64Type>()
                .write_batch(&counts, None, None)
                .map(drop)
        }
    }
}

/// The present values, and for each row whether it has one.
fn optional<T: DataType, V>(
    values: &[Option<V>],
    to: impl Fn(&V) -> T::T,
    out: &mut SerializedColumnWriter<'_>,
) -> Result<(), ParquetError> {
    let levels: Vec<i16> = values
        .iter()
        .map(|value| i16::from(value.is_some()))
        .collect();
    let present: Vec<T::T> = values.iter().flatten().map(to).collect();
    out.typed::<T>()
        .write_batch(&present, Some(&levels), None)
        .map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_model::{Experiment, RunId, RunState, StoredFinding};
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::Field;

    fn run() -> Run {
        let experiment = Experiment {
            kind: "sweep".into(),
            name: "größe,\"x\"".into(),
            ..Experiment::default()
        };
        Run {
            id: RunId::new(12),
            experiment,
            state: RunState::Finished,
            ended_unix_ns: None,
            cells: 2,
            finished: 2,
        }
    }

    fn cells() -> Vec<StoredCell> {
        let found = StoredFinding {
            code: "A".into(),
            weight: "note".into(),
            about: String::new(),
            evidence: "b".into(),
        };
        let first = StoredCell {
            position: 1,
            axes: vec![("iodepth".into(), "32".into())],
            started_unix_ns: 1_795_229_273_000_000_001,
            figures: vec![
                ("read iops".into(), 9_500.4),
                ("read p99".into(), 0.000_336),
            ],
            findings: vec![found.clone(), found],
            ..StoredCell::default()
        };
        let second = StoredCell {
            position: 2,
            figures: vec![("write iops".into(), 0.1 + 0.2)],
            ..StoredCell::default()
        };
        vec![first, second]
    }

    /// All values are read back as they were written, including nulls.
    #[test]
    fn cells_are_read_back_from_parquet() {
        let document = cells_parquet(&[(run(), cells())]).expect("a document");
        assert!(
            document.starts_with(b"PAR1") && document.ends_with(b"PAR1"),
            "the magic of the format"
        );
        let reader = SerializedFileReader::new(bytes::Bytes::from(document)).expect("Parquet");
        let rows: Vec<Vec<(String, Field)>> = reader
            .get_row_iter(None)
            .expect("rows")
            .map(|row| row.expect("a row").into_columns())
            .collect();
        let at = |row: usize, name: &str| {
            rows[row]
                .iter()
                .find(|(known, _)| known == name)
                .map(|(_, field)| field.clone())
                .expect("a column")
        };
        assert_eq!(rows.len(), 2);
        assert_eq!(at(0, "name"), Field::Str("größe,\"x\"".into()));
        assert_eq!(
            at(0, "started_unix_ns"),
            Field::Long(1_795_229_273_000_000_001)
        );
        assert_eq!(
            (at(0, "iodepth"), at(1, "iodepth")),
            (Field::Str("32".into()), Field::Null)
        );
        assert_eq!(
            (at(0, "read iops"), at(1, "read iops")),
            (Field::Double(9_500.4), Field::Null)
        );
        assert_eq!(
            (at(0, "write iops"), at(1, "write iops")),
            (Field::Null, Field::Double(0.1 + 0.2))
        );
        assert_eq!(at(0, "findings"), Field::Str("A A".into()));
    }

    #[test]
    fn a_document_may_have_no_cells() {
        let document = cells_parquet(&[]).expect("a document");
        let reader = SerializedFileReader::new(bytes::Bytes::from(document)).expect("Parquet");
        assert_eq!(reader.metadata().file_metadata().num_rows(), 0);
    }
}
