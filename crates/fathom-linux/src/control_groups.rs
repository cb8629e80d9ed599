//! The CPU and memory limits of this process's control groups, of versions 1 and 2. A container has the limits of its groups,
//! not the CPUs and the memory of the host.

use std::path::{Path, PathBuf};

/// The control groups that can limit this process: its own and their ancestors.
#[derive(Clone, Debug, Default)]
pub struct ControlGroups {
    cpu: Vec<PathBuf>,
    memory: Vec<PathBuf>,
}

impl ControlGroups {
    /// The groups of this process.
    #[must_use]
    pub fn own() -> ControlGroups {
        ControlGroups::below(Path::new("/"))
    }

    /// The same, of a tree with the files of /proc and /sys below `root`.
    #[must_use]
    pub fn below(root: &Path) -> ControlGroups {
        let text = |name: &str| std::fs::read_to_string(root.join(name)).unwrap_or_default();
        let (own, mounts) = (text("proc/self/cgroup"), text("proc/self/mountinfo"));
        let groups = |controller| {
            groups_of(&own, &mounts, controller)
                .into_iter()
                .map(|group| root.join(group.strip_prefix("/").unwrap_or(&group)))
                .collect()
        };
        ControlGroups {
            cpu: groups("cpu"),
            memory: groups("memory"),
        }
    }

    /// How many CPUs the smallest quota allows, such as 1.5; `None` without one.
    #[must_use]
    pub fn cpu_limit(&self) -> Option<f64> {
        let quotas = self.cpu.iter().filter_map(|group| cpu_quota(group));
        quotas.reduce(f64::min)
    }

    /// The smallest memory limit, bytes; `None` without one.
    #[must_use]
    pub fn memory_limit(&self) -> Option<u64> {
        self.memory
            .iter()
            .filter_map(|group| memory_limit(group))
            .min()
    }

    /// Bytes that can still be allocated before the smallest limit is reached. The page cache of a group counts as free: the
    /// kernel reclaims it first.
    #[must_use]
    pub fn memory_left(&self) -> Option<u64> {
        self.memory
            .iter()
            .filter_map(|group| Some(memory_limit(group)?.saturating_sub(memory_used(group)?)))
            .min()
    }

    pub(crate) fn cpu_groups(&self) -> &[PathBuf] {
        &self.cpu
    }
}

/// `cpu.max` of version 2: quota and period; `cpu.cfs_quota_us` and `cpu.cfs_period_us` of version 1.
fn cpu_quota(group: &Path) -> Option<f64> {
    let (quota, period) = match std::fs::read_to_string(group.join("cpu.max")) {
        Ok(text) => {
            let mut fields = text.split_whitespace();
            // `max` means unlimited.
            let quota = fields.next()?.parse::<f64>().ok()?;
            (quota, fields.next()?.parse::<f64>().ok()?)
        }
        // -1 means unlimited.
        Err(_) => (
            number::<f64>(&group.join("cpu.cfs_quota_us"))?,
            number::<f64>(&group.join("cpu.cfs_period_us"))?,
        ),
    };
    (quota > 0.0 && period > 0.0).then(|| quota / period)
}

/// From this value on a limit of version 1 is none: LONG_MAX, rounded down to whole pages.
const UNLIMITED: u64 = 1 << 62;

/// `memory.max` of version 2, `memory.limit_in_bytes` of version 1.
fn memory_limit(group: &Path) -> Option<u64> {
    number::<u64>(&group.join("memory.max"))
        .or_else(|| number::<u64>(&group.join("memory.limit_in_bytes")))
        .filter(|limit| *limit < UNLIMITED)
}

fn memory_used(group: &Path) -> Option<u64> {
    let used = number::<u64>(&group.join("memory.current"))
        .or_else(|| number::<u64>(&group.join("memory.usage_in_bytes")))?;
    let text = std::fs::read_to_string(group.join("memory.stat")).unwrap_or_default();
    let field = |name: &str| {
        text.lines()
            .filter_map(|line| line.split_once(' '))
            .find(|(key, _)| *key == name)
            .and_then(|(_, value)| value.trim().parse::<u64>().ok())
    };
    // Version 1 has its own pages and, with total_, those of the groups below as well.
    let cache = ["file", "cache"].map(|name| {
        let name = if name == "cache" && field("total_cache").is_some() {
            "total_cache"
        } else {
            name
        };
        field(name)
    });
    let shared = field("total_shmem").or_else(|| field("shmem")).unwrap_or(0);
    let cache = cache.into_iter().flatten().next().unwrap_or(0);
    Some(used.saturating_sub(cache.saturating_sub(shared)))
}

fn number<T: std::str::FromStr>(file: &Path) -> Option<T> {
    std::fs::read_to_string(file).ok()?.trim().parse().ok()
}

/// Directories of the control groups with this controller that can limit this process: its own and
/// their ancestors, of versions 1 and 2.
pub(crate) fn own_groups(controller: &str) -> Vec<PathBuf> {
    let own = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    groups_of(&own, &mounts, controller)
}

/// The directory of this process's group: of version 2, or in the hierarchy of version 1 with this controller.
pub(crate) fn own_group(controller: &str, version_2: bool) -> Option<PathBuf> {
    let own = std::fs::read_to_string("/proc/self/cgroup").ok()?;
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").ok()?;
    own.lines()
        .filter(|line| line.contains("::") == version_2)
        .find_map(|line| hierarchy(line, &mounts, controller))?
        .into_iter()
        .next()
}

/// Where hierarchies of either version are mounted.
pub(crate) fn cgroup_mount_points() -> Vec<PathBuf> {
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    mounts
        .lines()
        .filter_map(|line| {
            let (mount_fields, kind) = line.split_once(" - ")?;
            matches!(kind.split(' ').next()?, "cgroup" | "cgroup2")
                .then(|| mount_fields.split(' ').nth(4).map(PathBuf::from))?
        })
        .collect()
}

fn groups_of(own: &str, mounts: &str, controller: &str) -> Vec<PathBuf> {
    own.lines()
        .filter_map(|line| hierarchy(line, mounts, controller))
        .flatten()
        .collect()
}

/// `7:cpu,cpuacct:/a/b` of version 1, `0::/a/b` of version 2. See cgroups(7).
fn hierarchy(line: &str, mounts: &str, controller: &str) -> Option<Vec<PathBuf>> {
    let mut fields = line.splitn(3, ':').skip(1);
    let (controllers, path) = (fields.next()?, fields.next()?);
    let version_2 = controllers.is_empty();
    if !version_2 && !controllers.split(',').any(|name| name == controller) {
        return None;
    }
    let (root, at) = mounts
        .lines()
        .find_map(|mount| cgroup_mount(mount, version_2, controller))?;
    // In a container the mount shows only the groups below its root.
    let below = Path::new(path).strip_prefix(root).unwrap_or(Path::new(""));
    let below = below.strip_prefix("/").unwrap_or(below);
    Some(
        below
            .ancestors()
            .map(|part| Path::new(at).join(part))
            .collect(),
    )
}

/// Root and mount point, if this line of mountinfo is the requested hierarchy. See
/// proc_pid_mountinfo(5).
pub(crate) fn cgroup_mount<'a>(
    line: &'a str,
    version_2: bool,
    controller: &str,
) -> Option<(&'a str, &'a str)> {
    let (mount_fields, kind) = line.split_once(" - ")?;
    let mut mount_fields = mount_fields.split(' ').skip(3);
    let found = (mount_fields.next()?, mount_fields.next()?);
    let mut kind = kind.split(' ');
    let (fs_type, options) = (kind.next()?, kind.nth(1)?);
    let fits = match fs_type {
        "cgroup2" => version_2,
        "cgroup" => !version_2 && options.split(',').any(|option| option == controller),
        _ => false,
    };
    fits.then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_groups_of_both_versions_are_found() {
        let mounts = "30 25 0:26 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n\
                      31 25 0:27 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n\
                      32 25 0:28 / /sys/fs/cgroup/unified rw shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";
        let own = "4:cpu,cpuacct:/a/b\n3:cpuset:/c\n0::/u\n";
        let found = groups_of(own, mounts, "cpu");
        let wanted = [
            "cpu,cpuacct/a/b",
            "cpu,cpuacct/a",
            "cpu,cpuacct/",
            "unified/u",
            "unified/",
        ];
        assert_eq!(
            found,
            wanted.map(|group| Path::new("/sys/fs/cgroup").join(group))
        );
    }

    #[test]
    fn a_container_uses_its_own_root() {
        let mounts = "30 25 0:26 /docker/xyz /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
        assert_eq!(
            groups_of("0::/docker/xyz/job\n", mounts, "cpu")[0],
            Path::new("/sys/fs/cgroup/job")
        );
    }

    /// A tree with the files of /proc and /sys that `files` lists.
    fn tree(files: &[(&str, &str)]) -> fathom_testkit::Scratch {
        let root = fathom_testkit::Scratch::new().expect("a directory");
        for (name, text) in files {
            let path = root.join(name);
            std::fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
            std::fs::write(path, text).expect("a file");
        }
        root
    }

    /// Regression 0570: the memory of the host counted in a container, and a limit of an outer group did not. The figures are
    /// those that Documentation/admin-guide/cgroup-v2.rst gives to the files.
    #[test]
    fn the_smallest_limit_of_version_2_counts() {
        let root = tree(&[
            ("proc/self/cgroup", "0::/pod/container\n"),
            (
                "proc/self/mountinfo",
                "30 25 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
            ),
            ("sys/fs/cgroup/pod/cpu.max", "150000 100000\n"),
            ("sys/fs/cgroup/pod/memory.max", "1073741824\n"),
            ("sys/fs/cgroup/pod/memory.current", "1000000000\n"),
            (
                "sys/fs/cgroup/pod/memory.stat",
                "anon 9\nfile 5000\nshmem 0\n",
            ),
            ("sys/fs/cgroup/pod/container/cpu.max", "max 100000\n"),
            ("sys/fs/cgroup/pod/container/memory.max", "67108864\n"),
            ("sys/fs/cgroup/pod/container/memory.current", "50000000\n"),
            (
                "sys/fs/cgroup/pod/container/memory.stat",
                "anon 9\nfile 30000000\nshmem 1000000\n",
            ),
        ]);
        let groups = ControlGroups::below(root.path());
        assert_eq!(groups.cpu_limit(), Some(1.5));
        assert_eq!(groups.memory_limit(), Some(64 << 20));
        assert_eq!(
            groups.memory_left(),
            Some((64 << 20) - (50_000_000 - 29_000_000))
        );
    }

    /// A quota of 2 CPUs allows no more than the 1.5 of the group around it, and none of its own no more than that either.
    #[test]
    fn a_smaller_quota_of_an_outer_group_counts() {
        for (own, outer, cpus) in [
            ("200000 100000", "150000 100000", 1.5),
            ("50000 100000", "150000 100000", 0.5),
            ("200000 100000", "max 100000", 2.0),
        ] {
            let root = tree(&[
                ("proc/self/cgroup", "0::/pod/container\n"),
                (
                    "proc/self/mountinfo",
                    "30 25 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
                ),
                ("sys/fs/cgroup/pod/cpu.max", outer),
                ("sys/fs/cgroup/pod/container/cpu.max", own),
            ]);
            let groups = ControlGroups::below(root.path());
            assert_eq!(groups.cpu_limit(), Some(cpus), "{own} in {outer}");
        }
    }

    /// The same of version 1, in a container whose mounts begin at its own group.
    #[test]
    fn the_smallest_limit_of_version_1_counts() {
        let root = tree(&[
            (
                "proc/self/cgroup",
                "4:cpu,cpuacct:/docker/x\n3:memory:/docker/x\n",
            ),
            (
                "proc/self/mountinfo",
                "30 25 0:26 /docker/x /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n\
                 31 25 0:27 /docker/x /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n",
            ),
            ("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "50000\n"),
            ("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n"),
            ("sys/fs/cgroup/memory/memory.limit_in_bytes", "134217728\n"),
            ("sys/fs/cgroup/memory/memory.usage_in_bytes", "100\n"),
            (
                "sys/fs/cgroup/memory/memory.stat",
                "cache 7\nshmem 0\ntotal_cache 40\ntotal_shmem 10\n",
            ),
        ]);
        let groups = ControlGroups::below(root.path());
        assert_eq!(groups.cpu_limit(), Some(0.5));
        assert_eq!(groups.memory_limit(), Some(128 << 20));
        assert_eq!(groups.memory_left(), Some((128 << 20) - 70));
    }

    #[test]
    fn no_limit_is_none() {
        let root = tree(&[
            ("proc/self/cgroup", "4:cpu:/\n3:memory:/\n0::/\n"),
            (
                "proc/self/mountinfo",
                "30 25 0:26 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n\
                 31 25 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n\
                 32 25 0:28 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n",
            ),
            ("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n"),
            ("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n"),
            (
                "sys/fs/cgroup/memory/memory.limit_in_bytes",
                "9223372036854771712\n",
            ),
            ("sys/fs/cgroup/unified/cpu.max", "max 100000\n"),
            ("sys/fs/cgroup/unified/memory.max", "max\n"),
        ]);
        for groups in [ControlGroups::below(root.path()), ControlGroups::default()] {
            assert_eq!(groups.cpu_limit(), None);
            assert_eq!((groups.memory_limit(), groups.memory_left()), (None, None));
        }
    }
}
