//! Saves cells the moment they exist, and reads them back.

use std::collections::BTreeMap;

use sqlx::any::AnyRow;
use sqlx::{AnyConnection, Row};

use crate::batch::{self, ROWS};
use crate::document::{read_recording, write_recording};
use crate::json_columns::{read_list, read_pairs, write_list, write_pairs};
use crate::runs::{signed, unsigned};
use crate::{CellContent, CellState, RunId, Store, StoreError, StoredCell, StoredFinding};

/// The format of our own recordings; any other is an imported result.
const RECORDING: &str = "fathom recording";

impl Store {
    /// Saves a cell with its content and replaces an earlier version of that cell. When this returns, the cell survives a
    /// power cut.
    ///
    /// # Errors
    /// When it cannot be saved; an earlier version is unchanged.
    pub fn save_cell(
        &mut self,
        run: RunId,
        cell: &StoredCell,
        content: &CellContent,
    ) -> Result<(), StoreError> {
        let mut body = encode(content);
        let is_file = self.location.file.is_some();
        self.change(async |connection| {
            // Only a server may need it a second time.
            let body = if is_file { body.take() } else { body.clone() };
            replace_cell(connection, run, cell, body).await
        })
    }

    /// Saves many cells at once, all of them or none. It is not repeated when a server ends the connection.
    ///
    /// # Errors
    /// When they cannot be saved; earlier versions are unchanged.
    pub fn save_cells(
        &mut self,
        run: RunId,
        cells: impl IntoIterator<Item = (StoredCell, CellContent)>,
    ) -> Result<(), StoreError> {
        self.change_once(async |connection| {
            for (cell, content) in cells {
                replace_cell(connection, run, &cell, into_body(content)).await?;
            }
            Ok(())
        })
    }

    /// All cells of a run by their position, without their content.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn cells(&mut self, run: RunId) -> Result<Vec<StoredCell>, StoreError> {
        let (cells, figures, findings) = self.read(async |connection| {
            let cells = sqlx::query(SELECT_CELLS)
                .bind(signed(run.get()))
                .fetch_all(&mut *connection)
                .await?;
            let figures = sqlx::query(SELECT_FIGURES)
                .bind(signed(run.get()))
                .fetch_all(&mut *connection)
                .await?;
            let findings = sqlx::query(SELECT_FINDINGS)
                .bind(signed(run.get()))
                .fetch_all(&mut *connection)
                .await?;
            Ok((cells, figures, findings))
        })?;
        assemble(&cells, &figures, &findings).map_err(|error| self.error(error))
    }

    /// The content of a cell: its recording, or the imported result.
    ///
    /// # Errors
    /// [`StoreError::Recording`] when the recording is damaged.
    pub fn content(&mut self, run: RunId, position: u64) -> Result<CellContent, StoreError> {
        let row = self.query(async |connection| {
            let select = "SELECT format, body FROM content WHERE run = $1 AND position = $2";
            sqlx::query_as::<_, (String, Vec<u8>)>(select)
                .bind(signed(run.get()))
                .bind(signed(position))
                .fetch_optional(connection)
                .await
        })?;
        match row {
            None => Ok(CellContent::Nothing),
            Some((format, body)) if format == RECORDING => match read_recording(&body) {
                Ok(recording) => Ok(CellContent::Recording(Box::new(recording))),
                Err(source) => Err(StoreError::Recording {
                    cell: format!("{run}.{position}"),
                    source,
                }),
            },
            Some((format, bytes)) => Ok(CellContent::Imported { format, bytes }),
        }
    }
}

const SELECT_CELLS: &str = "SELECT position, axes, plan, state, started_ns, elapsed_ns, verdict, notes FROM cell WHERE run = $1 ORDER BY position";
const SELECT_FIGURES: &str =
    "SELECT position, name, value FROM figure WHERE run = $1 ORDER BY position, place";
const SELECT_FINDINGS: &str = "SELECT position, code, weight, about, evidence FROM finding WHERE run = $1 ORDER BY position, place";

/// Format and bytes of a content.
/// Like [`encode`], without a copy of an imported result.
fn into_body(content: CellContent) -> Option<(String, Vec<u8>)> {
    match content {
        CellContent::Imported { format, bytes } => Some((format, bytes)),
        other => encode(&other),
    }
}

fn encode(content: &CellContent) -> Option<(String, Vec<u8>)> {
    match content {
        CellContent::Nothing => None,
        CellContent::Recording(recording) => {
            Some((RECORDING.to_owned(), write_recording(recording)))
        }
        CellContent::Imported { format, bytes } => Some((format.clone(), bytes.clone())),
    }
}

async fn replace_cell(
    connection: &mut AnyConnection,
    run: RunId,
    cell: &StoredCell,
    content: Option<(String, Vec<u8>)>,
) -> sqlx::Result<()> {
    let (number, position) = (signed(run.get()), signed(cell.position));
    sqlx::query("DELETE FROM cell WHERE run = $1 AND position = $2")
        .bind(number)
        .bind(position)
        .execute(&mut *connection)
        .await?;
    insert_cell(connection, run, cell).await?;
    insert_figures(connection, run, cell).await?;
    insert_findings(connection, run, cell).await?;
    let Some((format, body)) = content else {
        return Ok(());
    };
    let insert = "INSERT INTO content (run, position, format, body) VALUES ($1, $2, $3, $4)";
    sqlx::query(insert)
        .bind(number)
        .bind(position)
        .bind(format)
        .bind(body)
        .execute(connection)
        .await?;
    Ok(())
}

async fn insert_cell(
    connection: &mut AnyConnection,
    run: RunId,
    cell: &StoredCell,
) -> sqlx::Result<()> {
    sqlx::query(
        "INSERT INTO cell (run, position, axes, plan, state, started_ns, elapsed_ns, verdict, notes)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
    )
    .bind(signed(run.get()))
    .bind(signed(cell.position))
    .bind(write_pairs(&cell.axes))
    .bind(cell.plan.clone())
    .bind(cell.state.name())
    .bind(signed(cell.started_unix_ns))
    .bind(signed(cell.elapsed_ns))
    .bind(cell.verdict.clone())
    .bind(write_list(&cell.notes))
    .execute(connection)
    .await?;
    Ok(())
}

async fn insert_figures(
    connection: &mut AnyConnection,
    run: RunId,
    cell: &StoredCell,
) -> sqlx::Result<()> {
    for (chunk, figures) in cell.figures.chunks(ROWS).enumerate() {
        let mut query = sqlx::query(batch::insert(
            "figure (run, position, place, name, value)",
            5,
            figures.len(),
        ))
        // The driver sends no value as another type than a number, and a kept statement would have that type from then on.
        .persistent(figures.iter().all(|(_, value)| !value.is_nan()));
        for (index, (name, value)) in figures.iter().enumerate() {
            let index = (chunk * ROWS + index) as i64;
            query = query
                .bind(signed(run.get()))
                .bind(signed(cell.position))
                .bind(index)
                .bind(name.clone())
                .bind(Some(*value).filter(|value| !value.is_nan()));
        }
        query.execute(&mut *connection).await?;
    }
    Ok(())
}

async fn insert_findings(
    connection: &mut AnyConnection,
    run: RunId,
    cell: &StoredCell,
) -> sqlx::Result<()> {
    for (chunk, findings) in cell.findings.chunks(ROWS).enumerate() {
        let mut query = sqlx::query(batch::insert(
            "finding (run, position, place, code, weight, about, evidence)",
            7,
            findings.len(),
        ));
        for (index, finding) in findings.iter().enumerate() {
            let index = (chunk * ROWS + index) as i64;
            query = query
                .bind(signed(run.get()))
                .bind(signed(cell.position))
                .bind(index);
            query = query
                .bind(finding.code.clone())
                .bind(finding.weight.clone())
                .bind(finding.about.clone())
                .bind(finding.evidence.clone());
        }
        query.execute(&mut *connection).await?;
    }
    Ok(())
}

fn assemble(
    cells: &[AnyRow],
    figures: &[AnyRow],
    findings: &[AnyRow],
) -> sqlx::Result<Vec<StoredCell>> {
    let mut by_position = BTreeMap::new();
    for row in cells {
        let cell = read_cell(row)?;
        by_position.insert(cell.position, cell);
    }
    for row in figures {
        if let Some(cell) = by_position.get_mut(&unsigned(row.try_get(0)?)) {
            cell.figures.push((
                row.try_get(1)?,
                row.try_get::<Option<f64>, _>(2)?.unwrap_or(f64::NAN),
            ));
        }
    }
    for row in findings {
        if let Some(cell) = by_position.get_mut(&unsigned(row.try_get(0)?)) {
            let finding = StoredFinding {
                code: row.try_get(1)?,
                weight: row.try_get(2)?,
                about: row.try_get(3)?,
                evidence: row.try_get(4)?,
            };
            cell.findings.push(finding);
        }
    }
    Ok(by_position.into_values().collect())
}

fn read_cell(row: &AnyRow) -> sqlx::Result<StoredCell> {
    let state: String = row.try_get("state")?;
    Ok(StoredCell {
        position: unsigned(row.try_get("position")?),
        axes: read_pairs(row.try_get("axes")?),
        plan: row.try_get("plan")?,
        state: CellState::parse(&state).unwrap_or(CellState::Failed),
        started_unix_ns: unsigned(row.try_get("started_ns")?),
        elapsed_ns: unsigned(row.try_get("elapsed_ns")?),
        verdict: row.try_get("verdict")?,
        figures: Vec::new(),
        findings: Vec::new(),
        notes: read_list(row.try_get("notes")?),
    })
}
