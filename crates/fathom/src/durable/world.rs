//! What the parts of the test ask of the host on which they run: its files, its clock, its threads, and the way to the recorder.
//! A host is real or simulated; writer, recorder and check do not know which.

use std::fs::TryLockError;
use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use fathom_durable::wire::NONCE;
use fathom_hosts::{Bell, Clock};
use fathom_tls::Trust;

/// A host.
pub trait World: Send + Sync {
    /// The clock of the host, which also starts threads.
    fn clock(&self) -> &dyn Clock;

    /// Its files.
    fn files(&self) -> &dyn FileSystem;

    /// Random bytes.
    ///
    /// # Errors
    /// When it has none.
    fn random(&self) -> Result<[u8; NONCE], String>;

    /// The identity of this boot.
    ///
    /// # Errors
    /// When it is not known.
    fn boot(&self) -> Result<String, String>;

    /// Connects to a recorder on another host, with TLS if there is somebody to trust.
    ///
    /// # Errors
    /// When it cannot be reached, or is another one.
    fn connect(&self, host: &str, trust: Option<&Trust>) -> Result<Box<dyn Wire>, String>;

    /// Whether the user wants the test to end.
    fn is_interrupted(&self) -> bool;

    /// What a certificate says of the host and of a directory on it.
    fn describe(&self, path: &Path) -> Description;
}

/// What a certificate says of a host.
#[derive(Clone, Debug, Default)]
pub struct Description {
    /// Kind, source and options of the file system.
    pub file_system: String,
    /// Its devices.
    pub devices: Vec<String>,
    /// Name and kernel.
    pub host: String,
    /// The machine, if it was simulated.
    pub simulated: Option<String>,
}

/// One end of a connection. Copies share it; it ends with the last of them.
pub trait Wire: Read + Write + Send {
    /// A copy, for another thread.
    ///
    /// # Errors
    /// When the system has no more descriptors.
    fn copy(&self) -> io::Result<Box<dyn Wire>>;

    /// The longest time that a read waits.
    ///
    /// # Errors
    /// When the connection does not exist any more.
    fn set_read_timeout(&self, time: Option<Duration>) -> io::Result<()>;

    /// Nothing more is sent.
    ///
    /// # Errors
    /// When the connection is lost.
    fn finish(&mut self) -> io::Result<()>;

    /// Whether the other end is on another host.
    fn is_to_other_host(&self) -> bool;
}

/// How a file is opened. Links are not followed where `creates` is new, or the file is read after a cut.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct How {
    /// Whether it may be missing.
    pub creates: Creates,
    /// It is only read; links are followed.
    pub read_only: bool,
    /// It is only read, and not from the page cache.
    pub from_media: bool,
    /// Direct I/O.
    pub direct: bool,
    /// O_DSYNC.
    pub dsync: bool,
}

/// Whether opening a file creates it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Creates {
    /// It exists.
    #[default]
    No,
    /// It does not exist.
    New,
    /// If it is missing. Links are followed.
    IfMissing,
}

/// What is at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    Directory,
    File,
    Other,
}

/// The files of a host. Errors are those of the system calls.
pub trait FileSystem: Send + Sync {
    fn entry(&self, path: &Path) -> io::Result<Entry>;

    /// Names in a directory, and what they are; links are not followed.
    fn list(&self, directory: &Path) -> io::Result<Vec<(String, Entry)>>;

    fn create_directory(&self, path: &Path) -> io::Result<()>;

    /// Opens a directory, to sync it.
    fn open_directory(&self, path: &Path) -> io::Result<Box<dyn OpenFile>>;

    fn open(&self, path: &Path, how: How) -> io::Result<Box<dyn OpenFile>>;

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    fn remove_file(&self, path: &Path) -> io::Result<()>;

    fn remove_directory(&self, path: &Path) -> io::Result<()>;

    /// Whether two paths, or the nearest directories above them that exist, are on one file system.
    fn is_same(&self, a: &Path, b: &Path) -> bool;
}

/// An open file. Errors are those of the system calls.
pub trait OpenFile: Send + Sync {
    fn write_all_at(&self, bytes: &[u8], offset: u64) -> io::Result<()>;

    /// A write with RWF_DSYNC.
    fn write_durable_at(&self, bytes: &[u8], offset: u64) -> io::Result<()>;

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;

    fn sync_all(&self) -> io::Result<()>;

    fn sync_data(&self) -> io::Result<()>;

    /// fallocate(2) from the start.
    fn allocate(&self, bytes: u64) -> io::Result<()>;

    fn set_len(&self, bytes: u64) -> io::Result<()>;

    /// Bytes of a regular file; `None` of anything else.
    fn len(&self) -> io::Result<Option<u64>>;

    fn try_lock(&self) -> Result<(), TryLockError>;
}

impl dyn OpenFile + '_ {
    /// The bytes from `offset` up to the end, at most `most`.
    pub fn read_from(&self, offset: u64, most: u64) -> io::Result<Vec<u8>> {
        let length = self.len()?.unwrap_or(0).saturating_sub(offset).min(most);
        let mut bytes = vec![0; length as usize];
        let mut read = 0;
        while read < bytes.len() {
            match self.read_at(&mut bytes[read..], offset + read as u64) {
                Ok(0) => break,
                Ok(more) => read += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        bytes.truncate(read);
        Ok(bytes)
    }
}

impl dyn FileSystem + '_ {
    pub fn exists(&self, path: &Path) -> bool {
        self.entry(path).is_ok()
    }

    /// Makes a new name durable.
    pub fn sync_parent(&self, path: &Path) -> io::Result<()> {
        let parent = path.parent();
        let parent = parent.filter(|parent| !parent.as_os_str().is_empty());
        self.open_directory(parent.unwrap_or(Path::new(".")))?
            .sync_all()
    }
}

impl dyn World + '_ {
    /// The time since the clock's zero.
    pub fn now(&self) -> Duration {
        self.clock().now()
    }

    pub fn elapsed(&self, since: Duration) -> Duration {
        self.now().saturating_sub(since)
    }

    pub fn sleep(&self, time: Duration) {
        self.clock().sleep_until(self.now() + time);
    }
}

/// Threads that somebody waits for.
#[derive(Clone, Default)]
pub struct Crew {
    state: Arc<Mutex<CrewState>>,
    ended: Arc<Bell>,
}

#[derive(Default)]
struct CrewState {
    left: usize,
    panicked: bool,
}

impl Crew {
    /// Starts a thread.
    ///
    /// # Errors
    /// When the system has none.
    pub fn spawn(
        &self,
        world: &dyn World,
        name: &str,
        body: impl FnOnce() + Send + 'static,
    ) -> Result<(), String> {
        let member = Member(self.clone());
        lock(&self.state).left += 1;
        let started = world.clock().spawn(
            name,
            Box::new(move || {
                let _member = member;
                body();
            }),
        );
        started
            .map(drop)
            .map_err(|error| format!("cannot start a thread: {error}"))
    }

    /// Waits until all threads have ended.
    ///
    /// # Panics
    /// When one of them has panicked.
    pub fn join(&self, world: &dyn World) {
        loop {
            let heard = self.ended.count();
            let state = lock(&self.state);
            assert!(!state.panicked, "a thread of the test has panicked");
            if state.left == 0 {
                return;
            }
            drop(state);
            world.clock().wait(&self.ended, heard, Duration::MAX);
        }
    }
}

/// A thread of a crew; it ends when this is dropped, also if the thread was never started.
struct Member(Crew);

impl Drop for Member {
    fn drop(&mut self) {
        let mut state = lock(&self.0.state);
        state.left -= 1;
        state.panicked |= std::thread::panicking();
        drop(state);
        self.0.ended.ring();
    }
}

pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
