//! No-ops through an io_uring: the load with all its accounting against a loop that only drives the
//! ring.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::sync_channel;

use fathom_linux::{LinuxClock, LinuxHost, bare_noop_ring, make_noop_ring};
use fathom_load::{
    EngineError, EngineRequest, EngineUser, FileFacts, Host, HostError, LayOut, RunHooks,
    RunningThread, Stop, ThreadBody, spawn_thread,
};
use fathom_model::{Bytes, Direction, DiskCounters, Personality, Usage};
use fathom_plan::{FileReader, HostInfo, parse_args, plan};

use crate::context::Context;
use crate::row::{Goal, Row};

const DEPTH: u32 = 128;
const BATCH: u32 = 32;

pub fn run(context: &Context) -> Result<Vec<Row>, String> {
    let (mut ours, mut bare) = (Vec::new(), Vec::new());
    for n in 0..context.pairs {
        // ABBA, as everywhere.
        for accounted in if n % 2 == 0 {
            [true, false]
        } else {
            [false, true]
        } {
            match accounted {
                true => ours.push(complete_rate(context.seconds)?),
                false => bare.push(bare_rate(context.seconds)?),
            }
        }
    }
    let what = format!("io_uring no-ops, depth {DEPTH}, batches of {BATCH}, all accounting");
    Ok(vec![
        Row::new(what, "IOPS", (ours, bare), Goal::RatioAtLeast(0.7))
            .peer("a bare loop on the same ring"),
    ])
}

/// No-ops per second without any accounting.
fn bare_rate(seconds: u64) -> Result<f64, String> {
    let limit = std::time::Duration::from_secs(seconds);
    bare_noop_ring(DEPTH, BATCH, limit).map_err(|error| error.to_string())
}

/// No-ops per second of a complete run.
fn complete_rate(seconds: u64) -> Result<f64, String> {
    let job = format!(
        "--name=noop --ioengine=null --rw=randread --bs=4k --size=1g --iodepth={DEPTH} --iodepth_batch={BATCH} \
         --iodepth_batch_complete_min={BATCH} --iodepth_batch_complete_max={BATCH} --time_based=1 --runtime={seconds}"
    );
    let args: Vec<String> = job.split_whitespace().map(str::to_owned).collect();
    let wrong = |problems: Vec<fathom_plan::Diagnostic>| {
        problems
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join("; ")
    };
    let invocation = parse_args(&args, Personality::Fathom).map_err(wrong)?;
    let planned = plan(&invocation, &Nowhere, &Nowhere).map_err(wrong)?;
    let host = Arc::new(Noops(LinuxHost::new(LinuxClock::start())));
    let (logs, _kept) = sync_channel(1);
    let replays = &|_: &_| {
        Err(HostError {
            errno: 2,
            what: "this run replays no log".to_owned(),
        })
    };
    let watch = RunHooks {
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
    let recording =
        fathom_load::run(planned.plan, host, &|| 0, watch).map_err(|error| error.to_string())?;
    let job = recording.jobs.first().ok_or("the run has no job")?;
    if let Some(error) = &job.error {
        return Err(error.operation.clone());
    }
    let lasted = job.ended.saturating_sub(job.measured_from).get().max(1);
    Ok(job.directions[Direction::Read].counts.ok as f64 * 1e9 / lasted as f64)
}

/// Planning this job needs nothing from the machine.
struct Nowhere;

impl HostInfo for Nowhere {
    fn variable(&self, _: &str) -> Option<String> {
        None
    }
    fn memory_mib(&self) -> u64 {
        1024
    }
    fn cpus(&self) -> u32 {
        1
    }
    fn page_size(&self) -> u64 {
        4096
    }
    fn is_special(&self, _: &Path) -> bool {
        false
    }
    fn is_directory(&self, _: &Path) -> bool {
        false
    }
    fn entropy(&self) -> u64 {
        1
    }
}

impl FileReader for Nowhere {
    fn read(&self, path: &str) -> std::io::Result<Vec<u8>> {
        Err(std::io::Error::other(format!("{path}: no such file")))
    }
}

/// This machine, with a ring of no-ops as every engine.
struct Noops(LinuxHost);

impl Host for Noops {
    type Clock = LinuxClock;

    fn spawn(
        self: &Arc<Self>,
        name: &str,
        body: impl ThreadBody,
    ) -> std::io::Result<Box<dyn RunningThread>> {
        spawn_thread(self, name, body)
    }

    fn with_engine<U: EngineUser>(
        &self,
        request: &EngineRequest<'_>,
        user: U,
    ) -> Result<U::Output, EngineError> {
        make_noop_ring(request.depth, request.buffer_size, user)
    }
    fn with_noop<U: EngineUser>(
        &self,
        request: &EngineRequest<'_>,
        user: U,
    ) -> Result<U::Output, EngineError> {
        self.0.with_noop(request, user)
    }

    fn clock(&self) -> LinuxClock {
        self.0.clock()
    }
    fn lay_out(
        &self,
        file: &LayOut,
        stop: &AtomicBool,
        progress: &mut dyn FnMut(u64),
    ) -> Result<FileFacts, HostError> {
        self.0.lay_out(file, stop, progress)
    }
    fn size_now(&self, path: &Path) -> Result<Bytes, HostError> {
        self.0.size_now(path)
    }
    fn finish(&self, path: &Path, fsync: bool, unlink: bool) -> Result<(), HostError> {
        self.0.finish(path, fsync, unlink)
    }
    fn bind_numa(&self, numa: &fathom_model::Numa) -> Result<(), HostError> {
        self.0.bind_numa(numa)
    }

    fn command(&self, line: &str, output: &std::path::Path) -> Result<(), HostError> {
        self.0.command(line, output)
    }

    fn set_io_priority(&self, prio: u16) -> Result<(), HostError> {
        self.0.set_io_priority(prio)
    }

    fn bind_cpus(&self, cpus: &[u32], nice: Option<i32>) -> Result<(), HostError> {
        self.0.bind_cpus(cpus, nice)
    }
    fn thread_id(&self) -> u32 {
        self.0.thread_id()
    }
    fn usage(&self) -> Usage {
        self.0.usage()
    }
    fn read_file(&self, path: &Path) -> std::io::Result<Vec<u8>> {
        self.0.read_file(path)
    }
    fn disks(&self, targets: &[PathBuf]) -> Vec<(String, DiskCounters)> {
        self.0.disks(targets)
    }
}
