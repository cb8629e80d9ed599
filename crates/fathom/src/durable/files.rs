//! The files of the test. Nothing else is created, written or removed.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fathom_durable::{
    CommitRead, Geometry, Layout, MARKER, Marker, Media, Method, Place, RunId, WriteOptions,
};
use fathom_linux::{OutputName, Outputs};

use crate::durable::recorder::Sink;
use crate::durable::world::{Creates, Entry, FileSystem, How, OpenFile, World};

/// Alignment for direct I/O: the largest logical block of disks.
const ALIGNMENT: usize = 4096;

/// Bytes of a marker that are read.
const LONGEST_MARKER: u64 = 64 << 10;
/// The file in the directory of a cycle whose writer stopped before a cut.
const STOPPED: &str = "stopped";
/// A new file; an existing one is never opened.
const NEW: How = How {
    creates: Creates::New,
    read_only: false,
    from_media: false,
    direct: false,
    dsync: false,
};

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
pub fn run_of(files: &dyn FileSystem, path: &Path) -> Result<Option<RunId>, String> {
    let refuse = |reason: &str| {
        Err(format!(
            "{}: {reason}; name a new directory on the disk under test",
            path.display()
        ))
    };
    match files.entry(path) {
        Ok(Entry::Directory) => {}
        Ok(_) => {
            return refuse("not a directory, and existing files and devices are not written");
        }
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(format!("{}: {error}", path.display())),
    }
    let how = How {
        read_only: true,
        ..How::default()
    };
    let marker = path.join(MARKER);
    let text = files
        .open(&marker, how)
        .and_then(|file| file.read_from(0, LONGEST_MARKER));
    match text {
        Ok(text) => Marker::read(&text)
            .map(|marker| Some(marker.run))
            .map_err(|error| format!("{}: {error}", marker.display())),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let entries = files
                .list(path)
                .map_err(|error| format!("{}: {error}", path.display()))?;
            // A new ext4 has one directory of its own.
            match entries.iter().find(|(name, _)| name != "lost+found") {
                None => Ok(None),
                Some(_) => refuse("it contains other files"),
            }
        }
        Err(error) => Err(format!("{}: {error}", marker.display())),
    }
}

/// Creates the directory of a new run.
///
/// # Errors
/// When it cannot be created durably.
pub fn create_run(files: &dyn FileSystem, path: &Path, run: RunId) -> Result<(), String> {
    let fail = |error: io::Error| format!("cannot create {}: {error}", path.display());
    match files.create_directory(path) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(fail(error)),
        _ => {}
    }
    let name = path.join(MARKER);
    let marker = files.open(&name, NEW).map_err(fail)?;
    marker
        .write_all_at(Marker::new(run).text().as_bytes(), 0)
        .and_then(|()| marker.sync_all())
        .and_then(|()| files.sync_parent(&name))
        .and_then(|()| files.sync_parent(path))
        .map_err(fail)
}

/// Creates the directory of a cycle.
///
/// # Errors
/// When it exists or cannot be created durably.
pub fn create_cycle(
    files: &dyn FileSystem,
    path: &Path,
    geometry: &Geometry,
) -> Result<PathBuf, String> {
    let directory = cycle_directory(path, geometry.cycle);
    files
        .create_directory(&directory)
        .and_then(|()| files.sync_parent(&directory))
        .map_err(|error| format!("cannot create {}: {error}", directory.display()))?;
    Ok(directory)
}

/// Notes that the writer of a cycle stopped before a cut, and could not tell the recorder.
///
/// # Errors
/// When it cannot be stored.
pub fn mark_stopped(files: &dyn FileSystem, directory: &Path) -> io::Result<()> {
    let name = directory.join(STOPPED);
    files.open(&name, NEW)?.sync_all()?;
    files.sync_parent(&name)
}

/// Whether the writer of a cycle noted that it stopped before a cut.
pub fn is_stopped(files: &dyn FileSystem, path: &Path, cycle: u32) -> bool {
    files.exists(&cycle_directory(path, cycle).join(STOPPED))
}

/// Removes the files of earlier cycles, by their names.
///
/// # Errors
/// When one of them cannot be removed.
pub fn remove_earlier_cycles(
    files: &dyn FileSystem,
    path: &Path,
    cycle: u32,
) -> Result<(), String> {
    let entries = files
        .list(path)
        .map_err(|error| format!("{}: {error}", path.display()))?;
    for (name, entry) in entries {
        let number = name.strip_prefix("cycle-");
        let number = number.and_then(|text| text.parse::<u32>().ok());
        let directory = path.join(&name);
        if let Some(number) = number.filter(|number| *number < cycle)
            && entry == Entry::Directory
            && directory == cycle_directory(path, number)
        {
            remove_cycle(files, &directory)?;
        }
    }
    Ok(())
}

fn remove_cycle(files: &dyn FileSystem, directory: &Path) -> Result<(), String> {
    let entries = files
        .list(directory)
        .map_err(|error| format!("{}: {error}", directory.display()))?;
    for (name, entry) in entries {
        let is_own = Geometry::is_own_file(&name) || name == STOPPED;
        if is_own && entry == Entry::File {
            let path = directory.join(name);
            files
                .remove_file(&path)
                .map_err(|error| format!("cannot remove {}: {error}", path.display()))?;
        }
    }
    // Other files in it remain, and with them the directory.
    let _ = files.remove_directory(directory);
    Ok(())
}

/// Writes the file of `--state`.
///
/// # Errors
/// When it is on the disk under test, or cannot be written.
pub fn write_state(
    files: &dyn FileSystem,
    state: &Path,
    options: &WriteOptions,
) -> Result<(), String> {
    if files.is_same(state, &options.path) {
        return Err(format!(
            "--state={}: it is on the file system under test, which may lose it; name a file on another one",
            state.display()
        ));
    }
    Outputs::default()
        .write(state, OutputName::Explicit, options.text().as_bytes())
        .map_err(|error| format!("--state: {error}"))?;
    let how = How {
        read_only: true,
        ..How::default()
    };
    files
        .open(state, how)
        .and_then(|file| file.sync_all())
        .and_then(|()| files.sync_parent(state))
        .map_err(|error| format!("--state={}: {error}", state.display()))
}

/// The files of one stream.
pub struct StreamFiles<'a> {
    files: &'a dyn FileSystem,
    geometry: &'a Geometry,
    directory: PathBuf,
    directory_file: Box<dyn OpenFile>,
    stream: u16,
    /// The open file and its name.
    open: Option<(String, Box<dyn OpenFile>)>,
    buffer: AlignedBuffer,
}

impl<'a> StreamFiles<'a> {
    /// The files of a stream in the directory of its cycle.
    ///
    /// # Errors
    /// When the directory cannot be opened.
    pub fn new(
        files: &'a dyn FileSystem,
        geometry: &'a Geometry,
        directory: &Path,
        stream: u16,
    ) -> Result<Self, String> {
        let directory_file = files
            .open_directory(directory)
            .map_err(|error| format!("cannot open {}: {error}", directory.display()))?;
        Ok(StreamFiles {
            files,
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
        let file = self.create_file(&name, NEW)?;
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
        let how = How {
            creates: Creates::No,
            ..self.how()
        };
        let file = self
            .files
            .open(&self.directory.join(&name), how)
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
        self.write_records(&**file, &place)
            .map_err(|(step, error)| self.failed(step, name, &error))
    }

    /// Opens the next file of a growing stream, and removes the one that is no longer needed.
    fn next_file(&mut self, commit: u64, name: &str, sink: &Sink) -> Result<(), WriteError> {
        sink.wait_confirmed(self.stream, commit)?;
        let generation = commit / self.geometry.slots;
        if let Some(old) = self.geometry.retired_file(self.stream, generation) {
            self.files
                .remove_file(&self.directory.join(&old))
                .map_err(|error| self.failed("remove", &old, &error))?;
        }
        let file = self.create_file(name, self.how())?;
        if self.geometry.layout(self.stream) == Layout::Preallocated {
            let length = self.geometry.slots * self.geometry.commit_bytes() as u64;
            file.allocate(length)
                .map_err(|error| self.failed("fallocate", name, &error))?;
        }
        file.sync_all()
            .and_then(|()| self.directory_file.sync_all())
            .map_err(|error| self.failed("fsync", name, &error))?;
        self.open = Some((name.to_owned(), file));
        Ok(())
    }

    fn write_records(
        &self,
        file: &dyn OpenFile,
        place: &Place,
    ) -> Result<(), (&'static str, io::Error)> {
        let record_bytes = self.geometry.record_bytes as usize;
        for (index, record) in self.buffer.get().chunks(record_bytes).enumerate() {
            let offset = place.offset + (index * record_bytes) as u64;
            if self.geometry.method == Method::Fua {
                file.write_durable_at(record, offset)
                    .map_err(|error| ("write with RWF_DSYNC", error))?;
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
        let file = self.create_file(&new, NEW)?;
        file.write_all_at(self.buffer.get(), 0)
            .map_err(|error| self.failed("write", &new, &error))?;
        file.sync_all()
            .map_err(|error| self.failed("fsync", &new, &error))?;
        self.files
            .rename(&self.directory.join(&new), &self.directory.join(name))
            .map_err(|error| self.failed("rename", &new, &error))?;
        self.directory_file
            .sync_all()
            .map_err(|error| self.failed("fsync of the directory of", name, &error))
    }

    fn create_file(&self, name: &str, how: How) -> Result<Box<dyn OpenFile>, WriteError> {
        self.files
            .open(&self.directory.join(name), how)
            .map_err(|error| self.failed("create", name, &error))
    }

    /// A new file with the flags of the method.
    fn how(&self) -> How {
        How {
            direct: self.geometry.method == Method::Fua,
            dsync: self.geometry.method == Method::Dsync,
            ..NEW
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

/// The files of a cycle after the cut.
pub struct CycleFiles {
    world: Arc<dyn World>,
    directory: PathBuf,
    open: Option<(String, Option<Box<dyn OpenFile>>)>,
    buffer: AlignedBuffer,
}

impl CycleFiles {
    /// The files of the cycle of `geometry` in `path`.
    pub fn new(world: &Arc<dyn World>, path: &Path, geometry: &Geometry) -> CycleFiles {
        CycleFiles {
            world: Arc::clone(world),
            directory: cycle_directory(path, geometry.cycle),
            open: None,
            buffer: AlignedBuffer::new(geometry.commit_bytes().next_multiple_of(ALIGNMENT)),
        }
    }

    fn file(&mut self, name: &str) -> io::Result<Option<&dyn OpenFile>> {
        if self.open.as_ref().is_none_or(|(open, _)| open != name) {
            let how = How {
                from_media: true,
                ..How::default()
            };
            let path = self.directory.join(name);
            let file = match self.world.files().open(&path, how) {
                Ok(file) => Some(file),
                Err(error) if error.kind() == ErrorKind::NotFound => None,
                Err(error) => return Err(error),
            };
            self.open = Some((name.to_owned(), file));
        }
        let open = self.open.as_ref();
        Ok(open.and_then(|(_, file)| file.as_deref()))
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
