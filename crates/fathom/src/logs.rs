//! I/O logs that are replayed: opened for the plan, and again for the load.
//!
//! A log that can be read only once (standard input, a pipe, a socket) is copied to an unnamed temporary file.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::fs::{FileExt, FileTypeExt};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, PoisonError};

use fathom_load::{HostError, TraceSource};
use fathom_model::{Replay, TraceAction, TraceEntry};
use fathom_plan::TraceReader;

const EIO: i32 = 5;
/// The longest log from a pipe; a longer one must be written to a file first.
const LONGEST_STREAM: u64 = 4 << 30;
const BUFFER: usize = 256 << 10;

/// Copies of streams, by name.
static STREAM_COPIES: Mutex<Option<HashMap<String, Arc<File>>>> = Mutex::new(None);

/// Opens a log that is made while it is read.
pub type OpenLog = Box<dyn Fn() -> Result<Box<dyn BufRead + Send>, String> + Send>;

/// Logs that are made while they are read, by name.
static PROVIDED: Mutex<Option<HashMap<String, OpenLog>>> = Mutex::new(None);

/// From now on, the log of this name comes from `open`.
pub fn provide(name: &str, open: OpenLog) {
    PROVIDED
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .get_or_insert_default()
        .insert(name.to_owned(), open);
}

/// Opens the log `name` from its beginning; `-` is the standard input.
///
/// # Errors
/// When it cannot be read.
pub fn open(name: &str) -> Result<Box<dyn BufRead + Send>, String> {
    let provided = PROVIDED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(open) = provided.as_ref().and_then(|all| all.get(name)) {
        return open();
    }
    drop(provided);
    let copies = STREAM_COPIES
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .as_ref()
        .and_then(|all| all.get(name).cloned());
    if let Some(file) = copies {
        return Ok(from_start(file));
    }
    if name == "-" {
        return copy_stream(name, io::stdin().lock());
    }
    let kind = std::fs::metadata(name)
        .map_err(|error| error.to_string())?
        .file_type();
    if kind.is_socket() {
        return copy_stream(
            name,
            UnixStream::connect(name).map_err(|error| error.to_string())?,
        );
    }
    if !kind.is_file() && !kind.is_fifo() {
        return Err("not a file, pipe or socket".to_owned());
    }
    let file = File::open(name).map_err(|error| error.to_string())?;
    if kind.is_fifo() {
        copy_stream(name, file)
    } else {
        Ok(from_start(Arc::new(file)))
    }
}

/// Copies a stream to its end into a temporary file, since it is read twice.
fn copy_stream(name: &str, stream: impl Read) -> Result<Box<dyn BufRead + Send>, String> {
    let mut file =
        unnamed_file().map_err(|error| format!("cannot copy it to a temporary file: {error}"))?;
    let copied = io::copy(&mut stream.take(LONGEST_STREAM + 1), &mut file)
        .map_err(|error| error.to_string())?;
    file.flush().map_err(|error| error.to_string())?;
    if copied > LONGEST_STREAM {
        return Err("longer than 4 GiB; write it to a file first".to_owned());
    }
    let file = Arc::new(file);
    let mut copies = STREAM_COPIES.lock().unwrap_or_else(PoisonError::into_inner);
    copies
        .get_or_insert_default()
        .insert(name.to_owned(), Arc::clone(&file));
    Ok(from_start(file))
}

fn unnamed_file() -> io::Result<File> {
    let flags =
        rustix::fs::OFlags::TMPFILE | rustix::fs::OFlags::RDWR | rustix::fs::OFlags::CLOEXEC;
    match rustix::fs::open(
        std::env::temp_dir(),
        flags,
        rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
    ) {
        Ok(file) => Ok(File::from(file)),
        Err(_) => Ok(File::from(rustix::fs::memfd_create(
            "iolog",
            rustix::fs::MemfdFlags::CLOEXEC,
        )?)),
    }
}

fn from_start(file: Arc<File>) -> Box<dyn BufRead + Send> {
    Box::new(BufReader::with_capacity(
        BUFFER,
        SharedFile { file, offset: 0 },
    ))
}

/// A file read from its own offset, so that several readers can share it.
struct SharedFile {
    file: Arc<File>,
    offset: u64,
}

impl Read for SharedFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read_at(buffer, self.offset)?;
        self.offset += read as u64;
        Ok(read)
    }
}

/// The log of a job, as the load reads it.
///
/// # Errors
/// When it can no longer be read.
pub fn replay(replay: &Replay) -> Result<Box<dyn TraceSource>, HostError> {
    let host_error = |what: String| HostError {
        errno: EIO,
        what: format!("{}: {what}", replay.log),
    };
    let source = open(&replay.log).map_err(host_error)?;
    let reader =
        TraceReader::new(source, &replay.reading).map_err(|error| host_error(error.to_string()))?;
    Ok(Box::new(Lines {
        reader,
        replay: replay.clone(),
    }))
}

struct Lines {
    reader: TraceReader<Box<dyn BufRead + Send>>,
    replay: Replay,
}

impl TraceSource for Lines {
    fn fill(&mut self, out: &mut Vec<TraceEntry>, count: usize) -> Result<(), HostError> {
        for _ in 0..count {
            match self.reader.next_io() {
                Ok(Some(entry)) if self.is_planned(&entry) => out.push(entry),
                Ok(Some(_)) => {
                    return Err(self.changed(&"it contains an I/O that is not in the plan"));
                }
                Ok(None) => return Ok(()),
                Err(error) => return Err(self.changed(&error)),
            }
        }
        Ok(())
    }
}

impl Lines {
    /// Whether the plan, and so the guard, covers this I/O.
    fn is_planned(&self, entry: &TraceEntry) -> bool {
        let Some(file) = self.replay.files.get(entry.file as usize) else {
            return false;
        };
        let fits = entry.action == TraceAction::Trim || entry.len <= self.replay.largest;
        entry.len == 0
            || fits && entry.offset >= file.start && entry.offset + u64::from(entry.len) <= file.end
    }

    fn changed(&self, why: &dyn std::fmt::Display) -> HostError {
        let what = format!(
            "{}: line {}: the log changed after the plan was made: {why}",
            self.replay.log,
            self.reader.line()
        );
        HostError { errno: EIO, what }
    }
}
