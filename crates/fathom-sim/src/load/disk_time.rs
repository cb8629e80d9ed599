//! The time of a device, which passes slower than that of the machine while its disk stalls or is throttled.

use crate::device::SimTime;
use crate::machine::{Event, EventKind};

/// Speeds are parts of this one, so that times stay exact integers.
const FULL_SPEED: u64 = 1_000_000;

/// A span of the machine's time in which the device works slower.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Span {
    from: SimTime,
    to: SimTime,
    /// The speed of the device in parts of [`FULL_SPEED`]; 0 while it stands still.
    speed: u64,
}

impl Span {
    /// How much the device loses of so much time in the span, rounded down: what it does then is rounded up.
    fn lost(&self, time: SimTime) -> SimTime {
        let lost = u128::from(time) * u128::from(FULL_SPEED - self.speed) / u128::from(FULL_SPEED);
        // It is not more than `time`.
        lost as SimTime
    }

    /// The shortest time in the span in which the device does what takes it `progress` at full speed. The span is long enough.
    fn time_needed_for(&self, progress: SimTime) -> SimTime {
        let before_last = u128::from(progress.saturating_sub(1)) * u128::from(FULL_SPEED);
        (before_last / u128::from(self.speed.max(1))) as SimTime + 1
    }
}

/// Spans in the order of time, which do not overlap.
#[derive(Clone, Debug, Default)]
pub(super) struct DiskTime(Vec<Span>);

impl DiskTime {
    /// The spans of what happens to one disk. Where several overlap, the slowest holds.
    pub fn new<'e>(events: impl Iterator<Item = &'e Event>) -> Self {
        let slowed = events.filter_map(|event| {
            let speed = speed(&event.kind)?;
            let (from, to) = (event.at.get(), event.end().get());
            (from < to).then_some(Span { from, to, speed })
        });
        let slowed: Vec<Span> = slowed.collect();
        let mut edges: Vec<SimTime> = slowed.iter().flat_map(|one| [one.from, one.to]).collect();
        edges.sort_unstable();
        edges.dedup();
        let mut spans: Vec<Span> = Vec::new();
        for (from, to) in edges.iter().copied().zip(edges.iter().copied().skip(1)) {
            let holding = slowed.iter().filter(|one| one.from <= from && to <= one.to);
            let Some(speed) = holding.map(|one| one.speed).min() else {
                continue;
            };
            match spans.last_mut() {
                Some(last) if last.to == from && last.speed == speed => last.to = to,
                _ => spans.push(Span { from, to, speed }),
            }
        }
        DiskTime(spans)
    }

    #[inline]
    pub fn is_machine_time(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether the device stands still at `now`.
    pub fn stands_still(&self, now: SimTime) -> bool {
        let mut still = self.0.iter().filter(|span| span.speed == 0);
        still.any(|span| (span.from..span.to).contains(&now))
    }

    /// Whether the device stands still for ever after some time.
    pub fn stops_for_ever(&self) -> bool {
        let last = self.0.last();
        last.is_some_and(|span| span.speed == 0 && span.to == SimTime::MAX)
    }

    /// The device's time when that of the machine is `now`.
    #[inline]
    pub fn device_time_at(&self, now: SimTime) -> SimTime {
        let passed = self.0.iter().take_while(|span| span.from < now);
        let lost: SimTime = passed
            .map(|span| span.lost(now.min(span.to) - span.from))
            .sum();
        now - lost
    }

    /// The first time of the machine at which that of the device is `own` or later; [`SimTime::MAX`] if it never is.
    pub fn machine_time_at(&self, own: SimTime) -> SimTime {
        let mut at = own;
        for span in &self.0 {
            if at <= span.from {
                break;
            }
            let length = span.to - span.from;
            let (progress, lost) = (at - span.from, span.lost(length));
            if progress <= length - lost {
                return span.from + span.time_needed_for(progress);
            }
            at = at.saturating_add(lost);
        }
        at
    }
}

/// The speed of the disk during an event, in parts of [`FULL_SPEED`]; `None` where the event does not change it.
fn speed(kind: &EventKind) -> Option<u64> {
    match kind {
        EventKind::DiskStalls { .. } | EventKind::DiskHangs { .. } => Some(0),
        EventKind::DiskThrottles { share, .. } => Some((share * FULL_SPEED as f64).round() as u64),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use fathom_model::Nanos;

    use super::*;

    fn stall(from: u64, to: u64) -> Event {
        Event::disk_stalls(Nanos::new(from), Nanos::new(to - from), 0)
    }

    fn throttled(from: u64, to: u64, share: f64) -> Event {
        Event::disk_throttles(Nanos::new(from), Nanos::new(to - from), 0, share)
    }

    fn time(events: &[Event]) -> DiskTime {
        DiskTime::new(events.iter())
    }

    fn spans(events: &[Event]) -> Vec<(u64, u64, u64)> {
        let spans = time(events).0;
        let spans = spans.iter();
        spans.map(|one| (one.from, one.to, one.speed)).collect()
    }

    #[test]
    fn spans_are_sorted_and_the_slowest_holds() {
        let stalls = [stall(50, 60), stall(10, 20), stall(20, 25), stall(12, 15)];
        assert_eq!(spans(&stalls), [(10, 25, 0), (50, 60, 0)]);
        let overlapping = [
            throttled(10, 40, 0.5),
            stall(20, 30),
            throttled(30, 50, 0.25),
        ];
        assert_eq!(
            spans(&overlapping),
            [(10, 20, 500_000), (20, 30, 0), (30, 50, 250_000)]
        );
    }

    /// By hand: a stall of 10 from 10 on and one of 5 from 30 on; the times 0 to 10, 20 to 30 and from 35 on are the device's.
    #[test]
    fn a_device_that_stalls_stands_still() {
        let time = time(&[stall(10, 20), stall(30, 35)]);
        for (now, own) in [
            (5, 5),
            (10, 10),
            (15, 10),
            (20, 10),
            (30, 20),
            (33, 20),
            (40, 25),
        ] {
            assert_eq!(time.device_time_at(now), own, "{now}");
        }
        for (own, now) in [(5, 5), (10, 10), (11, 21), (20, 30), (21, 36)] {
            assert_eq!(time.machine_time_at(own), now, "{own}");
        }
        assert!(time.stands_still(12) && !time.stands_still(20));
        assert!(!time.stops_for_ever());
        let hung = [Event::disk_hangs(Nanos::new(10), 0)];
        assert!(DiskTime::new(hung.iter()).stops_for_ever());
        assert_eq!(DiskTime::new(hung.iter()).machine_time_at(11), u64::MAX);
    }

    /// By hand: at a quarter of its speed, the device does 25 of the 100 from 100 to 200.
    #[test]
    fn a_device_that_is_throttled_works_slower() {
        let time = time(&[throttled(100, 200, 0.25)]);
        for (now, own) in [(100, 100), (104, 101), (140, 110), (200, 125), (210, 135)] {
            assert_eq!(time.device_time_at(now), own, "{now}");
        }
        for (own, now) in [(100, 100), (110, 137), (125, 197), (126, 201)] {
            assert_eq!(time.machine_time_at(own), now, "{own}");
        }
        assert!(!time.stands_still(150));
    }

    /// The machine's time of a time of the device is the first one at which the device has come so far, whatever the speeds are.
    #[test]
    fn the_two_times_belong_together() {
        let events = [
            throttled(3, 90, 0.37),
            stall(40, 55),
            throttled(90, 131, 0.999),
        ];
        let time = time(&events);
        for own in 0..200 {
            let now = time.machine_time_at(own);
            assert!(time.device_time_at(now) >= own, "{own}");
            assert!(now == 0 || time.device_time_at(now - 1) < own, "{own}");
        }
    }
}
