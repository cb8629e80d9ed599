//! Tests whether a direct read of a file bypasses the page cache, by comparing the cache before and
//! after one.

use std::os::fd::OwnedFd;
use std::path::Path;

use fathom_model::DirectIoProbe;
use rustix::fs::{FileType, Mode, OFlags};

use crate::host::cache_state;

/// Length of the read; a multiple of every block size in use.
const READ_BYTES: u64 = 4096;
/// How many offsets of the file are tried to find one outside the page cache.
const TRIED_OFFSETS: u64 = 16;

/// Reads one block of a regular file with O_DIRECT. Nothing else is done to it.
pub(super) fn probe(path: &Path) -> DirectIoProbe {
    let not_tried = |why: &str| DirectIoProbe::NotTried(why.to_owned());
    let Ok(stat) = rustix::fs::stat(path) else {
        return not_tried("the file does not exist");
    };
    let size = u64::try_from(stat.st_size).unwrap_or(0);
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return not_tried("not a regular file");
    }
    if size < READ_BYTES {
        return not_tried("the file is smaller than 4096 bytes");
    }
    let flags =
        OFlags::RDONLY | OFlags::DIRECT | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    match rustix::fs::open(path, flags, Mode::empty()) {
        Ok(file) => read(&file, size),
        Err(rustix::io::Errno::INVAL) => {
            DirectIoProbe::Refused("EINVAL: the file system has no direct I/O".to_owned())
        }
        Err(error) => not_tried(&std::io::Error::from(error).to_string()),
    }
}

fn read(file: &OwnedFd, size: u64) -> DirectIoProbe {
    let resident = |at: u64| cache_state(file, at..at + READ_BYTES).map(|state| state.resident);
    if let Err(error) = resident(0) {
        return DirectIoProbe::NotTried(format!(
            "this kernel does not report the contents of the page cache ({error})"
        ));
    }
    let blocks = size / READ_BYTES;
    let mut offsets = (0..TRIED_OFFSETS.min(blocks))
        .map(|place| blocks * place / TRIED_OFFSETS.min(blocks) * READ_BYTES);
    let Some(at) = offsets.find(|at| resident(*at).is_ok_and(|pages| pages == 0)) else {
        return DirectIoProbe::NotTried(
            "all offsets tried are already in the page cache".to_owned(),
        );
    };
    let mut memory = vec![0_u8; 2 * READ_BYTES as usize];
    let skip = memory.as_ptr().align_offset(READ_BYTES as usize);
    match rustix::io::pread(file, &mut memory[skip..skip + READ_BYTES as usize], at) {
        Ok(_) if resident(at).is_ok_and(|pages| pages > 0) => DirectIoProbe::Buffered,
        Ok(_) => DirectIoProbe::Direct,
        Err(error) => DirectIoProbe::Refused(std::io::Error::from(error).to_string()),
    }
}
