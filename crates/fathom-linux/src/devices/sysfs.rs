//! The sysfs tree of the kernel, or a copy below another root.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use fathom_device::{BackingDevices, Machine, ReadFailure, Sysfs};

use super::file_system;

/// Limit of the bytes read from one file.
const MAX_BYTES: u64 = 64 << 10;

/// Reads `/sys` and `/proc` of this machine, or copies of them below another root.
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
    /// The tree below `root`. Symbolic links in it must be relative.
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
    fn bytes(&self, path: &str) -> Result<Vec<u8>, ReadFailure> {
        let mut bytes = Vec::new();
        let read = File::open(self.host_path(path))
            .and_then(|file| file.take(MAX_BYTES).read_to_end(&mut bytes));
        match read {
            Ok(_) => Ok(bytes),
            Err(error)
                if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) =>
            {
                Err(ReadFailure::Missing)
            }
            Err(error) => Err(ReadFailure::Failed(error.to_string())),
        }
    }

    fn names(&self, directory: &str) -> Vec<String> {
        let Ok(entries) = std::fs::read_dir(self.host_path(directory)) else {
            return Vec::new();
        };
        let mut names: Vec<String> = entries
            .flatten()
            .filter_map(|entry| entry.file_name().into_string().ok())
            .collect();
        names.sort();
        names
    }

    fn canonicalize(&self, path: &str) -> Option<String> {
        let canonicalize = std::fs::canonicalize(self.host_path(path)).ok()?;
        Some(format!(
            "/{}",
            canonicalize.strip_prefix(&self.root).ok()?.to_str()?
        ))
    }

    fn page_size(&self) -> u32 {
        u32::try_from(rustix::param::page_size()).unwrap_or(4096)
    }
}

impl Machine for LinuxSysfs {
    fn backing_devices(&self, file: &Path) -> Option<BackingDevices> {
        file_system::backing_devices(file)
    }
}
