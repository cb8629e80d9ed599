//! What limits a database, with the evidence.

use fathom_model::format::{counted, duration, percent, rate};
use serde::Serialize;

use crate::{AppSpec, Circumstances, Measured};

/// A rate is reached from this share of it on: arrivals are random.
const REACHED: f64 = 0.95;
/// Fewer samples show nothing.
const LEAST_SAMPLES: u64 = 20;
/// A transaction that reads less often than this from the device is not limited by it.
const LEAST_READS: f64 = 0.05;

/// An engine that uses less than this part of a CPU while its clients run or want to is kept from it.
const IDLE: f64 = 0.5;

/// The kind of a limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LimitKind {
    /// The rate that the user asked for.
    Rate,
    /// Making commits durable: writes and flushes of the log.
    Log,
    /// Writes of data.
    Writes,
    /// Reads of data.
    Reads,
    /// The CPUs.
    Cpu,
    /// Clients wait for each other.
    Locks,
    /// Not known.
    #[default]
    Unknown,
}

/// What limits a database.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Limit {
    /// The kind.
    pub kind: LimitKind,
    /// The statement with its evidence.
    pub sentence: String,
}

impl Limit {
    /// The limit of a result.
    #[must_use]
    pub fn of(spec: &AppSpec, measured: &Measured, at: &Circumstances) -> Limit {
        let activity = &measured.activity;
        let samples = activity.samples();
        let tps = measured.tps();
        if let Some(wanted) = spec.rate.filter(|wanted| tps >= REACHED * wanted) {
            let sentence = format!(
                "The rate of {} per second that was asked for is reached: {} per second.",
                rate(wanted),
                rate(tps)
            );
            return Limit::new(LimitKind::Rate, sentence);
        }
        if measured.transactions == 0 || samples < LEAST_SAMPLES {
            return Limit::new(
                LimitKind::Unknown,
                "What limits it is not known: the run was too short.".to_owned(),
            );
        }
        let share = |part: u64| 100.0 * part as f64 / samples as f64;
        let (device, running, waiting) = (
            share(activity.device),
            share(activity.running),
            share(activity.waiting),
        );
        let all = counted(samples, "sample");
        if device >= running && device >= waiting {
            return of_device(spec, measured, at, &format!("{} of {all}", percent(device)));
        }
        if running >= waiting {
            let used =
                (measured.user_ns + measured.system_ns) as f64 / measured.elapsed_ns.max(1) as f64;
            // Little use while something runs or wants to: others have the CPUs, or one client after another needs one.
            let others = if used < IDLE * running / 100.0 {
                "; for most of the time they waited for a CPU that others used, the load generator among them"
            } else {
                ""
            };
            let sentence = format!(
                "The CPU limits it: in {} of {all} no client waited for the device and at least one ran or waited for a CPU; {} used \
                 {used:.2} of {}{others}.",
                percent(running),
                spec.engine.title(),
                counted(u64::from(at.cpus), "CPU"),
            );
            return Limit::new(LimitKind::Cpu, sentence);
        }
        let reason = if spec.engine.is_in_process() && spec.clients == 1 {
            format!(
                "{} itself waits: in {} of {all} it neither ran nor waited for the device, as when it holds back writes",
                spec.engine.title(),
                percent(waiting)
            )
        } else if spec.clients > 1 {
            format!(
                "Locks limit it: in {} of {all} all {} clients waited for each other",
                percent(waiting),
                spec.clients
            )
        } else {
            format!(
                "Waiting between client and server limits it: in {} of {all} neither ran nor waited for the device",
                percent(waiting)
            )
        };
        let sentence = format!(
            "{reason}; in {} one waited for the device, in {} one ran.",
            percent(device),
            percent(running)
        );
        Limit::new(LimitKind::Locks, sentence)
    }

    fn new(kind: LimitKind, sentence: String) -> Limit {
        Limit { kind, sentence }
    }
}

/// Clients wait for the device most of the time: for reads, for the log, or for writes of data.
fn of_device(spec: &AppSpec, measured: &Measured, at: &Circumstances, share: &str) -> Limit {
    let Some(disk) = measured.disk() else {
        return Limit::new(
            LimitKind::Unknown,
            format!("In {share} a client waited for I/O, but no device is known below the path."),
        );
    };
    let per = |count: u64| count as f64 / measured.transactions as f64;
    let mean = |time: u64, count: u64| duration(time as f64 / count.max(1) as f64);
    // The counters of a device are those of all programs, and what the engine read from devices is its own.
    let own_share = (measured.device_read_bytes as f64 / disk.read_bytes.max(1) as f64).min(1.0);
    let reads = per(disk.reads) * own_share;
    // Writes of the log that wait for a flush are slow as writes; reads that wait are in the time of the reads.
    let waited = measured.elapsed_ns as f64 * measured.activity.device as f64
        / measured.activity.samples() as f64;
    if reads >= LEAST_READS && disk.read_ns as f64 * own_share >= 0.5 * waited {
        let sentence = format!(
            "Reads of data limit it: in {share} a client waited for the device; a transaction reads {reads:.2} times from {} at {} each.",
            disk.name,
            mean(disk.read_ns, disk.reads),
        );
        return Limit::new(LimitKind::Reads, sentence);
    }
    let disk = match measured.log_disk() {
        Some(log) if !spec.transaction.only_reads() && spec.commits_are_durable() => log,
        _ => disk,
    };
    let evidence = format!(
        "in {share} a client waited for the device; a transaction causes {:.2} writes at {} each and {:.2} flushes of {}",
        per(disk.writes),
        mean(disk.write_ns, disk.writes),
        per(disk.flushes),
        disk.name,
    );
    if spec.transaction.only_reads() || !spec.commits_are_durable() {
        return Limit::new(
            LimitKind::Writes,
            format!("Writes of data limit it: {evidence}."),
        );
    }
    let bare = match at.commits_per_second {
        Some(commits) if commits > 0.0 => {
            let bare = 1e9 / commits;
            format!(
                "; a bare write of 8 KiB with {} takes {}, a transaction {} on average",
                at.commit_method,
                duration(bare),
                duration(measured.latency().mean())
            )
        }
        _ => String::new(),
    };
    Limit::new(
        LimitKind::Log,
        format!("The latency of the device for commits limits it: {evidence}{bare}."),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Activity, DiskUse, Journal, Transaction};

    fn measured(device: u64, running: u64, waiting: u64) -> Measured {
        Measured {
            elapsed_ns: 10_000_000_000,
            transactions: 1000,
            activity: Activity {
                device,
                running,
                waiting,
            },
            user_ns: 15_000_000_000,
            system_ns: 4_000_000_000,
            disks: vec![DiskUse {
                name: "sda".to_owned(),
                writes: 2000,
                write_ns: 8_000_000_000,
                flushes: 1000,
                ..DiskUse::default()
            }],
            ..Measured::default()
        }
    }

    fn at() -> Circumstances {
        Circumstances {
            cpus: 2,
            commits_per_second: Some(125.0),
            commit_method: "fdatasync".to_owned(),
            ..Circumstances::default()
        }
    }

    fn spec() -> AppSpec {
        AppSpec {
            clients: 4,
            ..AppSpec::default()
        }
    }

    #[test]
    fn the_limit_is_what_the_clients_wait_for() {
        let log = Limit::of(&spec(), &measured(900, 50, 50), &at());
        assert_eq!(log.kind, LimitKind::Log);
        for text in [
            "90 % of 1,000 samples",
            "2.00 writes at 4.00 ms each and 1.00 flushes of sda",
            "with fdatasync takes 8.00 ms",
        ] {
            assert!(log.sentence.contains(text), "{text}: {}", log.sentence);
        }
        let mut reading = measured(900, 50, 50);
        reading.disks[0].reads = 3000;
        reading.disks[0].read_bytes = 3000 * 4096;
        reading.disks[0].read_ns = 9_000_000_000;
        reading.device_read_bytes = 3000 * 4096;
        let reads = Limit::of(&spec(), &reading, &at());
        assert_eq!(reads.kind, LimitKind::Reads);
        assert!(
            reads.sentence.contains("3.00 times from sda at 3.00 ms"),
            "{}",
            reads.sentence
        );
        // Regression 1475: reads of other programs from the same device were named as the limit of a database that read nothing.
        let mut beside = reading.clone();
        beside.device_read_bytes = 4096;
        assert_eq!(Limit::of(&spec(), &beside, &at()).kind, LimitKind::Log);
        let cpu = Limit::of(&spec(), &measured(100, 800, 100), &at());
        assert_eq!(cpu.kind, LimitKind::Cpu);
        assert!(cpu.sentence.contains("1.90 of 2 CPUs"), "{}", cpu.sentence);
        let locks = Limit::of(&spec(), &measured(100, 100, 800), &at());
        assert_eq!(locks.kind, LimitKind::Locks);
        let unknown = Limit::of(&spec(), &measured(3, 1, 1), &at());
        assert_eq!(unknown.kind, LimitKind::Unknown);
    }

    #[test]
    fn a_rate_that_is_reached_and_commits_that_may_be_lost_are_no_limit_of_the_log() {
        let mut spec = spec();
        spec.rate = Some(100.0);
        assert_eq!(
            Limit::of(&spec, &measured(900, 50, 50), &at()).kind,
            LimitKind::Rate
        );
        spec.rate = Some(200.0);
        assert_eq!(
            Limit::of(&spec, &measured(900, 50, 50), &at()).kind,
            LimitKind::Log
        );
        spec.journal = Journal::WalNormal;
        assert_eq!(
            Limit::of(&spec, &measured(900, 50, 50), &at()).kind,
            LimitKind::Writes
        );
        spec.journal = Journal::WalFull;
        spec.transaction = Transaction::SelectOnly;
        assert_eq!(
            Limit::of(&spec, &measured(900, 50, 50), &at()).kind,
            LimitKind::Writes
        );
    }
}
