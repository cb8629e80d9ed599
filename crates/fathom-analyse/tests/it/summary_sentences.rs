//! Summary sentences of known runs, with values calculated by hand.

use fathom_analyse::findings;
use fathom_model::*;

use crate::sample::*;
use crate::triggers::{below, faulty_runs, with, writes};

fn summary(recording: &Recording) -> Vec<String> {
    findings(recording).entries.remove(0).summary
}

/// 4,000 per second of 1 ms each: 4 in flight, nothing waits.
#[test]
fn a_queue_without_waiting_is_the_limit() {
    assert_eq!(
        summary(&clean()),
        [
            "Reached 4,000 reads per second (15.62 MiB/s) at 1.00 ms on average.",
            "The queue depth is the limit, not the target: with 4 in flight and 1.00 ms each, at most 4,000 per second are possible, and almost nothing waits (without a queue an I/O takes 1.00 ms).",
            "More I/Os in flight would raise the limit: at this latency 8,000 per second need a depth of 8, and so on until the latency rises.",
            "Tail: half of the reads took 1.00 ms or less, 99 of 100 took 1.00 ms or less (1.0 times that), the slowest 1.00 \
             ms; no percentile is twice the previous one.",
        ]
    );
}

/// Regression 0540: the time in the kernel was only shown as raw counters. 40,000 reads of 1 ms, of which the counters of the block
/// device have 32,000 ms: 0.8 ms each, and 0.2 ms above it. With other I/O on the device nothing is said.
#[test]
fn the_time_of_an_io_is_divided_between_layers() {
    let with_ticks = |requests: u64| {
        with(|r| {
            r.disks = vec![disk("vda", (163_840_000, requests), (0, 0))];
            r.disks[0].after.read_ticks = 32_000;
        })
    };
    let sentences = summary(&with_ticks(40_000));
    assert_eq!(
        sentences.last().map(String::as_str),
        Some(
            "Layers: of 1.00 ms for each read, 800 us passed in the block layer and the device (vda), 200 us above them."
        )
    );
    let shared = summary(&with_ticks(50_000));
    assert!(
        !shared.iter().any(|sentence| sentence.starts_with("Layers")),
        "{shared:?}"
    );
}

/// A tenth in `fast` microseconds, the rest in `slow`, at depth 4.
fn two_latencies(r: &mut Recording, fast: u64, slow: u64) {
    let JobRecording {
        directions,
        intervals,
        ..
    } = &mut r.jobs[0];
    let mut part = Histogram::new();
    part.record_n(fast, 40);
    part.record_n(slow, 360);
    let d = &mut directions[Direction::Read];
    d.clat = Histogram::new();
    for interval in intervals {
        interval.directions[Direction::Read].clat = SparseHistogram::pack(&part);
        d.clat.merge(&part);
    }
    r.plan.jobs[0].accounting.percentiles = vec![1.0, 5.0, 50.0, 99.0];
}

/// A tenth in 0.25 ms, the rest in 1.083 ms: mean 1 ms, of which 0.75 wait; 4,000 x 0.25 ms = 1 is
/// deep enough.
#[test]
fn a_queue_with_waiting_is_deeper_than_needed() {
    let sentences = summary(&with(|r| two_latencies(r, MS / 4, MS * 13 / 12)));
    assert_eq!(
        sentences[1],
        "The target is the limit: of the average 1.00 ms, 750 us is waiting in its queue (without a queue an I/O takes 250 us)."
    );
    assert_eq!(
        sentences[2],
        "A queue depth of 1 is enough for this rate (4,000 per second x 250 us); the configured 4 mostly adds waiting, so only a faster target would raise the limit."
    );
}

/// Regression 0760: one result at depth 32 of a disk with command queueing claimed that a depth of 2 is enough for its rate. A
/// Samsung F1 does 72 random reads per second one at a time, and 1.82 times as many at depth 32 (fio-plot's measurements), so that
/// the product of rate and latency without a queue is only a lower bound. Flash and sequential I/O keep their sentence.
#[test]
fn one_depth_of_a_disk_does_not_show_which_depth_is_enough() {
    let medium = |medium| {
        with(|r| {
            two_latencies(r, MS / 4, MS * 13 / 12);
            r.targets = vec![below(|device| device.medium = medium)];
        })
    };
    let sentence = |recording: &Recording| {
        let sentences = summary(recording);
        sentences
            .into_iter()
            .find(|sentence| sentence.contains("queue depth of"))
            .expect("a sentence about the depth")
    };
    let disk = sentence(&medium(Medium::Disk));
    assert_eq!(
        disk,
        "This rate needs a queue depth of at least 1 (4,000 per second x 250 us); how much of the configured 4 it needs is not known from one depth, because a disk serves more I/Os per second when it can choose among more: a sweep over iodepth shows it."
    );
    assert!(sentence(&medium(Medium::Flash)).contains("A queue depth of 1 is enough"));
    let mut sequential = medium(Medium::Disk);
    sequential.plan.jobs[0].pattern.access = Access::Sequential { skip: 0 };
    assert!(sentence(&sequential).contains("A queue depth of 1 is enough"));
    // Behind a hypervisor, and in a simulation, the medium is unknown; 4 ms are those of a disk.
    let slow = with(|r| two_latencies(r, 4 * MS, 13 * MS));
    assert!(
        sentence(&slow).contains("at least 16"),
        "{}",
        sentence(&slow)
    );
}

#[test]
fn the_limit_at_depth_1_is_one_over_the_latency() {
    let mut planned = job("clean");
    (planned.queue.depth, planned.queue.low, planned.engine.kind) = (1, 1, EngineKind::Psync);
    let mut r = run_of(vec![planned]);
    fill(&mut r, 0, Direction::Read, 10_000, MS);
    let sentences = summary(&r);
    assert!(
        sentences[1].starts_with(
            "One I/O at a time is the limit: at 1.00 ms each, at most 1,000 per second"
        ),
        "{}",
        sentences[1]
    );
}

#[test]
fn known_limits_are_named() {
    let limited = with(|r| {
        r.conditions.limits = vec![IoLimit {
            disk: "vda".to_owned(),
            reads: true,
            ios: true,
            per_second: 4_100,
        }];
    });
    assert!(
        summary(&limited)[1]
            .contains("The control group of this process limits vda to 4,100 I/Os per second"),
        "{:?}",
        summary(&limited)
    );
    let tool = with(|r| r.jobs[0].ceiling_iops = Some(4_500.0));
    assert!(
        summary(&tool)[1]
            .contains("4,500 I/Os per second on a target that answers at once, and 89 %"),
        "{:?}",
        summary(&tool)
    );
    let open = open_loop();
    assert!(
        summary(&open)[1].contains("(200 reads per second), and the target keeps up"),
        "{:?}",
        summary(&open)
    );
}

/// Regression 0514: a host that other programs kept busy was named as the limit although no worker had waited for a CPU. Waits
/// are the kernel's own count of the time that a runnable thread spent without a CPU.
#[test]
fn a_busy_host_without_delay_is_stated_and_is_not_the_limit() {
    let recording = with(|r| {
        r.host.busy_percent = Some(98.0);
        r.jobs[0].usage.waited = fathom_model::Nanos::from_millis(30);
    });
    let sentences = summary(&recording);
    assert!(
        !sentences.concat().contains("This host, not the target"),
        "{sentences:?}"
    );
    let findings = fathom_analyse::findings(&recording).findings;
    let busy = findings.iter().find(|one| one.code == "HOST_BUSY");
    assert_eq!(
        busy.expect("a finding").evidence,
        "The CPUs of this host were 98 % busy, 94 % not by the workers. The workers waited for a CPU for at most 0.3 % of their \
         time, so that this does not show the host as the limit."
    );
}

#[test]
fn a_busy_host_comes_before_the_target() {
    let sentences = summary(&with(|r| {
        r.host.busy_percent = Some(98.0);
        r.jobs[0].usage.waited = fathom_model::Nanos::from_millis(600);
    }));
    assert!(
        sentences[1].starts_with("This host, not the target, is probably the limit (F023): "),
        "{sentences:?}"
    );
    // 4,000 per second of 1 ms each are 4 in flight.
    assert!(sentences[2].starts_with("To raise the limit: ") && sentences[2].ends_with("; a queue depth of 4 is enough for this rate (4,000 per second x 1.00 ms without waiting)."), "{sentences:?}");
    assert_eq!(
        sentences.last().map(String::as_str),
        Some("1 finding changes the meaning of these figures: F023 HOST_BUSY.")
    );
}

#[test]
fn every_sentence_has_its_figures_and_there_are_three_to_six() {
    let clean_ones = [clean(), open_loop(), writes(|_| {})];
    for r in clean_ones
        .into_iter()
        .chain(faulty_runs().into_iter().map(|w| (w.make)()))
    {
        let judged = findings(&r);
        for entry in judged.entries.iter().filter(|entry| entry.counts.ok > 0) {
            assert!(
                (3..=6).contains(&entry.summary.len()),
                "{:?}",
                entry.summary
            );
            for sentence in &entry.summary {
                assert!(
                    sentence.contains(|c: char| c.is_ascii_digit()) && sentence.ends_with('.'),
                    "{sentence}"
                );
                assert!(
                    !sentence.contains("NaN") && !sentence.contains("inf "),
                    "{sentence}"
                );
            }
        }
        assert_eq!(
            findings(&r)
                .entries
                .iter()
                .map(|e| e.summary.clone())
                .collect::<Vec<_>>(),
            judged
                .entries
                .iter()
                .map(|e| e.summary.clone())
                .collect::<Vec<_>>()
        );
    }
}

#[test]
fn a_job_without_io_has_no_summary() {
    assert!(summary(&run_of(vec![job("clean")])).is_empty());
}
