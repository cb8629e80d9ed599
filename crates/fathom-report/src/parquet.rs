//! Stored cells as Apache Parquet: one row group, one page for each column, values as they are, without compression. Every
//! reader supports this form.
//!
//! Sources: the format (<https://parquet.apache.org/docs/file-format/>), its metadata
//! (<https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift>) and their encoding
//! (<https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md>). The tests read the documents with
//! the reader of the Apache project.

use std::fmt::{self, Display};

use fathom_model::{Run, StoredCell};

use crate::table::{Column, Values, columns};
use crate::thrift::Struct;

/// The first and the last bytes of a document.
const MAGIC: &[u8; 4] = b"PAR1";
/// Version of the metadata.
const VERSION: i32 = 1;

// Numbers of the enumerations of the metadata.
const INT64: i32 = 2;
const DOUBLE: i32 = 5;
const BYTE_ARRAY: i32 = 6;
const REQUIRED: i32 = 0;
const OPTIONAL: i32 = 1;
const UTF8: i32 = 0;
const PLAIN: i32 = 0;
const RLE: i32 = 3;
const UNCOMPRESSED: i32 = 0;
const DATA_PAGE: i32 = 0;

/// A column has more bytes than a Parquet page can have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CellsParquetError {
    /// The column.
    pub column: String,
}

impl Display for CellsParquetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "cannot write the cells as Parquet: the column {} is larger than 2 GiB; use csv or json",
            self.column
        )
    }
}

impl std::error::Error for CellsParquetError {}

/// A column in the document.
struct Chunk {
    offset: usize,
    bytes: usize,
}

/// Runs with their cells as a Parquet document: a row for each cell, a column for each axis (text) and figure (double,
/// in base units: 1/s, B/s, s) that any of them has, null if a cell lacks it. Wall clock and duration are nanoseconds.
///
/// # Errors
/// When a column is larger than a page can be.
pub fn cells_parquet(runs: &[(Run, Vec<StoredCell>)]) -> Result<Vec<u8>, CellsParquetError> {
    let columns = columns(runs);
    let rows = runs.iter().map(|(_, cells)| cells.len()).sum();
    let mut document = MAGIC.to_vec();
    let mut chunks = Vec::with_capacity(columns.len());
    for column in &columns {
        let offset = document.len();
        let values = page(&column.values);
        let header = page_header(values.len(), rows).ok_or_else(|| CellsParquetError {
            column: column.name.clone(),
        })?;
        document.extend(header);
        document.extend(values);
        chunks.push(Chunk {
            offset,
            bytes: document.len() - offset,
        });
    }
    let metadata = file_metadata(&columns, &chunks, rows);
    let length = metadata.len() as u32;
    document.extend(metadata);
    document.extend(length.to_le_bytes());
    document.extend(MAGIC);
    Ok(document)
}

/// Type and repetition of a column.
fn kind(values: &Values) -> (i32, i32) {
    match values {
        Values::Texts(_) => (BYTE_ARRAY, OPTIONAL),
        Values::Counts(_) => (INT64, REQUIRED),
        Values::Figures(_) => (DOUBLE, OPTIONAL),
    }
}

/// The content of a page: which rows have a value, then the values.
fn page(values: &Values) -> Vec<u8> {
    match values {
        Values::Texts(texts) => optional(texts, |text, bytes| {
            bytes.extend((text.len() as u32).to_le_bytes());
            bytes.extend(text.as_bytes());
        }),
        Values::Figures(figures) => {
            optional(figures, |figure, bytes| bytes.extend(figure.to_le_bytes()))
        }
        Values::Counts(counts) => counts
            .iter()
            .flat_map(|count| i64::try_from(*count).unwrap_or(i64::MAX).to_le_bytes())
            .collect(),
    }
}

/// The definition levels, 1 for a value and 0 for null, as runs of equal levels with their length before them; then the
/// present values.
fn optional<V>(values: &[Option<V>], write: impl Fn(&V, &mut Vec<u8>)) -> Vec<u8> {
    let mut levels = Vec::new();
    for run in values.chunk_by(|one, next| one.is_some() == next.is_some()) {
        crate::thrift::varint(&mut levels, (run.len() as u64) << 1);
        levels.push(u8::from(run[0].is_some()));
    }
    let mut page = (levels.len() as u32).to_le_bytes().to_vec();
    page.extend(levels);
    values
        .iter()
        .flatten()
        .for_each(|value| write(value, &mut page));
    page
}

/// `PageHeader` of a data page, or `None` if it is too large.
fn page_header(bytes: usize, rows: usize) -> Option<Vec<u8>> {
    let size = i32::try_from(bytes).ok()?;
    let mut data = Struct::default();
    data.i32(1, i32::try_from(rows).ok()?);
    data.i32(2, PLAIN);
    data.i32(3, RLE);
    data.i32(4, RLE);
    let mut header = Struct::default();
    header.i32(1, DATA_PAGE);
    header.i32(2, size);
    header.i32(3, size);
    header.nested(5, data);
    Some(header.finish())
}

/// `FileMetaData`: the schema, and where each column is.
fn file_metadata(columns: &[Column], chunks: &[Chunk], rows: usize) -> Vec<u8> {
    let mut root = Struct::default();
    root.text(4, "cells");
    root.i32(5, columns.len() as i32);
    let schema = std::iter::once(root).chain(columns.iter().map(schema_element));
    let mut file = Struct::default();
    file.i32(1, VERSION);
    file.structs(2, schema.collect());
    file.i64(3, rows as i64);
    let groups = if rows == 0 {
        Vec::new()
    } else {
        vec![row_group(columns, chunks, rows)]
    };
    file.structs(4, groups);
    file.text(6, concat!("fathom version ", env!("CARGO_PKG_VERSION")));
    file.finish()
}

fn schema_element(column: &Column) -> Struct {
    let (physical, repetition) = kind(&column.values);
    let mut element = Struct::default();
    element.i32(1, physical);
    element.i32(3, repetition);
    element.text(4, &column.name);
    if physical == BYTE_ARRAY {
        element.i32(6, UTF8);
        // The logical type is a union whose first member, an empty structure, means a string.
        let mut logical = Struct::default();
        logical.nested(1, Struct::default());
        element.nested(10, logical);
    }
    element
}

fn row_group(columns: &[Column], chunks: &[Chunk], rows: usize) -> Struct {
    let column_chunk = |(column, chunk): (&Column, &Chunk)| {
        let mut metadata = Struct::default();
        metadata.i32(1, kind(&column.values).0);
        metadata.i32s(2, &[PLAIN, RLE]);
        metadata.texts(3, &[&column.name]);
        metadata.i32(4, UNCOMPRESSED);
        metadata.i64(5, rows as i64);
        metadata.i64(6, chunk.bytes as i64);
        metadata.i64(7, chunk.bytes as i64);
        metadata.i64(9, chunk.offset as i64);
        let mut whole = Struct::default();
        whole.i64(2, chunk.offset as i64);
        whole.nested(3, metadata);
        whole
    };
    let mut group = Struct::default();
    group.structs(1, columns.iter().zip(chunks).map(column_chunk).collect());
    group.i64(2, chunks.iter().map(|chunk| chunk.bytes as i64).sum());
    group.i64(3, rows as i64);
    group
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
