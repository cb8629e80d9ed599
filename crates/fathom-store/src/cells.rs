//! Cells in the store: saved the moment they exist, and read back.

use std::collections::BTreeMap;

use sqlx::any::AnyRow;
use sqlx::{AnyConnection, Row};

use crate::batch::{self, ROWS};
use crate::document::{read_recording, write_recording};
use crate::pairs::{read_list, read_pairs, write_list, write_pairs};
use crate::runs::{signed, unsigned};
use crate::{CellState, Content, RunId, Store, StoreError, StoredCell, StoredFinding};

/// The format of our own recordings; any other is another program's.
const RECORDING: &str = "fathom recording";

impl Store {
    /// Keeps a cell with what was measured in it, in place of what was kept of that cell before. When this returns, it
    /// survives a power cut.
    ///
    /// # Errors
    /// When it cannot be kept; what was kept before stands.
    pub fn save_cell(
        &mut self,
        run: RunId,
        cell: &StoredCell,
        content: &Content,
    ) -> Result<(), StoreError> {
        let kept = packed(content);
        self.change(async |connection| put(connection, run, cell, kept).await)
    }

    /// Keeps many cells at once, all of them or none.
    ///
    /// # Errors
    /// When they cannot be kept; what was kept before stands.
    pub fn save_cells(
        &mut self,
        run: RunId,
        cells: &[(StoredCell, Content)],
    ) -> Result<(), StoreError> {
        self.change(async |connection| {
            for (cell, content) in cells {
                put(connection, run, cell, packed(content)).await?;
            }
            Ok(())
        })
    }

    /// All cells of a run by their position, without what was measured in them.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn cells(&mut self, run: RunId) -> Result<Vec<StoredCell>, StoreError> {
        let (cells, figures, findings) = self.ask(async |connection| {
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
        assemble(&cells, &figures, &findings)
            .map_err(|error| crate::error::meaning(&error, &self.place.name))
    }

    /// What was measured in a cell.
    ///
    /// # Errors
    /// [`StoreError::Unreadable`] when a recording there is damaged.
    pub fn content(&mut self, run: RunId, position: u64) -> Result<Content, StoreError> {
        let row = self.ask(async |connection| {
            let select = "SELECT format, body FROM content WHERE run = $1 AND position = $2";
            sqlx::query_as::<_, (String, Vec<u8>)>(select)
                .bind(signed(run.get()))
                .bind(signed(position))
                .fetch_optional(connection)
                .await
        })?;
        match row {
            None => Ok(Content::Nothing),
            Some((format, body)) if format == RECORDING => match read_recording(&body) {
                Ok(recording) => Ok(Content::Recording(Box::new(recording))),
                Err(why) => Err(StoreError::Unreadable {
                    name: format!("{run}.{position}"),
                    why,
                }),
            },
            Some((format, bytes)) => Ok(Content::Imported { format, bytes }),
        }
    }
}

const SELECT_CELLS: &str = "SELECT position, axes, plan, state, started_ns, elapsed_ns, verdict, notes FROM cell WHERE run = $1 ORDER BY position";
const SELECT_FIGURES: &str =
    "SELECT position, name, value FROM figure WHERE run = $1 ORDER BY position, place";
const SELECT_FINDINGS: &str = "SELECT position, code, weight, about, evidence FROM finding WHERE run = $1 ORDER BY position, place";

/// Format and bytes of what was measured.
fn packed(content: &Content) -> Option<(String, Vec<u8>)> {
    match content {
        Content::Nothing => None,
        Content::Recording(recording) => Some((RECORDING.to_owned(), write_recording(recording))),
        Content::Imported { format, bytes } => Some((format.clone(), bytes.clone())),
    }
}

async fn put(
    connection: &mut AnyConnection,
    run: RunId,
    cell: &StoredCell,
    kept: Option<(String, Vec<u8>)>,
) -> sqlx::Result<()> {
    let (number, position) = (signed(run.get()), signed(cell.position));
    sqlx::query("DELETE FROM cell WHERE run = $1 AND position = $2")
        .bind(number)
        .bind(position)
        .execute(&mut *connection)
        .await?;
    put_cell(connection, run, cell).await?;
    put_figures(connection, run, cell).await?;
    put_findings(connection, run, cell).await?;
    let Some((format, body)) = kept else {
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

async fn put_cell(
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
    .bind(cell.state.word())
    .bind(signed(cell.started_unix_ns))
    .bind(signed(cell.elapsed_ns))
    .bind(cell.verdict.clone())
    .bind(write_list(&cell.notes))
    .execute(connection)
    .await?;
    Ok(())
}

async fn put_figures(
    connection: &mut AnyConnection,
    run: RunId,
    cell: &StoredCell,
) -> sqlx::Result<()> {
    for (chunk, figures) in cell.figures.chunks(ROWS).enumerate() {
        let mut query = sqlx::query(batch::insert(
            "figure (run, position, place, name, value)",
            5,
            figures.len(),
        ));
        for (place, (name, value)) in figures.iter().enumerate() {
            let place = (chunk * ROWS + place) as i64;
            query = query
                .bind(signed(run.get()))
                .bind(signed(cell.position))
                .bind(place)
                .bind(name.clone())
                .bind(Some(*value).filter(|value| !value.is_nan()));
        }
        query.execute(&mut *connection).await?;
    }
    Ok(())
}

async fn put_findings(
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
        for (place, found) in findings.iter().enumerate() {
            let place = (chunk * ROWS + place) as i64;
            query = query
                .bind(signed(run.get()))
                .bind(signed(cell.position))
                .bind(place);
            query = query
                .bind(found.code.clone())
                .bind(found.weight.clone())
                .bind(found.about.clone())
                .bind(found.evidence.clone());
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
            let found = StoredFinding {
                code: row.try_get(1)?,
                weight: row.try_get(2)?,
                about: row.try_get(3)?,
                evidence: row.try_get(4)?,
            };
            cell.findings.push(found);
        }
    }
    Ok(by_position.into_values().collect())
}

fn read_cell(row: &AnyRow) -> sqlx::Result<StoredCell> {
    let word: String = row.try_get("state")?;
    Ok(StoredCell {
        position: unsigned(row.try_get("position")?),
        axes: read_pairs(row.try_get("axes")?),
        plan: row.try_get("plan")?,
        state: CellState::parse(&word).unwrap_or(CellState::Failed),
        started_unix_ns: unsigned(row.try_get("started_ns")?),
        elapsed_ns: unsigned(row.try_get("elapsed_ns")?),
        verdict: row.try_get("verdict")?,
        figures: Vec::new(),
        findings: Vec::new(),
        notes: read_list(row.try_get("notes")?),
    })
}
