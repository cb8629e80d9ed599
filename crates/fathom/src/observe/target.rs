//! What is observed: devices, processes, files.

use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use fathom_trace::{BlockDevices, DeviceNumber, Process, ProcessFilter};

/// The target of an observation.
pub struct ObservedTarget {
    /// For messages: `/dev/vda`, `PID 12`, `all devices`.
    pub name: String,
    /// The whole devices; empty: all.
    pub devices: Vec<DeviceNumber>,
    pids: Vec<u32>,
    group: Option<String>,
}

impl ObservedTarget {
    /// The target of a path, processes and a control group.
    ///
    /// # Errors
    /// When a path, process or group does not exist or has no block device.
    pub fn of(
        path: Option<&Path>,
        pids: &[u32],
        cgroup: Option<&str>,
        known: &BlockDevices,
    ) -> Result<Self, String> {
        let mut parts = Vec::new();
        let mut devices = Vec::new();
        if let Some(path) = path {
            let number = device_of(path, known)?;
            let whole = known.whole(number).ok_or_else(|| {
                format!(
                    "{}: the file system has no block device of its own (number {number}); name the device",
                    path.display()
                )
            })?;
            devices = known.with_devices_below(whole);
            parts.push(path.display().to_string());
        }
        for pid in pids {
            if !Path::new(&format!("/proc/{pid}")).exists() {
                return Err(format!("--pid: no process {pid}"));
            }
            parts.push(format!("PID {pid}"));
        }
        let group = cgroup.map(control_group).transpose()?;
        if let Some(group) = &group {
            parts.push(format!("control group {group}"));
        }
        if parts.is_empty() {
            parts.push("all devices".to_owned());
        }
        Ok(Self {
            name: parts.join(", "),
            devices,
            pids: pids.to_vec(),
            group,
        })
    }

    /// Counts the I/O of this process as well.
    pub fn add_process(&mut self, pid: u32) {
        self.pids.push(pid);
    }

    /// Whether a process's I/O belongs to the target; `None` if that of all does.
    pub fn filter(&self) -> Option<ProcessFilter> {
        if !self.pids.is_empty() {
            let pids = self.pids.clone();
            return Some(Box::new(move |process: &Process| {
                pids.contains(&process.pid)
            }));
        }
        let group = self.group.clone()?;
        let below = format!("{}/", group.trim_end_matches('/'));
        Some(Box::new(move |process: &Process| {
            process.group == group || process.group.starts_with(&below)
        }))
    }

    /// The processes that are named, for their counters.
    pub fn pids(&self) -> &[u32] {
        &self.pids
    }
}

/// The number of the device that a path is, or is on.
///
/// # Errors
/// When there is none.
pub fn device_of(path: &Path, known: &BlockDevices) -> Result<DeviceNumber, String> {
    let metadata = fs::metadata(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let raw = if metadata.file_type().is_block_device() {
        metadata.rdev()
    } else if metadata.file_type().is_char_device() {
        return Err(format!(
            "{} is a character device: name a block device, a file or a directory",
            path.display()
        ));
    } else {
        metadata.dev()
    };
    let number = DeviceNumber::new(rustix::fs::major(raw), rustix::fs::minor(raw));
    if known.whole(number).is_some() {
        return Ok(number);
    }
    // btrfs and others number their file systems themselves; the mount table has the device.
    mounted_source(path)
        .and_then(|source| fs::metadata(source).ok())
        .filter(|source| source.file_type().is_block_device())
        .map(|source| {
            DeviceNumber::new(
                rustix::fs::major(source.rdev()),
                rustix::fs::minor(source.rdev()),
            )
        })
        .ok_or_else(|| {
            format!(
                "{} is on a file system without a block device (such as tmpfs, overlay or NFS)",
                path.display()
            )
        })
}

/// The source of the mount that has a path, from proc_pid_mountinfo(5).
fn mounted_source(path: &Path) -> Option<PathBuf> {
    let path = fs::canonicalize(path).ok()?;
    let text = fs::read_to_string("/proc/self/mountinfo").ok()?;
    let mounts = text.lines().filter_map(|line| {
        let (head, tail) = line.split_once(" - ")?;
        let at = head.split(' ').nth(4)?;
        let source = tail.split(' ').nth(1)?;
        path.starts_with(at).then(|| (at.len(), source.into()))
    });
    mounts
        .max_by_key(|(length, _)| *length)
        .map(|(_, source)| source)
}

/// The name of a group as in `/proc/PID/cgroup`, from that or from its directory.
fn control_group(text: &str) -> Result<String, String> {
    const MOUNT: &str = "/sys/fs/cgroup";
    let Some(below) = text.strip_prefix(MOUNT) else {
        return if text.starts_with('/') {
            Ok(text.trim_end_matches('/').to_owned())
        } else {
            Err(format!(
                "--cgroup: '{text}' is not an absolute path, such as /system.slice/mysql.service"
            ))
        };
    };
    if !Path::new(text).join("cgroup.procs").exists() {
        return Err(format!("--cgroup: {text} is not a control group"));
    }
    let below = below.trim_end_matches('/');
    // Version 1 has a directory for each controller, and version 2 beside it `unified`.
    let is_version_2 = Path::new(MOUNT).join("cgroup.controllers").exists();
    let name = if is_version_2 {
        below
    } else {
        let rest = below.trim_start_matches('/');
        rest.find('/').map_or("", |at| &rest[at..])
    };
    if name.is_empty() {
        Ok("/".to_owned())
    } else {
        Ok(name.to_owned())
    }
}
