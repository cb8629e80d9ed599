//! What happens to the machine, with its exact effect. Where not said otherwise, one job of depth 1 reads one server of 100 us
//! for a second: 10,000 I/Os.

use fathom_model::{Direction, EventKind as Recorded, Nanos, Recording};
use fathom_sim::machine::{Event, ForeignLoad, SimMachineSpec, TokenBucket};

use crate::load::plans::{disk, ios, job, machine_of, machine_with, ms, plan, run, us};

const SERVER: &str = "servers(count=1, service=100us)";

fn run_with(events: Vec<Event>) -> Recording {
    run(
        &machine_with(SERVER, events),
        plan(vec![job("/dev/sim0", 1)]),
    )
}

/// How many I/Os took longer than their service, and how long the longest took.
fn longer_than_service(recording: &Recording) -> (u64, Option<Nanos>) {
    let clat = &recording.jobs[0].directions[Direction::Read].clat;
    let long = clat.buckets().filter(|(middle, _)| *middle > 101_000.0);
    (long.map(|(_, count)| count).sum(), clat.max())
}

#[test]
fn nothing_happens_to_a_machine_without_events() {
    let recording = run_with(Vec::new());
    assert_eq!(ios(&recording), [10_000]);
    assert_eq!(longer_than_service(&recording), (0, Some(us(100))));
    assert_eq!(recording.stalls, Vec::new());
}

/// An I/O is in flight when the disk stalls for 50 ms, and takes so much longer. The other 950 ms have 9,500 I/Os.
#[test]
fn a_stall_of_the_disk_lengthens_the_io_in_flight() {
    // The I/O that began at 200.0 ms is half done.
    let recording = run_with(vec![Event::disk_stalls(us(200_050), ms(50), 0)]);
    assert_eq!(ios(&recording), [9_500]);
    assert_eq!(longer_than_service(&recording), (1, Some(us(50_100))));
    assert_eq!(recording.stalls, Vec::new(), "the generator runs");
}

/// The I/O in flight when the generator is stopped completes, but is seen only 100 ms later: 9,000 I/Os. The coordinator, which
/// looks every 20 ms, is late at the look that is due at 220 ms.
#[test]
fn a_stopped_generator_sees_completions_late() {
    let recording = run_with(vec![Event::generator_stops(us(200_050), ms(100))]);
    // From 300.05 ms on there are 6,999.5 times 100 us, and the I/O in flight at the end is completed.
    assert_eq!(ios(&recording), [2_001 + 7_000]);
    assert_eq!(longer_than_service(&recording), (1, Some(us(100_050))));
    let stalls: Vec<(Nanos, Nanos)> = recording
        .stalls
        .iter()
        .map(|stall| (stall.at, stall.lasted))
        .collect();
    assert_eq!(stalls, [(ms(220), us(80_050))]);
}

/// Each wake-up between 300 and 600 ms is late by 20 us: an I/O takes 120 us. Completions at 0.1, 0.2, ... 299.9 ms are in time,
/// 2,500 are late, and those at 600.0, ... 1,000.0 ms are in time again.
#[test]
fn late_wake_ups_lengthen_each_io() {
    let recording = run_with(vec![Event::wakes_late(ms(300), ms(300), us(20))]);
    assert_eq!(ios(&recording), [2_999 + 2_500 + 4_001]);
}

/// One wake-up is late by 5 ms: the time of 50 I/Os.
#[test]
fn one_late_wake_up_is_one_long_io() {
    let recording = run_with(vec![Event::wakes_late_once(us(400_050), ms(5))]);
    assert_eq!(ios(&recording), [9_950]);
    assert_eq!(longer_than_service(&recording), (1, Some(us(5_100))));
}

/// Half of each I/O is computed. While half of the CPU is stolen an I/O takes 150 us: 2,000 in 300 ms in place of 3,000. While
/// the frequency is a quarter it takes 250 us: 1,200.
#[test]
fn stolen_and_slow_cpus_lengthen_what_is_computed() {
    let run_with = |event: Event| {
        let machine = machine_of(SimMachineSpec {
            disks: vec![disk("/dev/sim0", "servers(count=1, service=50us)")],
            cpu_per_io: us(50),
            events: vec![event],
            ..SimMachineSpec::default()
        });
        ios(&run(&machine, plan(vec![job("/dev/sim0", 1)])))
    };
    assert_eq!(run_with(Event::clock_steps(ms(200), 1)), [10_000]);
    assert_eq!(run_with(Event::cpu_stolen(ms(200), ms(300), 0.5)), [9_000]);
    assert_eq!(run_with(Event::cpu_slows(ms(200), ms(300), 0.25)), [8_200]);
}

/// Two CPUs of 50 us for an I/O do 40,000 I/Os per second, whatever the disk could.
#[test]
fn the_cpus_limit_the_generator() {
    let machine = machine_of(SimMachineSpec {
        disks: vec![disk("/dev/sim0", "servers(count=64, service=10us)")],
        cpus: 2,
        cpu_per_io: us(50),
        ..SimMachineSpec::default()
    });
    let jobs = (0..8).map(|_| job("/dev/sim0", 1)).collect();
    let recording = run(&machine, plan(jobs));
    // The two CPUs turn to a job every 200 us. At the end of the second two jobs have just computed their I/O 5,000; the other
    // six have I/O 5,001 before them, and carry it out.
    assert_eq!(
        ios(&recording),
        [5_001, 5_001, 5_001, 5_001, 5_001, 5_001, 5_000, 5_000]
    );
    // After its first I/O the first job asks for a CPU 60 us after it got the last one, and gets it 140 us later.
    let usage = recording.jobs[0].usage;
    assert_eq!(usage.user, us(5_001 * 50));
    assert_eq!(usage.waited, us(5_000 * 140));
}

/// Another program keeps one read in flight for half of the time, and the disk serves both in turn: the job gets half.
#[test]
fn a_foreign_reader_shares_the_disk() {
    let recording = run_with(vec![Event::foreign_reads(
        ms(250),
        ms(500),
        0,
        ForeignLoad::Depth(1),
    )]);
    // 2,500 until 250.0 ms; one each 200 us until 750.0 ms; the next waits for the last foreign read, until 750.2 ms; then 2,498.
    assert_eq!(ios(&recording), [2_500 + 2_500 + 1 + 2_498]);
}

/// A foreign read each millisecond takes a tenth of the disk.
#[test]
fn a_foreign_reader_of_a_fixed_rate_takes_its_share() {
    let recording = run_with(vec![Event::foreign_reads(
        us(50),
        ms(1_000),
        0,
        ForeignLoad::Rate(1_000.0),
    )]);
    // The second has 10,000 times 100 us, and 1,000 of them are for foreign reads.
    assert_eq!(ios(&recording), [9_000]);
}

/// 2,000 tokens per second and none saved: I/Os begin at 0.0, 0.5, ... 999.5 ms, and the one that was submitted at 999.6 ms gets
/// its token at the end of the second.
#[test]
fn a_token_bucket_limits_ios_and_bytes() {
    let bucket = TokenBucket {
        rate: 2_000.0,
        burst: 1.0,
    };
    let run_deep = |event| {
        let machine = machine_with("servers(count=64, service=100us)", vec![event]);
        ios(&run(&machine, plan(vec![job("/dev/sim0", 1)])))
    };
    let ever = Nanos::from_secs(10);
    assert_eq!(
        run_deep(Event::ios_limited(Nanos::ZERO, ever, 0, bucket)),
        [2_001]
    );
    let bytes = TokenBucket {
        rate: 2_000.0 * 4096.0,
        burst: 4096.0,
    };
    assert_eq!(
        run_deep(Event::bytes_limited(Nanos::ZERO, ever, 0, bytes)),
        [2_001]
    );
    // 500 tokens are saved, and the time adds 2,000: I/O 2,500 has the token of the end of the second, and was submitted before it.
    let burst = TokenBucket {
        rate: 2_000.0,
        burst: 500.0,
    };
    assert_eq!(
        run_deep(Event::ios_limited(Nanos::ZERO, ever, 0, burst)),
        [2_500]
    );
}

/// The fifth I/O fails, and those of a range; the job goes on.
#[test]
fn single_ios_and_ranges_fail() {
    let failed = |event: Event| {
        let mut job = job("/dev/sim0", 1);
        job.errors.continue_read = true;
        let recording = run(&machine_with(SERVER, vec![event]), plan(vec![job]));
        let counts = recording.jobs[0].directions[Direction::Read].counts;
        (counts.ok, counts.failed)
    };
    assert_eq!(failed(Event::io_fails(Nanos::ZERO, 0, 5)), (9_999, 1));
    // All of the job is in the first 1 GiB.
    assert_eq!(
        failed(Event::range_fails(ms(750), 0, 0..1 << 30)),
        (7_500, 2_500)
    );
    assert_eq!(
        failed(Event::range_fails(ms(750), 0, 1 << 30..1 << 31)),
        (10_000, 0)
    );
}

/// The job waits 30 s for what is in flight when the disk hangs, and counts it as timed out.
#[test]
fn a_disk_that_hangs_leaves_ios_that_time_out() {
    let machine = machine_with(SERVER, vec![Event::disk_hangs(us(500_050), 0)]);
    let recording = run(&machine, plan(vec![job("/dev/sim0", 4)]));
    let job = &recording.jobs[0];
    let counts = job.directions[Direction::Read].counts;
    assert_eq!((counts.ok, counts.timed_out), (5_000, 4));
    let gave_up =
        |event: &&fathom_model::Event| matches!(event.kind, Recorded::GaveUp { in_flight: 4, .. });
    assert_eq!(job.events.iter().filter(gave_up).count(), 1);
}

/// One I/O of four in flight never completes; the others go on with three.
#[test]
fn an_io_that_hangs_takes_its_slot() {
    let machine = machine_with(
        "servers(count=4, service=100us)",
        vec![Event::io_hangs(Nanos::ZERO, 0, 1)],
    );
    let recording = run(&machine, plan(vec![job("/dev/sim0", 4)]));
    let counts = recording.jobs[0].directions[Direction::Read].counts;
    assert_eq!((counts.ok, counts.timed_out), (30_000, 1));
}

/// Two disks serve their jobs beside each other, and an event of one does not touch the other.
#[test]
fn a_machine_has_several_disks() {
    let machine = machine_of(SimMachineSpec {
        disks: vec![disk("/dev/sim0", SERVER), disk("/dev/sim1", SERVER)],
        events: vec![Event::disk_stalls(us(200_050), ms(50), 1)],
        ..SimMachineSpec::default()
    });
    let jobs = vec![job("/dev/sim0", 1), job("/dev/sim1", 1)];
    assert_eq!(ios(&run(&machine, plan(jobs))), [10_000, 9_500]);
}
