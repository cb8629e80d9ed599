//! Files of our own to measure on.

use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

const MIB: usize = 1 << 20;

/// A folder that goes with everything in it.
pub struct Folder(PathBuf);

impl Folder {
    /// A new folder under `parent`.
    pub fn new(parent: &Path) -> Result<Self, String> {
        let path = parent.join(format!("fathom-bench-{}", std::process::id()));
        std::fs::create_dir_all(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(Self(path))
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The file `name` of `mib` MiB that do not compress, on the disk; made once.
    pub fn file(&self, name: &str, mib: usize) -> Result<PathBuf, String> {
        let path = self.0.join(name);
        if !path.exists() {
            fill(&path, mib).map_err(|error| format!("{}: {error}", path.display()))?;
        }
        Ok(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Nothing can be done about what does not go; its name tells whose it is.
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

/// Brings all of a file into the page cache.
pub fn read_all(path: &Path) -> Result<(), String> {
    let read = || std::io::copy(&mut File::open(path)?, &mut std::io::sink());
    read()
        .map(|_| ())
        .map_err(|error| format!("{}: {error}", path.display()))
}
