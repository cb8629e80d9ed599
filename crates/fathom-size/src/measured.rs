//! The curve of a device from a measured sweep of queue depths.

use fathom_model::Derivation;

use crate::curve::{DriveAtLimit, DriveLoad};
use crate::derive::{by_method, calculate, from, input};
use crate::queue::LatencyFigure;

/// One measured point in a closed loop.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasuredPoint {
    /// I/Os in flight.
    pub in_flight: f64,
    /// I/Os per second.
    pub iops: f64,
    /// Reads among them, 0 to 1.
    pub reads: f64,
    /// Bytes of one I/O.
    pub block: f64,
    /// At random places.
    pub random: bool,
    /// Mean latency, ns.
    pub mean_ns: f64,
    /// Percentiles, 0 to 100, and their latencies, ns.
    pub percentiles: Vec<(f64, f64)>,
}

impl MeasuredPoint {
    fn figure(&self, figure: LatencyFigure) -> Option<f64> {
        match figure {
            LatencyFigure::Mean => (self.mean_ns > 0.0).then_some(self.mean_ns),
            LatencyFigure::Percentile(wanted) => self
                .percentiles
                .iter()
                .find(|(percent, _)| (percent - wanted).abs() < 1e-4)
                .map(|(_, ns)| *ns),
        }
    }
}

/// The points of a device.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasuredCurve {
    /// Name of the result.
    pub source: String,
    /// Its points.
    pub points: Vec<MeasuredPoint>,
}

/// Why a measurement does not determine a device under a load.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CurveError {
    /// Points are missing.
    #[error("{source_name}: {problem}; measure it with {command}")]
    TooFew {
        /// The result.
        source_name: String,
        /// What is missing.
        problem: String,
        /// The command that would measure it.
        command: String,
    },
    /// The device exceeds the limit at its lowest measured depth; the latency there, ns.
    #[error("above the limit without load")]
    Above(f64),
}

/// A latency and the rate at it, rising.
type Points = Vec<(f64, f64)>;

impl MeasuredCurve {
    fn direction(
        &self,
        load: DriveLoad,
        reads: f64,
        figure: LatencyFigure,
    ) -> Result<Points, CurveError> {
        let mut points: Vec<(f64, f64, f64)> = self
            .points
            .iter()
            .filter(|point| point.random && (point.block / load.block - 1.0).abs() < 1e-6)
            .filter(|point| (point.reads - reads).abs() < 0.02)
            .filter_map(|point| Some((point.in_flight, point.figure(figure)?, point.iops)))
            .collect();
        // Of equal depths, such as 4 x 1 and 2 x 2, the best.
        points.sort_by(|a, b| a.0.total_cmp(&b.0).then(b.2.total_cmp(&a.2)));
        points.dedup_by(|a, b| a.0 == b.0);
        // A deeper queue that is not slower, or completes less, adds nothing.
        let mut rising: Points = Vec::new();
        for (_, ns, iops) in points {
            if rising
                .last()
                .is_none_or(|last| ns > last.0 && iops > last.1)
            {
                rising.push((ns, iops));
            }
        }
        if rising.len() < 2 {
            let kib = load.block / 1024.0;
            let (rw, command) = match reads {
                r if r >= 0.98 => (
                    "randread",
                    format!(
                        "`fathom sweep FILE --set rw=randread --set bs={kib}k --axis iodepth=1,2,4,8,16,32`"
                    ),
                ),
                r if r <= 0.02 => (
                    "randwrite",
                    format!(
                        "`fathom sweep FILE --set rw=randwrite --set bs={kib}k --axis iodepth=1,2,4,8,16,32`"
                    ),
                ),
                r => (
                    "randrw",
                    format!(
                        "`fathom sweep FILE --set rw=randrw --set rwmixread={:.0} --set bs={kib}k --axis iodepth=1,2,4,8,16,32`",
                        r * 100.0
                    ),
                ),
            };
            return Err(CurveError::TooFew {
                source_name: self.source.clone(),
                problem: format!(
                    "needs {figure} of {rw} in blocks of {kib} KiB at two queue depths or more with rising rates, and has {}",
                    rising.len()
                ),
                command,
            });
        }
        Ok(rising)
    }

    /// The most I/Os per second within the limit: interpolated between the measured points, and not
    /// beyond the last.
    ///
    /// # Errors
    /// When points are missing, or the limit is below the latency at the lowest depth.
    pub fn iops_at_limit(
        &self,
        load: DriveLoad,
        figure: LatencyFigure,
        limit_ns: f64,
    ) -> Result<DriveAtLimit, CurveError> {
        let at = |reads: f64| -> Result<(Derivation, f64), CurveError> {
            let points = self.direction(load, reads, figure)?;
            let most = points[points.len() - 1];
            let iops = match points.iter().position(|point| point.0 > limit_ns) {
                Some(0) => return Err(CurveError::Above(points[0].0)),
                Some(above) => {
                    let (low, high) = (points[above - 1], points[above]);
                    low.1 + (high.1 - low.1) * (limit_ns - low.0) / (high.0 - low.0)
                }
                None => most.1,
            };
            let method = if limit_ns > most.0 {
                "rate of the deepest measured queue, whose latency is below the limit; nothing is assumed beyond it"
            } else {
                "measured rate at the limit, interpolated between two queue depths"
            };
            let name = if reads >= 0.5 {
                "read_rate"
            } else {
                "write_rate"
            };
            let rate = by_method(
                name,
                (iops, "1/s"),
                method,
                vec![
                    input(
                        "limit_us",
                        limit_ns / 1e3,
                        "us",
                        format!("the limit on {figure}"),
                    ),
                    input("points", points.len() as f64, "", self.source.clone()),
                ],
            );
            Ok((rate, most.1))
        };
        // A sweep of the same mix is taken as it is.
        if let Ok((rate, most)) = at(load.reads) {
            let iops = calculate("drive_iops", "1/s", &rate.name, vec![from(&rate)]);
            return Ok(DriveAtLimit {
                utilisation: rate.value / most,
                iops,
            });
        }
        let mut shares = Vec::new();
        for (reads, share) in [(1.0, load.reads), (0.0, 1.0 - load.reads)] {
            if share > 0.0 {
                shares.push((share, at(reads)?));
            }
        }
        let used: f64 = shares
            .iter()
            .map(|(share, (rate, most))| share / rate.value * (rate.value / most))
            .sum();
        let all: f64 = shares
            .iter()
            .map(|(share, (rate, _))| share / rate.value)
            .sum();
        let iops = match shares.as_slice() {
            [(_, (read, _)), (_, (write, _))] => calculate(
                "drive_iops",
                "1/s",
                "1 / (reads / read_rate + (1 - reads) / write_rate)",
                vec![
                    input(
                        "reads",
                        load.reads,
                        "",
                        "the load, with the operations of the RAID level",
                    ),
                    from(read),
                    from(write),
                ],
            ),
            _ => {
                let (rate, _) = &shares[0].1;
                calculate("drive_iops", "1/s", &rate.name, vec![from(rate)])
            }
        };
        Ok(DriveAtLimit {
            iops,
            utilisation: used / all,
        })
    }

    /// The figure at so many I/Os per second, ns: the inverse of the rate at a limit; infinite above
    /// the largest measured rate, the smallest measured latency below the smallest.
    #[must_use]
    pub fn latency_at(&self, load: DriveLoad, figure: LatencyFigure, iops: f64) -> f64 {
        let (mut low, mut high) = (1.0f64, 1e12f64);
        let reaches = |ns: f64| {
            self.iops_at_limit(load, figure, ns)
                .is_ok_and(|found| found.iops.value >= iops)
        };
        if !reaches(high) {
            return f64::INFINITY;
        }
        for _ in 0..60 {
            let middle = (low * high).sqrt();
            if reaches(middle) {
                high = middle;
            } else {
                low = middle;
            }
        }
        high
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve() -> MeasuredCurve {
        let point = |in_flight: f64, iops: f64, reads: f64| MeasuredPoint {
            in_flight,
            iops,
            reads,
            block: 4096.0,
            random: true,
            mean_ns: in_flight / iops * 1e9,
            percentiles: vec![(99.0, 3.0 * in_flight / iops * 1e9)],
        };
        MeasuredCurve {
            source: "result".to_owned(),
            points: vec![
                point(1.0, 10_000.0, 1.0),
                point(4.0, 20_000.0, 1.0),
                point(16.0, 40_000.0, 1.0),
                point(1.0, 20_000.0, 0.0),
                point(8.0, 20_500.0, 0.0),
            ],
        }
    }

    const READS: DriveLoad = DriveLoad {
        block: 4096.0,
        reads: 1.0,
        burstiness: 1.0,
    };

    /// 100 us at 10,000, 200 us at 20,000, 400 us at 40,000: half way is 30,000 at 300 us.
    #[test]
    fn rates_are_interpolated_inside_the_measured_range_only() {
        let curve = curve();
        let at = |ns| {
            curve
                .iops_at_limit(READS, LatencyFigure::Mean, ns)
                .map(|f| f.iops.value)
        };
        assert_eq!(at(300e3), Ok(30_000.0));
        assert_eq!(at(1e9), Ok(40_000.0));
        assert_eq!(at(50e3), Err(CurveError::Above(100e3)));
        let p99 = curve.iops_at_limit(READS, LatencyFigure::Percentile(99.0), 900e3);
        assert_eq!(p99.map(|found| found.iops.value), Ok(30_000.0));
        let back = curve.latency_at(READS, LatencyFigure::Mean, 30_000.0);
        assert!((back / 300e3 - 1.0).abs() < 1e-9, "{back}");
        assert_eq!(
            curve.latency_at(READS, LatencyFigure::Mean, 50_000.0),
            f64::INFINITY
        );
    }

    #[test]
    fn missing_points_are_named_with_the_sweep_that_measures_them() {
        let other = DriveLoad {
            block: 8192.0,
            ..READS
        };
        let error = curve()
            .iops_at_limit(other, LatencyFigure::Mean, 1e6)
            .expect_err("no 8k");
        let error = error.to_string();
        assert!(
            error.contains("randread in blocks of 8 KiB") && error.contains("--set bs=8k"),
            "{error}"
        );
        let error = curve().iops_at_limit(READS, LatencyFigure::Percentile(99.9), 1e6);
        assert!(error.expect_err("no p99.9").to_string().contains("p99.9"));
    }

    /// Reads 30,000 and writes 20,040 or so at 300 us, half and half.
    #[test]
    fn mixes_combine_both_directions() {
        let half = DriveLoad {
            reads: 0.5,
            ..READS
        };
        let found = curve()
            .iops_at_limit(half, LatencyFigure::Mean, 300e3)
            .expect("both");
        let write = 20_000.0 + 500.0 * (300.0 - 50.0) / (8e6 / 20_500.0 * 100.0 / 100.0 - 50.0);
        let expected = 2.0 / (1.0 / 30_000.0 + 1.0 / write);
        assert!(
            (found.iops.value / expected - 1.0).abs() < 0.01,
            "{} {expected}",
            found.iops.value
        );
    }
}
