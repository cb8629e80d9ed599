//! The kernel's tree, or one under another root.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use fathom_device::{Below, Machine, Sysfs, Unread};

use super::file_system;

/// No more is read of one file.
const LARGEST: u64 = 64 << 10;

/// Reads `/sys` and `/proc` of this machine, or copies of them below a root.
#[derive(Clone, Debug)]
pub struct LinuxSysfs {
    root: PathBuf,
}

impl Default for LinuxSysfs {
    fn default() -> Self {
        LinuxSysfs::at("/")
    }
}

impl LinuxSysfs {
    /// The tree below `root`; links in it must be relative.
    #[must_use]
    pub fn at(root: impl Into<PathBuf>) -> Self {
        let root = root.into();
        LinuxSysfs {
            root: std::fs::canonicalize(&root).unwrap_or(root),
        }
    }

    fn host_path(&self, path: &str) -> PathBuf {
        self.root.join(path.trim_start_matches('/'))
    }
}

impl Sysfs for LinuxSysfs {
    fn bytes(&self, path: &str) -> Result<Vec<u8>, Unread> {
        let mut bytes = Vec::new();
        let read = File::open(self.host_path(path))
            .and_then(|file| file.take(LARGEST).read_to_end(&mut bytes));
        match read {
            Ok(_) => Ok(bytes),
            Err(error)
                if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) =>
            {
                Err(Unread::Missing)
            }
            Err(error) => Err(Unread::Failed(error.to_string())),
        }
    }

    fn names(&self, folder: &str) -> Vec<String> {
        let Ok(entries) = std::fs::read_dir(self.host_path(folder)) else {
            return Vec::new();
        };
        let mut names: Vec<String> = entries
            .flatten()
            .filter_map(|entry| entry.file_name().into_string().ok())
            .collect();
        names.sort();
        names
    }

    fn real(&self, path: &str) -> Option<String> {
        let real = std::fs::canonicalize(self.host_path(path)).ok()?;
        Some(format!(
            "/{}",
            real.strip_prefix(&self.root).ok()?.to_str()?
        ))
    }

    fn page_size(&self) -> u32 {
        u32::try_from(rustix::param::page_size()).unwrap_or(4096)
    }
}

impl Machine for LinuxSysfs {
    fn below(&self, file: &Path) -> Option<Below> {
        file_system::below(file)
    }
}
