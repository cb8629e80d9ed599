//! The machine before and after a run: stolen time, busy CPUs, CPU quota.

use std::path::{Path, PathBuf};

use fathom_model::{Bytes, HostRecording};

use super::usage::allowed_cpus;

/// Watches the machine during a run.
#[derive(Clone, Debug)]
pub struct HostWatch {
    times: Option<CpuTimes>,
    throttles: Option<u64>,
    groups: Vec<PathBuf>,
}

/// CPU time of all CPUs since boot, in clock ticks. See proc_stat(5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct CpuTimes {
    all: u64,
    idle: u64,
    stolen: u64,
}

impl HostWatch {
    /// Starts the watch.
    #[must_use]
    pub fn start() -> Self {
        let groups = own_groups("cpu");
        Self {
            times: CpuTimes::now(),
            throttles: throttles(&groups),
            groups,
        }
    }

    /// Stops and returns what happened in between.
    #[must_use]
    pub fn finish(&self) -> HostRecording {
        let spent = self
            .times
            .zip(CpuTimes::now())
            .map(|(before, now)| now.since(before));
        HostRecording {
            kernel: rustix::system::uname()
                .release()
                .to_string_lossy()
                .into_owned(),
            cpus: allowed_cpus().len() as u32,
            memory: memory(),
            steal_percent: spent.and_then(|spent| spent.share(spent.stolen)),
            cpu_throttles: self
                .throttles
                .zip(throttles(&self.groups))
                .map(|(before, now)| now.saturating_sub(before)),
            idleness: None,
            busy_percent: spent
                .and_then(|spent| spent.share(spent.all.saturating_sub(spent.idle + spent.stolen))),
        }
    }
}

impl CpuTimes {
    fn now() -> Option<Self> {
        Self::parse(&std::fs::read_to_string("/proc/stat").ok()?)
    }
    /// `cpu user nice system idle iowait irq softirq steal guest guest_nice`; user time includes
    /// guest time.
    fn parse(text: &str) -> Option<Self> {
        let line = text.lines().find_map(|line| line.strip_prefix("cpu "))?;
        let ticks: Vec<u64> = line
            .split_whitespace()
            .take(8)
            .map(str::parse)
            .collect::<Result<_, _>>()
            .ok()?;
        let at = |index: usize| ticks.get(index).copied().unwrap_or(0);
        (ticks.len() >= 4).then(|| Self {
            all: ticks.iter().sum(),
            idle: at(3) + at(4),
            stolen: at(7),
        })
    }
    fn since(self, before: Self) -> Self {
        let less = u64::saturating_sub;
        Self {
            all: less(self.all, before.all),
            idle: less(self.idle, before.idle),
            stolen: less(self.stolen, before.stolen),
        }
    }
    fn share(self, part: u64) -> Option<f64> {
        (self.all > 0).then(|| part as f64 * 100.0 / self.all as f64)
    }
}

fn memory() -> Bytes {
    let facts = rustix::system::sysinfo();
    Bytes::new(facts.totalram.saturating_mul(u64::from(facts.mem_unit)))
}

/// Sum of the CPU quota throttles of these control groups.
pub(super) fn throttles(groups: &[PathBuf]) -> Option<u64> {
    let texts = groups
        .iter()
        .filter_map(|group| std::fs::read_to_string(group.join("cpu.stat")).ok());
    texts
        .filter_map(|text| throttled(&text))
        .reduce(u64::saturating_add)
}

fn throttled(text: &str) -> Option<u64> {
    text.lines()
        .find_map(|line| line.strip_prefix("nr_throttled "))?
        .trim()
        .parse()
        .ok()
}

/// Directories of the control groups with this controller that can limit this process: its own and
/// their ancestors, of versions 1 and 2.
pub(super) fn own_groups(controller: &str) -> Vec<PathBuf> {
    let own = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    groups_of(&own, &mounts, controller)
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
fn cgroup_mount<'a>(
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
    fn shares_of_cpu_time_match_the_manual() {
        let before =
            CpuTimes::parse("cpu  100 0 100 800 0 0 0 0 50 0\ncpu0 1 1 1 1\n").expect("ten fields");
        let now = CpuTimes::parse("cpu  140 0 110 830 10 0 0 10 90 0\n").expect("ten fields");
        let spent = now.since(before);
        assert_eq!(
            spent,
            CpuTimes {
                all: 100,
                idle: 40,
                stolen: 10
            }
        );
        assert_eq!(
            (spent.share(spent.stolen), CpuTimes::default().share(0)),
            (Some(10.0), None)
        );
        assert_eq!(
            (CpuTimes::parse("cpu  1 x 3 4"), CpuTimes::parse("intr 5")),
            (None, None)
        );
    }

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

    #[test]
    fn throttles_are_parsed() {
        assert_eq!(
            throttled("nr_periods 10\nnr_throttled 7\nthrottled_time 9\n"),
            Some(7)
        );
        assert_eq!(throttled("usage_usec 5\n"), None);
    }
}
