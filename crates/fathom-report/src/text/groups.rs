//! The end of fio's text: run status of each group, and disks.

use fathom_model::{Direction, DiskSummary, Findings, GroupDirection, GroupSummary};

use crate::fio_number::{Prefix, bytes, rate_pair};

pub(super) fn groups(findings: &Findings) -> String {
    let mut lines: String = findings.groups.iter().map(group).collect();
    if !findings.disks.is_empty() {
        lines += "\nDisk stats (read/write):\n";
        lines.extend(findings.disks.iter().map(disk));
    }
    lines
}

fn group(group: &GroupSummary) -> String {
    let mut lines = format!("\nRun status group {} (all jobs):\n", group.group);
    for (way, figures) in group.directions.iter() {
        lines.extend(
            figures
                .as_ref()
                .map(|figures| direction(direction_name(way), figures)),
        );
    }
    lines.extend(
        group
            .mixed
            .as_ref()
            .map(|figures| direction("  MIXED", figures)),
    );
    lines
}

fn direction_name(direction: Direction) -> &'static str {
    match direction {
        Direction::Read => "   READ",
        Direction::Write => "  WRITE",
        Direction::Trim => "   TRIM",
    }
}

fn direction(name: &str, figures: &GroupDirection) -> String {
    let (all, all_si) = rate_pair(figures.bandwidth);
    let (low, low_si) = rate_pair(figures.min_bandwidth);
    let (high, high_si) = rate_pair(figures.max_bandwidth);
    let (moved, moved_si) = (
        bytes(figures.bytes, Prefix::Iec),
        bytes(figures.bytes, Prefix::Si),
    );
    let (from, to) = (figures.min_runtime_ms, figures.max_runtime_ms);
    format!(
        "{name}: bw={all} ({all_si}), {low}-{high} ({low_si}-{high_si}), io={moved} ({moved_si}), run={from}-{to}msec\n"
    )
}

fn disk(disk: &DiskSummary) -> String {
    let DiskSummary {
        name,
        delta: d,
        util,
        ..
    } = disk;
    format!(
        "  {name}: ios={}/{}, sectors={}/{}, merge={}/{}, ticks={}/{}, in_queue={}, util={util:.2}%\n",
        d.read_ios,
        d.write_ios,
        d.read_sectors,
        d.write_sectors,
        d.read_merges,
        d.write_merges,
        d.read_ticks,
        d.write_ticks,
        d.time_in_queue
    )
}
