//! A terminal that belongs to the view while it lives.

use std::io::{self, Write};

use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::{Hide, Show};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{EnterAlternateScreen, LeaveAlternateScreen};

use crate::draw::draw;
use crate::view::View;

/// The other screen of a terminal. Keys keep their meaning: an interrupt is an interrupt.
pub struct FullScreen<W: Write> {
    terminal: Terminal<CrosstermBackend<W>>,
}

impl<W: Write> FullScreen<W> {
    /// Takes the terminal behind `out` over.
    ///
    /// # Errors
    /// When it is none, or cannot be written to.
    pub fn open(mut out: W) -> io::Result<FullScreen<W>> {
        execute!(out, EnterAlternateScreen, Hide)?;
        Ok(FullScreen {
            terminal: Terminal::new(CrosstermBackend::new(out))?,
        })
    }

    /// Shows the view.
    ///
    /// # Errors
    /// When the terminal cannot be written to.
    pub fn show(&mut self, view: &View) -> io::Result<()> {
        self.terminal.draw(|frame| draw(view, frame)).map(drop)
    }
}

impl<W: Write> Drop for FullScreen<W> {
    fn drop(&mut self) {
        // A terminal that has gone needs nothing put back.
        let _ = execute!(self.terminal.backend_mut(), Show, LeaveAlternateScreen);
    }
}
