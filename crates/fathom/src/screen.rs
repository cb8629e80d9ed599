//! The terminal: width, colour and the progress line.

use std::io::{IsTerminal, Write};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use fathom_cli::ColorMode;
use fathom_model::{Personality, Progress};
use fathom_plan::{Eta, OutputFormat, Reporting};
use fathom_report::Style;

use crate::session::Session;

/// Interval of the progress line.
const RENEW: Duration = Duration::from_millis(500);
const DEFAULT_WIDTH: usize = 80;

/// `--color`.
static COLOR: OnceLock<ColorMode> = OnceLock::new();

/// `--width`.
static WIDTH: OnceLock<usize> = OnceLock::new();
/// The narrowest text.
const NARROWEST: usize = 20;

/// Sets the width of text, if it was asked for. The first call wins.
pub fn set_width(columns: Option<usize>) {
    if let Some(columns) = columns {
        let _ = WIDTH.set(columns);
    }
}

/// The width of text: `--width`, else that of the terminal, else `COLUMNS`.
fn text_width(to_terminal: bool) -> usize {
    let columns = || {
        let text = std::env::var("COLUMNS").ok()?;
        text.parse().ok().filter(|columns| *columns > 0)
    };
    match WIDTH.get() {
        Some(columns) => *columns,
        None if to_terminal => width(),
        None => columns().unwrap_or(DEFAULT_WIDTH),
    }
    .max(NARROWEST)
}

/// Sets when output is coloured. The first call wins.
pub fn set_color(mode: ColorMode) {
    let _ = COLOR.set(mode);
}

/// Whether output is coloured: `--color`, else NO_COLOR (no-color.org), else CLICOLOR_FORCE, else on a terminal.
fn has_colour(to_terminal: bool) -> bool {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    match COLOR.get() {
        Some(ColorMode::Always) => true,
        Some(ColorMode::Never) => false,
        _ if set("NO_COLOR").is_some() => false,
        _ if set("CLICOLOR_FORCE").is_some_and(|value| value != "0") => true,
        _ => to_terminal,
    }
}

/// The style of output to a terminal or to a file.
pub fn style(to_terminal: bool, version: &str) -> Style {
    Style {
        version: version.to_owned(),
        width: text_width(to_terminal),
        colour: has_colour(to_terminal),
        ascii: !is_utf8(),
        utc_offset_s: fathom_linux::utc_offset_s(),
        eta_s: 0,
    }
}

fn is_utf8() -> bool {
    let of = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let locale = of("LC_ALL")
        .or_else(|| of("LC_CTYPE"))
        .or_else(|| of("LANG"))
        .unwrap_or_default();
    locale.to_uppercase().replace('-', "").contains("UTF8")
}

/// Columns of the terminal; some terminals say 0.
pub fn width() -> usize {
    rustix::termios::tcgetwinsize(std::io::stderr())
        .ok()
        .map(|size| usize::from(size.ws_col))
        .filter(|columns| *columns > 0)
        .unwrap_or(DEFAULT_WIDTH)
}

/// Columns of progress lines and results of cells on standard error.
pub fn line_width() -> usize {
    WIDTH
        .get()
        .copied()
        .unwrap_or_else(|| width().saturating_sub(1))
        .max(NARROWEST)
}

/// Shows the progress of a run: fio on standard output and only with text, fathom on standard error, so that documents
/// stay clean.
pub struct Screen {
    session: Session,
    personality: Personality,
    live: bool,
    interval: Duration,
    newline: Option<Duration>,
    shown: Option<Instant>,
    last_new_line: Instant,
    /// Columns of the current line.
    columns_shown: usize,
}

impl Screen {
    /// A screen according to `--eta`.
    pub fn new(session: &Session, personality: Personality, reporting: &Reporting) -> Screen {
        let is_fio = personality == Personality::Fio;
        let terminal = if is_fio {
            std::io::stdout().is_terminal()
        } else {
            std::io::stderr().is_terminal()
        };
        let live = match reporting.eta {
            Eta::Always => true,
            Eta::Never => false,
            Eta::Auto => terminal && !reporting.quiet,
        };
        let to_duration = |time: fathom_model::Nanos| Duration::from_nanos(time.get());
        let default_interval = if is_fio { 2 * RENEW } else { RENEW };
        Screen {
            session: session.clone(),
            personality,
            live: live && (!is_fio || reporting.formats.contains(&OutputFormat::Normal)),
            interval: reporting
                .eta_interval
                .map_or(default_interval, to_duration)
                .max(Duration::from_millis(100)),
            newline: reporting.eta_newline.map(to_duration),
            shown: None,
            last_new_line: session.now(),
            columns_shown: 0,
        }
    }

    /// Shows `progress` when the interval has passed.
    pub fn show(&mut self, progress: &Progress) {
        let now = self.session.now();
        let age = |at: Instant| now.saturating_duration_since(at);
        if !self.live || self.shown.is_some_and(|at| age(at) < self.interval) {
            return;
        }
        self.shown = Some(now);
        let line = fathom_report::live_line(progress, self.personality, line_width());
        let (columns, previous_columns) = (line.chars().count(), self.columns_shown);
        let new_line = self
            .newline
            .is_some_and(|interval| age(self.last_new_line) >= interval);
        if new_line {
            self.last_new_line = now;
        }
        self.columns_shown = if new_line { 0 } else { columns };
        self.write(&format!(
            "{line:previous_columns$}{}",
            if new_line { '\n' } else { '\r' }
        ));
    }

    /// Clears the progress line before other output. fio leaves it and starts a new one.
    pub fn wipe(&mut self) {
        let columns = std::mem::take(&mut self.columns_shown);
        if columns > 0 && self.personality == Personality::Fathom {
            self.write(&format!("{:columns$}\r", ""));
        }
    }

    /// A progress line that cannot be shown does not stop the measurement.
    fn write(&self, text: &str) {
        let mut out: Box<dyn Write> = match self.personality {
            Personality::Fio => Box::new(std::io::stdout()),
            Personality::Fathom => Box::new(std::io::stderr()),
        };
        let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    }
}
