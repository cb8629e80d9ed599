//! Analyses an imported result.

use fathom_model::{
    Direction, Entry, Findings, ImportedDirection, ImportedFigures, ImportedResult, Little, Nanos,
    Personality, RunEnd, StatedRate, Verdict,
};

use super::judge_imported;
use crate::detectors::verdict;
use crate::group::groups;

/// The findings of `result`. Missing data (clock, host, conditions) stays empty.
#[must_use]
pub fn imported(result: ImportedResult) -> Findings {
    let ImportedResult {
        source,
        written_unix_ms,
        elapsed,
        globals,
        mut entries,
        disks,
    } = result;
    let mut found: Vec<_> = entries
        .iter()
        .map(figures_of)
        .flat_map(|figures| judge_imported(&figures))
        .collect();
    found.sort_by_key(|finding| std::cmp::Reverse(finding.weight));
    entries
        .iter_mut()
        .for_each(|entry| entry.little = little(entry));
    let written = Nanos::new(written_unix_ms.saturating_mul(1_000_000));
    Findings {
        personality: Personality::Fio,
        sources: source.files.clone(),
        globals,
        overrides: Vec::new(),
        started_unix_ns: written.saturating_sub(elapsed).get(),
        elapsed,
        end: RunEnd::Completed,
        groups: groups(&entries),
        entries,
        totals: Vec::new(),
        disks,
        targets: Vec::new(),
        verdict: if found.is_empty() {
            Verdict::Valid
        } else {
            verdict(&found)
        },
        findings: found,
        clock: Default::default(),
        host: Default::default(),
        conditions: Default::default(),
        stalls: Vec::new(),
        messages: source.notes.clone(),
        imported: Some(source),
        spec: None,
    }
}

/// The figures of an entry that are checked.
fn figures_of(entry: &Entry) -> ImportedFigures {
    let used = entry
        .directions
        .iter()
        .filter(|(_, direction_summary)| direction_summary.iops > 0.0);
    let mean = |lat: f64, clat: f64| [lat, clat].into_iter().find(|mean| *mean > 0.0);
    let streams = used.map(|(direction, direction_summary)| ImportedDirection {
        direction,
        iops: direction_summary.iops,
        latency_ns: mean(direction_summary.lat.mean, direction_summary.clat.mean),
        is_median: false,
    });
    let blocks =
        |d: Direction| Some(entry.block_sizes[d]).filter(|(low, high)| low == high && *low > 0);
    ImportedFigures {
        name: entry.name.clone(),
        rw: (!entry.rw.is_empty()).then(|| entry.rw.clone()),
        streams: streams.collect(),
        block: Direction::ALL
            .into_iter()
            .find_map(blocks)
            .map(|(size, _)| u64::from(size)),
        depth: (entry.depth > 0).then_some(entry.depth),
        jobs: Some(entry.members.max(1)),
        closed: entry.offered.is_none(),
        ios: Some(
            entry
                .directions
                .0
                .iter()
                .map(|direction_summary| direction_summary.ios)
                .sum(),
        ),
        error: entry.error,
        failed: entry.errors_continued.map_or(0, |(failed, _)| failed),
        rates: entry
            .directions
            .iter()
            .flat_map(|(d, direction_summary)| {
                StatedRate::of_direction(
                    d,
                    (direction_summary.iops, direction_summary.ios),
                    (direction_summary.bandwidth, direction_summary.bytes),
                    direction_summary.runtime_ms,
                )
            })
            .collect(),
        ..ImportedFigures::default()
    }
}

/// Little's law over all directions.
fn little(entry: &Entry) -> Little {
    let iops = entry
        .directions
        .0
        .iter()
        .map(|direction_summary| direction_summary.iops)
        .sum::<f64>();
    let in_flight = entry
        .directions
        .0
        .iter()
        .map(|direction_summary| direction_summary.iops * direction_summary.clat.mean / 1e9)
        .sum::<f64>();
    let asked = f64::from(entry.depth) * f64::from(entry.members);
    Little {
        queue_depth: asked,
        in_flight,
        iops,
        mean_ns: if iops > 0.0 {
            in_flight * 1e9 / iops
        } else {
            0.0
        },
    }
}
