//! The device I/O of a database by stream. The process of the load says when the measured time begins and ends; in between all
//! requests of the devices of the file systems are traced, and the names of the files say to which stream they belong.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use fathom_app::{Engine, Stream, StreamKind, StreamUse, log_folder_of};
use fathom_trace::{
    BlockDevices, DeviceNumber, IoDirection, Observer, Processes, Summary, TraceOptions,
    TraceSession, Tracefs, monotonic_ns,
};
use rustix::fs::{CWD, FileType, Mode, OFlags, mknodat};

use crate::observe::files::NamedFiles;
use crate::observe::target::device_of;

/// Pipes in the private folder: from the process of the load, and back to it.
const MARKS: &str = "marks";
const ANSWERS: &str = "answers";
const BEGIN: u8 = b'b';
const END: u8 = b'e';
/// The answer of who begins later: the process of the load waits as long as it takes.
const WAIT: u8 = b'w';
const GO_ON: u8 = b'a';
/// The process of the load waits no longer for the trace.
const PATIENCE: Duration = Duration::from_secs(20);
/// Between two readings of the ring buffers, and two looks at the pipe.
const POLL: Duration = Duration::from_millis(20);
/// Above this share of the ring buffers in use, the next reading follows at once.
const FULL: f64 = 0.25;
const BUFFER: u64 = 32 << 20;

/// Tells a trace that the measured time begins or is over, and waits until the trace has begun or ended. Without a trace it returns
/// at once.
pub fn announce(folder: &Path, begins: bool, stop: &dyn Fn() -> bool) {
    // Opening fails where no process reads.
    let (Ok(mut marks), Ok(mut answers)) = (
        open(&folder.join(MARKS), OpenOptions::new().write(true)),
        open(&folder.join(ANSWERS), OpenOptions::new().read(true)),
    ) else {
        return;
    };
    if marks
        .write_all(&[if begins { BEGIN } else { END }])
        .is_err()
    {
        return;
    }
    let started = Instant::now();
    let mut answer = [0];
    let mut patience = Some(PATIENCE);
    loop {
        match answers.read(&mut answer) {
            Ok(1) if answer[0] == WAIT => patience = None,
            Ok(1) => return,
            _ if stop() || patience.is_some_and(|patience| started.elapsed() > patience) => return,
            _ => std::thread::sleep(Duration::from_millis(1)),
        }
    }
}

fn open(path: &Path, options: &mut OpenOptions) -> std::io::Result<File> {
    let flags = OFlags::NONBLOCK | OFlags::CLOEXEC;
    options.custom_flags(flags.bits() as i32).open(path)
}

/// Opens a pipe of a private folder for both, so that it never ends and opening never waits. See fifo(7).
fn pipe(folder: &Path, name: &str) -> Result<File, String> {
    let path = folder.join(name);
    let _ = mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0);
    open(&path, OpenOptions::new().read(true).write(true))
        .map_err(|error| format!("{}: {error}", path.display()))
}

/// Lets a load begin its measured time together with others.
pub struct Gate {
    marks: File,
    answers: File,
}

impl Gate {
    /// Opens the gate of the database in `folder`, before its process is started.
    ///
    /// # Errors
    /// When its pipes cannot be created.
    pub fn new(folder: &Path) -> Result<Gate, String> {
        Ok(Gate {
            marks: pipe(folder, MARKS)?,
            answers: pipe(folder, ANSWERS)?,
        })
    }

    /// Whether the load is ready to begin. It then waits.
    pub fn is_ready(&mut self) -> bool {
        let mut mark = [0];
        let is_ready = matches!(self.marks.read(&mut mark), Ok(1)) && mark[0] == BEGIN;
        if is_ready {
            let _ = self.answers.write_all(&[WAIT]);
        }
        is_ready
    }

    /// Lets the load begin after `delay`; nobody waits for it at its end.
    pub fn release(&self, delay: Duration) {
        let Ok(mut answers) = self.answers.try_clone() else {
            return;
        };
        let mut answer = move || {
            std::thread::sleep(delay);
            // For the begin and for the end.
            let _ = answers.write_all(&[GO_ON, GO_ON]);
        };
        if delay.is_zero() {
            answer();
        } else {
            std::thread::spawn(answer);
        }
    }
}

/// A thread that waits for the measured time, and traces it.
pub struct StreamTrace {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Result<Vec<StreamUse>, String>>,
}

impl StreamTrace {
    /// Starts the thread for the database in `folder`.
    ///
    /// # Errors
    /// Why the streams will not be known.
    pub fn start(engine: Engine, folder: &Path) -> Result<StreamTrace, String> {
        let (marks, answers) = (pipe(folder, MARKS)?, pipe(folder, ANSWERS)?);
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let folder = folder.to_owned();
        let thread = std::thread::Builder::new()
            .name("streams".to_owned())
            .spawn(move || watch(engine, &folder, marks, answers, &stopped))
            .map_err(|error| error.to_string())?;
        Ok(StreamTrace { stop, thread })
    }

    /// The streams of the measured time; the load has ended.
    ///
    /// # Errors
    /// Why they are not known.
    pub fn finish(self) -> Result<Vec<StreamUse>, String> {
        self.stop.store(true, Ordering::Release);
        self.thread
            .join()
            .unwrap_or_else(|_| Err("the thread of the trace failed".to_owned()))
    }
}

fn watch(
    engine: Engine,
    folder: &Path,
    mut marks: File,
    mut answers: File,
    stop: &AtomicBool,
) -> Result<Vec<StreamUse>, String> {
    let mut trace = None;
    let mut result = Err("the measured time did not begin".to_owned());
    let mut mark = [0];
    loop {
        let is_over = stop.load(Ordering::Acquire);
        if matches!(marks.read(&mut mark), Ok(1)) {
            if mark[0] == BEGIN {
                trace = Some(Trace::start(folder));
            } else if let Some(trace) = trace.take() {
                result = trace.and_then(|trace| trace.finish(engine));
            }
            let _ = answers.write_all(&[GO_ON]);
        } else if is_over {
            // The load ended without an end of the measured time.
            return match trace {
                Some(trace) => trace.and_then(|trace| trace.finish(engine)),
                None => result,
            };
        }
        let full = match &mut trace {
            Some(Ok(running)) => match running.poll() {
                Ok(full) => full,
                Err(reason) => {
                    trace = Some(Err(reason));
                    0.0
                }
            },
            _ => 0.0,
        };
        if full < FULL {
            std::thread::sleep(POLL);
        }
    }
}

/// A folder of the database, and the device of its file system.
struct Place {
    folder: PathBuf,
    device: DeviceNumber,
    name: String,
}

/// A trace of the devices of the folders.
struct Trace {
    places: Vec<Place>,
    session: TraceSession,
    observer: Observer,
    files: NamedFiles,
    /// The session's files are below the mount.
    _tracefs: Tracefs,
}

impl Trace {
    fn start(folder: &Path) -> Result<Trace, String> {
        let text = |error: fathom_trace::TraceError| error.to_string();
        let known = BlockDevices::default();
        let mut places: Vec<Place> = Vec::new();
        let mut roots = Vec::new();
        let mut limits = HashMap::new();
        for folder in std::iter::once(folder.to_owned()).chain(log_folder_of(folder)) {
            let device = known
                .whole(device_of(&folder, &known)?)
                .ok_or_else(|| format!("{} has no block device", folder.display()))?;
            let found = known.limits(device);
            let name = found.name.clone();
            limits.insert(device, found);
            roots.push(folder.clone());
            places.push(Place {
                folder,
                device,
                name,
            });
        }
        let devices: Vec<DeviceNumber> = limits.keys().copied().collect();
        let tracefs = Tracefs::open().map_err(text)?;
        let mut files = NamedFiles::new(&roots, &[], &devices, &known)?;
        let bio_devices = devices
            .iter()
            .filter(|device| limits[*device].bio_based)
            .copied();
        let options = TraceOptions {
            bio_devices: bio_devices.collect(),
            devices,
            buffer_bytes: BUFFER,
            file_maps: files.file_maps(),
            ..TraceOptions::default()
        };
        let session = TraceSession::start(tracefs.root(), &options).map_err(text)?;
        let mut observer = Observer::new(monotonic_ns(), limits, Processes::default(), None);
        files.begin(observer.files());
        Ok(Trace {
            places,
            session,
            observer,
            files,
            _tracefs: tracefs,
        })
    }

    fn poll(&mut self) -> Result<f64, String> {
        let full = self
            .session
            .poll(&mut self.observer)
            .map_err(|error| error.to_string())?;
        self.files.refresh(self.observer.files());
        Ok(full)
    }

    fn finish(mut self, engine: Engine) -> Result<Vec<StreamUse>, String> {
        let end = monotonic_ns();
        self.session
            .finish(&mut self.observer)
            .map_err(|error| error.to_string())?;
        self.files.finish(self.observer.files());
        let summary = self.observer.finish(end);
        let mut all: Vec<StreamUse> = Vec::new();
        for place in &self.places {
            // Data and log may be on one device.
            if all.iter().all(|one| one.device != place.name) {
                all.push(streams(engine, &self.places, place, &summary));
            }
        }
        Ok(all)
    }
}

/// Sums of a stream: what is in a [`Stream`], and its time.
#[derive(Clone, Copy, Default)]
struct Sum {
    ios: [u64; 2],
    bytes: [u64; 2],
    time_ns: u128,
    timed: u64,
}

/// The requests of the files on a device by their streams; the others are those of the file system and of other programs.
fn streams(engine: Engine, places: &[Place], of: &Place, summary: &Summary) -> StreamUse {
    let mut sums = [Sum::default(); StreamKind::ALL.len()];
    if let Some(files) = &summary.files {
        for (path, file) in files.names.iter().zip(&files.files) {
            let path = Path::new(path);
            let mut below = places.iter().enumerate().filter_map(|(number, place)| {
                let rest = path.strip_prefix(&place.folder).ok()?;
                Some((number, place, rest))
            });
            let Some((number, place, rest)) = below.next() else {
                continue;
            };
            if place.device != of.device {
                continue;
            }
            // The second folder has the log only.
            let kind = match number {
                0 => StreamKind::of_file(engine, rest),
                _ => StreamKind::Log,
            };
            let sum = &mut sums[kind as usize];
            for direction in 0..2 {
                sum.ios[direction] += file.ios[direction];
                sum.bytes[direction] += file.bytes[direction];
            }
            sum.time_ns += file.latency.sum();
            sum.timed += file.latency.count();
        }
    }
    let mut used = StreamUse {
        device: of.name.clone(),
        lost: summary.gaps > 0,
        ..StreamUse::default()
    };
    if let Some(all) = summary.devices.get(&of.device) {
        let mut rest = Sum::default();
        for direction in [IoDirection::Read, IoDirection::Write] {
            let one = all.direction(direction);
            let place = direction as usize;
            let named =
                |of: fn(&Sum) -> [u64; 2]| -> u64 { sums.iter().map(|sum| of(sum)[place]).sum() };
            rest.ios[place] = one.requests.saturating_sub(named(|sum| sum.ios));
            rest.bytes[place] = one.bytes.saturating_sub(named(|sum| sum.bytes));
            rest.time_ns += one.phases.queue_to_complete.sum();
            rest.timed += one.phases.queue_to_complete.count();
        }
        let named: u128 = sums.iter().map(|sum| sum.time_ns).sum();
        rest.time_ns = rest.time_ns.saturating_sub(named);
        let named: u64 = sums.iter().map(|sum| sum.timed).sum();
        rest.timed = rest.timed.saturating_sub(named);
        sums[StreamKind::Rest as usize] = rest;
        used.flush_requests = all.flush_waits.count();
        let reads = all.direction(IoDirection::Read);
        used.sequential_reads = reads.at_device.share();
        used.read_ahead =
            (reads.requests > 0).then(|| reads.read_ahead as f64 / reads.requests as f64);
    }
    used.streams = StreamKind::ALL
        .into_iter()
        .zip(sums)
        .filter(|(_, sum)| sum.ios.iter().sum::<u64>() > 0)
        .map(|(kind, sum)| Stream {
            kind,
            reads: sum.ios[0],
            read_bytes: sum.bytes[0],
            writes: sum.ios[1],
            written_bytes: sum.bytes[1],
            latency_ns: (sum.timed > 0).then(|| sum.time_ns as f64 / sum.timed as f64),
        })
        .collect();
    used
}
