//! An experiment told in lines on the error stream: one for each cell, and on a terminal one that lives.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use fathom_model::Progress;
use fathom_plan::PlannedCell;

use super::cell::MeasuredCell;
use super::observer::{Observer, Position};
use crate::print::eprint_line;
use crate::screen;

/// The live line is renewed this often.
const RENEW: Duration = Duration::from_millis(500);

/// Tells in lines.
pub struct Lines {
    live: bool,
    shown: Option<Instant>,
    /// Columns of the line that stands there.
    dirty: usize,
    name: String,
}

impl Lines {
    /// The live line only where it can be overwritten.
    pub fn new() -> Lines {
        Lines {
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

    /// A line that cannot be shown is no reason to stop measuring.
    fn write(&self, text: &str) {
        let mut out = std::io::stderr();
        let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    }
}

impl Observer for Lines {
    fn begins(&mut self, _standing: &Position, cell: &PlannedCell) {
        self.name = cell.id();
        self.shown = None;
    }

    fn progress(&mut self, standing: &Position, progress: &Progress) {
        if !self.live || self.shown.is_some_and(|at| at.elapsed() < RENEW) {
            return;
        }
        self.shown = Some(Instant::now());
        let (before, width) = (self.dirty, screen::width().saturating_sub(1).max(20));
        let line = fathom_report::cell_status_line(&place(standing, &self.name), progress, width);
        self.dirty = line.chars().count();
        self.write(&format!("{line:before$}\r"));
    }

    fn ends(&mut self, standing: &Position, cell: &PlannedCell, came: Result<&MeasuredCell, &str>) {
        self.wipe();
        if cell.prepares {
            return;
        }
        let came = came.map(|measured| &measured.figures);
        eprint_line!(
            "{}",
            fathom_report::cell_line(&place(standing, &cell.id()), came)
        );
    }
}

/// The standing in the words of the report.
pub(super) fn place(standing: &Position, name: &str) -> fathom_report::CellPosition {
    fathom_report::CellPosition {
        number: standing.number,
        all: standing.all,
        name: name.to_owned(),
        left: standing.left(),
    }
}
