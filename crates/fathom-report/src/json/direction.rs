//! `read`, `write`, `trim`, `mixed` and `sync` of a JSON entry.

use fathom_model::{DirectionSummary, Entry, LatencySummary, PrioritySummary};

use crate::fio_number::floor;
use crate::tree::{Object, Tree};

/// One direction of an entry.
pub(super) fn direction(summary: &DirectionSummary, entry: &Entry, plus: bool) -> Object {
    let shows = &entry.latency_kinds;
    let bandwidth = floor(summary.bandwidth);
    let figures = Object::new()
        .with("io_bytes", summary.bytes)
        .with("io_kbytes", summary.bytes / 1024)
        .with("bw_bytes", bandwidth)
        .with("bw", bandwidth / 1024)
        .with("iops", summary.iops)
        .with("runtime", summary.runtime_ms)
        .with("total_ios", summary.ios)
        .with("short_ios", summary.short_ios)
        .with("drop_ios", summary.dropped_ios)
        .with(
            "slat_ns",
            latency(&summary.slat, shows.slat_percentiles, plus),
        )
        .with(
            "clat_ns",
            latency(&summary.clat, shows.clat_percentiles, plus),
        )
        .with("lat_ns", latency(&summary.lat, shows.lat_percentiles, plus));
    samples(summary, priorities(summary, entry, figures, plus))
}

/// One entry for each priority, where there was more than one.
fn priorities(
    summary: &DirectionSummary,
    entry: &Entry,
    mut figures: Object,
    plus: bool,
) -> Object {
    let percentiles = entry.latency_kinds.lat_percentiles || entry.latency_kinds.clat_percentiles;
    let one = |prio: &PrioritySummary| -> Tree {
        Object::new()
            .with("prioclass", u64::from(prio.class))
            .with("prio", u64::from(prio.level))
            .with("priohint", u64::from(prio.hint))
            .with(
                if prio.total { "lat_ns" } else { "clat_ns" },
                latency(&prio.latency, percentiles, plus),
            )
            .into()
    };
    if !summary.priorities.is_empty() {
        figures.push(
            "prios",
            summary.priorities.iter().map(one).collect::<Tree>(),
        );
    }
    figures
}

fn samples(summary: &DirectionSummary, figures: Object) -> Object {
    let (bw, iops) = (&summary.bw_samples, &summary.iops_samples);
    // Versions before 3 do not write the number of samples.
    let share = if bw.count == 0 && bw.mean == 0.0 {
        0.0
    } else {
        summary.bw_share
    };
    figures
        .with("bw_min", floor(bw.min))
        .with("bw_max", floor(bw.max))
        .with("bw_agg", share)
        .with("bw_mean", bw.mean)
        .with("bw_dev", bw.dev)
        .with("bw_samples", bw.count)
        .with("iops_min", floor(iops.min))
        .with("iops_max", floor(iops.max))
        .with("iops_mean", iops.mean)
        .with("iops_stddev", iops.dev)
        .with("iops_samples", iops.count)
}

/// fsync, fdatasync and sync_file_range.
pub(super) fn sync(entry: &Entry, plus: bool) -> Object {
    let of_directions = entry.latency_kinds.lat_percentiles || entry.latency_kinds.clat_percentiles;
    // A job may consist of syncs alone.
    let alone = entry.directions.0.iter().all(|one| one.ios == 0);
    let percentiles = of_directions || alone && !entry.sync.percentiles.is_empty();
    Object::new()
        .with("total_ios", entry.fsyncs.unwrap_or(entry.sync.n))
        .with("lat_ns", latency(&entry.sync, percentiles, plus))
}

/// A distribution; percentiles and bins only if requested and not empty.
pub(super) fn latency(summary: &LatencySummary, percentiles: bool, plus: bool) -> Object {
    let mut figures = Object::new()
        .with("min", summary.min)
        .with("max", summary.max)
        .with("mean", summary.mean)
        .with("stddev", summary.stddev)
        .with("N", summary.n);
    if percentiles && summary.n > 0 {
        let named = summary
            .percentiles
            .iter()
            .map(|(percent, ns)| (format!("{percent:.6}"), *ns));
        figures.push("percentile", counted(named));
        if plus {
            figures.push(
                "bins",
                counted(
                    summary
                        .bins
                        .iter()
                        .map(|(middle, n)| (middle.to_string(), *n)),
                ),
            );
        }
    }
    figures
}

fn counted(pairs: impl Iterator<Item = (String, u64)>) -> Object {
    Object::of(pairs.map(|(name, value)| (name, Tree::Int(value))))
}

#[cfg(test)]
mod tests {
    use fathom_model::Samples;

    use super::*;

    /// Each statistic of each kind of samples is under its own key.
    #[test]
    fn statistics_of_samples_have_their_keys() {
        let of = |times: f64, count| Samples {
            min: times,
            max: 4.0 * times,
            mean: 2.5 * times,
            dev: 1.25 * times,
            count,
        };
        let summary = DirectionSummary {
            bw_samples: of(100.0, 7),
            bw_share: 40.5,
            iops_samples: of(8.0, 9),
            ..DirectionSummary::default()
        };
        let text = Tree::from(samples(&summary, Object::new())).compact();
        for pair in [
            r#""bw_min":100"#,
            r#""bw_max":400"#,
            r#""bw_agg":40.5"#,
            r#""bw_mean":250"#,
            r#""bw_dev":125"#,
            r#""bw_samples":7"#,
            r#""iops_min":8"#,
            r#""iops_max":32"#,
            r#""iops_mean":20"#,
            r#""iops_stddev":10"#,
            r#""iops_samples":9"#,
        ] {
            let whole = [",", "}"].map(|end| text.contains(&format!("{pair}{end}")));
            assert!(whole.contains(&true), "{pair}: {text}");
        }
    }
}
