//! PAGE_CACHE: the devices transferred far fewer bytes than the jobs.

use fathom_model::{Direction, DiskSummary, Finding, Weight, Witnessed};

use super::RunContext;
use super::context::of_run;
use crate::figures::{bytes, percent, share};
use crate::witnessed::program_name;

/// Below half, the figures are more those of memory than of the device.
const FROM_DEVICE_PERCENT: f64 = 50.0;
/// Minimum number of bytes.
const LEAST: u64 = 4 << 20;
const SECTOR: u64 = 512;
const BUFFERED: &str = "To measure the device use direct=1, or a region larger than memory; the figures are correct for the page cache.";
const COMMAND: &str = "The figures of the command are those of memory. To measure the device use data larger than memory, drop the page cache before the start (/proc/sys/vm/drop_caches), or wait for the writes (fsync) before the end.";
const DIRECT: &str = "Direct I/O was requested, but it did not reach the device: the file may have holes, be held in a lower cache, or be on a file system that buffers it. Write it completely first.";

pub(crate) fn detect(run: &RunContext) -> Vec<Finding> {
    if let Some(witnessed) = run.witnessed() {
        return of_command(run, witnessed);
    }
    let disks = uppermost_disks(run);
    let read: u64 = disks.iter().map(|d| d.delta.read_sectors * SECTOR).sum();
    let written: u64 = disks.iter().map(|d| d.delta.write_sectors * SECTOR).sum();
    let (reads, writes) = (
        missing(run, Direction::Read, read),
        missing(run, Direction::Write, written),
    );
    if disks.is_empty() || (reads.is_none() && writes.is_none()) {
        return Vec::new();
    }
    let buffered = !Direction::ALL.into_iter().all(|d| run.all_direct(d));
    let evidence = reads
        .into_iter()
        .chain(writes)
        .collect::<Vec<_>>()
        .join(" ");
    vec![of_run(
        Weight::Degrades,
        evidence,
        if buffered { BUFFERED } else { DIRECT },
    )]
}

/// The devices that the jobs address. What lies below them also serves others, whose bytes would hide the finding. All devices
/// where the stack is not known.
fn uppermost_disks<'a>(run: &RunContext<'a>) -> Vec<&'a DiskSummary> {
    let is_lower = |disk: &DiskSummary| {
        let mut known = run
            .recording
            .targets
            .iter()
            .flat_map(|target| &target.devices)
            .filter(|device| device.before.name == disk.name)
            .peekable();
        known.peek().is_some() && known.all(|device| device.parent.is_some())
    };
    run.disks.iter().filter(|disk| !is_lower(disk)).collect()
}

fn missing(run: &RunContext, direction: Direction, device: u64) -> Option<String> {
    let moved = run.moved()[direction].bytes;
    let from_device = share(device, moved);
    if moved < LEAST || from_device >= FROM_DEVICE_PERCENT {
        return None;
    }
    let memory = percent(100.0 - from_device);
    Some(match direction {
        Direction::Write => format!(
            "{memory} of the written bytes stayed in memory: the devices received {} of {}.",
            bytes(device),
            bytes(moved)
        ),
        _ => format!(
            "{memory} of the reads came from memory: the devices delivered {} of {}.",
            bytes(device),
            bytes(moved)
        ),
    })
}

/// The same of a watched command. System calls also transfer data of pipes and sockets, so that it needs an open file.
fn of_command(run: &RunContext, witnessed: &Witnessed) -> Vec<Finding> {
    // The cache is part of a database, and its result has the share of it.
    if !witnessed.application.is_empty() {
        return Vec::new();
    }
    let io = &witnessed.io;
    let name = program_name(witnessed);
    let has_file = |is_used: fn(&fathom_model::OpenedFile) -> bool| {
        witnessed
            .files
            .iter()
            .any(|file| is_used(file) && !file.memory_backed)
    };
    let mut evidence = Vec::new();
    let from_device = share(io.device_read_bytes, io.read_bytes);
    if io.read_bytes >= LEAST && from_device < FROM_DEVICE_PERCENT && has_file(|file| file.reads) {
        evidence.push(format!(
            "{name} was served from memory: {} of the bytes that it read came from a device ({} of {}).",
            percent(from_device),
            bytes(io.device_read_bytes),
            bytes(io.read_bytes),
        ));
    }
    // What other programs wrote counts as written by the command, which can only hide the finding.
    let written = run
        .disks
        .iter()
        .map(|disk| disk.delta.write_sectors * SECTOR)
        .max();
    let changed = io.device_written_bytes;
    if let Some(written) = written.filter(|_| changed >= LEAST) {
        let reached = share(written.min(changed), changed);
        if reached < FROM_DEVICE_PERCENT {
            evidence.push(format!(
                "{} of the bytes that {name} wrote to files stayed in memory: when it ended, the devices had received {} of {}.",
                percent(100.0 - reached),
                bytes(written.min(changed)),
                bytes(changed),
            ));
        }
    }
    if evidence.is_empty() {
        return Vec::new();
    }
    vec![of_run(Weight::Degrades, evidence.join(" "), COMMAND)]
}
