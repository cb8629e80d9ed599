//! The course of a sweep: the whole grid coarse first, then the whole grid again; or a line through it, and more of it only
//! where that is not enough.

use std::collections::{BTreeMap, VecDeque};

use fathom_analyse::{Crossing, Split};
use fathom_model::CellFigures;
use fathom_plan::{PlannedCell, Sweep};

use crate::experiment::CellSource;

/// Repeats of a cell that never comes to the precision that is asked for.
const MOST_FOR_PRECISION: u32 = 30;
/// Fewer repeats have no interval worth the name.
pub const LEAST_FOR_PRECISION: u32 = 3;

/// What is known of one place of the grid.
#[derive(Clone, Debug, Default)]
pub struct Known {
    /// One for each repeat.
    pub figures: Vec<CellFigures>,
    /// Why it could not be measured.
    pub failed: Option<String>,
}

impl Known {
    fn imprecision(&self) -> Option<f64> {
        let iops: Vec<f64> = self.figures.iter().map(|figures| figures.iops).collect();
        fathom_analyse::estimate(&iops).relative()
    }

    fn iops(&self) -> Option<f64> {
        let n = self.figures.len();
        (n > 0).then(|| self.figures.iter().map(|figures| figures.iops).sum::<f64>() / n as f64)
    }
}

/// What is asked of the figures.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    /// Each cell at least so many times.
    pub repeats: u32,
    /// Half of the interval of 95 %, as a share of the mean.
    pub precision: Option<f64>,
    /// Only a line over what is outstanding, unless splits of it differ by more than this share.
    pub agree: Option<f64>,
}

/// Goes through a grid in rounds, so that a drift of the device meets all cells alike.
pub struct Rounds<'a> {
    sweep: &'a Sweep,
    places: Vec<Vec<usize>>,
    known: Vec<Known>,
    /// Index of a place, and which repeat.
    queue: VecDeque<(usize, u32)>,
    wanted: Wanted,
    /// Grids of depths and jobs, one for each combination of the other axes; empty when all cells are measured.
    crossings: Vec<(String, Crossing)>,
    /// How far the adaptive course is: the line, the checks, the rest.
    stage: u32,
    /// What prepares the target.
    first: Option<PlannedCell>,
    at: Option<usize>,
}

impl<'a> Rounds<'a> {
    /// What is `wanted` of `sweep`, after what prepares the target.
    ///
    /// # Errors
    /// When an adaptive course has no depths and jobs to cross.
    pub fn new(
        sweep: &'a Sweep,
        wanted: Wanted,
        first: Option<PlannedCell>,
    ) -> Result<Rounds<'a>, String> {
        let places = sweep.places();
        let known = vec![Known::default(); places.len()];
        let crossings = if wanted.agree.is_some() {
            crossings(sweep, &places)?
        } else {
            Vec::new()
        };
        let mut rounds = Rounds {
            sweep,
            places,
            known,
            queue: VecDeque::new(),
            wanted,
            crossings,
            stage: 0,
            first,
            at: None,
        };
        if rounds.crossings.is_empty() {
            rounds.enqueue((0..rounds.places.len()).collect());
        } else {
            rounds.adapt();
        }
        Ok(rounds)
    }

    /// Places with what is known of them.
    pub fn results(&self) -> impl Iterator<Item = (&[usize], &Known)> {
        self.places.iter().map(Vec::as_slice).zip(&self.known)
    }

    /// What the checks of an adaptive course said, one line for each of its grids.
    pub fn agreements(&self) -> Vec<String> {
        let Some(limit) = self.wanted.agree else {
            return Vec::new();
        };
        let iops = |place: usize| self.known[place].iops();
        let lines = self.crossings.iter().filter_map(|(name, crossing)| {
            let found = crossing.agreement(&iops)?;
            let name = if name.is_empty() { String::new() } else { format!("{name}: ") };
            let what = if found.most <= limit {
                "so one line over iodepth x numjobs stands for the grid"
            } else {
                "so the grid was filled around there"
            };
            Some(format!(
                "{name}at {} numbers outstanding, few and many jobs differ by {:.1} % at most (at {} outstanding; the limit is {:.0} %), {what}.",
                found.compared,
                found.most * 100.0,
                found.at,
                limit * 100.0
            ))
        });
        lines.collect()
    }

    fn enqueue(&mut self, mut places: Vec<usize>) {
        places.sort_unstable();
        places.dedup();
        places.retain(|place| self.known[*place].figures.is_empty());
        let rounds = self.wanted.repeats;
        self.queue.extend(
            (0..rounds).flat_map(|repeat| places.iter().map(move |place| (*place, repeat))),
        );
    }

    /// The next stage of an adaptive course.
    fn adapt(&mut self) {
        while self.queue.is_empty() && self.stage < 3 && !self.crossings.is_empty() {
            let iops = |place: usize| self.known[place].iops();
            let limit = self.wanted.agree.unwrap_or_default();
            let all = self
                .crossings
                .iter()
                .flat_map(|(_, crossing)| match self.stage {
                    0 => crossing.line(),
                    1 => crossing.checks(),
                    _ => crossing.fill(limit, &iops),
                });
            let places = all.collect();
            self.stage += 1;
            self.enqueue(places);
        }
    }

    /// Another round of the cells that are not precise enough, the worst of them first.
    fn refine(&mut self) {
        let Some(precision) = self.wanted.precision else {
            return;
        };
        let open = |known: &Known| {
            known.failed.is_none() && (known.figures.len() as u32) < MOST_FOR_PRECISION
        };
        let mut wide: Vec<(usize, f64)> = (0..self.known.len())
            .filter(|place| open(&self.known[*place]))
            .filter_map(|place| {
                Some((
                    place,
                    self.known[place]
                        .imprecision()
                        .filter(|share| *share > precision)?,
                ))
            })
            .collect();
        wide.sort_by(|a, b| b.1.total_cmp(&a.1));
        self.queue.extend(
            wide.into_iter()
                .map(|(place, _)| (place, self.known[place].figures.len() as u32)),
        );
    }
}

/// Depths and jobs, for each combination of the other axes.
fn crossings(sweep: &Sweep, places: &[Vec<usize>]) -> Result<Vec<(String, Crossing)>, String> {
    let number = |values: &[(String, String)], wanted: &str| -> Result<u64, String> {
        let value = values
            .iter()
            .find(|(name, _)| name == wanted)
            .map(|(_, value)| value.as_str());
        let value = value.ok_or_else(|| {
            format!("--adaptive needs the axes iodepth and numjobs; there is no {wanted}")
        })?;
        value.parse().map_err(|_| {
            format!(
                "--adaptive needs plain numbers on the axis {wanted}, not '{}'",
                value.escape_debug()
            )
        })
    };
    let mut grids: BTreeMap<String, Vec<Split>> = BTreeMap::new();
    for (place, at) in places.iter().enumerate() {
        let values = sweep.cell(at).values;
        let split = Split {
            place,
            depth: number(&values, "iodepth")?,
            jobs: number(&values, "numjobs")?,
        };
        let others = values
            .iter()
            .filter(|(name, _)| name != "iodepth" && name != "numjobs");
        let name = others
            .map(|(name, value)| format!("{name}={value}"))
            .collect::<Vec<_>>()
            .join(" ");
        grids.entry(name).or_default().push(split);
    }
    Ok(grids
        .into_iter()
        .map(|(name, splits)| (name, Crossing::new(splits)))
        .collect())
}

impl CellSource for Rounds<'_> {
    fn next(&mut self) -> Option<PlannedCell> {
        if let Some(first) = self.first.take() {
            self.at = None;
            return Some(first);
        }
        loop {
            if self.queue.is_empty() {
                self.adapt();
            }
            if self.queue.is_empty() {
                self.refine();
            }
            let (place, repeat) = self.queue.pop_front()?;
            // What failed once is not tried again.
            if self.known[place].failed.is_none() {
                self.at = Some(place);
                return Some(PlannedCell {
                    repeat,
                    ..self.sweep.cell(&self.places[place])
                });
            }
        }
    }

    fn learn(&mut self, _cell: &PlannedCell, came: Result<&CellFigures, &str>) {
        let Some(place) = self.at else { return };
        match came {
            Ok(figures) => self.known[place].figures.push(figures.clone()),
            Err(why) => self.known[place].failed = Some(why.to_owned()),
        }
    }

    fn left(&self) -> usize {
        self.queue.len()
    }
}

#[cfg(test)]
mod tests {
    use fathom_model::{CellLatency, Nanos, RunEnd, Verdict};
    use fathom_plan::Axis;

    use super::*;

    fn sweep() -> Sweep {
        let axes = ["bs=4k,64k", "iodepth=1..64*2", "numjobs=1..64*2"]
            .map(|text| Axis::parse(text).expect(text));
        Sweep {
            axes: axes.to_vec(),
            job_file: None,
            settings: Vec::new(),
            targets: Vec::new(),
            called: Vec::new(),
            together: true,
        }
    }

    fn figures(iops: f64) -> CellFigures {
        CellFigures {
            iops,
            bandwidth: 0.0,
            offered: None,
            latency: CellLatency::default(),
            bad: 0,
            error: 0,
            elapsed: Nanos::ZERO,
            end: RunEnd::Completed,
            verdict: Verdict::Valid,
            codes: Vec::new(),
            sides: Vec::new(),
            parts: Vec::new(),
        }
    }

    /// Goes through the course on a device that is `rate` of block size, depth and jobs.
    fn walk(rounds: &mut Rounds<'_>, rate: &dyn Fn(&str, u64, u64) -> f64) -> Vec<String> {
        let mut keys = Vec::new();
        while let Some(cell) = rounds.next() {
            let value = |at: usize| cell.values[at].1.parse::<u64>().expect("a number");
            let iops = rate(&cell.values[0].1, value(1), value(2));
            keys.push(cell.id());
            rounds.learn(&cell, Ok(&figures(iops)));
        }
        keys
    }

    /// Known answers: 16 servers of 1 ms (only what is outstanding matters) for 4 KiB; with 64 KiB many jobs cost half.
    #[test]
    fn an_adaptive_course_fills_only_the_grid_that_needs_it() {
        let sweep = sweep();
        let wanted = Wanted {
            repeats: 1,
            precision: None,
            agree: Some(0.1),
        };
        let mut rounds = Rounds::new(&sweep, wanted, None).expect("axes");
        let rate = |bs: &str, depth: u64, jobs: u64| {
            let fair = (depth * jobs).min(16) as f64 * 1000.0;
            if bs == "64k" && jobs >= 2 {
                fair / 2.0
            } else {
                fair
            }
        };
        let keys = walk(&mut rounds, &rate);
        let of = |bs: &str| {
            keys.iter()
                .filter(|key| key.starts_with(&format!("bs={bs} ")))
                .count()
        };
        assert_eq!((of("4k"), of("64k")), (13 + 3, 49));
        let mut once = keys.clone();
        once.sort();
        once.dedup();
        assert_eq!(once.len(), keys.len(), "no cell twice");
        let told = rounds.agreements();
        assert!(
            told[0].starts_with("bs=4k: at 3 numbers outstanding") && told[0].contains("0.0 %"),
            "{told:?}"
        );
        assert!(
            told[1].contains("50.0 %") && told[1].contains("filled"),
            "{told:?}"
        );
    }

    #[test]
    fn what_was_learnt_before_leads_to_the_same_cells() {
        let sweep = sweep();
        let wanted = Wanted {
            repeats: 2,
            precision: Some(0.05),
            agree: None,
        };
        let noisy =
            |bs: &str, depth: u64, jobs: u64| (bs.len() as u64 * 1000 + depth * jobs) as f64;
        let mut first = Rounds::new(&sweep, wanted, None).expect("axes");
        let mut second = Rounds::new(&sweep, wanted, None).expect("axes");
        assert_eq!(walk(&mut first, &noisy), walk(&mut second, &noisy));
    }

    /// A cell that gives 100, 110, 100, ... has a wide interval: 12.4 % after three, 5 % after 9 (t x s / sqrt n).
    #[test]
    fn cells_are_repeated_until_they_are_precise() {
        let sweep = Sweep {
            axes: vec![Axis::parse("bs=4k,8k").expect("an axis")],
            ..sweep()
        };
        let wanted = Wanted {
            repeats: 3,
            precision: Some(0.05),
            agree: None,
        };
        let mut rounds = Rounds::new(&sweep, wanted, None).expect("axes");
        let (mut calm, mut wild) = (0, 0);
        while let Some(cell) = rounds.next() {
            let iops = if cell.values[0].1 == "4k" {
                calm += 1;
                100.0
            } else {
                wild += 1;
                100.0 + f64::from(wild % 2) * 10.0
            };
            rounds.learn(&cell, Ok(&figures(iops)));
        }
        assert_eq!(calm, 3);
        let values: Vec<f64> = (1..=wild)
            .map(|i| 100.0 + f64::from(i % 2) * 10.0)
            .collect();
        let relative = |n: usize| {
            fathom_analyse::estimate(&values[..n])
                .relative()
                .expect("an interval")
        };
        assert!(
            relative(values.len()) <= 0.05 && relative(values.len() - 1) > 0.05,
            "{wild} repeats"
        );
    }

    #[test]
    fn an_adaptive_course_needs_its_axes() {
        let sweep = Sweep {
            axes: vec![Axis::parse("iodepth=1,2").expect("an axis")],
            ..sweep()
        };
        let wanted = Wanted {
            repeats: 1,
            precision: None,
            agree: Some(0.1),
        };
        assert!(
            Rounds::new(&sweep, wanted, None)
                .err()
                .expect("refused")
                .contains("numjobs")
        );
    }
}
