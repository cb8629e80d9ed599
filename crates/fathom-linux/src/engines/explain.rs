//! Why an engine cannot be had, and how to mend it.

use fathom_load::EngineError;

/// The value of a kernel setting, or `unknown`.
pub(crate) fn sysctl(name: &str) -> String {
    std::fs::read_to_string(format!("/proc/sys/{name}"))
        .map_or_else(|_| "unknown".to_owned(), |text| text.trim().to_owned())
}

/// errno of a standard error.
pub(crate) fn errno_of(error: &std::io::Error) -> i32 {
    error.raw_os_error().unwrap_or(libc::EIO)
}

/// An io_uring that was refused while `doing`.
pub(crate) fn io_uring_refused(errno: i32, doing: &str) -> EngineError {
    let why = match errno {
        libc::EPERM | libc::EACCES => not_permitted(&sysctl("kernel/io_uring_disabled")),
        libc::ENOSYS => "the kernel has none (it needs Linux 5.11 with CONFIG_IO_URING) or a seccomp profile hides it; use \
                         ioengine=libaio or psync"
            .to_owned(),
        libc::ENOMEM => format!(
            "the memory it locks does not fit RLIMIT_MEMLOCK ({}); raise it (ulimit -l, LimitMEMLOCK=), lower iodepth or bs, or \
             leave out fixedbufs",
            memory_lock_limit()
        ),
        libc::EMFILE | libc::ENFILE => {
            "too many files are open; raise the limit (ulimit -n), or lower numjobs or nrfiles".to_owned()
        }
        libc::EFAULT | libc::EINVAL => "the kernel does not take these settings; leave out hipri, sqthread_poll, fixedbufs and \
                                        registerfiles, or use ioengine=libaio"
            .to_owned(),
        _ => "the kernel refuses it".to_owned(),
    };
    EngineError {
        errno,
        what: format!("cannot use io_uring ({doing}): {why}"),
    }
}

/// By the value of kernel.io_uring_disabled: 0 everyone may, 1 only CAP_SYS_ADMIN and a group, 2 nobody
/// (Documentation/admin-guide/sysctl/kernel.rst).
fn not_permitted(disabled: &str) -> String {
    match disabled {
        "1" => "kernel.io_uring_disabled is 1: only root and members of kernel.io_uring_group may; join that group, run as \
                root, or set it to 0"
            .to_owned(),
        "2" => "kernel.io_uring_disabled is 2: nobody may; set it to 0 (sysctl -w kernel.io_uring_disabled=0) or use \
                ioengine=libaio"
            .to_owned(),
        _ => "a seccomp profile or security module forbids it, as container runtimes do by default; allow io_uring_setup, \
              io_uring_enter and io_uring_register there (docker: --security-opt seccomp=PROFILE) or use ioengine=libaio"
            .to_owned(),
    }
}

fn memory_lock_limit() -> String {
    match rustix::process::getrlimit(rustix::process::Resource::Memlock).current {
        Some(bytes) => format!("{} KiB", bytes / 1024),
        None => "unlimited".to_owned(),
    }
}

/// Polled completions that the first I/O showed not to work.
pub(crate) fn polling_refused(errno: i32) -> EngineError {
    let what = "polled completions (hipri) do not work on this target: they need direct=1 and a device with poll queues (for \
                NVMe: boot with nvme.poll_queues=N); leave out hipri, or use another target";
    EngineError {
        errno,
        what: what.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_refusal_says_what_mends_it() {
        for (disabled, mend) in [
            ("1", "kernel.io_uring_group"),
            ("2", "kernel.io_uring_disabled=0"),
            ("0", "seccomp"),
        ] {
            assert!(not_permitted(disabled).contains(mend), "{disabled}");
        }
        for (errno, mend) in [
            (libc::ENOMEM, "RLIMIT_MEMLOCK"),
            (libc::ENOSYS, "libaio"),
            (libc::EMFILE, "ulimit -n"),
            (libc::EINVAL, "libaio"),
        ] {
            assert!(
                io_uring_refused(errno, "io_uring_setup")
                    .what
                    .contains(mend),
                "{errno}"
            );
        }
        assert!(
            polling_refused(libc::EOPNOTSUPP)
                .what
                .contains("poll_queues")
        );
    }
}
