//! A directory that lies on a real disk and goes away with its guard.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// File system magic numbers that are memory, not disk (statfs(2)).
const IN_MEMORY: [u64; 2] = [0x0102_1994, 0x8584_58f6];

/// A fresh directory, removed with everything in it on drop.
#[derive(Debug)]
pub struct Scratch {
    path: PathBuf,
}

impl Scratch {
    /// Makes a directory below the first of `$FATHOM_SCRATCH`, the temporary directory,
    /// `/var/tmp` and the current directory that is on a disk file system (not tmpfs).
    ///
    /// # Errors
    /// When none of them is, or the directory cannot be made.
    pub fn new() -> io::Result<Self> {
        let named = std::env::var_os("FATHOM_SCRATCH").map(PathBuf::from);
        let usual = [std::env::temp_dir(), "/var/tmp".into(), ".".into()];
        let mut bases = named.into_iter().chain(usual);
        let base = bases.find(|base| on_disk(base)).ok_or_else(|| {
            io::Error::other("no temporary directory lies on a disk; set FATHOM_SCRATCH to one")
        })?;
        Self::below(&base)
    }

    /// Makes a directory below `base`, whatever file system that is.
    ///
    /// # Errors
    /// When the directory cannot be made.
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

    /// Where it is, absolute.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A path in it; nothing is made.
    pub fn join(&self, name: impl AsRef<Path>) -> PathBuf {
        self.path.join(name)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A mount still in there makes this fail, and must: its files are not ours to remove.
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

fn on_disk(base: &Path) -> bool {
    rustix::fs::statfs(base).is_ok_and(|fs| !IN_MEMORY.contains(&(fs.f_type as u64)))
}
