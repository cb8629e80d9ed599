//! Denies system calls to a thread and the programs that it starts.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, apply_filter,
};

/// A system interface for asynchronous I/O that can be denied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Denied {
    /// io_uring_setup, io_uring_enter and io_uring_register.
    IoUring,
    /// io_setup, which starts Linux native asynchronous I/O (libaio).
    IoSetup,
    /// statx.
    Statx,
    /// cachestat.
    Cachestat,
    /// madvise, as far as `MADV_POPULATE_WRITE` goes.
    PopulateWrite,
    /// io_uring_register alone: rings without registered buffers and files.
    IoUringRegister,
    /// openat2, close_range, pidfd_open, faccessat2 and the other calls that Linux got after 5.4.
    AfterLinux54,
    /// statx, if the fields of direct I/O (`STATX_DIOALIGN`) are requested.
    StatxDirectIo,
    /// ioctl with `BLKGETDISKSEQ`.
    DiskSequence,
    /// preadv2 and pwritev2 with any flag, which fail with EOPNOTSUPP.
    RwFlags,
    /// io_uring_enter with `IORING_ENTER_EXT_ARG`.
    EnterArgument,
}

#[cfg(target_arch = "x86_64")]
const STATX: i64 = 332;
#[cfg(not(target_arch = "x86_64"))]
const STATX: i64 = 291;
#[cfg(target_arch = "x86_64")]
const MADVISE: i64 = 28;
#[cfg(not(target_arch = "x86_64"))]
const MADVISE: i64 = 233;
/// linux/mman.h.
const MADV_POPULATE_WRITE: u64 = 23;
/// Since Linux 5.1 new calls have the same number on every architecture; 434 (pidfd_open) is of 5.3, 435 (clone3), which the
/// C library needs a proper answer to, as well. 436 to 470 came with Linux 5.5 to 6.17.
const AFTER_LINUX_5_4: &[i64] = &{
    let mut numbers = [0; 35];
    let mut index = 0;
    while index < numbers.len() {
        numbers[index] = 436 + index as i64;
        index += 1;
    }
    numbers
};

/// Numbers of the asm-generic table (aarch64, riscv64) and of x86-64.
#[cfg(target_arch = "x86_64")]
const IO_SETUP: i64 = 206;
#[cfg(not(target_arch = "x86_64"))]
const IO_SETUP: i64 = 0;

#[cfg(target_arch = "x86_64")]
const OPENAT: i64 = 257;
#[cfg(not(target_arch = "x86_64"))]
const OPENAT: i64 = 56;
#[cfg(target_arch = "x86_64")]
const OPEN: Option<i64> = Some(2);
#[cfg(not(target_arch = "x86_64"))]
const OPEN: Option<i64> = None;
/// truncate, ftruncate and, if it exists, creat.
#[cfg(target_arch = "x86_64")]
const OLD_WRITERS: &[i64] = &[76, 77, 85];
#[cfg(not(target_arch = "x86_64"))]
const OLD_WRITERS: &[i64] = &[45, 46];

#[cfg(target_arch = "x86_64")]
const IOCTL: i64 = 16;
#[cfg(not(target_arch = "x86_64"))]
const IOCTL: i64 = 29;
/// preadv2 and pwritev2.
#[cfg(target_arch = "x86_64")]
const FLAGGED: [i64; 2] = [327, 328];
#[cfg(not(target_arch = "x86_64"))]
const FLAGGED: [i64; 2] = [286, 287];
const IO_URING_ENTER: i64 = 426;
/// linux/stat.h.
const STATX_DIOALIGN: u64 = 0x2000;
/// linux/fs.h.
const BLKGETDISKSEQ: u64 = 0x8008_1280;
/// linux/io_uring.h.
const ENTER_EXT_ARG: u64 = 1 << 3;

/// Calls that an older kernel has, without one value of an argument.
struct Unknown {
    numbers: &'static [i64],
    /// Position of the argument.
    argument: u8,
    operator: SeccompCmpOp,
    value: u64,
    errno: rustix::io::Errno,
}

impl Denied {
    /// The value of an argument that is denied.
    fn unknown(self) -> Option<Unknown> {
        use rustix::io::Errno;
        let (numbers, argument, operator, value, errno): (&[i64], _, _, _, _) = match self {
            Denied::PopulateWrite => {
                let advice = MADV_POPULATE_WRITE;
                (&[MADVISE], 2, SeccompCmpOp::Eq, advice, Errno::INVAL)
            }
            Denied::StatxDirectIo => {
                let mask = SeccompCmpOp::MaskedEq(STATX_DIOALIGN);
                (&[STATX], 3, mask, STATX_DIOALIGN, Errno::INVAL)
            }
            Denied::DiskSequence => {
                let request = SeccompCmpOp::Eq;
                (&[IOCTL], 1, request, BLKGETDISKSEQ, Errno::NOTTY)
            }
            Denied::RwFlags => (&FLAGGED, 5, SeccompCmpOp::Ne, 0, Errno::OPNOTSUPP),
            Denied::EnterArgument => {
                let mask = SeccompCmpOp::MaskedEq(ENTER_EXT_ARG);
                (&[IO_URING_ENTER], 3, mask, ENTER_EXT_ARG, Errno::INVAL)
            }
            _ => return None,
        };
        Some(Unknown {
            numbers,
            argument,
            operator,
            value,
            errno,
        })
    }

    /// System call numbers; those of io_uring are the same on every architecture.
    fn numbers(self) -> &'static [i64] {
        match self {
            Denied::IoUring => &[425, 426, 427],
            Denied::IoSetup => &[IO_SETUP],
            Denied::Statx => &[STATX],
            Denied::Cachestat => &[451],
            Denied::PopulateWrite
            | Denied::StatxDirectIo
            | Denied::DiskSequence
            | Denied::RwFlags
            | Denied::EnterArgument => &[],
            Denied::IoUringRegister => &[427],
            Denied::AfterLinux54 => AFTER_LINUX_5_4,
        }
    }
}

impl FromStr for Denied {
    type Err = UnknownCall;

    fn from_str(text: &str) -> Result<Self, UnknownCall> {
        match text {
            "io_uring" => Ok(Denied::IoUring),
            "io_setup" => Ok(Denied::IoSetup),
            _ => Err(UnknownCall(text.to_owned())),
        }
    }
}

/// A name that is not one of [`Denied`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` cannot be denied; choose io_uring or io_setup")]
pub struct UnknownCall(String);

/// The filter could not be built or installed.
#[derive(Debug)]
pub struct SeccompError(String);

impl fmt::Display for SeccompError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot install the seccomp filter: {}", self.0)
    }
}

impl std::error::Error for SeccompError {}

/// Makes the calls fail with EPERM in this thread, permanently, and in everything that it starts
/// from now on.
///
/// # Errors
/// If the kernel has no seccomp filters or refuses this one.
pub fn deny(denied: &[Denied]) -> Result<(), SeccompError> {
    let program = program(denied)?;
    apply_filter(&program).map_err(|e| SeccompError(e.to_string()))
}

/// Runs `work` in a separate thread in which the calls fail with ENOSYS, as on a kernel that does not have them; an unknown
/// value of an argument fails as it does there. Programs that `work` starts inherit this.
///
/// # Errors
/// As [`deny`].
///
/// # Panics
/// If `work` panics.
pub fn on_older_kernel<T: Send>(
    missing: &[Denied],
    work: impl FnOnce() -> T + Send,
) -> Result<T, SeccompError> {
    let fail = |e: seccompiler::BackendError| SeccompError(e.to_string());
    let run = || {
        let absent = errno_program(missing, rustix::io::Errno::NOSYS)?;
        apply_filter(&absent).map_err(|e| SeccompError(e.to_string()))?;
        for unknown in missing.iter().filter_map(|denied| denied.unknown()) {
            let condition = SeccompCondition::new(
                unknown.argument,
                SeccompCmpArgLen::Dword,
                unknown.operator,
                unknown.value,
            );
            let rule = SeccompRule::new(vec![condition.map_err(fail)?]).map_err(fail)?;
            let calls = unknown.numbers.iter();
            let rules = calls.map(|number| (*number, vec![rule.clone()])).collect();
            let program = filter_program(rules, unknown.errno)?;
            apply_filter(&program).map_err(|e| SeccompError(e.to_string()))?;
        }
        Ok(work())
    };
    std::thread::scope(|scope| match scope.spawn(run).join() {
        Ok(result) => result,
        Err(panic) => std::panic::resume_unwind(panic),
    })
}

/// Runs `work` in a separate thread that cannot use the denied calls; the caller still can.
///
/// Programs that `work` starts inherit the filter.
///
/// # Errors
/// As [`deny`].
///
/// # Panics
/// If `work` panics.
pub fn without<T: Send>(
    denied: &[Denied],
    work: impl FnOnce() -> T + Send,
) -> Result<T, SeccompError> {
    let run = || deny(denied).map(|()| work());
    std::thread::scope(|scope| match scope.spawn(run).join() {
        Ok(result) => result,
        Err(panic) => std::panic::resume_unwind(panic),
    })
}

/// Runs `work` in a separate thread in which nothing can be opened for writing, created or
/// truncated: an attempt, there or in a program that it starts, is killed by SIGSYS at once and
/// cannot be ignored.
///
/// # Errors
/// As [`deny`].
///
/// # Panics
/// If `work` panics.
pub fn only_reading<T: Send>(work: impl FnOnce() -> T + Send) -> Result<T, SeccompError> {
    let run = || {
        let program = readers_program()?;
        apply_filter(&program)
            .map_err(|e| SeccompError(e.to_string()))
            .map(|()| work())
    };
    std::thread::scope(|scope| match scope.spawn(run).join() {
        Ok(result) => result,
        Err(panic) => std::panic::resume_unwind(panic),
    })
}

/// Denies `open` and `openat` with flags that write, `creat`, `openat2` (whose flags a filter
/// cannot see), `truncate` and `ftruncate`.
fn readers_program() -> Result<BpfProgram, SeccompError> {
    let flags = |argument: u8| -> Result<Vec<SeccompRule>, seccompiler::BackendError> {
        let (access, create, truncate) = (0o3, 0o100, 0o1000);
        let cases = [
            (access, 1),
            (access, 2),
            (create, create),
            (truncate, truncate),
        ];
        let one = |(mask, value)| {
            let masked = SeccompCmpOp::MaskedEq(mask);
            SeccompRule::new(vec![SeccompCondition::new(
                argument,
                SeccompCmpArgLen::Dword,
                masked,
                value,
            )?])
        };
        cases.into_iter().map(one).collect()
    };
    let fail = |e: seccompiler::BackendError| SeccompError(e.to_string());
    let mut rules = BTreeMap::new();
    rules.insert(OPENAT, flags(2).map_err(fail)?);
    rules.insert(437, Vec::new());
    for number in OLD_WRITERS {
        rules.insert(*number, Vec::new());
    }
    if let Some(open) = OPEN {
        rules.insert(open, flags(1).map_err(fail)?);
    }
    let arch = std::env::consts::ARCH.try_into().map_err(fail)?;
    let filter = SeccompFilter::new(
        rules,
        SeccompAction::Allow,
        SeccompAction::KillProcess,
        arch,
    );
    filter.and_then(BpfProgram::try_from).map_err(fail)
}

fn program(denied: &[Denied]) -> Result<BpfProgram, SeccompError> {
    errno_program(denied, rustix::io::Errno::PERM)
}

fn errno_program(denied: &[Denied], errno: rustix::io::Errno) -> Result<BpfProgram, SeccompError> {
    let numbers = denied.iter().flat_map(|d| d.numbers());
    filter_program(numbers.map(|number| (*number, Vec::new())).collect(), errno)
}

fn filter_program(
    rules: BTreeMap<i64, Vec<SeccompRule>>,
    errno: rustix::io::Errno,
) -> Result<BpfProgram, SeccompError> {
    let arch = std::env::consts::ARCH.try_into();
    let arch = arch.map_err(|e: seccompiler::BackendError| SeccompError(e.to_string()))?;
    let action = SeccompAction::Errno(errno.raw_os_error() as u32);
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, action, arch);
    filter
        .and_then(BpfProgram::try_from)
        .map_err(|e| SeccompError(e.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_thread_with_the_filter_is_refused() {
        if !crate::all_met(&[crate::Need::IoUring]) {
            return;
        }
        let inside = without(&[Denied::IoUring], || io_uring::IoUring::new(2).map(drop));
        let refused = inside
            .expect("filter")
            .expect_err("io_uring_setup must fail");
        assert_eq!(
            refused.raw_os_error(),
            Some(rustix::io::Errno::PERM.raw_os_error())
        );
        io_uring::IoUring::new(2).expect("the other threads can still use it");
    }

    #[test]
    fn an_unknown_name_is_refused_with_the_known_ones() {
        let why = "io_uringg".parse::<Denied>().expect_err("unknown");
        assert!(why.to_string().contains("io_setup"), "{why}");
    }
}
