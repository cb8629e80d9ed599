//! Limits and settings of a device's queue, and the largest I/O that stays one request.

use fathom_model::{Bytes, QueueFacts};

use super::sysfs_dir::SysfsDir;
use super::transport::controllers;

/// Entries that are directories or long, excluded from the settings.
const NOT_SETTINGS: [&str; 2] = ["iosched", "independent_access_ranges"];

pub(super) fn queue(dir: &SysfsDir<'_>) -> QueueFacts {
    let queue = dir.at("queue");
    let kib = |file| {
        queue
            .number(file)
            .map(|kib| Bytes::new(kib.saturating_mul(1024)))
    };
    let settings = settings(&queue);
    let mut facts = QueueFacts {
        hardware_queues: u32::try_from(dir.names("mq").len()).ok().filter(|n| *n > 0),
        requests: queue.number_u32("nr_requests"),
        device_depth: device_depth(dir),
        scheduler: queue.text("scheduler").map(|text| chosen(&text)),
        logical_block: queue.number_u32("logical_block_size"),
        physical_block: queue.number_u32("physical_block_size"),
        minimum_io: queue.number_u32("minimum_io_size"),
        optimal_io: queue.number_u32("optimal_io_size").filter(|size| *size > 0),
        max_request: kib("max_sectors_kb"),
        max_hardware_request: kib("max_hw_sectors_kb"),
        max_segments: queue.number_u32("max_segments"),
        max_segment_size: queue.number_u32("max_segment_size"),
        chunk: queue
            .number("chunk_sectors")
            .filter(|n| *n > 0)
            .map(|sectors| Bytes::new(sectors.saturating_mul(512))),
        max_unsplit: None,
        max_unsplit_contiguous: None,
        read_ahead: kib("read_ahead_kb"),
        rotational: queue.flag("rotational"),
        polls: queue.flag("io_poll"),
        no_merges: queue.number_u32("nomerges"),
        writeback_throttle_us: queue
            .text("wbt_lat_usec")
            .and_then(|text| text.parse().ok()),
        max_discard: queue.number("discard_max_bytes").map(Bytes::new),
        zoned: queue.text("zoned"),
        settings,
    };
    facts.max_unsplit = unsplit(&facts, Some(dir.page_size()));
    facts.max_unsplit_contiguous = unsplit(&facts, facts.max_segment_size);
    facts
}

/// `none [mq-deadline] kyber` lists all and marks the one in use; a single `none` is the one in
/// use.
fn chosen(text: &str) -> String {
    let marked = text
        .split_once('[')
        .and_then(|(_, rest)| rest.split_once(']'))
        .map(|(name, _)| name);
    marked.unwrap_or(text).to_owned()
}

/// A request is limited by its size, its number of memory segments, and a boundary of the device.
fn unsplit(queue: &QueueFacts, piece: Option<u32>) -> Option<Bytes> {
    let pieces = u64::from(queue.max_segments?).saturating_mul(u64::from(piece?));
    let limits = [
        Some(pieces),
        queue.max_request.map(Bytes::get),
        queue.chunk.map(Bytes::get),
    ];
    let least = limits
        .into_iter()
        .flatten()
        .filter(|limit| *limit > 0)
        .min()?;
    let block = u64::from(queue.logical_block.unwrap_or(512).max(1));
    Some(Bytes::new(least / block * block))
}

/// SCSI counts the commands of the device; NVMe the entries of each of its queues, one of which is
/// the admin queue.
fn device_depth(dir: &SysfsDir<'_>) -> Option<u32> {
    let scsi = dir.number_u32("device/queue_depth");
    scsi.or_else(|| {
        controllers(dir)
            .iter()
            .map(nvme_depth)
            .sum::<Option<u32>>()
            .filter(|depth| *depth > 0)
    })
}

fn nvme_depth(controller: &SysfsDir<'_>) -> Option<u32> {
    let queues = controller.number_u32("queue_count")?.saturating_sub(1);
    Some(queues.saturating_mul(controller.number_u32("sqsize")?))
}

fn settings(queue: &SysfsDir<'_>) -> Vec<(String, String)> {
    let names = queue
        .names("")
        .into_iter()
        .filter(|name| !NOT_SETTINGS.contains(&name.as_str()));
    names
        .filter_map(|name| queue.optional_text(&name).map(|text| (name, text)))
        .collect()
}
