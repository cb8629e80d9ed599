//! How many different blocks random I/O touches.

use fathom_model::{Access, Distribution, Pattern};

/// Ranks that are added individually; higher ranks are integrated over increasing steps.
const EXACT: u64 = 100_000;
/// Width of those steps.
const STEP: f64 = 1.05;

/// The expected number of distinct blocks in `draws` independent draws from `blocks`: the sum of 1 - (1 - p)^draws over the
/// probabilities p of the blocks. `None` for distributions whose blocks have no ranks.
#[must_use]
pub fn distinct_blocks(distribution: &Distribution, blocks: u64, draws: u64) -> Option<f64> {
    if blocks == 0 || draws == 0 {
        return Some(0.0);
    }
    match distribution {
        Distribution::Uniform => Some(blocks as f64 * hit(1.0 / blocks as f64, draws)),
        Distribution::Zipf {
            theta,
            center: None,
        } => Some(of_zipf(*theta, blocks, draws)),
        Distribution::Pareto {
            power,
            center: None,
        } => Some(of_pareto(*power, blocks, draws)),
        _ => None,
    }
}

/// The number of distinct blocks under a zipf distribution. Without skew (theta 0) all blocks are equally likely.
pub(crate) fn of_zipf(theta: f64, blocks: u64, draws: u64) -> f64 {
    let total = over_ranks(blocks, |rank, width| width * rank.powf(-theta));
    over_ranks(blocks, |rank, width| {
        width * hit(rank.powf(-theta) / total, draws)
    })
}

/// Self-similar: the share x of the blocks, the most frequent ones, gets the share x^(1 / e) of the draws, with
/// e = ln h / ln (1 - h).
fn of_pareto(power: f64, blocks: u64, draws: u64) -> f64 {
    let n = blocks as f64;
    let inverse = (1.0 - power).ln() / power.ln();
    let below = |rank: f64| (rank / n).powf(inverse);
    over_ranks(blocks, |rank, width| {
        let p = if width == 1.0 {
            below(rank) - below(rank - 1.0)
        } else {
            inverse * ((rank - 0.5) / n).powf(inverse - 1.0) / n
        };
        width * hit(p, draws)
    })
}

/// The probability that a block is among the draws.
fn hit(p: f64, draws: u64) -> f64 {
    -(draws as f64 * (-p.min(1.0)).ln_1p()).exp_m1()
}

/// Sum over all ranks from 1. The value of a wide step is that of its geometric mean.
fn over_ranks(blocks: u64, value: impl Fn(f64, f64) -> f64) -> f64 {
    let mut sum: f64 = (1..=blocks.min(EXACT))
        .map(|rank| value(rank as f64, 1.0))
        .sum();
    let mut at = EXACT.min(blocks) as f64 + 0.5;
    let end = blocks as f64 + 0.5;
    while at < end {
        let next = (at * STEP).min(end);
        sum += value((at * next).sqrt(), next - at);
        at = next;
    }
    sum
}

/// The distribution and the block size of a skewed pattern whose blocks all have one size.
pub(crate) fn skewed(pattern: &Pattern) -> Option<(&Distribution, u64)> {
    let used = fathom_model::Direction::ALL
        .into_iter()
        .find(|d| pattern.traffic.uses(*d))?;
    let sizes = &pattern.block_size[used];
    let distribution = &pattern.distribution[used];
    let is_skewed = matches!(
        distribution,
        Distribution::Zipf { center: None, .. } | Distribution::Pareto { center: None, .. }
    );
    let is_random = matches!(pattern.access, Access::Random { .. })
        && pattern.random_percent[used] == 100
        && pattern.zones.is_none();
    (is_skewed && is_random && sizes.min() == sizes.max() && sizes.min() > 0)
        .then(|| (distribution, u64::from(sizes.min())))
}

/// `zipf 1.2`, `pareto 0.2`.
pub(crate) fn name(distribution: &Distribution) -> String {
    match distribution {
        Distribution::Zipf { theta, .. } => format!("zipf {theta}"),
        Distribution::Pareto { power, .. } => format!("pareto {power}"),
        _ => String::new(),
    }
}
