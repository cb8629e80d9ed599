//! Limits of the rates at which some processes use a device, set in a control group of their own.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{major, minor};

use crate::control_groups::own_group;
use crate::witness::groups;

/// The files of version 1 by the names of `io.max`. See Documentation/admin-guide/cgroup-v1/blkio-controller.rst.
const FILES: [(&str, &str); 4] = [
    ("rbps", "blkio.throttle.read_bps_device"),
    ("wbps", "blkio.throttle.write_bps_device"),
    ("riops", "blkio.throttle.read_iops_device"),
    ("wiops", "blkio.throttle.write_iops_device"),
];

/// A control group with limits. It is removed when this is dropped.
#[derive(Debug)]
pub struct LimitedGroup {
    above: PathBuf,
    path: PathBuf,
}

impl LimitedGroup {
    /// Creates the group `name`, which limits the disk below `path` to `rates`: bytes or I/Os per second under the names of `io.max`
    /// (`rbps`, `wbps`, `riops`, `wiops`).
    ///
    /// # Errors
    /// Why the kernel cannot limit it, in words.
    pub fn create(
        name: &str,
        path: &Path,
        rates: &[(String, u64)],
    ) -> Result<LimitedGroup, String> {
        let disk = disk_below(path)?;
        let outer = groups::group_name().ok_or("/proc does not show this process")?;
        let (above, version_2) = match own_group("blkio", false) {
            Some(own) => (own.join(outer), false),
            None => (
                own_group("", true)
                    .ok_or("no hierarchy of control groups is mounted")?
                    .join(outer),
                true,
            ),
        };
        let group = LimitedGroup {
            path: above.join(name),
            above,
        };
        let explain = |file: &Path, error: io::Error| {
            format!("{}: {error}; run fathom as root", file.display())
        };
        if let Err(error) = fs::create_dir(&group.above)
            && error.kind() != io::ErrorKind::AlreadyExists
        {
            return Err(explain(&group.above, error));
        }
        if version_2 {
            let file = group.above.join("cgroup.subtree_control");
            fs::write(&file, "+io").map_err(|error| explain(&file, error))?;
        }
        fs::create_dir(&group.path).map_err(|error| explain(&group.path, error))?;
        for (rate, value) in rates {
            let (file, text) = if version_2 {
                ("io.max", format!("{disk} {rate}={value}"))
            } else {
                let known = FILES.iter().find(|(name, _)| name == rate);
                let (_, file) = known.ok_or_else(|| format!("{rate} is no rate of io.max"))?;
                (*file, format!("{disk} {value}"))
            };
            let file = group.path.join(file);
            fs::write(&file, text).map_err(|error| explain(&file, error))?;
        }
        Ok(group)
    }

    /// Moves a process, and all that it starts from now on, into the group.
    ///
    /// # Errors
    /// If the kernel refuses it.
    pub fn add(&self, pid: u32) -> io::Result<()> {
        groups::move_to(&self.path, pid)
    }
}

impl Drop for LimitedGroup {
    fn drop(&mut self) {
        groups::remove(&self.path);
        // Refused as long as another group is in it.
        let _ = fs::remove_dir(&self.above);
    }
}

/// The number of the disk that has the file system of `path`: limits apply to disks, not to their partitions.
fn disk_below(path: &Path) -> Result<String, String> {
    let facts = fs::metadata(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let number = format!("{}:{}", major(facts.dev()), minor(facts.dev()));
    let device = fs::canonicalize(Path::new("/sys/dev/block").join(&number))
        .map_err(|_| format!("{} is not on one block device", path.display()))?;
    if !device.join("partition").exists() {
        return Ok(number);
    }
    let disk = device.parent().map(|disk| disk.join("dev"));
    let text = disk.and_then(|file| fs::read_to_string(file).ok());
    text.map(|text| text.trim().to_owned())
        .ok_or_else(|| format!("{}: the disk of its partition is unknown", path.display()))
}
