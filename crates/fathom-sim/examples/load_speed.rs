//! I/Os that a simulated run of the load generator carries out in a second of CPU time, for one, four and 128 jobs with a queue
//! depth of 128 in total. Run it with `cargo run --release -p fathom-sim --example load_speed [PART-OF-A-MODEL [IOS [JOBS]]]`.
//! CPU time, because other programs on the machine do not change it.
#![allow(clippy::print_stdout, reason = "the output of a measurement")]

use std::sync::Arc;
use std::sync::mpsc::sync_channel;

use fathom_load::{HostError, RunHooks, Stop};
use fathom_model::{
    Access, Bytes, Direction, EngineKind, EngineSpec, Extent, FileSet, Job, JobRecording, Limits,
    Nanos, Pattern, Plan, Queue, Traffic,
};
use fathom_sim::{Library, SimHost, run_load};

/// I/Os in flight in all jobs together.
const DEPTH: u32 = 128;
/// I/Os of one measurement, unless the second argument says otherwise.
const IOS: u64 = 4_000_000;
/// Length of the kernel's ticks, seconds.
const TICK: f64 = 0.01;

fn main() {
    let wanted = std::env::args().nth(1).unwrap_or_default();
    let ios = std::env::args().nth(2).and_then(|ios| ios.parse().ok());
    let ios = ios.unwrap_or(IOS);
    let only: Option<u32> = std::env::args().nth(3).and_then(|jobs| jobs.parse().ok());
    let models = ["servers(count=128, service=100us)", "nvme-ssd"];
    for model in models.iter().filter(|model| model.contains(&wanted)) {
        for jobs in [1, 4, 128]
            .into_iter()
            .filter(|jobs| only.is_none_or(|only| only == *jobs))
        {
            // Other programs and pauses of a virtual machine change single runs: the median of three.
            let mut rates: Vec<f64> = (0..3).filter_map(|_| measure(model, jobs, ios)).collect();
            rates.sort_by(f64::total_cmp);
            let median = rates.get(1).copied().unwrap_or_default();
            println!(
                "{model}, {jobs} jobs of depth {}: {:.2} million I/Os per second of CPU time",
                DEPTH / jobs,
                median / 1e6
            );
        }
    }
}

/// CPU time of this process so far, seconds.
fn cpu_time() -> Option<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The fields after the name in parentheses begin with the third; user time is the 14th.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = |field: usize| fields.get(field - 3)?.parse::<f64>().ok();
    Some((ticks(14)? + ticks(15)?) * TICK)
}

/// I/Os per second of CPU time.
fn measure(model: &str, jobs: u32, wanted: u64) -> Option<f64> {
    let device = Library::new().build_text(model, 1).ok()?;
    let host = Arc::new(SimHost::new(device));
    let (logs, _kept) = sync_channel(1);
    let replays = &|_: &_| {
        Err(HostError {
            errno: 2,
            what: "this run replays no log".to_owned(),
        })
    };
    let hooks = RunHooks {
        stop: &|| Stop::No,
        progress: &mut |_| {},
        logs,
        states: None,
        interval_sink: None,
        io_log: None,
        before_start: None,
        may_begin: None,
        replays,
    };
    let start = cpu_time()?;
    let recording = run_load(plan(jobs, wanted), host, hooks).ok()?;
    let took = cpu_time()? - start;
    let done = |job: &JobRecording| job.directions[Direction::Read].counts.ok;
    let ios: u64 = recording.jobs.iter().map(done).sum();
    Some(ios as f64 / took)
}

fn plan(jobs: u32, ios: u64) -> Plan {
    let job = |number: u32| Job {
        name: format!("reads{number}"),
        files: FileSet {
            paths: vec!["/dev/sim0".into()],
            size: Extent::Bytes(Bytes::from_mib(100 << 10)),
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
        // As the default of a job: an eighth of the queue is submitted at once, and all that has completed is reaped.
        queue: Queue {
            depth: DEPTH / jobs,
            batch_submit: (DEPTH / jobs / 8).max(1),
            batch_complete_min: 1,
            batch_complete_max: DEPTH / jobs,
            low: DEPTH / jobs,
        },
        engine: EngineSpec {
            kind: EngineKind::IoUring,
            ..EngineSpec::default()
        },
        limits: Limits {
            loops: 1,
            time_based: true,
            ios: Some(ios / u64::from(jobs)),
            ..Limits::default()
        },
        ..Job::default()
    };
    Plan {
        jobs: (0..jobs).map(job).collect(),
        interval: Nanos::from_millis(100),
        ..Plan::default()
    }
}
