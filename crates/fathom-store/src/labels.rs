//! Labels of runs: names with values, by which runs are found again.

use sqlx::AnyConnection;

use crate::runs::signed;
use crate::{RunId, Store, StoreError};

impl Store {
    /// Adds labels to a run. A label that the run has keeps its value: what a person wrote counts more than what was detected.
    ///
    /// # Errors
    /// When there is no such run, or the store cannot be written.
    pub fn add_labels(
        &mut self,
        run: RunId,
        labels: &[(String, String)],
    ) -> Result<(), StoreError> {
        if labels.is_empty() {
            return Ok(());
        }
        self.change(async |connection| insert_labels(connection, signed(run.get()), labels).await)
    }

    /// Sets labels of a run, all of them or none; `None` removes one.
    ///
    /// # Errors
    /// When there is no such run, or the store cannot be written.
    pub fn set_labels(
        &mut self,
        run: RunId,
        labels: &[(String, Option<String>)],
    ) -> Result<(), StoreError> {
        let number = signed(run.get());
        self.change(async |connection| {
            for (name, value) in labels {
                sqlx::query("DELETE FROM label WHERE run = $1 AND name = $2")
                    .bind(number)
                    .bind(name.clone())
                    .execute(&mut *connection)
                    .await?;
                if let Some(value) = value {
                    let new = [(name.clone(), value.clone())];
                    insert_labels(connection, number, &new).await?;
                }
            }
            Ok(())
        })
    }
}

/// Inserts the labels that a run does not have yet.
pub(crate) async fn insert_labels(
    connection: &mut AnyConnection,
    run: i64,
    labels: &[(String, String)],
) -> sqlx::Result<()> {
    for (name, value) in labels {
        sqlx::query(
            "INSERT INTO label (run, name, value) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING",
        )
        .bind(run)
        .bind(name.clone())
        .bind(value.clone())
        .execute(&mut *connection)
        .await?;
    }
    Ok(())
}
