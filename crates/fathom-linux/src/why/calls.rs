//! System calls that wait for I/O, by their numbers. See proc_pid_syscall(5).

/// Number, name, and whether the first argument is a file descriptor.
const CALLS: [(libc::c_long, &str, bool); 27] = [
    (libc::SYS_read, "read", true),
    (libc::SYS_pread64, "pread64", true),
    (libc::SYS_readv, "readv", true),
    (libc::SYS_preadv, "preadv", true),
    (libc::SYS_preadv2, "preadv2", true),
    (libc::SYS_write, "write", true),
    (libc::SYS_pwrite64, "pwrite64", true),
    (libc::SYS_writev, "writev", true),
    (libc::SYS_pwritev, "pwritev", true),
    (libc::SYS_pwritev2, "pwritev2", true),
    (libc::SYS_fsync, "fsync", true),
    (libc::SYS_fdatasync, "fdatasync", true),
    (libc::SYS_syncfs, "syncfs", true),
    (libc::SYS_sync_file_range, "sync_file_range", true),
    (libc::SYS_ftruncate, "ftruncate", true),
    (libc::SYS_fallocate, "fallocate", true),
    (libc::SYS_getdents64, "getdents64", true),
    (libc::SYS_close, "close", true),
    (libc::SYS_sync, "sync", false),
    (libc::SYS_openat, "openat", false),
    (libc::SYS_newfstatat, "newfstatat", false),
    (libc::SYS_statx, "statx", false),
    (libc::SYS_unlinkat, "unlinkat", false),
    (libc::SYS_msync, "msync", false),
    (libc::SYS_io_submit, "io_submit", false),
    (libc::SYS_io_getevents, "io_getevents", false),
    (libc::SYS_io_uring_enter, "io_uring_enter", false),
];

/// Name of the call and the descriptor of its file, from a text such as `0 0x3 0x7ffe... ...`.
pub(super) fn call(text: &str) -> Option<(&'static str, Option<u32>)> {
    let mut fields = text.split_whitespace();
    let number: libc::c_long = fields.next()?.parse().ok()?;
    let (_, name, has_file) = CALLS.iter().find(|(known, ..)| *known == number)?;
    let first = fields.next().and_then(|field| field.strip_prefix("0x"));
    let descriptor = first.and_then(|digits| u32::from_str_radix(digits, 16).ok());
    Some((name, descriptor.filter(|_| *has_file)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_read_has_a_descriptor() {
        let text = format!(
            "{} 0xb 0x7ffe 0x1000 0x0 0x0 0x0 0x7ffd 0x7ffc\n",
            libc::SYS_read
        );
        assert_eq!(call(&text), Some(("read", Some(11))));
        let open = format!("{} 0xffffff9c 0x7ffe\n", libc::SYS_openat);
        assert_eq!(call(&open), Some(("openat", None)));
        assert_eq!(call("running\n"), None);
        assert_eq!(call("-1 0x7ffd 0x7ffc\n"), None);
    }
}
