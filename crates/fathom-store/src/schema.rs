//! The tables, version by version. A version that was released is never edited: what changes is a step behind it.

use sqlx::{AnyConnection, AssertSqlSafe};

/// The newest schema this version knows.
pub const VERSION: i64 = STEPS.len() as i64;

/// Each step takes a store from the version before it to its own. `BYTES` is the database's name for bytes.
const STEPS: [&str; 1] = [include_str!("schema/1.sql")];

/// What the schema of a database is.
pub(crate) enum SchemaState {
    /// There is nothing in it.
    Empty,
    /// It is a store of this version.
    Version(i64),
    /// It is something else.
    Foreign,
}

/// Asks which schema there is.
pub(crate) async fn find(
    connection: &mut AnyConnection,
    sqlite: bool,
) -> sqlx::Result<SchemaState> {
    let tables: Vec<String> = sqlx::query_scalar(if sqlite {
        "SELECT name FROM sqlite_master WHERE type = 'table'"
    } else {
        "SELECT CAST(table_name AS TEXT) FROM information_schema.tables WHERE table_schema = current_schema()"
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

/// Takes a store of version `from` (0 is an empty one) to the newest, inside the transaction of `connection`.
pub(crate) async fn raise(
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
    sqlx::query("UPDATE fathom SET version = $1")
        .bind(VERSION)
        .execute(connection)
        .await?;
    Ok(())
}
