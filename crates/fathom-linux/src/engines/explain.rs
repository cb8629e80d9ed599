//! Explains why an engine is not available, and what to do.

use fathom_load::EngineError;

/// The value of a kernel setting, or `unknown`.
pub(crate) fn sysctl(name: &str) -> String {
    std::fs::read_to_string(format!("/proc/sys/{name}"))
        .map_or_else(|_| "unknown".to_owned(), |text| text.trim().to_owned())
}

/// The errno of a standard error.
pub(crate) fn errno_of(error: &std::io::Error) -> i32 {
    error.raw_os_error().unwrap_or(libc::EIO)
}

/// The error of an io_uring that failed while `operation` something.
pub(crate) fn io_uring_error(errno: i32, operation: &str) -> EngineError {
    let why = match errno {
        libc::EPERM | libc::EACCES => permission_advice(&sysctl("kernel/io_uring_disabled")),
        libc::ENOSYS => "the kernel does not support it (it needs Linux 5.11 with CONFIG_IO_URING) or a seccomp profile hides it; use \
                         ioengine=libaio or psync"
            .to_owned(),
        libc::ENOMEM => format!(
            "the memory it locks exceeds RLIMIT_MEMLOCK ({}); raise it (ulimit -l, LimitMEMLOCK=), lower iodepth or bs, or \
             leave out fixedbufs",
            memory_lock_limit()
        ),
        libc::EMFILE | libc::ENFILE => {
            "too many files are open; raise the limit (ulimit -n), or lower numjobs or nrfiles".to_owned()
        }
        libc::EFAULT | libc::EINVAL => "the kernel does not accept these settings; leave out hipri, sqthread_poll, fixedbufs and \
                                        registerfiles, or use ioengine=libaio"
            .to_owned(),
        _ => "the kernel rejects it".to_owned(),
    };
    EngineError {
        errno,
        what: format!("cannot use io_uring ({operation}): {why}"),
    }
}

/// Explains kernel.io_uring_disabled: 0 allows everyone, 1 only CAP_SYS_ADMIN and a group, 2 nobody
/// (Documentation/admin-guide/sysctl/kernel.rst).
fn permission_advice(disabled: &str) -> String {
    match disabled {
        "1" => "kernel.io_uring_disabled is 1: only root and members of kernel.io_uring_group may use it; join that group, run as \
                root, or set it to 0"
            .to_owned(),
        "2" => "kernel.io_uring_disabled is 2: nobody may use it; set it to 0 (sysctl -w kernel.io_uring_disabled=0) or use \
                ioengine=libaio"
            .to_owned(),
        _ => "a seccomp profile or security module denies it, as container runtimes do by default; allow io_uring_setup, \
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

/// The error of polled completions that the first I/O showed not to work.
pub(crate) fn polling_error(errno: i32) -> EngineError {
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
    fn each_error_names_a_remedy() {
        for (disabled, remedy) in [
            ("1", "kernel.io_uring_group"),
            ("2", "kernel.io_uring_disabled=0"),
            ("0", "seccomp"),
        ] {
            assert!(permission_advice(disabled).contains(remedy), "{disabled}");
        }
        for (errno, remedy) in [
            (libc::ENOMEM, "RLIMIT_MEMLOCK"),
            (libc::ENOSYS, "libaio"),
            (libc::EMFILE, "ulimit -n"),
            (libc::EINVAL, "libaio"),
        ] {
            assert!(
                io_uring_error(errno, "io_uring_setup")
                    .what
                    .contains(remedy),
                "{errno}"
            );
        }
        assert!(polling_error(libc::EOPNOTSUPP).what.contains("poll_queues"));
    }
}
