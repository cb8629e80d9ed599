//! Scenes of the finding between cells of an experiment.

use fathom_analyse::{ComparedCell, contradictions};

pub const CODE: &str = "CELL_CONTRADICTED";

/// Whether the cell at `at` contradicts the others. Each cell has a value on the axis and the IOPS of its repeats.
fn is_contradicted(axis: &str, cells: &[(&str, &[f64])], at: usize) -> bool {
    let cell = |(value, iops): &(&str, &[f64])| ComparedCell {
        axes: vec![(axis.to_owned(), (*value).to_owned())],
        iops: iops.to_vec(),
    };
    let cells: Vec<ComparedCell> = cells.iter().map(cell).collect();
    contradictions(&cells)[at].is_some()
}

/// With more I/Os in flight at least 70 % of the throughput remains.
#[test]
fn a_fall_with_depth_by_more_than_three_tenths() {
    let at_depth_2 =
        |iops: f64| is_contradicted("iodepth", &[("1", &[1_000.0]), ("2", &[iops])], 1);
    assert!(at_depth_2(699.0) && !at_depth_2(701.0) && !at_depth_2(1_000.0));
}

/// A cell between two others is at most 1.7 times outside their range: below 1,000 / 1.7 = 588, above 1,700.
#[test]
fn a_cell_far_outside_the_range_of_its_neighbours() {
    let between = |iops: f64| {
        let cells: [(&str, &[f64]); 3] = [("4k", &[1_000.0]), ("8k", &[iops]), ("16k", &[1_000.0])];
        is_contradicted("bs", &cells, 1)
    };
    assert!(between(587.0) && !between(589.0) && !between(1_000.0));
    assert!(between(1_701.0) && !between(1_699.0));
}

/// Two measurements of a cell differ by at most half of the smaller one.
#[test]
fn repeats_that_differ_by_more_than_a_half() {
    let repeats = |second: f64| is_contradicted("bs", &[("4k", &[1_000.0, second])], 0);
    assert!(repeats(1_501.0) && !repeats(1_499.0) && !repeats(1_000.0));
}
