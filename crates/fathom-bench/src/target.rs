//! Files created for the benchmarks.

use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

const MIB: usize = 1 << 20;

/// A directory that is removed with its contents.
pub struct TempDirectory(PathBuf);

impl TempDirectory {
    /// A new directory under `parent`.
    pub fn new(parent: &Path) -> Result<Self, String> {
        let path = parent.join(format!("fathom-bench-{}", std::process::id()));
        std::fs::create_dir_all(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(Self(path))
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The file `name` with `mib` MiB of incompressible data, on the disk; created once.
    pub fn file(&self, name: &str, mib: usize) -> Result<PathBuf, String> {
        let path = self.0.join(name);
        if !path.exists() {
            fill(&path, mib).map_err(|error| format!("{}: {error}", path.display()))?;
        }
        Ok(path)
    }
}

impl Drop for TempDirectory {
    fn drop(&mut self) {
        // An error cannot be handled here; the directory's name shows its origin.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn fill(path: &Path, mib: usize) -> std::io::Result<()> {
    let mut file = File::create_new(path)?;
    let mut source = File::open("/dev/urandom")?;
    let mut block = vec![0; MIB];
    for _ in 0..mib {
        source.read_exact(&mut block)?;
        file.write_all(&block)?;
    }
    file.sync_all()
}

/// Reads all of a file into the page cache.
pub fn read_all(path: &Path) -> Result<(), String> {
    let read = || std::io::copy(&mut File::open(path)?, &mut std::io::sink());
    read()
        .map(|_| ())
        .map_err(|error| format!("{}: {error}", path.display()))
}
