//! `--watch`: the full-screen view of an experiment.

use std::io::{IsTerminal, Stderr};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use fathom_analyse::{Window, WindowFigures};
use fathom_experiment::{MeasuredCell, Observer, Position};
use fathom_live::{FullScreen, Step, View};
use fathom_model::{Nanos, Progress, Recording};
use fathom_plan::PlannedCell;
use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, Termios};

use super::lines::cell_position;
use crate::session::Session;

/// The interval of drawing the screen.
const DRAW_INTERVAL: Duration = Duration::from_millis(200);
/// The interval of analysing the state, unless the analysis takes long.
const STATE_INTERVAL: Duration = Duration::from_secs(1);
/// The analysis takes at most one part in this many of the time.
const STATE_SHARE: u32 = 20;

/// Shows the view, and restores the terminal when dropped.
pub struct Watching {
    session: Session,
    screen: FullScreen<Stderr>,
    view: View,
    window: Window,
    drawn: Instant,
    analysed: Instant,
    pause: Duration,
    keys: Option<Keys>,
}

/// Keys that are read without a line end and without waiting. Ctrl-C stays a signal.
struct Keys(Termios);

impl Keys {
    /// `None` if standard input is not a terminal.
    fn open() -> Option<Keys> {
        let input = std::io::stdin();
        let before = rustix::termios::tcgetattr(input.as_fd()).ok()?;
        let mut now = before.clone();
        now.local_modes
            .remove(LocalModes::ICANON | LocalModes::ECHO);
        now.special_codes[SpecialCodeIndex::VMIN] = 0;
        now.special_codes[SpecialCodeIndex::VTIME] = 0;
        rustix::termios::tcsetattr(input.as_fd(), OptionalActions::Now, &now).ok()?;
        Some(Keys(before))
    }

    /// Whether the user has typed `q`.
    fn quits() -> bool {
        let mut typed = [0; 16];
        let n = rustix::io::read(std::io::stdin().as_fd(), &mut typed).unwrap_or(0);
        typed[..n].contains(&b'q')
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        let input = std::io::stdin();
        let _ = rustix::termios::tcsetattr(input.as_fd(), OptionalActions::Now, &self.0);
    }
}

impl Watching {
    /// Checks that this build has the view, and that standard error is a terminal.
    ///
    /// # Errors
    /// When it is not, with the alternatives.
    pub fn check() -> Result<(), String> {
        fathom_live::check_screen().map_err(|error| format!("--watch: {error}"))?;
        let message = "--watch needs a terminal; without it each cell is a line, and --events=FILE writes events for programs";
        if std::io::stderr().is_terminal() {
            Ok(())
        } else {
            Err(message.to_owned())
        }
    }

    /// Opens the view on the terminal.
    ///
    /// # Errors
    /// When there is no terminal.
    pub fn open(session: &Session, title: &str) -> Result<Watching, String> {
        Watching::check()?;
        let screen = FullScreen::open(std::io::stderr())
            .map_err(|error| format!("--watch: the terminal: {error}"))?;
        let now = session.now();
        let view = View::new(title);
        Ok(Watching {
            session: session.clone(),
            screen,
            view,
            window: Window::default(),
            drawn: now,
            analysed: now,
            pause: STATE_INTERVAL,
            keys: Keys::open(),
        })
    }

    /// A failed draw does not stop the experiment.
    fn draw(&mut self) {
        self.drawn = self.session.now();
        let _ = self.screen.show(&self.view);
        if self.keys.is_some() && Keys::quits() {
            // As Ctrl-C.
            let _ = rustix::process::kill_process(
                rustix::process::getpid(),
                rustix::process::Signal::INT,
            );
        }
    }
}

impl Observer for Watching {
    fn cell_started(&mut self, position: &Position, cell: &PlannedCell) {
        self.view.begin(&cell.id(), position.number, position.all);
        self.window = Window::default();
        self.draw();
    }

    fn progress(&mut self, position: &Position, progress: &Progress) {
        if self.session.elapsed(self.drawn) < DRAW_INTERVAL {
            return;
        }
        let share = match (progress.layout, progress.expected) {
            (Some((done, all)), _) if all.get() > 0 => Some(done.get() as f64 / all.get() as f64),
            (None, Some(expected)) if !expected.is_zero() => {
                Some(progress.elapsed.as_secs_f64() / expected.as_secs_f64())
            }
            _ => None,
        };
        let line = fathom_report::live_line(progress, fathom_model::Personality::Fathom, 200);
        self.view
            .progress(share, &line, position.time_left(self.session.now()));
        self.draw();
    }

    fn wants_state(&mut self, _elapsed: Nanos) -> bool {
        let due = self.session.elapsed(self.analysed) >= self.pause;
        if due {
            self.analysed = self.session.now();
        }
        due
    }

    fn state(&mut self, state: &Recording) {
        let started = Instant::now();
        if let Some(figures) = self.window.update(state) {
            self.view.step(step(&figures));
        }
        let mut found = fathom_analyse::findings(state).findings;
        found.retain(|finding| judged_while_running(finding.code));
        self.view.found(&found);
        self.pause = STATE_INTERVAL.max(started.elapsed() * STATE_SHARE);
    }

    fn cell_finished(
        &mut self,
        position: &Position,
        cell: &PlannedCell,
        result: Result<&MeasuredCell, &str>,
    ) {
        if !cell.prepares {
            let result = result.map(|measured| &measured.figures);
            self.view.end(&fathom_report::cell_line(
                &cell_position(position, &cell.id(), self.session.now()),
                result,
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

/// Whether a finding can be judged before the end. Others would count I/O in flight or still to come as missing.
fn judged_while_running(code: &str) -> bool {
    fathom_analyse::explain(code).is_some_and(|kind| kind.while_running)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Regression 0185: the live view reported a running run as too short and its I/O as not
    /// conserved.
    #[test]
    fn findings_that_need_the_end_are_not_shown_before() {
        assert!(judged_while_running("SHORT_IO"));
        assert!(!judged_while_running("NOT_CONSERVED") && !judged_while_running("RAN_SHORT"));
    }
}
