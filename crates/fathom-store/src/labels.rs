//! Labels of runs: names with values, by which runs are found again.

use std::collections::HashMap;

use sqlx::{AnyConnection, AssertSqlSafe};

use crate::batch::{RUNS, close_together};
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

/// The labels of these runs by their numbers, in the order of their names.
pub(crate) async fn labels_of(
    connection: &mut AnyConnection,
    runs: &[i64],
) -> sqlx::Result<HashMap<i64, Vec<(String, String)>>> {
    // One row for each run: the driver copies what it knows of each column into each row.
    const SELECT: &str = "SELECT run, string_agg(LENGTH(name) || ' ' || LENGTH(value) || ' ' || name || value, '') \
        FROM label WHERE run";
    let mut all = HashMap::new();
    for runs in runs.chunks(RUNS) {
        let (condition, values) = match close_together(runs) {
            Some((first, last)) => ("BETWEEN $1 AND $2".to_owned(), vec![first, last]),
            None => {
                let places: Vec<String> =
                    (1..=runs.len()).map(|place| format!("${place}")).collect();
                (format!("IN ({})", places.join(", ")), runs.to_vec())
            }
        };
        // The text contains no value.
        let select = AssertSqlSafe(format!("{SELECT} {condition} GROUP BY run"));
        let mut query = sqlx::query_as::<_, (i64, String)>(select);
        for value in values {
            query = query.bind(value);
        }
        for (run, joined) in query.fetch_all(&mut *connection).await? {
            let mut labels = split(&joined).ok_or_else(|| {
                sqlx::Error::Decode(format!("the labels of r{run} cannot be read").into())
            })?;
            labels.sort_unstable();
            all.insert(run, labels);
        }
    }
    Ok(all)
}

/// Names and values, each with both of its lengths in characters before it.
fn split(mut joined: &str) -> Option<Vec<(String, String)>> {
    fn take<'a>(text: &mut &'a str, length: &str) -> Option<&'a str> {
        let length: usize = length.parse().ok()?;
        let end = match text.char_indices().nth(length) {
            Some((end, _)) => end,
            None if text.chars().count() == length => text.len(),
            None => return None,
        };
        let (taken, rest) = text.split_at(end);
        *text = rest;
        Some(taken)
    }
    let mut all = Vec::new();
    while !joined.is_empty() {
        let (name, rest) = joined.split_once(' ')?;
        let (value, mut rest) = rest.split_once(' ')?;
        let name = take(&mut rest, name)?.to_owned();
        let value = take(&mut rest, value)?.to_owned();
        joined = rest;
        all.push((name, value));
    }
    Some(all)
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

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn joined_labels_are_split_by_their_lengths() {
        let pairs = |all: &[(&str, &str)]| -> Vec<(String, String)> {
            all.iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect()
        };
        for (joined, wanted) in [
            ("", Some(pairs(&[]))),
            ("4 0 name", Some(pairs(&[("name", "")]))),
            (
                "1 3 a1 b4 2 größéü",
                Some(pairs(&[("a", "1 b"), ("größ", "éü")])),
            ),
            ("1 3 a1", None),
            ("1 a", None),
            ("x 1 ab", None),
        ] {
            assert_eq!(split(joined), wanted, "{joined}");
        }
    }
}
