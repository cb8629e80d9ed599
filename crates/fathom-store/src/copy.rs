//! Copies a store to another one, row by row, from a file to a server and back.

use sqlx::any::AnyRow;
use sqlx::{AnyConnection, AssertSqlSafe, Row};

use crate::runs::unsigned;
use crate::{Copied, Store, StoreError, batch};

/// Rows with byte strings, which may have megabytes each, in one statement.
const LARGE_ROWS: usize = 8;
/// Rows of the other tables.
const ROWS: usize = 1000;

/// The type of a column.
#[derive(Clone, Copy, PartialEq)]
enum Column {
    Number,
    Text,
    Bytes,
    /// May be absent.
    OptionalNumber,
    /// May be absent.
    Float,
}

use Column::{Bytes, Float, Number, OptionalNumber, Text};

/// A table with its columns in their order; the first `key` of them are its primary key, and the first is the number of the run.
struct Table {
    name: &'static str,
    key: usize,
    columns: &'static [(&'static str, Column)],
}

/// Every table but `fathom`, in an order in which rows exist before others refer to them.
const TABLES: &[Table] = &[
    Table {
        name: "run",
        key: 1,
        columns: &[
            ("number", Number),
            ("kind", Text),
            ("name", Text),
            ("command", Text),
            ("plan", Text),
            ("facts", Text),
            ("planned", Number),
            ("owner", Text),
            ("state", Text),
            ("created_ns", Number),
            ("ended_ns", OptionalNumber),
        ],
    },
    Table {
        name: "label",
        key: 2,
        columns: &[("run", Number), ("name", Text), ("value", Text)],
    },
    Table {
        name: "cell",
        key: 2,
        columns: &[
            ("run", Number),
            ("position", Number),
            ("axes", Text),
            ("plan", Text),
            ("state", Text),
            ("started_ns", Number),
            ("elapsed_ns", Number),
            ("verdict", Text),
            ("notes", Text),
        ],
    },
    Table {
        name: "figure",
        key: 3,
        columns: &[
            ("run", Number),
            ("position", Number),
            ("place", Number),
            ("name", Text),
            ("value", Float),
        ],
    },
    Table {
        name: "finding",
        key: 3,
        columns: &[
            ("run", Number),
            ("position", Number),
            ("place", Number),
            ("code", Text),
            ("weight", Text),
            ("about", Text),
            ("evidence", Text),
        ],
    },
    Table {
        name: "content",
        key: 2,
        columns: &[
            ("run", Number),
            ("position", Number),
            ("format", Text),
            ("body", Bytes),
        ],
    },
    Table {
        name: "part",
        key: 3,
        columns: &[
            ("run", Number),
            ("position", Number),
            ("place", Number),
            ("job", Number),
            ("body", Bytes),
        ],
    },
];

/// A value of a row.
#[derive(Clone, Debug)]
enum Cell {
    Number(i64),
    OptionalNumber(Option<i64>),
    Float(Option<f64>),
    Text(String),
    Bytes(Vec<u8>),
}

impl Table {
    fn list(&self, columns: usize) -> String {
        let names: Vec<&str> = self.columns[..columns]
            .iter()
            .map(|(name, _)| *name)
            .collect();
        names.join(", ")
    }

    /// Rows in one statement.
    fn rows(&self) -> usize {
        let has_bytes = self.columns.iter().any(|(_, column)| *column == Bytes);
        if has_bytes { LARGE_ROWS } else { ROWS }
    }

    /// Smaller than every key.
    fn first_key(&self) -> Vec<Cell> {
        let key = self.columns[..self.key].iter();
        key.map(|(_, column)| match column {
            Text => Cell::Text(String::new()),
            _ => Cell::Number(i64::MIN),
        })
        .collect()
    }

    /// The rows with the next larger keys.
    fn select(&self) -> String {
        let places: Vec<String> = (1..=self.key).map(|place| format!("${place}")).collect();
        format!(
            "SELECT {} FROM {} WHERE ({}) > ({}) ORDER BY {} LIMIT {}",
            self.list(self.columns.len()),
            self.name,
            self.list(self.key),
            places.join(", "),
            self.list(self.key),
            self.rows()
        )
    }

    fn read(&self, row: &AnyRow) -> sqlx::Result<Vec<Cell>> {
        let columns = self.columns.iter().enumerate();
        columns
            .map(|(at, (_, column))| {
                Ok(match column {
                    Number => Cell::Number(row.try_get(at)?),
                    OptionalNumber => Cell::OptionalNumber(row.try_get(at)?),
                    Float => Cell::Float(row.try_get(at)?),
                    Text => Cell::Text(row.try_get(at)?),
                    Bytes => Cell::Bytes(row.try_get(at)?),
                })
            })
            .collect()
    }

    async fn insert(&self, connection: &mut AnyConnection, rows: &[Vec<Cell>]) -> sqlx::Result<()> {
        let into = format!("{} ({})", self.name, self.list(self.columns.len()));
        // See `insert_figures`.
        let absent = rows
            .iter()
            .flatten()
            .any(|cell| matches!(cell, Cell::Float(None)));
        let statement = batch::insert(&into, self.columns.len(), rows.len());
        let mut query = sqlx::query(statement).persistent(!absent);
        for cell in rows.iter().flatten() {
            query = match cell {
                Cell::Number(number) => query.bind(*number),
                Cell::OptionalNumber(number) => query.bind(*number),
                Cell::Float(number) => query.bind(*number),
                Cell::Text(text) => query.bind(text.as_str()),
                Cell::Bytes(bytes) => query.bind(bytes.as_slice()),
            };
        }
        query.execute(connection).await.map(drop)
    }
}

impl Store {
    /// Copies all runs with everything that belongs to them into `target`: all of them or none. A target without runs becomes an
    /// exact copy. With `append`, runs are added to what is there, with new numbers after its own.
    ///
    /// # Errors
    /// [`StoreError::NotEmpty`] without `append` when the target has runs; when a store cannot be read or written.
    pub fn copy_to(&mut self, target: &mut Store, append: bool) -> Result<Copied, StoreError> {
        let copied = self.copy_tables(target, append);
        // The transactions end with their connections, so that a failed copy leaves the target as it was.
        self.close();
        target.close();
        copied
    }

    fn copy_tables(&mut self, target: &mut Store, append: bool) -> Result<Copied, StoreError> {
        self.execute(self.snapshot())?;
        let next: i64 = self.query_row("SELECT next_run FROM fathom")?;
        target.execute(target.begin_change())?;
        // Writes, so that no other writer begins a run meanwhile.
        let own: i64 =
            target.query_row("UPDATE fathom SET next_run = next_run RETURNING next_run")?;
        let runs: i64 = target.query_row("SELECT COUNT(*) FROM run")?;
        let shift = match (runs, append) {
            (0, _) => 0,
            (_, true) => own - 1,
            (_, false) => {
                return Err(StoreError::NotEmpty {
                    store: target.location.name.clone(),
                });
            }
        };
        let mut copied = Copied {
            renumbered_by: unsigned(shift),
            ..Copied::default()
        };
        for table in TABLES {
            if table.name == "label" && !self.has_labels {
                continue;
            }
            let rows = self.copy_table(target, table, shift)?;
            copied.rows += rows;
            if table.name == "run" {
                copied.runs = rows;
            }
        }
        let next = own.max(next + shift);
        target.execute(&format!("UPDATE fathom SET next_run = {next}"))?;
        target.execute("COMMIT")?;
        // A server learns of new rows after a minute at the earliest, and until then makes plans for empty tables. A role that does
        // not own the tables gets a warning.
        if !target.is_sqlite() {
            for table in TABLES {
                target.execute(&format!("ANALYZE {}", table.name))?;
            }
        }
        Ok(copied)
    }

    fn copy_table(
        &mut self,
        target: &mut Store,
        table: &'static Table,
        shift: i64,
    ) -> Result<u64, StoreError> {
        let select = table.select();
        let mut key = table.first_key();
        let mut copied = 0;
        loop {
            let mut rows = self.query_only_once(async |connection| {
                let mut query = sqlx::query(AssertSqlSafe(select.as_str()));
                for cell in &key {
                    query = match cell {
                        Cell::Number(number) => query.bind(*number),
                        Cell::Text(text) => query.bind(text.clone()),
                        // No key has such a column.
                        _ => query,
                    };
                }
                let rows = query.fetch_all(connection).await?;
                rows.iter()
                    .map(|row| table.read(row))
                    .collect::<sqlx::Result<Vec<_>>>()
            })?;
            let (count, Some(last)) = (rows.len(), rows.last()) else {
                return Ok(copied);
            };
            key = last[..table.key].to_vec();
            for row in &mut rows {
                if let Some(Cell::Number(run)) = row.first_mut() {
                    *run += shift;
                }
            }
            // A server finds parameters by their number, and more of them at once save it time.
            let at_once = if target.is_sqlite() {
                batch::ROWS
            } else {
                ROWS
            };
            target.query_only_once(async |connection| {
                for rows in rows.chunks(at_once) {
                    table.insert(connection, rows).await?;
                }
                Ok(())
            })?;
            copied += count as u64;
            if count < table.rows() {
                return Ok(copied);
            }
        }
    }

    fn execute(&mut self, statement: &str) -> Result<(), StoreError> {
        self.query_only_once(async |connection| {
            sqlx::raw_sql(AssertSqlSafe(statement))
                .execute(connection)
                .await
                .map(drop)
        })
    }

    fn query_row(&mut self, statement: &'static str) -> Result<i64, StoreError> {
        self.query_only_once(async |connection| {
            sqlx::query_scalar(statement).fetch_one(connection).await
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Regression 1302: a bulk copy into a file took 1.4 ms for each run, most of it for the names of parameters: SQLite finds the name of
    /// one by looking at all before it (`sqlite3VListNumToName`), so that a statement of 11,000 values takes 60 million steps.
    #[test]
    fn statements_of_a_copy_have_few_parameters() {
        for table in TABLES {
            let rows = table.rows().min(batch::ROWS);
            assert!(rows * table.columns.len() <= 1000, "{}", table.name);
        }
    }

    /// A column or a table that a later version adds must be copied, too.
    #[test]
    fn every_table_and_column_is_listed() {
        let mut expected = Vec::new();
        for step in crate::schema::STEPS {
            for table in step.split("CREATE TABLE ").skip(1) {
                let (name, rest) = table.split_once(' ').expect("a name");
                let body = rest.split_once(";").map_or(rest, |(body, _)| body);
                for line in body.lines().skip(1) {
                    let word = line.split_whitespace().next().unwrap_or(")");
                    if ![")", "PRIMARY", "FOREIGN"].contains(&word) {
                        expected.push(format!("{name}.{word}"));
                    }
                }
            }
            assert!(!step.contains("ALTER"), "this test reads only new tables");
        }
        let listed: Vec<String> = TABLES
            .iter()
            .flat_map(|table| {
                table
                    .columns
                    .iter()
                    .map(move |(column, _)| format!("{}.{column}", table.name))
            })
            .collect();
        expected.sort();
        let mut sorted = listed.clone();
        sorted.sort();
        assert_eq!(sorted, expected);
        assert_eq!(listed.len(), 11 + 3 + 9 + 5 + 7 + 4 + 5);
    }
}
