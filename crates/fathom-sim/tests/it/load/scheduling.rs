//! The threads of a run and their turns.

use std::cell::Cell;

use fathom_load::Stop;
use fathom_model::{Direction, FileLock, LogChunk, Nanos, PerDirection, Rate, RunEnd};

use crate::load::plans::{ios, job, machine, ms, plan, run, run_logged, run_until, us};

/// Twice the same plan, machine and seed: the same bits.
#[test]
fn a_run_is_the_same_in_every_bit_whatever_the_number_of_jobs() {
    for jobs in [1, 4, 128] {
        let recording = || {
            let jobs = (0..jobs).map(|_| {
                let mut job = job("/dev/sim0", 128 / jobs);
                job.limits.runtime = Some(Nanos::from_millis(100));
                job
            });
            let recording = run(&machine("nvme-ssd"), plan(jobs.collect()));
            format!("{recording:?}")
        };
        assert_eq!(recording(), recording(), "{jobs} jobs");
    }
}

/// Four servers of 100 us do 40,000 I/Os per second when four are in flight, and each of four jobs does a quarter of them.
#[test]
fn four_jobs_keep_four_servers_busy() {
    let model = "servers(count=4, service=100us)";
    let jobs = || (0..4).map(|_| job("/dev/sim0", 1)).collect();
    assert_eq!(ios(&run(&machine(model), plan(jobs()))), [10_000; 4]);
    assert_eq!(
        ios(&run(&machine(model), plan(vec![job("/dev/sim0", 4)]))),
        [40_000]
    );
}

/// A job of depth 1 on one server of 100 us does 10,000 I/Os per second. With 128 jobs in turn each has 78 or 79 of them in the
/// second, and ends its last one within the next 12.8 ms.
#[test]
fn jobs_have_their_turns_in_order() {
    let jobs = (0..128).map(|_| job("/dev/sim0", 1)).collect();
    let recording = run(&machine("servers(count=1, service=100us)"), plan(jobs));
    // In 10,000 completions of 100 us each job has 78, the first 16 have one more. All 128 jobs then have one in flight but the
    // job whose completion is at the end of the second: it submits nothing more.
    let mut expected: Vec<u64> = (0..128).map(|job| if job < 16 { 79 } else { 78 }).collect();
    (0..128)
        .filter(|job| *job != 15)
        .for_each(|job| expected[job] += 1);
    assert_eq!(ios(&recording), expected);
}

/// Two jobs exclude each other by a lock of their file, which one of them always holds: together they do what one does alone.
#[test]
fn jobs_wait_for_the_lock_of_a_file_in_virtual_time() {
    let mut locking = job("/dev/sim0", 1);
    locking.engine.settings.lock = FileLock::Exclusive;
    let jobs = vec![locking.clone(), locking];
    let recording = run(&machine("servers(count=4, service=100us)"), plan(jobs));
    assert_eq!(ios(&recording).iter().sum::<u64>(), 10_001);
}

/// The machine goes on where the last run ended.
#[test]
fn a_machine_carries_out_one_run_after_another() {
    let host = machine("servers(count=1, service=100us)");
    for _ in 0..3 {
        assert_eq!(ios(&run(&host, plan(vec![job("/dev/sim0", 1)]))), [10_000]);
    }
}

/// The user is heard within 20 ms of virtual time, the pause of the coordinator.
#[test]
fn a_stop_request_ends_the_run_at_the_next_look_of_the_coordinator() {
    let looks = Cell::new(0);
    let stop = || {
        looks.set(looks.get() + 1);
        // The first look is at the start.
        if looks.get() > 10 {
            Stop::Drain
        } else {
            Stop::No
        }
    };
    let host = machine("servers(count=1, service=100us)");
    let recording = run_until(&host, plan(vec![job("/dev/sim0", 1)]), &stop);
    assert_eq!(recording.end, RunEnd::Interrupted);
    // Ten pauses; the worker looks at the end of the I/O that ends at the same time, or of the next.
    let done = ios(&recording)[0];
    assert!((2_000..=2_001).contains(&done), "{done}");
}

/// Regression 0328: log times after a warm-up start at its end. One read per millisecond, each of 100 us: the first hundred complete in the
/// warm-up of 100 ms, and of the 200 the others follow; the logs have windows of 20 ms from its end on, the last until the last read
/// completes, at 199.1 ms.
#[test]
fn a_warm_up_that_ends_before_the_amount_is_left_out() {
    for time_based in [false, true] {
        let mut job = job("/dev/sim0", 1);
        job.limits.ramp = ms(100);
        job.limits.runtime = Some(ms(900));
        job.limits.time_based = time_based;
        job.limits.ios = Some(200);
        job.pace.rate = PerDirection::all(Some(Rate::Iops(1000.0)));
        job.accounting.logs.iops = Some("log".into());
        job.accounting.logs.average = ms(20);
        let machine = machine("servers(count=1, service=100us)");
        let (recording, chunks) = run_logged(&machine, plan(vec![job]));
        let done = &recording.jobs[0];
        let warm = done.warmup[Direction::Read].ok;
        let measured = done.directions[Direction::Read].counts.ok;
        assert_eq!((warm, measured), (100, 100), "time_based={time_based}");
        let entries = chunks.iter().filter_map(|chunk| match chunk {
            LogChunk::Entries { entries, .. } => Some(entries),
            _ => None,
        });
        let times: Vec<Nanos> = entries.flatten().map(|entry| entry.at).collect();
        let windows = [20_000, 40_000, 60_000, 80_000, 99_100];
        assert_eq!(times, windows.map(us), "time_based={time_based}");
    }
}
