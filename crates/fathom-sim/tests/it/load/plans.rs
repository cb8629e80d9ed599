//! Plans, and machines that carry them out.

use std::sync::Arc;
use std::sync::mpsc::sync_channel;

use fathom_load::{HostError, RunHooks, Stop};
use fathom_model::{
    Access, Bytes, Direction, EngineKind, EngineSpec, Extent, FileSet, Job, Limits, LogChunk,
    Nanos, Pattern, Plan, Queue, Recording, Traffic,
};
use fathom_sim::machine::{Event, SimDisk, SimMachineSpec};
use fathom_sim::{Library, SimHost, run_load};

/// A job that reads 4 KiB blocks at random offsets of `path` with this queue depth for a second.
pub fn job(path: &str, depth: u32) -> Job {
    Job {
        name: "reads".to_owned(),
        files: FileSet {
            paths: vec![path.into()],
            size: Extent::Bytes(Bytes::from_mib(1 << 10)),
            direct: true,
            ..FileSet::default()
        },
        pattern: Pattern {
            traffic: Traffic::Read,
            access: Access::Random {
                every: 1,
                identical: false,
            },
            ..Pattern::default()
        },
        queue: Queue {
            depth,
            batch_submit: depth,
            batch_complete_min: 1,
            batch_complete_max: depth,
            low: depth,
        },
        engine: EngineSpec {
            kind: EngineKind::IoUring,
            ..EngineSpec::default()
        },
        limits: Limits {
            loops: 1,
            runtime: Some(Nanos::from_secs(1)),
            time_based: true,
            ..Limits::default()
        },
        ..Job::default()
    }
}

/// A plan of these jobs.
pub fn plan(jobs: Vec<Job>) -> Plan {
    Plan {
        jobs,
        interval: Nanos::from_millis(100),
        ..Plan::default()
    }
}

/// A machine with one device.
pub fn machine(model: &str) -> Arc<SimHost> {
    let device = Library::new().build_text(model, 1).expect("a model");
    Arc::new(SimHost::new(device))
}

/// A machine with the disk /dev/sim0 and these events.
pub fn machine_with(model: &str, events: Vec<Event>) -> Arc<SimHost> {
    machine_of(SimMachineSpec {
        disks: vec![disk("/dev/sim0", model)],
        events,
        ..SimMachineSpec::default()
    })
}

/// The machine of a description.
pub fn machine_of(spec: SimMachineSpec) -> Arc<SimHost> {
    Arc::new(SimHost::with_machine(spec).expect("a possible machine"))
}

/// A disk.
pub fn disk(path: &str, model: &str) -> SimDisk {
    let device = Library::new().build_text(model, 1).expect("a model");
    let path = path.into();
    SimDisk { path, device }
}

/// Carries out a plan.
pub fn run(host: &Arc<SimHost>, plan: Plan) -> Recording {
    run_until(host, plan, &|| Stop::No)
}

/// Carries out a plan until the user stops it.
pub fn run_until(host: &Arc<SimHost>, plan: Plan, stop: &dyn Fn() -> Stop) -> Recording {
    run_with_logs(host, plan, stop).0
}

/// Carries out a plan whose jobs write logs.
pub fn run_logged(host: &Arc<SimHost>, plan: Plan) -> (Recording, Vec<LogChunk>) {
    run_with_logs(host, plan, &|| Stop::No)
}

fn run_with_logs(
    host: &Arc<SimHost>,
    plan: Plan,
    stop: &dyn Fn() -> Stop,
) -> (Recording, Vec<LogChunk>) {
    let (logs, kept) = sync_channel(1 << 16);
    let replays = &|_: &_| {
        Err(HostError {
            errno: 2,
            what: "no log".to_owned(),
        })
    };
    let hooks = RunHooks {
        stop,
        progress: &mut |_| {},
        logs,
        states: None,
        interval_sink: None,
        io_log: None,
        before_start: None,
        may_begin: None,
        replays,
    };
    let recording = run_load(plan, Arc::clone(host), hooks).expect("the files fit");
    (recording, kept.try_iter().collect())
}

/// Milliseconds.
pub fn ms(count: u64) -> Nanos {
    Nanos::from_millis(count)
}

/// Microseconds.
pub fn us(count: u64) -> Nanos {
    Nanos::new(count * 1_000)
}

/// Completed I/Os of each job, all of which succeeded.
pub fn ios(recording: &Recording) -> Vec<u64> {
    let jobs = recording.jobs.iter().map(|job| {
        assert_eq!(job.error, None);
        let counts = |direction| job.directions[direction].counts.ok;
        counts(Direction::Read) + counts(Direction::Write)
    });
    jobs.collect()
}
