//! Finds the queue depth that is enough for a load that was measured at several depths.

use fathom_model::{Entry, Findings};

use crate::figures::{bytes, count, duration};

/// A depth is enough if it reaches this share of the highest rate of all depths.
const ENOUGH: f64 = 0.95;

/// One depth of a load.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Rung {
    depth: u32,
    iops: f64,
    mean_ns: f64,
}

/// A sentence for each load that was measured at three depths or more.
#[must_use]
pub fn ladders(findings: &Findings) -> Vec<String> {
    let mut kinds: Vec<(&str, (u32, u32), Vec<Rung>)> = Vec::new();
    for entry in findings.entries.iter().filter(|entry| is_rung(entry)) {
        let sizes = entry
            .directions
            .iter()
            .zip(entry.block_sizes.0)
            .find(|((_, summary), _)| summary.ios > 0);
        let Some(((_, _), sizes)) = sizes else {
            continue;
        };
        let rung = Rung {
            depth: entry.depth * entry.members,
            iops: entry.little.iops,
            mean_ns: entry.little.mean_ns,
        };
        match kinds
            .iter_mut()
            .find(|(rw, known, _)| *rw == entry.rw && *known == sizes)
        {
            Some((_, _, rungs)) => rungs.push(rung),
            None => kinds.push((&entry.rw, sizes, vec![rung])),
        }
    }
    kinds
        .into_iter()
        .filter_map(|(rw, sizes, rungs)| sentence(rw, sizes, rungs))
        .collect()
}

/// Whether an entry can be compared: no errors, no open loop.
fn is_rung(entry: &Entry) -> bool {
    entry.error == 0
        && entry.offered.is_none()
        && entry.little.iops > 0.0
        && entry.little.mean_ns > 0.0
}

fn sentence(rw: &str, (smallest, largest): (u32, u32), mut rungs: Vec<Rung>) -> Option<String> {
    rungs.sort_by_key(|rung| rung.depth);
    rungs.dedup_by_key(|rung| rung.depth);
    if rungs.len() < 3 || smallest != largest {
        return None;
    }
    let most = rungs
        .iter()
        .copied()
        .max_by(|a, b| a.iops.total_cmp(&b.iops))?;
    let enough = rungs
        .iter()
        .copied()
        .find(|rung| rung.iops >= ENOUGH * most.iops)?;
    let what = format!("{rw} of {}", bytes(u64::from(smallest)));
    let deepest = rungs.last()?;
    if enough.depth == deepest.depth {
        let words = "is the highest depth measured and still increases the rate: a higher depth may reach more";
        return Some(format!(
            "{what}: {} IOPS at depth {}, which {words}.",
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
    fn four_servers(depths: &[u32]) -> Vec<Rung> {
        let rung = |depth: u32| {
            let iops = f64::from(depth.min(4)) * 10_000.0;
            Rung {
                depth,
                iops,
                mean_ns: f64::from(depth) / iops * 1e9,
            }
        };
        depths.iter().map(|depth| rung(*depth)).collect()
    }

    #[test]
    fn the_number_of_servers_is_the_depth_that_is_enough() {
        let words = sentence("randread", (4096, 4096), four_servers(&[16, 1, 2, 4, 8]))
            .expect("a sentence");
        assert!(
            words.contains("depth 4 is enough") && words.contains("40,000 IOPS"),
            "{words}"
        );
        assert!(words.contains("takes 4.0 times as long"), "{words}");
    }

    #[test]
    fn a_rate_that_still_rises_is_reported() {
        let words =
            sentence("randread", (4096, 4096), four_servers(&[1, 2, 4])).expect("a sentence");
        assert!(words.contains("a higher depth may reach more"), "{words}");
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
