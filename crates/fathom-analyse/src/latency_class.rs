//! Which mean latency is usual with one I/O in flight, by class of device.

use fathom_model::{Direction, Entry, Findings, ImportedFigures, Medium, Nanos, Verdict};

use crate::figures::duration;

/// Source of the limits and of the table of disks.
pub(crate) const SOURCE: &str =
    "louwrentius.com, \"Understanding Storage Performance - IOPS and Latency\", 2020";
/// Most workloads on an SSD are below.
const USUAL_OF_FLASH: f64 = 1e6;
/// A mean above is too much for an SSD.
pub(crate) const MOST_OF_FLASH: Nanos = Nanos::from_millis(3);
/// A mean above is too much for a hard disk.
pub(crate) const MOST_OF_DISK: Nanos = Nanos::from_millis(20);
/// Random reads at depth 1: speed of the disk, and shortest and longest usual mean, milliseconds.
const DISKS: [(&str, f64, f64); 4] = [
    ("15,000 rpm disk", 5.0, 6.0),
    ("10,000 rpm disk", 7.0, 8.0),
    ("7,200 rpm disk", 12.0, 13.0),
    ("5,400 rpm disk", 17.0, 18.0),
];

/// The largest mean latency that is acceptable for a medium; `None` for media without a rule.
pub(crate) const fn most(medium: Medium) -> Option<(Nanos, &'static str)> {
    match medium {
        Medium::Disk => Some((MOST_OF_DISK, "a hard disk")),
        Medium::Flash => Some((MOST_OF_FLASH, "an SSD")),
        _ => None,
    }
}

/// The class of device that has this mean latency with one I/O in flight.
#[must_use]
pub fn latency_class(mean_ns: f64) -> String {
    let ms = mean_ns / 1e6;
    let range = |(name, least, most): &(&str, f64, f64)| format!("a {name} ({least} to {most} ms)");
    let class = if mean_ns < MOST_OF_FLASH.get() as f64 {
        let place = if mean_ns <= USUAL_OF_FLASH {
            "usual for an SSD (mostly below 1 ms)"
        } else {
            "near the limit of an SSD (1 to 3 ms)"
        };
        let (_, least, most) = DISKS[0];
        format!(
            "{place}, {:.0} to {:.0} times shorter than that of {}",
            least / ms,
            most / ms,
            range(&DISKS[0])
        )
    } else if ms > MOST_OF_DISK.get() as f64 / 1e6 {
        "above the limit of a hard disk (20 ms)".to_owned()
    } else if let Some(disk) = DISKS
        .iter()
        .find(|(_, least, most)| (*least..=*most).contains(&ms))
    {
        format!("that of {}", range(disk))
    } else {
        let slower = DISKS.iter().position(|(_, least, _)| ms < *least);
        match slower {
            Some(0) => format!(
                "too long for an SSD (3 ms) and shorter than that of {}",
                range(&DISKS[0])
            ),
            Some(next) => format!(
                "between that of {} and that of {}",
                range(&DISKS[next - 1]),
                range(&DISKS[next])
            ),
            None => format!(
                "longer than that of {}, and acceptable for a hard disk up to 20 ms",
                range(&DISKS[3])
            ),
        }
    };
    format!(
        "a mean of {} with one I/O in flight is {class}; {SOURCE}",
        duration(mean_ns)
    )
}

/// The class for a result with one I/O in flight.
#[must_use]
pub fn latency_line(figures: &ImportedFigures) -> Option<String> {
    /// Rounded figures give slightly more than one in flight.
    const ONE: f64 = 1.5;
    let in_flight = figures.in_flight()?;
    let is_one = figures.max_in_flight().unwrap_or(in_flight) <= ONE;
    let mean = in_flight / figures.iops() * 1e9;
    (is_one && mean > 0.0 && mean.is_finite()).then(|| format!("latency: {}", latency_class(mean)))
}

/// The class for single random reads of 4 KiB.
#[must_use]
pub fn single_read_latency(findings: &Findings) -> Option<String> {
    let is_single = |entry: &&Entry| {
        entry.depth * entry.members == 1
            && entry.rw == "randread"
            && entry.block_sizes[Direction::Read] == (4096, 4096)
            && entry.offered.is_none()
    };
    let entry = findings.entries.iter().find(is_single)?;
    let mean = entry.directions[Direction::Read].clat.mean;
    (findings.verdict != Verdict::Invalid && mean > 0.0)
        .then(|| format!("Single reads: {}.", latency_class(mean)))
}
