//! A log, line by line, as the I/O it asks for.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::io::{BufRead, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use fathom_model::{Direction, ReplayReading, ReplayTiming, TraceAction, TraceEntry};

use super::line::{self, Line, Version, What};
use super::timeline::Timeline;
use super::{LONGEST_LINE, TraceError};
use crate::limits::LARGEST_BLOCK;
use crate::text::shorten;

/// Most files of one log, and most bytes of their names together.
const MOST_FILES: usize = 65_536;
const MOST_NAME_BYTES: usize = 16 << 20;

/// Reads the I/O of a log in its order, in constant memory but for the names of its files.
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
    /// Begins a log.
    ///
    /// # Errors
    /// When it is none, or cannot be read.
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

    /// The next I/O; `None` at the end of the log. Its time is what [`ReplayTiming`] says of it, its file an index into
    /// [`TraceReader::paths`].
    ///
    /// # Errors
    /// The first mistake.
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

    /// When the I/Os are due: what was asked, as far as the log has it.
    #[must_use]
    pub fn timing(&self) -> ReplayTiming {
        self.timeline.timing()
    }

    /// From the start to the last line read.
    #[must_use]
    pub fn length(&self) -> fathom_model::Nanos {
        self.timeline.length()
    }

    /// Lines that were skipped because they are none.
    #[must_use]
    pub fn bad_lines(&self) -> u64 {
        self.bad_lines
    }

    /// Whether the log waits by lines of its own, as version 2 does.
    #[must_use]
    pub fn has_waits(&self) -> bool {
        self.waits
    }

    /// The line last read, from 1.
    #[must_use]
    pub fn line(&self) -> u64 {
        self.number
    }

    /// False at the end.
    fn read_line(&mut self) -> Result<bool, TraceError> {
        self.line.clear();
        self.number += 1;
        let limit = LONGEST_LINE as u64 + 1;
        let read = self
            .source
            .by_ref()
            .take(limit)
            .read_until(b'\n', &mut self.line);
        read.map_err(|error| TraceError::new(self.number, format!("it cannot be read: {error}")))?;
        if self.line.len() > LONGEST_LINE && self.number > 1 {
            return Err(TraceError::new(
                self.number,
                format!("it is longer than {LONGEST_LINE} bytes"),
            ));
        }
        Ok(!self.line.is_empty())
    }

    fn take(&mut self, line: &[u8]) -> Result<Option<TraceEntry>, Problem> {
        let Line { stamp, file, what } = match line::parse(line, self.version) {
            Ok(Some(line)) => line,
            Ok(None) => return Ok(None),
            Err(_) if line.starts_with(b"fio version ") => {
                return Err(Problem::skippable(SECOND).advise(SECOND_ADVICE));
            }
            Err(problem) => return Err(Problem::skippable(problem)),
        };
        if let Some(stamp) = stamp {
            self.timeline.stamp(stamp);
        }
        let redirected = self.reading.redirect.is_some();
        match what {
            What::Wait(time) => {
                self.waits = true;
                self.timeline.wait(time);
            }
            _ if redirected && !matches!(what, What::Io { .. }) => {}
            What::Add => self.files.add(file)?,
            What::Open => self.files.open(file, true)?,
            What::Close => self.files.open(file, false)?,
            What::Io {
                action,
                offset,
                len,
            } => return self.io(file, action, offset, len),
        }
        Ok(None)
    }

    fn io(
        &mut self,
        file: &[u8],
        action: TraceAction,
        offset: u64,
        len: u32,
    ) -> Result<Option<TraceEntry>, Problem> {
        if self.is_skipped(action) {
            self.timeline.leave_out();
            return Ok(None);
        }
        let moves = matches!(action, TraceAction::Read | TraceAction::Write);
        if moves && u64::from(len) > LARGEST_BLOCK {
            return Err(Problem::fatal(format!(
                "{len} bytes in one I/O are beyond the limit of {LARGEST_BLOCK}"
            )));
        }
        let offset = offset / self.reading.scale.max(1) & !(self.reading.align.max(1) - 1);
        if offset
            .checked_add(u64::from(len))
            .is_none_or(|end| end > i64::MAX as u64)
        {
            return Err(Problem::fatal(format!(
                "no file reaches to byte {offset} and {len} more"
            )));
        }
        let index = self.files.used(file, &self.reading)?;
        Ok(Some(TraceEntry {
            at: self.timeline.take(),
            file: index,
            action,
            offset,
            len,
        }))
    }

    fn is_skipped(&self, action: TraceAction) -> bool {
        let skip = &self.reading.skip;
        match action {
            TraceAction::Read => skip[Direction::Read],
            TraceAction::Write => skip[Direction::Write],
            TraceAction::Trim => skip[Direction::Trim],
            TraceAction::Sync => self.reading.skip_sync,
            // fio's replay_skip has no word for it.
            TraceAction::Datasync => false,
        }
    }
}

const SECOND: &str = "a second log begins here";
const SECOND_ADVICE: &str =
    "a log is written behind what its file holds already: keep one of the two";

/// Files by name. Only those that see I/O get an index.
#[derive(Default)]
struct Files {
    known: HashMap<Vec<u8>, File>,
    paths: Vec<PathBuf>,
    name_bytes: usize,
    /// The file of the last I/O, which is mostly that of the next.
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
        if self.known.len() >= MOST_FILES || self.name_bytes > MOST_NAME_BYTES {
            let what = format!(
                "more than {MOST_FILES} files, or {} MiB of names, in one log",
                MOST_NAME_BYTES >> 20
            );
            return Err(Problem::fatal(what).advise("split the log, or set replay_redirect"));
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
                "no line before adds the file '{}'",
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
                "no line before adds the file '{}'",
                shown(name)
            )));
        };
        if !file.open {
            let what = format!("the file '{}' is not open here", shown(name));
            return Err(
                Problem::fatal(what).advise("fio fails at this too: add a line that opens it")
            );
        }
        let next = self.paths.len() as u32;
        let index = *file.index.get_or_insert(next);
        if index == next {
            self.paths.push(path(name, reading.folder.as_deref()));
        }
        self.last.clear();
        self.last.extend_from_slice(name);
        self.last_index = Some(index);
        Ok(index)
    }
}

/// A relative name is looked for in the job's folder.
fn path(name: &[u8], folder: Option<&str>) -> PathBuf {
    let own = PathBuf::from(OsStr::from_bytes(name));
    folder.map_or_else(|| own.clone(), |folder| PathBuf::from(folder).join(&own))
}

fn shown(name: &[u8]) -> String {
    shorten(&String::from_utf8_lossy(name)).to_string()
}

/// A mistake before its line is known.
struct Problem {
    what: String,
    advice: Option<&'static str>,
    /// fio says so and goes on.
    skippable: bool,
}

impl Problem {
    fn skippable(what: &str) -> Self {
        Problem {
            what: what.to_owned(),
            advice: None,
            skippable: true,
        }
    }

    fn fatal(what: String) -> Self {
        Problem {
            what,
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
            problem: self.what,
            advice: self.advice,
        }
    }
}
