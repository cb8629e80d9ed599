//! Begins, finishes, lists and removes runs.

use std::collections::HashMap;

use sqlx::any::AnyRow;
use sqlx::{AssertSqlSafe, Row};

use crate::json_columns::{read_list, read_pairs, write_list, write_pairs};
use crate::labels::{insert_labels, labels_of};
use crate::{Experiment, Run, RunFilter, RunId, RunState, Store, StoreError};

impl Store {
    /// Saves a new run and assigns its name.
    ///
    /// # Errors
    /// When it cannot be saved.
    pub fn begin(&mut self, experiment: &Experiment) -> Result<RunId, StoreError> {
        self.change(async |connection| {
            let number: i64 = sqlx::query_scalar("UPDATE fathom SET next_run = next_run + 1 RETURNING next_run - 1").fetch_one(&mut *connection).await?;
            sqlx::query(
                "INSERT INTO run (number, kind, name, command, plan, facts, planned, owner, state, created_ns)
                 VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
            )
            .bind(number)
            .bind(experiment.kind.clone())
            .bind(experiment.name.clone())
            .bind(write_list(&experiment.command))
            .bind(experiment.plan.clone())
            .bind(write_pairs(&experiment.facts))
            .bind(signed(experiment.planned))
            .bind(experiment.owner.clone())
            .bind(RunState::Running.name())
            .bind(signed(experiment.created_unix_ns))
            .execute(&mut *connection)
            .await?;
            insert_labels(connection, number, &experiment.labels).await?;
            Ok(RunId::new(unsigned(number)))
        })
    }

    /// Marks a run as running again, with `owner` as its process.
    ///
    /// # Errors
    /// When there is no such run, or the store cannot be written.
    pub fn resume(&mut self, run: RunId, owner: &str) -> Result<(), StoreError> {
        self.set_state(run, RunState::Running, owner, None)
    }

    /// Saves how a run ended, at `now_unix_ns` on the wall clock, nanoseconds since 1970.
    ///
    /// # Errors
    /// When there is no such run, or the store cannot be written.
    pub fn finish(
        &mut self,
        run: RunId,
        state: RunState,
        now_unix_ns: u64,
    ) -> Result<(), StoreError> {
        self.set_state(run, state, "", Some(now_unix_ns))
    }

    fn set_state(
        &mut self,
        run: RunId,
        state: RunState,
        owner: &str,
        ended: Option<u64>,
    ) -> Result<(), StoreError> {
        let changed = self.change(async |connection| {
            sqlx::query("UPDATE run SET state = $1, owner = $2, ended_ns = $3 WHERE number = $4")
                .bind(state.name())
                .bind(owner.to_owned())
                .bind(ended.map(signed))
                .bind(signed(run.get()))
                .execute(connection)
                .await
        })?;
        if changed.rows_affected() == 0 {
            Err(self.unknown_run(&run.to_string()))
        } else {
            Ok(())
        }
    }

    /// Replaces the facts of a run: where it runs and with which versions.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub fn set_facts(
        &mut self,
        run: RunId,
        facts: Vec<(String, String)>,
    ) -> Result<(), StoreError> {
        self.change(async |connection| {
            sqlx::query("UPDATE run SET facts = $1 WHERE number = $2")
                .bind(write_pairs(&facts))
                .bind(signed(run.get()))
                .execute(connection)
                .await
        })?;
        Ok(())
    }

    /// Sets how many cells a run will have.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub fn set_planned(&mut self, run: RunId, planned: u64) -> Result<(), StoreError> {
        self.change(async |connection| {
            sqlx::query("UPDATE run SET planned = $1 WHERE number = $2")
                .bind(signed(planned))
                .bind(signed(run.get()))
                .execute(connection)
                .await
        })?;
        Ok(())
    }

    /// All runs, oldest first.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn runs(&mut self) -> Result<Vec<Run>, StoreError> {
        self.find_runs(&RunFilter::default(), |_| true)
    }

    /// The runs that a filter selects and `also` accepts, oldest first. It reads no more than it needs: the newest of very many
    /// runs are found at once.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn find_runs(
        &mut self,
        filter: &RunFilter,
        mut also: impl FnMut(&Run) -> bool,
    ) -> Result<Vec<Run>, StoreError> {
        let texts: Vec<String> = filter
            .texts
            .iter()
            .map(|text| text.to_lowercase())
            .collect();
        let wanted = filter.newest.unwrap_or(u64::MAX);
        let mut found: Vec<Run> = Vec::new();
        let mut before = filter.before.map_or(i64::MAX, |run| signed(run.get()));
        while (found.len() as u64) < wanted {
            let rows = wanted.saturating_add(1).clamp(PAGE, LONGEST_PAGE) as i64;
            let page = self.page(filter, &texts, before, rows)?;
            let Some(last) = page.last() else { break };
            before = signed(last.id.get());
            let is_last = page.len() < rows as usize;
            found.extend(
                page.into_iter()
                    .filter(|run| texts.iter().all(|text| contains(run, text)) && also(run)),
            );
            if is_last {
                break;
            }
        }
        found.truncate(wanted.try_into().unwrap_or(usize::MAX));
        found.reverse();
        Ok(found)
    }

    /// The next runs before the run `before`, newest first. The database skips most of what does not contain the texts.
    fn page(
        &mut self,
        filter: &RunFilter,
        texts: &[String],
        before: i64,
        rows: i64,
    ) -> Result<Vec<Run>, StoreError> {
        let has_labels = self.has_labels;
        if !has_labels && !filter.labels.is_empty() {
            return Ok(Vec::new());
        }
        let mut conditions = "WHERE number < $1".to_owned();
        let mut values = Vec::new();
        for text in texts.iter().filter(|text| is_plain(text)) {
            let place = values.len() + 2;
            values.push(format!(
                "%{}%",
                text.replace('%', "\\%").replace('_', "\\_")
            ));
            let columns = ["facts", "name", "kind", "state"].map(|column| {
                let column = lower(column, self.is_sqlite(), true);
                format!("{column} LIKE ${place} ESCAPE '\\'")
            });
            conditions += &format!(" AND ({})", columns.join(" OR "));
        }
        for (name, value) in &filter.labels {
            let place = values.len() + 2;
            conditions += &format!(
                " AND number IN (SELECT run FROM label WHERE name = ${place} AND value = ${})",
                place + 1
            );
            values.extend([name.clone(), value.clone()]);
        }
        let select = format!("{SELECT} {conditions} ORDER BY number DESC LIMIT {rows}");
        let (runs, labels) = self.read(async |connection| {
            let mut query = sqlx::query(AssertSqlSafe(select.clone())).bind(before);
            for value in &values {
                query = query.bind(value.clone());
            }
            let runs = query.fetch_all(&mut *connection).await?;
            let labels = match has_labels {
                true => labels_of(connection, &numbers(&runs)?).await?,
                false => HashMap::new(),
            };
            Ok((runs, labels))
        })?;
        self.runs_of(&runs, labels)
    }

    fn runs_of(
        &self,
        rows: &[AnyRow],
        mut labels: HashMap<i64, Vec<(String, String)>>,
    ) -> Result<Vec<Run>, StoreError> {
        rows.iter()
            .map(|row| {
                let mut run = read_run(row).map_err(|error| self.error(error))?;
                run.experiment.labels = labels.remove(&signed(run.id.get())).unwrap_or_default();
                Ok(run)
            })
            .collect()
    }

    /// Runs that were not finished, oldest first. The owner of a [`RunState::Running`] run may still be alive.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn unfinished(&mut self) -> Result<Vec<Run>, StoreError> {
        Ok(self
            .runs()?
            .into_iter()
            .filter(|run| run.state != RunState::Finished)
            .collect())
    }

    /// The run named `name`: `r12`, `12`, or `latest`.
    ///
    /// # Errors
    /// [`StoreError::UnknownRun`] when there is none.
    pub fn run(&mut self, name: &str) -> Result<Run, StoreError> {
        let (select, number) = match (name, RunId::parse(name)) {
            ("latest", _) => (SELECT_LATEST, 0),
            (_, Some(id)) => (SELECT_ONE, signed(id.get())),
            (_, None) => return Err(self.unknown_run(name)),
        };
        let has_labels = self.has_labels;
        let (rows, labels) = self.read(async |connection| {
            let rows = sqlx::query(select)
                .bind(number)
                .fetch_all(&mut *connection)
                .await?;
            let labels = match has_labels {
                true => labels_of(connection, &numbers(&rows)?).await?,
                false => HashMap::new(),
            };
            Ok((rows, labels))
        })?;
        match self.runs_of(&rows, labels)?.pop() {
            Some(run) => Ok(run),
            None => Err(self.unknown_run(name)),
        }
    }

    /// Removes a run with all its cells.
    ///
    /// # Errors
    /// [`StoreError::UnknownRun`] when there is none.
    pub fn remove(&mut self, run: RunId) -> Result<(), StoreError> {
        let removed = self.change(async |connection| {
            sqlx::query("DELETE FROM run WHERE number = $1")
                .bind(signed(run.get()))
                .execute(connection)
                .await
        })?;
        if removed.rows_affected() == 0 {
            Err(self.unknown_run(&run.to_string()))
        } else {
            Ok(())
        }
    }
}

/// Runs in one page of a search, at least and at most.
const PAGE: u64 = 50;
const LONGEST_PAGE: u64 = 2000;

/// A column in lower case, for LIKE. In SQLite LIKE compares letters of ASCII in any case, and LOWER knows no others. A server takes half
/// as long for letters of ASCII alone.
pub(crate) fn lower(column: &str, sqlite: bool, ascii: bool) -> String {
    match (sqlite, ascii) {
        (true, _) => column.to_owned(),
        (false, true) => format!("LOWER({column} COLLATE \"C\")"),
        (false, false) => format!("LOWER({column})"),
    }
}

/// The numbers of these rows of runs.
fn numbers(rows: &[AnyRow]) -> sqlx::Result<Vec<i64>> {
    rows.iter().map(|row| row.try_get("number")).collect()
}

/// Whether a database finds the text as it is, in any case: other letters are compared here, and JSON escapes some characters.
fn is_plain(text: &str) -> bool {
    text.bytes()
        .all(|byte| byte.is_ascii_graphic() && !b"\"\\".contains(&byte) || byte == b' ')
}

fn contains(run: &Run, text: &str) -> bool {
    let experiment = &run.experiment;
    let facts = experiment.facts.iter().map(|(_, value)| value.as_str());
    [experiment.name.as_str(), &experiment.kind, run.state.name()]
        .into_iter()
        .chain(facts)
        .any(|value| value.to_lowercase().contains(text))
}

macro_rules! select {
    ($rest:literal) => {
        concat!(
            "SELECT number, kind, name, command, plan, facts, planned, owner, state, created_ns, ended_ns, ",
            "(SELECT COUNT(*) FROM cell WHERE cell.run = run.number) AS cells, ",
            "(SELECT COUNT(*) FROM cell WHERE cell.run = run.number AND cell.state = 'finished') AS finished FROM run ",
            $rest
        )
    };
}

const SELECT: &str = select!("");
const SELECT_ONE: &str = select!("WHERE number = $1");
/// Every number is larger than the one that is given.
const SELECT_LATEST: &str = select!("WHERE number > $1 ORDER BY number DESC LIMIT 1");

pub(crate) fn read_run(row: &AnyRow) -> sqlx::Result<Run> {
    let state: String = row.try_get("state")?;
    let experiment = Experiment {
        kind: row.try_get("kind")?,
        name: row.try_get("name")?,
        command: read_list(row.try_get("command")?),
        plan: row.try_get("plan")?,
        facts: read_pairs(row.try_get("facts")?),
        planned: unsigned(row.try_get("planned")?),
        owner: row.try_get("owner")?,
        created_unix_ns: unsigned(row.try_get("created_ns")?),
        labels: Vec::new(),
    };
    Ok(Run {
        id: RunId::new(unsigned(row.try_get("number")?)),
        experiment,
        state: RunState::parse(&state).unwrap_or(RunState::Stopped),
        ended_unix_ns: row.try_get::<Option<i64>, _>("ended_ns")?.map(unsigned),
        cells: unsigned(row.try_get("cells")?),
        finished: unsigned(row.try_get("finished")?),
    })
}

/// Databases store numbers up to 2^63 - 1: nanoseconds until the year 2262.
pub(crate) fn signed(number: u64) -> i64 {
    number.try_into().unwrap_or(i64::MAX)
}

pub(crate) fn unsigned(number: i64) -> u64 {
    number.try_into().unwrap_or(0)
}
