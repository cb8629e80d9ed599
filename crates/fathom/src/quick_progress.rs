//! The progress of `fathom quick`: the test that runs, and each row when it is measured.

use std::time::{Duration, Instant};

use fathom_cli::ObserverOptions;
use fathom_experiment::{MeasuredCell, Observer, Observers, Position};
use fathom_linux::Outputs;
use fathom_model::{JobPhase, Nanos, Plan, Progress, Recording};
use fathom_plan::PlannedCell;

use crate::experiment::observers;
use crate::session::Session;

/// Shows the jobs of one plan, which run one after the other, as the cells of an experiment.
pub struct QuickProgress<'a> {
    session: &'a Session,
    observers: Observers<'a>,
    titles: Vec<String>,
    /// Time of each test.
    each: Duration,
    /// The running test, when it started, and in the time of the run.
    current: Option<(usize, Instant, Nanos)>,
    /// Tests that have ended.
    ended: usize,
    /// Rows that were shown.
    shown: usize,
}

impl<'a> QuickProgress<'a> {
    /// Shows lines, or the full-screen view.
    ///
    /// # Errors
    /// When the terminal cannot be used.
    pub fn open(
        session: &'a Session,
        options: &ObserverOptions,
        title: &str,
        each: Nanos,
    ) -> Result<Self, String> {
        Ok(QuickProgress {
            session,
            observers: observers(session, options, title, &Outputs::default())?,
            titles: Vec::new(),
            each: Duration::from_nanos(each.get()),
            current: None,
            ended: 0,
            shown: 0,
        })
    }

    /// The tests are the jobs of `plan`.
    pub fn begin(&mut self, plan: &Plan) {
        let title = |job: &fathom_model::Job| {
            let text = job.description.clone().filter(|text| !text.is_empty());
            text.unwrap_or_else(|| job.name.clone())
        };
        self.titles = plan.jobs.iter().map(title).collect();
    }

    fn cell(&self, test: usize) -> PlannedCell {
        PlannedCell {
            key: self.titles[test].clone(),
            ..PlannedCell::default()
        }
    }

    fn position(&self, test: usize, started: Instant) -> Position {
        Position {
            number: test + 1,
            all: self.titles.len(),
            started,
            remaining: Some(self.each * (self.titles.len() - test) as u32),
        }
    }

    /// Shows the running test and how much of it is over.
    pub fn progress(&mut self, progress: &Progress) {
        let over = |phase: &&JobPhase| matches!(phase, JobPhase::Done | JobPhase::Failed);
        self.ended = progress.jobs.iter().take_while(over).count();
        let running = |phase: &JobPhase| {
            !matches!(phase, JobPhase::Waiting | JobPhase::Done | JobPhase::Failed)
        };
        let Some(test) = progress.jobs.iter().position(running) else {
            return;
        };
        let (_, started, from) = match self.current {
            Some(current) if current.0 == test => current,
            _ => {
                let current = (test, self.session.now(), progress.elapsed);
                self.current = Some(current);
                let (position, cell) = (self.position(test, current.1), self.cell(test));
                self.observers.cell_started(&position, &cell);
                current
            }
        };
        let of_test = Progress {
            jobs: vec![progress.jobs[test]],
            elapsed: progress.elapsed.saturating_sub(from),
            expected: Some(Nanos::new(self.each.as_nanos() as u64)),
            ..progress.clone()
        };
        let position = self.position(test, started);
        self.observers.progress(&position, &of_test);
    }

    /// Whether [`QuickProgress::state`] is needed now.
    pub fn wants_state(&mut self, elapsed: Nanos) -> bool {
        self.observers.wants_state(elapsed) || self.ended > self.shown
    }

    /// Shows the rows of the tests that have ended.
    pub fn state(&mut self, state: &Recording) {
        self.observers.state(state);
        self.rows(state, self.ended);
    }

    /// The run is over: shows the other rows.
    pub fn finish(mut self, recording: &Recording) {
        self.rows(recording, recording.jobs.len());
    }

    fn rows(&mut self, recording: &Recording, ended: usize) {
        for test in self.shown..ended.min(self.titles.len()) {
            self.shown = test + 1;
            let one = only(recording, test);
            let findings = fathom_analyse::findings_with(&one, &[]);
            let figures = fathom_analyse::cell_figures(&one, &findings, &[]);
            if figures.iops <= 0.0 {
                continue;
            }
            let (position, cell) = (self.position(test, self.session.now()), self.cell(test));
            let measured = MeasuredCell {
                recording: one,
                findings,
                figures,
            };
            self.observers
                .cell_finished(&position, &cell, Ok(&measured));
        }
    }
}

/// The recording of one job.
fn only(recording: &Recording, job: usize) -> Recording {
    let mut one = recording.clone();
    one.plan.jobs = vec![recording.plan.jobs[job].clone()];
    one.jobs = vec![recording.jobs[job].clone()];
    one
}
