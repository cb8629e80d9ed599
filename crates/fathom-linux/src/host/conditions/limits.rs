//! The I/O limits of this process's control groups.

use std::path::{Path, PathBuf};

use fathom_model::IoLimit;

use crate::control_groups::own_groups;

fn directory(name: &str) -> PathBuf {
    Path::new("/sys/class/block").join(name.replace('/', "!"))
}

/// Limits on these devices set in the control groups of this process and their ancestors.
pub(super) fn limits(disks: &[String]) -> Vec<IoLimit> {
    let numbers: Vec<(String, String)> = disks
        .iter()
        .filter_map(|disk| Some((number(disk)?, disk.clone())))
        .collect();
    let mut limits = Vec::new();
    for group in own_groups("blkio").into_iter().chain(own_groups("io")) {
        limits.extend(group_limits(&group, &numbers));
    }
    limits.sort_by_key(|limit| (limit.disk.clone(), limit.reads, limit.ios, limit.per_second));
    limits.dedup();
    limits
}

/// Limits of one control group on devices, given by their numbers and names.
pub(crate) fn group_limits(group: &Path, numbers: &[(String, String)]) -> Vec<IoLimit> {
    let mut limits = Vec::new();
    for (file, reads, ios) in VERSION_1 {
        let text = std::fs::read_to_string(group.join(file)).unwrap_or_default();
        limits.extend(version_1(&text, reads, ios, numbers));
    }
    let text = std::fs::read_to_string(group.join("io.max")).unwrap_or_default();
    limits.extend(version_2(&text, numbers));
    limits
}

/// Control files of version 1. See Documentation/admin-guide/cgroup-v1/blkio-controller.rst.
const VERSION_1: [(&str, bool, bool); 4] = [
    ("blkio.throttle.read_iops_device", true, true),
    ("blkio.throttle.read_bps_device", true, false),
    ("blkio.throttle.write_iops_device", false, true),
    ("blkio.throttle.write_bps_device", false, false),
];

fn number(disk: &str) -> Option<String> {
    Some(
        std::fs::read_to_string(directory(disk).join("dev"))
            .ok()?
            .trim()
            .to_owned(),
    )
}

/// Lines such as `7:0 200`.
fn version_1(text: &str, reads: bool, ios: bool, numbers: &[(String, String)]) -> Vec<IoLimit> {
    let one = |line: &str| {
        let (device, value) = line.split_once(' ')?;
        let (_, disk) = numbers.iter().find(|(number, _)| number == device)?;
        Some(IoLimit {
            disk: disk.clone(),
            reads,
            ios,
            per_second: value.trim().parse().ok()?,
        })
    };
    text.lines().filter_map(one).collect()
}

/// Lines such as `7:0 rbps=max wbps=max riops=200 wiops=max`. See
/// Documentation/admin-guide/cgroup-v2.rst.
fn version_2(text: &str, numbers: &[(String, String)]) -> Vec<IoLimit> {
    let mut limits = Vec::new();
    for line in text.lines() {
        let mut fields = line.split_whitespace();
        let Some((_, disk)) = fields
            .next()
            .and_then(|device| numbers.iter().find(|(n, _)| n == device))
        else {
            continue;
        };
        limits.extend(fields.filter_map(|field| limit_field(field, disk)));
    }
    limits
}

fn limit_field(field: &str, disk: &str) -> Option<IoLimit> {
    let (name, value) = field.split_once('=')?;
    let (reads, ios) = match name {
        "rbps" => (true, false),
        "wbps" => (false, false),
        "riops" => (true, true),
        "wiops" => (false, true),
        _ => return None,
    };
    Some(IoLimit {
        disk: disk.to_owned(),
        reads,
        ios,
        per_second: value.parse().ok()?,
    })
}

/// Whether the CPU reports a hypervisor. Only x86 has the flag.
pub(super) fn virtual_machine() -> Option<bool> {
    let text = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    let flags = text.lines().find(|line| line.starts_with("flags"))?;
    Some(flags.split_whitespace().any(|flag| flag == "hypervisor"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limit(reads: bool, ios: bool, per_second: u64) -> IoLimit {
        IoLimit {
            disk: "loop0".to_owned(),
            reads,
            ios,
            per_second,
        }
    }

    #[test]
    fn limits_of_both_versions_are_parsed() {
        let numbers = [("7:0".to_owned(), "loop0".to_owned())];
        assert_eq!(
            version_1("8:0 5\n7:0 200\n", true, true, &numbers),
            [limit(true, true, 200)]
        );
        let text = "8:0 riops=9\n7:0 rbps=max wbps=1048576 riops=200 wiops=max\n";
        assert_eq!(
            version_2(text, &numbers),
            [limit(false, false, 1 << 20), limit(true, true, 200)]
        );
        assert_eq!(version_2("7:0 nonsense riops=x", &numbers), []);
        // All four limits that Documentation/admin-guide/cgroup-v2.rst names.
        assert_eq!(
            version_2("7:0 rbps=1 wbps=2 riops=3 wiops=4\n", &numbers),
            [
                limit(true, false, 1),
                limit(false, false, 2),
                limit(true, true, 3),
                limit(false, true, 4)
            ]
        );
    }
}
