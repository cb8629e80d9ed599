//! Which figures of a sheet a measurement under conditions of its own can speak to.

use super::conditions::{Conditions, conditions};
use super::sheet::{Access, Figure, Side, What, Zone};

/// What was measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Load {
    /// Direction.
    pub side: Side,
    /// Order of addresses.
    pub access: Access,
    /// Block, depth and threads.
    pub under: Conditions,
}

impl Load {
    /// The same pattern, direction and block; a latency of the same depth, a rate of no lower one: with more in flight a promise
    /// for fewer says nothing. Figures for a part of the device need a measurement of that part.
    #[must_use]
    pub fn speaks_to(&self, figure: &Figure) -> bool {
        let (wanted, under) = (conditions(figure), &self.under);
        let deep_enough = match figure.what {
            What::Latency(_) => wanted.in_flight() == under.in_flight(),
            What::Iops | What::Bandwidth => wanted.in_flight() >= under.in_flight(),
        };
        // Bandwidth of sequential I/O hardly depends on the block; where the sheet states none, any will do.
        let block = wanted.block == under.block
            || (figure.block.is_none() && figure.access == Access::Sequential);
        self.side == figure.side
            && self.access == figure.access
            && deep_enough
            && block
            && figure.zone == Zone::Whole
    }
}
