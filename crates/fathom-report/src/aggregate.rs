//! fio's logs of the bandwidth of all jobs together (`--bandwidth-log`).

use std::collections::BTreeMap;
use std::fmt::Write;

use fathom_model::{Direction, PerDirection, Recording};

/// What all jobs did in one interval of the run.
#[derive(Default)]
struct Together {
    from: u64,
    to: u64,
    bytes: PerDirection<u64>,
}

/// One log for each direction: `end of the interval in ms, KiB/s, direction, 0, 0`, a line for each interval in which
/// any job was measured. The intervals of all jobs lie on one grid, so their bytes are added.
#[must_use]
pub fn aggregate_bandwidth(recording: &Recording) -> PerDirection<String> {
    let mut logs = PerDirection::<String>::default();
    for together in intervals(recording).values() {
        let length = u128::from((together.to - together.from).max(1)) * 1024;
        for direction in Direction::ALL {
            let rate =
                (u128::from(together.bytes[direction]) * 1_000_000_000 + length / 2) / length;
            // Writing to a String cannot fail.
            let _ = writeln!(
                logs[direction],
                "{}, {rate}, {}, 0, 0",
                together.to / 1_000_000,
                direction as u8
            );
        }
    }
    logs
}

fn intervals(recording: &Recording) -> BTreeMap<u64, Together> {
    let grid = recording.plan.interval.get().max(1);
    let mut all = BTreeMap::<u64, Together>::new();
    for interval in recording.jobs.iter().flat_map(|job| &job.intervals) {
        let (start, end) = (
            interval.start.get(),
            interval.start.saturating_add(interval.length).get(),
        );
        let fresh = || Together {
            from: start,
            to: end,
            ..Together::default()
        };
        let together = all.entry(start / grid).or_insert_with(fresh);
        together.from = together.from.min(start);
        together.to = together.to.max(end);
        for direction in Direction::ALL {
            together.bytes[direction] += interval.directions[direction].bytes;
        }
    }
    all
}
