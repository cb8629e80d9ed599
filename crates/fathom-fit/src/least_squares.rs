//! Least squares on the log scale: Levenberg-Marquardt within bounds, from several starts. It uses
//! no random numbers, so that the same points give the same parameters.

use crate::law::{Law, LawKind, PARAMETERS};

/// Steps of one start.
const STEPS: usize = 200;
/// Relative improvement at which a start has converged.
const CONVERGED: f64 = 1e-15;
/// Step of the numerical derivatives.
const STEP: f64 = 1e-6;

pub(crate) type Coordinates = [f64; PARAMETERS];
pub(crate) type Matrix = [[f64; PARAMETERS]; PARAMETERS];

/// A fitted law with the normal matrix at the minimum.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Minimum {
    pub law: Law,
    /// Sum of the squared residuals of the logarithms.
    pub sum: f64,
    /// Which parameters are not at a bound.
    pub free: [bool; PARAMETERS],
    /// Inverse of the normal matrix of the free parameters; zero for the others.
    pub inverse: Matrix,
}

/// The parameters of `kind` that fit the points (in flight, ln IOPS) best.
pub(crate) fn minimise(kind: LawKind, points: &[(f64, f64)]) -> Minimum {
    let mut best: Option<(f64, Coordinates)> = None;
    for start in starts(kind, points) {
        let (sum, at) = descend(kind, points, start);
        if best.is_none_or(|(least, _)| sum < least) {
            best = Some((sum, at));
        }
    }
    let (sum, at) = best.expect("each law has starts");
    let (free, inverse) = covariance(kind, points, &at);
    Minimum {
        law: Law::of(kind, &at),
        sum,
        free,
        inverse,
    }
}

/// Starts around the asymptotes that the points show.
fn starts(kind: LawKind, points: &[(f64, f64)]) -> Vec<Coordinates> {
    let rate = |point: &(f64, f64)| (point.1 - point.0.ln()).exp();
    let first = points.iter().map(rate).fold(0.0, f64::max);
    let peak = points.iter().map(|point| point.1.exp()).fold(0.0, f64::max);
    let least = points
        .iter()
        .map(|point| point.1.exp())
        .fold(f64::INFINITY, f64::min);
    let law = |values| Law { kind, values }.coordinates();
    match kind {
        LawKind::SoftMinimum => [0.7, 1.5, 4.0, 16.0]
            .into_iter()
            .flat_map(|m| [1.0, 3.0].map(|above| law([1.0 / first, peak * above, m])))
            .collect(),
        LawKind::Usl => [
            (0.0, 0.0),
            (0.01, 1e-6),
            (0.1, 1e-4),
            (0.5, 1e-3),
            (0.9, 1e-2),
        ]
        .into_iter()
        .map(|(sigma, kappa)| law([first, sigma, kappa]))
        .collect(),
        LawKind::Ncq => [1.0, 4.0, 30.0]
            .into_iter()
            .flat_map(|onset| [0.05, 0.5, 2.0].map(|gain| law([least, gain, onset])))
            .collect(),
    }
}

fn sum_of_squares(law: &Law, points: &[(f64, f64)]) -> f64 {
    let sum: f64 = points
        .iter()
        .map(|(n, y)| (y - law.log_iops(*n)).powi(2))
        .sum();
    if sum.is_finite() { sum } else { f64::INFINITY }
}

/// Derivative of `ln X` by each coordinate, by central differences inside the bounds.
pub(crate) fn gradient(kind: LawKind, at: &Coordinates, n: f64) -> Coordinates {
    std::array::from_fn(|which| {
        let (low, high) = kind.parameters()[which].bounds;
        let (mut before, mut after) = (*at, *at);
        before[which] = (at[which] - STEP).max(low);
        after[which] = (at[which] + STEP).min(high);
        let value = |at: &Coordinates| Law::of(kind, at).log_iops(n);
        (value(&after) - value(&before)) / (after[which] - before[which])
    })
}

fn descend(kind: LawKind, points: &[(f64, f64)], start: Coordinates) -> (f64, Coordinates) {
    let mut at = start;
    let mut sum = sum_of_squares(&Law::of(kind, &at), points);
    let mut damping = 1e-3;
    for _ in 0..STEPS {
        let law = Law::of(kind, &at);
        let (mut normal, mut right) = ([[0.0; PARAMETERS]; PARAMETERS], [0.0; PARAMETERS]);
        for (n, y) in points {
            let slope = gradient(kind, &at, *n);
            let residual = y - law.log_iops(*n);
            for row in 0..PARAMETERS {
                right[row] += slope[row] * residual;
                for column in 0..PARAMETERS {
                    normal[row][column] += slope[row] * slope[column];
                }
            }
        }
        // A coordinate at its bound that would leave it does not move.
        let free = std::array::from_fn(|n| {
            let (low, high) = kind.parameters()[n].bounds;
            !(at[n] <= low && right[n] < 0.0 || at[n] >= high && right[n] > 0.0)
        });
        let mut improved = false;
        while damping < 1e12 {
            let mut damped = normal;
            for (n, row) in damped.iter_mut().enumerate() {
                row[n] += damping * (row[n] + 1e-12);
            }
            let step = solve(&damped, &right, &free);
            let next: Coordinates = std::array::from_fn(|n| {
                let (low, high) = kind.parameters()[n].bounds;
                (at[n] + step[n]).clamp(low, high)
            });
            let new = sum_of_squares(&Law::of(kind, &next), points);
            if new < sum {
                improved = sum - new > CONVERGED * sum;
                (at, sum) = (next, new);
                damping = (damping * 0.2).max(1e-12);
                break;
            }
            damping *= 4.0;
        }
        if !improved {
            break;
        }
    }
    (sum, at)
}

/// Solves the rows and columns of the free parameters by elimination with pivots; 0 for the others
/// and for what is undetermined.
fn solve(matrix: &Matrix, right: &Coordinates, free: &[bool; PARAMETERS]) -> Coordinates {
    let inverse = invert(matrix, free);
    std::array::from_fn(|row| {
        (0..PARAMETERS)
            .map(|column| inverse[row][column] * right[column])
            .sum()
    })
}

/// Inverse of the part of the free parameters by Gauss-Jordan elimination.
fn invert(matrix: &Matrix, free: &[bool; PARAMETERS]) -> Matrix {
    let mut left = *matrix;
    let mut right = [[0.0; PARAMETERS]; PARAMETERS];
    for n in 0..PARAMETERS {
        right[n][n] = 1.0;
        if !free[n] {
            left[n] = [0.0; PARAMETERS];
            left.iter_mut().for_each(|row| row[n] = 0.0);
            left[n][n] = 1.0;
            right[n][n] = 0.0;
        }
    }
    for column in 0..PARAMETERS {
        let pivot = (column..PARAMETERS)
            .max_by(|a, b| left[*a][column].abs().total_cmp(&left[*b][column].abs()))
            .unwrap_or(column);
        left.swap(column, pivot);
        right.swap(column, pivot);
        let divisor = left[column][column];
        if divisor.abs() < 1e-300 {
            // Nothing depends on this parameter: infinitely uncertain.
            right[column] = [0.0; PARAMETERS];
            right[column][column] = f64::INFINITY;
            continue;
        }
        for n in 0..PARAMETERS {
            left[column][n] /= divisor;
            right[column][n] /= divisor;
        }
        for row in (0..PARAMETERS).filter(|row| *row != column) {
            let factor = left[row][column];
            if factor != 0.0 {
                for n in 0..PARAMETERS {
                    left[row][n] -= factor * left[column][n];
                    right[row][n] -= factor * right[column][n];
                }
            }
        }
    }
    right
}

/// Which parameters are free at the minimum, and the inverse of their normal matrix.
fn covariance(
    kind: LawKind,
    points: &[(f64, f64)],
    at: &Coordinates,
) -> ([bool; PARAMETERS], Matrix) {
    let mut normal = [[0.0; PARAMETERS]; PARAMETERS];
    for (n, _) in points {
        let slope = gradient(kind, at, *n);
        for row in 0..PARAMETERS {
            for column in 0..PARAMETERS {
                normal[row][column] += slope[row] * slope[column];
            }
        }
    }
    let free = std::array::from_fn(|n| {
        let (low, high) = kind.parameters()[n].bounds;
        at[n] > low + STEP * 1e-3 && at[n] < high - STEP * 1e-3
    });
    (free, invert(&normal, &free))
}
