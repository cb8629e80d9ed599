//! A small job to start from in tests.

use fathom_model::*;

/// A job of 4 KiB blocks on the null engine, queue depth 1.
pub(crate) fn job(traffic: Traffic, access: Access) -> Job {
    Job {
        name: "test".into(),
        options: Vec::new(),
        description: None,
        number: 1,
        section: 0,
        clone: 0,
        group: 0,
        group_reporting: false,
        start: Start::default(),
        exit: ExitRule::default(),
        files: FileSet {
            paths: vec!["test.0.0".into()],
            named: false,
            size: Extent::Bytes(Bytes::from_mib(1)),
            file_size: None,
            offset: Extent::Bytes(Bytes::ZERO),
            offset_increment: Extent::Bytes(Bytes::ZERO),
            offset_align: Bytes::ZERO,
            direct: false,
            sync_mode: SyncMode::None,
            service: FileService::RoundRobin,
            service_every: 1,
            open_files: 0,
            layout: Layout {
                allow_create: true,
                ..Layout::default()
            },
        },
        pattern: Pattern {
            traffic,
            access,
            block_size: PerDirection::all(BlockSizes::Fixed(4096)),
            block_align: PerDirection::all(Bytes::ZERO),
            unaligned: false,
            sizes_by_access: false,
            distribution: PerDirection::all(Distribution::Uniform),
            random_percent: PerDirection::all(100),
            without_replacement: true,
            seed: 1,
            zones: None,
        },
        limits: Limits {
            loops: 1,
            ..Limits::default()
        },
        pace: Pace::default(),
        queue: Queue {
            depth: 1,
            batch_submit: 1,
            batch_complete_min: 1,
            batch_complete_max: 1,
            low: 1,
        },
        engine: EngineSpec {
            kind: EngineKind::Null,
            named: true,
            settings: EngineSettings::default(),
        },
        payload: Payload {
            fill: Fill::Random,
            refill: false,
            scramble: true,
            dedupe_percent: 0,
            dedupe_set: None,
        },
        verify: None,
        sync: SyncPolicy::default(),
        accounting: Accounting {
            slat: true,
            clat: true,
            lat: true,
            ..Accounting::default()
        },
        errors: ErrorPolicy::default(),
        cpus: Vec::new(),
        nice: None,
    }
}

/// A plan of these jobs.
pub(crate) fn plan(jobs: Vec<Job>) -> Plan {
    Plan {
        personality: Personality::Fathom,
        sources: Vec::new(),
        globals: Vec::new(),
        overrides: Vec::new(),
        jobs,
        interval: Nanos::from_millis(100),
        read_only: false,
        warnings: Vec::new(),
    }
}

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::{
    Clock, Completion, Engine, EngineError, EngineRequest, EngineUser, FileFacts, Host, HostError,
    LayOut, NullEngine, Op, Request, Stop, Wait, Watch,
};

/// A clock over the standard library's.
#[derive(Clone)]
pub(crate) struct StdClock(Instant);

impl Clock for StdClock {
    fn now(&self) -> Nanos {
        Nanos::new(self.0.elapsed().as_nanos() as u64)
    }
    fn sleep_until(&self, at: Nanos) {
        std::thread::sleep(Duration::from_nanos(at.saturating_sub(self.now()).get()));
    }
}

/// Decides the result of a request: its number from 0, and the request.
pub(crate) type Rule = fn(u64, &Request) -> Option<i64>;

/// A machine of memory: files are byte vectors, and a rule can spoil any I/O.
pub(crate) struct FakeHost {
    clock: StdClock,
    pub rule: Rule,
    /// Every request, in order of submission.
    pub seen: Mutex<Vec<Request>>,
    pub files: Mutex<HashMap<PathBuf, Vec<u8>>>,
}

impl FakeHost {
    pub fn new(rule: Rule) -> Self {
        let clock = StdClock(Instant::now());
        FakeHost {
            clock,
            rule,
            seen: Mutex::default(),
            files: Mutex::default(),
        }
    }
}

/// Null, but for the rule and the memory behind it.
struct FakeEngine<'a> {
    host: &'a FakeHost,
    path: PathBuf,
    inner: NullEngine,
    spoiled: HashMap<u32, i64>,
    held: HashMap<u32, Request>,
    number: u64,
}

impl FakeEngine<'_> {
    fn carry(&mut self, request: &Request) {
        let mut files = self.host.files.lock().expect("not poisoned");
        let file = files.entry(self.path.clone()).or_default();
        let range = request.offset as usize..request.offset as usize + request.len as usize;
        if file.len() < range.end {
            file.resize(range.end, 0);
        }
        match request.op {
            Op::Read => {
                self.inner.buffer(request.slot)[..range.len()].copy_from_slice(&file[range])
            }
            Op::Write => {
                file[range.clone()].copy_from_slice(&self.inner.buffer(request.slot)[..range.len()])
            }
            _ => {}
        }
    }
}

impl Engine for FakeEngine<'_> {
    fn depth(&self) -> u32 {
        self.inner.depth()
    }
    fn is_synchronous(&self) -> bool {
        self.inner.is_synchronous()
    }
    fn buffer(&mut self, slot: u32) -> &mut [u8] {
        self.inner.buffer(slot)
    }
    fn submit(&mut self, batch: &[Request]) -> Result<usize, EngineError> {
        for request in batch {
            self.host.seen.lock().expect("not poisoned").push(*request);
            self.held.insert(request.slot, *request);
            match (self.host.rule)(self.number, request) {
                Some(result) => drop(self.spoiled.insert(request.slot, result)),
                None => self.carry(request),
            }
            self.number += 1;
        }
        self.inner.submit(batch)
    }
    fn reap(&mut self, wait: Wait, done: &mut Vec<Completion>) -> Result<(), EngineError> {
        let from = done.len();
        self.inner.reap(wait, done)?;
        for completion in &mut done[from..] {
            if let Some(result) = self.spoiled.remove(&completion.slot) {
                completion.result = result;
            }
        }
        Ok(())
    }
}

impl Host for FakeHost {
    type Clock = StdClock;
    fn clock(&self) -> StdClock {
        self.clock.clone()
    }
    fn lay_out(
        &self,
        file: &LayOut,
        _: &AtomicBool,
        _: &mut dyn FnMut(u64),
    ) -> Result<FileFacts, HostError> {
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
                what: "not there".into(),
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
        let engine = FakeEngine {
            host: self,
            path,
            inner,
            spoiled: HashMap::new(),
            held: HashMap::new(),
            number: 0,
        };
        Ok(user.run(engine, "fake", None))
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
    fn place(&self, _: &Numa) -> Result<(), HostError> {
        Ok(())
    }
    fn command(&self, _: &str, _: &Path) -> Result<(), HostError> {
        Ok(())
    }
    fn prioritise(&self, _: u16) -> Result<(), HostError> {
        Ok(())
    }
    fn settle(&self, _: &[u32], _: Option<i32>) -> Result<(), HostError> {
        Ok(())
    }
    fn thread_id(&self) -> u32 {
        1
    }
    fn usage(&self) -> Usage {
        Usage::default()
    }
    fn read_file(&self, _: &Path) -> std::io::Result<Vec<u8>> {
        Ok(b"file".to_vec())
    }
    fn disks(&self, _: &[PathBuf]) -> Vec<(String, DiskCounters)> {
        Vec::new()
    }
}

/// Runs jobs on a fake machine; `job.engine.kind` other than null goes through the rule.
pub(crate) fn run_on(host: Arc<FakeHost>, jobs: Vec<Job>) -> (Recording, Vec<LogChunk>) {
    let (logs, entries) = sync_channel(1 << 16);
    let replays = &|_: &Replay| {
        Err(HostError {
            errno: 2,
            what: "no log".into(),
        })
    };
    let watch = Watch {
        stop: &|| Stop::No,
        progress: &mut |_| {},
        logs,
        states: None,
        keep: None,
        replays,
    };
    let recording = crate::run(plan(jobs), host, &|| 1_000_000_000, watch).expect("runs");
    (recording, entries.iter().collect())
}
