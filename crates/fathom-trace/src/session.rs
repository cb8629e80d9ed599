//! A private tracefs instance that records block events, and reading it in order of time.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::fs::OFlags;
use rustix::io::Errno;
use rustix::time::{ClockId, clock_gettime};

use crate::decode::{Decoded, Decoder, FileMapSource, ThreadName, ThreadNames, Tracepoint};
use crate::error::TraceError;
use crate::event::{BlockEvent, DeviceNumber};
use crate::format::EventFormat;
use crate::page::{Lost, PageLayout};

/// What is recorded, and how much memory of the kernel it may take.
#[derive(Clone, Debug)]
pub struct TraceOptions {
    /// Only events of these whole devices, as the block layer numbers them (a partition's I/O has the number of its disk);
    /// empty: of all.
    pub devices: Vec<DeviceNumber>,
    /// The tracepoints. Those that the kernel does not have are listed in [`TraceSession::missing`].
    pub tracepoints: Vec<Tracepoint>,
    /// Devices without requests (such as zram, dm and md), whose bios complete by `block_bio_complete`. For other devices
    /// only failed bios are recorded.
    pub bio_devices: Vec<DeviceNumber>,
    /// Bytes of all ring buffers together.
    pub buffer_bytes: u64,
    /// File systems whose tracepoints say which file is where ([`BlockEvent`]s of the kind `FileMap`), by their devices.
    pub file_maps: Vec<(FileMapSource, DeviceNumber)>,
}

impl Default for TraceOptions {
    fn default() -> Self {
        use Tracepoint as T;
        Self {
            devices: Vec::new(),
            tracepoints: vec![
                T::BioQueue,
                T::Split,
                T::BackMerge,
                T::FrontMerge,
                T::RequestMerge,
                T::Insert,
                T::Issue,
                T::Complete,
                T::Requeue,
                T::BioComplete,
            ],
            bio_devices: Vec::new(),
            buffer_bytes: 64 << 20,
            file_maps: Vec::new(),
        }
    }
}

/// Receives the events of a trace in order of time.
pub trait TraceConsumer {
    /// One event.
    fn event(&mut self, event: &BlockEvent);

    /// A thread submits its first I/O, or has another name than before. Called before the events that follow; the thread may have
    /// ended already.
    fn thread(&mut self, thread: u32, name: &ThreadName) {
        let _ = (thread, name);
    }

    /// Before this time events were lost on one CPU: so many, or 0 where the kernel does not say.
    fn lost(&mut self, time_ns: u64, events: u64) {
        let _ = (time_ns, events);
    }
}

impl<F: FnMut(&BlockEvent)> TraceConsumer for F {
    fn event(&mut self, event: &BlockEvent) {
        self(event);
    }
}

/// A time stamp of the trace between two readings of `CLOCK_MONOTONIC`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockCheck {
    /// Read before the marker was written to the trace.
    pub before_ns: u64,
    /// The marker's time stamp in the trace.
    pub trace_ns: u64,
    /// Read after it was written.
    pub after_ns: u64,
}

impl ClockCheck {
    /// How far the clock of the trace is outside of both readings; 0 if it is between them.
    #[must_use]
    pub fn difference_ns(&self) -> u64 {
        self.before_ns
            .saturating_sub(self.trace_ns)
            .max(self.trace_ns.saturating_sub(self.after_ns))
    }
}

/// What a trace recorded, in total.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceTotals {
    /// Block events delivered.
    pub events: u64,
    /// Events overwritten before they were read.
    pub lost: u64,
    /// Events delivered after one with a later time: a CPU was stopped between taking the time and writing the event.
    pub out_of_order: u64,
    /// Comparisons of the trace's clock with `CLOCK_MONOTONIC`, at the start and at the end.
    pub clock: Vec<ClockCheck>,
    /// Bytes of the ring buffers of all CPUs.
    pub buffer_bytes: u64,
}

/// Events of one CPU that are read but not delivered.
#[derive(Debug)]
struct Cpu {
    number: u16,
    pipe: File,
    events: Vec<BlockEvent>,
    next: usize,
    /// Lost events before the event with this index.
    lost: Vec<(usize, u64)>,
    next_lost: usize,
    /// Everything that was in the ring buffer has been read.
    empty: bool,
}

impl Cpu {
    fn head(&self) -> Option<u64> {
        self.events.get(self.next).map(|event| event.time_ns)
    }
}

/// A recording of block events in progress. Dropping it removes its instance from tracefs.
#[derive(Debug)]
pub struct TraceSession {
    root: PathBuf,
    instance: PathBuf,
    name: String,
    /// Closing it stops the trace and frees its buffers, also when this process is killed.
    free_buffer: Option<File>,
    cpus: Vec<Cpu>,
    page: Vec<u8>,
    layout: PageLayout,
    decoder: Decoder,
    names: ThreadNames,
    missing: Vec<Tracepoint>,
    totals: TraceTotals,
    last_time: u64,
    delivered: u64,
    markers: Vec<(u64, u64)>,
    checks: Vec<(u64, u64, u64)>,
    events_per_cpu: usize,
}

/// Decoded events that are kept for sorting, of all CPUs together (56 bytes each).
const EVENTS_KEPT: usize = 1 << 19;
/// A CPU writes an event at most so long after it took its time, unless the hypervisor or an interrupt stops it.
const COMMIT_NS: u64 = 1_000_000;
/// The size of a sub-buffer where the kernel (6.8 or newer) lets it be chosen: fewer system calls than with pages.
const SUB_BUFFER_KIB: u64 = 64;
/// How often, and after which pause, an instance that is in use is removed again.
const REMOVE_TRIES: u32 = 50;
const REMOVE_PAUSE: std::time::Duration = std::time::Duration::from_millis(20);
static SESSIONS: AtomicU32 = AtomicU32::new(0);

/// Nanoseconds of `CLOCK_MONOTONIC`, the clock of all events.
#[must_use]
pub fn monotonic_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

impl TraceSession {
    /// Creates an instance below `tracefs` (the root of a mounted tracefs) and starts to record.
    ///
    /// # Errors
    /// If tracefs refuses (permission, memory), or the kernel has no block tracepoints.
    pub fn start(tracefs: &Path, options: &TraceOptions) -> Result<Self, TraceError> {
        let header = read_text(tracefs, Path::new("events/header_page"))?;
        let layout = PageLayout::parse(&header).map_err(|problem| TraceError::Format {
            path: "events/header_page".into(),
            problem,
        })?;
        let mut decoder = Decoder::default();
        let mut missing = Vec::new();
        for &tracepoint in &options.tracepoints {
            match read_format(tracefs, "block", tracepoint.name()) {
                Ok(format) => decoder.add(tracepoint, &format),
                Err(TraceError::File { source, .. }) if source.kind() == ErrorKind::NotFound => {
                    missing.push(tracepoint);
                }
                Err(error) => return Err(error),
            }
        }
        if missing.len() == options.tracepoints.len() {
            return Err(TraceError::NoTracepoints);
        }
        if let Ok(format) = read_format(tracefs, "ftrace", "print") {
            decoder.add_marker(&format);
        }
        let mut file_maps = Vec::new();
        for source in FileMapSource::ALL {
            let (system, names) = source.tracepoints();
            if let Some(filter) = file_map_filter(source, options) {
                for name in names {
                    // What a kernel does not have is not known by it; the places of files by FIEMAP remain.
                    if let Ok(format) = read_format(tracefs, system, name)
                        && decoder.add_file_map(source, &format)
                    {
                        file_maps.push((format!("events/{system}/{name}"), filter.clone()));
                    }
                }
            }
        }
        let name = instance_name(SESSIONS.fetch_add(1, Ordering::Relaxed));
        let instance = Path::new("instances").join(&name);
        fs::create_dir(tracefs.join(&instance)).map_err(|source| TraceError::File {
            action: "create",
            path: instance.clone(),
            source,
        })?;
        let mut session = Self {
            root: tracefs.to_owned(),
            instance,
            name,
            free_buffer: None,
            cpus: Vec::new(),
            page: Vec::new(),
            layout,
            decoder,
            names: ThreadNames::default(),
            missing,
            totals: TraceTotals::default(),
            last_time: 0,
            delivered: 0,
            markers: Vec::new(),
            checks: Vec::new(),
            events_per_cpu: 0,
        };
        session.set_up(options, &file_maps)?;
        Ok(session)
    }

    fn set_up(
        &mut self,
        options: &TraceOptions,
        file_maps: &[(String, String)],
    ) -> Result<(), TraceError> {
        // Without the option the file only shrinks the buffer; without the file the buffer lives as long as the instance.
        let _ = self.write("options/disable_on_free", "1");
        self.free_buffer = OpenOptions::new()
            .write(true)
            .open(self.path("free_buffer"))
            .ok();
        match self.write("trace_clock", "mono") {
            Err(TraceError::File { source, .. }) if source.kind() == ErrorKind::InvalidInput => {
                return Err(TraceError::NoClock);
            }
            result => result?,
        }
        self.write("tracing_on", "0")?;
        let numbers = cpu_numbers(&self.path("per_cpu"))?;
        let per_cpu_kib = (options.buffer_bytes / 1024 / numbers.len().max(1) as u64).max(8);
        let sub_buffer = SUB_BUFFER_KIB.min(per_cpu_kib / 8);
        if sub_buffer > 4 {
            // Older kernels have no such file, and large pages may be unavailable: then a sub-buffer stays one page.
            let _ = self.write("buffer_subbuf_size_kb", &sub_buffer.to_string());
        }
        let sub_buffer = self
            .read("buffer_subbuf_size_kb")
            .and_then(|text| text.trim().parse().ok())
            .unwrap_or(4)
            .max(rustix::param::page_size() / 1024);
        self.page = vec![0; sub_buffer * 1024];
        self.write("buffer_size_kb", &per_cpu_kib.to_string())?;
        self.totals.buffer_bytes = per_cpu_kib * 1024 * numbers.len() as u64;
        for number in numbers {
            let path = format!("per_cpu/cpu{number}/trace_pipe_raw");
            let pipe = OpenOptions::new()
                .read(true)
                .custom_flags(OFlags::NONBLOCK.bits() as i32)
                .open(self.path(&path))
                .map_err(|source| self.error("open", &path, source))?;
            self.cpus.push(Cpu {
                number,
                pipe,
                events: Vec::new(),
                next: 0,
                lost: Vec::new(),
                next_lost: 0,
                empty: false,
            });
        }
        self.events_per_cpu = (EVENTS_KEPT / self.cpus.len().max(1)).max(4096);
        for &tracepoint in &options.tracepoints {
            if self.missing.contains(&tracepoint) {
                continue;
            }
            let event = format!("events/block/{}", tracepoint.name());
            if let Some(filter) = filter(tracepoint, options) {
                self.write(&format!("{event}/filter"), &filter)?;
            }
            self.write(&format!("{event}/enable"), "1")?;
        }
        for (event, filter) in file_maps {
            // A kernel that cannot filter by the device lets other ways find the places of files.
            if self.write(&format!("{event}/filter"), filter).is_ok() {
                self.write(&format!("{event}/enable"), "1")?;
            }
        }
        self.write("tracing_on", "1")?;
        self.write_marker();
        Ok(())
    }

    /// The tracepoints that were wanted and that this kernel does not have: what depends on them is unknown, not zero.
    #[must_use]
    pub fn missing(&self) -> &[Tracepoint] {
        &self.missing
    }

    /// The name of the instance below `instances`.
    #[must_use]
    pub fn instance_name(&self) -> &str {
        &self.name
    }

    /// The names of the threads seen so far.
    #[must_use]
    pub fn threads(&self) -> &ThreadNames {
        &self.names
    }

    /// Counts so far.
    #[must_use]
    pub fn totals(&self) -> &TraceTotals {
        &self.totals
    }

    /// Delivers the events recorded so far, except those of the last millisecond, which may still be incomplete.
    /// Returns the share of the ring buffers that was in use, as far as it is known: a caller that polls at intervals
    /// should shorten them above one quarter.
    ///
    /// # Errors
    /// If a ring buffer cannot be read.
    pub fn poll(&mut self, consumer: &mut dyn TraceConsumer) -> Result<f64, TraceError> {
        let now = monotonic_ns();
        let bytes = self.fill()?;
        self.deliver(now.saturating_sub(COMMIT_NS), consumer);
        Ok(bytes as f64 / self.totals.buffer_bytes.max(1) as f64)
    }

    /// All events up to this time have been delivered. It is far behind the clock while the ring buffers hold more than one call of
    /// [`TraceSession::poll`] reads.
    #[must_use]
    pub fn delivered(&self) -> u64 {
        self.delivered
    }

    /// Stops recording, delivers the rest, and removes the instance.
    ///
    /// # Errors
    /// If tracefs refuses.
    pub fn finish(
        mut self,
        consumer: &mut dyn TraceConsumer,
    ) -> Result<(TraceTotals, ThreadNames), TraceError> {
        self.write_marker();
        self.write("tracing_on", "0")?;
        loop {
            let bytes = self.fill()?;
            self.deliver(u64::MAX, consumer);
            if bytes == 0 {
                break;
            }
        }
        let overwritten = self
            .cpus
            .iter()
            .map(|cpu| self.overwritten(cpu.number))
            .sum();
        let mut totals = std::mem::take(&mut self.totals);
        totals.lost = totals.lost.max(overwritten);
        let names = std::mem::take(&mut self.names);
        for &(number, before_ns, after_ns) in &self.checks {
            let marker = self.markers.iter().find(|marker| marker.0 == number);
            totals.clock.extend(marker.map(|&(_, trace_ns)| ClockCheck {
                before_ns,
                trace_ns,
                after_ns,
            }));
        }
        self.remove()?;
        Ok((totals, names))
    }

    /// Reads what the ring buffers have, as far as there is room for it. Returns the bytes read.
    fn fill(&mut self) -> Result<usize, TraceError> {
        let mut total = 0;
        for cpu in &mut self.cpus {
            if cpu.next > 0 {
                cpu.events.drain(..cpu.next);
                cpu.next = 0;
                cpu.lost.drain(..cpu.next_lost);
                cpu.next_lost = 0;
            }
            cpu.empty = false;
            while cpu.events.len() < self.events_per_cpu {
                let bytes = match cpu.pipe.read(&mut self.page) {
                    Ok(bytes) => bytes,
                    Err(error) if error.kind() == ErrorKind::WouldBlock => 0,
                    Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                    Err(source) => {
                        return Err(TraceError::File {
                            action: "read",
                            path: self
                                .instance
                                .join(format!("per_cpu/cpu{}/trace_pipe_raw", cpu.number)),
                            source,
                        });
                    }
                };
                if bytes == 0 {
                    cpu.empty = true;
                    break;
                }
                let Some(page) = self.layout.read(&self.page[..bytes]) else {
                    continue;
                };
                let lost = match page.lost() {
                    Lost::None => None,
                    Lost::Events(count) => Some(count),
                    Lost::Unknown => Some(0),
                };
                if let Some(count) = lost {
                    self.totals.lost += count.max(1);
                    cpu.lost.push((cpu.events.len(), count));
                }
                for (time, event) in page {
                    total += event.len() + 4;
                    match self
                        .decoder
                        .decode(time, cpu.number, event, &mut self.names)
                    {
                        Decoded::Block(event) => cpu.events.push(event),
                        Decoded::Marker(number) => self.markers.push((number, time)),
                        Decoded::Other => {}
                    }
                }
            }
        }
        Ok(total)
    }

    /// Delivers events up to `horizon` in order of time.
    fn deliver(&mut self, mut horizon: u64, consumer: &mut dyn TraceConsumer) {
        for (thread, name) in self.names.take_changed() {
            consumer.thread(thread, &name);
        }
        // Where events are left in a ring buffer, the other CPUs must wait for them.
        for cpu in &self.cpus {
            if !cpu.empty {
                horizon = horizon.min(cpu.events.last().map_or(0, |event| event.time_ns));
            }
        }
        self.delivered = horizon;
        loop {
            let (mut first, mut second) = (None::<(u64, usize)>, u64::MAX);
            for (index, cpu) in self.cpus.iter().enumerate() {
                let Some(time) = cpu.head() else { continue };
                match first {
                    Some((earliest, _)) if time >= earliest => second = second.min(time),
                    _ => {
                        second = first.map_or(second, |(earliest, _)| earliest);
                        first = Some((time, index));
                    }
                }
            }
            let Some((time, index)) = first else { break };
            if time > horizon {
                break;
            }
            let until = second.min(horizon);
            let cpu = &mut self.cpus[index];
            while let Some(event) = cpu.events.get(cpu.next)
                && event.time_ns <= until
            {
                while let Some(&(at, count)) = cpu.lost.get(cpu.next_lost)
                    && at <= cpu.next
                {
                    consumer.lost(event.time_ns, count);
                    cpu.next_lost += 1;
                }
                if event.time_ns < self.last_time {
                    self.totals.out_of_order += 1;
                }
                self.last_time = self.last_time.max(event.time_ns);
                self.totals.events += 1;
                consumer.event(event);
                cpu.next += 1;
            }
        }
    }

    /// Writes a number with a time stamp into the trace, between two readings of our clock.
    fn write_marker(&mut self) {
        let number = self.checks.len() as u64;
        // Without a byte that ends a text.
        let number = u64::from_ne_bytes([b'0' + number as u8; 8]);
        let Ok(mut file) = OpenOptions::new()
            .write(true)
            .open(self.path("trace_marker"))
        else {
            return;
        };
        let before = monotonic_ns();
        let written = file.write(&number.to_ne_bytes());
        let after = monotonic_ns();
        if written.is_ok() {
            self.checks.push((number, before, after));
        }
    }

    /// Events that the kernel overwrote or dropped on this CPU, by its own count.
    fn overwritten(&self, cpu: u16) -> u64 {
        self.read(&format!("per_cpu/cpu{cpu}/stats"))
            .unwrap_or_default()
            .lines()
            .filter_map(|line| line.split_once(':'))
            .filter(|(name, _)| matches!(*name, "overrun" | "commit overrun" | "dropped events"))
            .filter_map(|(_, value)| value.trim().parse::<u64>().ok())
            .sum()
    }

    fn path(&self, file: &str) -> PathBuf {
        self.root.join(&self.instance).join(file)
    }

    fn read(&self, file: &str) -> Option<String> {
        read_whole(&self.path(file)).ok()
    }

    fn write(&self, file: &str, value: &str) -> Result<(), TraceError> {
        fs::write(self.path(file), value).map_err(|source| self.error("write", file, source))
    }

    fn error(&self, action: &'static str, file: &str, source: io::Error) -> TraceError {
        TraceError::File {
            action,
            path: self.instance.join(file),
            source,
        }
    }

    fn remove(&mut self) -> Result<(), TraceError> {
        // An instance with open files cannot be removed.
        self.cpus.clear();
        self.free_buffer = None;
        let instance = std::mem::take(&mut self.instance);
        if instance.as_os_str().is_empty() {
            return Ok(());
        }
        let mut tries = REMOVE_TRIES;
        loop {
            match fs::remove_dir(self.root.join(&instance)) {
                // Another program reads a file of it at this moment.
                Err(error) if error.kind() == ErrorKind::ResourceBusy && tries > 0 => {
                    tries -= 1;
                    std::thread::sleep(REMOVE_PAUSE);
                }
                Err(error) if is_already_removed(&error) => return Ok(()),
                Err(source) => {
                    return Err(TraceError::File {
                        action: "remove",
                        path: instance,
                        source,
                    });
                }
                Ok(()) => return Ok(()),
            }
        }
    }
}

impl Drop for TraceSession {
    fn drop(&mut self) {
        // Nobody is left to whom an error could be reported; the next start removes what is left.
        let _ = self.remove();
    }
}

fn any_of(devices: &[DeviceNumber]) -> String {
    let terms: Vec<String> = devices
        .iter()
        .map(|device| format!("dev == {}", device.0))
        .collect();
    terms.join(" || ")
}

/// The file systems of this source; `None` without one.
fn file_map_filter(source: FileMapSource, options: &TraceOptions) -> Option<String> {
    let wanted = options.file_maps.iter().filter(|(one, _)| *one == source);
    let devices: Vec<DeviceNumber> = wanted.map(|(_, device)| *device).collect();
    (!devices.is_empty()).then(|| any_of(&devices))
}

fn filter(tracepoint: Tracepoint, options: &TraceOptions) -> Option<String> {
    let wanted = any_of(&options.devices);
    match tracepoint {
        // They have no device.
        Tracepoint::Plug | Tracepoint::Unplug => None,
        Tracepoint::BioComplete => {
            let mut terms = vec!["error != 0".to_owned()];
            if !wanted.is_empty() {
                terms[0] = format!("(error != 0 && ({wanted}))");
            }
            if !options.bio_devices.is_empty() {
                terms.push(any_of(&options.bio_devices));
            }
            Some(terms.join(" || "))
        }
        _ if wanted.is_empty() => None,
        _ => Some(wanted),
    }
}

fn read_text(root: &Path, path: &Path) -> Result<String, TraceError> {
    read_whole(&root.join(path)).map_err(|source| TraceError::File {
        action: "read",
        path: path.to_owned(),
        source,
    })
}

/// Reads a file with a large buffer: the kernel gives `header_page` only to the first read, however short that is.
fn read_whole(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let mut buffer = vec![0; 64 << 10];
    let mut text = Vec::new();
    loop {
        match file.read(&mut buffer)? {
            0 => return String::from_utf8(text).map_err(io::Error::other),
            bytes => text.extend_from_slice(&buffer[..bytes]),
        }
    }
}

fn read_format(root: &Path, system: &str, event: &str) -> Result<EventFormat, TraceError> {
    let path = Path::new("events").join(system).join(event).join("format");
    let text = read_text(root, &path)?;
    EventFormat::parse(&text).map_err(|problem| TraceError::Format { path, problem })
}

/// The CPUs that have a ring buffer.
fn cpu_numbers(per_cpu: &Path) -> Result<Vec<u16>, TraceError> {
    let entries = fs::read_dir(per_cpu).map_err(|source| TraceError::File {
        action: "read",
        path: per_cpu.to_owned(),
        source,
    })?;
    let mut numbers: Vec<u16> = entries
        .filter_map(|entry| {
            let name = entry.ok()?.file_name();
            name.to_str()?.strip_prefix("cpu")?.parse().ok()
        })
        .collect();
    numbers.sort_unstable();
    Ok(numbers)
}

const PREFIX: &str = "fathom-";

/// `fathom-PID-START-NUMBER`: the process, when it started (in the kernel's ticks), and which of its sessions it is.
fn instance_name(number: u32) -> String {
    let pid = std::process::id();
    format!(
        "{PREFIX}{pid}-{}-{number}",
        process_start(pid).unwrap_or_default()
    )
}

/// Field 22 of `/proc/PID/stat`. A process number is used again, but not with the same start.
fn process_start(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let after_name = stat.rsplit_once(')')?.1;
    after_name.split_whitespace().nth(19)?.parse().ok()
}

/// Removes instances of fathom whose process does not exist any more, and returns their names. One that is in use, for
/// example in another container, is left alone: the kernel refuses to remove it.
///
/// # Errors
/// If the instances cannot be listed, or a dead one not removed.
pub fn remove_dead_instances(tracefs: &Path) -> Result<Vec<String>, TraceError> {
    let directory = Path::new("instances");
    let entries = fs::read_dir(tracefs.join(directory)).map_err(|source| TraceError::File {
        action: "read",
        path: directory.to_owned(),
        source,
    })?;
    let mut removed = Vec::new();
    for entry in entries.flatten() {
        let Some(name) = dead_instance(&entry.file_name()) else {
            continue;
        };
        let path = directory.join(&name);
        match fs::remove_dir(tracefs.join(&path)) {
            Ok(()) => removed.push(name),
            Err(error) if error.kind() == ErrorKind::ResourceBusy || is_already_removed(&error) => {
            }
            Err(source) => {
                return Err(TraceError::File {
                    action: "remove",
                    path,
                    source,
                });
            }
        }
    }
    Ok(removed)
}

/// Whether an instance could not be removed because another program removed it first. Between the lookup of the
/// directory and the kernel's lookup of the instance the kernel reports `ENODEV` for that.
fn is_already_removed(error: &io::Error) -> bool {
    error.kind() == ErrorKind::NotFound || error.raw_os_error() == Some(Errno::NODEV.raw_os_error())
}

/// The name of an instance of ours whose process is gone.
fn dead_instance(name: &OsString) -> Option<String> {
    let name = name.to_str()?;
    let mut parts = name.strip_prefix(PREFIX)?.split('-');
    let pid: u32 = parts.next()?.parse().ok()?;
    let start: u64 = parts.next()?.parse().ok()?;
    let _: u32 = parts.next()?.parse().ok()?;
    (parts.next().is_none() && process_start(pid) != Some(start)).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_instances_of_dead_processes_are_ours_to_remove() {
        let own = instance_name(3);
        assert_eq!(dead_instance(&own.clone().into()), None, "{own}");
        let pid = std::process::id();
        // The same process number, started at another time.
        let reused = format!("fathom-{pid}-1-0");
        assert_eq!(dead_instance(&reused.clone().into()), Some(reused));
        for foreign in [
            "fathom-x-1-0",
            "fathom-1-0",
            "fathom-1-2-3-4",
            "perf",
            "fathom-",
        ] {
            assert_eq!(dead_instance(&foreign.into()), None, "{foreign}");
        }
    }

    #[test]
    fn dead_instances_are_removed_and_named() {
        let root = std::env::temp_dir().join(format!("fathom-instances-{}", std::process::id()));
        let instances = root.join("instances");
        for name in ["fathom-4194304-1-0", "perf", instance_name(0).as_str()] {
            fs::create_dir_all(instances.join(name)).unwrap();
        }
        let removed = remove_dead_instances(&root);
        let left = fs::read_dir(&instances).unwrap().count();
        fs::remove_dir_all(&root).unwrap();
        assert_eq!(removed.unwrap(), ["fathom-4194304-1-0"]);
        assert_eq!(left, 2);
    }

    #[test]
    fn filters_name_the_devices() {
        let mut options = TraceOptions {
            devices: vec![DeviceNumber::new(7, 0), DeviceNumber::new(7, 1)],
            ..TraceOptions::default()
        };
        let seven = 7 << 20;
        let both = format!("dev == {seven} || dev == {}", seven + 1);
        assert_eq!(filter(Tracepoint::Issue, &options), Some(both.clone()));
        assert_eq!(filter(Tracepoint::Unplug, &options), None);
        options.bio_devices = vec![DeviceNumber::new(7, 1)];
        assert_eq!(
            filter(Tracepoint::BioComplete, &options),
            Some(format!("(error != 0 && ({both})) || dev == {}", seven + 1))
        );
        options.devices.clear();
        assert_eq!(filter(Tracepoint::Issue, &options), None);
    }
}
