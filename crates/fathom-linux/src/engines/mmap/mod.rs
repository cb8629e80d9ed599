//! mmap: the file is mapped into memory, and each I/O is a copy.
#![allow(unsafe_code)]

mod map;
mod sigbus;

use std::sync::Arc;

use fathom_load::{EngineError, Op, OpenFile, Request};

use self::map::Map;
use super::file::{EngineFile, admit};
use super::sync::{Perform, SyncEngine};
use super::syscall::trim_or_sync;

/// Page size at which SIGBUS is repaired: 4 KiB on x86-64, up to 64 KiB elsewhere. Mappings with larger pages (hugetlbfs) are
/// not supported. A signal handler may call this.
fn page_size() -> usize {
    rustix::param::page_size()
}

/// The mappings of an engine's files. One I/O is one copy.
#[derive(Debug)]
pub(crate) struct Maps {
    maps: Vec<Map>,
    // Dropped after the maps, which use the descriptors.
    files: Arc<[EngineFile]>,
}

impl Maps {
    fn new(files: Arc<[EngineFile]>, open: &[OpenFile]) -> Result<Self, EngineError> {
        let mut maps = Vec::with_capacity(files.len());
        for (file, open) in files.iter().zip(open) {
            let map = Map::new(file.raw(), file.range, open);
            maps.push(map.map_err(|errno| map_error(errno, open))?);
        }
        Ok(Self { maps, files })
    }
}

fn map_error(errno: i32, open: &OpenFile) -> EngineError {
    let why = match errno {
        libc::ENODEV | libc::ESPIPE => "it cannot be mapped; use another engine",
        libc::EACCES => "it is not open for reading",
        libc::ENOMEM => {
            "out of address space or too many mappings; lower size or nrfiles, or raise vm.max_map_count"
        }
        _ => "the kernel rejects it",
    };
    EngineError {
        errno,
        what: format!("cannot map {}: {why}", open.path.display()),
    }
}

impl Perform for Maps {
    #[inline]
    unsafe fn perform(&mut self, request: &Request, buffer: *mut u8, buffer_size: u32) -> i64 {
        let file = match admit(&self.files, request, buffer_size) {
            Ok(file) => file,
            Err(refused) => return refused,
        };
        let map = &mut self.maps[request.file as usize];
        match request.op {
            // SAFETY: `admit` limited the request to its slot and to the file's range; the caller
            // lends us the slot.
            Op::Read => unsafe { map.read(request.offset, request.len, buffer) },
            // SAFETY: as above; `write` refuses a mapping that is not writable.
            Op::Write => unsafe { map.write(request.offset, request.len, buffer) },
            Op::Fsync => map.sync(true),
            Op::Fdatasync => map.sync(false),
            Op::SyncFileRange(_) | Op::Trim => trim_or_sync(file, request),
        }
    }
}

/// The mmap engine over `files`, which were opened as described by `open`.
pub(crate) fn engine(
    files: Arc<[EngineFile]>,
    open: &[OpenFile],
    buffer_size: u32,
) -> Result<SyncEngine<Maps>, EngineError> {
    SyncEngine::new(Maps::new(files, open)?, buffer_size)
}
