//! The progress of an experiment as lines on standard error: one for each cell, and on a terminal a status line.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use fathom_experiment::{MeasuredCell, Observer, Position};
use fathom_model::Progress;
use fathom_plan::PlannedCell;

use crate::print::eprint_line;
use crate::screen;
use crate::session::Session;

/// The interval of the status line.
const RENEW: Duration = Duration::from_millis(500);

/// Writes one line for each cell.
pub struct Lines {
    session: Session,
    live: bool,
    shown: Option<Instant>,
    /// Columns of the status line on the terminal.
    dirty: usize,
    name: String,
}

impl Lines {
    /// Shows the status line only on a terminal, where it can be overwritten.
    pub fn new(session: &Session) -> Lines {
        Lines {
            session: session.clone(),
            live: std::io::stderr().is_terminal(),
            shown: None,
            dirty: 0,
            name: String::new(),
        }
    }

    fn wipe(&mut self) {
        let columns = std::mem::take(&mut self.dirty);
        if columns > 0 {
            self.write(&format!("{:columns$}\r", ""));
        }
    }

    /// A failed write does not stop the experiment.
    fn write(&self, text: &str) {
        let mut out = std::io::stderr();
        let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    }
}

impl Observer for Lines {
    fn cell_started(&mut self, _position: &Position, cell: &PlannedCell) {
        self.name = cell.id();
        self.shown = None;
    }

    fn progress(&mut self, position: &Position, progress: &Progress) {
        let is_recent = |at| self.session.elapsed(at) < RENEW;
        if !self.live || self.shown.is_some_and(is_recent) {
            return;
        }
        let now = self.session.now();
        self.shown = Some(now);
        let (before, width) = (self.dirty, screen::line_width());
        let line = fathom_report::cell_status_line(
            &cell_position(position, &self.name, now),
            progress,
            width,
        );
        self.dirty = line.chars().count();
        self.write(&format!("{line:before$}\r"));
    }

    fn cell_finished(
        &mut self,
        position: &Position,
        cell: &PlannedCell,
        result: Result<&MeasuredCell, &str>,
    ) {
        self.wipe();
        if cell.prepares {
            return;
        }
        let result = result.map(|measured| &measured.figures);
        let position = cell_position(position, &cell.id(), self.session.now());
        if self.live {
            let lines = fathom_report::cell_lines(&position, result, screen::line_width());
            lines.lines().for_each(|line| eprint_line!("{line}"));
        } else {
            eprint_line!("{}", fathom_report::cell_line(&position, result));
        }
    }
}

/// The position as the report shows it.
pub(super) fn cell_position(
    position: &Position,
    name: &str,
    now: Instant,
) -> fathom_report::CellPosition {
    fathom_report::CellPosition {
        number: position.number,
        all: position.all,
        name: name.to_owned(),
        left: position.time_left(now),
    }
}
