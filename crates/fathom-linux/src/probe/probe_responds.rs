//! Whether a target responds at all.

use super::examine::{PATH_ONLY, READ};
use super::owner::proc_path;
use rustix::fs::{FileType, Mode};
use std::path::Path;

/// Opens `path` as `examine` would and reads its first sector. The result does not matter, only
/// that the call returns. A hanging target can block it indefinitely and even keep the process from
/// ending, so call it in a process that can be abandoned.
pub fn probe_responds(path: &Path) {
    let Ok(name) = rustix::fs::open(path, PATH_ONLY, Mode::empty()) else {
        return;
    };
    let Ok(stat) = rustix::fs::fstat(&name) else {
        return;
    };
    // Opening anything else can have side effects.
    if !matches!(
        FileType::from_raw_mode(stat.st_mode),
        FileType::RegularFile | FileType::BlockDevice
    ) {
        return;
    }
    if let Ok(opened) = rustix::fs::open(proc_path(&name), READ, Mode::empty()) {
        let _ = rustix::io::pread(&opened, &mut [0_u8; 512], 0);
    }
}
