//! Which parts of a file were ever written. Reads of the other parts never reach the medium.

use std::io;
use std::ops::Range;
use std::os::fd::{AsFd, BorrowedFd};

use rustix::fs::SeekFrom;
use rustix::io::Errno;

use super::kernel::{Extent, extents};

/// Limit of the gaps listed separately; the rest of a more fragmented file counts as one gap.
const MOST_GAPS: usize = 1 << 16;

/// Share of a file's `range` that was written, 0 to 1, by FIEMAP or else SEEK_DATA. An empty range
/// counts as written. Dirty data is written back first, so that it counts. A file system that
/// supports neither reports every byte as written.
///
/// # Errors
/// If it is not a regular file.
pub fn written_share(file: impl AsFd, range: Range<u64>) -> io::Result<f64> {
    let whole = range.end.saturating_sub(range.start);
    if whole == 0 {
        return Ok(1.0);
    }
    let mut unwritten = 0;
    visit(file.as_fd(), range, &mut |gap| {
        unwritten += gap.end - gap.start;
    })?;
    Ok(1.0 - unwritten as f64 / whole as f64)
}

/// The parts of `range` that were never written, in order.
pub(super) fn gaps(file: BorrowedFd<'_>, range: Range<u64>) -> io::Result<Vec<Range<u64>>> {
    let end = range.end;
    let mut gaps: Vec<Range<u64>> = Vec::new();
    visit(file, range, &mut |gap| {
        let full = gaps.len() >= MOST_GAPS;
        match gaps.last_mut() {
            Some(last) if last.end == gap.start => last.end = gap.end,
            Some(last) if full => last.end = end,
            _ => gaps.push(gap),
        }
    })?;
    Ok(gaps)
}

/// As [`gaps`], or `None` for a file that is too fragmented to list them all.
pub(super) fn all_gaps(
    file: BorrowedFd<'_>,
    range: Range<u64>,
) -> io::Result<Option<Vec<Range<u64>>>> {
    let gaps = gaps(file, range)?;
    Ok((gaps.len() < MOST_GAPS).then_some(gaps))
}

/// Whether the file system distinguishes written from reserved blocks.
pub(super) fn supported(file: BorrowedFd<'_>) -> bool {
    extents(file, 0..1).is_ok()
}

fn visit(
    file: BorrowedFd<'_>,
    range: Range<u64>,
    gap: &mut dyn FnMut(Range<u64>),
) -> io::Result<()> {
    match by_map(file, range.clone(), gap) {
        Err(error) if is_missing(&error) => by_seek(file, range, gap),
        done => done,
    }
}

fn is_missing(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(libc::EOPNOTSUPP | libc::ENOTTY | libc::ENOSYS | libc::EINVAL)
    )
}

fn by_map(
    file: BorrowedFd<'_>,
    range: Range<u64>,
    gap: &mut dyn FnMut(Range<u64>),
) -> io::Result<()> {
    let mut at = range.start;
    while at < range.end {
        let batch = extents(file, at..range.end)?;
        let last = batch.last().is_none_or(|extent| extent.last);
        for extent in &batch {
            at = pass(extent, at, range.end, gap);
        }
        if last && at < range.end {
            gap(at..range.end);
            return Ok(());
        }
    }
    Ok(())
}

/// Reports the gaps between `at` and the extent's end, and returns the offset to continue from.
fn pass(extent: &Extent, at: u64, end: u64, gap: &mut dyn FnMut(Range<u64>)) -> u64 {
    let (first, after) = (extent.start.clamp(at, end), extent.end.clamp(at, end));
    let hole_end = if extent.unwritten { after } else { first };
    if hole_end > at {
        gap(at..hole_end);
    }
    after
}

fn by_seek(
    file: BorrowedFd<'_>,
    range: Range<u64>,
    gap: &mut dyn FnMut(Range<u64>),
) -> io::Result<()> {
    let mut at = range.start;
    while at < range.end {
        let data = match rustix::fs::seek(file, SeekFrom::Data(at)) {
            Ok(data) => data.min(range.end),
            Err(Errno::NXIO) => range.end,
            Err(error) => return Err(error.into()),
        };
        if data > at {
            gap(at..data);
        }
        if data < range.end {
            at = rustix::fs::seek(file, SeekFrom::Hole(data))?.max(data + 1);
        } else {
            at = data;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(
        clippy::single_range_in_vec_init,
        reason = "lists of gaps, some with one"
    )]

    use super::*;

    fn walk(extents: &[Extent], end: u64) -> Vec<Range<u64>> {
        let mut gaps = Vec::new();
        let at = extents.iter().fold(0, |at, extent| {
            pass(extent, at, end, &mut |gap| gaps.push(gap))
        });
        assert!(at <= end);
        gaps
    }

    #[test]
    fn holes_and_reserved_blocks_are_gaps() {
        let data = |start, end| Extent {
            start,
            end,
            physical: None,
            unwritten: false,
            last: false,
        };
        let reserved = |start, end| Extent {
            start,
            end,
            physical: None,
            unwritten: true,
            last: false,
        };
        assert_eq!(walk(&[data(0, 10), data(20, 30)], 30), [10..20]);
        assert_eq!(walk(&[reserved(0, 10), data(10, 30)], 30), [0..10]);
        assert_eq!(walk(&[data(5, 10), reserved(20, 90)], 30), [0..5, 10..30]);
        assert_eq!(
            walk(&[data(0, 90)], 30),
            [],
            "an extent may extend past the range"
        );
    }
}
