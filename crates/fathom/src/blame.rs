//! `fathom run --blame`: traces the block layer beside the load and joins its I/Os with their requests.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use fathom_linux::{BlockMap, LinuxClock};
use fathom_load::{IoChunk, IoLogSink, LoggedIo};
use fathom_model::{BlameRecording, Nanos, Plan};
use fathom_trace::{
    BlameJoin, BlockEvent, DeviceNumber, IoPlace, LoadIo, Piece, Submitter, TraceConsumer,
    TraceOptions, TraceSession, TracedDevices, Tracefs, Tracepoint, monotonic_ns,
    remove_dead_instances,
};

/// Chunks of I/Os on their way to the join.
const CHUNKS: usize = 256;
/// How often the ring buffers are read.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// The same while a ring buffer fills quickly.
const SHORT_INTERVAL: Duration = Duration::from_millis(2);
/// Events older than this have all been delivered by a poll.
const DELIVERED: u64 = 2_000_000;
/// A map of a file that lacks the place of an I/O is made again at most this often.
const MAP_AGAIN: Duration = Duration::from_millis(500);

/// The join beside a load.
pub struct BlameWatch {
    thread: JoinHandle<BlameRecording>,
    over: Arc<AtomicBool>,
}

/// Whether any job asks for a blame sheet.
pub fn is_wanted(plan: &Plan) -> bool {
    plan.jobs.iter().any(|job| job.accounting.blame)
}

/// The clock of a measurement: with a blame sheet that of the trace, so that nothing is converted.
pub fn clock_of(plan: &Plan, usual: impl FnOnce() -> LinuxClock) -> LinuxClock {
    if is_wanted(plan) {
        LinuxClock::monotonic()
    } else {
        usual()
    }
}

impl BlameWatch {
    /// Starts the trace. The sink takes the I/Os of the load.
    ///
    /// # Errors
    /// Why there can be no sheet, as text.
    pub fn start(plan: &Plan, clock: LinuxClock) -> Result<(BlameWatch, IoLogSink), String> {
        // Stamps of another clock would drift away from those of the trace.
        if clock.facts().source != "monotonic" {
            return Err("this command measures with the counter of the CPU".to_owned());
        }
        let (chunks, received) = sync_channel(CHUNKS);
        let sink = IoLogSink::new(chunks, plan.jobs.len());
        let targets = Targets::of(plan);
        if targets.devices.is_empty() {
            return Err("no target of a job with blame is on a block device".to_owned());
        }
        let tracefs = Tracefs::open().map_err(|error| error.to_string())?;
        let removed = remove_dead_instances(tracefs.root()).map_err(|error| error.to_string())?;
        let options = TraceOptions {
            devices: targets.numbers.clone(),
            tracepoints: vec![
                Tracepoint::BioQueue,
                Tracepoint::Insert,
                Tracepoint::Issue,
                Tracepoint::Complete,
            ],
            ..TraceOptions::default()
        };
        let session =
            TraceSession::start(tracefs.root(), &options).map_err(|error| error.to_string())?;
        let names: Vec<String> = plan.jobs.iter().map(|job| job.name.clone()).collect();
        let join = BlameJoin::new(targets.devices.clone(), &names, 0, submitter);
        let over = Arc::new(AtomicBool::new(false));
        let state = State {
            join,
            polled: monotonic_ns(),
            targets,
            removed,
            epoch: clock.epoch_ns(),
            sink: sink.clone(),
            chunks: received,
        };
        let flag = Arc::clone(&over);
        let thread = std::thread::Builder::new()
            .name("blame".to_owned())
            .spawn(move || {
                let _mounted = tracefs;
                state.run(session, &flag)
            })
            .map_err(|error| format!("cannot start a thread: {error}"))?;
        Ok((BlameWatch { thread, over }, sink))
    }

    /// The sheet, after the load.
    pub fn finish(self) -> BlameRecording {
        self.over.store(true, Relaxed);
        self.thread.thread().unpark();
        self.thread.join().unwrap_or_else(|_| BlameRecording {
            messages: vec!["the join of I/Os and requests stopped by an error".to_owned()],
            ..BlameRecording::default()
        })
    }
}

struct State {
    join: BlameJoin,
    /// When the ring buffers were read last.
    polled: u64,
    targets: Targets,
    /// Instances of killed processes that were removed.
    removed: Vec<String>,
    /// `CLOCK_MONOTONIC` at the epoch of the load's clock.
    epoch: u64,
    sink: IoLogSink,
    chunks: Receiver<IoChunk>,
}

/// Passes events on to the join.
struct Events<'a> {
    join: &'a mut BlameJoin,
    since: u64,
}

impl TraceConsumer for Events<'_> {
    fn event(&mut self, event: &BlockEvent) {
        self.join.event(event);
    }

    fn lost(&mut self, time_ns: u64, events: u64) {
        self.join
            .lost(events.max(1), self.since.min(time_ns), time_ns);
    }
}

impl State {
    fn run(mut self, mut session: TraceSession, over: &AtomicBool) -> BlameRecording {
        let mut problem = None;
        let mut pause = POLL_INTERVAL;
        while !over.load(Relaxed) {
            std::thread::park_timeout(pause);
            let now = monotonic_ns();
            let mut events = Events {
                join: &mut self.join,
                since: self.polled,
            };
            match session.poll(&mut events) {
                Ok(used) => {
                    pause = if used > 0.1 {
                        SHORT_INTERVAL
                    } else {
                        POLL_INTERVAL
                    };
                }
                Err(error) => {
                    problem.get_or_insert(error.to_string());
                }
            }
            self.polled = now.saturating_sub(DELIVERED);
            self.take_ios();
            // I/Os whose events are still in the ring buffers wait for them.
            let delivered = now.saturating_sub(DELIVERED);
            self.join.advance(delivered.min(session.delivered()));
        }
        let mut events = Events {
            join: &mut self.join,
            since: self.polled,
        };
        if let Err(error) = session.finish(&mut events) {
            problem.get_or_insert(error.to_string());
        }
        self.take_ios();
        let mut recording = self.join.finish();
        recording
            .messages
            .extend(problem.map(|problem| format!("the trace is incomplete: {problem}")));
        recording.messages.extend(self.targets.messages());
        if !self.removed.is_empty() {
            recording.messages.push(format!(
                "removed what a killed run left in tracefs: {}",
                self.removed.join(", ")
            ));
        }
        recording
    }

    /// Takes the I/Os that the load has sent.
    fn take_ios(&mut self) {
        let Some(start) = self.sink.start() else {
            return;
        };
        let origin = self.epoch + start.get();
        self.join.set_origin(origin);
        while let Ok(chunk) = self.chunks.try_recv() {
            for (direction, ios) in chunk.not_logged.iter() {
                if *ios > 0 {
                    self.join.not_logged(chunk.job, direction, *ios);
                }
            }
            for io in &chunk.ios {
                let place = self.targets.place(chunk.job, io);
                self.join.add_io(load_io(chunk.job, io, origin), place);
            }
            chunk.recycle();
        }
    }
}

fn load_io(job: u32, io: &LoggedIo, origin: u64) -> LoadIo {
    let at = |time: Nanos| origin + time.get();
    LoadIo {
        job,
        direction: io.direction,
        offset: io.offset,
        len: io.len,
        due: at(io.due),
        submitted: at(io.submitted),
        reaped: at(io.reaped),
    }
}

/// The files of the jobs, and where they are.
struct Targets {
    /// The files of each job with blame, by their places in `files`; `None` for a job whose I/Os go through the page cache.
    jobs: Vec<Option<Vec<usize>>>,
    /// The files of all jobs with their maps, once one was needed.
    files: Vec<(PathBuf, Option<FileMap>)>,
    devices: TracedDevices,
    numbers: Vec<DeviceNumber>,
}

struct FileMap {
    map: Option<BlockMap>,
    problem: Option<String>,
    made: Instant,
}

fn number((major, minor): (u32, u32)) -> DeviceNumber {
    DeviceNumber::new(major, minor)
}

impl Targets {
    fn of(plan: &Plan) -> Targets {
        let mut targets = Targets {
            jobs: Vec::new(),
            files: Vec::new(),
            devices: TracedDevices::default(),
            numbers: Vec::new(),
        };
        let mut numbers: HashMap<&Path, usize> = HashMap::new();
        for job in &plan.jobs {
            let is_direct = job.files.direct || !job.engine.kind.has_targets();
            let files = &mut targets.files;
            targets.jobs.push(is_direct.then(|| {
                let numbered = job.files.paths.iter().map(|path| {
                    *numbers.entry(path.as_path()).or_insert_with(|| {
                        files.push((path.clone(), None));
                        files.len() - 1
                    })
                });
                numbered.collect()
            }));
            if !job.accounting.blame || !job.engine.kind.has_targets() {
                continue;
            }
            for path in &job.files.paths {
                // A file that does not exist yet will be in its directory.
                let found = BlockMap::of(path).or_else(|_| {
                    let parent = path.parent().filter(|parent| *parent != Path::new(""));
                    BlockMap::of_directory(parent.unwrap_or(Path::new(".")))
                });
                if let Ok(map) = found {
                    targets.trace(number(map.device), number(map.disk));
                }
            }
        }
        targets
    }

    fn trace(&mut self, device: DeviceNumber, disk: DeviceNumber) {
        if device == disk {
            self.devices.add(disk);
        } else {
            self.devices.add_partition(device, disk);
        }
        for one in [device, disk] {
            if !self.numbers.contains(&one) {
                self.numbers.push(one);
            }
        }
    }

    /// Where an I/O is. The map of a file is made when its first I/O is complete, and again when it lacks an I/O: writes
    /// may have given the file new blocks.
    fn place(&mut self, job: u32, io: &LoggedIo) -> IoPlace {
        let Some(files) = self.jobs.get(job as usize) else {
            return IoPlace::Unknown;
        };
        let Some(files) = files else {
            return IoPlace::Buffered;
        };
        let found = files.get(io.file as usize);
        let Some((path, known)) = found.and_then(|file| self.files.get_mut(*file)) else {
            return IoPlace::Unknown;
        };
        let bytes = io.offset..io.offset + u64::from(io.len);
        let known = known.get_or_insert_with(|| FileMap::of(path));
        // The usual case, without allocation.
        if let Some(map) = &known.map
            && let Some(range) = map.one_range(bytes.clone())
        {
            return IoPlace::One(Piece {
                device: number(map.disk),
                sector: range.start,
                end: range.end,
            });
        }
        let mut sectors = known.sectors(&bytes);
        if sectors.is_none() && known.made.elapsed() >= MAP_AGAIN {
            *known = FileMap::of(path);
            sectors = known.sectors(&bytes);
        }
        match (sectors, &known.map) {
            (Some(sectors), Some(map)) => IoPlace::Known(
                sectors
                    .into_iter()
                    .map(|range| Piece {
                        device: number(map.disk),
                        sector: range.start,
                        end: range.end,
                    })
                    .collect(),
            ),
            _ => IoPlace::Unknown,
        }
    }

    /// Why the places of files are unknown.
    fn messages(&self) -> Vec<String> {
        let mut all: Vec<String> = self
            .files
            .iter()
            .filter_map(|(path, map)| {
                let problem = map.as_ref()?.problem.as_ref()?;
                Some(format!(
                    "the position of {} on its device is unknown: {problem}",
                    path.display()
                ))
            })
            .collect();
        all.sort();
        all.truncate(5);
        all
    }
}

impl FileMap {
    fn of(path: &Path) -> FileMap {
        let (map, problem) = match BlockMap::of(path) {
            Ok(map) => (Some(map), None),
            Err(error) => (None, Some(error.to_string())),
        };
        FileMap {
            map,
            problem,
            made: Instant::now(),
        }
    }

    fn sectors(&self, bytes: &std::ops::Range<u64>) -> Option<Vec<fathom_linux::SectorRange>> {
        self.map.as_ref()?.sectors(bytes.clone())
    }
}

/// Who a thread is. One that has ended is a process without a name.
fn submitter(thread: u32) -> Submitter {
    let status = std::fs::read_to_string(format!("/proc/{thread}/status")).unwrap_or_default();
    let field = |name: &str| {
        status
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))
            .map(|value| value.trim().to_owned())
    };
    let pid = field("Tgid")
        .and_then(|pid| pid.parse().ok())
        .unwrap_or(thread);
    if pid == std::process::id() {
        return Submitter::Load;
    }
    let name = std::fs::read_to_string(format!("/proc/{pid}/comm"))
        .map(|name| name.trim_end().to_owned())
        .ok()
        .or_else(|| field("Name"))
        .unwrap_or_else(|| "ended".to_owned());
    // Kernel threads are children of kthreadd, process 2.
    if name.starts_with("kworker") && field("PPid").as_deref() == Some("2") {
        return Submitter::KernelWorker;
    }
    Submitter::Process { pid, name }
}
