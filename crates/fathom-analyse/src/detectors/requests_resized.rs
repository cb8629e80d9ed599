//! REQUESTS_RESIZED: the kernel split or merged the I/Os.

use fathom_model::{Direction, DiskSummary, Finding, Weight};

use super::RunContext;
use super::context::of_run;
use crate::figures::{bytes, count};

/// Requests per I/O from which on, or below whose inverse, the sizes at the device differ from the
/// requested ones.
const FACTOR: f64 = 1.5;
/// Requests can be matched with I/Os only if the device transferred little else.
const SAME_BYTES: f64 = 0.1;
const LEAST_IOS: u64 = 1000;
const SECTOR: u64 = 512;
/// Smallest piece of memory of a request: a page.
const PAGE: u64 = 4096;
const ADVICE: &str = "Latency and IOPS at the device differ from those of the job; see max_sectors_kb, max_segments and nomerges \
                      in /sys/block/*/queue.";

pub(crate) fn detect(run: &RunContext) -> Vec<Finding> {
    [Direction::Read, Direction::Write]
        .into_iter()
        .filter_map(|d| resized(run, d))
        .take(1)
        .collect()
}

/// Requests and sectors of one direction.
fn done(disk: &DiskSummary, direction: Direction) -> (u64, u64) {
    match direction {
        Direction::Read => (disk.delta.read_ios, disk.delta.read_sectors),
        _ => (disk.delta.write_ios, disk.delta.write_sectors),
    }
}

/// The uppermost device that transferred the bytes of the jobs, and little else. It is listed first of stacked devices: its requests are
/// the I/Os after splitting and merging.
fn disk_of_jobs<'a>(run: &'a RunContext, direction: Direction) -> Option<&'a DiskSummary> {
    let ours = run.moved()[direction].bytes;
    let same = |disk: &&DiskSummary| {
        let bytes = done(disk, direction).1 * SECTOR;
        (bytes as f64 - ours as f64).abs() <= SAME_BYTES * ours as f64
    };
    run.disks.iter().find(same)
}

/// Requests that the device got for each I/O of the jobs; `None` where that cannot be told.
pub(crate) fn requests_per_io(run: &RunContext, direction: Direction) -> Option<f64> {
    let ios = run.moved()[direction].ios;
    let requests = done(disk_of_jobs(run, direction)?, direction).0;
    (ios > 0 && requests > 0 && run.all_direct(direction)).then(|| requests as f64 / ios as f64)
}

fn resized(run: &RunContext, direction: Direction) -> Option<Finding> {
    let ours = run.moved()[direction];
    let disk = disk_of_jobs(run, direction)?;
    let requests = done(disk, direction).0;
    let factor = requests_per_io(run, direction)?;
    if ours.ios < LEAST_IOS {
        return None;
    }
    if (1.0 / FACTOR..FACTOR).contains(&factor) {
        return None;
    }
    let evidence = format!(
        "{} {}s of {} on average became {} requests at {} ({factor:.1} for each I/O).{}",
        count(ours.ios),
        direction.name(),
        bytes(ours.bytes / ours.ios),
        count(requests),
        disk.name,
        split_by(run, &disk.name, factor).unwrap_or_default(),
    );
    Some(of_run(Weight::Note, evidence, ADVICE))
}

/// The limit of the device that splits I/Os first: pieces of memory, or bytes.
fn split_by(run: &RunContext, name: &str, factor: f64) -> Option<String> {
    let devices = run.devices();
    let queue = &devices
        .iter()
        .find(|device| device.before.name == name)?
        .before
        .queue;
    if factor <= 1.0 {
        return None;
    }
    let segments = queue.max_segments.map(|n| {
        let most = u64::from(n) * PAGE;
        let text = format!(
            "{} pieces of memory (max_segments), {} in single pages",
            count(n.into()),
            bytes(most)
        );
        (most, text)
    });
    let request = queue.max_request.map(|most| {
        (
            most.get(),
            format!("{} (max_sectors_kb)", bytes(most.get())),
        )
    });
    let (_, text) = segments
        .into_iter()
        .chain(request)
        .min_by_key(|(most, _)| *most)?;
    Some(format!(" A request holds at most {text}."))
}
