//! Runs any command and watches it: what its processes read and wrote, on which devices, and the conditions meanwhile.
//!
//! The command is started by a supervisor, a process of fathom in a control group of its own. The output, the environment and
//! the signals of the command stay as they would be without fathom.

mod files;
pub(crate) mod groups;
mod processes;
mod signals;
mod supervisor;

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, BufReader, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus};
use std::sync::Arc;

use fathom_load::{Clock, Host};
use fathom_model::{
    Conditions, DiskCounters, DiskRecording, GroupDisk, HostRecording, Nanos, OpenedFile,
    ProcessIo, ProgramEnd, TargetRecording, Telemetry, WatchedProcess, Witnessed,
};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::pipe::PipeFlags;
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use self::files::Files;
use self::groups::{GroupCount, Groups};
use self::processes::Totals;
use self::supervisor::Report;
pub use self::supervisor::{SUPERVISOR_VARIABLE, supervise};
use crate::clock::LinuxClock;
use crate::devices::DeviceWatch;
use crate::host::{ConditionsWatch, HostWatch, LinuxHost, block_devices};

/// Time between two readings at first.
const STEP: Nanos = Nanos::from_millis(250);
/// With this many readings, every second one is dropped, and the time between them doubles.
const MAX_READINGS: usize = 2048;
/// Open files are looked up after this time, then after twice that and so on, up to [`STEP`]: short commands have files too.
const FIRST_FILES: Nanos = Nanos::from_millis(4);
/// Looking up open files may take one part in so many of the time.
const FILES_SHARE: u64 = 50;
/// Devices whose health is read before and after.
const MAX_TARGETS: usize = 16;
/// A device on which less was transferred is not named where nothing says which devices the command used.
const LEAST_SECTORS: u64 = 2048;
/// Parts of these devices are in memory, or they have no medium.
const NO_TARGETS: [&str; 6] = ["loop", "ram", "zram", "sr", "fd", "nbd"];

/// What to watch.
#[derive(Clone, Debug, Default)]
pub struct WitnessOptions {
    /// The program and its arguments.
    pub command: Vec<String>,
    /// Processes that run already, and are watched with their descendants.
    pub servers: Vec<u32>,
    /// The program that calls [`supervise`] where [`SUPERVISOR_VARIABLE`] is set.
    pub supervisor: PathBuf,
    /// Variables that the command gets besides those of this process.
    pub environment: Vec<(String, String)>,
    /// Memory that the command may use, with its page cache, bytes. It needs a control group of its own.
    pub memory_limit: Option<u64>,
    /// Whether the user interrupted before signals are passed on; the command is then not started.
    pub interrupted: Option<fn() -> bool>,
}

/// What happens to a watched command, for those who watch it as well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WitnessEvent {
    /// The command is about to start, in control groups of this name.
    Ready(Option<String>),
    /// A process of the command, or one that is watched with it, was seen.
    Process(u32),
    /// The command has ended; its groups still exist.
    Ended,
}

/// Why a command was not watched.
#[derive(Debug, thiserror::Error)]
pub enum WitnessError {
    /// It cannot be started.
    #[error("{program}: {}", error_text(.error))]
    Command {
        /// The program.
        program: String,
        /// The reason.
        error: io::Error,
    },
    /// The supervisor cannot be started.
    #[error("cannot start the process that watches the command: {}", error_text(.0))]
    Supervisor(#[source] io::Error),
    /// The user interrupted before it was started.
    #[error("interrupted")]
    Interrupted,
    /// Its memory cannot be limited.
    #[error("cannot limit the memory: {0}")]
    MemoryLimit(String),
    /// There is no such process.
    #[error("no process {0}: --pid needs the number of a process that runs")]
    NoProcess(u32),
}

fn error_text(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error")
        .next()
        .unwrap_or_default()
        .to_owned()
}

/// What was counted in an interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CommandInterval {
    /// Start, counted from the start of the command.
    pub start: Nanos,
    /// Length.
    pub length: Nanos,
    /// The counters of all processes.
    pub io: ProcessIo,
}

/// A command that has ended.
#[derive(Clone, Debug)]
pub struct WitnessedRun {
    /// What it did.
    pub witnessed: Witnessed,
    /// How long it took.
    pub elapsed: Nanos,
    /// Length of the intervals.
    pub interval: Nanos,
    /// All of its time; the last one can be shorter.
    pub intervals: Vec<CommandInterval>,
    /// Devices that it used, before and after.
    pub disks: Vec<DiskRecording>,
    /// The same devices, with their properties.
    pub targets: Vec<TargetRecording>,
    /// The conditions meanwhile.
    pub conditions: Conditions,
    /// The machine.
    pub host: HostRecording,
}

/// Removes control groups that killed runs left behind, and returns their directories.
#[must_use]
pub fn remove_abandoned_groups() -> Vec<PathBuf> {
    groups::remove_abandoned()
}

/// What a process and all processes below it read and wrote, and their CPU time in user space and in the kernel. Those that
/// have exited are included once their parents waited for them.
#[must_use]
pub fn process_totals(process: u32) -> (ProcessIo, Nanos, Nanos) {
    let totals = processes::read_tree(process).totals;
    (totals.io, totals.user, totals.system)
}

/// A process and all processes below it that live.
#[must_use]
pub fn process_tree(process: u32) -> Vec<u32> {
    let mut found = vec![process];
    found.extend(processes::read_tree(process).processes);
    found
}

/// Runs a command to its end. Signals are passed on to it from now on. `on_event` must return soon.
///
/// # Errors
/// If it cannot be started.
pub fn witness(
    options: &WitnessOptions,
    clock: LinuxClock,
    on_event: &mut dyn FnMut(WitnessEvent),
) -> Result<WitnessedRun, WitnessError> {
    if let Some(pid) = options
        .servers
        .iter()
        .find(|pid| processes::running(**pid).is_none())
    {
        return Err(WitnessError::NoProcess(*pid));
    }
    let signals = signals::receive().map_err(WitnessError::Supervisor)?;
    // A later signal is passed on.
    if options.interrupted.is_some_and(|interrupted| interrupted()) {
        return Err(WitnessError::Interrupted);
    }
    let mut groups = match options.memory_limit {
        Some(limit) => Groups::create_limited(limit).map_err(WitnessError::MemoryLimit)?,
        None => Groups::create(),
    };
    let mut supervisor = Supervisor::start(options).map_err(WitnessError::Supervisor)?;
    groups.add(supervisor.child.id());
    on_event(WitnessEvent::Ready(groups.name()));
    for pid in &options.servers {
        on_event(WitnessEvent::Process(*pid));
    }
    let mut watch = Watch::start(options, supervisor.child.id(), groups, clock);
    supervisor.release().map_err(WitnessError::Supervisor)?;
    let status = watch.follow(&mut supervisor, &signals, on_event);
    let ended = clock.now();
    on_event(WitnessEvent::Ended);
    let run = match status {
        Ok(status) => Ok(watch.finish(options, status, ended)),
        Err(error) => {
            watch.groups.release();
            Err(WitnessError::Command {
                program: options.command.first().cloned().unwrap_or_default(),
                error,
            })
        }
    };
    supervisor.end();
    run
}

/// The supervisor and the pipes to it.
struct Supervisor {
    child: Child,
    control: Option<File>,
    reports: BufReader<File>,
}

impl Supervisor {
    /// Starts it, and waits until it is ready.
    fn start(options: &WitnessOptions) -> io::Result<Supervisor> {
        let (control_end, control) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?;
        let (reports, reports_end) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?;
        for inherited in [&control_end, &reports_end] {
            rustix::io::fcntl_setfd(inherited, rustix::io::FdFlags::empty())?;
        }
        let descriptors = format!("{},{}", control_end.as_raw_fd(), reports_end.as_raw_fd());
        let child = Command::new(&options.supervisor)
            .args(&options.command)
            .envs(options.environment.iter().cloned())
            .env(SUPERVISOR_VARIABLE, descriptors)
            .spawn()?;
        drop((control_end, reports_end));
        let mut supervisor = Supervisor {
            child,
            control: Some(File::from(control)),
            reports: BufReader::new(File::from(reports)),
        };
        match Report::read(&mut supervisor.reports) {
            Some(Report::Ready) => Ok(supervisor),
            _ => Err(io::Error::other("it ended at once")),
        }
    }

    /// Lets it start the command.
    fn release(&mut self) -> io::Result<()> {
        match &mut self.control {
            Some(control) => control.write_all(b"g"),
            None => Ok(()),
        }
    }

    /// Lets it end, and waits for it.
    fn end(mut self) {
        self.control = None;
        let _ = self.child.wait();
    }
}

/// The watch of a command.
struct Watch {
    clock: LinuxClock,
    host: Arc<LinuxHost>,
    start: Nanos,
    supervisor: u32,
    groups: Groups,
    servers: Vec<(WatchedProcess, Totals)>,
    readings: Vec<(Nanos, Totals)>,
    step: Nanos,
    processes: BTreeSet<u32>,
    files: Files,
    next_files: Nanos,
    files_wait: Nanos,
    disks_before: Vec<(String, DiskCounters)>,
    devices: DeviceWatch,
    machine: HostWatch,
    conditions: ConditionsWatch,
}

impl Watch {
    fn start(
        options: &WitnessOptions,
        supervisor: u32,
        groups: Groups,
        clock: LinuxClock,
    ) -> Watch {
        let host = Arc::new(LinuxHost::new(clock));
        let disks_before = block_devices();
        let names: Vec<String> = disks_before.iter().map(|(name, _)| name.clone()).collect();
        let paths: Vec<PathBuf> = names
            .iter()
            .filter(|name| !NO_TARGETS.iter().any(|kind| name.starts_with(kind)))
            .take(MAX_TARGETS)
            .map(|name| PathBuf::from(format!("/dev/{name}")))
            .collect();
        let devices = DeviceWatch::start(&paths);
        let servers = options
            .servers
            .iter()
            .filter_map(|pid| Some((processes::running(*pid)?, processes::read_tree(*pid).totals)))
            .collect();
        let machine = HostWatch::start();
        let conditions = ConditionsWatch::of_disks(&host, clock, names);
        conditions.load_started();
        let start = clock.now();
        Watch {
            clock,
            host,
            start,
            supervisor,
            groups,
            servers,
            readings: vec![(Nanos::ZERO, Totals::default())],
            step: STEP,
            processes: BTreeSet::new(),
            files: Files::new(),
            next_files: start + FIRST_FILES,
            files_wait: FIRST_FILES,
            disks_before,
            devices,
            machine,
            conditions,
        }
    }

    /// Reads the counters until the command has ended, and returns its status.
    fn follow(
        &mut self,
        supervisor: &mut Supervisor,
        signals: &OwnedFd,
        on_event: &mut dyn FnMut(WitnessEvent),
    ) -> io::Result<i32> {
        let mut command: Option<OwnedFd> = None;
        let mut waiting: Vec<i32> = Vec::new();
        let mut next_reading = self.start + self.step;
        loop {
            if supervisor.reports.buffer().is_empty() {
                let wait = next_reading
                    .min(self.next_files)
                    .saturating_sub(self.clock.now());
                wait_for(supervisor.reports.get_ref(), signals, wait);
            }
            for (signal, from_kernel) in signals::forwarded(signals) {
                // The command has it from the terminal already.
                if !from_kernel {
                    waiting.push(signal);
                }
            }
            if is_readable(supervisor) {
                match Report::read(&mut supervisor.reports) {
                    Some(Report::Ready) => {}
                    Some(Report::Started(pid)) => {
                        on_event(WitnessEvent::Process(pid));
                        command =
                            pid_of(pid).and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
                    }
                    Some(Report::Failed(errno)) => return Err(io::Error::from_raw_os_error(errno)),
                    Some(Report::Ended(status)) => return Ok(status),
                    // Killed: the command goes on without a watch, and its end is unknown.
                    None => return Err(io::Error::other("the process that watched it was killed")),
                }
            }
            if let Some(command) = &command {
                waiting
                    .drain(..)
                    .for_each(|signal| signals::send(command, signal));
            }
            let now = self.clock.now();
            if now >= self.next_files {
                let known = self.processes.clone();
                self.sample_files(now);
                for pid in self.processes.difference(&known) {
                    on_event(WitnessEvent::Process(*pid));
                }
            }
            if now >= next_reading {
                self.read(now);
                next_reading = now.max(next_reading) + self.step;
            }
        }
    }

    /// The open files of all processes. Expensive look-ups are done less often.
    fn sample_files(&mut self, now: Nanos) {
        let mut all = processes::read_tree(self.supervisor).processes;
        for (server, _) in &self.servers {
            all.push(server.process);
            all.extend(processes::read_tree(server.process).processes);
        }
        self.files.sample(&all);
        self.processes.extend(all);
        let cost = self.clock.now().saturating_sub(now);
        self.files_wait = Nanos::new(self.files_wait.get() * 2).min(self.step);
        let wait = self.files_wait.max(Nanos::new(cost.get() * FILES_SHARE));
        self.next_files = now + wait;
    }

    /// One reading of the counters. They never go back: between the end of a process and the moment when its parent waits for
    /// it, its counters can be missing.
    fn read(&mut self, now: Nanos) -> Vec<u32> {
        let own = processes::read_threads(self.supervisor);
        let tree = processes::read_tree(self.supervisor);
        let mut totals = tree.totals.since(&own);
        for (server, before) in &self.servers {
            let now = processes::read_tree(server.process).totals.since(before);
            totals = sum(&totals, &now);
        }
        let last = self
            .readings
            .last()
            .map_or(Totals::default(), |(_, last)| *last);
        let at = now.saturating_sub(self.start);
        self.readings.push((at, totals.max(&last)));
        self.processes.extend(&tree.processes);
        if self.readings.len() >= MAX_READINGS {
            let mut place = 0;
            self.readings.retain(|_| {
                place += 1;
                place % 2 == 1
            });
            self.step = Nanos::new(self.step.get() * 2);
        }
        tree.processes
    }

    fn finish(mut self, options: &WitnessOptions, status: i32, ended: Nanos) -> WitnessedRun {
        let elapsed = ended.saturating_sub(self.start);
        let mut left = self.read(ended);
        left.extend(self.groups.processes());
        left.sort_unstable();
        left.dedup();
        let left: Vec<WatchedProcess> = left
            .into_iter()
            .filter(|pid| *pid != self.supervisor)
            .filter_map(processes::running)
            .collect();
        let totals = self
            .readings
            .last()
            .map_or(Totals::default(), |(_, last)| *last);
        let count = self.groups.count();
        let after = block_devices();
        let files = self.files_with_disks();
        self.groups.release();
        let group_disks = count.as_ref().map_or(&[][..], |count| &count.disks);
        let disks = used_disks(&self.disks_before, &after, group_disks, &files);
        let names: Vec<&str> = disks.iter().map(|(disk, _)| disk.name.as_str()).collect();
        let missing = self.missing(&totals, count.as_ref(), &names);
        let mut conditions = self.conditions.finish(self.start);
        keep_disks(&mut conditions.telemetry, &names);
        conditions
            .limits
            .retain(|limit| names.contains(&limit.disk.as_str()));
        let mut targets = self.devices.finish();
        targets.retain(|target| {
            target
                .devices
                .iter()
                .any(|device| names.contains(&device.before.name.as_str()))
        });
        let witnessed = Witnessed {
            application: Vec::new(),
            costs: None,
            command: options.command.clone(),
            ended: program_end(status),
            processes: self.processes.len() as u64,
            servers: self.servers.into_iter().map(|(server, _)| server).collect(),
            left,
            io: totals.io,
            user: totals.user,
            system: totals.system,
            disks: group_disks
                .iter()
                .filter(|disk| names.contains(&disk.name.as_str()))
                .cloned()
                .collect(),
            files,
            unknown: missing,
        };
        WitnessedRun {
            witnessed,
            elapsed,
            interval: self.step,
            intervals: intervals(&self.readings, elapsed, self.step),
            disks: disks.into_iter().map(|(disk, _)| disk).collect(),
            targets,
            conditions,
            host: self.machine.finish(),
        }
    }

    fn files_with_disks(&mut self) -> Vec<OpenedFile> {
        let mut files = std::mem::take(&mut self.files).into_list();
        for file in files.iter_mut().filter(|file| !file.memory_backed) {
            let disks = self.host.disks(std::slice::from_ref(&file.path));
            file.disk = disks.into_iter().next().map(|(name, _)| name);
        }
        files
    }

    fn missing(
        &mut self,
        totals: &Totals,
        count: Option<&GroupCount>,
        disks: &[&str],
    ) -> Vec<String> {
        let mut missing = std::mem::take(&mut self.groups.missing);
        let uncounted: Vec<&str> = disks
            .iter()
            .copied()
            .filter(|disk| count.is_some_and(|count| !count.covers(disk)))
            .collect();
        if !uncounted.is_empty() {
            missing.push(format!(
                "the control group does not count I/O on {}: this kernel counts a device for a group of version 1 only if a limit \
                 was once set on it (blkio.throttle)",
                uncounted.join(", ")
            ));
        }
        if count.is_none() && missing.is_empty() {
            missing.push(
                "the control group does not count I/O by device: the io controller is not enabled above it (cgroup.subtree_control)"
                    .to_owned(),
            );
        }
        if !std::path::Path::new("/proc/self/io").exists() {
            missing.push(
                "this kernel does not count the I/O of processes (CONFIG_TASK_IO_ACCOUNTING)"
                    .to_owned(),
            );
        }
        if totals.refused {
            missing.push(
                "the I/O of a process of another user cannot be read (/proc/PID/io): the figures are too low; run fathom as root"
                    .to_owned(),
            );
        }
        missing
    }
}

fn sum(a: &Totals, b: &Totals) -> Totals {
    Totals {
        io: a.io.plus(&b.io),
        user: a.user + b.user,
        system: a.system + b.system,
        refused: a.refused || b.refused,
    }
}

fn pid_of(pid: u32) -> Option<Pid> {
    Pid::from_raw(i32::try_from(pid).ok()?)
}

/// Waits until one of the pipes is readable.
fn wait_for(reports: &File, signals: &OwnedFd, wait: Nanos) {
    let timeout = Timespec {
        tv_sec: (wait.get() / 1_000_000_000).cast_signed(),
        tv_nsec: (wait.get() % 1_000_000_000).cast_signed(),
    };
    let mut pipes = [
        PollFd::new(reports, PollFlags::IN),
        PollFd::new(signals, PollFlags::IN),
    ];
    // After a signal the loop continues.
    let _ = poll(&mut pipes, Some(&timeout));
}

/// Whether a report, or the end of all reports, can be read without waiting.
fn is_readable(supervisor: &Supervisor) -> bool {
    if !supervisor.reports.buffer().is_empty() {
        return true;
    }
    let now = Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    let mut pipe = [PollFd::new(supervisor.reports.get_ref(), PollFlags::IN)];
    poll(&mut pipe, Some(&now)).is_ok_and(|ready| ready > 0)
}

/// See waitpid(2).
fn program_end(status: i32) -> ProgramEnd {
    let status = ExitStatus::from_raw(status);
    match status.signal() {
        Some(signal) => ProgramEnd::Signal(signal),
        None => ProgramEnd::Code(status.code().unwrap_or(0)),
    }
}

/// The devices that the command used, with their change: those that its control group and its files name, or else all on which
/// something was transferred.
fn used_disks(
    before: &[(String, DiskCounters)],
    after: &[(String, DiskCounters)],
    group: &[GroupDisk],
    files: &[OpenedFile],
) -> Vec<(DiskRecording, u64)> {
    let named: BTreeSet<&str> = group
        .iter()
        .map(|disk| disk.name.as_str())
        .chain(files.iter().filter_map(|file| file.disk.as_deref()))
        .collect();
    let both = before.iter().filter_map(|(name, before)| {
        let (_, after) = after.iter().find(|(other, _)| other == name)?;
        let sectors = (after.read_sectors.saturating_sub(before.read_sectors))
            + after.write_sectors.saturating_sub(before.write_sectors);
        let disk = DiskRecording {
            name: name.clone(),
            before: *before,
            after: *after,
        };
        Some((disk, sectors))
    });
    both.filter(|(disk, sectors)| {
        if named.is_empty() {
            *sectors >= LEAST_SECTORS
        } else {
            named.contains(disk.name.as_str())
        }
    })
    .collect()
}

/// Drops the counters of other devices.
fn keep_disks(telemetry: &mut Telemetry, names: &[&str]) {
    let kept: Vec<bool> = telemetry
        .disks
        .iter()
        .map(|disk| names.contains(&disk.as_str()))
        .collect();
    let keep = |place: usize| kept.get(place).copied().unwrap_or(false);
    let mut place = 0..;
    telemetry.disks.retain(|_| place.next().is_some_and(keep));
    for sample in &mut telemetry.samples {
        let mut place = 0..;
        sample.disks.retain(|_| place.next().is_some_and(keep));
    }
}

/// Equal intervals from readings at any times: between two readings the counters are taken to grow evenly.
fn intervals(readings: &[(Nanos, Totals)], elapsed: Nanos, step: Nanos) -> Vec<CommandInterval> {
    let mut intervals = Vec::new();
    let (mut start, mut counted) = (Nanos::ZERO, ProcessIo::default());
    let mut place = 0;
    while start < elapsed {
        let end = (start + step).min(elapsed);
        while place + 2 < readings.len() && readings[place + 1].0 < end {
            place += 1;
        }
        let now = match (readings.get(place), readings.get(place + 1)) {
            (Some(a), Some(b)) if end < elapsed => between(a, b, end),
            _ => readings.last().map_or(counted, |(_, last)| last.io),
        };
        let now = now.max(&counted);
        intervals.push(CommandInterval {
            start,
            length: end.saturating_sub(start),
            io: now.since(&counted),
        });
        (start, counted) = (end, now);
    }
    intervals
}

fn between(a: &(Nanos, Totals), b: &(Nanos, Totals), at: Nanos) -> ProcessIo {
    let whole = b.0.saturating_sub(a.0).get().max(1);
    let part = at.saturating_sub(a.0).get().min(whole);
    let grown = b.1.io.since(&a.1.io);
    let share = |n: u64| (u128::from(n) * u128::from(part) / u128::from(whole)) as u64;
    a.1.io.plus(&ProcessIo {
        read_bytes: share(grown.read_bytes),
        written_bytes: share(grown.written_bytes),
        read_calls: share(grown.read_calls),
        write_calls: share(grown.write_calls),
        device_read_bytes: share(grown.device_read_bytes),
        device_written_bytes: share(grown.device_written_bytes),
        cancelled_bytes: share(grown.cancelled_bytes),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(ms: u64, bytes: u64) -> (Nanos, Totals) {
        let io = ProcessIo {
            read_bytes: bytes,
            ..ProcessIo::default()
        };
        (
            Nanos::from_millis(ms),
            Totals {
                io,
                ..Totals::default()
            },
        )
    }

    #[test]
    fn intervals_are_equal_and_add_up() {
        let readings = [
            reading(0, 0),
            reading(100, 1000),
            reading(200, 1000),
            reading(260, 1600),
        ];
        let found = intervals(&readings, Nanos::from_millis(260), Nanos::from_millis(50));
        let bytes: Vec<u64> = found.iter().map(|one| one.io.read_bytes).collect();
        assert_eq!(bytes, [500, 500, 0, 0, 500, 100]);
        let lengths: Nanos = found.iter().map(|one| one.length).sum();
        assert_eq!(lengths, Nanos::from_millis(260));
    }

    #[test]
    fn a_command_shorter_than_an_interval_has_one() {
        let found = intervals(
            &[reading(0, 0), reading(3, 77)],
            Nanos::from_millis(3),
            Nanos::from_millis(250),
        );
        assert_eq!(
            (found.len(), found[0].io.read_bytes, found[0].length),
            (1, 77, Nanos::from_millis(3))
        );
    }

    #[test]
    fn statuses_are_exit_codes_or_signals() {
        // waitpid(2): the code is in the second byte, the signal in the low seven bits.
        assert_eq!(program_end(3 << 8), ProgramEnd::Code(3));
        assert_eq!(program_end(9), ProgramEnd::Signal(9));
    }

    #[test]
    fn devices_that_the_command_used_are_kept() {
        let counters = |sectors| DiskCounters {
            read_sectors: sectors,
            ..DiskCounters::default()
        };
        let before = [
            ("vda".to_owned(), counters(0)),
            ("vdb".to_owned(), counters(0)),
        ];
        let after = [
            ("vda".to_owned(), counters(10)),
            ("vdb".to_owned(), counters(90_000)),
        ];
        let names = |files: &[OpenedFile]| {
            used_disks(&before, &after, &[], files)
                .into_iter()
                .map(|(disk, _)| disk.name)
                .collect::<Vec<_>>()
        };
        assert_eq!(names(&[]), ["vdb"]);
        let file = OpenedFile {
            disk: Some("vda".to_owned()),
            ..OpenedFile::default()
        };
        assert_eq!(names(&[file]), ["vda"]);
    }
}
