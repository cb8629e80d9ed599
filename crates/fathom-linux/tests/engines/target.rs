//! Places to try an engine on: a file on a disk file system (buffered and O_DIRECT), one on tmpfs, a loop device.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use fathom_linux::EngineFile;
use fathom_load::OpenFile;
use fathom_model::{Fadvise, SyncMode};

pub const SIZE: u64 = 1 << 20;

/// A scratch file or device of [`SIZE`] bytes, gone when dropped.
pub struct Target {
    pub name: &'static str,
    pub path: PathBuf,
    pub direct: bool,
    pub block_device: bool,
    backing: Option<PathBuf>,
}

fn scratch(folder: &Path) -> PathBuf {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let path = folder.join(format!("fathom-engines-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed)));
    std::fs::write(&path, vec![0u8; SIZE as usize]).unwrap();
    path
}

impl Target {
    pub fn disk(direct: bool) -> Option<Target> {
        let path = scratch(Path::new(env!("CARGO_TARGET_TMPDIR")));
        Self { name: if direct { "disk, O_DIRECT" } else { "disk" }, path, direct, block_device: false, backing: None }.usable()
    }

    pub fn tmpfs() -> Option<Target> {
        let folder = Path::new("/dev/shm");
        if !folder.is_dir() {
            eprintln!("SKIP: no tmpfs at /dev/shm");
            return None;
        }
        Self { name: "tmpfs", path: scratch(folder), direct: false, block_device: false, backing: None }.usable()
    }

    pub fn loop_device() -> Option<Target> {
        let backing = scratch(Path::new(env!("CARGO_TARGET_TMPDIR")));
        let made = Command::new("losetup").args(["--find", "--show"]).arg(&backing).output();
        match made {
            Ok(output) if output.status.success() => {
                let path = PathBuf::from(String::from_utf8(output.stdout).unwrap().trim());
                Some(Self { name: "loop", path, direct: true, block_device: true, backing: Some(backing) })
            }
            _ => {
                eprintln!("SKIP: no loop device (needs root and losetup)");
                let _ = std::fs::remove_file(backing);
                None
            }
        }
    }

    /// All there are here.
    pub fn all() -> Vec<Target> {
        [Self::disk(false), Self::disk(true), Self::tmpfs(), Self::loop_device()].into_iter().flatten().collect()
    }

    fn usable(self) -> Option<Target> {
        match self.options(true).open(&self.path) {
            Ok(_) => Some(self),
            Err(error) => {
                eprintln!("SKIP: {}: {error}", self.name);
                None
            }
        }
    }

    fn options(&self, writes: bool) -> OpenOptions {
        let mut options = File::options();
        options.read(true).write(writes).custom_flags(if self.direct { libc::O_DIRECT } else { 0 });
        options
    }

    /// How the engine is told of it; everything in `range` may be touched.
    pub fn open(&self, range: (u64, u64), writes: bool) -> (OpenFile, EngineFile) {
        let open = OpenFile {
            path: self.path.clone(),
            range,
            writes,
            reads: true,
            direct: self.direct,
            sync: SyncMode::default(),
            fadvise: Fadvise::ByPattern,
            random: true,
            create: false,
        };
        let fd = self.options(writes).open(&self.path).unwrap().into();
        (open, EngineFile { fd, range, block_device: self.block_device })
    }

    pub fn content(&self) -> Vec<u8> {
        let mut content = std::fs::read(&self.path).unwrap();
        content.truncate(SIZE as usize);
        content
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        let file = match &self.backing {
            Some(backing) => {
                let _ = Command::new("losetup").arg("-d").arg(&self.path).status();
                backing
            }
            None => &self.path,
        };
        let _ = std::fs::remove_file(file);
    }
}
