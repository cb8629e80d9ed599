//! One direction of an entry in fio's text.

use fathom_model::{DirectionSummary, Entry, PrioritySummary, Samples};

use super::entry::Layout;
use super::latency::{Units, line, percentiles};
use crate::fio_number::{FIGURES, Prefix, bytes, floor, rate_pair, shorten};

/// In our own layout with latencies from the due time, which fio does not print.
pub(super) fn direction(
    name: &str,
    summary: &DirectionSummary,
    entry: &Entry,
    layout: &Layout,
) -> String {
    let Layout {
        table_width,
        ours,
        units,
        slat_units,
    } = *layout;
    let shows = &entry.latency_kinds;
    let mut lines = headline(name, summary);
    lines += &line("slat", &summary.slat, slat_units);
    lines += &line("clat", &summary.clat, units);
    lines += &line(" lat", &summary.lat, units);
    for prio in &summary.priorities {
        lines += &line(&priority(prio), &prio.latency, units);
    }
    if ours {
        lines += &open_loop_lines(summary, units);
    }
    let tables = [
        ("slat", shows.slat_percentiles, &summary.slat),
        ("clat", shows.clat_percentiles, &summary.clat),
    ];
    for (kind, asked, latency) in
        tables
            .into_iter()
            .chain([("lat", shows.lat_percentiles, &summary.lat)])
    {
        if asked {
            let units = if kind == "slat" { slat_units } else { units };
            lines += &percentiles(kind, latency, table_width, units);
        }
    }
    if shows.clat_percentiles || shows.lat_percentiles {
        let all = if shows.lat_percentiles {
            summary.lat.n
        } else {
            summary.clat.n
        };
        for prio in &summary.priorities {
            let share = 100.0 * prio.latency.n as f64 / all.max(1) as f64;
            lines += &percentiles(
                &format!("{} ({share:.2}% of IOs)", priority(prio)),
                &prio.latency,
                table_width,
                units,
            );
        }
    }
    if let Some(response) = summary.response.as_ref().filter(|_| ours) {
        lines += &percentiles(response_name(summary), response, table_width, units);
    }
    lines + &bandwidth_samples(summary) + &iops_samples(&summary.iops_samples)
}

/// fio's name of the latencies of one priority.
fn priority(prio: &PrioritySummary) -> String {
    let kind = if prio.total { "lat" } else { "clat" };
    format!("{kind} prio {}/{}/{}", prio.class, prio.level, prio.hint)
}

fn headline(name: &str, summary: &DirectionSummary) -> String {
    let iops = shorten(floor(summary.iops), FIGURES, 0, Prefix::Si);
    let (binary, decimal) = rate_pair(summary.bandwidth);
    let (moved, ms) = (bytes(summary.bytes, Prefix::Iec), summary.runtime_ms);
    format!("  {name}: IOPS={iops}, BW={binary} ({decimal})({moved}/{ms}msec)\n")
}

/// Name of the latency from the due time: in a closed loop only commits have one.
fn response_name(summary: &DirectionSummary) -> &'static str {
    if summary.lateness.is_some() {
        "response"
    } else {
        "commit"
    }
}

/// Latencies from the due time. The second is not named `late`: scripts look for ` lat.*avg=`.
fn open_loop_lines(summary: &DirectionSummary, units: Option<Units>) -> String {
    let response = summary
        .response
        .as_ref()
        .map(|latency| line(response_name(summary), latency, units));
    let overdue = summary
        .lateness
        .as_ref()
        .map(|latency| line("overdue", latency, units));
    response.into_iter().chain(overdue).collect()
}

/// Samples are in KiB/s, and shown in MiB/s when their mean is above one GiB/s.
fn bandwidth_samples(summary: &DirectionSummary) -> String {
    let Samples {
        min,
        max,
        mean,
        dev,
        count,
    } = summary.bw_samples;
    if count == 0 {
        return String::new();
    }
    let (unit, size) = if mean > 1024.0 * 1024.0 {
        ("MiB", 1024)
    } else {
        ("KiB", 1)
    };
    let (low, high) = (floor(min) / size, floor(max) / size);
    let (mean, dev) = (mean / size as f64, dev / size as f64);
    let share = summary.bw_share;
    format!(
        "   bw ({unit:>5}/s): min={low:5}, max={high:5}, per={share:.2}%, avg={mean:5.2}, stdev={dev:5.2}, samples={count}\n"
    )
}

fn iops_samples(samples: &Samples) -> String {
    let Samples {
        min,
        max,
        mean,
        dev,
        count,
    } = *samples;
    if count == 0 {
        return String::new();
    }
    let (low, high) = (floor(min), floor(max));
    format!(
        "   iops        : min={low:5}, max={high:5}, avg={mean:5.2}, stdev={dev:5.2}, samples={count}\n"
    )
}

/// fsync and its family.
pub(super) fn sync(entry: &Entry, layout: &Layout) -> String {
    if entry.sync.n == 0 {
        return String::new();
    }
    let table = percentiles("sync", &entry.sync, layout.table_width, layout.units);
    format!(
        "  fsync/fdatasync/sync_file_range/syncfs:\n{}{table}",
        line("sync", &entry.sync, layout.units)
    )
}
