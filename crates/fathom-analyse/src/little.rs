//! Little's law: mean in flight = rate x mean latency (J. D. C. Little, Operations Research 9,
//! 1961).

use fathom_model::{DirectionSummary, Little, PerDirection};

use crate::members::Member;

/// Average number of I/Os in flight over all members.
pub(crate) fn little(members: &[Member], directions: &PerDirection<DirectionSummary>) -> Little {
    let asked = members.iter().map(|m| f64::from(m.job.queue.depth)).sum();
    let iops = directions.iter().map(|(_, d)| d.iops).sum();
    let (n, sum) = directions.iter().fold((0, 0.0), |(n, sum), (_, d)| {
        (n + d.clat.n, sum + d.clat.mean * d.clat.n as f64)
    });
    let mean_ns = if n > 0 { sum / n as f64 } else { 0.0 };
    let in_flight = if n > 0 {
        iops * mean_ns / 1e9
    } else {
        measured_in_flight(members)
    };
    Little {
        queue_depth: asked,
        in_flight,
        iops,
        mean_ns,
    }
}

/// Without recorded latencies: the sum of all times in flight divided by the run time.
fn measured_in_flight(members: &[Member]) -> f64 {
    let longest = members
        .iter()
        .map(|m| m.run_time().get())
        .max()
        .unwrap_or(0);
    let sum: u128 = members.iter().map(|m| m.seen.in_flight_ns).sum();
    if longest == 0 {
        0.0
    } else {
        sum as f64 / longest as f64
    }
}
