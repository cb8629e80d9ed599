//! Finds the knee of a curve of throughput over queue depth, by several named rules, because they
//! disagree.

use crate::figures::{count, duration};

/// The 95 % rule's share of the highest throughput.
const NEARLY_ALL: f64 = 0.95;
/// Factor of the unloaded latency at which an I/O mostly waits.
const TWICE: f64 = 2.0;
/// Kneedle's sensitivity: the smallest value that its authors use, for few points without noise.
const SENSITIVITY: f64 = 1.0;

/// One measured point of a closed loop.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClosedPoint {
    /// I/Os in flight, over all jobs.
    pub depth: u32,
    /// Good I/Os per second.
    pub iops: f64,
    /// Mean time from submission to completion, nanoseconds.
    pub mean_ns: f64,
}

/// A rule that finds a knee.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KneeRule {
    /// Satopaa et al., Finding a "Kneedle" in a Haystack, ICDCSW 2011: both axes are scaled to 0 to
    /// 1, and the maximum of y - x is the knee.
    Kneedle,
    /// The lowest depth with 95 % of the highest throughput.
    NearlyAll,
    /// The lowest depth whose mean latency is twice that of the lowest depth.
    Twice,
    /// N* = R0 x Xmax, where the two asymptotic bounds of a closed system meet (Lazowska et al.,
    /// Quantitative System Performance, 1984, chapter 5).
    Asymptotes,
}

impl KneeRule {
    /// Its name in sentences and documents.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            KneeRule::Kneedle => "Kneedle",
            KneeRule::NearlyAll => "95 % of peak",
            KneeRule::Twice => "R >= 2 R0",
            KneeRule::Asymptotes => "N* = R0 x Xmax",
        }
    }
}

/// The knee of a curve by one rule.
#[derive(Clone, Debug, PartialEq)]
pub struct Knee {
    /// The rule.
    pub rule: KneeRule,
    /// Depth of the knee; only N* may be between measured depths. `None` if the curve has no knee.
    pub depth: Option<f64>,
    /// A sentence with the figures.
    pub sentence: String,
}

/// The knee of a curve by each rule, for points in any order. Empty for fewer than three depths.
#[must_use]
pub fn knees(points: &[ClosedPoint]) -> Vec<Knee> {
    let mut points: Vec<ClosedPoint> = points
        .iter()
        .copied()
        .filter(|point| point.depth > 0 && point.iops > 0.0)
        .collect();
    points.sort_by_key(|point| point.depth);
    points.dedup_by_key(|point| point.depth);
    if points.len() < 3 {
        return Vec::new();
    }
    vec![
        kneedle(&points),
        nearly_all(&points),
        twice(&points),
        asymptotes(&points),
    ]
}

fn peak(points: &[ClosedPoint]) -> ClosedPoint {
    points
        .iter()
        .copied()
        .max_by(|a, b| a.iops.total_cmp(&b.iops))
        .expect("three points at least")
}

fn iops(value: f64) -> String {
    count(value.round() as u64)
}

/// The largest distance above the diagonal is a knee if the curve then falls by the sensitivity
/// times the mean step of the depth axis, which is linear.
fn kneedle(points: &[ClosedPoint]) -> Knee {
    let rule = KneeRule::Kneedle;
    let (first, last) = (points[0], points[points.len() - 1]);
    let (low, high) = (
        points
            .iter()
            .map(|point| point.iops)
            .fold(f64::INFINITY, f64::min),
        peak(points).iops,
    );
    let (width, height) = (f64::from(last.depth - first.depth), high - low);
    let above = |point: &ClosedPoint| {
        (point.iops - low) / height - f64::from(point.depth - first.depth) / width
    };
    let at = (0..points.len())
        .max_by(|a, b| above(&points[*a]).total_cmp(&above(&points[*b])))
        .expect("three points at least");
    let (most, step) = (above(&points[at]), 1.0 / (points.len() - 1) as f64);
    let comes_down = points[at..]
        .iter()
        .any(|point| above(point) < most - SENSITIVITY * step);
    if height <= 0.0 || most <= 0.0 || !comes_down {
        let sentence = "Kneedle: no knee; the throughput is never far above the straight line from the lowest to the highest depth.";
        return Knee {
            rule,
            depth: None,
            sentence: sentence.to_owned(),
        };
    }
    let knee = points[at];
    let sentence = format!(
        "Kneedle: depth {}, with {} IOPS; there the curve is furthest above the straight line from depth {} to {} ({:.2} of the axes).",
        knee.depth,
        iops(knee.iops),
        first.depth,
        last.depth,
        most
    );
    Knee {
        rule,
        depth: Some(f64::from(knee.depth)),
        sentence,
    }
}

fn nearly_all(points: &[ClosedPoint]) -> Knee {
    let most = peak(points);
    let knee = points
        .iter()
        .find(|point| point.iops >= NEARLY_ALL * most.iops)
        .expect("the peak itself is one");
    let last = points[points.len() - 1];
    let grows = if knee.depth == last.depth {
        "; this is the highest depth measured, and a higher one may reach more"
    } else {
        ""
    };
    let sentence = format!(
        "95 % of peak: depth {} is the lowest with 95 % of the peak: {} of {} IOPS ({:.1} %, the peak at depth {}){grows}.",
        knee.depth,
        iops(knee.iops),
        iops(most.iops),
        100.0 * knee.iops / most.iops,
        most.depth
    );
    let depth = (knee.depth < last.depth).then(|| f64::from(knee.depth));
    Knee {
        rule: KneeRule::NearlyAll,
        depth,
        sentence,
    }
}

fn twice(points: &[ClosedPoint]) -> Knee {
    let unloaded = points[0];
    let knee = points
        .iter()
        .find(|point| point.mean_ns >= TWICE * unloaded.mean_ns);
    let sentence = match knee {
        Some(knee) => format!(
            "R >= 2 R0: depth {} is the first with twice the latency: {} against {} at depth {}.",
            knee.depth,
            duration(knee.mean_ns),
            duration(unloaded.mean_ns),
            unloaded.depth
        ),
        None => {
            let last = points[points.len() - 1];
            let times = last.mean_ns / unloaded.mean_ns;
            let (deep, shallow) = (duration(last.mean_ns), duration(unloaded.mean_ns));
            format!(
                "R >= 2 R0: not reached; depth {} takes {deep}, {times:.2} times the {shallow} at depth {}.",
                last.depth, unloaded.depth
            )
        }
    };
    Knee {
        rule: KneeRule::Twice,
        depth: knee.map(|knee| f64::from(knee.depth)),
        sentence,
    }
}

/// Below N* the latency limits the throughput, above it the busiest component.
fn asymptotes(points: &[ClosedPoint]) -> Knee {
    let (unloaded, most) = (points[0], peak(points));
    let meets = unloaded.mean_ns * 1e-9 * most.iops;
    let sentence = format!(
        "N* = R0 x Xmax: {meets:.1} I/Os in flight, where {} at depth {} meets {} IOPS at depth {}.",
        duration(unloaded.mean_ns),
        unloaded.depth,
        iops(most.iops),
        most.depth
    );
    Knee {
        rule: KneeRule::Asymptotes,
        depth: Some(meets),
        sentence,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEPTHS: [u32; 7] = [1, 2, 4, 8, 16, 32, 64];

    fn curve(depths: &[u32], iops: impl Fn(f64) -> f64) -> Vec<ClosedPoint> {
        let point = |depth: &u32| {
            let x = iops(f64::from(*depth));
            ClosedPoint {
                depth: *depth,
                iops: x,
                mean_ns: f64::from(*depth) / x * 1e9,
            }
        };
        depths.iter().map(point).collect()
    }

    fn depth(points: &[ClosedPoint], rule: KneeRule) -> Option<f64> {
        knees(points)
            .into_iter()
            .find(|knee| knee.rule == rule)
            .expect("every rule has a result")
            .depth
    }

    /// X(N) = ((N/R0)^-m + Xmax^-m)^(-1/m): three drives whose parameters were fitted to published
    /// measurements, and the knees of the measurements themselves.
    #[test]
    fn three_published_drives_have_their_knees() {
        let drives = [
            ("PM883", 117e-6, 52_400.0, 6.4, [8.0, 8.0, 16.0]),
            ("D3-S4610", 118e-6, 53_400.0, 2.0, [16.0, 32.0, 16.0]),
            ("860 PRO", 112e-6, 74_500.0, 2.7, [16.0, 32.0, 16.0]),
        ];
        for (name, unloaded, most, m, [kneedle, nearly, twice]) in drives {
            let points = curve(&DEPTHS, |n| {
                ((n / unloaded).powf(-m) + f64::powf(most, -m)).powf(-1.0 / m)
            });
            assert_eq!(depth(&points, KneeRule::Kneedle), Some(kneedle), "{name}");
            assert_eq!(depth(&points, KneeRule::NearlyAll), Some(nearly), "{name}");
            assert_eq!(depth(&points, KneeRule::Twice), Some(twice), "{name}");
        }
    }

    /// Eight servers of 100 us: 10,000 IOPS for each in flight up to eight, then 80,000. All rules
    /// find eight except the one for twice the latency, which finds sixteen.
    #[test]
    fn eight_servers_have_their_knee_at_eight() {
        let points = curve(&DEPTHS, |n| n.min(8.0) * 10_000.0);
        assert_eq!(depth(&points, KneeRule::Kneedle), Some(8.0));
        assert_eq!(depth(&points, KneeRule::NearlyAll), Some(8.0));
        assert_eq!(depth(&points, KneeRule::Twice), Some(16.0));
        assert!((depth(&points, KneeRule::Asymptotes).expect("N*") - 8.0).abs() < 1e-9);
        let sentence: Vec<String> = knees(&points)
            .into_iter()
            .map(|knee| knee.sentence)
            .collect();
        assert!(
            sentence[1].contains("80,000 of 80,000 IOPS"),
            "{sentence:?}"
        );
        assert!(
            sentence[2].contains("200 us against 100 us at depth 1"),
            "{sentence:?}"
        );
        assert!(sentence[3].contains("8.0 I/Os in flight"), "{sentence:?}");
    }

    #[test]
    fn a_straight_line_has_no_knee() {
        let points = curve(&DEPTHS, |n| n * 1_000.0);
        assert_eq!(depth(&points, KneeRule::Kneedle), None);
        assert_eq!(depth(&points, KneeRule::NearlyAll), None);
        assert_eq!(depth(&points, KneeRule::Twice), None);
        let sentence = knees(&points);
        assert!(
            sentence[1].sentence.contains("a higher one may reach more")
                && sentence[2].sentence.contains("1.00 times"),
            "{sentence:?}"
        );
        assert!(knees(&points[..2]).is_empty(), "two points have no knee");
    }

    #[test]
    fn a_flat_line_has_no_kneedle() {
        assert_eq!(depth(&curve(&DEPTHS, |_| 5_000.0), KneeRule::Kneedle), None);
        assert_eq!(
            depth(&curve(&DEPTHS, |_| 5_000.0), KneeRule::NearlyAll),
            Some(1.0)
        );
    }
}
