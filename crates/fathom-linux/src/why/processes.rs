//! Processes and their threads.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use fathom_trace::{ProcessCounts, Processes, WaitingThread, WhyLook, WhyProcess, WhyReading};

use super::calls::call;
use super::stat::Stat;

/// Processes that are read at most.
const MAX_PROCESSES: usize = 2_000;
/// Threads that are looked at in one look at most.
const MAX_THREADS: usize = 4_000;
/// Where a thread waits for the server of a FUSE file system, also interruptibly.
const FUSE_WAIT: &str = "request_wait_answer";

/// The numbers in a directory, those of `first` before all others.
fn numbers(directory: &Path, first: &[u32]) -> Vec<u32> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut numbers: Vec<u32> = entries
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect();
    numbers.sort_by_key(|number| (!first.contains(number), *number));
    numbers
}

fn text(directory: &Path, file: &str) -> Option<String> {
    fs::read_to_string(directory.join(file)).ok()
}

fn stat(directory: &Path) -> Option<Stat> {
    Stat::parse(&text(directory, "stat")?)
}

/// Directories of the threads of a process; one with a single thread has its figures itself.
fn threads(process: &Path, pid: u32, count: u64) -> Vec<(u32, PathBuf)> {
    if count <= 1 {
        return vec![(pid, process.to_owned())];
    }
    let tasks = process.join("task");
    let found = numbers(&tasks, &[]);
    found
        .into_iter()
        .map(|thread| (thread, tasks.join(thread.to_string())))
        .collect()
}

/// Bytes that devices read and wrote for these threads; `None` where the kernel or this user does not see them.
fn own_bytes(process: &Path, threads: impl Iterator<Item = u32>) -> Option<[u64; 2]> {
    let mut sum = [0; 2];
    for thread in threads {
        let text = text(process, &format!("task/{thread}/io"))?;
        let counts = ProcessCounts::parse("", &text).device;
        sum = [sum[0] + counts[0], sum[1] + counts[1]];
    }
    Some(sum)
}

/// Adds all processes but the kernel's own.
pub(super) fn read(proc: &Path, first: &[u32], reading: &mut WhyReading) {
    let mut known = Processes::of_tree(proc);
    let mut budget = MAX_THREADS;
    for pid in numbers(proc, first) {
        let directory = proc.join(pid.to_string());
        if reading.processes.len() >= MAX_PROCESSES {
            reading.skipped_processes += 1;
            continue;
        }
        let Some(stat) = stat(&directory).filter(|stat| !stat.is_kernel) else {
            continue;
        };
        let counts = match fs::read_to_string(directory.join("io")) {
            Ok(text) => Some(ProcessCounts::parse(&stat.name, &text)),
            Err(error) => {
                // One that has ended meanwhile is not hidden.
                let is_hidden = error.kind() != ErrorKind::NotFound || directory.exists();
                reading.hidden_processes += u64::from(is_hidden);
                None
            }
        };
        let threads = threads(&directory, pid, stat.threads.min(budget as u64));
        budget = budget.saturating_sub(threads.len());
        let own_bytes = own_bytes(&directory, threads.iter().map(|(thread, _)| *thread));
        let delays = threads.into_iter().filter_map(|(thread, path)| {
            let delay = if path == directory {
                stat.delay
            } else {
                self::stat(&path)?.delay
            };
            Some((thread, delay))
        });
        let process = WhyProcess {
            parent: stat.parent,
            group: known.of(pid).group.clone(),
            memory_group: known.of(pid).memory_group.clone(),
            counts,
            own_bytes,
            major_faults: stat.major_faults,
            delays: delays.collect(),
            name: stat.name.clone(),
        };
        reading.processes.insert(pid, process);
    }
}

/// Adds the threads that wait for I/O.
pub(super) fn look(proc: &Path, first: &[u32], has_fuse: bool, look: &mut WhyLook) {
    let mut known = Processes::of_tree(proc);
    let mut budget = MAX_THREADS;
    for pid in numbers(proc, first) {
        let directory = proc.join(pid.to_string());
        if budget == 0 {
            look.skipped_threads += 1;
            continue;
        }
        let Some(process) = stat(&directory).filter(|stat| !stat.is_kernel) else {
            continue;
        };
        let mut threads = threads(&directory, pid, process.threads);
        look.skipped_threads += threads.len().saturating_sub(budget) as u64;
        threads.truncate(budget);
        budget -= threads.len();
        for (thread, path) in threads {
            let state = if path == directory {
                Some(process.state)
            } else {
                stat(&path).map(|stat| stat.state)
            };
            let waits = match state {
                Some('D') => true,
                Some('S') => {
                    has_fuse && text(&path, "wchan").is_some_and(|place| place == FUSE_WAIT)
                }
                _ => false,
            };
            if waits {
                let mut waiting = waiting(&path, &directory);
                (waiting.pid, waiting.thread) = (pid, thread);
                waiting.name.clone_from(&process.name);
                waiting.group.clone_from(&known.of(pid).group);
                look.waiting.push(waiting);
            }
        }
    }
}

/// Where and for which file a thread waits, as far as this user may see it.
fn waiting(thread: &Path, process: &Path) -> WaitingThread {
    let stack = text(thread, "stack").unwrap_or_default();
    // `[<0>] io_schedule+0x46/0x80`
    let mut places: Vec<String> = stack
        .lines()
        .filter_map(|line| {
            Some(
                line.split_whitespace()
                    .nth(1)?
                    .split('+')
                    .next()?
                    .to_owned(),
            )
        })
        .collect();
    if places.is_empty() {
        let place = text(thread, "wchan").filter(|place| !place.is_empty() && place != "0");
        places.extend(place);
    }
    let call = text(thread, "syscall").and_then(|text| call(&text));
    // The link is the kernel's text: the file system of the file is not asked.
    let file = call
        .and_then(|(_, descriptor)| fs::read_link(process.join(format!("fd/{}", descriptor?))).ok())
        .map(|path| path.display().to_string());
    let status = text(thread, "status").unwrap_or_default();
    let switches = status
        .lines()
        .find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"))
        .and_then(|value| value.trim().parse().ok());
    WaitingThread {
        places,
        call: call.map(|(name, _)| name),
        file,
        switches,
        ..WaitingThread::default()
    }
}
