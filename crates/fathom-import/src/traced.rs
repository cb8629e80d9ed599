//! What was seen through tracepoints, from the JSON of a result: block I/O and the blame sheet.

use fathom_model::{
    BlameGroup, BlamePhase, BlameRank, BlameRow, BlameTimes, BlamedIo, Direction, Nanos,
    ObservedIo, ObservedOffsets, RequestPhase, Unjoined,
};
use serde_json::Value;

use crate::cells::buckets;

/// Cells of a map of offsets: 256 columns of 512 rows are the most that fathom writes.
const MOST_CELLS: u64 = 1 << 20;

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn count(value: &Value, key: &str) -> u64 {
    value[key].as_u64().unwrap_or(0)
}

/// The block I/O of an entry, if it has any.
pub(crate) fn observed(entry: &Value) -> Option<ObservedIo> {
    let one = entry.get("observed").filter(|one| one.is_object())?;
    let phases = RequestPhase::ALL.iter().filter_map(|phase| {
        let latencies = one["latency_buckets"][phase.name()].as_array()?;
        let texts = latencies
            .iter()
            .map(|text| buckets(text.as_str().unwrap_or_default()));
        Some((*phase, texts.collect()))
    });
    let sizes = |key: &str| {
        list(&one[key])
            .iter()
            .map(|size| (count(size, "bytes"), count(size, "count")))
            .collect()
    };
    Some(ObservedIo {
        interval: Nanos::new(count(one, "interval_ns")),
        phases: phases.collect(),
        depth: list(&one["depth_thousandths"])
            .iter()
            .map(|depth| depth.as_u64().unwrap_or(0))
            .collect(),
        largest_depth: u32::try_from(count(one, "largest_depth")).unwrap_or(u32::MAX),
        request_sizes: sizes("request_sizes"),
        bio_sizes: sizes("bio_sizes"),
        offsets: offsets(&one["offsets"]),
    })
}

fn offsets(map: &Value) -> Option<ObservedOffsets> {
    let rows = map["rows"].as_u64()?;
    let columns = map["columns"].as_array()?;
    let cells = rows.checked_mul(columns.len() as u64)?;
    if cells > MOST_CELLS {
        return None;
    }
    let mut counts = vec![0; cells as usize];
    for (number, column) in columns.iter().enumerate() {
        for pair in column.as_str().unwrap_or_default().split_whitespace() {
            let Some((row, n)) = pair.split_once(':') else {
                continue;
            };
            if let (Ok(row), Ok(n)) = (row.parse::<u64>(), n.parse())
                && row < rows
            {
                counts[number * rows as usize + row as usize] = n;
            }
        }
    }
    Some(ObservedOffsets {
        column: Nanos::new(count(map, "column_ns")),
        first_byte: count(map, "first_byte"),
        row_bytes: count(map, "row_bytes"),
        rows,
        counts,
    })
}

/// The groups of the blame sheet of a document; empty without one.
pub(crate) fn blame(addition: &Value) -> Vec<BlameGroup> {
    list(&addition["blame"]["groups"])
        .iter()
        .map(group)
        .collect()
}

fn group(value: &Value) -> BlameGroup {
    let unjoined = |key: &str| count(&value["unjoined"], key);
    BlameGroup {
        name: value["name"].as_str().unwrap_or_default().to_owned(),
        direction: direction(value),
        joined: count(value, "joined"),
        response_ns: count(value, "response_ns"),
        unjoined: Unjoined {
            buffered: unjoined("buffered"),
            merged: unjoined("merged"),
            lost_events: unjoined("lost_events"),
            no_position: unjoined("no_position"),
            no_request: unjoined("no_request"),
            ambiguous: unjoined("ambiguous"),
            not_logged: unjoined("not_logged"),
        },
        rows: list(&value["rows"]).iter().filter_map(row).collect(),
        slowest: list(&value["slowest_ios"])
            .iter()
            .filter_map(io)
            .take(BlameGroup::MAX_SLOWEST)
            .collect(),
    }
}

fn direction(value: &Value) -> Option<Direction> {
    let name = value["direction"].as_str()?;
    Direction::ALL
        .into_iter()
        .find(|direction| direction.name() == name)
}

fn phases(value: &Value) -> BlameTimes {
    let mut times = BlameTimes::default();
    for (time, phase) in times.ns.iter_mut().zip(BlamePhase::ALL) {
        *time = count(&value["phases_ns"], phase.name());
    }
    times
}

fn row(value: &Value) -> Option<BlameRow> {
    let name = value["rank"].as_str()?;
    Some(BlameRow {
        rank: *BlameRank::ALL.iter().find(|rank| rank.name() == name)?,
        ios: count(value, "ios"),
        phases: phases(value),
        in_block_layer_ns: count(value, "in_block_layer_ns"),
        beside_ns: list(&value["beside_ns"])
            .iter()
            .map(|time| time.as_u64().unwrap_or(0))
            .collect(),
    })
}

fn io(value: &Value) -> Option<BlamedIo> {
    let small = |key: &str| u32::try_from(count(value, key)).unwrap_or(u32::MAX);
    Some(BlamedIo {
        job: small("job"),
        direction: direction(value)?,
        offset: count(value, "offset"),
        len: small("bytes"),
        due: Nanos::new(count(value, "due_ns")),
        reaped: Nanos::new(count(value, "reaped_ns")),
        phases: phases(value),
        pieces: small("requests"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Regression 0890: charts and reports of JSON files had no block I/O and no blame sheet.
    #[test]
    fn block_io_and_blame_are_read_back() {
        let entry = json!({"observed": {
            "interval_ns": 100, "largest_depth": 3, "depth_thousandths": [1500, 0],
            "latency_buckets": {"issue_to_complete": ["36:12 37:4", ""]},
            "request_sizes": [{"bytes": 4096, "count": 7}], "bio_sizes": [],
            "offsets": {"column_ns": 16, "first_byte": 1024, "row_bytes": 512, "rows": 3, "columns": ["0:5 2:1", "1:9 7:7 x"]}
        }});
        let one = observed(&entry).expect("block I/O");
        assert_eq!(one.phases.len(), 1);
        let (phase, latencies) = &one.phases[0];
        assert_eq!(*phase, RequestPhase::IssueToComplete);
        assert_eq!(
            latencies[0].unpack().indexed().collect::<Vec<_>>(),
            [(36, 12), (37, 4)]
        );
        assert!(latencies[1].is_empty());
        assert_eq!(
            (one.depth, one.request_sizes),
            (vec![1500, 0], vec![(4096, 7)])
        );
        // A row beyond the last is left out.
        let map = one.offsets.expect("offsets");
        assert_eq!(map.counts, [5, 0, 1, 0, 9, 0]);
        let sheet = json!({"blame": {"groups": [{
            "name": "a", "direction": "write", "joined": 9, "response_ns": 21, "unjoined": {"buffered": 2},
            "rows": [{"rank": "p99.9", "ios": 1, "phases_ns": {"generator": 1, "reaping": 20}, "beside_ns": [4]}, {"rank": "p7"}],
            "slowest_ios": [{"direction": "write", "bytes": 512, "phases_ns": {"device": 5}}]
        }]}});
        let groups = blame(&sheet);
        let [group] = groups.as_slice() else {
            panic!("{groups:?}")
        };
        assert_eq!(group.direction, Some(Direction::Write));
        assert_eq!((group.unjoined.total(), group.rows.len()), (2, 1));
        assert_eq!(group.rows[0].rank, BlameRank::P999);
        assert_eq!(group.rows[0].phases.total(), 21);
        assert_eq!(group.slowest[0].phases.of(BlamePhase::Device), 5);
    }

    /// Sizes in a damaged document do not decide how much memory is taken.
    #[test]
    fn a_map_that_fathom_cannot_have_written_is_left_out() {
        let entry = json!({"observed": {"offsets": {"rows": u64::MAX, "columns": ["", ""]}}});
        assert_eq!(observed(&entry).expect("block I/O").offsets, None);
        let entry = json!({"observed": {"offsets": {"rows": 1_u64 << 40, "columns": [""]}}});
        assert_eq!(observed(&entry).expect("block I/O").offsets, None);
        assert_eq!(observed(&json!({"observed": null})), None);
    }
}
