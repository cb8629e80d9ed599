//! fio's I/O log, version 3, which `write_iolog` writes and `read_iolog` replays.

use std::fmt::Write;

use fathom_model::{Job, Nanos, TraceEntry};

/// The first line of a trace.
pub(crate) const HEADER: &str = "fio version 3 iolog\n";

/// The trace of one job: `µs, file, action[, offset, bytes]`, separated by spaces.
pub(crate) struct Trace {
    files: Vec<String>,
    begun: bool,
    last: Nanos,
}

impl Trace {
    pub(crate) fn of(job: &Job) -> Trace {
        let files = job
            .files
            .paths
            .iter()
            .map(|path| path.display().to_string())
            .collect();
        Trace {
            files,
            begun: false,
            last: Nanos::ZERO,
        }
    }

    /// The lines of these entries; the first call names the files.
    pub(crate) fn lines(&mut self, entries: &[TraceEntry]) -> String {
        let mut text = self.begin();
        for entry in entries {
            let Some(file) = self.files.get(entry.file as usize) else {
                continue;
            };
            let TraceEntry {
                at,
                action,
                offset,
                len,
                ..
            } = entry;
            // Writing to a String cannot fail.
            let _ = writeln!(
                text,
                "{} {file} {} {offset} {len}",
                micros(*at),
                action.name()
            );
            self.last = *at;
        }
        text
    }

    /// The last lines.
    pub(crate) fn end(&mut self) -> String {
        self.begin() + &self.of_files("close")
    }

    fn begin(&mut self) -> String {
        if std::mem::replace(&mut self.begun, true) {
            return String::new();
        }
        self.of_files("add") + &self.of_files("open")
    }

    fn of_files(&self, action: &str) -> String {
        self.files
            .iter()
            .map(|file| format!("{} {file} {action}\n", micros(self.last)))
            .collect()
    }
}

fn micros(at: Nanos) -> u64 {
    at.get() / 1000
}
