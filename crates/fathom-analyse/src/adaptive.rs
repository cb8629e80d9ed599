//! Decides whether the split of outstanding I/Os between jobs and queue depth matters.
//!
//! On most devices it does not: 16 outstanding I/Os give the same rate from one job as from four.
//! One series over the number of outstanding I/Os then replaces the whole grid of depths and jobs.
//! A few crossing points check this, and the grid is filled where they disagree.

/// Limit of crossing points, where a second split of the same number of outstanding I/Os is
/// measured.
const CROSSINGS: usize = 3;

/// One cell of a grid of depths and jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Split {
    /// Index of the cell.
    pub place: usize,
    /// `iodepth` of each job.
    pub depth: u64,
    /// `numjobs`.
    pub jobs: u64,
}

impl Split {
    fn outstanding(&self) -> u64 {
        self.depth.saturating_mul(self.jobs)
    }
}

/// All splits of one load: the cells that are equal in every other axis.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Crossing {
    /// Splits by number of outstanding I/Os, fewest jobs first.
    by_outstanding: Vec<Vec<Split>>,
}

/// Result of the crossing points.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Agreement {
    /// Number of compared points.
    pub compared: usize,
    /// The largest difference, as a share of the larger rate.
    pub most: f64,
    /// Number of outstanding I/Os at which it was.
    pub at: u64,
}

impl Crossing {
    /// Sorts the cells of one load.
    #[must_use]
    pub fn new(mut splits: Vec<Split>) -> Crossing {
        splits.sort_by_key(|split| (split.outstanding(), split.jobs));
        Crossing {
            by_outstanding: splits
                .chunk_by(|a, b| a.outstanding() == b.outstanding())
                .map(<[Split]>::to_vec)
                .collect(),
        }
    }

    /// One cell for each number of outstanding I/Os: the one with the fewest jobs.
    #[must_use]
    pub fn line(&self) -> Vec<usize> {
        self.by_outstanding
            .iter()
            .map(|splits| splits[0].place)
            .collect()
    }

    /// The numbers of outstanding I/Os that are measured with a second split: the lowest, the
    /// middle and the highest of those that have one.
    fn crossing_points(&self) -> Vec<&Vec<Split>> {
        let checkable: Vec<&Vec<Split>> = self
            .by_outstanding
            .iter()
            .filter(|splits| splits.len() > 1)
            .collect();
        let n = checkable.len();
        let mut places: Vec<usize> = (0..CROSSINGS.min(n))
            .map(|i| {
                if n <= CROSSINGS {
                    i
                } else {
                    i * (n - 1) / (CROSSINGS - 1)
                }
            })
            .collect();
        places.dedup();
        places.into_iter().map(|at| checkable[at]).collect()
    }

    /// The cells of the crossing points: the same number of outstanding I/Os from the most jobs.
    #[must_use]
    pub fn checks(&self) -> Vec<usize> {
        self.crossing_points()
            .into_iter()
            .filter_map(|splits| splits.last())
            .map(|split| split.place)
            .collect()
    }

    /// The remaining splits next to a crossing that differs by more than `limit` (a share). A
    /// crossing that could not be measured counts as one that differs.
    #[must_use]
    pub fn fill(&self, limit: f64, iops: &dyn Fn(usize) -> Option<f64>) -> Vec<usize> {
        let crossing_points: Vec<(u64, bool)> = self
            .crossing_points()
            .iter()
            .map(|splits| {
                (
                    splits[0].outstanding(),
                    difference(splits, iops).is_none_or(|share| share > limit),
                )
            })
            .collect();
        let needs_fill = |outstanding: u64| {
            let below = crossing_points
                .iter()
                .rev()
                .find(|(at, _)| *at <= outstanding);
            let above = crossing_points.iter().find(|(at, _)| *at >= outstanding);
            below.into_iter().chain(above).any(|(_, differs)| *differs)
        };
        let rungs = self
            .by_outstanding
            .iter()
            .filter(|splits| splits.len() > 1 && needs_fill(splits[0].outstanding()));
        rungs
            .flatten()
            .filter(|split| iops(split.place).is_none())
            .map(|split| split.place)
            .collect()
    }

    /// The largest difference; `None` if nothing could be compared.
    #[must_use]
    pub fn agreement(&self, iops: &dyn Fn(usize) -> Option<f64>) -> Option<Agreement> {
        let seen: Vec<(f64, u64)> = self
            .crossing_points()
            .into_iter()
            .filter_map(|splits| Some((difference(splits, iops)?, splits[0].outstanding())))
            .collect();
        let most = seen.iter().copied().max_by(|a, b| a.0.total_cmp(&b.0))?;
        Some(Agreement {
            compared: seen.len(),
            most: most.0,
            at: most.1,
        })
    }
}

/// Difference between the fewest and the most jobs, as a share of the larger rate.
fn difference(splits: &[Split], iops: &dyn Fn(usize) -> Option<f64>) -> Option<f64> {
    let (few, many) = (iops(splits.first()?.place)?, iops(splits.last()?.place)?);
    let larger = few.max(many);
    Some(if larger > 0.0 {
        (few - many).abs() / larger
    } else {
        0.0
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEPS: [u64; 7] = [1, 2, 4, 8, 16, 32, 64];

    /// The grid of seven depths and seven jobs; place = row x 7 + column.
    fn grid() -> (Crossing, Vec<Split>) {
        let place = |i: usize| Split {
            place: i,
            depth: STEPS[i / 7],
            jobs: STEPS[i % 7],
        };
        let splits: Vec<Split> = (0..49).map(place).collect();
        (Crossing::new(splits.clone()), splits)
    }

    /// A device of 16 servers: only the number outstanding matters.
    fn fair(split: &Split) -> f64 {
        split.outstanding().min(16) as f64 * 1000.0
    }

    #[test]
    fn a_line_and_three_checks_replace_49_cells() {
        let (crossing, splits) = grid();
        let line = crossing.line();
        let outstanding: Vec<u64> = line
            .iter()
            .map(|place| splits[*place].outstanding())
            .collect();
        assert_eq!(
            outstanding,
            [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096]
        );
        assert!(
            line.iter().take(7).all(|place| splits[*place].jobs == 1),
            "as few jobs as possible"
        );
        let checks = crossing.checks();
        let checked: Vec<(u64, u64)> = checks
            .iter()
            .map(|place| (splits[*place].outstanding(), splits[*place].jobs))
            .collect();
        assert_eq!(checked, [(2, 2), (64, 64), (2048, 64)]);
        let iops = |place: usize| {
            Some(fair(&splits[place])).filter(|_| line.contains(&place) || checks.contains(&place))
        };
        assert_eq!(
            crossing.fill(0.1, &iops),
            Vec::<usize>::new(),
            "they agree: 33 cells are not needed"
        );
        assert_eq!(
            crossing.agreement(&iops),
            Some(Agreement {
                compared: 3,
                most: 0.0,
                at: 2048
            })
        );
    }

    #[test]
    fn the_grid_is_filled_where_the_checks_disagree_and_only_there() {
        let (crossing, splits) = grid();
        // Many jobs cost a third from 1024 outstanding on.
        let rate = |split: &Split| {
            if split.outstanding() >= 1024 && split.jobs > 32 {
                fair(split) * 0.67
            } else {
                fair(split)
            }
        };
        let known: Vec<usize> = [crossing.line(), crossing.checks()].concat();
        let iops = |place: usize| Some(rate(&splits[place])).filter(|_| known.contains(&place));
        let fill = crossing.fill(0.1, &iops);
        assert!(
            !fill.is_empty() && fill.iter().all(|place| splits[*place].outstanding() > 64),
            "above the last agreeing check"
        );
        let expected = splits
            .iter()
            .filter(|split| {
                (65..=2048).contains(&split.outstanding()) && !known.contains(&split.place)
            })
            .count();
        assert_eq!(fill.len(), expected);
        let worst = crossing.agreement(&iops).expect("compared");
        assert!((worst.most - 0.33).abs() < 1e-9 && worst.at == 2048);
    }

    #[test]
    fn a_crossing_without_a_measurement_counts_as_different() {
        let (crossing, splits) = grid();
        let line = crossing.line();
        let iops = |place: usize| Some(fair(&splits[place])).filter(|_| line.contains(&place));
        assert_eq!(crossing.fill(0.1, &iops).len(), 49 - 13);
        assert_eq!(crossing.agreement(&iops), None);
    }

    #[test]
    fn a_single_axis_has_nothing_to_check() {
        let crossing = Crossing::new(
            (0..5)
                .map(|i| Split {
                    place: i,
                    depth: 1 << i,
                    jobs: 1,
                })
                .collect(),
        );
        assert_eq!(
            (crossing.line(), crossing.checks()),
            (vec![0, 1, 2, 3, 4], vec![])
        );
    }
}
