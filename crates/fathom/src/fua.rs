//! Writes with forced unit access, which the kernel's counters do not tell from others: by the trace of the device's requests.

use std::path::Path;

use fathom_trace::{
    BlockDevices, BlockEvent, BlockEventKind, TraceConsumer, TraceOptions, TraceThread, Tracepoint,
    monotonic_ns,
};

/// Memory of the kernel for events that are not read yet.
const BUFFER: u64 = 4 << 20;
/// Writes that are remembered: 16 MiB of them.
const MOST: usize = 2 << 20;

/// A part of the measurement: from and to, `CLOCK_MONOTONIC`.
pub type Window = (u64, u64);

/// Counts the writes with forced unit access of a device.
pub enum FuaCount {
    /// The device has no such writes: the kernel sends a flush after the data.
    Never,
    /// They are traced.
    Traced(TraceThread<FuaWrites>),
    /// Nobody knows.
    Unknown,
}

/// When such writes went to the device.
#[derive(Debug, Default)]
pub struct FuaWrites {
    times: Vec<u64>,
    incomplete: bool,
}

impl TraceConsumer for FuaWrites {
    fn event(&mut self, event: &BlockEvent) {
        let flags = event.flags;
        if event.kind == BlockEventKind::Issue
            && flags.fua()
            && flags.is_write()
            && event.sectors > 0
        {
            if self.times.len() < MOST {
                self.times.push(event.time_ns);
            } else {
                self.incomplete = true;
            }
        }
    }

    fn lost(&mut self, _time_ns: u64, _events: u64) {
        self.incomplete = true;
    }
}

impl FuaWrites {
    /// How many were in any of these windows; `None` if some may be missing.
    fn within(&self, windows: &[Window]) -> Option<u64> {
        let count = |(from, to): &Window| {
            self.times
                .iter()
                .filter(|time| (from..=to).contains(time))
                .count() as u64
        };
        (!self.incomplete).then(|| windows.iter().map(count).sum())
    }
}

/// The time of a window's end.
pub fn now() -> u64 {
    monotonic_ns()
}

impl FuaCount {
    /// Begins to count on the disk with this name, such as `nvme0n1`.
    pub fn start(disk: &str) -> FuaCount {
        let queue = Path::new("/sys/block").join(disk).join("queue/fua");
        if std::fs::read_to_string(queue).is_ok_and(|text| text.trim() == "0") {
            return FuaCount::Never;
        }
        let devices = BlockDevices::default().all();
        let found = devices.iter().find(|(_, limits)| limits.name == disk);
        let Some((number, _)) = found else {
            return FuaCount::Unknown;
        };
        let options = TraceOptions {
            devices: vec![*number],
            tracepoints: vec![Tracepoint::Issue],
            buffer_bytes: BUFFER,
            ..TraceOptions::default()
        };
        // Without the right to trace the count is unknown, and everything else is not.
        TraceThread::start(&options, FuaWrites::default())
            .map_or(FuaCount::Unknown, FuaCount::Traced)
    }

    /// Ends, and returns the number of writes in the windows of each measurement; `None` where it is unknown.
    pub fn finish(self, measurements: &[Vec<Window>]) -> Vec<Option<u64>> {
        let seen = match self {
            FuaCount::Never => return vec![Some(0); measurements.len()],
            FuaCount::Unknown => None,
            FuaCount::Traced(trace) => trace
                .stop()
                .ok()
                .filter(|recorded| recorded.totals.lost == 0)
                .map(|recorded| recorded.consumer),
        };
        measurements
            .iter()
            .map(|windows| seen.as_ref()?.within(windows))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use fathom_trace::{DeviceNumber, IoFlags};

    use super::*;

    #[test]
    fn writes_with_forced_unit_access_count_for_the_measurement_that_made_them() {
        let mut seen = FuaWrites::default();
        for (time_ns, rwbs, sectors) in [
            (5, "WFS", 8),
            (10, "WFS", 8),
            (11, "FWFS", 8),
            // A plain write, a flush, and a read.
            (12, "WS", 8),
            (13, "FF", 0),
            (14, "R", 8),
            (20, "WFS", 8),
            (31, "WFS", 8),
        ] {
            seen.event(&BlockEvent {
                time_ns,
                cpu: 0,
                thread: 1,
                device: DeviceNumber::new(8, 0),
                sector: 0,
                sectors,
                flags: IoFlags::parse(rwbs),
                kind: BlockEventKind::Issue,
            });
        }
        assert_eq!(seen.within(&[(10, 20)]), Some(3));
        assert_eq!(seen.within(&[(0, 5), (30, 40)]), Some(2));
        assert_eq!(seen.within(&[]), Some(0));
        seen.lost(50, 1);
        assert_eq!(seen.within(&[(10, 20)]), None, "some are missing");
        assert_eq!(FuaCount::Never.finish(&[vec![(0, 9)]]), [Some(0)]);
        assert_eq!(FuaCount::Unknown.finish(&[vec![]]), [None]);
    }
}
