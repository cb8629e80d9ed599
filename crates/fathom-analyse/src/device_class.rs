//! The class of the device that `fathom quick` measured, in plain words.

use fathom_model::{Direction, Entry, Findings, Verdict};

use crate::figures::{duration, rate};

/// SATA at 6 Gbit/s carries 600 MB/s after its line coding (8b/10b).
const SATA: f64 = 600e6;
/// PCIe 3.0 x4 carries 3,938 MB/s: sequential rates above half of it need a fast controller.
const FAST_LINK: f64 = 2e9;
/// A single random read of a disk waits for half a turn: 4.2 ms at 7,200 per minute, 2 ms at 15,000.
const TURN: f64 = 2e6;
/// Single random reads of flash in the same machine.
const LOCAL: f64 = 400e3;
/// Rates of small random reads of a good SATA SSD.
const FAST_SATA: f64 = 50_000.0;
/// The same of a good NVMe SSD.
const FAST_NVME: f64 = 300_000.0;
/// Findings that the figures are those of memory.
const MEMORY: [&str; 3] = ["MEMORY_BACKED", "LOOP_BUFFERED", "PAGE_CACHE"];

/// One sentence: the class, and the figures that show it. `None` without the measurements of `quick`, or if they are invalid.
#[must_use]
pub fn device_class(findings: &Findings) -> Option<String> {
    if findings.verdict == Verdict::Invalid {
        return None;
    }
    let reads = |entry: &&Entry, block: u32, random: bool| {
        entry.directions[Direction::Read].ios > 0
            && entry.directions[Direction::Write].ios == 0
            && entry.block_sizes.0[Direction::Read as usize] == (block, block)
            && entry.rw.contains("rand") == random
    };
    let of = |block: u32, random: bool| {
        findings
            .entries
            .iter()
            .filter(move |entry| reads(entry, block, random))
    };
    let most = of(4096, true)
        .map(|entry| entry.directions[Direction::Read].iops)
        .fold(0.0, f64::max);
    let sequential = of(1 << 20, false)
        .map(|entry| entry.directions[Direction::Read].bandwidth)
        .fold(0.0, f64::max);
    let one = of(4096, true).find(|entry| entry.depth * entry.members == 1)?;
    let latency = &one.directions[Direction::Read].clat;
    let median = latency
        .percentiles
        .iter()
        .find(|(percent, _)| *percent == 50.0)
        .map_or(latency.mean, |(_, value)| *value as f64);
    if most <= 0.0 || sequential <= 0.0 || median <= 0.0 {
        return None;
    }
    let is_memory = findings
        .findings
        .iter()
        .any(|finding| MEMORY.contains(&finding.code));
    let class = if is_memory {
        "memory, not a disk"
    } else {
        class(most, sequential, median)
    };
    Some(format!(
        "In plain words: {class}: up to {} small random reads per second, {} MB/s of large reads, half of single reads take \
         {} or less.",
        rate(most),
        rate(sequential / 1e6),
        duration(median)
    ))
}

/// The class of a device with these rates and this median of single random reads.
pub(crate) fn class(most: f64, sequential: f64, median: f64) -> &'static str {
    if median >= TURN {
        "hard disk class"
    } else if sequential > FAST_LINK && most > FAST_NVME && median < LOCAL {
        "fast NVMe SSD class"
    } else if sequential > SATA && median < LOCAL {
        "NVMe SSD class"
    } else if median >= LOCAL {
        if most > FAST_SATA {
            "network or cloud disk class"
        } else {
            "slow flash, network or cloud disk class"
        }
    } else if most > FAST_SATA && sequential > 0.5 * SATA {
        "fast SATA SSD class"
    } else if sequential > 0.25 * SATA {
        "SATA SSD class"
    } else {
        "memory card or USB stick class"
    }
}

/// Whether single random reads take as long as those of a hard disk.
pub(crate) fn is_disk(median: f64) -> bool {
    median >= TURN
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Figures of data sheets: Samsung 870 EVO (98,000 IOPS, 560 MB/s), Seagate Exos X16 (170 IOPS, 261 MB/s, 4.16 ms), Samsung
    /// 990 PRO (1,200,000 IOPS, 7,450 MB/s), and a Google persistent disk of the balanced kind.
    #[test]
    fn known_devices_have_their_class() {
        for (most, sequential, median, expected) in [
            (98_000.0, 560e6, 90e3, "fast SATA SSD class"),
            (170.0, 261e6, 4.16e6, "hard disk class"),
            (1_200_000.0, 7450e6, 45e3, "fast NVMe SSD class"),
            (100_000.0, 2100e6, 90e3, "NVMe SSD class"),
            (
                15_000.0,
                240e6,
                700e3,
                "slow flash, network or cloud disk class",
            ),
            (1_500.0, 90e6, 390e3, "memory card or USB stick class"),
        ] {
            assert_eq!(class(most, sequential, median), expected);
        }
    }
}
