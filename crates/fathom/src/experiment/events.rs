//! The events of an experiment for programs: one JSON object in each line.

use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use fathom_experiment::{MeasuredCell, Observer, Position};
use fathom_linux::{OutputName, Outputs};
use fathom_model::Progress;
use fathom_plan::PlannedCell;

use super::lines::cell_position;
use crate::session::Session;

/// The interval of progress events.
const EVERY: Duration = Duration::from_secs(1);

/// Writes events. The experiment continues when the reader has closed its end.
pub struct Events {
    session: Session,
    out: Box<dyn Write>,
    name: String,
    last_progress: Instant,
}

impl Events {
    /// Writes to a file, which it replaces, or to standard output for `-`.
    ///
    /// # Errors
    /// When the file cannot be created.
    pub fn open(session: &Session, name: &str, outputs: &Outputs) -> Result<Events, String> {
        let out: Box<dyn Write> = if name == "-" {
            Box::new(std::io::stdout())
        } else {
            Box::new(
                outputs
                    .stream(Path::new(name), OutputName::Explicit)
                    .map_err(|error| format!("--events: {error}"))?,
            )
        };
        Ok(Events {
            session: session.clone(),
            out,
            name: String::new(),
            last_progress: session.now(),
        })
    }

    fn write_line(&mut self, line: &str) {
        let _ = self
            .out
            .write_all(line.as_bytes())
            .and_then(|()| self.out.flush());
    }
}

impl Observer for Events {
    fn experiment_started(&mut self, kind: &str, cells: usize, run: Option<&str>) {
        self.write_line(&fathom_report::begin_event(kind, cells, run));
    }

    fn cell_started(&mut self, position: &Position, cell: &PlannedCell) {
        self.name = cell.id();
        self.last_progress = self.session.now();
        self.write_line(&fathom_report::cell_event(
            &cell_position(position, &self.name, self.last_progress),
            &cell.values,
        ));
    }

    fn progress(&mut self, position: &Position, progress: &Progress) {
        let now = self.session.now();
        if now.saturating_duration_since(self.last_progress) >= EVERY {
            self.last_progress = now;
            self.write_line(&fathom_report::progress_event(
                &cell_position(position, &self.name, now),
                progress,
            ));
        }
    }

    fn cell_finished(
        &mut self,
        position: &Position,
        cell: &PlannedCell,
        result: Result<&MeasuredCell, &str>,
    ) {
        let event_position = cell_position(position, &cell.id(), self.session.now());
        let line = match result {
            Ok(measured) => fathom_report::done_event(
                &event_position,
                &cell.values,
                &measured.figures,
                &measured.findings.findings,
            ),
            Err(reason) => fathom_report::failed_event(&event_position, reason),
        };
        self.write_line(&line);
    }

    fn experiment_finished(&mut self, how: &str, resume: Option<&str>) {
        self.write_line(&fathom_report::end_event(how, resume));
    }
}
