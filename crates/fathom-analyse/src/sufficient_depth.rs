//! Finds the queue depth that is enough for a load that was measured at several depths.

use fathom_model::{Entry, Findings};

use crate::figures::{bytes, count, duration};

/// A depth is enough if it reaches this share of the highest rate of all depths.
const ENOUGH: f64 = 0.95;

/// One depth of a load.
#[derive(Clone, Copy, Debug, PartialEq)]
struct DepthPoint {
    depth: u32,
    iops: f64,
    mean_ns: f64,
}

/// A sentence for each load that was measured at three depths or more.
#[must_use]
pub fn sufficient_depths(findings: &Findings) -> Vec<String> {
    let mut kinds: Vec<(&str, (u32, u32), Vec<DepthPoint>)> = Vec::new();
    for entry in findings.entries.iter().filter(|entry| is_comparable(entry)) {
        let sizes = entry
            .directions
            .iter()
            .zip(entry.block_sizes.0)
            .find(|((_, summary), _)| summary.ios > 0);
        let Some(((_, _), sizes)) = sizes else {
            continue;
        };
        let point = DepthPoint {
            depth: entry.depth * entry.members,
            iops: entry.little.iops,
            mean_ns: entry.little.mean_ns,
        };
        match kinds
            .iter_mut()
            .find(|(rw, known, _)| *rw == entry.rw && *known == sizes)
        {
            Some((_, _, points)) => points.push(point),
            None => kinds.push((&entry.rw, sizes, vec![point])),
        }
    }
    kinds
        .into_iter()
        .filter_map(|(rw, sizes, points)| sentence(rw, sizes, points))
        .collect()
}

/// Whether an entry can be compared: no errors, no open loop.
fn is_comparable(entry: &Entry) -> bool {
    entry.error == 0
        && entry.offered.is_none()
        && entry.little.iops > 0.0
        && entry.little.mean_ns > 0.0
}

fn sentence(
    rw: &str,
    (smallest, largest): (u32, u32),
    mut points: Vec<DepthPoint>,
) -> Option<String> {
    points.sort_by_key(|point| point.depth);
    points.dedup_by_key(|point| point.depth);
    if points.len() < 3 || smallest != largest {
        return None;
    }
    let most = points
        .iter()
        .copied()
        .max_by(|a, b| a.iops.total_cmp(&b.iops))?;
    let enough = points
        .iter()
        .copied()
        .find(|point| point.iops >= ENOUGH * most.iops)?;
    let what = format!("{rw} of {}", bytes(u64::from(smallest)));
    let deepest = points.last()?;
    if enough.depth == deepest.depth {
        let growth = "is the highest depth measured and still increases the rate: a higher depth may reach more";
        return Some(format!(
            "{what}: {} IOPS at depth {}, which {growth}.",
            count(most.iops.round() as u64),
            most.depth
        ));
    }
    let share = 100.0 * enough.iops / most.iops;
    let wait = deepest.mean_ns / enough.mean_ns;
    Some(format!(
        "{what}: depth {} is enough: it reaches {} IOPS, {share:.0} % of the maximum ({} at depth {}), at {} each; depth {} takes {wait:.1} times as long.",
        enough.depth,
        count(enough.iops.round() as u64),
        count(most.iops.round() as u64),
        most.depth,
        duration(enough.mean_ns),
        deepest.depth
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A device of four servers of 100 us each: 10,000 IOPS for each caller up to four, then 40,000
    /// (Little's law).
    fn four_servers(depths: &[u32]) -> Vec<DepthPoint> {
        let point = |depth: u32| {
            let iops = f64::from(depth.min(4)) * 10_000.0;
            DepthPoint {
                depth,
                iops,
                mean_ns: f64::from(depth) / iops * 1e9,
            }
        };
        depths.iter().map(|depth| point(*depth)).collect()
    }

    #[test]
    fn the_number_of_servers_is_the_depth_that_is_enough() {
        let text = sentence("randread", (4096, 4096), four_servers(&[16, 1, 2, 4, 8]))
            .expect("a sentence");
        assert!(
            text.contains("depth 4 is enough") && text.contains("40,000 IOPS"),
            "{text}"
        );
        assert!(text.contains("takes 4.0 times as long"), "{text}");
    }

    #[test]
    fn a_rate_that_still_rises_is_reported() {
        let text =
            sentence("randread", (4096, 4096), four_servers(&[1, 2, 4])).expect("a sentence");
        assert!(text.contains("a higher depth may reach more"), "{text}");
        assert_eq!(
            sentence("randread", (4096, 4096), four_servers(&[1, 4])),
            None,
            "two depths are not enough"
        );
        assert_eq!(
            sentence("randread", (512, 4096), four_servers(&[1, 2, 4])),
            None,
            "mixed sizes cannot be compared"
        );
    }
}
