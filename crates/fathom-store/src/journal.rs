//! The intervals of a cell while it is measured: saved part by part, so that a killed process loses at most the last
//! second.

use std::path::Path;

use fathom_model::Interval;
use sqlx::Row;

use crate::document::{pack_intervals, unpack_intervals};
use crate::location::StoreLocation;
use crate::runs::{signed, unsigned};
use crate::store::Mode;
use crate::{RunId, Store, StoreError};

/// More jobs than any plan has.
const MOST_JOBS: u64 = 1 << 20;

/// Saves the intervals of one cell while it is measured. Parts are written but not synced: they survive a killed process,
/// and the disk under test, which may hold the store, has to flush only once in 64 MiB of log. Saving the cell deletes
/// them.
pub struct Journal {
    store: Store,
    run: RunId,
    position: u64,
    next_part: i64,
}

impl Journal {
    /// Opens the journal of a cell, which must be in the store.
    ///
    /// # Errors
    /// When the store cannot be opened.
    pub fn open(store: &Path, run: RunId, position: u64) -> Result<Journal, StoreError> {
        Journal::at(StoreLocation::of(store), run, position)
    }

    /// Opens the journal of a cell of this store, with a connection of its own.
    ///
    /// # Errors
    /// When the store cannot be opened.
    pub fn beside(store: &Store, run: RunId, position: u64) -> Result<Journal, StoreError> {
        Journal::at(store.location.clone(), run, position)
    }

    fn at(location: StoreLocation, run: RunId, position: u64) -> Result<Journal, StoreError> {
        let store = Store::connect(location, Mode::Journal)?;
        Ok(Journal {
            store,
            run,
            position,
            next_part: 0,
        })
    }

    /// Saves new intervals of jobs, each by its index in the plan: all of them or none. An interval that starts at the
    /// same time as the one before replaces it: that was its first part.
    ///
    /// # Errors
    /// When they cannot be saved; what was saved before is unchanged.
    pub fn add(&mut self, new: &[(usize, Vec<Interval>)]) -> Result<(), StoreError> {
        let (run, position, first) = (
            signed(self.run.get()),
            signed(self.position),
            self.next_part,
        );
        self.store.change(async |connection| {
            for (part, (job, intervals)) in (first..).zip(new) {
                let insert = "INSERT INTO part (run, position, place, job, body) VALUES ($1, $2, $3, $4, $5)";
                let (job, body) = (signed(*job as u64), pack_intervals(intervals));
                sqlx::query(insert).bind(run).bind(position).bind(part).bind(job).bind(body).execute(&mut *connection).await?;
            }
            Ok(())
        })?;
        self.next_part += new.len() as i64;
        Ok(())
    }
}

impl Store {
    /// The intervals in the journal of a cell, for each job of its plan.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] when a part is malformed.
    pub fn journal(&mut self, run: RunId, position: u64) -> Result<Vec<Vec<Interval>>, StoreError> {
        self.newest_parts(run, position, i64::MAX)
    }

    /// The same of the newest `parts` of the journal: the intervals of a job within half a second are one part.
    ///
    /// # Errors
    /// As [`Store::journal`].
    pub fn journal_tail(
        &mut self,
        run: RunId,
        position: u64,
        parts: u32,
    ) -> Result<Vec<Vec<Interval>>, StoreError> {
        self.newest_parts(run, position, i64::from(parts))
    }

    fn newest_parts(
        &mut self,
        run: RunId,
        position: u64,
        parts: i64,
    ) -> Result<Vec<Vec<Interval>>, StoreError> {
        let mut rows = self.query(async |connection| {
            let select = "SELECT job, body FROM part WHERE run = $1 AND position = $2 ORDER BY place DESC LIMIT $3";
            sqlx::query(select)
                .bind(signed(run.get()))
                .bind(signed(position))
                .bind(parts)
                .fetch_all(connection)
                .await
        })?;
        rows.reverse();
        let damaged = || StoreError::Damaged {
            store: self.location.name.clone(),
            detail: format!("malformed journal of {run}.{position}"),
        };
        let mut jobs = Vec::new();
        for row in rows {
            let read = |error| self.error(error);
            let job = unsigned(row.try_get("job").map_err(read)?);
            let body: Vec<u8> = row.try_get("body").map_err(read)?;
            let intervals = unpack_intervals(&body)
                .filter(|_| job < MOST_JOBS)
                .ok_or_else(damaged)?;
            let job = job as usize;
            if jobs.len() <= job {
                jobs.resize_with(job + 1, Vec::new);
            }
            append(&mut jobs[job], intervals);
        }
        Ok(jobs)
    }
}

/// Appends intervals of a job; a whole interval replaces its first part.
fn append(before: &mut Vec<Interval>, intervals: Vec<Interval>) {
    for interval in intervals {
        if before
            .last()
            .is_some_and(|last| last.start == interval.start)
        {
            before.pop();
        }
        before.push(interval);
    }
}
