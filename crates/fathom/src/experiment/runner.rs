//! An experiment from its first word to its last: told, measured, kept, and cleared away.

use fathom_cli::ObserverOptions;
use fathom_linux::Outputs;

use super::{Bounds, CellSource, Ended, Observer, StoreWriter, drive, observers};
use crate::experiment_target::{ExperimentTarget, tidy};
use crate::outcome::Outcome;
use crate::print::{eprint_line, note_line};

/// What an experiment is called, to whom it is told, and what it made.
pub struct ExperimentRunner<'a> {
    /// `sweep`, `search`, `suite`.
    pub kind: &'static str,
    /// What lists call it.
    pub title: &'a str,
    /// What is said first.
    pub summary: &'a str,
    /// How many cells it will have, as far as is known.
    pub cells: usize,
    /// How its progress is shown.
    pub observers: &'a ObserverOptions,
    /// Its targets.
    pub subjects: &'a [ExperimentTarget],
    /// Files that were made stay in any case.
    pub keep: bool,
}

/// How an experiment ended, and how it goes on.
pub struct Came {
    /// How it ended.
    pub ended: Ended,
    kind: &'static str,
    resume: Option<String>,
    trouble: Option<String>,
}

impl ExperimentRunner<'_> {
    /// Carries `course` out. `more` is told as well.
    ///
    /// # Errors
    /// When nobody could be told.
    pub fn carry_out(
        &self,
        course: &mut dyn CellSource,
        bounds: &Bounds,
        stored: &mut StoreWriter,
        more: Option<&mut dyn Observer>,
    ) -> Result<Came, String> {
        let run = stored.name();
        note_line!(
            "fathom {}: {}{}",
            self.kind,
            self.summary,
            run.as_ref()
                .map_or(String::new(), |run| format!("\n  kept as {run}"))
        );
        if self
            .subjects
            .iter()
            .any(|subject| subject.made && !subject.file.exists())
        {
            stored.prepare_again();
        }
        let mut everyone = observers(
            self.observers,
            &format!("fathom {} {}", self.kind, self.title),
            &Outputs::beside(self.subjects.iter().map(|subject| subject.file.as_path())),
        )?;
        everyone
            .0
            .extend(more.map(|more| Box::new(more) as Box<dyn Observer>));
        everyone.opens(self.kind, self.cells, run.as_deref());
        let ended = drive(course, bounds, stored, &mut everyone);
        let resume = run.filter(|_| !ended.is_whole()).map(|run| match ended {
            Ended::OutOfTime => format!("fathom resume {run} --budget=TIME"),
            _ => format!("fathom resume {run}"),
        });
        everyone.closes(ended.word(), resume.as_deref());
        drop(everyone);
        let trouble = stored.finish(&ended).err();
        let came = Came {
            ended,
            kind: self.kind,
            resume,
            trouble,
        };
        self.clean_up(&came);
        Ok(came)
    }

    /// A file that we made goes, unless the user wants it, or the rest needs it: what was prepared in it took its time.
    fn clean_up(&self, came: &Came) {
        let stays =
            came.resume.is_some() && matches!(came.ended, Ended::Interrupted | Ended::Stopped(_));
        for subject in self
            .subjects
            .iter()
            .filter(|subject| subject.made && !self.keep)
        {
            if stays && subject.file.exists() {
                eprint_line!(
                    "fathom {}: {} stays for the rest; remove it if there will be none",
                    self.kind,
                    subject.file.display()
                );
            } else {
                tidy(&format!("fathom {}", self.kind), &subject.file);
            }
        }
    }
}

impl Came {
    /// Says how it ended and how it goes on. `told` is what came of telling the result, `partial` what that is worth when the
    /// time was up.
    pub fn outcome(&self, left: usize, told: Outcome, partial: Outcome) -> Outcome {
        let go_on = self
            .resume
            .as_ref()
            .map_or(String::new(), |command| format!("; `{command}` goes on"));
        let (why, outcome) = match &self.ended {
            Ended::Done => (None, told),
            Ended::Interrupted if self.resume.is_some() => (
                Some("interrupted, what was measured is kept".to_owned()),
                Outcome::Interrupted,
            ),
            Ended::Interrupted => (Some("interrupted".to_owned()), Outcome::Interrupted),
            Ended::OutOfTime if left == 0 => (
                Some(
                    "the budget is used up; what was planned so far was measured, more was to come"
                        .to_owned(),
                ),
                partial,
            ),
            Ended::OutOfTime => (
                Some(format!("the budget is used up; cells not measured: {left}")),
                partial,
            ),
            Ended::Full(why) | Ended::Stopped(why) => (Some(why.clone()), Outcome::Bad),
        };
        if let Some(why) = why {
            eprint_line!("fathom {}: {why}{go_on}", self.kind);
        }
        match &self.trouble {
            Some(trouble) => {
                eprint_line!("fathom {}: {trouble}", self.kind);
                Outcome::Bad
            }
            None => outcome,
        }
    }
}
