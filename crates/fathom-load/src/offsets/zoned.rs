//! Shares of the accesses go to shares of the span.

use super::{Offsets, Span};
use crate::rng::Rng;

/// Uniform inside zones; zones are drawn by their share of the accesses. With replacement.
#[derive(Clone, Debug)]
pub(crate) struct Zoned {
    /// Cumulative access share in percent, and the zone.
    zones: Vec<(u64, Span)>,
    rng: Rng,
}

impl Zoned {
    /// Zones in order, each with its share of accesses (percent) and its bytes; zones beyond the
    /// span and zones without a whole block get no access. The remaining share goes to the last
    /// zone.
    pub fn new(span: Span, parts: &[(u8, u64)], rng: Rng) -> Option<Self> {
        let mut zones = Vec::new();
        let (mut at, mut share) = (span.start, 0u64);
        for (percent, bytes) in parts {
            let end = at
                .saturating_add(bytes / span.align * span.align)
                .min(span.end);
            share += u64::from(*percent);
            let zone = Span {
                start: at,
                end,
                align: span.align,
            };
            if *percent > 0 && zone.blocks() > 0 {
                zones.push((share, zone));
            }
            at = end;
        }
        (!zones.is_empty()).then_some(Zoned { zones, rng })
    }
}

impl Offsets for Zoned {
    fn next(&mut self, len: u32) -> Option<u64> {
        let total = self.zones.last().expect("made with at least one zone").0;
        let draw = self.rng.below(total);
        let zone = self
            .zones
            .iter()
            .find(|zone| draw < zone.0)
            .expect("a draw is below the total")
            .1;
        let block = self.rng.below(zone.blocks());
        Some(zone.fit(block, len))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accesses_follow_the_shares() {
        let span = Span {
            start: 0,
            end: 1000 * 512,
            align: 512,
        };
        // fio's example: 60/10:30/20:8/30:2/40.
        let parts = [(60, 100), (30, 200), (8, 300), (2, 400)].map(|(p, b)| (p, b * 512));
        let mut offsets = Zoned::new(span, &parts, Rng::new(1, 1)).expect("zones");
        let mut seen = [0u32; 4];
        for _ in 0..100_000 {
            let block = offsets.next(512).expect("endless") / 512;
            let zone = [100, 300, 600, 1000]
                .iter()
                .position(|end| block < *end)
                .expect("inside");
            seen[zone] += 1;
        }
        for (n, expected) in seen.iter().zip([60_000u32, 30_000, 8_000, 2_000]) {
            assert!(n.abs_diff(expected) < 900, "{seen:?}");
        }
    }
}
