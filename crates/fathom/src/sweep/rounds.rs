//! The course of a sweep: the whole grid coarse first, then the whole grid again.

use std::collections::VecDeque;

use fathom_model::CellFigures;
use fathom_plan::{Cell, Sweep};

use crate::experiment::Course;

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
}

/// Goes through a grid in rounds, so that a drift of the device meets all cells alike.
pub struct Rounds<'a> {
    sweep: &'a Sweep,
    places: Vec<Vec<usize>>,
    known: Vec<Known>,
    /// Index of a place, and which repeat.
    queue: VecDeque<(usize, u32)>,
    precision: Option<f64>,
    /// What prepares the target.
    first: Option<Cell>,
    at: Option<usize>,
}

impl<'a> Rounds<'a> {
    /// `repeats` rounds over the grid, then more of what is not precise enough.
    pub fn new(sweep: &'a Sweep, repeats: u32, precision: Option<f64>, first: Option<Cell>) -> Rounds<'a> {
        let places = sweep.places();
        let repeats = if precision.is_some() { repeats.max(LEAST_FOR_PRECISION) } else { repeats };
        let queue = (0..repeats).flat_map(|repeat| (0..places.len()).map(move |place| (place, repeat))).collect();
        let known = vec![Known::default(); places.len()];
        Rounds { sweep, places, known, queue, precision, first, at: None }
    }

    /// Places with what is known of them.
    pub fn results(&self) -> impl Iterator<Item = (&[usize], &Known)> {
        self.places.iter().map(Vec::as_slice).zip(&self.known)
    }

    /// Another round of the cells that are not precise enough, the worst of them first.
    fn refine(&mut self) {
        let Some(precision) = self.precision else { return };
        let open = |known: &Known| known.failed.is_none() && (known.figures.len() as u32) < MOST_FOR_PRECISION;
        let mut wide: Vec<(usize, f64)> = (0..self.known.len())
            .filter(|place| open(&self.known[*place]))
            .filter_map(|place| Some((place, self.known[place].imprecision().filter(|share| *share > precision)?)))
            .collect();
        wide.sort_by(|a, b| b.1.total_cmp(&a.1));
        self.queue.extend(wide.into_iter().map(|(place, _)| (place, self.known[place].figures.len() as u32)));
    }
}

impl Course for Rounds<'_> {
    fn next(&mut self) -> Option<Cell> {
        if let Some(first) = self.first.take() {
            self.at = None;
            return Some(first);
        }
        if self.queue.is_empty() {
            self.refine();
        }
        // What failed once is not tried again.
        while let Some((place, repeat)) = self.queue.pop_front() {
            if self.known[place].failed.is_none() {
                self.at = Some(place);
                return Some(Cell { repeat, ..self.sweep.cell(&self.places[place]) });
            }
        }
        None
    }

    fn learn(&mut self, _cell: &Cell, came: Result<&CellFigures, &str>) {
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
