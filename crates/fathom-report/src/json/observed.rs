//! Block I/O that was seen through tracepoints, in JSON: what the charts of observed runs need, exactly.

use fathom_model::{ObservedIo, ObservedOffsets, RequestPhase, SparseHistogram};

use crate::tree::{Object, Tree, Value};

pub(super) fn observed(one: &ObservedIo) -> Object {
    let phases = one.phases.iter().fold(
        Object::new(),
        |all, (phase, latencies): &(RequestPhase, Vec<SparseHistogram>)| {
            all.with(
                phase.name(),
                latencies.iter().map(histogram).collect::<Tree>(),
            )
        },
    );
    let sizes = |sizes: &[(u64, u64)]| {
        sizes
            .iter()
            .map(|(bytes, count)| Object::new().with("bytes", *bytes).with("count", *count))
            .collect::<Value>()
    };
    let object = Object::new()
        .with("interval_ns", one.interval.get())
        .with("latency_buckets", phases)
        .with(
            "depth_thousandths",
            one.depth
                .iter()
                .map(|depth| Tree::Int(*depth))
                .collect::<Tree>(),
        )
        .with("largest_depth", one.largest_depth)
        .with("request_sizes", sizes(&one.request_sizes))
        .with("bio_sizes", sizes(&one.bio_sizes));
    match &one.offsets {
        Some(map) => object.with("offsets", offsets(map)),
        None => object,
    }
}

/// `1152:12 1160:4`: numbers of histogram buckets with their counts.
pub(super) fn histogram(packed: &SparseHistogram) -> String {
    pairs(
        packed
            .unpack()
            .indexed()
            .map(|(n, count)| (n as u64, count)),
    )
}

fn pairs(all: impl Iterator<Item = (u64, u64)>) -> String {
    let words: Vec<String> = all.map(|(n, count)| format!("{n}:{count}")).collect();
    words.join(" ")
}

/// Each column is the numbers of its rows with their counts, without those of 0.
fn offsets(map: &ObservedOffsets) -> Object {
    let rows = usize::try_from(map.rows).unwrap_or(usize::MAX).max(1);
    let columns = map.counts.chunks(rows).map(|column| {
        pairs(
            (0..)
                .zip(column.iter().copied())
                .filter(|(_, count)| *count > 0),
        )
    });
    Object::new()
        .with("column_ns", map.column.get())
        .with("first_byte", map.first_byte)
        .with("row_bytes", map.row_bytes)
        .with("rows", map.rows)
        .with("columns", columns.collect::<Tree>())
}
