//! The terminal of the view.

use std::io::{self, Write};

use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::{Hide, Show};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{EnterAlternateScreen, LeaveAlternateScreen};

use crate::draw::draw;
use crate::view::View;

/// The alternate screen of a terminal. Ctrl-C still interrupts.
pub struct FullScreen<W: Write> {
    terminal: Terminal<CrosstermBackend<W>>,
}

/// Checks that this build has the view.
///
/// # Errors
/// Never.
pub fn check_screen() -> io::Result<()> {
    Ok(())
}

impl<W: Write> FullScreen<W> {
    /// Switches the terminal behind `out` to its alternate screen.
    ///
    /// # Errors
    /// If `out` is not a terminal, or writing fails.
    pub fn open(mut out: W) -> io::Result<FullScreen<W>> {
        execute!(out, EnterAlternateScreen, Hide)?;
        Ok(FullScreen {
            terminal: Terminal::new(CrosstermBackend::new(out))?,
        })
    }

    /// Draws the view.
    ///
    /// # Errors
    /// If writing to the terminal fails.
    pub fn show(&mut self, view: &View) -> io::Result<()> {
        self.terminal.draw(|frame| draw(view, frame)).map(drop)
    }
}

impl<W: Write> Drop for FullScreen<W> {
    fn drop(&mut self) {
        // A terminal that has closed needs no restoring.
        let _ = execute!(self.terminal.backend_mut(), Show, LeaveAlternateScreen);
    }
}
