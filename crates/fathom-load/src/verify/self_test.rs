//! A self-test of the verification: a block is corrupted in memory and must be found bad.

use std::time::Duration;

use super::check::Expected;
use super::mismatch::Fault;
use super::stamper::{Stamper, VerifyError};

/// The result of the self-test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SelfTest {
    /// Every error that this method should detect was detected.
    Passed,
    /// The method checks no data: `null` checks nothing, `meta` without a pattern only headers.
    DataNotChecked,
    /// A corrupted block passed, or a good one failed: the results of this verification are
    /// meaningless.
    Failed,
}

const OFFSET: u64 = 1 << 20;
const NUMBER: u64 = 2;

impl Stamper {
    /// Stamps a block of `len` bytes, corrupts it in several ways, and checks that each error is
    /// detected. Run it once per run.
    ///
    /// # Errors
    /// If the block is too small to be stamped.
    pub fn self_test(&self, len: usize) -> Result<SelfTest, VerifyError> {
        let mut block = vec![0; len];
        self.stamp(&mut block, OFFSET, NUMBER, Duration::ZERO)?;
        let expected = Expected {
            number: Some(NUMBER),
            seed: Some(self.seed_of(NUMBER, OFFSET)),
        };
        if self.check(&block, OFFSET, expected).is_err() {
            return Ok(SelfTest::Failed);
        }
        if self.has_header() && !self.detects_misdirected_and_stale(&block, expected) {
            return Ok(SelfTest::Failed);
        }
        Ok(self.detects_altered_data(&mut block, expected))
    }

    fn detects_misdirected_and_stale(&self, block: &[u8], expected: Expected) -> bool {
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

    fn detects_altered_data(&self, block: &mut [u8], expected: Expected) -> SelfTest {
        let last = block.len() - 1;
        block[last] ^= 0x10;
        match (
            self.check(block, OFFSET, expected).is_err(),
            self.checks_data(),
        ) {
            (true, _) => SelfTest::Passed,
            (false, false) => SelfTest::DataNotChecked,
            (false, true) => SelfTest::Failed,
        }
    }

    /// Whether bytes after the header are checked at all.
    #[must_use]
    pub fn checks_data(&self) -> bool {
        use fathom_model::VerifyKind::{Meta, Null};
        match self.kind {
            Null => false,
            Meta => self.pattern.is_some(),
            _ => true,
        }
    }
}
