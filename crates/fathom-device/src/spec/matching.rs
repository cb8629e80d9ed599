//! Which figures of a sheet a measurement under other conditions can be compared with.

use super::conditions::{Conditions, conditions};
use super::sheet::{Access, Figure, FigureDirection, Metric, Zone};

/// The load that was measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MeasuredLoad {
    /// Direction.
    pub side: FigureDirection,
    /// Order of addresses.
    pub access: Access,
    /// Block size, depth and threads.
    pub under: Conditions,
}

impl MeasuredLoad {
    /// Whether a rate of this load can be below the figure, but not be compared otherwise: the pattern is the same, and more
    /// I/Os were in flight than the figure needs. A longer queue gives at least the same rate.
    #[must_use]
    pub fn is_deeper_than(&self, figure: &Figure) -> bool {
        let wanted = conditions(figure);
        let at_its_depth = Self {
            under: Conditions {
                depth: wanted.depth,
                threads: wanted.threads,
                ..self.under.clone()
            },
            ..self.clone()
        };
        let is_rate = !matches!(figure.what, Metric::Latency(_));
        is_rate && wanted.in_flight() < self.under.in_flight() && at_its_depth.applies_to(figure)
    }

    /// Requires the same pattern, direction and block size; for a latency the same depth, for a
    /// rate at most the figure's depth, because a rate at a higher depth says nothing about a
    /// promise for a lower one. Figures for a part of the device need a measurement of that part.
    #[must_use]
    pub fn applies_to(&self, figure: &Figure) -> bool {
        let (wanted, under) = (conditions(figure), &self.under);
        let deep_enough = match figure.what {
            Metric::Latency(_) => wanted.in_flight() == under.in_flight(),
            Metric::Iops | Metric::Bandwidth => wanted.in_flight() >= under.in_flight(),
        };
        // Sequential bandwidth hardly depends on the block size; if the sheet states none, any will
        // do.
        let block = wanted.block == under.block
            || (figure.block.is_none() && figure.access == Access::Sequential);
        self.side == figure.side
            && self.access == figure.access
            && deep_enough
            && block
            && figure.zone == Zone::Whole
    }
}
