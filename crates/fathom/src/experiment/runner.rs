//! Runs one experiment: opens its observers, measures its cells, stores how it ended, and removes files that it created.

use std::cell::RefCell;
use std::path::Path;

use fathom_cli::ObserverOptions;
use fathom_experiment::{Bounds, CellRunner, CellSource, Ended, ExperimentTarget, Observer, drive};
use fathom_linux::Outputs;

use super::cell_runner::MachineRunner;
use super::{StoreWriter, observers};
use crate::app::tenant::TenantApps;
use crate::experiment_target::remove_created;
use crate::hosts::{Fleet, HostsRunner};
use crate::outcome::Outcome;
use crate::print::{eprint_line, note_line};
use crate::session::Session;

/// The names of an experiment, its observers and its targets.
pub struct ExperimentRunner<'a> {
    /// The machine that is measured.
    pub session: &'a Session,
    /// `sweep`, `search`, `suite`.
    pub kind: &'static str,
    /// Its name in lists.
    pub title: &'a str,
    /// Its description at the start.
    pub summary: &'a str,
    /// How many cells it will have, as far as known.
    pub cells: usize,
    /// How its progress is shown.
    pub observers: &'a ObserverOptions,
    /// Its targets.
    pub targets: &'a [ExperimentTarget],
    /// Created files are kept in any case.
    pub keep: bool,
    /// Codes that allow writing to devices.
    pub destroy: &'a [String],
    /// The hosts that measure in place of this one.
    pub fleet: Option<&'a Fleet>,
    /// The applications among the jobs.
    pub apps: Option<&'a RefCell<TenantApps>>,
}

/// How an experiment ended, and how to resume it.
pub struct EndedExperiment {
    /// How it ended.
    pub ended: Ended,
    kind: &'static str,
    resume_command: Option<String>,
    store_error: Option<String>,
}

impl ExperimentRunner<'_> {
    /// Measures the cells of `source`. `more` observes as well.
    ///
    /// # Errors
    /// When an observer cannot be opened.
    pub fn run(
        &self,
        source: &mut dyn CellSource,
        bounds: &Bounds,
        store: &mut StoreWriter,
        more: Option<&mut dyn Observer>,
    ) -> Result<EndedExperiment, String> {
        let run = store.name();
        note_line!(
            "fathom {}: {}{}",
            self.kind,
            self.summary,
            run.as_ref()
                .map_or(String::new(), |run| format!("\n  stored as {run}"))
        );
        if self
            .targets
            .iter()
            .any(|target| target.made && !self.session.exists(&target.file))
        {
            store.prepare_again();
        }
        let mut observers = observers(
            self.session,
            self.observers,
            &format!("fathom {} {}", self.kind, self.title),
            &Outputs::excluding(self.targets.iter().map(|target| target.file.as_path())),
        )?;
        observers
            .0
            .extend(more.map(|more| Box::new(more) as Box<dyn Observer>));
        observers.experiment_started(self.kind, self.cells, run.as_deref());
        let mut runner: Box<dyn CellRunner + '_> = match self.fleet {
            Some(fleet) => Box::new(HostsRunner {
                fleet,
                destroy: self.destroy,
                creates: self.targets.is_empty() || self.targets.iter().any(|target| target.made),
            }),
            None => Box::new(MachineRunner::new(self.session, self.destroy, self.apps)),
        };
        let ended = drive(source, bounds, &mut *runner, store, &mut observers);
        let resume_command = run.filter(|_| !ended.is_complete()).map(|run| match ended {
            Ended::OutOfTime => format!("fathom resume {run} --budget=TIME"),
            _ => format!("fathom resume {run}"),
        });
        observers.experiment_finished(ended.name(), resume_command.as_deref());
        drop(observers);
        let store_error = store.finish(&ended).err();
        let experiment = EndedExperiment {
            ended,
            kind: self.kind,
            resume_command,
            store_error,
        };
        self.clean_up(&experiment);
        Ok(experiment)
    }

    /// Removes created files, unless the user keeps them or a resumed run needs them: preparing them again takes time.
    fn clean_up(&self, experiment: &EndedExperiment) {
        let is_needed = experiment.resume_command.is_some()
            && matches!(experiment.ended, Ended::Interrupted | Ended::Stopped(_));
        let made = self
            .targets
            .iter()
            .filter(|target| target.made && !self.keep);
        if let Some(fleet) = self.fleet {
            let files: Vec<&Path> = made.map(|target| target.file.as_path()).collect();
            // After a Ctrl-C nothing more is asked of the hosts: their files are found again by a resumed run.
            if !is_needed {
                fleet.remove(&files);
            }
            return;
        }
        for target in made {
            if is_needed && self.session.exists(&target.file) {
                note_line!(
                    "fathom {}: {} was not removed, so that the run can be resumed; remove it if you do not need it",
                    self.kind,
                    target.file.display()
                );
            } else {
                remove_created(self.session, &format!("fathom {}", self.kind), &target.file);
            }
        }
    }
}

impl EndedExperiment {
    /// Reports how the experiment ended and how to resume it. `left` is how many cells its source had left, `printed` the outcome of
    /// printing the result, `partial` the outcome if the budget was used up.
    pub fn outcome(&self, left: usize, printed: Outcome, partial: Outcome) -> Outcome {
        let resume_hint = self
            .resume_command
            .as_ref()
            .map_or(String::new(), |command| {
                format!("; resume with `{command}`")
            });
        let (reason, outcome) = match &self.ended {
            Ended::Done => (None, printed),
            Ended::Interrupted if self.resume_command.is_some() => (
                Some("interrupted; the measured cells are stored".to_owned()),
                Outcome::Interrupted,
            ),
            Ended::Interrupted => (Some("interrupted".to_owned()), Outcome::Interrupted),
            // The cell that did not fit into the budget is one of them.
            Ended::OutOfTime => (
                Some(format!(
                    "the budget is used up; cells not measured: {}",
                    left + 1
                )),
                partial,
            ),
            Ended::NoSpace(reason) | Ended::Stopped(reason) => (Some(reason.clone()), Outcome::Bad),
        };
        if let Some(reason) = reason {
            match self.ended {
                Ended::NoSpace(_) | Ended::Stopped(_) => {
                    eprint_line!("fathom {}: {reason}{resume_hint}", self.kind);
                }
                _ => note_line!("fathom {}: {reason}{resume_hint}", self.kind),
            }
        }
        match &self.store_error {
            Some(store_error) => {
                eprint_line!("fathom {}: {store_error}", self.kind);
                Outcome::Bad
            }
            None => outcome,
        }
    }
}
