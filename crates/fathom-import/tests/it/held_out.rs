//! Real results: every third cell of a sweep is left out, a curve is fitted to the others, and the
//! predictions are compared with what was left out. `docs/fit.md` has the figures.

use std::path::Path;

use crate::common::{read, results};
use fathom_analyse::{imported, jobs_of, report_source};
use fathom_fit::{FitError, LoadPoint, fit, fit_grid, measured_curves};

/// The sweeps, and the largest median and 90th percentile of the errors in percent that are
/// accepted.
const SWEEPS: [(&str, &str, (f64, f64)); 12] = [
    ("fio-2.18-ssd", "randread", (5.0, 15.0)),
    ("fio-2.18-ssd", "randwrite", (5.0, 15.0)),
    ("raid5-8x2tb-md", "randread", (5.0, 15.0)),
    ("raid5-8x2tb-md", "randwrite", (5.0, 15.0)),
    ("floppy/random", "randread", (5.0, 15.0)),
    ("floppy/random", "randwrite", (5.0, 15.0)),
    // Seven cells each, of which the shallowest and the deepest are extrapolated in turn.
    ("floppy/sequential", "read", (10.0, 30.0)),
    ("floppy/sequential", "write", (10.0, 30.0)),
    // The controller completes in steps: depth 2 and 4 differ little, and all cells of one load
    // fall into the same third. At 8 and more per job and 4 and more jobs it loses a third.
    ("intel-d3-s4610-hba", "randread", (10.0, 30.0)),
    ("intel-d3-s4610-hba", "randwrite", (5.0, 19.0)),
    // 52 of its 72 cells contain a command timeout of 30 s and are left out. Of eight predictions the
    // 90th percentile is the largest error, 15.0 %.
    ("wd740gd-10k", "randread", (5.0, 16.0)),
    ("wd740gd-10k", "randwrite", (5.0, 15.0)),
];

/// Cells of all sweeps without a command timeout.
const CELLS: usize = 352 + 20;

/// The cells of one pattern without a command timeout, by depth and jobs.
fn cells(directory: &Path, rw: &str) -> Vec<LoadPoint> {
    let sources: Vec<_> = read(directory)
        .results
        .into_iter()
        .filter(|result| result.source.files[0].ends_with(".json"))
        .map(|result| report_source(&imported(result), ""))
        .collect();
    let curve = measured_curves(&jobs_of(&sources))
        .curves
        .into_iter()
        .find(|curve| curve.key.rw == rw)
        .unwrap_or_else(|| panic!("{}: no {rw}", directory.display()));
    let mut cells = curve.points;
    cells.sort_by_key(|cell| (cell.depth, cell.jobs));
    cells
}

/// Relative errors at the cells that are left out, each third in turn, so that every cell is
/// predicted once by a fit that does not know it.
fn errors(cells: &[LoadPoint], refused: &mut usize) -> Vec<f64> {
    let mut errors = Vec::new();
    for third in 0..3 {
        let of = |left_out: bool| -> Vec<LoadPoint> {
            cells
                .iter()
                .enumerate()
                .filter(|(n, _)| (n % 3 == third) == left_out)
                .map(|(_, cell)| *cell)
                .collect()
        };
        let grid = fit_grid(&of(false)).expect("enough cells");
        for cell in of(true) {
            match grid.iops(cell.depth, cell.jobs) {
                Ok(iops) => errors.push((iops / cell.iops - 1.0).abs()),
                Err(FitError::OutOfRange { .. }) => *refused += 1,
                Err(error) => panic!("{error}"),
            }
        }
    }
    errors.sort_by(f64::total_cmp);
    errors
}

/// The nearest-rank percentile, percent.
fn percentile(sorted: &[f64], percent: f64) -> f64 {
    let rank = (percent / 100.0 * sorted.len() as f64).ceil() as usize;
    sorted[rank.clamp(1, sorted.len()) - 1] * 100.0
}

#[test]
fn left_out_cells_of_real_results_are_predicted() {
    let Some(directory) = results() else { return };
    let (mut all, mut refused, mut missed) = (Vec::new(), 0, Vec::new());
    for (sweep, rw, accepted) in SWEEPS {
        let cells = cells(&directory.join("fio-results").join(sweep), rw);
        let curve = fit(&cells).expect("a curve");
        let errors = errors(&cells, &mut refused);
        let (median, p90) = (percentile(&errors, 50.0), percentile(&errors, 90.0));
        eprintln!(
            "| {sweep} | {rw} | {} | {} | {:.1} % | {} | {median:.1} % | {p90:.1} % |",
            cells.len(),
            curve.law.kind.title(),
            curve.candidates[0].cross_validation * 100.0,
            curve
                .same_load
                .map_or("-".to_owned(), |spread| format!("{:.1} %", spread * 100.0)),
        );
        let (most_median, most_p90) = accepted;
        if median > most_median || p90 > most_p90 {
            missed.push(format!("{sweep} {rw}: {median:.1} % {p90:.1} %"));
        }
        all.extend(errors);
    }
    all.sort_by(f64::total_cmp);
    let (median, p90) = (percentile(&all, 50.0), percentile(&all, 90.0));
    eprintln!(
        "all cells: {}, median {median:.1} %, p90 {p90:.1} %; refused {refused}",
        all.len()
    );
    assert!(missed.is_empty(), "{missed:?}");
    assert!(all.len() + refused == CELLS, "{} cells", all.len());
    assert!(median <= 5.0 && p90 <= 15.0, "{median} {p90}");
}
