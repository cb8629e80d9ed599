//! A ring without any accounting, as the baseline for the cost of the load generator.
#![allow(unsafe_code)]

use std::time::{Duration, Instant};

use fathom_load::EngineError;
use io_uring::opcode;

use super::super::explain;
use super::ring::{Ring, RingConfig};

/// Sends no-ops in batches of `batch` with at most `depth` in flight, through an io_uring with the
/// set-up of the engine, until `limit` has passed. Nothing is timed, accounted or recorded. Returns
/// no-ops per second.
///
/// # Errors
/// If io_uring is not available, or a call fails.
#[inline]
pub fn bare_noop_ring(depth: u32, batch: u32, limit: Duration) -> Result<f64, EngineError> {
    let refused = |errno| explain::io_uring_error(errno, "a ring of no-ops");
    let mut ring = Ring::new(RingConfig {
        depth,
        ..RingConfig::default()
    })
    .map_err(refused)?;
    let (mut in_flight, mut done, mut rounds) = (0, 0u64, 0u32);
    let start = Instant::now();
    loop {
        in_flight += send(&mut ring, batch.min(depth - in_flight));
        ring.submit().map_err(refused)?;
        let reaped = ring.completion().count() as u32;
        in_flight -= reaped;
        done += u64::from(reaped);
        rounds = rounds.wrapping_add(1);
        if rounds % 1024 == 0 && start.elapsed() >= limit {
            break;
        }
    }
    let lasted = start.elapsed();
    while in_flight > 0 {
        ring.wait(in_flight, Duration::from_millis(100))
            .map_err(refused)?;
        in_flight -= ring.completion().count() as u32;
    }
    Ok(done as f64 / lasted.as_secs_f64())
}

/// Queues up to `count` no-ops and returns how many fitted.
#[inline]
fn send(ring: &mut Ring, count: u32) -> u32 {
    let mut queue = ring.submission();
    let entry = opcode::Nop::new().build();
    // SAFETY: a no-op refers to no memory.
    (0..count)
        .take_while(|_| unsafe { queue.push(&entry) }.is_ok())
        .count() as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_ops_are_counted() {
        match bare_noop_ring(8, 4, Duration::from_millis(20)) {
            // A call takes some hundred nanoseconds and carries at most four no-ops.
            Ok(rate) => assert!(rate > 1_000.0 && rate < 1e9, "{rate}"),
            Err(error) => fathom_testkit::skip(&format!("{error}")),
        }
    }
}
