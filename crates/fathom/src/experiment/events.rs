//! An experiment told to programs: a JSON object in each line.

use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use fathom_linux::{OutputName, Outputs};
use fathom_model::Progress;
use fathom_plan::PlannedCell;

use super::cell::MeasuredCell;
use super::lines::place;
use super::observer::{Observer, Position};

/// Progress is told this often.
const EVERY: Duration = Duration::from_secs(1);

/// Writes events. A reader that went away is no reason to stop measuring.
pub struct Events {
    out: Box<dyn Write>,
    name: String,
    told: Instant,
}

impl Events {
    /// Writes to a file (in place of what was there), or to the standard output for `-`.
    ///
    /// # Errors
    /// When the file cannot be made.
    pub fn open(name: &str, outputs: &Outputs) -> Result<Events, String> {
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
            out,
            name: String::new(),
            told: Instant::now(),
        })
    }

    fn tell(&mut self, line: &str) {
        let _ = self
            .out
            .write_all(line.as_bytes())
            .and_then(|()| self.out.flush());
    }
}

impl Observer for Events {
    fn opens(&mut self, kind: &str, cells: usize, run: Option<&str>) {
        self.tell(&fathom_report::begin_event(kind, cells, run));
    }

    fn begins(&mut self, standing: &Position, cell: &PlannedCell) {
        self.name = cell.id();
        self.told = Instant::now();
        self.tell(&fathom_report::cell_event(
            &place(standing, &self.name),
            &cell.values,
        ));
    }

    fn progress(&mut self, standing: &Position, progress: &Progress) {
        if self.told.elapsed() >= EVERY {
            self.told = Instant::now();
            self.tell(&fathom_report::progress_event(
                &place(standing, &self.name),
                progress,
            ));
        }
    }

    fn ends(&mut self, standing: &Position, cell: &PlannedCell, came: Result<&MeasuredCell, &str>) {
        let place = place(standing, &cell.id());
        let line = match came {
            Ok(measured) => fathom_report::done_event(
                &place,
                &cell.values,
                &measured.figures,
                &measured.findings.findings,
            ),
            Err(why) => fathom_report::failed_event(&place, why),
        };
        self.tell(&line);
    }

    fn closes(&mut self, how: &str, resume: Option<&str>) {
        self.tell(&fathom_report::end_event(how, resume));
    }
}
