//! `--watch`: an experiment on the whole screen of a terminal.

use std::io::{IsTerminal, Stderr};
use std::time::{Duration, Instant};

use fathom_analyse::{Window, WindowFigures};
use fathom_live::{FullScreen, Step, View};
use fathom_model::{Nanos, Progress, Recording};
use fathom_plan::PlannedCell;

use super::cell::MeasuredCell;
use super::lines::place;
use super::observer::{Observer, Position};

/// The screen is drawn this often.
const DRAW: Duration = Duration::from_millis(200);
/// The state is looked at this often, unless looking takes long.
const LOOK: Duration = Duration::from_secs(1);
/// Looking takes no more than this part of the time.
const PART: u32 = 20;

/// Shows the view while it lives; the terminal is as it was afterwards.
pub struct Watching {
    screen: FullScreen<Stderr>,
    view: View,
    window: Window,
    drawn: Instant,
    looked: Instant,
    pause: Duration,
}

impl Watching {
    /// Whether there is a terminal.
    ///
    /// # Errors
    /// When there is none, and what to do then.
    pub fn can() -> Result<(), String> {
        let why = "--watch needs a terminal; without it the cells are told in lines, and --events=FILE tells programs";
        if std::io::stderr().is_terminal() {
            Ok(())
        } else {
            Err(why.to_owned())
        }
    }

    /// Takes the terminal over.
    ///
    /// # Errors
    /// When there is none.
    pub fn open(title: &str) -> Result<Watching, String> {
        Watching::can()?;
        let screen = FullScreen::open(std::io::stderr())
            .map_err(|error| format!("--watch: the terminal: {error}"))?;
        let now = Instant::now();
        let view = View::new(title);
        Ok(Watching {
            screen,
            view,
            window: Window::default(),
            drawn: now,
            looked: now,
            pause: LOOK,
        })
    }

    /// A picture that cannot be shown is no reason to stop measuring.
    fn draw(&mut self) {
        self.drawn = Instant::now();
        let _ = self.screen.show(&self.view);
    }
}

impl Observer for Watching {
    fn begins(&mut self, standing: &Position, cell: &PlannedCell) {
        self.view.begin(&cell.id(), standing.number, standing.all);
        self.window = Window::default();
        self.draw();
    }

    fn progress(&mut self, standing: &Position, progress: &Progress) {
        if self.drawn.elapsed() < DRAW {
            return;
        }
        let share = match (progress.layout, progress.expected) {
            (Some((done, all)), _) if all.get() > 0 => Some(done.get() as f64 / all.get() as f64),
            (None, Some(expected)) if !expected.is_zero() => {
                Some(progress.elapsed.as_secs_f64() / expected.as_secs_f64())
            }
            _ => None,
        };
        let words = fathom_report::live_line(progress, fathom_model::Personality::Fathom, 200);
        self.view.progress(share, &words, standing.left());
        self.draw();
    }

    fn wants_state(&mut self, _elapsed: Nanos) -> bool {
        let due = self.looked.elapsed() >= self.pause;
        if due {
            self.looked = Instant::now();
        }
        due
    }

    fn state(&mut self, state: &Recording) {
        let begun = Instant::now();
        if let Some(figures) = self.window.update(state) {
            self.view.step(step(&figures));
        }
        let mut found = fathom_analyse::findings(state).findings;
        found.retain(|finding| judged_while_running(finding.code));
        self.view.found(&found);
        self.pause = LOOK.max(begun.elapsed() * PART);
    }

    fn ends(&mut self, standing: &Position, cell: &PlannedCell, came: Result<&MeasuredCell, &str>) {
        if !cell.prepares {
            let came = came.map(|measured| &measured.figures);
            self.view.end(&fathom_report::cell_line(
                &place(standing, &cell.id()),
                came,
            ));
        }
        self.draw();
    }
}

fn step(figures: &WindowFigures) -> Step {
    let WindowFigures {
        iops,
        bandwidth,
        p50,
        p99,
        heat,
    } = *figures;
    Step {
        iops,
        bandwidth,
        p50,
        p99,
        heat,
    }
}

/// Other findings would take I/O in flight, or still to come, for missing.
fn judged_while_running(code: &str) -> bool {
    fathom_analyse::explain(code).is_some_and(|kind| kind.while_running)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Regression 0185: the view said of a run that goes on that its I/O was not conserved and that it was too short.
    #[test]
    fn findings_that_need_the_end_are_not_shown_before() {
        assert!(judged_while_running("SHORT_IO"));
        assert!(!judged_while_running("NOT_CONSERVED") && !judged_while_running("RAN_SHORT"));
    }
}
