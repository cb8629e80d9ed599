//! A closed loop over an array of disks: random places, first come first served, with the gain of
//! command queueing.

use crate::queue::Lattice;

/// IOPS and mean latency, ms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ArrayPoint {
    /// I/Os per second.
    pub iops: f64,
    /// Mean latency, ms.
    pub mean_ms: f64,
}

struct Random(u64);

impl Random {
    fn next(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// Completes `count` reads with `depth` in flight over `disks`. A disk with `k` reads serves one in
/// its service time / (1 + gain * log2 k). The same arguments give the same result.
#[must_use]
pub fn array_reads(
    service: &Lattice,
    disks: usize,
    depth: usize,
    gain: f64,
    count: u32,
) -> ArrayPoint {
    // Inverse of the distribution, in equal shares.
    const SHARES: usize = 512;
    let table: Vec<f64> = (0..SHARES)
        .map(|i| service.quantile((i as f64 + 0.5) / SHARES as f64))
        .collect();
    let mut random = Random(0x2545_F491_4F6C_DD1D);
    let mut queued = vec![0u32; disks];
    let mut done_at = vec![f64::INFINITY; disks];
    let time = |queued: u32, random: &mut Random| {
        let place = (random.next() * SHARES as f64) as usize;
        table[place.min(SHARES - 1)] / (1.0 + gain * f64::from(queued).log2())
    };
    let mut now = 0.0;
    for _ in 0..depth {
        let disk = (random.next() * disks as f64) as usize % disks;
        queued[disk] += 1;
        if queued[disk] == 1 {
            done_at[disk] = time(1, &mut random);
        }
    }
    for _ in 0..count {
        let disk = (0..disks)
            .min_by(|a, b| done_at[*a].total_cmp(&done_at[*b]))
            .unwrap_or(0);
        now = done_at[disk];
        queued[disk] -= 1;
        done_at[disk] = if queued[disk] > 0 {
            now + time(queued[disk], &mut random)
        } else {
            f64::INFINITY
        };
        let next = (random.next() * disks as f64) as usize % disks;
        queued[next] += 1;
        if queued[next] == 1 {
            done_at[next] = now + time(1, &mut random);
        }
    }
    let iops = f64::from(count) / now * 1000.0;
    ArrayPoint {
        iops,
        mean_ms: depth as f64 / iops * 1000.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A balanced closed network of M servers with exponential service completes
    /// N M / (S (N + M - 1)) (mean value analysis).
    #[test]
    fn exponential_service_gives_mean_value_analysis() {
        let mut service = Lattice::new(0.02);
        for i in 0..20_000 {
            service.add(
                -10.0 * (1.0 - (f64::from(i) + 0.5) / 20_000.0f64).ln(),
                1.0 / 20_000.0,
            );
        }
        for depth in [1usize, 4, 16, 64] {
            let expected = depth as f64 * 8.0 / (0.01 * (depth as f64 + 7.0));
            let found = array_reads(&service, 8, depth, 0.0, 60_000).iops;
            assert!(
                (found / expected - 1.0).abs() < 0.03,
                "{depth}: {found} {expected}"
            );
        }
    }
}
