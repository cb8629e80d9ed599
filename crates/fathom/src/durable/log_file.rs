//! The recorder's log as a file: its end is repaired when it is opened, and every entry is stored before it is confirmed.

use std::fs::TryLockError;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use fathom_durable::log::{Begin, Entry, HEADER, Log};
use fathom_hosts::Bell;

use crate::durable::world::{Creates, FileSystem, How, OpenFile, World, lock};
use crate::print::note_line;

/// An open log that no other process writes.
pub struct LogFile {
    path: PathBuf,
    file: Box<dyn OpenFile>,
    /// Bytes of it.
    length: u64,
    /// What it says, without acknowledgements.
    log: Log,
    /// Bytes that were appended and not yet synced.
    dirty: bool,
}

/// The content of a log.
///
/// # Errors
/// When it cannot be read or is not a log.
pub fn read(files: &dyn FileSystem, path: &Path) -> Result<Log, String> {
    let how = How {
        read_only: true,
        ..How::default()
    };
    let file = files.open(path, how);
    let file = file.map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    Ok(read_open(&*file, path)?.0)
}

fn read_open(file: &dyn OpenFile, path: &Path) -> Result<(Log, u64), String> {
    let fail = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    if file.len().map_err(|error| fail(&error))?.is_none() {
        return Err(fail(&"not a regular file"));
    }
    // The header first: another file can be large.
    let mut bytes = file
        .read_from(0, HEADER.len() as u64)
        .map_err(|error| fail(&error))?;
    Log::read(&bytes).map_err(|error| fail(&error))?;
    let rest = file.read_from(bytes.len() as u64, u64::MAX);
    bytes.extend(rest.map_err(|error| fail(&error))?);
    let log = Log::read(&bytes).map_err(|error| fail(&error))?;
    Ok((log, bytes.len() as u64))
}

impl LogFile {
    /// Opens the log at `path`, or creates it.
    ///
    /// # Errors
    /// When it is another file, is in use, or cannot be written.
    pub fn open(files: &dyn FileSystem, path: &Path) -> Result<LogFile, String> {
        let fail = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
        let how = How {
            creates: Creates::IfMissing,
            ..How::default()
        };
        let file = files.open(path, how);
        let file = file.map_err(|error| format!("cannot open {}: {error}", path.display()))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(fail(&"another recorder or writer uses this log"));
            }
            Err(TryLockError::Error(error)) => return Err(fail(&error)),
        }
        let (mut log, bytes) = read_open(&*file, path)?;
        let intact = log.intact as u64;
        if intact < bytes {
            note_line!(
                "fathom durable: {}: the last entry was cut; {} bytes were removed",
                path.display(),
                bytes - intact
            );
            file.set_len(intact).map_err(|error| fail(&error))?;
        }
        let length = intact.max(HEADER.len() as u64);
        if intact == 0 {
            file.write_all_at(HEADER, 0)
                .and_then(|()| file.sync_all())
                .and_then(|()| files.sync_parent(path))
                .map_err(|error| fail(&error))?;
        }
        if let Some(current) = &mut log.current {
            current.acknowledgements.order = Vec::new();
        }
        Ok(LogFile {
            path: path.to_owned(),
            file,
            length,
            log,
            dirty: false,
        })
    }

    /// What it says, without acknowledgements.
    pub fn log(&self) -> &Log {
        &self.log
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Bytes of it.
    pub fn len(&self) -> u64 {
        self.length
    }

    /// Appends an entry; it is stored after [`LogFile::sync`].
    ///
    /// # Errors
    /// When the entry contradicts the log, or it cannot be written.
    pub fn append(&mut self, entry: Entry) -> Result<(), String> {
        self.accept(&entry)?;
        self.dirty = true;
        let bytes = entry.encode();
        self.file
            .write_all_at(&bytes, self.length)
            .map_err(|error| format!("cannot write {}: {error}", self.path.display()))?;
        self.length += bytes.len() as u64;
        if !matches!(entry, Entry::Acknowledged(_)) {
            self.log.apply(entry);
        }
        Ok(())
    }

    /// Stores what was appended.
    ///
    /// # Errors
    /// When that fails; nothing since the last success may be confirmed.
    pub fn sync(&mut self) -> Result<(), String> {
        if std::mem::take(&mut self.dirty) {
            self.file
                .sync_data()
                .map_err(|error| format!("cannot store {}: {error}", self.path.display()))?;
        }
        Ok(())
    }

    fn accept(&self, entry: &Entry) -> Result<(), String> {
        match entry {
            Entry::Begin(begin) => self.accept_begin(begin),
            Entry::Checked(result) => match &self.log.current {
                Some(current) if current.begin.geometry.cycle == result.cycle => Ok(()),
                _ => Err(format!(
                    "cycle {} is not the last one of the log",
                    result.cycle
                )),
            },
            Entry::Acknowledged(_) | Entry::Stopped => match &self.log.current {
                Some(_) => Ok(()),
                None => Err("no cycle has begun".to_owned()),
            },
        }
    }

    fn accept_begin(&self, begin: &Begin) -> Result<(), String> {
        let Some(current) = &self.log.current else {
            return Ok(());
        };
        let (last, next) = (&current.begin.geometry, &begin.geometry);
        if !current.is_checked(&self.log) {
            return Err(format!(
                "cycle {} of run {} is not checked yet: run `fathom durable check` first, or use another log",
                last.cycle, last.run
            ));
        }
        if last.run == next.run && next.cycle != last.cycle + 1 {
            return Err(format!(
                "cycle {} does not follow cycle {} of the log",
                next.cycle, last.cycle
            ));
        }
        Ok(())
    }
}

/// A log that connections use in turn. A sync takes time, in which the others wait.
pub struct SharedLog {
    log: Mutex<Option<LogFile>>,
    returned: Arc<Bell>,
}

/// The log while one connection uses it.
struct HeldLog<'a> {
    shared: &'a SharedLog,
    log: Option<LogFile>,
}

impl Drop for HeldLog<'_> {
    fn drop(&mut self) {
        if let Some(log) = self.log.take() {
            *lock(&self.shared.log) = Some(log);
            self.shared.returned.ring();
        }
    }
}

impl SharedLog {
    pub fn new(log: LogFile) -> SharedLog {
        SharedLog {
            log: Mutex::new(Some(log)),
            returned: Arc::default(),
        }
    }

    /// Uses the log when nobody else does.
    pub fn with<T>(&self, world: &dyn World, act: impl FnOnce(&mut LogFile) -> T) -> T {
        let mut held = HeldLog {
            shared: self,
            log: None,
        };
        let log = held.log.insert(self.take(world));
        act(log)
    }

    fn take(&self, world: &dyn World) -> LogFile {
        loop {
            let heard = self.returned.count();
            let taken = lock(&self.log).take();
            if let Some(log) = taken {
                return log;
            }
            world.clock().wait(&self.returned, heard, Duration::MAX);
        }
    }
}
