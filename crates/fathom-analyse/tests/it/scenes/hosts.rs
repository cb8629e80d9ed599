//! Scenes of findings about the host, and about several hosts.

use fathom_model::*;

use super::Scenes;
use crate::sample::*;
use crate::triggers::{on_hosts, with};

/// The CPUs were busy for so many percent of the time; the workers used so much of the time of one CPU, of one in all.
fn busy(percent: f64, workers_ms: u64) -> Recording {
    with(|r| {
        (r.host.busy_percent, r.host.cpus) = (Some(percent), 1);
        r.jobs[0].usage.user = Nanos::ZERO;
        r.jobs[0].usage.system = Nanos::from_millis(workers_ms);
    })
}

/// The CPUs were busy for 90 % of the time, a tenth of it by the worker, which also waited so long for a CPU.
fn busy_and_waited(waited_ms: u64) -> Recording {
    let mut recording = busy(90.0, 1_000);
    recording.jobs[0].usage.waited = Nanos::from_millis(waited_ms);
    recording
}

/// Two hosts, of which the second one differs.
fn second_host(change: fn(&mut HostPart)) -> Recording {
    on_hosts(&["a", "b"], |r| change(&mut r.hosts[1]))
}

/// 4,000 I/Os per second on one host, and a hundredth as many as `ios` on the other.
fn rate_of_the_second(ios: u64) -> Recording {
    on_hosts(&["a", "b"], |r| {
        r.jobs[1] = idle(&r.plan.jobs[1]);
        fill(r, 1, Direction::Read, ios, MS);
    })
}

fn lost() -> Recording {
    second_host(|host| host.lost = Some("no answer".to_owned()))
}

/// Two equal hosts.
fn equal() -> Recording {
    second_host(|_| {})
}

pub const SCENES: &[Scenes<Recording>] = &[
    Scenes::fact(
        "CPU_THROTTLED",
        &[|| with(|r| r.host.cpu_throttles = Some(0))],
    ),
    // 10 % by the worker.
    Scenes::limit(
        "HOST_BUSY",
        (
            || busy(90.0, 1_000),
            "The CPUs of this host were 90 % busy, 80 % not by the workers. The workers waited for a CPU for at most 0 %",
        ),
        &[|| busy(89.9, 1_000), || busy(15.0, 1_000)],
    ),
    // Of the 90 % the worker used 70 %, or 70.1 %: a fifth is left for other programs, or less.
    Scenes::limit(
        "HOST_BUSY",
        (
            || busy(90.0, 7_000),
            "The CPUs of this host were 90 % busy, 20 % not by the workers",
        ),
        &[|| busy(90.0, 7_010), || busy(90.0, 9_000)],
    ),
    // From 5 % of its 10 s on, the wait of a worker is an effect.
    Scenes::limit(
        "HOST_BUSY",
        (
            || busy_and_waited(500),
            "and worker 1 waited 500 ms for a CPU (5.0 % of its time): the host, not the device, may be the limit.",
        ),
        &[clean, || busy(89.9, 0)],
    ),
    Scenes::limit(
        "HOST_LOST",
        (
            lost,
            "b: no answer. The figures cover 1 of 2 hosts and the first 10.00 s of b.",
        ),
        &[equal, clean],
    ),
    Scenes::limit(
        "HOSTS_APART",
        (
            || second_host(|host| host.late_ns = 5_000_001),
            "b started 5.00 ms after a",
        ),
        &[|| second_host(|host| host.late_ns = 5_000_000), equal],
    ),
    Scenes::limit(
        "HOSTS_APART",
        (
            || second_host(|host| host.late_bound_ns = 5_000_001),
            "The start of b is known only to +- 5.00 ms",
        ),
        &[|| second_host(|host| host.late_bound_ns = 5_000_000), equal],
    ),
    // Machines of one type differ by some MiB: memory is compared in whole GiB, rounded.
    Scenes::limit(
        "HOSTS_DIFFER",
        (
            || second_host(|host| host.host.memory = Bytes::from_mib(8_192 + 512)),
            "The hosts differ: memory 8 GiB (a), 9 GiB (b).",
        ),
        &[
            || second_host(|host| host.host.memory = Bytes::from_mib(8_192 + 511)),
            equal,
        ],
    ),
    // Half of the larger rate of the two.
    Scenes::limit(
        "HOST_STRAGGLES",
        (
            || rate_of_the_second(19_900),
            "b reached 1,990 IOPS, 50 % of the median of the 2 hosts (4,000).",
        ),
        &[|| rate_of_the_second(20_000), equal],
    ),
];

/// The findings of two hosts: each names its host, and the verdict is that of the worst.
#[test]
fn the_verdict_of_several_hosts_is_that_of_the_worst() {
    let verdict = |change: fn(&mut Recording)| {
        let found = fathom_analyse::findings(&on_hosts(&["a", "b"], change));
        let named = found
            .findings
            .iter()
            .map(|one| (one.code, one.about.clone().unwrap_or_default()));
        (found.verdict, named.collect::<Vec<_>>())
    };
    let stolen = |host: &str| ("STEAL", host.to_owned());
    let steal = |r: &mut Recording| r.hosts[1].host.steal_percent = Some(3.0);
    assert_eq!(verdict(|_| {}), (Verdict::Valid, Vec::new()));
    assert_eq!(verdict(steal), (Verdict::Degraded, vec![stolen("b")]));
    // The first host lost an I/O as well: that is worse.
    let both = |r: &mut Recording| {
        r.hosts[1].host.steal_percent = Some(3.0);
        crate::triggers::one_failure(r);
    };
    let failed = ("IO_ERROR", "a:clean".to_owned());
    assert_eq!(verdict(both), (Verdict::Invalid, vec![failed, stolen("b")]));
    // The same on both is one finding of each.
    let on_both = |r: &mut Recording| {
        for host in &mut r.hosts {
            host.host.steal_percent = Some(3.0);
        }
    };
    assert_eq!(
        verdict(on_both),
        (Verdict::Degraded, vec![stolen("a"), stolen("b")])
    );
}
