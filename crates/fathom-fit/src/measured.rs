//! Measured curves: the cells of results that differ only in the load.

use fathom_model::{Direction, DirectionFigures, JobFigures};

use crate::curve::LoadPoint;

/// Severity of a finding that invalidates a cell.
const INVALIDATES: u8 = 2;

/// The kind of I/O that a curve is about.
#[derive(Clone, Debug, PartialEq)]
pub struct CurveKey {
    /// The device, directory or run.
    pub source: String,
    /// fio's name of the pattern, such as `randread`.
    pub rw: String,
    /// Block size, bytes.
    pub block: Option<u64>,
    /// Share of reads, percent.
    pub reads: u32,
    /// I/O engine; empty if unknown.
    pub engine: String,
    /// Where the region begins, bytes.
    pub offset: u64,
    /// Bytes of the region, where the results have several regions.
    pub region: Option<u64>,
    /// Its writes are flushed.
    pub commits: bool,
}

/// Cells that differ only in the load, as points.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasuredCurve {
    /// What was measured.
    pub key: CurveKey,
    /// The points, in the order of the cells.
    pub points: Vec<LoadPoint>,
}

/// The curves of results, and how many cells they leave out.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MeasuredCurves {
    /// In order of first appearance.
    pub curves: Vec<MeasuredCurve>,
    /// Why cells are left out, with their number.
    pub left_out: Vec<(&'static str, usize)>,
    /// Random reads one at a time, by their region.
    pub regions: Vec<RegionPoint>,
}

/// Random reads in a region of a device, one at a time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RegionPoint {
    /// Bytes of the region.
    pub region: u64,
    /// Block size, bytes.
    pub block: Option<u64>,
    /// Time of one read, seconds.
    pub service_s: f64,
    /// Its standard error, relative; `None` if the result has no samples of its rate.
    pub error: Option<f64>,
}

impl RegionPoint {
    fn of(cell: &JobFigures) -> Option<RegionPoint> {
        let [reads] = cell.directions.as_slice() else {
            return None;
        };
        let is_one = cell.outstanding() == Some(1.0) && reads.iops > 0.0;
        if !is_one || !cell.rw.starts_with("rand") || reads.direction != Direction::Read {
            return None;
        }
        Some(RegionPoint {
            region: cell.region?,
            block: cell.block,
            service_s: 1.0 / reads.iops,
            error: reads
                .iops_spread
                .map(|(deviation, samples)| deviation / reads.iops / (samples as f64).sqrt()),
        })
    }
}

impl CurveKey {
    fn of(cell: &JobFigures) -> CurveKey {
        let total = cell.iops();
        let reads = cell
            .directions
            .iter()
            .filter(|one| one.direction == fathom_model::Direction::Read)
            .map(|one| one.iops)
            .sum::<f64>();
        // The planned mix; measured shares differ a little from cell to cell.
        let planned = cell.mix.filter(|_| cell.directions.len() > 1);
        CurveKey {
            source: cell.source.clone(),
            rw: cell.rw.clone(),
            block: cell.block,
            reads: planned.unwrap_or((reads / total * 100.0).round() as u32),
            engine: cell.engine.clone(),
            offset: cell.offset.unwrap_or(0),
            region: cell.region,
            commits: cell.commits,
        }
    }

    /// Whether offsets are random.
    #[must_use]
    pub fn is_random(&self) -> bool {
        self.rw.starts_with("rand")
    }

    /// The kind of I/O in a few words: `randread, 4 KiB`.
    #[must_use]
    pub fn label(&self) -> String {
        let mut label = self.rw.clone();
        if (1..100).contains(&self.reads) {
            label += &format!(" with {} % reads", self.reads);
        }
        if let Some(block) = self.block {
            label += &format!(", {}", size(block));
        }
        if let Some(region) = self.region {
            label += &format!(", in {}", size(region));
        }
        if self.offset > 0 {
            label += &format!(", from {}", size(self.offset));
        }
        if self.commits {
            label += ", flushed";
        }
        label
    }
}

/// `4 KiB`, `1 MiB`, `1500 B`.
pub(crate) fn size(bytes: u64) -> String {
    match [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)]
        .into_iter()
        .find(|(_, unit)| bytes >= *unit && bytes.is_multiple_of(*unit))
    {
        Some((name, unit)) => format!("{} {name}", bytes / unit),
        None => format!("{bytes} B"),
    }
}

/// The curves of cells of closed loops. Cells that say nothing about the load alone are left out.
#[must_use]
pub fn measured_curves(cells: &[JobFigures]) -> MeasuredCurves {
    let mut made = MeasuredCurves::default();
    let several_regions = cells
        .iter()
        .any(|cell| cell.region.is_some() && cell.region != cells[0].region);
    for cell in cells {
        match point(cell, cells) {
            Ok(point) => {
                made.regions.extend(RegionPoint::of(cell));
                let mut key = CurveKey::of(cell);
                key.region = key.region.filter(|_| several_regions);
                match made.curves.iter_mut().find(|curve| curve.key == key) {
                    Some(curve) => curve.points.push(point),
                    None => made.curves.push(MeasuredCurve {
                        key,
                        points: vec![point],
                    }),
                }
            }
            Err(why) => match made.left_out.iter_mut().find(|(known, _)| *known == why) {
                Some((_, count)) => *count += 1,
                None => made.left_out.push((why, 1)),
            },
        }
    }
    made
}

fn point(cell: &JobFigures, cells: &[JobFigures]) -> Result<LoadPoint, &'static str> {
    if cell.offered.is_some() || cell.rate.is_some() {
        return Err("its load is a rate, not a queue depth");
    }
    let Some(depth) = cell.depth.filter(|depth| *depth > 0) else {
        return Err("its queue depth is unknown");
    };
    if cell.iops() <= 0.0 {
        return Err("it has no I/O");
    }
    if cell
        .findings
        .iter()
        .any(|finding| finding.severity >= INVALIDATES)
    {
        return Err("it is invalid");
    }
    if cell.directions.iter().any(stood_still) {
        return Err(
            "nothing completed for 30 s or more, as after a command timeout: its rate is that of the pause",
        );
    }
    let together = |other: &&JobFigures| other.source == cell.source && other.result == cell.result;
    if cells.iter().filter(together).count() > 1 && has_neighbour(cell, cells) {
        return Err("another job ran at the same time");
    }
    let ios: f64 = cell.directions.iter().map(|one| one.iops).sum();
    let weighted: f64 = cell
        .directions
        .iter()
        .map(|one| one.latency.mean * one.iops)
        .sum();
    let mean_s = Some(weighted / ios * 1e-9).filter(|mean| *mean > 0.0);
    Ok(LoadPoint::new(
        depth,
        cell.jobs.unwrap_or(1).max(1),
        cell.iops(),
        mean_s,
    ))
}

fn stood_still(one: &DirectionFigures) -> bool {
    one.iops > 0.0
        && one
            .latency
            .standstill(one.ios as f64 / one.iops * 1e9)
            .is_some()
}

/// Whether another job of the same result has other settings; results that number all cells 0 are
/// not results of concurrent jobs.
fn has_neighbour(cell: &JobFigures, cells: &[JobFigures]) -> bool {
    let numbered = cells.iter().any(|other| other.result != cells[0].result);
    numbered
        && cells.iter().any(|other| {
            other.source == cell.source && other.result == cell.result && other.name != cell.name
        })
}

#[cfg(test)]
mod tests {
    use fathom_model::LatencySummary;

    use super::*;

    fn cell(rw: &str, depth: u32, iops: &[(Direction, f64)]) -> JobFigures {
        let directions = iops.iter().map(|(direction, iops)| DirectionFigures {
            direction: *direction,
            iops: *iops,
            iops_spread: None,
            bandwidth: 0.0,
            ios: 1,
            latency: LatencySummary {
                mean: 2e6,
                ..LatencySummary::default()
            },
            slat: None,
            lat: None,
        });
        JobFigures {
            rw: rw.to_owned(),
            block: Some(4096),
            depth: Some(depth),
            directions: directions.collect(),
            result: depth as usize,
            ..JobFigures::default()
        }
    }

    #[test]
    fn cells_that_differ_only_in_the_load_are_one_curve() {
        let read = |depth| cell("randread", depth, &[(Direction::Read, 1000.0)]);
        let mixed = |depth, reads: f64| JobFigures {
            mix: Some(70),
            ..cell(
                "randrw",
                depth,
                &[(Direction::Read, reads), (Direction::Write, 1000.0 - reads)],
            )
        };
        let made = measured_curves(&[
            read(1),
            mixed(1, 698.0),
            read(4),
            mixed(4, 702.0),
            JobFigures {
                offered: Some(500.0),
                ..read(8)
            },
            JobFigures {
                depth: None,
                ..read(9)
            },
        ]);
        let labels: Vec<String> = made.curves.iter().map(|curve| curve.key.label()).collect();
        assert_eq!(labels, ["randread, 4 KiB", "randrw with 70 % reads, 4 KiB"]);
        assert_eq!(made.curves[1].points.len(), 2);
        // Directions are added, and the latency is that of all I/Os.
        assert_eq!(made.curves[1].points[0].iops, 1000.0);
        assert_eq!(made.curves[1].points[0].mean_s, Some(2e-3));
        assert_eq!(
            made.left_out,
            [
                ("its load is a rate, not a queue depth", 1),
                ("its queue depth is unknown", 1)
            ]
        );
    }

    /// Regression 0870: cells in which the disk did not answer for half a minute were points of the curve, which
    /// then predicted no cell. The figures are those of a WD740GD: with 2 in flight 3,671 reads in 60.014 s, of which 30.786 s
    /// were a command timeout; a clean cell of it; and an array of which one I/O waited for 53.9 s while 500 others per
    /// second completed.
    #[test]
    fn cells_with_a_command_timeout_are_left_out() {
        let of = |depth, ios: u64, seconds: f64, [median, mean, max]: [f64; 3]| {
            let iops = ios as f64 / seconds;
            let mut cell = cell("randread", depth, &[(Direction::Read, iops)]);
            cell.directions[0].ios = ios;
            cell.directions[0].latency = LatencySummary {
                max: (max * 1e9) as u64,
                mean: mean * 1e9,
                percentiles: vec![(50.0, (median * 1e9) as u64)],
                ..LatencySummary::default()
            };
            cell
        };
        let stopped = of(2, 3671, 60.014, [0.0158, 0.0326, 30.786]);
        let clean = of(4, 7464, 60.036, [0.0321, 0.0321, 0.0498]);
        let starved = of(4096, 30_780, 61.2, [6.006, 7.520, 53.9]);
        let made = measured_curves(&[stopped, clean, starved]);
        let loads: Vec<u32> = made.curves[0]
            .points
            .iter()
            .map(|point| point.depth)
            .collect();
        assert_eq!(loads, [4, 4096]);
        assert!(
            made.left_out[0].0.contains("command timeout"),
            "{:?}",
            made.left_out
        );
    }
}
