//! The tables, version by version. A released version is never edited: changes are a new step after it.

use sqlx::{AnyConnection, AssertSqlSafe};

use crate::json_columns::read_pairs;
use crate::labels::insert_labels;

/// The newest schema version that is supported.
pub const VERSION: i64 = STEPS.len() as i64;

/// Each step upgrades a store from the version before. `BYTES` stands for the database's type of byte strings.
pub(crate) const STEPS: [&str; 2] = [include_str!("schema/1.sql"), include_str!("schema/2.sql")];

/// On a server only: a row for the last change of each writer (`CommitMark`). It is not a part of the content of a store.
const COMMIT_MARK: &str = "CREATE TABLE IF NOT EXISTS commit_mark (mark TEXT PRIMARY KEY, made TIMESTAMPTZ NOT NULL DEFAULT now())";

/// What a database contains.
pub(crate) enum SchemaState {
    /// No tables.
    Empty,
    /// A store of this version.
    Version(i64),
    /// Tables of another program.
    Foreign,
}

/// Detects the schema of a database.
pub(crate) async fn detect(
    connection: &mut AnyConnection,
    sqlite: bool,
) -> sqlx::Result<SchemaState> {
    let tables: Vec<String> = sqlx::query_scalar(if sqlite {
        "SELECT name FROM sqlite_master WHERE type = 'table'"
    } else {
        // Unlike information_schema, with the tables that this role may not use.
        "SELECT CAST(tablename AS TEXT) FROM pg_catalog.pg_tables WHERE schemaname = current_schema()"
    })
    .fetch_all(&mut *connection)
    .await?;
    if tables.is_empty() {
        return Ok(SchemaState::Empty);
    }
    if !tables.iter().any(|name| name == "fathom") {
        return Ok(SchemaState::Foreign);
    }
    sqlx::query_scalar("SELECT version FROM fathom")
        .fetch_one(connection)
        .await
        .map(SchemaState::Version)
}

/// Upgrades a store from version `from` (0 is empty) to the newest, inside the transaction of `connection`.
pub(crate) async fn upgrade(
    connection: &mut AnyConnection,
    from: i64,
    sqlite: bool,
) -> sqlx::Result<()> {
    for step in &STEPS[from.clamp(0, VERSION) as usize..] {
        let step = step.replace("BYTES", if sqlite { "BLOB" } else { "BYTEA" });
        for statement in step
            .split(';')
            .map(str::trim)
            .filter(|statement| !statement.is_empty())
        {
            sqlx::query(AssertSqlSafe(statement.to_owned()))
                .execute(&mut *connection)
                .await?;
        }
    }
    if !sqlite {
        sqlx::query(COMMIT_MARK).execute(&mut *connection).await?;
    }
    if from == 1 {
        label_old_runs(connection).await?;
    }
    sqlx::query("UPDATE fathom SET version = $1")
        .bind(VERSION)
        .execute(connection)
        .await?;
    Ok(())
}

/// Runs of version 1 get the labels that their facts contain.
async fn label_old_runs(connection: &mut AnyConnection) -> sqlx::Result<()> {
    let runs: Vec<(i64, String)> = sqlx::query_as("SELECT number, facts FROM run")
        .fetch_all(&mut *connection)
        .await?;
    for (number, facts) in runs {
        let mut labels = read_pairs(&facts);
        labels.retain(|(name, _)| ["host", "kernel"].contains(&name.as_str()));
        insert_labels(connection, number, &labels).await?;
    }
    Ok(())
}
