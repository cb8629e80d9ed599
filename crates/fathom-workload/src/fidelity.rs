//! How well one load stands for another.

use crate::profile::{Profile, Sizes};
use crate::record::IoKind;

/// How the total follows from the parts.
pub const TOTAL_RULE: &str = "(2 x lowest score + mean of all scores) / 3";
/// Parts of the time at which depths are compared.
const SLICES: usize = 20;
/// Cache sizes at which miss ratios are compared.
const CACHES: usize = 16;
/// Gaps that differ by this share are equal: two constant gaps that differ by a thousandth would be as far apart as any two.
const GAP_TOLERANCE: f64 = 0.05;
/// So are those that differ by this share of the mean gap: within a burst, gaps are the time that a program needs for an I/O.
const MEAN_GAP_TOLERANCE: f64 = 0.01;
/// Quantiles at which latencies are compared.
const QUANTILES: usize = 200;

/// One property of the loads.
#[derive(Clone, Debug, PartialEq)]
pub struct FidelityPart {
    /// Its name.
    pub name: &'static str,
    /// 0 to 100; `None` where a trace lacks it.
    pub score: Option<f64>,
    /// The rule of the score.
    pub rule: &'static str,
    /// What was found, or what is lacking.
    pub detail: String,
}

/// How well B stands for A.
#[derive(Clone, Debug, PartialEq)]
pub struct Fidelity {
    /// All properties.
    pub parts: Vec<FidelityPart>,
    /// 0 to 100, by [`TOTAL_RULE`].
    pub total: f64,
}

impl Fidelity {
    /// The property with the lowest score.
    #[must_use]
    pub fn worst(&self) -> Option<&FidelityPart> {
        self.parts
            .iter()
            .filter(|part| part.score.is_some())
            .min_by(|a, b| a.score.unwrap_or(0.0).total_cmp(&b.score.unwrap_or(0.0)))
    }
}

/// Compares two loads.
#[must_use]
pub fn fidelity(a: &Profile, b: &Profile) -> Fidelity {
    let mut parts = vec![
        sizes(a, b),
        mix(a, b),
        gaps(a, b),
        sequential(a, b),
        depth(a, b),
        footprint(a, b),
        miss_ratio(a, b),
        latency(a, b),
    ];
    parts.extend(complete(a, b));
    let scores: Vec<f64> = parts.iter().filter_map(|part| part.score).collect();
    let mean = scores.iter().sum::<f64>() / scores.len().max(1) as f64;
    let lowest = scores.iter().copied().fold(100.0, f64::min);
    Fidelity {
        parts,
        total: (2.0 * lowest + mean) / 3.0,
    }
}

/// Only where a trace says that it is incomplete.
fn complete(a: &Profile, b: &Profile) -> Option<FidelityPart> {
    let lost = a.lost.max(b.lost);
    (lost > 0.0).then(|| FidelityPart {
        name: "completeness",
        score: score(lost, 0.5),
        rule: "100 x (1 - 2 x larger share of the events that the kernel lost while a trace was taken)",
        detail: format!(
            "{:.2} % of the events of the original were lost, {:.2} % of those of the copy",
            a.lost * 100.0,
            b.lost * 100.0
        ),
    })
}

/// A score from a difference: 0 is 100 points, `zero` and more is none.
fn score(difference: f64, zero: f64) -> Option<f64> {
    Some((100.0 * (1.0 - difference / zero)).clamp(0.0, 100.0))
}

/// Half the sum of the differences of shares: the share of I/Os that would have to change.
fn variation(a: &Sizes, b: &Sizes) -> f64 {
    let total = |sizes: &Sizes| sizes.iter().map(|(_, count)| *count as f64).sum::<f64>();
    let (of_a, of_b) = (total(a), total(b));
    if of_a == 0.0 || of_b == 0.0 {
        return if of_a == of_b { 0.0 } else { 1.0 };
    }
    let share = |sizes: &Sizes, size: u32, total: f64| {
        sizes
            .binary_search_by_key(&size, |(size, _)| *size)
            .map_or(0.0, |index| sizes[index].1 as f64 / total)
    };
    let kept: f64 = a
        .iter()
        .map(|(size, count)| (*count as f64 / of_a).min(share(b, *size, of_b)))
        .sum();
    1.0 - kept
}

fn mean_size(profile: &Profile) -> f64 {
    let ios = profile.totals[0].ios + profile.totals[1].ios;
    (profile.totals[0].bytes as f64 + profile.totals[1].bytes as f64) / ios.max(1) as f64
}

fn sizes(a: &Profile, b: &Profile) -> FidelityPart {
    let data = |profile: &Profile, kind: usize| profile.totals[kind].ios as f64;
    let all = data(a, 0) + data(a, 1);
    let difference: f64 = (0..2)
        .map(|kind| variation(&a.sizes[kind], &b.sizes[kind]) * data(a, kind) / all.max(1.0))
        .sum();
    FidelityPart {
        name: "sizes",
        score: score(difference, 1.0),
        rule: "100 x (1 - share of I/Os of another size)",
        detail: format!(
            "{:.1} % of the I/Os have another size; mean {:.1} KiB against {:.1} KiB",
            difference * 100.0,
            mean_size(a) / 1024.0,
            mean_size(b) / 1024.0
        ),
    }
}

fn mix(a: &Profile, b: &Profile) -> FidelityPart {
    let share = |profile: &Profile, kind: IoKind| {
        profile.totals[kind as usize].ios as f64 / profile.ios().max(1) as f64
    };
    let difference = IoKind::ALL
        .map(|kind| (share(a, kind) - share(b, kind)).abs())
        .iter()
        .sum::<f64>()
        / 2.0;
    let text = |profile: &Profile| {
        let parts: Vec<String> = IoKind::ALL
            .into_iter()
            .filter(|kind| profile.totals[*kind as usize].ios > 0)
            .map(|kind| format!("{:.1} % {}", share(profile, kind) * 100.0, kind.plural()))
            .collect();
        parts.join(", ")
    };
    FidelityPart {
        name: "mix",
        score: score(difference, 0.5),
        rule: "100 x (1 - 2 x share of I/Os of another kind)",
        detail: format!("{} against {}", text(a), text(b)),
    }
}

fn gaps(a: &Profile, b: &Profile) -> FidelityPart {
    let least = MEAN_GAP_TOLERANCE * a.arrivals.mean_gap;
    let distance = a
        .arrivals
        .gaps
        .distance(&b.arrivals.gaps, GAP_TOLERANCE, least);
    let timed = a.arrivals.mean_gap > 0.0 && b.arrivals.mean_gap > 0.0;
    let (score, detail) = match distance {
        Some(distance) if timed => (
            score(distance, 0.5),
            format!(
                "Kolmogorov-Smirnov distance {distance:.3}; {} arrivals with CV^2 {:.2} against {} with {:.2}",
                a.arrivals.model.name(),
                a.arrivals.cv2,
                b.arrivals.model.name(),
                b.arrivals.cv2
            ),
        ),
        _ => (None, "a trace has no times".to_owned()),
    };
    FidelityPart {
        name: "gaps",
        score,
        rule: "100 x (1 - 2 x Kolmogorov-Smirnov distance of the gaps between arrivals, where gaps within 5 % of each other, or 1 % of the mean gap, are equal)",
        detail,
    }
}

fn sequential(a: &Profile, b: &Profile) -> FidelityPart {
    FidelityPart {
        name: "sequentiality",
        score: score((a.sequential - b.sequential).abs(), 1.0),
        rule: "100 x (1 - difference of the shares of sequential bytes)",
        detail: format!(
            "{:.1} % of the bytes are sequential against {:.1} %",
            a.sequential * 100.0,
            b.sequential * 100.0
        ),
    }
}

fn depth(a: &Profile, b: &Profile) -> FidelityPart {
    let (score, detail) = match (&a.depth, &b.depth) {
        (Some(of_a), Some(of_b)) => {
            let (mut mine, mut theirs, mut distance) = (0.0_f64, 0.0_f64, 0.0_f64);
            for level in 0..of_a.shares.len().max(of_b.shares.len()) {
                mine += of_a.shares.get(level).copied().unwrap_or(0.0);
                theirs += of_b.shares.get(level).copied().unwrap_or(0.0);
                distance = distance.max((mine - theirs).abs());
            }
            let (slices_a, slices_b) = (slices(a), slices(b));
            let (mut apart, mut all) = (0.0, 0.0);
            for (a, b) in slices_a.iter().zip(&slices_b) {
                apart += (a - b).abs();
                // One I/O more or less in flight on an idle device is not a difference.
                all += a.max(*b).max(1.0);
            }
            let over_time = apart / all;
            (
                score(f64::midpoint(distance, over_time), 1.0),
                format!(
                    "mean {:.2} in flight against {:.2}; distributions differ by {distance:.3}, {SLICES} parts of the time by {:.1} %",
                    of_a.mean,
                    of_b.mean,
                    over_time * 100.0
                ),
            )
        }
        _ => (None, "a trace has no latencies".to_owned()),
    };
    FidelityPart {
        name: "depth",
        score,
        rule: "100 x (1 - mean of the Kolmogorov-Smirnov distance of the depths and their mean difference over time)",
        detail,
    }
}

/// How many I/Os an arrival finds in flight, in equal parts of the time.
fn slices(profile: &Profile) -> [f64; SLICES] {
    let mut sums = [(0.0, 0.0); SLICES];
    let windows = &profile.over_time.windows;
    for (index, window) in windows.iter().enumerate() {
        let slice = &mut sums[index * SLICES / windows.len()];
        slice.0 += window.in_flight as f64;
        slice.1 += window.ios as f64;
    }
    sums.map(|(depth, ios)| if ios > 0.0 { depth / ios } else { 0.0 })
}

fn footprint(a: &Profile, b: &Profile) -> FidelityPart {
    let (of_a, of_b) = (a.locality.footprint as f64, b.locality.footprint as f64);
    let difference = if of_a.max(of_b) > 0.0 {
        1.0 - of_a.min(of_b) / of_a.max(of_b)
    } else {
        0.0
    };
    FidelityPart {
        name: "footprint",
        score: score(difference, 1.0),
        rule: "100 x smaller / larger footprint",
        detail: format!(
            "{} against {}",
            fathom_model::format::bytes(a.locality.footprint),
            fathom_model::format::bytes(b.locality.footprint)
        ),
    }
}

fn miss_ratio(a: &Profile, b: &Profile) -> FidelityPart {
    let largest = a.locality.footprint.max(b.locality.footprint).max(1 << 20) as f64;
    // From a thousandth of the footprint to all of it.
    let errors = (0..CACHES).map(|index| {
        let size = largest * 1000_f64.powf(index as f64 / (CACHES - 1) as f64 - 1.0);
        (a.locality.miss_ratio_at(size) - b.locality.miss_ratio_at(size)).abs()
    });
    let mean = errors.sum::<f64>() / CACHES as f64;
    FidelityPart {
        name: "miss-ratio curve",
        score: score(mean, 0.5),
        rule: "100 x (1 - 2 x mean difference of the miss ratios at 16 cache sizes)",
        detail: format!("the miss ratios differ by {:.3} on average", mean),
    }
}

fn latency(a: &Profile, b: &Profile) -> FidelityPart {
    let (score, detail) = if a.latency.total() > 0 && b.latency.total() > 0 {
        let sum: f64 = (0..QUANTILES)
            .map(|index| {
                let share = (index as f64 + 0.5) / QUANTILES as f64;
                (a.latency.quantile(share) - b.latency.quantile(share)).powi(2)
            })
            .sum();
        let demerit = (sum / QUANTILES as f64).sqrt();
        let relative = demerit / a.latency.mean().max(1.0);
        (
            score(relative, 1.0),
            format!(
                "demerit figure {} ({:.1} % of the mean of {})",
                fathom_model::format::duration(demerit),
                relative * 100.0,
                fathom_model::format::duration(a.latency.mean())
            ),
        )
    } else {
        (None, "a trace has no latencies".to_owned())
    };
    FidelityPart {
        name: "latency",
        score,
        rule: "100 x (1 - demerit figure / mean latency); the demerit figure of Ruemmler and Wilkes (1994) is the root mean square horizontal distance of the distributions",
        detail,
    }
}
