//! A directory on a real disk that is removed with its guard.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// File system magic numbers that are memory, not disk (statfs(2)).
const IN_MEMORY: [u64; 2] = [0x0102_1994, 0x8584_58f6];

/// A new directory, removed with everything in it on drop.
#[derive(Debug)]
pub struct Scratch {
    path: PathBuf,
}

impl Scratch {
    /// Creates a directory below the first of `$FATHOM_SCRATCH`, the temporary directory,
    /// `/var/tmp` and the current directory that is on a disk file system (not tmpfs).
    ///
    /// # Errors
    /// If there is none, or the directory cannot be created.
    pub fn new() -> io::Result<Self> {
        let named = std::env::var_os("FATHOM_SCRATCH").map(PathBuf::from);
        let usual = [std::env::temp_dir(), "/var/tmp".into(), ".".into()];
        let mut bases = named.into_iter().chain(usual);
        let base = bases.find(|base| on_disk(base)).ok_or_else(|| {
            io::Error::other(
                "no temporary directory is on a disk; set FATHOM_SCRATCH to one that is",
            )
        })?;
        Self::below(&base)
    }

    /// Creates a directory below `base`, on whatever file system that is.
    ///
    /// # Errors
    /// If the directory cannot be created.
    pub fn below(base: &Path) -> io::Result<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let base = base.canonicalize()?;
        loop {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let path = base.join(format!("fathom-test-{}-{number}", std::process::id()));
            match std::fs::create_dir(&path) {
                Ok(()) => return Ok(Scratch { path }),
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
                Err(e) => return Err(e),
            }
        }
    }

    /// Its absolute path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A path in it; nothing is created.
    pub fn join(&self, name: impl AsRef<Path>) -> PathBuf {
        self.path.join(name)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // This fails, as it must, if it still contains a mount, whose files must not be removed.
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

fn on_disk(base: &Path) -> bool {
    rustix::fs::statfs(base).is_ok_and(|fs| !IN_MEMORY.contains(&(fs.f_type as u64)))
}
