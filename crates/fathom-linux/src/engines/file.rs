//! The view of a file by an engine: an open descriptor and the bytes it may access.

use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use fathom_load::{Op, Request};

/// A file of an engine. The descriptor must not be shared, because two engines would move its
/// position.
#[derive(Debug)]
pub struct EngineFile {
    /// Opened with the flags of the load. The mmap engine also needs read access.
    pub fd: OwnedFd,
    /// Start (inclusive) and end (exclusive) of the range that may be accessed.
    pub range: (u64, u64),
    /// A block device: trims use BLKDISCARD instead of hole punching.
    pub block_device: bool,
}

impl EngineFile {
    #[inline]
    pub(crate) fn raw(&self) -> RawFd {
        self.fd.as_raw_fd()
    }
}

/// The last check below all other layers. Returns the file of a request, or the negative errno with
/// which it completes if it would leave the file's range or its slot.
#[inline]
pub(crate) fn admit<'a>(
    files: &'a [EngineFile],
    request: &Request,
    buffer_size: u32,
) -> Result<&'a EngineFile, i64> {
    let file = files
        .get(request.file as usize)
        .ok_or(-i64::from(libc::EBADF))?;
    admit_range(file.range, request, buffer_size).map(|()| file)
}

/// As [`admit`], for a target that is no open file.
#[inline]
pub(crate) fn admit_range(
    (start, end): (u64, u64),
    request: &Request,
    buffer_size: u32,
) -> Result<(), i64> {
    // The kernel treats offsets from 2^63 on as negative, and io_uring takes -1 as "the current
    // position".
    let end = end.min(i64::MAX as u64);
    let past = request.offset.saturating_add(u64::from(request.len));
    let fits = match request.op {
        Op::Fsync | Op::Fdatasync | Op::SyncFileRange(_) => true,
        Op::Trim => request.offset >= start && past <= end,
        Op::Read | Op::Write => {
            request.offset >= start && past <= end && request.len <= buffer_size
        }
    };
    if fits {
        Ok(())
    } else {
        Err(-i64::from(libc::EINVAL))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ops() -> impl Strategy<Value = Op> {
        prop_oneof![Just(Op::Read), Just(Op::Write), Just(Op::Trim)]
    }

    fn corners() -> impl Strategy<Value = u64> {
        prop_oneof![
            any::<u64>(),
            0u64..70_000,
            (u64::MAX - 70_000)..=u64::MAX,
            ((1u64 << 63) - 70_000)..((1 << 63) + 70_000)
        ]
    }

    proptest! {
        /// Computed in 128 bits, where nothing overflows.
        #[test]
        fn only_requests_inside_the_range_are_admitted(
            (a, b, offset) in (corners(), corners(), corners()),
            len in prop_oneof![any::<u32>(), 0u32..70_000],
            buffer_size in prop_oneof![any::<u32>(), 0u32..70_000],
            op in ops(),
        ) {
            let fd = std::fs::File::open("/dev/null").expect("always there").into();
            let range = (a.min(b), a.max(b));
            let files = [EngineFile { fd, range, block_device: false }];
            let request = Request { slot: 0, file: 0, op, len, offset, prio: 0 };
            let past = u128::from(offset) + u128::from(len);
            let inside = offset >= range.0 && past <= u128::from(range.1) && past < (1 << 63);
            let fits = inside && (op == Op::Trim || len <= buffer_size);
            prop_assert_eq!(admit(&files, &request, buffer_size).is_ok(), fits);
        }
    }

    #[test]
    fn an_unknown_file_index_is_a_bad_descriptor() {
        let request = Request {
            slot: 0,
            file: 0,
            op: Op::Fsync,
            len: 0,
            offset: 0,
            prio: 0,
        };
        assert_eq!(admit(&[], &request, 4096).err(), Some(-9));
    }
}
