//! The recorder's log as a file: its end is repaired when it is opened, and every entry is stored before it is confirmed.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use fathom_durable::log::{Begin, Entry, HEADER, Log};

use crate::print::note_line;

/// An open log that no other process writes.
pub struct LogFile {
    path: PathBuf,
    file: File,
    /// What it says, without acknowledgements.
    log: Log,
    /// Bytes that were appended and not yet synced.
    dirty: bool,
}

/// The content of a log.
///
/// # Errors
/// When it cannot be read or is not a log.
pub fn read(path: &Path) -> Result<Log, String> {
    let mut file =
        File::open(path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    Ok(read_open(&mut file, path)?.0)
}

fn read_open(file: &mut File, path: &Path) -> Result<(Log, u64), String> {
    let fail = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let facts = file.metadata().map_err(|error| fail(&error))?;
    if !facts.is_file() {
        return Err(fail(&"not a regular file"));
    }
    // The header first: another file can be large.
    let mut bytes = Vec::new();
    let mut limited = file.take(HEADER.len() as u64);
    limited
        .read_to_end(&mut bytes)
        .map_err(|error| fail(&error))?;
    Log::read(&bytes).map_err(|error| fail(&error))?;
    file.read_to_end(&mut bytes).map_err(|error| fail(&error))?;
    let log = Log::read(&bytes).map_err(|error| fail(&error))?;
    Ok((log, bytes.len() as u64))
}

impl LogFile {
    /// Opens the log at `path`, or creates it.
    ///
    /// # Errors
    /// When it is another file, is in use, or cannot be written.
    pub fn open(path: &Path) -> Result<LogFile, String> {
        let fail = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
        let mut file = OpenOptions::new()
            .read(true)
            .append(true)
            .create(true)
            .mode(0o644)
            .open(path)
            .map_err(|error| format!("cannot open {}: {error}", path.display()))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(fail(&"another recorder or writer uses this log"));
            }
            Err(TryLockError::Error(error)) => return Err(fail(&error)),
        }
        let (mut log, bytes) = read_open(&mut file, path)?;
        let intact = log.intact as u64;
        if intact < bytes {
            note_line!(
                "fathom durable: {}: the last entry was cut; {} bytes were removed",
                path.display(),
                bytes - intact
            );
            file.set_len(intact).map_err(|error| fail(&error))?;
        }
        if intact == 0 {
            file.write_all(HEADER)
                .and_then(|()| file.sync_all())
                .map_err(|error| fail(&error))?;
            sync_directory(path).map_err(|error| fail(&error))?;
        }
        if let Some(current) = &mut log.current {
            current.acknowledgements.order = Vec::new();
        }
        Ok(LogFile {
            path: path.to_owned(),
            file,
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

    /// Appends an entry; it is stored after [`LogFile::sync`].
    ///
    /// # Errors
    /// When the entry contradicts the log, or it cannot be written.
    pub fn append(&mut self, entry: Entry) -> Result<(), String> {
        self.accept(&entry)?;
        self.dirty = true;
        self.file
            .write_all(&entry.encode())
            .map_err(|error| format!("cannot write {}: {error}", self.path.display()))?;
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

/// Makes a new name durable.
pub fn sync_directory(path: &Path) -> std::io::Result<()> {
    let parent = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    File::open(parent)?.sync_all()
}
