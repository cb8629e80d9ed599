//! Targets for testing an engine: a file on a disk file system (buffered and O_DIRECT), one on
//! tmpfs, a loop device.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use fathom_linux::EngineFile;
use fathom_load::OpenFile;
use fathom_model::{Fadvise, SyncMode};
use fathom_testkit::{FaultDevice, LoopDevice, LoopOptions, Need, Scratch, all_met, skip};

pub const SIZE: u64 = 1 << 20;

/// A scratch file or device of [`SIZE`] bytes, removed on drop.
pub struct Target {
    pub name: &'static str,
    pub path: PathBuf,
    pub direct: bool,
    pub block_device: bool,
    // In the order in which they must be dropped.
    _device: Option<LoopDevice>,
    _folder: Option<Scratch>,
}

impl Target {
    fn file(name: &'static str, directory: Scratch, direct: bool) -> Option<Target> {
        let path = directory.join("target");
        std::fs::write(&path, vec![0u8; SIZE as usize]).unwrap();
        Self {
            name,
            path,
            direct,
            block_device: false,
            _device: None,
            _folder: Some(directory),
        }
        .usable()
    }

    pub fn disk(direct: bool) -> Option<Target> {
        Self::file(
            if direct { "disk, O_DIRECT" } else { "disk" },
            Scratch::new().unwrap(),
            direct,
        )
    }

    pub fn tmpfs() -> Option<Target> {
        match Scratch::below(Path::new("/dev/shm")) {
            Ok(directory) => Self::file("tmpfs", directory, false),
            Err(error) => {
                skip(&format!("no tmpfs at /dev/shm: {error}"));
                None
            }
        }
    }

    pub fn loop_device() -> Option<Target> {
        if !all_met(&[Need::Loop]) {
            return None;
        }
        let directory = Scratch::new().unwrap();
        let options = LoopOptions {
            buffered: true,
            ..LoopOptions::default()
        };
        let device = LoopDevice::create(&directory.join("backing"), SIZE, options).unwrap();
        let path = device.path().to_owned();
        Some(Self {
            name: "loop",
            path,
            direct: true,
            block_device: true,
            _device: Some(device),
            _folder: Some(directory),
        })
    }

    /// The file of a fault device, which outlives it.
    pub fn faulty(device: &FaultDevice) -> Target {
        Self {
            name: "fault device",
            path: device.path(),
            direct: true,
            block_device: false,
            _device: None,
            _folder: None,
        }
    }

    /// All targets available here.
    pub fn all() -> Vec<Target> {
        [
            Self::disk(false),
            Self::disk(true),
            Self::tmpfs(),
            Self::loop_device(),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    fn usable(self) -> Option<Target> {
        match self.options(true).open(&self.path) {
            Ok(_) => Some(self),
            Err(error) => {
                skip(&format!("{}: {error}", self.name));
                None
            }
        }
    }

    fn options(&self, writes: bool) -> OpenOptions {
        let mut options = File::options();
        options
            .read(true)
            .write(writes)
            .custom_flags(if self.direct { libc::O_DIRECT } else { 0 });
        options
    }

    /// The descriptions for the engine; everything in `range` may be accessed.
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
        (
            open,
            EngineFile {
                fd,
                range,
                block_device: self.block_device,
            },
        )
    }

    pub fn content(&self) -> Vec<u8> {
        let mut content = std::fs::read(&self.path).unwrap();
        content.truncate(SIZE as usize);
        content
    }
}
