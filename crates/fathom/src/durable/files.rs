//! The files of the test. Nothing else is created, written or removed.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, IoSlice, Write};
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use fathom_durable::{
    CommitRead, Geometry, Layout, MARKER, Marker, Media, Method, Place, RunId, WriteOptions,
};
use fathom_linux::{OutputName, Outputs};
use rustix::fs::{FallocateFlags, OFlags};
use rustix::io::ReadWriteFlags;

use crate::durable::log_file::sync_directory;
use crate::durable::recorder::Sink;

/// Alignment for direct I/O: the largest logical block of disks.
const ALIGNMENT: usize = 4096;

/// Why a stream of the writer stops.
#[derive(Debug)]
pub struct WriteError {
    /// What failed, and a hint.
    pub text: String,
    /// The device or its file system no longer accepts writes, as after its power was cut.
    pub is_device_lost: bool,
}

impl From<String> for WriteError {
    fn from(text: String) -> WriteError {
        WriteError {
            text,
            is_device_lost: false,
        }
    }
}

/// Bytes at an aligned address.
pub struct AlignedBuffer {
    bytes: Vec<u8>,
    start: usize,
    length: usize,
}

impl AlignedBuffer {
    /// Zeros.
    pub fn new(length: usize) -> AlignedBuffer {
        let bytes = vec![0; length + ALIGNMENT];
        let start = bytes.as_ptr().align_offset(ALIGNMENT).min(ALIGNMENT);
        AlignedBuffer {
            bytes,
            start,
            length,
        }
    }

    pub fn get(&self) -> &[u8] {
        &self.bytes[self.start..self.start + self.length]
    }

    pub fn get_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[self.start..self.start + self.length]
    }
}

/// The directory of a cycle.
pub fn cycle_directory(path: &Path, cycle: u32) -> PathBuf {
    path.join(format!("cycle-{cycle:06}"))
}

/// The run that a directory belongs to; `None` if there is no directory yet, or an empty one.
///
/// # Errors
/// When something else is there.
pub fn run_of(path: &Path) -> Result<Option<RunId>, String> {
    let refuse = |reason: &str| {
        Err(format!(
            "{}: {reason}; name a new directory on the disk under test",
            path.display()
        ))
    };
    let facts = match std::fs::metadata(path) {
        Ok(facts) => facts,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(format!("{}: {error}", path.display())),
    };
    if !facts.is_dir() {
        return refuse("not a directory, and existing files and devices are not written");
    }
    match std::fs::read(path.join(MARKER)) {
        Ok(text) => Marker::read(&text)
            .map(|marker| Some(marker.run))
            .map_err(|error| format!("{}: {error}", path.join(MARKER).display())),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let mut entries =
                std::fs::read_dir(path).map_err(|error| format!("{}: {error}", path.display()))?;
            // A new ext4 has one directory of its own.
            match entries.find(|entry| {
                entry
                    .as_ref()
                    .map_or(true, |entry| entry.file_name() != "lost+found")
            }) {
                None => Ok(None),
                Some(_) => refuse("it contains other files"),
            }
        }
        Err(error) => Err(format!("{}: {error}", path.join(MARKER).display())),
    }
}

/// Creates the directory of a new run.
///
/// # Errors
/// When it cannot be created durably.
pub fn create_run(path: &Path, run: RunId) -> Result<(), String> {
    let fail = |error: io::Error| format!("cannot create {}: {error}", path.display());
    match DirBuilder::new().mode(0o755).create(path) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(fail(error)),
        _ => {}
    }
    let mut marker = create(&path.join(MARKER), OFlags::empty()).map_err(fail)?;
    marker
        .write_all(Marker::new(run).text().as_bytes())
        .and_then(|()| marker.sync_all())
        .map_err(fail)?;
    sync_directory(&path.join(MARKER)).map_err(fail)?;
    sync_directory(path).map_err(fail)
}

/// Creates the directory of a cycle.
///
/// # Errors
/// When it exists or cannot be created durably.
pub fn create_cycle(path: &Path, geometry: &Geometry) -> Result<PathBuf, String> {
    let directory = cycle_directory(path, geometry.cycle);
    let fail = |error: io::Error| format!("cannot create {}: {error}", directory.display());
    DirBuilder::new()
        .mode(0o755)
        .create(&directory)
        .map_err(fail)?;
    sync_directory(&directory).map_err(fail)?;
    Ok(directory)
}

/// Removes the files of earlier cycles, by their names.
///
/// # Errors
/// When one of them cannot be removed.
pub fn remove_earlier_cycles(path: &Path, cycle: u32) -> Result<(), String> {
    let earlier = |name: &str| {
        let number = name.strip_prefix("cycle-")?.parse::<u32>().ok()?;
        (number < cycle).then(|| cycle_directory(path, number))
    };
    let entries =
        std::fs::read_dir(path).map_err(|error| format!("{}: {error}", path.display()))?;
    for entry in entries.flatten() {
        let directory = entry.file_name().to_str().and_then(earlier);
        if let Some(directory) = directory.filter(|directory| *directory == entry.path())
            && entry.file_type().is_ok_and(|kind| kind.is_dir())
        {
            remove_cycle(&directory)?;
        }
    }
    Ok(())
}

fn remove_cycle(directory: &Path) -> Result<(), String> {
    let entries = std::fs::read_dir(directory)
        .map_err(|error| format!("{}: {error}", directory.display()))?;
    for entry in entries {
        let entry = entry.map_err(|error| format!("{}: {error}", directory.display()))?;
        let is_own = entry
            .file_name()
            .to_str()
            .is_some_and(Geometry::is_own_file);
        if is_own && entry.file_type().is_ok_and(|kind| kind.is_file()) {
            std::fs::remove_file(entry.path())
                .map_err(|error| format!("cannot remove {}: {error}", entry.path().display()))?;
        }
    }
    // Other files in it remain, and with them the directory.
    let _ = std::fs::remove_dir(directory);
    Ok(())
}

/// Writes the file of `--state`.
///
/// # Errors
/// When it is on the disk under test, or cannot be written.
pub fn write_state(state: &Path, options: &WriteOptions) -> Result<(), String> {
    if same_file_system(state, &options.path) {
        return Err(format!(
            "--state={}: it is on the file system under test, which may lose it; name a file on another one",
            state.display()
        ));
    }
    Outputs::default()
        .write(state, OutputName::Explicit, options.text().as_bytes())
        .map_err(|error| format!("--state: {error}"))?;
    File::open(state)
        .and_then(|file| file.sync_all())
        .and_then(|()| sync_directory(state))
        .map_err(|error| format!("--state={}: {error}", state.display()))
}

/// Whether two paths, or the nearest directories above them that exist, are on one file system.
pub fn same_file_system(a: &Path, b: &Path) -> bool {
    let device = |path: &Path| {
        let path = std::path::absolute(path).ok()?;
        path.ancestors()
            .find_map(|path| Some(std::fs::metadata(path).ok()?.dev()))
    };
    device(a) == device(b)
}

/// A new file; an existing one is never opened.
fn create(path: &Path, flags: OFlags) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .create_new(true)
        .mode(0o644)
        .custom_flags((flags | OFlags::NOFOLLOW).bits().cast_signed())
        .open(path)
}

/// The files of one stream.
pub struct StreamFiles<'a> {
    geometry: &'a Geometry,
    directory: PathBuf,
    directory_file: File,
    stream: u16,
    /// The open file and its name.
    open: Option<(String, File)>,
    buffer: AlignedBuffer,
}

impl<'a> StreamFiles<'a> {
    /// The files of a stream in the directory of its cycle.
    ///
    /// # Errors
    /// When the directory cannot be opened.
    pub fn new(geometry: &'a Geometry, directory: &Path, stream: u16) -> Result<Self, String> {
        let directory_file = File::open(directory)
            .map_err(|error| format!("cannot open {}: {error}", directory.display()))?;
        Ok(StreamFiles {
            geometry,
            directory: directory.to_owned(),
            directory_file,
            stream,
            open: None,
            buffer: AlignedBuffer::new(geometry.commit_bytes()),
        })
    }

    /// Writes what must be there before the load.
    ///
    /// # Errors
    /// When that fails.
    pub fn prepare(&mut self, sink: &Sink) -> Result<(), WriteError> {
        let first = self.geometry.first_commit(self.stream);
        if first == 0 {
            return Ok(());
        }
        let name = self.geometry.place(self.stream, 0).file;
        let file = self.create_file(&name, OFlags::empty())?;
        for commit in 0..first {
            self.stamp(commit);
            let offset = self.geometry.place(self.stream, commit).offset;
            file.write_all_at(self.buffer.get(), offset)
                .map_err(|error| self.failed("write", &name, &error))?;
        }
        file.sync_all()
            .and_then(|()| self.directory_file.sync_all())
            .map_err(|error| self.failed("fsync", &name, &error))?;
        // The load opens it with the flags of the method.
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags((self.flags() | OFlags::NOFOLLOW).bits().cast_signed())
            .open(self.directory.join(&name))
            .map_err(|error| self.failed("open", &name, &error))?;
        self.open = Some((name, file));
        Ok(sink.acknowledge(self.stream, first - 1)?)
    }

    /// Writes a commit and returns when it is durable according to the system.
    ///
    /// # Errors
    /// When any step fails: the commit is not acknowledged.
    pub fn commit(&mut self, commit: u64, sink: &Sink) -> Result<(), WriteError> {
        let place = self.geometry.place(self.stream, commit);
        self.stamp(commit);
        if self.geometry.method == Method::Rename {
            return self.rename(&place.file);
        }
        if self
            .open
            .as_ref()
            .is_none_or(|(name, _)| *name != place.file)
        {
            self.next_file(commit, &place.file, sink)?;
        }
        let Some((name, file)) = &self.open else {
            return Err(format!("{}: no file is open", place.file).into());
        };
        self.write_records(file, &place)
            .map_err(|(step, error)| self.failed(step, name, &error))
    }

    /// Opens the next file of a growing stream, and removes the one that is no longer needed.
    fn next_file(&mut self, commit: u64, name: &str, sink: &Sink) -> Result<(), WriteError> {
        sink.wait_confirmed(self.stream, commit)?;
        let generation = commit / self.geometry.slots;
        if let Some(old) = self.geometry.retired_file(self.stream, generation) {
            std::fs::remove_file(self.directory.join(&old))
                .map_err(|error| self.failed("remove", &old, &error))?;
        }
        let file = self.create_file(name, self.flags())?;
        if self.geometry.layout(self.stream) == Layout::Preallocated {
            let length = self.geometry.slots * self.geometry.commit_bytes() as u64;
            rustix::fs::fallocate(&file, FallocateFlags::empty(), 0, length)
                .map_err(|error| self.failed("fallocate", name, &error.into()))?;
        }
        file.sync_all()
            .and_then(|()| self.directory_file.sync_all())
            .map_err(|error| self.failed("fsync", name, &error))?;
        self.open = Some((name.to_owned(), file));
        Ok(())
    }

    fn write_records(&self, file: &File, place: &Place) -> Result<(), (&'static str, io::Error)> {
        let record_bytes = self.geometry.record_bytes as usize;
        for (index, record) in self.buffer.get().chunks(record_bytes).enumerate() {
            let offset = place.offset + (index * record_bytes) as u64;
            if self.geometry.method == Method::Fua {
                write_fua(file, record, offset).map_err(|error| ("write with RWF_DSYNC", error))?;
            } else {
                file.write_all_at(record, offset)
                    .map_err(|error| ("write", error))?;
            }
        }
        match self.geometry.method {
            Method::Fsync => file.sync_all().map_err(|error| ("fsync", error)),
            Method::Fdatasync => file.sync_data().map_err(|error| ("fdatasync", error)),
            Method::Dsync | Method::Fua | Method::Rename => Ok(()),
        }
    }

    fn rename(&self, name: &str) -> Result<(), WriteError> {
        let new = format!("{name}.new");
        let file = self.create_file(&new, OFlags::empty())?;
        file.write_all_at(self.buffer.get(), 0)
            .map_err(|error| self.failed("write", &new, &error))?;
        file.sync_all()
            .map_err(|error| self.failed("fsync", &new, &error))?;
        std::fs::rename(self.directory.join(&new), self.directory.join(name))
            .map_err(|error| self.failed("rename", &new, &error))?;
        self.directory_file
            .sync_all()
            .map_err(|error| self.failed("fsync of the directory of", name, &error))
    }

    fn create_file(&self, name: &str, flags: OFlags) -> Result<File, WriteError> {
        create(&self.directory.join(name), flags)
            .map_err(|error| self.failed("create", name, &error))
    }

    fn flags(&self) -> OFlags {
        match self.geometry.method {
            Method::Dsync => fathom_linux::O_DSYNC,
            Method::Fua => OFlags::DIRECT,
            _ => OFlags::empty(),
        }
    }

    fn stamp(&mut self, commit: u64) {
        let stamp = self.geometry.stamp(self.stream, commit);
        stamp.write_records(self.buffer.get_mut(), self.geometry.record_bytes as usize);
    }

    fn failed(&self, step: &str, name: &str, error: &io::Error) -> WriteError {
        let path = self.directory.join(name);
        let hint = match error.raw_os_error() {
            Some(errno::EINVAL) if self.geometry.method == Method::Fua => {
                "; the method fua needs direct I/O: a record that is a multiple of the logical block, and a file system that has it; \
                 or leave fua out of --method"
            }
            Some(errno::EINVAL | errno::ENOSYS | errno::ENOTSUP)
                if step.starts_with("fsync") || step == "fdatasync" =>
            {
                "; this file system has no fsync: no program can know when its data survives a power cut"
            }
            Some(errno::ENOSPC) => "; free some space, or use less with --size",
            _ => "",
        };
        WriteError {
            text: format!("{step} {}: {error}{hint}", path.display()),
            is_device_lost: error
                .raw_os_error()
                .is_some_and(|number| errno::OF_LOST_DEVICES.contains(&number)),
        }
    }
}

/// Error numbers that have an explanation (errno(3)).
mod errno {
    use rustix::io::Errno;

    pub const EINVAL: i32 = Errno::INVAL.raw_os_error();
    pub const ENOSYS: i32 = Errno::NOSYS.raw_os_error();
    pub const ENOTSUP: i32 = Errno::OPNOTSUPP.raw_os_error();
    pub const ENOSPC: i32 = Errno::NOSPC.raw_os_error();
    /// Errors of a device that is gone, and of a file system that shut down because of it.
    pub const OF_LOST_DEVICES: [i32; 5] = [
        Errno::IO.raw_os_error(),
        Errno::NXIO.raw_os_error(),
        Errno::NODEV.raw_os_error(),
        Errno::ROFS.raw_os_error(),
        Errno::UCLEAN.raw_os_error(),
    ];
}

/// One write with RWF_DSYNC; short writes continue.
fn write_fua(file: &File, mut record: &[u8], mut offset: u64) -> io::Result<()> {
    while !record.is_empty() {
        let slices = [IoSlice::new(record)];
        match rustix::io::pwritev2(file, &slices, offset, ReadWriteFlags::DSYNC) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(written) => {
                record = &record[written..];
                offset += written as u64;
            }
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// The files of a cycle after the cut.
pub struct CycleFiles {
    directory: PathBuf,
    open: Option<(String, Option<File>)>,
    buffer: AlignedBuffer,
}

impl CycleFiles {
    /// The files of the cycle of `geometry` in `path`.
    pub fn new(path: &Path, geometry: &Geometry) -> CycleFiles {
        CycleFiles {
            directory: cycle_directory(path, geometry.cycle),
            open: None,
            buffer: AlignedBuffer::new(geometry.commit_bytes().next_multiple_of(ALIGNMENT)),
        }
    }

    fn file(&mut self, name: &str) -> io::Result<Option<&File>> {
        if self.open.as_ref().is_none_or(|(open, _)| open != name) {
            let file = match open_to_read(&self.directory.join(name)) {
                Ok(file) => Some(file),
                Err(error) if error.kind() == ErrorKind::NotFound => None,
                Err(error) => return Err(error),
            };
            self.open = Some((name.to_owned(), file));
        }
        Ok(self.open.as_ref().and_then(|(_, file)| file.as_ref()))
    }

    fn read_place(&mut self, place: &Place, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        // Direct I/O reads whole blocks at aligned offsets.
        let skip = place.offset as usize % ALIGNMENT;
        let start = place.offset - skip as u64;
        let wanted = (skip + buffer.len()).next_multiple_of(ALIGNMENT);
        let mut aligned = std::mem::replace(&mut self.buffer, AlignedBuffer::new(0));
        if aligned.get().len() < wanted {
            aligned = AlignedBuffer::new(wanted);
        }
        let result = self.file(&place.file).and_then(|file| {
            let Some(file) = file else { return Ok(None) };
            let mut read = 0;
            while read < wanted {
                match file.read_at(&mut aligned.get_mut()[read..wanted], start + read as u64) {
                    Ok(0) => break,
                    Ok(bytes) => read += bytes,
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    Err(error) => return Err(error),
                }
                // A short read at the end of the file leaves an offset that is not aligned.
                if !read.is_multiple_of(ALIGNMENT) {
                    break;
                }
            }
            let bytes = read.saturating_sub(skip).min(buffer.len());
            buffer[..bytes].copy_from_slice(&aligned.get()[skip..skip + bytes]);
            Ok(Some(bytes))
        });
        self.buffer = aligned;
        result
    }
}

impl Media for CycleFiles {
    fn read(&mut self, place: &Place, buffer: &mut [u8]) -> CommitRead {
        match self.read_place(place, buffer) {
            Ok(Some(bytes)) => CommitRead::Bytes(bytes),
            Ok(None) => CommitRead::NoFile,
            Err(error) => CommitRead::Failed(error.to_string()),
        }
    }
}

/// Direct I/O where the file system has it; otherwise the page cache is dropped first.
fn open_to_read(path: &Path) -> io::Result<File> {
    let open = |flags: OFlags| {
        OpenOptions::new()
            .read(true)
            .custom_flags((flags | OFlags::NOFOLLOW).bits().cast_signed())
            .open(path)
    };
    match open(OFlags::DIRECT) {
        Err(error) if error.raw_os_error() == Some(errno::EINVAL) => {
            let file = open(OFlags::empty())?;
            rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed)?;
            Ok(file)
        }
        file => file,
    }
}
