//! Whether a direct read of a file is direct: it is made, and the page cache is looked at before and after.

use std::os::fd::OwnedFd;
use std::path::Path;

use fathom_model::DirectProbe;
use rustix::fs::{FileType, Mode, OFlags};

use crate::host::cache_state;

/// Read at once; a multiple of every block size in use.
const LENGTH: u64 = 4096;
/// How many places of the file are looked at for one that is not in the page cache.
const PLACES: u64 = 16;

/// Reads one block of a regular file with O_DIRECT. Nothing else is done to it.
pub(super) fn probe(path: &Path) -> DirectProbe {
    let not = |why: &str| DirectProbe::NotTried(why.to_owned());
    let Ok(stat) = rustix::fs::stat(path) else {
        return not("it is not there");
    };
    let size = u64::try_from(stat.st_size).unwrap_or(0);
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return not("it is no regular file");
    }
    if size < LENGTH {
        return not("the file is smaller than 4096 bytes");
    }
    let flags =
        OFlags::RDONLY | OFlags::DIRECT | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    match rustix::fs::open(path, flags, Mode::empty()) {
        Ok(file) => read(&file, size),
        Err(rustix::io::Errno::INVAL) => {
            DirectProbe::Refused("EINVAL: the file system has no direct I/O".to_owned())
        }
        Err(error) => not(&std::io::Error::from(error).to_string()),
    }
}

fn read(file: &OwnedFd, size: u64) -> DirectProbe {
    let resident = |at: u64| cache_state(file, at..at + LENGTH).map(|state| state.resident);
    if let Err(error) = resident(0) {
        return DirectProbe::NotTried(format!(
            "this kernel does not say what is in the page cache ({error})"
        ));
    }
    let blocks = size / LENGTH;
    let mut places =
        (0..PLACES.min(blocks)).map(|place| blocks * place / PLACES.min(blocks) * LENGTH);
    let Some(at) = places.find(|at| resident(*at).is_ok_and(|pages| pages == 0)) else {
        return DirectProbe::NotTried(
            "the places looked at are all in the page cache already".to_owned(),
        );
    };
    let mut memory = vec![0_u8; 2 * LENGTH as usize];
    let skip = memory.as_ptr().align_offset(LENGTH as usize);
    match rustix::io::pread(file, &mut memory[skip..skip + LENGTH as usize], at) {
        Ok(_) if resident(at).is_ok_and(|pages| pages > 0) => DirectProbe::Buffered,
        Ok(_) => DirectProbe::Direct,
        Err(error) => DirectProbe::Refused(std::io::Error::from(error).to_string()),
    }
}
