//! Counters of a tree of processes, those that have exited included: the kernel adds the counters of a process to those of the
//! process that waits for it. See proc_pid_io(5) and proc_pid_stat(5).

use std::collections::HashSet;
use std::fs;

use fathom_model::{Nanos, ProcessIo, WatchedProcess};

/// More processes than this are not read in one sample.
const MAX_PROCESSES: usize = 10_000;

/// Counters of some processes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Totals {
    pub(super) io: ProcessIo,
    pub(super) user: Nanos,
    pub(super) system: Nanos,
    /// The I/O of at least one process could not be read.
    pub(super) refused: bool,
}

impl Totals {
    fn add(&mut self, other: &Totals) {
        self.io = self.io.plus(&other.io);
        self.user += other.user;
        self.system += other.system;
        self.refused |= other.refused;
    }

    /// What was counted after `before`.
    pub(super) fn since(&self, before: &Totals) -> Totals {
        Totals {
            io: self.io.since(&before.io),
            user: self.user.saturating_sub(before.user),
            system: self.system.saturating_sub(before.system),
            refused: self.refused || before.refused,
        }
    }

    /// The larger one of each counter.
    pub(super) fn max(&self, other: &Totals) -> Totals {
        Totals {
            io: self.io.max(&other.io),
            user: self.user.max(other.user),
            system: self.system.max(other.system),
            refused: self.refused || other.refused,
        }
    }
}

/// One reading of a tree.
#[derive(Clone, Debug, Default)]
pub(super) struct Reading {
    pub(super) totals: Totals,
    /// The processes without the root, each before those that it started.
    pub(super) processes: Vec<u32>,
}

/// Reads the tree below `root`, and `root` as well. A parent is read before its children: a process that ends meanwhile is
/// then missing from this reading, but never counted twice.
pub(super) fn read_tree(root: u32) -> Reading {
    let mut reading = Reading::default();
    let mut seen = HashSet::from([root]);
    let mut open = vec![root];
    while let Some(pid) = open.pop() {
        if let Some(totals) = read_process(pid) {
            reading.totals.add(&totals);
        }
        if pid != root {
            reading.processes.push(pid);
        }
        for child in children(pid) {
            if seen.len() < MAX_PROCESSES && seen.insert(child) {
                open.push(child);
            }
        }
    }
    reading
}

/// What the threads of a process counted themselves, without the processes that it waited for.
pub(super) fn read_threads(pid: u32) -> Totals {
    let mut totals = Totals::default();
    let Ok(threads) = fs::read_dir(format!("/proc/{pid}/task")) else {
        return totals;
    };
    for thread in threads.flatten() {
        if let Ok(text) = fs::read_to_string(thread.path().join("io")) {
            totals.io = totals.io.plus(&parse_io(&text));
        }
        if let Some((user, system, ..)) = fs::read_to_string(thread.path().join("stat"))
            .ok()
            .and_then(|text| parse_stat(&text))
        {
            totals.user += user;
            totals.system += system;
        }
    }
    totals
}

fn read_process(pid: u32) -> Option<Totals> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (user, system, waited_user, waited_system) = parse_stat(&stat)?;
    let io = fs::read_to_string(format!("/proc/{pid}/io"));
    Some(Totals {
        refused: io
            .as_ref()
            .is_err_and(|error| error.kind() == std::io::ErrorKind::PermissionDenied),
        io: io.map_or(ProcessIo::default(), |text| parse_io(&text)),
        user: user + waited_user,
        system: system + waited_system,
    })
}

fn parse_io(text: &str) -> ProcessIo {
    let mut io = ProcessIo::default();
    for (name, value) in text.lines().filter_map(|line| line.split_once(':')) {
        let Ok(value) = value.trim().parse() else {
            continue;
        };
        match name {
            "rchar" => io.read_bytes = value,
            "wchar" => io.written_bytes = value,
            "syscr" => io.read_calls = value,
            "syscw" => io.write_calls = value,
            "read_bytes" => io.device_read_bytes = value,
            "write_bytes" => io.device_written_bytes = value,
            "cancelled_write_bytes" => io.cancelled_bytes = value,
            _ => {}
        }
    }
    io
}

/// `utime`, `stime`, `cutime` and `cstime`: fields 14 to 17.
fn parse_stat(text: &str) -> Option<(Nanos, Nanos, Nanos, Nanos)> {
    let mut fields = text.rsplit_once(')')?.1.split_whitespace().skip(11);
    let tick = 1_000_000_000 / rustix::param::clock_ticks_per_second().max(1);
    let mut next = || {
        let ticks = fields.next()?.parse::<i64>().ok()?;
        Some(Nanos::new(ticks.max(0).unsigned_abs() * tick))
    };
    Some((next()?, next()?, next()?, next()?))
}

/// Children of all threads of a process. See proc_tid_children(5).
fn children(pid: u32) -> Vec<u32> {
    let Ok(threads) = fs::read_dir(format!("/proc/{pid}/task")) else {
        return Vec::new();
    };
    threads
        .flatten()
        .filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok())
        .flat_map(|text| {
            text.split_whitespace()
                .filter_map(|pid| pid.parse().ok())
                .collect::<Vec<u32>>()
        })
        .collect()
}

/// The process with its name, if it runs; a zombie does not.
pub(super) fn running(pid: u32) -> Option<WatchedProcess> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (name, rest) = stat.split_once('(')?.1.rsplit_once(')')?;
    let state = rest.split_whitespace().next()?;
    (!matches!(state, "Z" | "X")).then(|| WatchedProcess {
        process: pid,
        name: name.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text is the example of proc_pid_io(5).
    #[test]
    fn io_counters_are_parsed() {
        let text = "rchar: 323934931\nwchar: 323929600\nsyscr: 632687\nsyscw: 632675\nread_bytes: 1\n\
                    write_bytes: 323932160\ncancelled_write_bytes: 7\n";
        let io = ProcessIo {
            read_bytes: 323_934_931,
            written_bytes: 323_929_600,
            read_calls: 632_687,
            write_calls: 632_675,
            device_read_bytes: 1,
            device_written_bytes: 323_932_160,
            cancelled_bytes: 7,
        };
        assert_eq!(parse_io(text), io);
        assert_eq!(parse_io("nonsense\nrchar: x\n"), ProcessIo::default());
    }

    #[test]
    fn cpu_times_are_parsed_after_any_name() {
        let text = "7 (a ) b) S 1 1 1 0 -1 0 0 0 0 0 250 50 3 -1 20 0 1 0 100 0 0";
        let tick = 1_000_000_000 / rustix::param::clock_ticks_per_second();
        let expected = [250, 50, 3, 0].map(|ticks| Nanos::new(ticks * tick));
        let (user, system, waited_user, waited_system) = parse_stat(text).expect("all fields");
        assert_eq!([user, system, waited_user, waited_system], expected);
        assert_eq!(parse_stat("7 (a) S 1"), None);
    }

    /// dd reports how much it copied; the tree of this process has that much more when dd was waited for.
    #[test]
    fn a_process_that_has_exited_is_counted_by_its_parent() {
        let own = std::process::id();
        let before = read_tree(own);
        let done = std::process::Command::new("dd")
            .args(["if=/dev/zero", "of=/dev/null", "bs=1M", "count=64"])
            .stderr(std::process::Stdio::null())
            .status()
            .expect("dd runs");
        assert!(done.success());
        let counted = read_tree(own).totals.since(&before.totals).io;
        for bytes in [counted.read_bytes, counted.written_bytes] {
            assert!(bytes >= 64 << 20, "{counted:?}");
        }
    }
}
