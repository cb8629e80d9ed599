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

    /// The end of the span that holds at `now`.
    pub fn end_at(&self, now: SimTime) -> Option<SimTime> {
        let span = self.0.iter().find(|(from, to)| (*from..*to).contains(&now));
        span.map(|(_, to)| *to)
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
}
