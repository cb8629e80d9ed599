//! Spans of time in which something holds.

use crate::device::SimTime;
use crate::machine::Event;

/// Spans in the order of time; they neither overlap nor touch.
#[derive(Clone, Debug, Default)]
pub(super) struct Windows(Vec<(SimTime, SimTime)>);

impl Windows {
    /// The spans of these events.
    pub fn new<'e>(events: impl Iterator<Item = &'e Event>) -> Self {
        let spans = events.map(|event| (event.at.get(), event.end().get()));
        let mut spans: Vec<_> = spans.filter(|(from, to)| from < to).collect();
        spans.sort_unstable();
        let mut merged: Vec<(SimTime, SimTime)> = Vec::new();
        for (from, to) in spans {
            match merged.last_mut() {
                Some(last) if from <= last.1 => last.1 = last.1.max(to),
                _ => merged.push((from, to)),
            }
        }
        Windows(merged)
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The end of the span that holds at `now`.
    pub fn end_at(&self, now: SimTime) -> Option<SimTime> {
        let span = self.0.iter().find(|(from, to)| (*from..*to).contains(&now));
        span.map(|(_, to)| *to)
    }

    /// How much time before `now` is in spans.
    #[inline]
    pub fn length_before(&self, now: SimTime) -> SimTime {
        let passed = self.0.iter().take_while(|(from, _)| *from < now);
        passed.map(|(from, to)| now.min(*to) - from).sum()
    }

    /// When so much time outside of spans has passed: at the beginning of a span, not after it, if there is a choice.
    pub fn time_after(&self, outside: SimTime) -> SimTime {
        let mut at = outside;
        for (from, to) in &self.0 {
            if at <= *from {
                break;
            }
            at = at.saturating_add(to - from);
        }
        at
    }

    pub fn spans(&self) -> &[(SimTime, SimTime)] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use fathom_model::Nanos;

    use super::*;

    fn windows(spans: &[(u64, u64)]) -> Windows {
        let stall = |(from, to): &(u64, u64)| {
            Event::disk_stalls(Nanos::new(*from), Nanos::new(to - from), 0)
        };
        let events: Vec<Event> = spans.iter().map(stall).collect();
        Windows::new(events.iter())
    }

    #[test]
    fn spans_are_sorted_and_merged() {
        let merged = windows(&[(50, 60), (10, 20), (20, 25), (12, 15), (60, 60)]);
        assert_eq!(merged.spans(), [(10, 25), (50, 60)]);
        assert_eq!(merged.end_at(9), None);
        assert_eq!(merged.end_at(24), Some(25));
        assert_eq!(merged.end_at(25), None);
    }

    #[test]
    fn time_outside_of_spans_and_back() {
        let spans = windows(&[(10, 20), (30, 35)]);
        // Time 0 to 10, 20 to 30 and from 35 on are outside.
        for (now, inside) in [
            (5, 0),
            (10, 0),
            (15, 5),
            (20, 10),
            (30, 10),
            (33, 13),
            (40, 15),
        ] {
            assert_eq!(spans.length_before(now), inside, "{now}");
        }
        for (outside, at) in [(5, 5), (10, 10), (11, 21), (20, 30), (21, 36)] {
            assert_eq!(spans.time_after(outside), at, "{outside}");
        }
        assert_eq!(windows(&[(10, u64::MAX)]).time_after(11), u64::MAX);
    }
}
