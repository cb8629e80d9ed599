//! The only way in which fathom creates the files that the user names as outputs.
//!
//! An output option accepts any path, also `/dev/sda` or the target of the job. Every output is opened here, so that
//! none of them can overwrite a device, a target, or a file behind a symbolic link that the user did not name.
//!
//! * A new name is created with `O_EXCL`.
//! * An existing regular file is never opened for writing: a new file beside it is renamed over it. Other names of the
//!   old file (hard links) keep the old content.
//! * A pipe, a terminal, `/dev/null`, `/dev/zero` and `/dev/full` are written as they are.
//! * Everything else is refused: block devices, other character devices, directories, sockets, and any file that is a
//!   target of the run.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use rustix::fs::OFlags;

/// Major number of `/dev/null`, `/dev/zero` and `/dev/full` (Documentation/admin-guide/devices.txt).
const MEM_MAJOR: u32 = 1;
/// Their minor numbers. `/dev/mem`, `/dev/kmem` and `/dev/port` have others.
const HARMLESS_MINORS: [u32; 3] = [3, 5, 7];
/// Symbolic links that are followed, as in the kernel (`path_resolution(7)`).
const MAX_LINKS: usize = 40;

/// Who chose the name of an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputName {
    /// The user named this file: symbolic links are followed.
    Explicit,
    /// fathom composed the name (a log, a verify state): a symbolic link with this name is refused.
    Implicit,
}

/// One file, whatever its name: device and inode number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileId {
    dev: u64,
    ino: u64,
}

impl FileId {
    /// The file that `path` names now; `None` where there is none.
    #[must_use]
    pub fn of(path: &Path) -> Option<FileId> {
        fs::metadata(path)
            .ok()
            .map(|metadata| FileId::from(&metadata))
    }
}

impl From<&Metadata> for FileId {
    fn from(metadata: &Metadata) -> FileId {
        FileId {
            dev: metadata.dev(),
            ino: metadata.ino(),
        }
    }
}

/// Why an output was not opened.
#[derive(Debug)]
pub enum OutputError {
    /// It is a block device.
    BlockDevice(PathBuf),
    /// It is a character device other than a terminal, `/dev/null`, `/dev/zero` or `/dev/full`.
    Device(PathBuf),
    /// It is a directory.
    Directory(PathBuf),
    /// It is a socket.
    Socket(PathBuf),
    /// It is a target of the same run.
    Target(PathBuf),
    /// fathom composed the name, and a symbolic link has it.
    Symlink(PathBuf),
    /// The kernel refused.
    Io(PathBuf, io::Error),
}

impl std::fmt::Display for OutputError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            OutputError::BlockDevice(path) => write!(
                f,
                "{} is a block device; write the output to a file, a pipe or a terminal",
                path.display()
            ),
            OutputError::Device(path) => write!(
                f,
                "{} is a device; write the output to a file, a pipe or a terminal",
                path.display()
            ),
            OutputError::Directory(path) => {
                write!(f, "{} is a directory; name a file in it", path.display())
            }
            OutputError::Socket(path) => write!(
                f,
                "{} is a socket; write the output to a file, a pipe or a terminal",
                path.display()
            ),
            OutputError::Target(path) => write!(
                f,
                "{} is a target of this run; the output would overwrite it",
                path.display()
            ),
            OutputError::Symlink(path) => write!(
                f,
                "{} is a symbolic link; a file with a name that fathom chooses does not follow links. Remove the link",
                path.display()
            ),
            OutputError::Io(path, error) if path.as_os_str().is_empty() => {
                write!(f, "cannot write a file without a name: {error}")
            }
            OutputError::Io(path, error) => {
                write!(f, "cannot write {}: {error}", path.display())
            }
        }
    }
}

impl std::error::Error for OutputError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            OutputError::Io(_, error) => Some(error),
            _ => None,
        }
    }
}

impl From<OutputError> for io::Error {
    fn from(error: OutputError) -> io::Error {
        match error {
            OutputError::Io(_, error) => error,
            other => io::Error::other(other),
        }
    }
}

/// Opens outputs, and refuses the targets of the run.
#[derive(Clone, Debug, Default)]
pub struct Outputs {
    targets: Vec<FileId>,
}

impl Outputs {
    /// Outputs of a run with these targets. Paths that do not exist yet are compared when an output is opened.
    #[must_use]
    pub fn excluding<'a>(targets: impl IntoIterator<Item = &'a Path>) -> Outputs {
        Outputs {
            targets: targets.into_iter().filter_map(FileId::of).collect(),
        }
    }

    /// Opens an output that is written over time: logs, events, `--output`. The name refers to the new file at once.
    ///
    /// # Errors
    /// [`OutputError`] when `path` is not a place for outputs, or cannot be created.
    pub fn stream(&self, path: &Path, name: OutputName) -> Result<File, OutputError> {
        let (file, replaces) = self.open(path, name)?;
        if let Some(replaces) = replaces {
            replaces
                .commit()
                .map_err(|error| OutputError::Io(path.to_owned(), error))?;
        }
        Ok(file)
    }

    /// Opens an output whose lines are added at the end of the file that is there.
    ///
    /// # Errors
    /// [`OutputError`] when `path` is not a place for outputs, or cannot be opened.
    pub fn append(&self, path: &Path, name: OutputName) -> Result<File, OutputError> {
        let io = |error| OutputError::Io(path.to_owned(), error);
        self.examine(path, name)?;
        let file = self.open_existing(path, name, OFlags::APPEND | OFlags::CREATE)?;
        if self
            .targets
            .contains(&FileId::from(&file.metadata().map_err(io)?))
        {
            return Err(OutputError::Target(path.to_owned()));
        }
        Ok(file)
    }

    /// Writes a whole document. Its name refers to the old content, or to no file, until all of it is written.
    ///
    /// # Errors
    /// [`OutputError`] when `path` is not a place for outputs, or cannot be written. An incomplete new file is removed.
    pub fn write(&self, path: &Path, name: OutputName, bytes: &[u8]) -> Result<(), OutputError> {
        let mut document = self.document(path, name)?;
        document
            .write_all(bytes)
            .map_err(|error| OutputError::Io(path.to_owned(), error))?;
        document.commit()
    }

    /// Opens a document that appears under its name when it is complete: with [`Document::commit`].
    ///
    /// # Errors
    /// [`OutputError`] when `path` is not a place for outputs, or cannot be created.
    pub fn document(&self, path: &Path, name: OutputName) -> Result<Document, OutputError> {
        let io = |error| OutputError::Io(path.to_owned(), error);
        let document = |file, replacement| Document {
            path: path.to_owned(),
            file,
            replacement,
        };
        if self.examine(path, name)?.is_none() {
            let real = resolve_links(path).map_err(io)?;
            if let Ok((file, replacement)) = Replacement::begin_new(&real) {
                return Ok(document(file, Some(replacement)));
            }
            // The longer temporary name may not fit; any other reason is reported for the name itself.
        }
        let (file, replacement) = self.open(path, name)?;
        Ok(document(file, replacement))
    }

    /// What is at `path` now; `None` for a new name.
    fn examine(&self, path: &Path, name: OutputName) -> Result<Option<Metadata>, OutputError> {
        let owned = || path.to_owned();
        if name == OutputName::Implicit
            && fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_symlink())
        {
            return Err(OutputError::Symlink(owned()));
        }
        let metadata = match fs::metadata(path) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(OutputError::Io(owned(), error)),
        };
        let kind = metadata.file_type();
        if self.targets.contains(&FileId::from(&metadata)) && !kind.is_char_device() {
            return Err(OutputError::Target(owned()));
        }
        if kind.is_block_device() {
            return Err(OutputError::BlockDevice(owned()));
        }
        if kind.is_dir() {
            return Err(OutputError::Directory(owned()));
        }
        if kind.is_socket() {
            return Err(OutputError::Socket(owned()));
        }
        Ok(Some(metadata))
    }

    fn open(
        &self,
        path: &Path,
        name: OutputName,
    ) -> Result<(File, Option<Replacement>), OutputError> {
        let io = |error| OutputError::Io(path.to_owned(), error);
        let Some(metadata) = self.examine(path, name)? else {
            let real = resolve_links(path).map_err(io)?;
            return match create_new(&real) {
                Ok(file) => Ok((file, None)),
                // It was created since it was examined.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => self.open(path, name),
                Err(error) => Err(io(error)),
            };
        };
        if !metadata.is_file() {
            return Ok((self.open_existing(path, name, OFlags::empty())?, None));
        }
        if of_this_process(path) {
            return Ok((self.open_existing(path, name, OFlags::APPEND)?, None));
        }
        // Whether the user may write it; nothing is changed by opening it.
        drop(self.open_existing(path, name, OFlags::APPEND)?);
        let real = fs::canonicalize(path).map_err(io)?;
        match Replacement::begin(&real, &metadata) {
            Ok((file, replacement)) => Ok((file, Some(replacement))),
            // The file may be writable in a directory that is not: it is emptied in place.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                let file = self.open_existing(path, name, OFlags::empty())?;
                file.set_len(0).map_err(io)?;
                Ok((file, None))
            }
            Err(error) => Err(io(error)),
        }
    }

    /// Opens what exists without truncating it, then looks at what was opened.
    fn open_existing(
        &self,
        path: &Path,
        name: OutputName,
        flags: OFlags,
    ) -> Result<File, OutputError> {
        let io = |error| OutputError::Io(path.to_owned(), error);
        let mut flags = flags | OFlags::NOCTTY;
        if name == OutputName::Implicit {
            flags |= OFlags::NOFOLLOW;
        }
        let file = OpenOptions::new()
            .write(true)
            .custom_flags(flags.bits().cast_signed())
            .mode(0o644)
            .open(path)
            .map_err(io)?;
        let metadata = file.metadata().map_err(io)?;
        let kind = metadata.file_type();
        if kind.is_block_device() {
            return Err(OutputError::BlockDevice(path.to_owned()));
        }
        if kind.is_char_device() && !takes_output(&file, &metadata) {
            return Err(OutputError::Device(path.to_owned()));
        }
        if !kind.is_char_device() && self.targets.contains(&FileId::from(&metadata)) {
            return Err(OutputError::Target(path.to_owned()));
        }
        Ok(file)
    }
}

fn takes_output(file: &File, metadata: &Metadata) -> bool {
    let (major, minor) = (
        rustix::fs::major(metadata.rdev()),
        rustix::fs::minor(metadata.rdev()),
    );
    (major == MEM_MAJOR && HARMLESS_MINORS.contains(&minor)) || rustix::termios::isatty(file)
}

/// Names of files that this process already has open, such as `/dev/stdout`.
fn of_this_process(path: &Path) -> bool {
    ["/dev/fd", "/dev/stdout", "/dev/stderr", "/proc"]
        .iter()
        .any(|start| path.starts_with(start))
}

/// Where a name leads that may be a symbolic link to a file that does not exist yet.
fn resolve_links(path: &Path) -> io::Result<PathBuf> {
    let mut real = path.to_owned();
    for _ in 0..MAX_LINKS {
        match fs::read_link(&real) {
            Ok(next) => real = real.parent().unwrap_or(Path::new("/")).join(next),
            Err(_) => return Ok(real),
        }
    }
    Err(io::Error::from_raw_os_error(libc::ELOOP))
}

fn create_new(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o644)
        .open(path)
}

/// A document that is being written. Dropped before [`Document::commit`], it leaves the old file as it is.
#[derive(Debug)]
pub struct Document {
    path: PathBuf,
    file: File,
    /// `None` for what is written in place, such as a pipe.
    replacement: Option<Replacement>,
}

impl Document {
    /// Gives the document its name.
    ///
    /// # Errors
    /// When the file cannot be renamed.
    pub fn commit(self) -> Result<(), OutputError> {
        self.replacement
            .map_or(Ok(()), Replacement::commit)
            .map_err(|error| OutputError::Io(self.path, error))
    }
}

impl Write for Document {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// A new file beside the one that it will replace. Dropped without [`Replacement::commit`], it is removed.
#[derive(Debug)]
struct Replacement {
    new: PathBuf,
    old: PathBuf,
}

impl Replacement {
    fn begin(old: &Path, metadata: &Metadata) -> io::Result<(File, Replacement)> {
        let (file, replacement) = Replacement::begin_new(old)?;
        file.set_permissions(fs::Permissions::from_mode(metadata.mode() & 0o7777))?;
        // Only root can give files away; without it the new file is the user's.
        let _ = std::os::unix::fs::fchown(&file, Some(metadata.uid()), Some(metadata.gid()));
        Ok((file, replacement))
    }

    fn begin_new(old: &Path) -> io::Result<(File, Replacement)> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let name = old.file_name().unwrap_or_default().to_string_lossy();
        loop {
            let count = COUNT.fetch_add(1, Relaxed);
            let new = old.with_file_name(format!(".{name}.{}-{count}.new", std::process::id()));
            match create_new(&new) {
                Ok(file) => {
                    let old = old.to_owned();
                    return Ok((file, Replacement { new, old }));
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn commit(self) -> io::Result<()> {
        fs::rename(&self.new, &self.old)
    }
}

impl Drop for Replacement {
    fn drop(&mut self) {
        // After a commit there is no file of this name.
        let _ = fs::remove_file(&self.new);
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::OutputName::{Explicit, Implicit};
    use super::*;

    fn directory(name: &str) -> PathBuf {
        let path =
            std::env::temp_dir().join(format!("fathom-output-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        path
    }

    /// Regression 0298: every output option overwrote its path, including block devices. A refused
    /// device is not opened for writing, so the test can use any block device of the machine.
    #[test]
    fn block_devices_are_refused() {
        let Some(device) = fs::read_dir("/dev")
            .unwrap()
            .flatten()
            .map(|entry| entry.path())
            .find(|path| {
                fs::metadata(path).is_ok_and(|metadata| metadata.file_type().is_block_device())
            })
        else {
            eprintln!("SKIP: no block device in /dev");
            return;
        };
        let outputs = Outputs::default();
        for name in [Explicit, Implicit] {
            assert!(matches!(
                outputs.stream(&device, name),
                Err(OutputError::BlockDevice(_))
            ));
            assert!(matches!(
                outputs.append(&device, name),
                Err(OutputError::BlockDevice(_))
            ));
            assert!(matches!(
                outputs.write(&device, name, b"x"),
                Err(OutputError::BlockDevice(_))
            ));
        }
        let directory = directory("device");
        symlink(&device, directory.join("link")).unwrap();
        let linked = outputs.write(&directory.join("link"), Explicit, b"x");
        assert!(matches!(linked, Err(OutputError::BlockDevice(_))));
        fs::remove_dir_all(directory).unwrap();
    }

    #[test]
    fn directories_sockets_and_memory_devices_are_refused() {
        let directory = directory("kinds");
        let outputs = Outputs::default();
        assert!(matches!(
            outputs.stream(&directory, Explicit),
            Err(OutputError::Directory(_))
        ));
        let socket = directory.join("socket");
        let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        assert!(matches!(
            outputs.stream(&socket, Explicit),
            Err(OutputError::Socket(_))
        ));
        // /dev/random has the major number of /dev/null, and takes what is written to it.
        assert!(matches!(
            outputs.stream(Path::new("/dev/random"), Explicit),
            Err(OutputError::Device(_))
        ));
        outputs.stream(Path::new("/dev/null"), Explicit).unwrap();
        outputs
            .write(Path::new("/dev/null"), Explicit, b"x")
            .unwrap();
        fs::remove_dir_all(directory).unwrap();
    }

    /// Regression 0298: an output with the name of a target overwrote it, under any of its names.
    #[test]
    fn targets_of_the_run_are_refused_under_every_name() {
        let directory = directory("targets");
        let target = directory.join("data");
        fs::write(&target, "precious").unwrap();
        fs::hard_link(&target, directory.join("hard")).unwrap();
        symlink(&target, directory.join("soft")).unwrap();
        let outputs = Outputs::excluding([target.as_path()]);
        for name in ["data", "hard", "soft"] {
            let path = directory.join(name);
            assert!(
                matches!(outputs.stream(&path, Explicit), Err(OutputError::Target(_))),
                "{name}"
            );
            assert!(
                matches!(outputs.append(&path, Explicit), Err(OutputError::Target(_))),
                "{name}"
            );
            assert!(
                matches!(
                    outputs.write(&path, Explicit, b"x"),
                    Err(OutputError::Target(_))
                ),
                "{name}"
            );
        }
        assert_eq!(fs::read(&target).unwrap(), b"precious");
        fs::remove_dir_all(directory).unwrap();
    }

    #[test]
    fn a_name_that_fathom_chose_follows_no_link() {
        let directory = directory("implicit");
        let other = directory.join("other");
        fs::write(&other, "kept").unwrap();
        let link = directory.join("log");
        symlink(&other, &link).unwrap();
        let outputs = Outputs::default();
        assert!(matches!(
            outputs.stream(&link, Implicit),
            Err(OutputError::Symlink(_))
        ));
        assert!(matches!(
            outputs.append(&link, Implicit),
            Err(OutputError::Symlink(_))
        ));
        assert!(matches!(
            outputs.write(&link, Implicit, b"x"),
            Err(OutputError::Symlink(_))
        ));
        assert_eq!(fs::read(&other).unwrap(), b"kept");
        // A link that the user named is followed, and stays a link.
        outputs.write(&link, Explicit, b"new").unwrap();
        assert_eq!(fs::read(&other).unwrap(), b"new");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        // Also one that leads to a file that does not exist yet.
        symlink("later", directory.join("dangling")).unwrap();
        outputs
            .write(&directory.join("dangling"), Explicit, b"there")
            .unwrap();
        assert_eq!(fs::read(directory.join("later")).unwrap(), b"there");
        fs::remove_dir_all(directory).unwrap();
    }

    #[test]
    fn a_replaced_file_keeps_its_mode_and_its_other_names_their_content() {
        let directory = directory("replace");
        let file = directory.join("result.json");
        fs::write(&file, "old").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
        fs::hard_link(&file, directory.join("archive.json")).unwrap();
        let outputs = Outputs::default();
        outputs.write(&file, Explicit, b"new").unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"new");
        assert_eq!(fs::read(directory.join("archive.json")).unwrap(), b"old");
        assert_eq!(fs::metadata(&file).unwrap().mode() & 0o7777, 0o640);
        let mut stream = outputs.stream(&file, Explicit).unwrap();
        stream.write_all(b"first ").unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"first ");
        let mut more = outputs.append(&file, Explicit).unwrap();
        more.write_all(b"second").unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"first second");
        let names: Vec<_> = fs::read_dir(&directory)
            .unwrap()
            .flatten()
            .map(|entry| entry.file_name())
            .collect();
        assert_eq!(names.len(), 2, "nothing else remains: {names:?}");
        fs::remove_dir_all(directory).unwrap();
    }

    #[test]
    fn a_document_that_does_not_fit_leaves_the_old_one() {
        let outputs = Outputs::default();
        let full = outputs.write(Path::new("/dev/full"), Explicit, &[0; 4096]);
        assert!(
            matches!(full, Err(OutputError::Io(_, error)) if error.raw_os_error() == Some(libc::ENOSPC))
        );
    }
}
