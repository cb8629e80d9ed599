//! Prepares files for a job.

use std::io;
use std::ops::Range;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use fathom_load::{FileFacts, HostError, LayOut};
use fathom_model::Bytes;
use rustix::fs::{FallocateFlags, OFlags};

use super::cache::{self, DirectIo};
use super::error::{failed, no_space, refused};
use super::extents;
use super::fill::Filler;
use super::reserve::{lengthen, reserve};
use super::target::{Kind, Target, Targets};

/// See [`fathom_load::Host::lay_out`].
pub(super) fn lay_out(
    targets: &Targets,
    file: &LayOut,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(u64),
) -> Result<FileFacts, HostError> {
    let target = targets.get_or_create(&file.path, file.create, file.size)?;
    let mut done_before = target.lock_layout();
    let done = set_contents(&target, file, stop, progress).and_then(|laid_out| {
        if !file.size.is_zero() {
            // Without a new mark, a run that is killed later needs a code to use this file again.
            let _ = target.record_state();
        }
        prepare_page_cache(&target, file, stop)?;
        facts(&target, laid_out)
    });
    if done.is_err() && !*done_before && !worth_keeping(&target, stop) {
        // The first error is the one to report.
        let _ = targets.remove(&target);
    }
    *done_before |= done.is_ok();
    done
}

/// After a stop, a file whose holes can be detected saves work in the next run.
fn worth_keeping(target: &Target, stop: &AtomicBool) -> bool {
    stop.load(Ordering::Relaxed) && extents::supported(target.as_fd())
}

/// Sets size and contents. Returns the bytes written.
fn set_contents(
    target: &Target,
    file: &LayOut,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(u64),
) -> Result<u64, HostError> {
    let now = target
        .size()
        .map_err(|error| failed("ask the size of", target.path(), &error))?;
    let wanted = file.size.get();
    if target.kind() != Kind::File || target.read_only() {
        // A file that is shorter than the job needs is left to the load, unless the job would have
        // to extend it.
        return if target.kind() == Kind::File && file.writes && now < wanted {
            Err(too_small(target, now, wanted))
        } else {
            Ok(0)
        };
    }
    if now < wanted && target.may_grow_to() < wanted {
        return Err(too_small(target, now, wanted));
    }
    let work = Work {
        target,
        file,
        now,
        wanted,
    };
    if file.content {
        work.fill(stop, progress)
    } else {
        work.reserve_space()
    }
}

fn too_small(target: &Target, now: u64, wanted: u64) -> HostError {
    let path = target.path().display();
    let what = format!(
        "{path} has {now} bytes and may not be extended, but the job needs {wanted}; lower size= or offset="
    );
    refused(libc::EINVAL, what)
}

/// A file that may be changed.
struct Work<'a> {
    target: &'a Target,
    file: &'a LayOut,
    now: u64,
    wanted: u64,
}

impl Work<'_> {
    /// Reserves space for a file that will only be written.
    fn reserve_space(&self) -> Result<u64, HostError> {
        if self.file.writes && self.now < self.wanted {
            let fd = self.open()?;
            let result = reserve(fd.as_fd(), self.file.fallocate, self.now, self.wanted);
            result.map_err(|error| self.restore_length(&fd, error))?;
        }
        Ok(0)
    }

    fn fill(&self, stop: &AtomicBool, progress: &mut dyn FnMut(u64)) -> Result<u64, HostError> {
        let gaps = self
            .gaps()
            .map_err(|error| self.failed("find the holes of", error))?;
        if gaps.is_empty() {
            return Ok(0);
        }
        let fd = self.open()?;
        // If holes cannot be detected, the file grows only by the bytes written, so that its size
        // shows how far it got.
        let holes_known = extents::supported(fd.as_fd());
        if holes_known {
            self.extend(&fd)
                .map_err(|error| self.restore_length(&fd, error))?;
        }
        let written = self
            .write(gaps, holes_known, stop, progress)
            .map_err(|error| self.restore_length(&fd, error))?;
        if stop.load(Ordering::Relaxed) {
            if holes_known {
                // What remains reserved is only missing space elsewhere.
                let _ = self.give_back(&fd);
            }
            let what = format!(
                "layout of {} was stopped after {written} bytes",
                self.target.path().display()
            );
            return Err(refused(libc::EINTR, what));
        }
        if self.file.fsync {
            rustix::fs::fsync(&fd).map_err(|error| self.failed("fsync", error.into()))?;
        }
        Ok(written)
    }

    /// Reserves space first: a full disk shows immediately, and parallel writes past the end would
    /// be serialised.
    fn extend(&self, fd: &OwnedFd) -> io::Result<()> {
        reserve(fd.as_fd(), self.file.fallocate, self.now, self.wanted)?;
        lengthen(fd.as_fd(), self.now, self.wanted)
    }

    fn write(
        &self,
        gaps: Vec<Range<u64>>,
        any_order: bool,
        stop: &AtomicBool,
        progress: &mut dyn FnMut(u64),
    ) -> io::Result<u64> {
        let seed = self.file.seed ^ name_hash(self.target.path());
        Filler::open(self.target, seed, stop)?.fill(gaps, any_order, progress)
    }

    /// The parts to write: only those never written, because the rest is existing data.
    fn gaps(&self) -> io::Result<Vec<Range<u64>>> {
        let mut gaps = extents::gaps(self.target.as_fd(), 0..self.now.min(self.wanted))?;
        gaps.extend(non_empty(self.now..self.wanted));
        Ok(gaps)
    }

    /// Frees the blocks that were reserved and not written.
    fn give_back(&self, fd: &OwnedFd) -> io::Result<()> {
        let Some(gaps) = extents::all_gaps(fd.as_fd(), 0..self.wanted)? else {
            return Ok(());
        };
        let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        for gap in gaps {
            rustix::fs::fallocate(fd, flags, gap.start, gap.end - gap.start)?;
        }
        Ok(())
    }

    fn open(&self) -> Result<OwnedFd, HostError> {
        self.target
            .reopen(OFlags::RDWR)
            .map_err(|error| self.failed("open", error.into()))
    }

    /// Restores the length of a file that existed before.
    fn restore_length(&self, fd: &OwnedFd, error: io::Error) -> HostError {
        let full = error.raw_os_error() == Some(libc::ENOSPC);
        let facts = full.then(|| rustix::fs::fstatvfs(fd).ok()).flatten();
        if self.now < self.wanted {
            let _ = rustix::fs::ftruncate(fd, self.now);
        }
        if full {
            no_space(self.target.path(), self.wanted, facts)
        } else {
            self.failed("lay out", error)
        }
    }

    fn failed(&self, operation: &str, error: io::Error) -> HostError {
        failed(operation, self.target.path(), &error)
    }
}

fn non_empty(range: Range<u64>) -> Option<Range<u64>> {
    (!range.is_empty()).then_some(range)
}

/// FNV-1a, so that files laid out with the same seed differ.
fn name_hash(path: &Path) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01B3);
    path.as_os_str()
        .as_encoded_bytes()
        .iter()
        .fold(0xCBF2_9CE4_8422_2325, step)
}

/// Drops the file from the page cache, or reads it into the page cache.
fn prepare_page_cache(target: &Target, file: &LayOut, stop: &AtomicBool) -> Result<(), HostError> {
    let fail = |operation: &str, error: io::Error| failed(operation, target.path(), &error);
    if let Some((start, end)) = file.invalidate {
        let dropped = match target.kind() {
            Kind::File => cache::drop_file(target.as_fd(), start..end),
            Kind::Block => cache::drop_device(target.as_fd(), start..end),
            Kind::Char => Ok(()),
        };
        dropped.map_err(|error| fail("drop from the page cache", error))?;
    }
    if file.pre_read && target.kind() != Kind::Char {
        let read = || {
            let fd = target.reopen(OFlags::RDONLY)?;
            cache::pre_read(fd.as_fd(), target.size()?, stop)
        };
        read().map_err(|error| fail("read ahead of the load", error))?;
    }
    Ok(())
}

fn facts(target: &Target, laid_out: u64) -> Result<FileFacts, HostError> {
    let size = target
        .size()
        .map_err(|error| failed("ask the size of", target.path(), &error))?;
    Ok(FileFacts {
        size: Bytes::new(size),
        alignment: alignment(target),
        block_device: target.kind() == Kind::Block,
        created: target.created(),
        laid_out: Bytes::new(laid_out),
    })
}

fn alignment(target: &Target) -> u32 {
    if target.kind() == Kind::Block {
        return rustix::fs::ioctl_blksszget(target).unwrap_or(1);
    }
    match cache::direct_io(target) {
        Ok(DirectIo::Direct { offset_align, .. }) => offset_align,
        _ => 1,
    }
}
