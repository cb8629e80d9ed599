//! Begins, finishes, lists and removes runs.

use sqlx::Row;
use sqlx::any::AnyRow;

use crate::error::store_error;
use crate::json_columns::{read_list, read_pairs, write_list, write_pairs};
use crate::{Experiment, Run, RunId, RunState, Store, StoreError};

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
            .execute(connection)
            .await?;
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
        let rows =
            self.query(async |connection| sqlx::query(SELECT_ALL).fetch_all(connection).await)?;
        rows.iter().map(|row| self.run_of(row)).collect()
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
        let row = match (name, RunId::parse(name)) {
            ("latest", _) => self.query(async |connection| {
                sqlx::query(SELECT_LATEST).fetch_optional(connection).await
            })?,
            (_, Some(id)) => self.query(async |connection| {
                sqlx::query(SELECT_ONE)
                    .bind(signed(id.get()))
                    .fetch_optional(connection)
                    .await
            })?,
            (_, None) => None,
        };
        match row {
            Some(row) => self.run_of(&row),
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

    fn run_of(&self, row: &AnyRow) -> Result<Run, StoreError> {
        read_run(row).map_err(|error| store_error(error, &self.location.name))
    }
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

const SELECT_ALL: &str = select!("ORDER BY number");
const SELECT_ONE: &str = select!("WHERE number = $1");
const SELECT_LATEST: &str = select!("ORDER BY number DESC LIMIT 1");

fn read_run(row: &AnyRow) -> sqlx::Result<Run> {
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
