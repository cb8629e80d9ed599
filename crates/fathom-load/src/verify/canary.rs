//! A check of the checker: a block is spoilt in memory and must be found bad.

use std::time::Duration;

use super::check::Expected;
use super::mismatch::Fault;
use super::stamper::{Stamper, VerifyError};

/// What became of the canary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Canary {
    /// Everything this method promises to find was found.
    Caught,
    /// The method looks at no data: `null` at nothing, `meta` without a pattern at headers only.
    Blind,
    /// A spoilt block passed, or a good one failed: results of this verification mean nothing.
    Missed,
}

const OFFSET: u64 = 1 << 20;
const NUMBER: u64 = 2;

impl Stamper {
    /// Stamps a block of `len` bytes, spoils it in several ways, and looks whether each is found. Run it once a run.
    ///
    /// # Errors
    /// The block is too small to be stamped.
    pub fn self_test(&self, len: usize) -> Result<Canary, VerifyError> {
        let mut block = vec![0; len];
        self.stamp(&mut block, OFFSET, NUMBER, Duration::ZERO)?;
        let expected = Expected {
            number: Some(NUMBER),
            seed: Some(self.seed_of(NUMBER, OFFSET)),
        };
        if self.check(&block, OFFSET, expected).is_err() {
            return Ok(Canary::Missed);
        }
        if self.has_header() && !self.finds_wrong_place_and_age(&block, expected) {
            return Ok(Canary::Missed);
        }
        Ok(self.finds_spoilt_data(&mut block, expected))
    }

    fn finds_wrong_place_and_age(&self, block: &[u8], expected: Expected) -> bool {
        let fault = |offset, expected| {
            self.check(block, offset, expected)
                .err()
                .map(|mismatch| mismatch.fault)
        };
        let later = Expected {
            number: Some(NUMBER + 1),
            seed: None,
        };
        matches!(
            fault(0, expected),
            Some(Fault::Misdirected { belongs: OFFSET })
        ) && matches!(fault(OFFSET, later), Some(Fault::Stale { .. }))
    }

    fn finds_spoilt_data(&self, block: &mut [u8], expected: Expected) -> Canary {
        let last = block.len() - 1;
        block[last] ^= 0x10;
        match (
            self.check(block, OFFSET, expected).is_err(),
            self.looks_at_data(),
        ) {
            (true, _) => Canary::Caught,
            (false, false) => Canary::Blind,
            (false, true) => Canary::Missed,
        }
    }

    /// Whether bytes behind the header are checked at all.
    #[must_use]
    pub fn looks_at_data(&self) -> bool {
        use fathom_model::VerifyKind::{Meta, Null};
        match self.kind {
            Null => false,
            Meta => self.pattern.is_some(),
            _ => true,
        }
    }
}
