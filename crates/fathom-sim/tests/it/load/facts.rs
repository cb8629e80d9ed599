//! What a watch of the machine finds about a run.

use fathom_model::{Bytes, Nanos};
use fathom_sim::SimHost;
use fathom_sim::machine::{
    Event, EventKind, ForeignLoad, MachineError, SimMachineSpec, TokenBucket,
};

use crate::load::plans::{disk, ios, job, machine_of, machine_with, ms, plan, run, us};

const SERVER: &str = "servers(count=1, service=100us)";

/// The counters of a disk have the I/O of the job and that of another program.
#[test]
fn the_counters_of_a_disk_have_the_io_of_all_programs() {
    let foreign = Event::foreign_reads(ms(250), ms(500), 0, ForeignLoad::Depth(1));
    let machine = machine_with(SERVER, vec![foreign]);
    let recording = run(&machine, plan(vec![job("/dev/sim0", 1)]));
    assert_eq!(ios(&recording), [7_499]);
    let disk = &recording.disks[0];
    assert_eq!(disk.name, "sim0");
    // Together they keep the disk busy all the time.
    assert_eq!(disk.after.read_ios - disk.before.read_ios, 10_000);
    assert_eq!(disk.after.read_sectors, 10_000 * 8);
    assert_eq!(disk.after.io_ticks, 1_000);
    // One request is in flight all the time, another one from 250.0 ms to 750.1 ms.
    assert_eq!(disk.after.time_in_queue, 1_500);
}

/// One read at a time is at one of the members, which take 100 us for each: 10,000 in a second, in which one of them is busy.
#[test]
fn the_members_of_an_array_have_counters_of_their_own() {
    let array = "raid0(2 x servers(count=1, service=100us), chunk=64k)";
    let machine = machine_with(array, Vec::new());
    let recording = run(&machine, plan(vec![job("/dev/sim0", 1)]));
    let names: Vec<&str> = recording
        .disks
        .iter()
        .map(|disk| disk.name.as_str())
        .collect();
    assert_eq!(names, ["sim0", "sim0-0", "sim0-1"]);
    let reads = |disk: usize| {
        let disk = &recording.disks[disk];
        disk.after.read_ios - disk.before.read_ios
    };
    assert_eq!((reads(0), reads(1) + reads(2)), (10_000, 10_000));
    for disk in &recording.disks[1..] {
        let busy_ms = disk.after.io_ticks - disk.before.io_ticks;
        // Whole milliseconds, rounded down.
        assert_eq!(
            busy_ms,
            (disk.after.read_ios - disk.before.read_ios) / 10,
            "{}",
            disk.name
        );
    }
}

/// A quarter of the CPU is stolen for half of the run, and each I/O takes a tenth of its time on the CPU.
#[test]
fn stolen_and_used_cpu_time_are_known() {
    let machine = machine_of(SimMachineSpec {
        disks: vec![disk("/dev/sim0", "servers(count=1, service=90us)")],
        cpu_per_io: us(10),
        events: vec![Event::cpu_stolen(ms(1_000), ms(500), 0.25)],
        ..SimMachineSpec::default()
    });
    let recording = run(&machine, plan(vec![job("/dev/sim0", 1)]));
    assert_eq!(ios(&recording), [10_000]);
    assert_eq!(recording.jobs[0].usage.user, ms(100));
    let host = machine.host_recording().expect("no run");
    assert_eq!(host.steal_percent, Some(0.0));
    assert!(
        host.busy_percent
            .is_some_and(|busy| (busy - 10.0).abs() < 0.1)
    );
    // The second run has the event in its first half.
    run(&machine, plan(vec![job("/dev/sim0", 1)]));
    let host = machine.host_recording().expect("no run");
    assert!(
        host.steal_percent
            .is_some_and(|steal| (steal - 12.5).abs() < 0.01)
    );
}

/// The samples of a run are a quarter of a second long and have what happened in each.
#[test]
fn the_conditions_have_what_happened_in_each_quarter_of_a_second() {
    let limit = TokenBucket {
        rate: 5_000.0,
        burst: 1.0,
    };
    let machine = machine_with(
        SERVER,
        vec![
            Event::clock_steps(ms(300), -5_000),
            Event::memory_pressure(ms(500), ms(125), 0.5),
            Event::cpu_slows(ms(750), ms(1_000), 0.5),
            Event::ios_limited(ms(750), ms(1_000), 0, limit),
        ],
    );
    run(&machine, plan(vec![job("/dev/sim0", 1)]));
    let conditions = machine.conditions().expect("no run");
    let samples = &conditions.telemetry.samples;
    assert_eq!(conditions.telemetry.disks, ["sim0"]);
    let starts: Vec<Nanos> = samples.iter().map(|sample| sample.start).collect();
    // The last one has the end of the I/O that was in flight.
    assert_eq!(starts, [ms(0), ms(250), ms(500), ms(750), ms(1_000)]);
    let steps: Vec<i64> = samples.iter().map(|sample| sample.wall_step_ns).collect();
    assert_eq!(steps, [0, -5_000, 0, 0, 0]);
    let pressure: Vec<_> = samples
        .iter()
        .map(|sample| sample.memory_pressure)
        .collect();
    assert_eq!(pressure, [0.0, 0.0, 25.0, 0.0, 0.0].map(Some));
    let mhz: Vec<_> = samples.iter().map(|sample| sample.cpu_mhz).collect();
    assert_eq!(mhz, [3000.0, 3000.0, 3000.0, 1500.0, 1500.0].map(Some));
    let reads: Vec<u64> = samples
        .iter()
        .map(|sample| sample.disks[0].read_ios)
        .collect();
    assert_eq!(reads, [2_500, 2_500, 2_500, 1_250, 1]);
    assert_eq!(conditions.limits.len(), 2, "for reads and for writes");
    assert!(
        conditions
            .limits
            .iter()
            .all(|limit| limit.per_second == 5_000 && limit.ios)
    );
    assert_eq!(machine.unix_ns_at(machine.now()), 1_000_100_000 - 5_000);
}

/// Regression 1490: shares of nothing were minus zero: "-0.0% of CPU time stolen".
#[test]
fn what_did_not_happen_has_no_sign() {
    let machine = machine_with(SERVER, Vec::new());
    run(&machine, plan(vec![job("/dev/sim0", 1)]));
    let host = machine.host_recording().expect("no run");
    let samples = machine.conditions().expect("no run").telemetry.samples;
    let pressures = samples.iter().map(|sample| sample.memory_pressure);
    let shares = pressures.chain([host.steal_percent]);
    assert!(
        shares
            .map(|share| share.map(f64::to_bits))
            .all(|share| share == Some(0))
    );
}

/// Regression 1491: a wall clock that was set at time zero was never set.
#[test]
fn a_wall_clock_may_be_wrong_from_the_start() {
    let machine = machine_with(SERVER, vec![Event::clock_steps(ms(0), 250_000_000)]);
    let recording = run(&machine, plan(vec![job("/dev/sim0", 1)]));
    assert_eq!(recording.started_unix_ns, 250_000_000);
}

/// A machine goes on: the event at 1.5 s is in the middle of the second run.
#[test]
fn events_of_a_later_run_happen_in_that_run() {
    let machine = machine_with(SERVER, vec![Event::disk_stalls(us(1_500_050), ms(50), 0)]);
    let run = || ios(&run(&machine, plan(vec![job("/dev/sim0", 1)])));
    assert_eq!([run(), run(), run()], [[10_000], [9_500], [10_000]]);
}

#[test]
fn an_impossible_machine_is_refused() {
    let machine = |disks: Vec<&str>, event: Option<Event>| {
        let spec = SimMachineSpec {
            disks: disks.into_iter().map(|path| disk(path, SERVER)).collect(),
            events: event.into_iter().collect(),
            ..SimMachineSpec::default()
        };
        SimHost::with_machine(spec).err()
    };
    assert_eq!(machine(vec!["/dev/sim0"], None), None);
    assert_eq!(machine(vec![], None), Some(MachineError::NoDisk));
    let path = "/dev/sim0".into();
    assert_eq!(
        machine(vec!["/dev/sim0", "/dev/sim0"], None),
        Some(MachineError::SamePath { path })
    );
    let stall = Event::disk_stalls(ms(1), ms(1), 1);
    let refusal = machine(vec!["/dev/sim0"], Some(stall)).map(|error| error.to_string());
    assert_eq!(
        refusal.as_deref(),
        Some("event 0 happens to disk 1, but the disks have the numbers 0 to 0")
    );
    let size = Bytes::ZERO;
    let load = ForeignLoad::Depth(1);
    let lasts = ms(1);
    for kind in [
        EventKind::CpuStolen { lasts, share: 1.0 },
        EventKind::CpuSlows { lasts, share: 0.0 },
        EventKind::CpuSlows {
            lasts,
            share: f64::NAN,
        },
        EventKind::ForeignReads {
            disk: 0,
            lasts,
            load,
            size,
        },
        EventKind::IoLimited {
            disk: 0,
            lasts,
            ios: None,
            bytes: None,
        },
        EventKind::IoFails { disk: 0, number: 0 },
    ] {
        let event = Event { at: ms(1), kind };
        assert!(
            matches!(
                machine(vec!["/dev/sim0"], Some(event)),
                Some(MachineError::ImpossibleEvent { event: 0, .. })
            ),
            "{kind:?}"
        );
    }
}
