//! Checks whether caches can have answered repeated accesses to skewed addresses.

use fathom_model::{Finding, ImportedFigures, Weight};

use super::about;
use crate::distinct_blocks::of_zipf;
use crate::figures::{count, percent};

/// Below this share, repeats have no visible effect.
const LEAST: f64 = 0.05;

/// Share of `draws` that hit a block not drawn before, from `blocks` under a zipf distribution with
/// this theta: the expected number of distinct blocks, sum of 1 - (1 - p)^draws, over the draws.
#[must_use]
pub fn distinct_share(theta: f64, blocks: u64, draws: u64) -> f64 {
    if blocks == 0 || draws == 0 {
        return 0.0;
    }
    (of_zipf(theta, blocks, draws) / draws as f64).min(1.0)
}

/// Reports results under a skewed distribution that a cache can have answered.
pub(crate) fn cached(imported: &ImportedFigures) -> Option<Finding> {
    let (theta, ios) = (imported.zipf?, imported.ios?);
    let blocks = imported.region? / imported.block?.max(1);
    let share = distinct_share(theta, blocks, ios);
    if 1.0 - share < LEAST {
        return None;
    }
    let evidence = format!(
        "Of {} I/Os under zipf {theta}, {} hit a block for the first time; up to {} can have come from a cache, while hot \
         blocks are scattered over the region and seeks are as long as before.",
        count(ios),
        percent(share * 100.0),
        percent((1.0 - share) * 100.0),
    );
    let advice = "Read it as a cache's result; run until the hit ratio no longer rises, and report the share of distinct blocks.";
    Some(about(imported, Weight::Degrades, evidence, advice))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_skew_it_is_the_birthday_formula() {
        // 1 - (1 - 1/n)^k over k/n, n = k = 1000: 1 - 1/e.
        assert!((distinct_share(0.0, 1000, 1000) - 0.6323).abs() < 0.0005);
        assert!((distinct_share(0.0, 10_000_000, 1000) - 1.0).abs() < 0.001);
    }

    #[test]
    fn steps_agree_with_the_exact_sum() {
        // The same distribution, once exact and once with nine tenths of the ranks in steps.
        let (blocks, draws, theta) = (1_000_000_u64, 5_000.0, 1.1_f64);
        let total: f64 = (1..=blocks).map(|r| (r as f64).powf(-theta)).sum();
        let exact: f64 = (1..=blocks)
            .map(|r| 1.0 - (1.0 - (r as f64).powf(-theta) / total).powf(draws))
            .sum();
        assert!((distinct_share(theta, blocks, 5_000) - exact / draws).abs() < 0.001);
    }
}
