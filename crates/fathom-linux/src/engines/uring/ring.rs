//! An io_uring with the best set-up this kernel supports, and the system call that drives it.
#![allow(unsafe_code)]

use std::os::fd::{AsRawFd, RawFd};
use std::time::Duration;

use io_uring::{Builder, IoUring, cqueue, squeue};

use super::super::syscall::last_errno;

/// linux/io_uring.h.
const ENTER_GETEVENTS: u32 = 1 << 0;
const ENTER_SQ_WAKEUP: u32 = 1 << 1;
const ENTER_EXT_ARG: u32 = 1 << 3;
const ENTER_REGISTERED_RING: u32 = 1 << 4;
const REGISTER_RING_FDS: u32 = 20;
const UNREGISTER_RING_FDS: u32 = 21;

/// Limit of the entries of a submission queue (IORING_MAX_ENTRIES).
const MAX_ENTRIES: u32 = 32_768;

/// How long the kernel's polling thread spins without work before it sleeps, in milliseconds.
const SQ_POLL_IDLE_MS: u32 = 1_000;

/// Configuration of a ring.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RingConfig {
    /// I/Os in flight.
    pub depth: u32,
    /// A kernel thread polls the submission queue, on this CPU if given.
    pub sq_poll: Option<Option<u32>>,
    /// Completions are polled.
    pub io_poll: bool,
}

/// linux/io_uring.h, `struct io_uring_getevents_arg`.
#[repr(C)]
struct WaitArgument {
    sigmask: u64,
    sigmask_size: u32,
    min_wait_us: u32,
    timespec: u64,
}

/// linux/io_uring.h, `struct io_uring_rsrc_update`.
#[repr(C)]
struct RingFdUpdate {
    offset: u32,
    reserved: u32,
    data: u64,
}

/// A ring owned by this thread.
pub(crate) struct Ring {
    ring: IoUring,
    /// The descriptor passed to io_uring_enter, or the index under which it is registered.
    enter_fd: RawFd,
    enter_flags: u32,
    sq_poll: bool,
    io_poll: bool,
}

impl Ring {
    /// Creates a ring. Features unknown to the kernel are left out set by set, newest first.
    pub(crate) fn new(config: RingConfig) -> Result<Self, i32> {
        let mut errno = libc::EINVAL;
        for features in feature_sets(config.sq_poll.is_some()) {
            match build(config, features) {
                Ok(ring) => return Self::from_io_uring(ring, config),
                Err(refused) => errno = refused,
            }
            if errno != libc::EINVAL {
                break;
            }
        }
        Err(errno)
    }

    fn from_io_uring(ring: IoUring, config: RingConfig) -> Result<Self, i32> {
        // Without this feature a wait could not time out: Linux 5.11.
        if !ring.params().is_feature_ext_arg() {
            return Err(libc::ENOSYS);
        }
        let enter_fd = ring.as_raw_fd();
        let mut ring = Self {
            ring,
            enter_fd,
            enter_flags: 0,
            sq_poll: config.sq_poll.is_some(),
            io_poll: config.io_poll,
        };
        ring.register_self();
        // A seccomp profile or an emulated kernel may refuse the call that the feature names.
        ring.enter(0, 0, ENTER_GETEVENTS, Some(Duration::from_nanos(1)))
            .map_err(|errno| match errno {
                libc::EINVAL => libc::ENOSYS,
                errno => errno,
            })?;
        Ok(ring)
    }

    /// Registers the ring itself, which saves the descriptor look-up in every call (Linux 5.18). It
    /// is optional.
    fn register_self(&mut self) {
        let mut update = RingFdUpdate {
            offset: u32::MAX,
            reserved: 0,
            data: self.ring.as_raw_fd() as u64,
        };
        if self.register_call(REGISTER_RING_FDS, &mut update) == 1 {
            self.enter_fd = update.offset as RawFd;
            self.enter_flags = ENTER_REGISTERED_RING;
        }
    }

    fn register_call(&self, opcode: u32, update: &mut RingFdUpdate) -> libc::c_long {
        // SAFETY: both opcodes read and write one `io_uring_rsrc_update`, which outlives the call.
        unsafe {
            libc::syscall(
                libc::SYS_io_uring_register,
                self.ring.as_raw_fd(),
                opcode,
                &raw mut *update,
                1,
            )
        }
    }

    /// Cancels what has not started (Linux 6.0). On older kernels, and for what has started,
    /// everything runs to its end.
    pub(crate) fn cancel_all(&mut self) {
        let at_once = io_uring::types::Timespec::new();
        let _ = self
            .ring
            .submitter()
            .register_sync_cancel(Some(at_once), io_uring::types::CancelBuilder::any());
    }

    pub(crate) fn submitter(&self) -> io_uring::Submitter<'_> {
        self.ring.submitter()
    }

    #[inline]
    pub(crate) fn submission(&mut self) -> squeue::SubmissionQueue<'_> {
        self.ring.submission()
    }

    #[inline]
    pub(crate) fn completion(&mut self) -> cqueue::CompletionQueue<'_> {
        self.ring.completion()
    }

    /// Submits what is queued, and lets the kernel publish completions that are due.
    #[inline]
    pub(crate) fn submit(&mut self) -> Result<(), i32> {
        let queue = self.ring.submission();
        let queued = queue.len() as u32;
        if !self.sq_poll {
            drop(queue);
            return self.enter(queued, 0, ENTER_GETEVENTS, None);
        }
        // Reading whether the polling thread sleeps is ordered after the tail, which the last push
        // published.
        let asleep = queue.need_wakeup();
        drop(queue);
        if asleep {
            self.enter(queued, 0, ENTER_SQ_WAKEUP, None)
        } else {
            Ok(())
        }
    }

    /// Whether only a call makes completions visible, or the kernel has not taken all queued
    /// requests.
    #[inline]
    pub(crate) fn needs_enter(&mut self) -> bool {
        let queue = self.ring.submission();
        self.io_poll
            || queue.taskrun()
            || queue.cq_overflow()
            || (!self.sq_poll && !queue.is_empty())
    }

    /// Waits until `at_least` completions are available or `limit` has passed. With polled
    /// completions it polls once.
    #[inline]
    pub(crate) fn wait(&mut self, at_least: u32, limit: Duration) -> Result<(), i32> {
        let mut queue = self.ring.submission();
        queue.sync();
        let (queued, asleep) = (queue.len() as u32, self.sq_poll && queue.need_wakeup());
        drop(queue);
        let flags = ENTER_GETEVENTS | if asleep { ENTER_SQ_WAKEUP } else { 0 };
        // A polled wait spins in the kernel without a time limit, so it is split into single polls.
        let at_least = if self.io_poll { 0 } else { at_least };
        let limit = (!self.io_poll && !limit.is_zero()).then_some(limit);
        let at_least = if limit.is_some() { at_least } else { 0 };
        self.enter(queued, at_least, flags, limit)
    }

    #[inline]
    fn enter(
        &self,
        queued: u32,
        at_least: u32,
        flags: u32,
        limit: Option<Duration>,
    ) -> Result<(), i32> {
        let Some(limit) = limit else {
            return self.call(queued, at_least, flags, std::ptr::null(), 0);
        };
        let timespec = [limit.as_secs(), u64::from(limit.subsec_nanos())];
        let argument = WaitArgument {
            sigmask: 0,
            sigmask_size: 0,
            min_wait_us: 0,
            timespec: timespec.as_ptr() as u64,
        };
        self.call(
            queued,
            at_least,
            flags | ENTER_EXT_ARG,
            (&raw const argument).cast(),
            size_of::<WaitArgument>(),
        )
    }

    #[inline]
    fn call(
        &self,
        queued: u32,
        at_least: u32,
        flags: u32,
        argument: *const libc::c_void,
        size: usize,
    ) -> Result<(), i32> {
        // SAFETY: the ring is open as long as `self`. The argument is null or a `WaitArgument` (and
        // its timespec) of our caller, read during the call. What the queued entries point to was
        // guaranteed when they were pushed.
        let result = unsafe {
            libc::syscall(
                libc::SYS_io_uring_enter,
                self.enter_fd,
                queued,
                at_least,
                flags | self.enter_flags,
                argument,
                size,
            )
        };
        if result >= 0 {
            Ok(())
        } else {
            Err(last_errno())
        }
    }
}

impl Drop for Ring {
    /// The registration would keep the ring, and the memory it has pinned, until the thread ends.
    fn drop(&mut self) {
        if self.enter_flags != 0 {
            let mut update = RingFdUpdate {
                offset: self.enter_fd as u32,
                reserved: 0,
                data: 0,
            };
            self.register_call(UNREGISTER_RING_FDS, &mut update);
        }
    }
}

type Feature = fn(&mut Builder) -> &mut Builder;

/// Sets of features, best first, with the kernel version of each feature.
fn feature_sets(sq_poll: bool) -> &'static [&'static [Feature]] {
    // 6.6
    const NO_ARRAY: Feature = Builder::setup_no_sqarray;
    // 6.0
    const SINGLE: Feature = Builder::setup_single_issuer;
    // 6.1, needs SINGLE; no interrupts between CPUs: completions are processed when this thread
    // asks for them
    const DEFER: Feature = Builder::setup_defer_taskrun;
    // 5.18; a rejected entry does not hold up those behind it
    const ALL: Feature = Builder::setup_submit_all;
    // 5.19
    const COOPERATE: Feature = Builder::setup_coop_taskrun;
    const FLAG: Feature = Builder::setup_taskrun_flag;
    match sq_poll {
        false => &[
            &[ALL, SINGLE, DEFER, FLAG, NO_ARRAY],
            &[ALL, SINGLE, DEFER, FLAG],
            &[ALL, COOPERATE, FLAG],
            &[],
        ],
        // The kernel rejects the task-run settings together with a polling thread.
        true => &[&[ALL, SINGLE, NO_ARRAY], &[ALL, SINGLE], &[]],
    }
}

fn build(config: RingConfig, features: &[Feature]) -> Result<IoUring, i32> {
    let mut builder = IoUring::builder();
    builder.dontfork().setup_clamp();
    for feature in features {
        feature(&mut builder);
    }
    if let Some(cpu) = config.sq_poll {
        builder.setup_sqpoll(SQ_POLL_IDLE_MS);
        if let Some(cpu) = cpu {
            builder.setup_sqpoll_cpu(cpu);
        }
    }
    if config.io_poll {
        builder.setup_iopoll();
    }
    let entries = config.depth.clamp(1, MAX_ENTRIES);
    // Capacity for every completion, so that none overflows.
    builder.setup_cqsize(
        config
            .depth
            .max(entries)
            .saturating_mul(2)
            .min(2 * MAX_ENTRIES),
    );
    builder
        .build(entries)
        .map_err(|error| error.raw_os_error().unwrap_or(libc::EINVAL))
}
