//! A minimal job, a fake host and the helpers that run them, for tests.

use fathom_model::*;

/// A job of 4 KiB blocks on the null engine, queue depth 1.
pub(crate) fn job(traffic: Traffic, access: Access) -> Job {
    Job {
        name: "test".into(),
        files: FileSet {
            paths: vec!["test.0.0".into()],
            size: Extent::Bytes(Bytes::from_mib(1)),
            layout: Layout {
                allow_create: true,
                ..Layout::default()
            },
            ..FileSet::default()
        },
        pattern: Pattern {
            traffic,
            access,
            ..Pattern::default()
        },
        limits: Limits {
            loops: 1,
            ..Limits::default()
        },
        ..Job::default()
    }
}

/// A payload that is filled anew for each write, without marks and repetitions.
pub(crate) fn payload(fill: Fill) -> Payload {
    Payload {
        fill,
        refill: true,
        scramble: false,
        dedupe_percent: 0,
        dedupe_set: None,
    }
}

/// A plan of these jobs.
pub(crate) fn plan(jobs: Vec<Job>) -> Plan {
    Plan {
        jobs,
        interval: Nanos::from_millis(100),
        ..Plan::default()
    }
}

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::engine_filter::{Filtered, SubmitFilter};
use crate::{
    Clock, Completion, Engine, EngineError, EngineRequest, EngineUser, FileFacts, Host, HostError,
    LayOut, NullEngine, Op, Request, RunHooks, RunningThread, Scratch, States, Stop, ThreadBody,
    spawn_thread,
};

/// A clock based on the standard library.
#[derive(Clone)]
pub(crate) struct StdClock(pub Instant);

impl Clock for StdClock {
    fn now(&self) -> Nanos {
        Nanos::new(self.0.elapsed().as_nanos() as u64)
    }
    fn sleep_until(&self, at: Nanos) {
        std::thread::sleep(Duration::from_nanos(at.saturating_sub(self.now()).get()));
    }
}

/// Overrides the result of a request, given its number from 0 and the request.
pub(crate) type Rule = fn(u64, &Request) -> Option<i64>;

/// A host in memory: files are byte vectors, and a rule can change the result of any I/O.
pub(crate) struct FakeHost {
    clock: StdClock,
    pub rule: Rule,
    /// Every request, in order of submission.
    pub seen: Mutex<Vec<Request>>,
    pub files: Mutex<HashMap<PathBuf, Vec<u8>>>,
    /// How often a file was dropped from the page cache.
    pub drops: AtomicUsize,
    /// Time that a worker takes to ask for its resource usage, which it does between the end of its load and its recording.
    pub usage_time: Duration,
    /// Creates the file of [`Host::scratch`]; without it there is none.
    scratch: Option<MakeScratch>,
}

type MakeScratch = Box<dyn Fn() -> std::io::Result<Box<dyn Scratch>> + Send + Sync>;

impl FakeHost {
    pub fn new(rule: Rule) -> Self {
        let clock = StdClock(Instant::now());
        FakeHost {
            clock,
            rule,
            seen: Mutex::default(),
            files: Mutex::default(),
            drops: AtomicUsize::new(0),
            usage_time: Duration::ZERO,
            scratch: None,
        }
    }

    /// The same host with scratch files.
    pub fn with_scratch<F: Scratch + 'static>(
        self,
        make: impl Fn() -> std::io::Result<F> + Send + Sync + 'static,
    ) -> Self {
        let make = move || make().map(|file| Box::new(file) as Box<dyn Scratch>);
        FakeHost {
            scratch: Some(Box::new(make)),
            ..self
        }
    }
}

/// The rule and the files in memory, in front of the null engine.
struct FakeIo<'a> {
    host: &'a FakeHost,
    path: PathBuf,
    /// Results set by the rule, by slot.
    results: HashMap<u32, i64>,
    /// Number of requests so far.
    number: u64,
}

impl FakeIo<'_> {
    fn transfer(&self, engine: &mut dyn Engine, request: &Request) {
        let mut files = self.host.files.lock().expect("not poisoned");
        let file = files.entry(self.path.clone()).or_default();
        let range = request.offset as usize..request.offset as usize + request.len as usize;
        if file.len() < range.end {
            file.resize(range.end, 0);
        }
        let buffer = engine.buffer(request.slot);
        match request.op {
            Op::Read => buffer[..range.len()].copy_from_slice(&file[range]),
            Op::Write => file[range.clone()].copy_from_slice(&buffer[..range.len()]),
            _ => {}
        }
    }
}

impl SubmitFilter for FakeIo<'_> {
    fn admit(&mut self, engine: &mut dyn Engine, batch: &[Request], _in_flight: u32) -> usize {
        for request in batch {
            self.host.seen.lock().expect("not poisoned").push(*request);
            match (self.host.rule)(self.number, request) {
                Some(result) => drop(self.results.insert(request.slot, result)),
                None => self.transfer(engine, request),
            }
            self.number += 1;
        }
        batch.len()
    }

    fn submitted(&mut self, _admitted: &[Request], _accepted: usize) {}

    fn completed(&mut self, completions: &mut [Completion], _in_flight: u32) {
        for completion in completions {
            if let Some(result) = self.results.remove(&completion.slot) {
                completion.result = result;
            }
        }
    }
}

impl Host for FakeHost {
    type Clock = StdClock;
    fn spawn(
        self: &Arc<Self>,
        name: &str,
        body: impl ThreadBody,
    ) -> std::io::Result<Box<dyn RunningThread>> {
        spawn_thread(self, name, body)
    }
    fn scratch(&self) -> std::io::Result<Box<dyn Scratch>> {
        match &self.scratch {
            Some(make) => make(),
            None => Err(std::io::ErrorKind::Unsupported.into()),
        }
    }
    fn clock(&self) -> StdClock {
        self.clock.clone()
    }
    fn lay_out(
        &self,
        file: &LayOut,
        _: &AtomicBool,
        _: &mut dyn FnMut(u64),
    ) -> Result<FileFacts, HostError> {
        if file.invalidate.is_some() {
            self.drops
                .fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        }
        let mut files = self.files.lock().expect("not poisoned");
        let bytes = files.entry(file.path.clone()).or_default();
        if bytes.len() < file.size.get() as usize {
            bytes.resize(file.size.get() as usize, 0);
        }
        let size = Bytes::new(bytes.len() as u64);
        Ok(FileFacts {
            size,
            alignment: 1,
            block_device: false,
            created: false,
            laid_out: Bytes::ZERO,
        })
    }
    fn size_now(&self, path: &Path) -> Result<Bytes, HostError> {
        let files = self.files.lock().expect("not poisoned");
        files
            .get(path)
            .map(|f| Bytes::new(f.len() as u64))
            .ok_or(HostError {
                errno: 2,
                what: "no such file".into(),
            })
    }
    fn with_engine<U: EngineUser>(
        &self,
        request: &EngineRequest<'_>,
        user: U,
    ) -> Result<U::Output, EngineError> {
        let ranges: Vec<_> = request.files.iter().map(|file| file.range).collect();
        let inner = NullEngine::new(request.depth, request.buffer_size, &ranges)?;
        if request.spec.kind == EngineKind::Null {
            return Ok(user.run(inner, "null", None));
        }
        let path = request.files[0].path.clone();
        let filter = FakeIo {
            host: self,
            path,
            results: HashMap::new(),
            number: 0,
        };
        Ok(Filtered { user, filter }.run(inner, "fake", None))
    }
    fn with_noop<U: EngineUser>(
        &self,
        request: &EngineRequest<'_>,
        user: U,
    ) -> Result<U::Output, EngineError> {
        Ok(user.run(
            NullEngine::new(request.depth, request.buffer_size, &[])?,
            "null",
            None,
        ))
    }
    fn finish(&self, _: &Path, _: bool, _: bool) -> Result<(), HostError> {
        Ok(())
    }
    fn bind_numa(&self, _: &Numa) -> Result<(), HostError> {
        Ok(())
    }
    fn command(&self, _: &str, _: &Path) -> Result<(), HostError> {
        Ok(())
    }
    fn set_io_priority(&self, _: u16) -> Result<(), HostError> {
        Ok(())
    }
    fn bind_cpus(&self, _: &[u32], _: Option<i32>) -> Result<(), HostError> {
        Ok(())
    }
    fn thread_id(&self) -> u32 {
        1
    }
    fn usage(&self) -> Usage {
        std::thread::sleep(self.usage_time);
        Usage::default()
    }
    fn read_file(&self, _: &Path) -> std::io::Result<Vec<u8>> {
        Ok(b"file".to_vec())
    }
    fn disks(&self, _: &[PathBuf]) -> Vec<(String, DiskCounters)> {
        Vec::new()
    }
}

/// Runs jobs on a fake host; engines other than null apply the rule.
pub(crate) fn run_on(host: Arc<FakeHost>, jobs: Vec<Job>) -> (Recording, Vec<LogChunk>) {
    run_plan(host, plan(jobs))
}

/// Runs `plan` and returns its recording and log entries.
pub(crate) fn run_plan(host: Arc<FakeHost>, plan: Plan) -> (Recording, Vec<LogChunk>) {
    run_watched(host, plan, &mut |_| {}, None)
}

/// [`run_plan`] with a receiver of progress and one of states.
pub(crate) fn run_watched<'a>(
    host: Arc<FakeHost>,
    plan: Plan,
    progress: &'a mut dyn FnMut(&Progress),
    states: Option<States<'a>>,
) -> (Recording, Vec<LogChunk>) {
    let (logs, entries) = sync_channel(1 << 16);
    let replays = &|_: &Replay| {
        Err(HostError {
            errno: 2,
            what: "no log".into(),
        })
    };
    let hooks = RunHooks {
        stop: &|| Stop::No,
        progress,
        logs,
        states,
        interval_sink: None,
        io_log: None,
        before_start: None,
        may_begin: None,
        replays,
    };
    let recording = crate::run(plan, host, &|| 1_000_000_000, hooks).expect("runs");
    (recording, entries.iter().collect())
}
