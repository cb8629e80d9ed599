//! Limits a device to a known rate with the blkio controller of cgroup version 1.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::need::Unmet;

/// The limited quantity, per second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// Read operations per second.
    ReadIops(u64),
    /// Write operations per second.
    WriteIops(u64),
    /// Read bytes per second.
    ReadBytes(u64),
    /// Written bytes per second.
    WriteBytes(u64),
}

impl Limit {
    /// The control file, as in the kernel's blkio-controller document, and the value.
    fn file(self) -> (&'static str, u64) {
        match self {
            Limit::ReadIops(rate) => ("blkio.throttle.read_iops_device", rate),
            Limit::WriteIops(rate) => ("blkio.throttle.write_iops_device", rate),
            Limit::ReadBytes(rate) => ("blkio.throttle.read_bps_device", rate),
            Limit::WriteBytes(rate) => ("blkio.throttle.write_bps_device", rate),
        }
    }
}

/// A cgroup below this process's own, removed on drop.
///
/// The mean rate is exact to about 1 %; it is bursty, in slices of 100 ms. Measure for several
/// seconds, and let all commands exit before dropping.
#[derive(Debug)]
pub struct Throttle {
    group: PathBuf,
}

impl Throttle {
    /// Whether this machine supports throttles.
    ///
    /// # Errors
    /// The reason if it does not.
    pub fn available() -> Result<(), Unmet> {
        let made = Throttle::new().map_err(|e| Unmet(e.to_string()))?;
        let (file, _) = Limit::ReadIops(1).file();
        let has_limits = made.group.join(file).exists();
        has_limits
            .then_some(())
            .ok_or_else(|| Unmet("this kernel has no blkio throttling".into()))
    }

    /// Creates an empty group without limits.
    ///
    /// # Errors
    /// If there is no blkio hierarchy of version 1 or it is not writable.
    pub fn new() -> io::Result<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("fathom-test-{}-{number}", std::process::id());
        let group = own_group("blkio")?.join(name);
        std::fs::create_dir(&group)
            .map_err(|e| needs_blkio(&format!("{}: {e}", group.display())))?;
        Ok(Throttle { group })
    }

    /// Limits the rate of the group on the block device `device` (such as `/dev/loop0`).
    ///
    /// # Errors
    /// If `device` is not a block device or the kernel refuses the limit.
    pub fn limit(&self, device: &Path, limit: Limit) -> io::Result<()> {
        let number = device_number(device)?;
        let (file, rate) = limit.file();
        std::fs::write(self.group.join(file), format!("{number} {rate}\n"))
    }

    /// A command that joins the group before it executes `program`.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new("sh");
        command.arg("-c").arg(r#"echo $$ > "$0" && exec "$@""#);
        command.arg(self.group.join("cgroup.procs")).arg(program);
        command
    }

    /// The group's directory.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.group
    }
}

impl Drop for Throttle {
    /// An exited process leaves its group a moment after it was waited for: retries for a second.
    fn drop(&mut self) {
        for _ in 0..50 {
            match std::fs::remove_dir(&self.group) {
                Err(e) if e.kind() == io::ErrorKind::ResourceBusy => {
                    std::thread::sleep(std::time::Duration::from_millis(20));
                }
                _ => return,
            }
        }
    }
}

fn needs_blkio(why: &str) -> io::Error {
    io::Error::new(
        io::ErrorKind::Unsupported,
        format!("needs a writable cgroup v1 blkio: {why}"),
    )
}

/// The directory of this process's group of a hierarchy of version 1.
pub(crate) fn own_group(controller: &str) -> io::Result<PathBuf> {
    let missing = |why: &str| {
        io::Error::new(
            io::ErrorKind::Unsupported,
            format!("needs a writable cgroup v1 {controller}: {why}"),
        )
    };
    let groups = std::fs::read_to_string("/proc/self/cgroup")?;
    let mounts = std::fs::read_to_string("/proc/self/mountinfo")?;
    let own = group_of(&groups, controller).ok_or_else(|| missing("no such hierarchy"))?;
    let (root, mount) =
        mount_of(&mounts, controller).ok_or_else(|| missing("it is not mounted"))?;
    let below = own.strip_prefix(root.trim_end_matches('/')).unwrap_or(own);
    Ok(Path::new(mount).join(below.trim_start_matches('/')))
}

/// The path in a line such as `5:blkio:/some/group` of cgroups(7).
fn group_of<'a>(groups: &'a str, controller: &str) -> Option<&'a str> {
    groups.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        let controllers = fields.next()?;
        controllers
            .split(',')
            .any(|c| c == controller)
            .then(|| fields.next())
            .flatten()
    })
}

/// Root and mount point of the hierarchy with a controller, from mountinfo (proc(5)).
fn mount_of<'a>(mounts: &'a str, controller: &str) -> Option<(&'a str, &'a str)> {
    mounts.lines().find_map(|line| {
        let (location, kind) = line.split_once(" - ")?;
        let options = kind.strip_prefix("cgroup ")?.rsplit(' ').next()?;
        let mut fields = location.split(' ').skip(3);
        options
            .split(',')
            .any(|o| o == controller)
            .then(|| Some((fields.next()?, fields.next()?)))?
    })
}

/// `major:minor` of a block device.
fn device_number(device: &Path) -> io::Result<String> {
    use std::os::unix::fs::{FileTypeExt, MetadataExt};
    let metadata = std::fs::metadata(device)?;
    if !metadata.file_type().is_block_device() {
        let text = format!("{} is not a block device", device.display());
        return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
    }
    let number = metadata.rdev();
    Ok(format!(
        "{}:{}",
        rustix::fs::major(number),
        rustix::fs::minor(number)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn group_and_mount_are_found_in_the_kernels_tables() {
        let groups = "6:memory:/a\n5:cpu,blkio:/user/x\n0::/y\n";
        assert_eq!(group_of(groups, "blkio"), Some("/user/x"));
        let mounts = "30 25 0:26 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n\
                      31 25 0:27 /user /sys/fs/cgroup/blkio rw,nosuid shared:9 - cgroup cgroup rw,blkio\n";
        assert_eq!(
            mount_of(mounts, "blkio"),
            Some(("/user", "/sys/fs/cgroup/blkio"))
        );
        assert_eq!(group_of("0::/unified\n", "blkio"), None);
    }

    #[test]
    fn a_regular_file_has_no_rate() {
        assert!(device_number(Path::new("/proc/self/cgroup")).is_err());
    }
}
