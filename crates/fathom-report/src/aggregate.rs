//! fio's logs of the bandwidth of all jobs total (`--bandwidth-log`).

use std::collections::BTreeMap;
use std::fmt::Write;

use fathom_model::{Direction, PerDirection, Recording};

/// The sum of all jobs over one interval.
#[derive(Default)]
struct Total {
    from: u64,
    to: u64,
    bytes: PerDirection<u64>,
}

/// One log for each direction: `end of the interval in ms, KiB/s, direction, 0, 0`, with a line for each interval in
/// which any job was measured. All jobs have the same interval boundaries, so their bytes add up.
#[must_use]
pub fn aggregate_bandwidth(recording: &Recording) -> PerDirection<String> {
    let mut logs = PerDirection::<String>::default();
    for total in intervals(recording).values() {
        let length = u128::from((total.to - total.from).max(1)) * 1024;
        for direction in Direction::ALL {
            let rate = (u128::from(total.bytes[direction]) * 1_000_000_000 + length / 2) / length;
            // Writing to a String cannot fail.
            let _ = writeln!(
                logs[direction],
                "{}, {rate}, {}, 0, 0",
                total.to / 1_000_000,
                direction as u8
            );
        }
    }
    logs
}

fn intervals(recording: &Recording) -> BTreeMap<u64, Total> {
    let grid = recording.plan.interval.get().max(1);
    let mut all = BTreeMap::<u64, Total>::new();
    for interval in recording.jobs.iter().flat_map(|job| &job.intervals) {
        let (start, end) = (
            interval.start.get(),
            interval.start.saturating_add(interval.length).get(),
        );
        let fresh = || Total {
            from: start,
            to: end,
            ..Total::default()
        };
        let total = all.entry(start / grid).or_insert_with(fresh);
        total.from = total.from.min(start);
        total.to = total.to.max(end);
        for direction in Direction::ALL {
            total.bytes[direction] += interval.directions[direction].bytes;
        }
    }
    all
}
