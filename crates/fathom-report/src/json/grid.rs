//! A sweep as a JSON document.

use fathom_model::{CellFigures, Grid, GridRow};

use super::with_simulated;
use crate::tree::{Object, Tree};

/// The document and a line end. Latencies are nanoseconds, bandwidth is bytes per second.
#[must_use]
pub fn grid_json(grid: &Grid) -> String {
    let head = with_simulated(
        Object::new().with("fathom sweep", 1_u32),
        grid.simulated.as_ref(),
    );
    let document: Tree = grid_into(head, grid).into();
    let mut bytes = Vec::new();
    document.write(&mut bytes).expect("writing to memory");
    String::from_utf8_lossy(&bytes).into_owned() + "\n"
}

/// A grid inside another document.
pub(crate) fn grid_object(grid: &Grid) -> Object {
    grid_into(Object::new(), grid)
}

fn grid_into(object: Object, grid: &Grid) -> Object {
    let rows = grid.rows.iter().map(|one| row(grid, one));
    object
        .with("axes", grid.axes.iter().collect::<Tree>())
        .with("cells", rows.collect::<Tree>())
        .with("cells_not_measured", grid.left_out)
        .with("sentences", grid.sentences.iter().collect::<Tree>())
}

fn row(grid: &Grid, row: &GridRow) -> Object {
    let values = grid
        .axes
        .iter()
        .cloned()
        .zip(row.values.iter().map(Tree::from));
    let object = Object::new()
        .with("axes", Object::of(values))
        .with("repeats", row.iops.n);
    if let Some(why) = &row.failed {
        return object.with("failed", why);
    }
    let object = object.with("iops_interval_95", row.iops.half_width);
    figures(object, &row.figures)
}

/// Adds the metrics of a cell.
pub(crate) fn figures(object: Object, figures: &CellFigures) -> Object {
    let latency = &figures.latency;
    let latencies = Object::new()
        .with("mean", latency.mean)
        .with("p50", latency.p50)
        .with("p90", latency.p90)
        .with("p99", latency.p99)
        .with("p99.9", latency.p999)
        .with("p99.99", latency.p9999)
        .with("max", latency.max);
    object
        .with("iops", figures.iops)
        .with("bw_bytes", figures.bandwidth)
        .with("offered_iops", figures.offered)
        .with("latency_ns", latencies)
        .with("bad_ios", figures.bad)
        .with("not_sent_ios", figures.not_sent)
        .with("error", figures.error)
        .with("elapsed_ns", figures.elapsed.get())
        .with("verdict", figures.verdict.name())
        .with("findings", figures.codes.iter().collect::<Tree>())
        .with(
            "target_iops",
            figures.per_target.iter().copied().collect::<Tree>(),
        )
}
