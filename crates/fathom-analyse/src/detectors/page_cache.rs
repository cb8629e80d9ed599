//! PAGE_CACHE: the devices transferred far fewer bytes than the jobs.

use fathom_model::{Direction, Finding, Weight};

use super::RunContext;
use super::context::of_run;
use crate::figures::{bytes, percent, share};

/// Below half, the figures are more those of memory than of the device.
const FROM_DEVICE_PERCENT: f64 = 50.0;
/// Minimum number of bytes.
const LEAST: u64 = 4 << 20;
const SECTOR: u64 = 512;
const BUFFERED: &str = "To measure the device use direct=1, or a region larger than memory; the figures are correct for the page cache.";
const DIRECT: &str = "Direct I/O was requested, but it did not reach the device: the file may have holes, be held in a lower cache, or be on a file system that buffers it. Write it completely first.";

pub(crate) fn detect(run: &RunContext) -> Vec<Finding> {
    // All devices together: stacked devices count an I/O more than once, which can only hide the
    // finding.
    let read: u64 = run
        .disks
        .iter()
        .map(|d| d.delta.read_sectors * SECTOR)
        .sum();
    let written: u64 = run
        .disks
        .iter()
        .map(|d| d.delta.write_sectors * SECTOR)
        .sum();
    let (reads, writes) = (
        missing(run, Direction::Read, read),
        missing(run, Direction::Write, written),
    );
    if run.disks.is_empty() || (reads.is_none() && writes.is_none()) {
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
