//! Flags of open(2) that rustix has with another meaning.

use rustix::fs::OFlags;

/// `O_DSYNC`: at the end of a write its data is durable, and the metadata that is needed to read it.
///
/// `OFlags::DSYNC` of rustix is `O_SYNC` where rustix calls the kernel without libc: that also makes the times of the file durable,
/// which journals of file systems need a second flush for.
pub const O_DSYNC: OFlags = OFlags::from_bits_retain(libc::O_DSYNC as u32);

#[cfg(test)]
mod tests {
    use super::*;

    /// Regression 0814: `sync=dsync`, `open_datasync` of `fathom fsync` and `dsync` of `fathom durable` opened files with O_SYNC.
    #[test]
    fn a_file_is_opened_with_o_dsync_and_not_with_o_sync() {
        let scratch = fathom_testkit::Scratch::new().expect("a directory");
        let path = scratch.join("file");
        std::fs::write(&path, b"x").expect("a file");
        let flags = |flags: OFlags| {
            let file = rustix::fs::open(&path, OFlags::RDWR | flags, rustix::fs::Mode::empty());
            let file = file.expect("opened");
            let number = std::os::fd::AsRawFd::as_raw_fd(&file);
            // What the kernel says, in octal digits: proc(5).
            let text = std::fs::read_to_string(format!("/proc/self/fdinfo/{number}"));
            let text = text.expect("read");
            let octal = text
                .lines()
                .find_map(|line| line.strip_prefix("flags:"))
                .expect("flags");
            i32::from_str_radix(octal.trim(), 8).expect("octal") & libc::O_SYNC
        };
        assert_eq!(flags(O_DSYNC), libc::O_DSYNC);
        assert_eq!(flags(OFlags::SYNC), libc::O_SYNC);
        assert_ne!(libc::O_DSYNC, libc::O_SYNC);
        for method in crate::CommitMethod::ALL {
            let expected = match method {
                crate::CommitMethod::OpenDatasync => libc::O_DSYNC,
                crate::CommitMethod::OpenSync => libc::O_SYNC,
                _ => 0,
            };
            assert_eq!(
                flags(method.flags() - OFlags::DIRECT),
                expected,
                "{method:?}"
            );
        }
    }
}
