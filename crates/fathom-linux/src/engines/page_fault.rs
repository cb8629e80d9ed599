//! page_fault: copies to and from anonymous memory, whose pages the kernel allocates on first
//! access.
#![allow(unsafe_code)]

use fathom_load::{EngineError, Op, OpenFile, Request};

use super::sync::{Perform, SyncEngine};
use crate::memory::Memory;

/// The range of one file as anonymous memory.
#[derive(Debug)]
struct Area {
    memory: Memory,
    range: (u64, u64),
}

/// The memory of a job: an area for each of its files, untouched when the load starts.
#[derive(Debug)]
pub(crate) struct Areas(Vec<Area>);

impl Areas {
    /// The address of a request's bytes; `None` if they are not all inside the area.
    #[inline]
    fn address_of(&self, request: &Request, buffer_size: u32) -> Option<*mut u8> {
        let area = self.0.get(request.file as usize)?;
        let past = request.offset.checked_add(u64::from(request.len))?;
        let inside =
            request.offset >= area.range.0 && past <= area.range.1 && request.len <= buffer_size;
        inside.then(|| {
            area.memory
                .address()
                .wrapping_add((request.offset - area.range.0) as usize)
        })
    }
}

impl Perform for Areas {
    #[inline]
    unsafe fn perform(&mut self, request: &Request, buffer: *mut u8, buffer_size: u32) -> i64 {
        if request.op.is_sync() {
            return 0;
        }
        let Some(memory) = self.address_of(request, buffer_size) else {
            return -i64::from(libc::EINVAL);
        };
        let len = request.len as usize;
        match request.op {
            // SAFETY: `address_of` limited the request to its slot and to the mapping, which only
            // this engine uses. The caller lends us the slot, so the two do not overlap.
            Op::Read => unsafe { std::ptr::copy_nonoverlapping(memory, buffer, len) },
            // SAFETY: as above.
            Op::Write => unsafe { std::ptr::copy_nonoverlapping(buffer, memory, len) },
            _ => return -i64::from(libc::EINVAL),
        }
        i64::from(request.len)
    }
}

/// The page_fault engine over memory of the size of the ranges of `files`.
pub(crate) fn engine(
    files: &[OpenFile],
    buffer_size: u32,
) -> Result<SyncEngine<Areas>, EngineError> {
    let area = |file: &OpenFile| {
        let len = usize::try_from(file.range.1 - file.range.0).map_err(|_| libc::ENOMEM)?;
        Ok(Area {
            memory: Memory::untouched(len, 0)?,
            range: file.range,
        })
    };
    let areas: Result<Vec<Area>, i32> = files.iter().map(area).collect();
    SyncEngine::new(Areas(areas.map_err(allocation_error)?), buffer_size)
}

fn allocation_error(errno: i32) -> EngineError {
    EngineError {
        errno,
        what: "page_fault: cannot allocate memory of that size; lower size or numjobs".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_load::{Completion, Engine, Wait};
    use fathom_model::{Fadvise, SyncMode};

    fn file(range: (u64, u64)) -> OpenFile {
        OpenFile {
            path: "nothing".into(),
            range,
            writes: true,
            reads: true,
            direct: false,
            sync: SyncMode::None,
            fadvise: Fadvise::None,
            random: false,
            create: false,
        }
    }

    fn transfer(engine: &mut impl Engine, op: Op, offset: u64, len: u32) -> i64 {
        let request = Request {
            slot: 0,
            file: 0,
            op,
            len,
            offset,
            prio: 0,
        };
        assert_eq!(engine.submit(&[request]), Ok(1));
        let mut done: Vec<Completion> = Vec::new();
        engine
            .reap(
                Wait {
                    at_least: 1,
                    at_most: 1,
                    limit: None,
                },
                &mut done,
            )
            .expect("memory only");
        done[0].result
    }

    /// Fresh anonymous memory is zero (mmap(2)) and keeps what is written to it.
    #[test]
    fn memory_returns_what_was_written_and_zeros_elsewhere() {
        let mut engine = engine(&[file((4096, 3 * 4096))], 4096).expect("8 KiB");
        engine.buffer(0).fill(7);
        assert_eq!(transfer(&mut engine, Op::Write, 8192, 4096), 4096);
        assert_eq!(transfer(&mut engine, Op::Read, 4096, 4096), 4096);
        assert!(engine.buffer(0).iter().all(|byte| *byte == 0));
        assert_eq!(transfer(&mut engine, Op::Read, 8192, 4096), 4096);
        assert!(engine.buffer(0).iter().all(|byte| *byte == 7));
    }

    #[test]
    fn ranges_outside_the_area_are_refused() {
        let mut engine = engine(&[file((4096, 3 * 4096))], 4096).expect("8 KiB");
        for (offset, len) in [
            (0, 4096),
            (3 * 4096, 4096),
            (2 * 4096 + 1, 4096),
            (u64::MAX - 1, 4096),
            (4096, 8192),
        ] {
            assert_eq!(
                transfer(&mut engine, Op::Write, offset, len),
                -22,
                "{offset} {len}"
            );
        }
        assert_eq!(transfer(&mut engine, Op::Trim, 4096, 4096), -22);
        assert_eq!(transfer(&mut engine, Op::Fsync, 0, 0), 0);
    }
}
