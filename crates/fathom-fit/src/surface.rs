//! Grids of depth and jobs: what the law of the load leaves unexplained, but neighbouring cells
//! share.
//!
//! Equal loads of few deep queues and of many shallow ones may differ: a scheduler, a controller or
//! the host treats them differently. The residuals of the law are then interpolated by a Gaussian
//! process over the logarithms of depth and jobs (kriging), with the length and the noise that
//! predict left-out cells best. Away from measured cells the correction fades to the law.

use crate::curve::{CurveFit, FitError, LoadPoint, fit, usable};
use crate::law::Law;

/// Lengths by depth and by jobs to choose from, in doublings.
const LENGTHS: [f64; 4] = [0.5, 2.0, 8.0, 32.0];
/// Lengths by load to choose from; the last is none.
const LOAD_LENGTHS: [f64; 3] = [1.0, 4.0, 1e9];
/// Shares of the noise in the variance to choose from.
const NOISES: [f64; 3] = [0.005, 0.05, 0.4];
/// The correction is used only if it lowers the error of left-out cells by this factor.
const WORTHWHILE: f64 = 0.9;
/// Fewer cells with more than one job and more than one depth show no pattern.
const FEWEST_CELLS: usize = 9;

/// A law with the correction for cells of a grid.
#[derive(Clone, Debug, PartialEq)]
pub struct GridFit {
    /// The law of the load.
    pub curve: CurveFit,
    /// Mean of the absolute differences of `ln X` (nearly the relative error) between the cells and
    /// the law.
    pub law_error: f64,
    /// The same with the correction, each cell predicted from the others; `None` if it is not used.
    pub corrected_error: Option<f64>,
    correction: Option<Correction>,
}

#[derive(Clone, Debug, PartialEq)]
struct Correction {
    places: Vec<(f64, f64)>,
    /// Weights of the kernels.
    weights: Vec<f64>,
    lengths: [f64; 3],
}

/// Fits a law, and the correction of a grid where it predicts left-out cells better.
///
/// # Errors
/// As [`fit`].
pub fn fit_grid(points: &[LoadPoint]) -> Result<GridFit, FitError> {
    let curve = fit(points)?;
    let points = usable(points)?;
    let residuals: Vec<f64> = points
        .iter()
        .map(|point| point.iops.ln() - curve.law.log_iops(point.in_flight()))
        .collect();
    let mean =
        |errors: &[f64]| errors.iter().map(|error| error.abs()).sum::<f64>() / errors.len() as f64;
    let law_error = mean(&residuals);
    let mut grid = GridFit {
        curve,
        law_error,
        corrected_error: None,
        correction: None,
    };
    let places: Vec<(f64, f64)> = points.iter().map(place).collect();
    let differ =
        |value: fn(&(f64, f64)) -> f64| places.iter().any(|p| value(p) != value(&places[0]));
    if points.len() < FEWEST_CELLS || !differ(|p| p.0) || !differ(|p| p.1) {
        return Ok(grid);
    }
    let mut best = law_error * WORTHWHILE;
    for lengths in all_lengths() {
        for noise in NOISES {
            let Some((weights, left_out)) = krige(&places, &residuals, lengths, noise) else {
                continue;
            };
            let error = mean(&left_out);
            if error < best {
                best = error;
                grid.corrected_error = Some(error);
                grid.correction = Some(Correction {
                    places: places.clone(),
                    weights,
                    lengths,
                });
            }
        }
    }
    Ok(grid)
}

/// Every combination of lengths by depth, jobs and load.
fn all_lengths() -> impl Iterator<Item = [f64; 3]> {
    LENGTHS.into_iter().flat_map(|by_depth| {
        LENGTHS.into_iter().flat_map(move |by_jobs| {
            LOAD_LENGTHS
                .into_iter()
                .map(move |by_load| [by_depth, by_jobs, by_load])
        })
    })
}

fn place(point: &LoadPoint) -> (f64, f64) {
    (f64::from(point.depth).log2(), f64::from(point.jobs).log2())
}

/// Correlation of two cells.
fn kernel(a: (f64, f64), b: (f64, f64), lengths: [f64; 3]) -> f64 {
    let (depth, jobs) = (a.0 - b.0, a.1 - b.1);
    let [by_depth, by_jobs, by_load] = lengths;
    (-(depth.abs() / by_depth + jobs.abs() / by_jobs + (depth + jobs).abs() / by_load)).exp()
}

/// The weights, and the error at each cell when it is left out: `(K^-1 r)_i / (K^-1)_ii` (Rasmussen
/// and Williams, Gaussian Processes for Machine Learning, 2006, section 5.4.2).
fn krige(
    places: &[(f64, f64)],
    residuals: &[f64],
    lengths: [f64; 3],
    noise: f64,
) -> Option<(Vec<f64>, Vec<f64>)> {
    let count = places.len();
    let mut matrix: Vec<Vec<f64>> = (0..count)
        .map(|row| {
            (0..count)
                .map(|column| (1.0 - noise) * kernel(places[row], places[column], lengths))
                .collect()
        })
        .collect();
    for (n, row) in matrix.iter_mut().enumerate() {
        row[n] += noise;
    }
    let inverse = invert(&matrix)?;
    let weights: Vec<f64> = inverse
        .iter()
        .map(|row| row.iter().zip(residuals).map(|(a, b)| a * b).sum())
        .collect();
    let left_out = (0..count).map(|n| weights[n] / inverse[n][n]).collect();
    let weights = weights
        .iter()
        .map(|weight| weight * (1.0 - noise))
        .collect();
    Some((weights, left_out))
}

/// The inverse of a symmetric positive definite matrix, by Cholesky's decomposition.
fn invert(matrix: &[Vec<f64>]) -> Option<Vec<Vec<f64>>> {
    let count = matrix.len();
    let mut lower = vec![vec![0.0; count]; count];
    for row in 0..count {
        for column in 0..=row {
            let known: f64 = dot(&lower[row][..column], &lower[column][..column]);
            let rest = matrix[row][column] - known;
            if row == column {
                if rest <= 1e-12 {
                    return None;
                }
                lower[row][row] = rest.sqrt();
            } else {
                lower[row][column] = rest / lower[column][column];
            }
        }
    }
    // Rows of the inverse of the lower matrix, by columns of it.
    let mut columns = vec![vec![0.0; count]; count];
    for (start, column) in columns.iter_mut().enumerate() {
        column[start] = 1.0 / lower[start][start];
        for row in start + 1..count {
            let known = dot(&lower[row][start..row], &column[start..row]);
            column[row] = -known / lower[row][row];
        }
    }
    let product = |a: usize, b: usize| {
        let from = a.max(b);
        dot(&columns[a][from..], &columns[b][from..])
    };
    Some(
        (0..count)
            .map(|row| (0..count).map(|column| product(row, column)).collect())
            .collect(),
    )
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

impl GridFit {
    /// The law of the load.
    #[must_use]
    pub fn law(&self) -> Law {
        self.curve.law
    }

    /// I/Os per second of `jobs` jobs with `depth` I/Os in flight each.
    ///
    /// # Errors
    /// When the load is outside the range of the measurements.
    pub fn iops(&self, depth: u32, jobs: u32) -> Result<f64, FitError> {
        let cell = LoadPoint::new(depth, jobs, 1.0, None);
        let law = self.curve.predict(cell.in_flight())?.iops;
        let at = place(&cell);
        let correction = self.correction.as_ref().map_or(0.0, |correction| {
            let parts = correction.places.iter().zip(&correction.weights);
            parts
                .map(|(place, weight)| weight * kernel(*place, at, correction.lengths))
                .sum()
        });
        Ok(law * correction.exp())
    }
}
