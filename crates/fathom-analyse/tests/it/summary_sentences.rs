//! Summary sentences of known runs, with values calculated by hand.

use fathom_analyse::findings;
use fathom_model::*;

use crate::sample::*;
use crate::triggers::{faulty_runs, with, writes};

fn summary(recording: &Recording) -> Vec<String> {
    findings(recording).entries.remove(0).summary
}

/// Adds 15 I/Os to two of each four intervals and takes 15 from the others. Of independent completions, 400 in an interval, half are within
/// 13.5 of that.
fn make_uneven(recording: &mut Recording) {
    for (place, interval) in recording.jobs[0].intervals.iter_mut().enumerate() {
        let read = &mut interval.directions[Direction::Read];
        match place % 4 {
            0 | 1 => read.ios += 15,
            _ => read.ios -= 15,
        }
    }
}

/// 4,000 per second of 1 ms each are 4 in flight, with a target of four servers as well as with one of a single server of 0.25 ms:
/// one depth does not tell them apart where service times vary.
#[test]
fn one_depth_names_no_limit_and_says_what_would_show_it() {
    assert_eq!(
        summary(&with(make_uneven))[..2],
        [
            "Reached 4,000 reads per second (15.62 MiB/s) at 1.00 ms on average.",
            "With 4 in flight an I/O takes 1.00 ms. One depth does not tell whether the queue depth or the target is the limit; a run with iodepth=2 and one with iodepth=8 do.",
        ]
    );
}

/// Where each I/O takes the same time, the first one, which finds an empty queue, tells how many are in service: 4,000 per second of 1 ms
/// are four, of 0.25 ms one, and 1.5 is no number of servers, so that something else sets the rate. Three times the CPU time of an I/O may
/// pass before the servers: 0.3 of one.
#[test]
fn the_first_io_tells_how_many_are_in_service_where_the_rate_is_even() {
    let limit = |first_ns: u64| {
        let recording = with(|r| {
            let read = &mut r.jobs[0].directions[Direction::Read];
            read.clat.record_n(first_ns, 1);
        });
        let diagnosis = findings(&recording).entries.remove(0).diagnosis;
        let diagnosis = diagnosis.expect("a diagnosis");
        assert_eq!(diagnosis.certainty, Certainty::Likely);
        assert!(diagnosis.settled_by.is_some());
        (diagnosis.cause, diagnosis.sentences.concat())
    };
    let (cause, text) = limit(MS);
    assert_eq!(cause, LimitCause::QueueDepth);
    assert_eq!(
        text,
        "The queue depth is probably the limit: 4 in flight reach 4,000 per second at 1.00 ms each, which is the time of the first one, that \
         found an empty queue: none waits for another one."
    );
    let (cause, text) = limit(MS / 4);
    assert_eq!(cause, LimitCause::Target);
    assert!(
        text.ends_with("took 250 us, so that 1 is in service at a time."),
        "{text}"
    );
    assert_eq!(limit(3 * MS / 8).0, LimitCause::Ceiling);
}

fn probe(depth: u32, iops: f64) -> DepthProbe {
    DepthProbe {
        depth,
        ios: 1_000,
        iops,
        mean_ns: f64::from(depth) / iops * 1e9,
        min_ns: f64::from(depth) / iops * 1e9,
        ..DepthProbe::default()
    }
}

/// The cause with other depths of the same load, by the arithmetic of closed loops: X = min(N / R0, Xmax).
#[test]
fn other_depths_of_the_load_tell_what_limits_it() {
    let cause = |probes: &[DepthProbe]| {
        let recording = with(|r| {
            r.depth_probes = probes.to_vec();
            make_uneven(r);
        });
        let mut entry = findings(&recording).entries.remove(0);
        let diagnosis = entry.diagnosis.take().expect("a diagnosis");
        assert!(diagnosis.sentences.len() == 1, "{diagnosis:?}");
        (
            diagnosis.cause,
            diagnosis.certainty,
            diagnosis.sentences.concat(),
        )
    };
    // 64 servers of 1 ms: twice the depth gives twice the rate.
    let (servers, certainty, text) =
        cause(&[probe(1, 1_000.0), probe(2, 2_000.0), probe(8, 8_000.0)]);
    assert_eq!(
        (servers, certainty),
        (LimitCause::QueueDepth, Certainty::Fact)
    );
    assert_eq!(
        text,
        "The queue depth is the limit: 4 in flight reach 4,000 per second at 1.00 ms each, 8 reach 8,000 at 1.00 ms; alone, an I/O takes 1.00 ms."
    );
    // A single server of 0.25 ms: all depths have the same rate.
    let (server, certainty, text) =
        cause(&[probe(1, 4_000.0), probe(2, 4_000.0), probe(8, 4_000.0)]);
    assert_eq!((server, certainty), (LimitCause::Target, Certainty::Fact));
    assert!(
        text.ends_with("8 reach 4,000 at 2.00 ms; alone, an I/O takes 250 us."),
        "{text}"
    );
    // Five servers: the knee is between 4 and 8.
    assert_eq!(cause(&[probe(8, 5_000.0)]).0, LimitCause::Knee);
    assert_eq!(cause(&[probe(8, 3_000.0)]).0, LimitCause::TooDeep);
    // A worker that uses a whole CPU may be the limit itself.
    let recording = with(|r| {
        r.depth_probes = vec![probe(8, 4_000.0)];
        r.jobs[0].usage.user = Nanos::from_millis(9_500);
    });
    let diagnosis = findings(&recording).entries.remove(0).diagnosis;
    let diagnosis = diagnosis.expect("a diagnosis");
    assert_eq!(diagnosis.certainty, Certainty::Likely, "{diagnosis:?}");
    // Too few I/Os, or no deeper probe, tell nothing.
    let few = DepthProbe {
        ios: 99,
        ..probe(8, 8_000.0)
    };
    assert_eq!(cause(&[few]).0, LimitCause::NotKnown);
    assert_eq!(cause(&[probe(1, 1_000.0)]).0, LimitCause::NotKnown);
}

/// 200 reads per second of 2 ms are 0.4 in flight, of 4 ms 0.8: then many meet another one, and one rate does not tell whether they wait
/// for it.
#[test]
fn a_planned_rate_with_overlapping_ios_is_no_fact() {
    let diagnosis = |recording: &Recording| {
        let entry = findings(recording).entries.remove(0);
        entry.diagnosis.expect("a diagnosis")
    };
    let alone = diagnosis(&open_loop());
    assert_eq!(
        (alone.cause, alone.certainty),
        (LimitCause::PlannedRate, Certainty::Fact)
    );
    // All take as long as the first, which found an empty queue: none waits.
    let even = diagnosis(&open_loop_of(4 * MS));
    assert_eq!(even.certainty, Certainty::Fact);
    // One of 2 ms: the others may wait for half of their time.
    let mut uneven = open_loop_of(4 * MS);
    uneven.jobs[0].directions[Direction::Read]
        .clat
        .record(2 * MS);
    let overlapping = diagnosis(&uneven);
    assert_eq!(
        (overlapping.cause, overlapping.certainty),
        (LimitCause::PlannedRate, Certainty::Likely)
    );
    assert_eq!(
        overlapping.settled_by.as_deref(),
        Some("the same load at half the rate")
    );
    assert!(
        overlapping.evidence_against[0].starts_with("0.8 are in flight on average"),
        "{overlapping:?}"
    );
}

/// A run of 6,000 of 6,001 planned I/Os keeps up: the last one was due when the run ended.
#[test]
fn an_open_loop_keeps_up_until_it_loses_more_than_its_last_io() {
    let cause = |unsent: u64| {
        let mut recording = open_loop();
        let counts = &mut recording.jobs[0].directions[Direction::Read].counts;
        (counts.planned, counts.not_sent) = (counts.planned + unsent, unsent);
        let entry = findings(&recording).entries.remove(0);
        entry.diagnosis.expect("a diagnosis").cause
    };
    assert_eq!(cause(0), LimitCause::PlannedRate);
    assert_eq!(cause(1), LimitCause::PlannedRate);
    assert_eq!(cause(500), LimitCause::NotKnown);
}

/// A synchronous engine has one I/O in flight for each job, whatever iodepth says.
#[test]
fn the_depth_of_a_synchronous_engine_is_one() {
    let mut planned = job("clean");
    (planned.queue.depth, planned.engine.kind) = (8, EngineKind::Psync);
    let mut r = run_of(vec![planned]);
    fill(&mut r, 0, Direction::Read, 10_000, MS);
    let sentences = summary(&r);
    assert_eq!(
        sentences[1],
        "psync ignores iodepth=8: each job has one I/O in flight."
    );
    assert!(
        sentences[2].starts_with("One I/O at a time: 1,000 per second at 1.00 ms each."),
        "{sentences:?}"
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

#[test]
fn one_io_at_a_time_does_not_tell_what_more_would_reach() {
    let mut planned = job("clean");
    (planned.queue.depth, planned.queue.low, planned.engine.kind) = (1, 1, EngineKind::Psync);
    let mut r = run_of(vec![planned]);
    fill(&mut r, 0, Direction::Read, 10_000, MS);
    assert_eq!(
        summary(&r)[1],
        "One I/O at a time: 1,000 per second at 1.00 ms each. One depth does not tell what more in flight would reach; a run with numjobs=2 and one with numjobs=8 do."
    );
}

#[test]
fn known_limits_are_named() {
    let limited = |per_second| {
        let limited = with(|r| {
            // 8 in flight of 1 ms each could do 8,000 per second.
            r.plan.jobs[0].queue.depth = 8;
            r.conditions.limits = vec![IoLimit {
                disk: "vda".to_owned(),
                reads: true,
                ios: true,
                per_second,
            }];
        });
        summary(&limited).remove(1)
    };
    // What the target would do without the limit was not measured.
    assert_eq!(
        limited(4_010),
        "A control group of this process is probably the limit: it allows 4,010 reads per second on vda, and the run reached 99.75 % of that."
    );
    assert_eq!(
        limited(4_100),
        "A control group of this process is probably the limit: it allows 4,100 reads per second on vda, and the run reached 98 % of that."
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
        summary(&open)[1].contains("(200 reads per second), and the target keeps up: all "),
        "{:?}",
        summary(&open)
    );
}

/// A limit of a control group is named whether it is of reads or writes, of I/Os or bytes: 4,000 I/Os of 4 KiB per second are 16,384,000
/// bytes, 98 % of 16 MiB.
#[test]
fn every_kind_of_limit_of_a_control_group_is_named() {
    for (direction, ios, per_second, text) in [
        (Direction::Read, true, 4_100, "4,100 reads per second"),
        (Direction::Read, false, 16 << 20, " of reads per second"),
        (Direction::Write, true, 4_100, "4,100 writes per second"),
        (Direction::Write, false, 16 << 20, " of writes per second"),
    ] {
        let mut planned = job("clean");
        planned.queue.depth = 8;
        if direction == Direction::Write {
            planned.pattern.traffic = Traffic::Write;
        }
        let mut r = run_of(vec![planned]);
        fill(&mut r, 0, direction, 40_000, MS);
        let limit = |reads, per_second| IoLimit {
            disk: "vda".to_owned(),
            reads,
            ios,
            per_second,
        };
        let reads = direction == Direction::Read;
        // The other direction has a lower limit, which it does not reach.
        r.conditions.limits = vec![limit(!reads, 100), limit(reads, per_second)];
        let sentences = summary(&r).concat();
        let expected = format!("{text} on vda, and the run reached 98 % of that.");
        assert!(sentences.contains(&expected), "{expected}: {sentences}");
    }
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
        sentences[1].starts_with("This host, not the target, is probably the limit: other programs used its CPUs, and a worker waited for a CPU for "),
        "{sentences:?}"
    );
    assert_eq!(
        sentences.last().map(String::as_str),
        Some("1 finding changes the meaning of these figures: F023 HOST_BUSY.")
    );
}

#[test]
fn every_sentence_has_its_figures_and_there_are_two_to_six() {
    let clean_ones = [clean(), open_loop(), writes(|_| {})];
    for r in clean_ones
        .into_iter()
        .chain(faulty_runs().into_iter().map(|w| (w.make)()))
    {
        let judged = findings(&r);
        for entry in judged.entries.iter().filter(|entry| entry.counts.ok > 0) {
            assert!(
                (2..=6).contains(&entry.summary.len()),
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
