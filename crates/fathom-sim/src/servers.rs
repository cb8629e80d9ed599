//! A queue with several servers, first come, first served: the model of every device with bounded
//! concurrency.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use fathom_model::Histogram;

use crate::random::Random;

/// The first part (1 / this) of the I/Os is not measured, because the queue begins empty.
const WARM_UP: u64 = 10;

/// The distribution of the service time of one I/O.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Service {
    /// Always its mean.
    Fixed,
    /// Memoryless: with Poisson arrivals, the M/M/c queue.
    Exponential,
}

/// A device of `count` servers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Servers {
    /// Number of servers.
    pub count: u32,
    /// Mean service time of one I/O, nanoseconds.
    pub mean_ns: f64,
    /// Distribution of the service time.
    pub service: Service,
    /// Service time that an idle device accumulates and then does at once, nanoseconds: the slice
    /// of a rate limiter; 0 for a device that accumulates nothing.
    pub credit_ns: f64,
}

/// The results of a load.
#[derive(Clone, Debug)]
pub struct Observed {
    /// I/Os per second.
    pub iops: f64,
    /// Times from due (in a closed loop: from submitted) to completed.
    pub latency: Histogram,
    /// The same for each sixth of the I/Os, in order.
    pub parts: Vec<Histogram>,
    /// From the first due time to the last completion, nanoseconds.
    pub elapsed_ns: f64,
}

/// The arrival process of an open loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrivals {
    /// Independent arrivals.
    Poisson,
    /// Equal gaps.
    Even,
}

/// Number of [`Observed::parts`].
const PARTS: usize = 6;

impl Servers {
    /// Maximum I/Os per second.
    #[must_use]
    pub fn max_iops(&self) -> f64 {
        f64::from(self.count) / self.mean_ns * 1e9
    }

    /// Serves `ios` I/Os of an open loop: Poisson arrivals of `rate` per second, independent of the
    /// device.
    #[must_use]
    pub fn open(&self, rate: f64, ios: u64, seed: u64) -> Observed {
        self.open_with(Arrivals::Poisson, rate, ios, seed)
    }

    /// The same with either arrival process.
    #[must_use]
    pub fn open_with(&self, arrivals: Arrivals, rate: f64, ios: u64, seed: u64) -> Observed {
        let (mut gaps, gap) = (Random::new(seed ^ 0xa5a5), 1e9 / rate);
        let mut due = 0.0;
        self.serve(ios, seed, move |_| {
            due += if arrivals == Arrivals::Even {
                gap
            } else {
                gaps.exponential(gap)
            };
            due
        })
    }

    /// Serves `ios` I/Os of a closed loop with `depth` in flight: each completion is followed by
    /// the next I/O at once.
    #[must_use]
    pub fn closed(&self, depth: u32, ios: u64, seed: u64) -> Observed {
        let mut ready: BinaryHeap<Reverse<u64>> = (0..depth).map(|_| Reverse(0)).collect();
        self.serve(ios, seed, move |completed| {
            ready.extend(completed.map(|at: f64| Reverse(at as u64)));
            ready.pop().map_or(0.0, |Reverse(at)| at as f64)
        })
    }

    /// Serves I/Os in the order of the times that `due` returns; `due` receives the completion time
    /// of the previous I/O.
    fn serve(&self, ios: u64, seed: u64, mut due: impl FnMut(Option<f64>) -> f64) -> Observed {
        // Time begins late enough for a credit before it.
        let credit = self.credit_ns;
        let mut free: BinaryHeap<Reverse<u64>> =
            (0..self.count.max(1)).map(|_| Reverse(0)).collect();
        let mut service = Random::new(seed);
        let (mut latency, mut before, mut last) = (Histogram::new(), None, 0.0_f64);
        let mut parts = vec![Histogram::new(); PARTS];
        let warm = ios / WARM_UP;
        let mut begun = 0.0;
        for number in 0..ios {
            let at = due(before.map(|done: f64| done - credit)) + credit;
            let server = free.pop().map_or(0, |Reverse(at)| at);
            let takes = match self.service {
                Service::Fixed => self.mean_ns,
                Service::Exponential => service.exponential(self.mean_ns),
            };
            // An idle server has its credit: it completes at once until the credit is used up.
            let busy = (at - credit).max(server as f64) + takes;
            free.push(Reverse(busy as u64));
            let done = if credit > 0.0 { at.max(busy) } else { busy };
            before = Some(done);
            last = last.max(done);
            if number == warm {
                begun = at;
            }
            if number >= warm {
                latency.record((done - at) as u64);
                parts
                    [(u128::from(number - warm) * PARTS as u128 / u128::from(ios - warm)) as usize]
                    .record((done - at) as u64);
            }
        }
        Observed {
            iops: (ios - warm) as f64 / (last - begun).max(1.0) * 1e9,
            latency,
            parts,
            elapsed_ns: last - credit,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FLASH: Servers = Servers {
        count: 1,
        mean_ns: 100_000.0,
        service: Service::Exponential,
        credit_ns: 0.0,
    };

    /// M/M/1: R = S / (1 - rho), and the quantile p of the response time is R ln(1 / (1 - p)).
    #[test]
    fn one_server_matches_the_m_m_1_formula() {
        let seen = FLASH.open(7_000.0, 2_000_000, 1);
        let mean = 100_000.0 / 0.3;
        assert!(
            (seen.latency.mean() / mean - 1.0).abs() < 0.02,
            "{}",
            seen.latency.mean()
        );
        let p99 = seen.latency.percentile(99.0).expect("values");
        assert!((p99 / (mean * 100_f64.ln()) - 1.0).abs() < 0.03, "{p99}");
        assert!((seen.iops / 7_000.0 - 1.0).abs() < 0.01, "{}", seen.iops);
    }

    /// Erlang C for 4 servers at rho = 0.8: with a = 3.2, P(wait) = 0.5964, mean wait = C S / (c (1
    /// - rho)) = 74.55 us.
    #[test]
    fn four_servers_match_the_erlang_c_formula() {
        let device = Servers { count: 4, ..FLASH };
        let seen = device.open(32_000.0, 2_000_000, 2);
        assert!(
            (seen.latency.mean() / 174_550.0 - 1.0).abs() < 0.02,
            "{}",
            seen.latency.mean()
        );
    }

    /// Fixed service times are deterministic: 4 servers of 100 us do 10,000 IOPS per I/O in flight,
    /// at most 40,000.
    #[test]
    fn a_closed_loop_is_limited_by_the_servers() {
        let device = Servers {
            count: 4,
            service: Service::Fixed,
            ..FLASH
        };
        for (depth, iops, latency) in [
            (1, 10_000.0, 100_000.0),
            (4, 40_000.0, 100_000.0),
            (8, 40_000.0, 200_000.0),
        ] {
            let seen = device.closed(depth, 40_000, 3);
            assert!(
                (seen.iops / iops - 1.0).abs() < 0.001,
                "{depth}: {}",
                seen.iops
            );
            assert!(
                (seen.latency.mean() / latency - 1.0).abs() < 0.001,
                "{depth}: {}",
                seen.latency.mean()
            );
        }
        assert_eq!(device.max_iops(), 40_000.0);
    }

    /// A limiter at 1,000 per second with a slice of 50 ms, and 1,020 even arrivals per second:
    /// nothing waits for 2.5 s, then the queue grows by 20 ms each second, to 20 x 10 - 50 = 150 ms
    /// after ten. `blkio.throttle` does the same.
    #[test]
    fn a_limiter_grants_its_slice_first() {
        let device = Servers {
            count: 1,
            mean_ns: 1e6,
            service: Service::Fixed,
            credit_ns: 50e6,
        };
        let seen = device.open_with(Arrivals::Even, 1_020.0, 10_200, 1);
        let max = |part: usize| seen.parts[part].max().expect("values").as_millis();
        assert!(
            max(0) == 0 && max(5).abs_diff(150) <= 3,
            "{} {}",
            max(0),
            max(5)
        );
        assert!(
            device
                .open_with(Arrivals::Even, 999.0, 10_000, 1)
                .latency
                .max()
                .expect("values")
                .get()
                == 0
        );
    }

    #[test]
    fn the_same_seed_gives_the_same_results() {
        let (a, b, c) = (
            FLASH.open(5_000.0, 1000, 4),
            FLASH.open(5_000.0, 1000, 4),
            FLASH.open(5_000.0, 1000, 5),
        );
        assert_eq!((a.iops, a.latency.sum()), (b.iops, b.latency.sum()));
        assert_ne!(a.latency.sum(), c.latency.sum());
    }
}
