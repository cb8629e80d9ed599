//! What a cell measures while it is measured: kept part by part, so that a killed process loses the last second at most.

use std::path::Path;

use fathom_model::Interval;
use sqlx::Row;

use crate::document::{pull_intervals, put_intervals};
use crate::place::StoreLocation;
use crate::runs::{signed, unsigned};
use crate::store::Mode;
use crate::{RunId, Store, StoreError};

/// More jobs than any plan has.
const MOST_JOBS: u64 = 1 << 20;

/// Keeps the intervals of one cell while it is measured. Parts are written and not synced: they survive a killed process,
/// and the disk that is measured, which may be this one, is not made to flush but for once in 64 MiB of log. Once the cell is
/// saved they are gone.
pub struct Journal {
    store: Store,
    run: RunId,
    position: u64,
    place: i64,
}

impl Journal {
    /// Opens the journal of a cell, which must be in the store.
    ///
    /// # Errors
    /// When the store cannot be opened.
    pub fn open(store: &Path, run: RunId, position: u64) -> Result<Journal, StoreError> {
        let store = Store::connect(StoreLocation::file(store), Mode::Journal)?;
        Ok(Journal {
            store,
            run,
            position,
            place: 0,
        })
    }

    /// Keeps what is new of each job, by its place in the plan: all of it or nothing. An interval that starts as the one
    /// before it takes its place: that was a part of it.
    ///
    /// # Errors
    /// When it cannot be kept; what was kept before stands.
    pub fn add(&mut self, news: &[(usize, Vec<Interval>)]) -> Result<(), StoreError> {
        let (run, position, first) = (signed(self.run.get()), signed(self.position), self.place);
        self.store.change(async |connection| {
            for (place, (job, intervals)) in (first..).zip(news) {
                let insert = "INSERT INTO part (run, position, place, job, body) VALUES ($1, $2, $3, $4, $5)";
                let (job, body) = (signed(*job as u64), put_intervals(intervals));
                sqlx::query(insert).bind(run).bind(position).bind(place).bind(job).bind(body).execute(&mut *connection).await?;
            }
            Ok(())
        })?;
        self.place += news.len() as i64;
        Ok(())
    }
}

impl Store {
    /// What the journal of a cell holds, for each job of its plan.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] when a part is none.
    pub fn journal(&mut self, run: RunId, position: u64) -> Result<Vec<Vec<Interval>>, StoreError> {
        let rows = self.ask(async |connection| {
            let select =
                "SELECT job, body FROM part WHERE run = $1 AND position = $2 ORDER BY place";
            sqlx::query(select)
                .bind(signed(run.get()))
                .bind(signed(position))
                .fetch_all(connection)
                .await
        })?;
        let damaged = || StoreError::Damaged {
            place: self.place.name.clone(),
            what: format!("a part of {run}.{position} is none"),
        };
        let mut jobs = Vec::new();
        for row in rows {
            let read = |error| crate::error::meaning(&error, &self.place.name);
            let job = unsigned(row.try_get("job").map_err(read)?);
            let body: Vec<u8> = row.try_get("body").map_err(read)?;
            let intervals = pull_intervals(&body)
                .filter(|_| job < MOST_JOBS)
                .ok_or_else(damaged)?;
            let job = job as usize;
            if jobs.len() <= job {
                jobs.resize_with(job + 1, Vec::new);
            }
            join(&mut jobs[job], intervals);
        }
        Ok(jobs)
    }
}

/// Adds intervals of a job to those before them; the whole of one takes the place of its part.
fn join(before: &mut Vec<Interval>, intervals: Vec<Interval>) {
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
