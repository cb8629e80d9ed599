//! Reads the I/O of a trace line by line.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::io::{BufRead, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use fathom_model::{Direction, Nanos, ReplayReading, ReplayTiming, TraceAction, TraceEntry};

use super::line::{self, Event, Line, Version};
use super::timeline::Timeline;
use super::{MAX_LINE, TraceError};
use crate::limits::MAX_TRANSFER;
use crate::text::shorten;

/// Maximum number of files in a trace, and of bytes of their names.
const MAX_FILES: usize = 65_536;
const MAX_NAME_BYTES: usize = 16 << 20;

/// Reads the I/O of a trace in order, in constant memory except for the file names.
pub struct TraceReader<R> {
    source: R,
    reading: ReplayReading,
    version: Version,
    number: u64,
    line: Vec<u8>,
    files: Files,
    timeline: Timeline,
    bad_lines: u64,
    waits: bool,
}

impl<R: BufRead> TraceReader<R> {
    /// Opens a trace.
    ///
    /// # Errors
    /// When it is not a trace, or cannot be read.
    pub fn new(source: R, reading: &ReplayReading) -> Result<Self, TraceError> {
        let mut reader = TraceReader {
            source,
            reading: reading.clone(),
            version: Version::Three,
            number: 0,
            line: Vec::new(),
            files: Files::default(),
            timeline: Timeline::new(reading, Version::Three),
            bad_lines: 0,
            waits: false,
        };
        reader.read_line()?;
        reader.version = line::version(&reader.line)?;
        reader.timeline = Timeline::new(reading, reader.version);
        Ok(reader)
    }

    /// The next I/O; `None` at the end of the trace. [`ReplayTiming`] defines its time, and its file is an index into
    /// [`TraceReader::paths`].
    ///
    /// # Errors
    /// The first error.
    pub fn next_io(&mut self) -> Result<Option<TraceEntry>, TraceError> {
        while self.read_line()? {
            let line = std::mem::take(&mut self.line);
            let taken = self.take(&line);
            self.line = line;
            match taken {
                Ok(None) => {}
                Ok(entry) => return Ok(entry),
                Err(problem) if self.reading.lenient && problem.skippable => self.bad_lines += 1,
                Err(problem) => return Err(problem.at(self.number)),
            }
        }
        Ok(None)
    }

    /// Paths of the files that had I/O so far, by index.
    #[must_use]
    pub fn paths(&self) -> &[PathBuf] {
        &self.files.paths
    }

    /// The effective timing: the requested one, as far as the version of the trace supports it.
    #[must_use]
    pub fn timing(&self) -> ReplayTiming {
        self.timeline.timing()
    }

    /// From the start to the last line read.
    #[must_use]
    pub fn length(&self) -> Nanos {
        self.timeline.length()
    }

    /// Number of invalid lines that were skipped.
    #[must_use]
    pub fn bad_lines(&self) -> u64 {
        self.bad_lines
    }

    /// Whether the trace has wait lines, as in version 2.
    #[must_use]
    pub fn has_waits(&self) -> bool {
        self.waits
    }

    /// The current line, from 1.
    #[must_use]
    pub fn line(&self) -> u64 {
        self.number
    }

    /// False at the end.
    fn read_line(&mut self) -> Result<bool, TraceError> {
        self.line.clear();
        self.number += 1;
        let limit = MAX_LINE as u64 + 1;
        let read = self
            .source
            .by_ref()
            .take(limit)
            .read_until(b'\n', &mut self.line);
        read.map_err(|error| {
            TraceError::new(self.number, format!("cannot read the trace: {error}"))
        })?;
        if self.line.len() > MAX_LINE && self.number > 1 {
            return Err(TraceError::new(
                self.number,
                format!("the line is longer than {MAX_LINE} bytes"),
            ));
        }
        Ok(!self.line.is_empty())
    }

    fn take(&mut self, line: &[u8]) -> Result<Option<TraceEntry>, Problem> {
        let Line {
            timestamp,
            done,
            file,
            event,
        } = match line::parse(line, self.version) {
            Ok(Some(line)) => line,
            Ok(None) => return Ok(None),
            Err(_) if line.starts_with(b"fio version ") => {
                return Err(Problem::skippable(SECOND_TRACE).advise(SECOND_ADVICE));
            }
            Err(problem) => return Err(Problem::skippable(problem)),
        };
        if let Some(timestamp) = timestamp {
            self.timeline.timestamp(timestamp);
        }
        let redirected = self.reading.redirect.is_some();
        match event {
            Event::Wait(time) => {
                self.waits = true;
                self.timeline.wait(time);
            }
            _ if redirected && !matches!(event, Event::Io { .. }) => {}
            Event::Add => self.files.add(file)?,
            Event::Open => self.files.open(file, true)?,
            Event::Close => self.files.open(file, false)?,
            Event::Io {
                action,
                offset,
                len,
            } => return self.io(file, action, offset, len, done),
        }
        Ok(None)
    }

    fn io(
        &mut self,
        file: &[u8],
        action: TraceAction,
        offset: u64,
        len: u32,
        done: u64,
    ) -> Result<Option<TraceEntry>, Problem> {
        if self.is_skipped(action) {
            self.timeline.skip();
            return Ok(None);
        }
        let moves = matches!(action, TraceAction::Read | TraceAction::Write);
        if moves && u64::from(len) > MAX_TRANSFER {
            return Err(Problem::fatal(format!(
                "{len} bytes in one I/O exceed the limit of {MAX_TRANSFER}"
            )));
        }
        let offset = (offset / self.reading.scale.max(1)) & !(self.reading.align.max(1) - 1);
        if offset
            .checked_add(u64::from(len))
            .is_none_or(|end| end > i64::MAX as u64)
        {
            return Err(Problem::fatal(format!(
                "the I/O of {len} bytes at offset {offset} is outside of any possible file"
            )));
        }
        let index = self.files.used(file, &self.reading)?;
        Ok(Some(TraceEntry {
            at: self.timeline.take(),
            file: index,
            action,
            offset,
            len,
            done: Nanos::new(done),
        }))
    }

    fn is_skipped(&self, action: TraceAction) -> bool {
        let skip = &self.reading.skip;
        match action {
            TraceAction::Read => skip[Direction::Read],
            TraceAction::Write => skip[Direction::Write],
            TraceAction::Trim => skip[Direction::Trim],
            TraceAction::Sync => self.reading.skip_sync,
            // fio's replay_skip cannot name it.
            TraceAction::Datasync => false,
        }
    }
}

const SECOND_TRACE: &str = "a second trace begins here";
const SECOND_ADVICE: &str = "traces are appended to their file: keep one of the two";

/// Files by name. Only those with I/O get an index.
#[derive(Default)]
struct Files {
    known: HashMap<Vec<u8>, File>,
    paths: Vec<PathBuf>,
    name_bytes: usize,
    /// The file of the last I/O, which usually is that of the next.
    last: Vec<u8>,
    last_index: Option<u32>,
}

#[derive(Clone, Copy, Default)]
struct File {
    open: bool,
    index: Option<u32>,
}

impl Files {
    fn add(&mut self, name: &[u8]) -> Result<(), Problem> {
        if self.known.contains_key(name) {
            return Ok(());
        }
        self.name_bytes += name.len();
        if self.known.len() >= MAX_FILES || self.name_bytes > MAX_NAME_BYTES {
            let problem = format!(
                "more than {MAX_FILES} files, or {} MiB of names, in one trace",
                MAX_NAME_BYTES >> 20
            );
            return Err(Problem::fatal(problem).advise("split the trace, or set replay_redirect"));
        }
        self.known.insert(name.to_vec(), File::default());
        Ok(())
    }

    fn open(&mut self, name: &[u8], open: bool) -> Result<(), Problem> {
        self.last_index = None;
        match self.known.get_mut(name) {
            Some(file) => {
                file.open = open;
                Ok(())
            }
            None => Err(Problem::fatal(format!(
                "no earlier line adds the file '{}'",
                shown(name)
            ))),
        }
    }

    /// The index of a file that is used.
    fn used(&mut self, name: &[u8], reading: &ReplayReading) -> Result<u32, Problem> {
        if let Some(target) = &reading.redirect {
            if self.paths.is_empty() {
                self.paths.push(PathBuf::from(target));
            }
            return Ok(0);
        }
        if let Some(index) = self.last_index.filter(|_| self.last == name) {
            return Ok(index);
        }
        let Some(file) = self.known.get_mut(name) else {
            return Err(Problem::fatal(format!(
                "no earlier line adds the file '{}'",
                shown(name)
            )));
        };
        if !file.open {
            let problem = format!("the file '{}' is not open", shown(name));
            return Err(Problem::fatal(problem).advise("fio fails too: add a line that opens it"));
        }
        let next = self.paths.len() as u32;
        let index = *file.index.get_or_insert(next);
        if index == next {
            self.paths.push(path(name, reading.directory.as_deref()));
        }
        self.last.clear();
        self.last.extend_from_slice(name);
        self.last_index = Some(index);
        Ok(index)
    }
}

/// A relative name is relative to the directory of the job.
fn path(name: &[u8], directory: Option<&str>) -> PathBuf {
    let own = PathBuf::from(OsStr::from_bytes(name));
    directory.map_or_else(
        || own.clone(),
        |directory| PathBuf::from(directory).join(&own),
    )
}

fn shown(name: &[u8]) -> String {
    shorten(&String::from_utf8_lossy(name)).to_string()
}

/// An error without its line.
struct Problem {
    problem: String,
    advice: Option<&'static str>,
    /// fio reports it and continues.
    skippable: bool,
}

impl Problem {
    fn skippable(problem: &str) -> Self {
        Problem {
            problem: problem.to_owned(),
            advice: None,
            skippable: true,
        }
    }

    fn fatal(problem: String) -> Self {
        Problem {
            problem,
            advice: None,
            skippable: false,
        }
    }

    fn advise(self, advice: &'static str) -> Self {
        Problem {
            advice: Some(advice),
            ..self
        }
    }

    fn at(self, line: u64) -> TraceError {
        TraceError {
            line,
            problem: self.problem,
            advice: self.advice,
        }
    }
}
