//! What remains without tracepoints: the kernel's counters.

use std::fs;
use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use fathom_cli::ObserveArgs;
use fathom_linux::interrupts;
use fathom_report::{Style, counted_json, counted_text};
use fathom_trace::{CountedObservation, TraceError, disk_counts, process_counts};

use super::target::ObservedTarget;
use crate::outcome::Outcome;
use crate::print::{eprint_line, print_to};

/// How often an interrupt is looked for.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Reads the counters twice and reports their growth.
pub fn observe(
    args: &ObserveArgs,
    target: &ObservedTarget,
    reason: &TraceError,
    runtime: Duration,
    style: &Style,
) -> Outcome {
    eprint_line!("fathom observe: {reason}; only the counters of the kernel are read");
    if args.events.is_some() {
        eprint_line!("fathom observe: --events needs tracepoints: no request is written");
    }
    let signals = interrupts();
    let read = || fs::read_to_string("/proc/diskstats").unwrap_or_default();
    let proc = Path::new("/proc");
    let (disks, processes) = (disk_counts(&read()), process_counts(proc));
    let start = Instant::now();
    while start.elapsed() < runtime && signals.load(Relaxed) == 0 {
        std::thread::sleep(POLL_INTERVAL.min(runtime.saturating_sub(start.elapsed())));
    }
    let elapsed = start.elapsed();
    let (disks_now, processes_now) = (disk_counts(&read()), process_counts(proc));
    let devices = disks_now
        .iter()
        .filter(|(number, _)| {
            if target.devices.is_empty() {
                // The counters of a disk contain those of its partitions.
                !Path::new(&format!("/sys/dev/block/{number}/partition")).exists()
            } else {
                target.devices.contains(number)
            }
        })
        .filter_map(|(number, now)| {
            let grown = now.since(disks.get(number)?);
            (grown.ios.iter().sum::<u64>() + grown.flushes > 0).then_some(grown)
        })
        .collect();
    let mut grown: Vec<_> = processes_now
        .into_iter()
        .filter(|(pid, _)| target.pids().is_empty() || target.pids().contains(pid))
        .map(|(pid, mut now)| {
            if let Some(before) = processes.get(&pid) {
                for index in 0..2 {
                    now.called[index] = now.called[index].saturating_sub(before.called[index]);
                    now.device[index] = now.device[index].saturating_sub(before.device[index]);
                }
            }
            (pid, now)
        })
        .filter(|(_, now)| now.called.iter().chain(&now.device).sum::<u64>() > 0)
        .collect();
    grown.sort_by_key(|(_, now)| std::cmp::Reverse(now.device.iter().sum::<u64>()));
    let observation = CountedObservation {
        reason: reason.to_string(),
        elapsed_ns: elapsed.as_nanos() as u64,
        devices,
        processes: grown,
        hidden_processes: hidden(proc),
    };
    let text = if args.result.is_json() {
        counted_json(&observation)
    } else {
        counted_text(&observation, style)
    };
    match print_to(args.result.output.as_deref(), &text) {
        Outcome::Good if signals.load(Relaxed) > 0 => Outcome::Interrupted,
        outcome => outcome,
    }
}

/// Processes whose counters this user may not read.
fn hidden(proc: &Path) -> u64 {
    let entries = fs::read_dir(proc).into_iter().flatten().flatten();
    let processes = entries.filter(|entry| {
        entry
            .file_name()
            .to_str()
            .is_some_and(|name| name.bytes().all(|b| b.is_ascii_digit()))
    });
    processes
        .filter(|entry| fs::read_to_string(entry.path().join("io")).is_err())
        .count() as u64
}
