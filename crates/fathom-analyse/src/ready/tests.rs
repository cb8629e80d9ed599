//! The decision rule on simulated latencies whose percentile is known, and on published results.

#![cfg(test)]

use fathom_model::{Nanos, ReadyFigure, ReadyLimit, ReadyVerdict};

use super::*;

/// A generator of deterministic random numbers (SplitMix64) with the distributions that the tests need.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform in (0, 1).
    fn share(&mut self) -> f64 {
        ((self.next() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    /// Normal, mean 0 and variance 1 (Box and Muller 1958).
    fn normal(&mut self) -> f64 {
        (-2.0 * self.share().ln()).sqrt() * (std::f64::consts::TAU * self.share()).cos()
    }
}

/// The 99th percentile of the normal distribution.
const Z99: f64 = 2.326_347_874;
const LIMIT: f64 = 10e6;
const SECONDS: f64 = 60.0;
const PACE: ReadyPace = ReadyPace {
    seconds: SECONDS,
    least: 0.0,
};

fn p99(hard: f64) -> ReadyLimit {
    ReadyLimit::AtMost {
        figure: ReadyFigure::Percentile(99.0),
        hard: Nanos::new(hard as u64),
        soft: None,
    }
}

/// A device whose 99th percentile is known.
#[derive(Clone, Copy, Debug)]
enum Device {
    /// Independent log-normal latencies.
    Independent,
    /// Log-normal latencies whose logarithms follow an autoregression with this coefficient.
    Correlated(f64),
    /// Two kinds of latencies, of which the slow ones come in stalls of this mean number.
    Stalls(f64),
}

impl Device {
    /// Latencies with the 99th percentile `p99`, nanoseconds.
    fn latency(self, p99: f64, random: &mut Random, state: &mut f64) -> u64 {
        const SIGMA: f64 = 0.4;
        let value = match self {
            Device::Independent => (SIGMA * (random.normal() - Z99)).exp(),
            Device::Correlated(phi) => {
                *state = phi * *state + (1.0 - phi * phi).sqrt() * random.normal();
                (SIGMA * (*state - Z99)).exp()
            }
            // The share of slow latencies is 2 %, half of which are above the percentile.
            Device::Stalls(length) => {
                let leaves = 1.0 / length;
                let enters = leaves * 0.02 / 0.98;
                let slow = if *state > 0.0 {
                    random.share() >= leaves
                } else {
                    random.share() < enters
                };
                *state = f64::from(u8::from(slow));
                if slow {
                    0.8 + 0.4 * random.share()
                } else {
                    0.2 * (0.1 * random.normal()).exp()
                }
            }
        };
        (value * p99) as u64
    }

    /// The verdict on a device whose 99th percentile is `factor` times the limit, and the length of the measurement.
    fn verdict(self, factor: f64, seed: u64, rate: f64) -> (ReadyVerdict, f64) {
        let mut random = Random(seed);
        let mut state = 0.0;
        let mut test = ReadyTest::new(p99(LIMIT), PACE, 1);
        let block = PACE.block();
        let mut elapsed = 0.0;
        while elapsed < SECONDS && !test.is_decided() {
            let latencies: Vec<u64> = (0..(rate * block) as usize)
                .map(|_| self.latency(factor * LIMIT, &mut random, &mut state))
                .collect();
            test.add(LatencyBlock::of(block, &latencies));
            elapsed += block;
        }
        if !test.is_decided() {
            test.finish();
        }
        (test.verdict(), elapsed)
    }
}

/// 100 repetitions at each multiple of the limit: at most 1 % wrong at each. At 0.5 and 2 times the limit at least
/// `least_decided` percent are decided.
fn repetitions(device: Device, rate: f64, least_decided: u64) {
    const REPETITIONS: u64 = 100;
    let mut table = String::new();
    for factor in [0.5, 0.8, 0.95, 1.05, 1.25, 2.0] {
        let right = if factor < 1.0 {
            ReadyVerdict::Pass
        } else {
            ReadyVerdict::Fail
        };
        let (mut decided, mut wrong, mut seconds) = (0, 0, 0.0);
        for repetition in 0..REPETITIONS {
            let seed = repetition * 1000 + (factor * 100.0) as u64;
            let (verdict, elapsed) = device.verdict(factor, seed, rate);
            seconds += elapsed;
            if verdict == right {
                decided += 1;
            } else if verdict != ReadyVerdict::Undecided {
                wrong += 1;
            }
        }
        table += &format!(
            "{device:?} {factor}: right {decided}, wrong {wrong}, mean time {:.1} s\n",
            seconds / REPETITIONS as f64
        );
        assert!(wrong <= REPETITIONS / 100, "{table}");
        if [0.5, 2.0].contains(&factor) {
            assert!(decided >= REPETITIONS * least_decided / 100, "{table}");
        }
    }
    println!("{table}");
}

/// Bonferroni: the error probabilities of both ends, all looks and all checks of a profile add up to that of the answer.
#[test]
fn the_checks_of_a_profile_share_the_error_probability() {
    for checks in [1, 2, 8] {
        let test = ReadyTest::new(p99(LIMIT), PACE, checks);
        let all = test.tail * 2.0 * LOOKS as f64 * checks as f64;
        assert!((all - (1.0 - READY_CONFIDENCE)).abs() < 1e-12, "{checks}");
    }
}

#[test]
fn independent_latencies_are_judged_right() {
    repetitions(Device::Independent, 400.0, 100);
}

#[test]
fn correlated_latencies_are_judged_right() {
    repetitions(Device::Correlated(0.9), 400.0, 95);
}

#[test]
fn latencies_with_stalls_are_judged_right() {
    // Where 2 % of all latencies are slow, twice the limit means only 2 % above it in place of 1 %: stalls that come together
    // need more than a minute to distinguish these in some repetitions.
    repetitions(Device::Stalls(5.0), 400.0, 80);
}

/// A constant latency below the limit passes at the first look, one above it fails there.
#[test]
fn a_constant_latency_is_decided_at_the_first_look() {
    for (latency, expected) in [
        (9_000_000, ReadyVerdict::Pass),
        (11_000_000, ReadyVerdict::Fail),
    ] {
        let mut test = ReadyTest::new(p99(LIMIT), PACE, 1);
        let mut blocks = 0;
        while !test.is_decided() && blocks < 1000 {
            test.add(LatencyBlock::of(PACE.block(), &[latency; 100]));
            blocks += 1;
        }
        assert_eq!((test.verdict(), blocks), (expected, FIRST_LOOK));
    }
}

/// 1,000 commits per second on average, 950 and 1,050 in turn.
#[test]
fn rates_are_judged_with_soft_and_hard_limits() {
    let verdict = |hard: f64, soft: Option<f64>| {
        let mut test = ReadyTest::new(ReadyLimit::AtLeast { hard, soft }, PACE, 1);
        for i in 0..240 {
            let latencies = vec![1_000_000; if i % 2 == 0 { 237 } else { 263 }];
            test.add(LatencyBlock::of(0.25, &latencies));
        }
        test.finish();
        (test.verdict(), test.is_decided())
    };
    assert_eq!(verdict(500.0, None), (ReadyVerdict::Pass, true));
    assert_eq!(verdict(500.0, Some(900.0)), (ReadyVerdict::Pass, true));
    assert_eq!(verdict(500.0, Some(1200.0)), (ReadyVerdict::Warn, true));
    assert_eq!(verdict(1000.0, None), (ReadyVerdict::Undecided, false));
    assert_eq!(verdict(1200.0, Some(2000.0)), (ReadyVerdict::Fail, true));
}

/// Random arrivals at `rate` per second for `seconds`, served one after the other in `service` seconds each; the device stands still
/// from `stop` on. The verdict against 95 % of the rate, and the share of the arrivals that really completed.
fn open_loop(rate: f64, service: f64, seconds: f64, stop: f64, seed: u64) -> (ReadyVerdict, f64) {
    let pace = ReadyPace {
        seconds,
        least: 0.0,
    };
    let limit = ReadyLimit::AtLeast {
        hard: 0.95 * rate,
        soft: None,
    };
    let mut test = ReadyTest::new(limit, pace, 3);
    test.set_offered(rate);
    let mut random = Random(seed);
    let blocks = (seconds / pace.block()) as usize;
    let mut latencies = vec![Vec::new(); blocks];
    let (mut arrival, mut free) = (0.0, 0.0_f64);
    let (mut due, mut completed) = (0.0, 0.0);
    loop {
        arrival -= random.share().ln() / rate;
        if arrival >= seconds {
            break;
        }
        due += 1.0;
        free = free.max(arrival) + service;
        let block = (free / pace.block()) as usize;
        if let Some(block) = latencies.get_mut(block).filter(|_| free < stop) {
            block.push(((free - arrival) * 1e9) as u64);
            completed += 1.0;
        }
    }
    for block in latencies {
        if !test.is_decided() {
            test.add(LatencyBlock::of(pace.block(), &block));
        }
    }
    if !test.is_decided() {
        test.finish();
    }
    (test.verdict(), completed / due)
}

/// Regression 0894: at 200 I/Os per second, a load that the disk completed was undecided after ten seconds, because the number of random
/// arrivals was judged: 2,000 of them differ by 2 % from time to time.
#[test]
fn the_completed_load_of_random_arrivals_is_decided() {
    use ReadyVerdict::{Fail, Pass};
    for (rate, seconds) in [(20.0, 9.0), (200.0, 9.0), (3_000.0, 27.0)] {
        for load in [0.2, 0.5, 0.9, 1.02, 1.06, 1.11, 1.4, 2.0] {
            let all: Vec<(ReadyVerdict, f64)> = (0..100)
                .map(|seed| open_loop(rate, load / rate, seconds, f64::INFINITY, seed))
                .collect();
            let wrong = all
                .iter()
                .filter(|(verdict, share)| match verdict {
                    Pass => *share < 0.95,
                    Fail => *share >= 0.95,
                    _ => false,
                })
                .count();
            assert!(wrong <= 1, "{rate} {load}: {wrong} wrong");
            let decided = |wanted| all.iter().filter(|(verdict, _)| *verdict == wanted).count();
            if load <= 0.5 {
                // With 180 arrivals in all, a queue that happens to grow at the end leaves some undecided.
                let least = if rate < 100.0 { 90 } else { 99 };
                assert!(
                    decided(Pass) >= least,
                    "{rate} {load}: {} pass",
                    decided(Pass)
                );
            }
            if load >= 2.0 && rate >= 200.0 {
                assert!(decided(Fail) >= 99, "{rate} {load}: {} fail", decided(Fail));
            }
        }
    }
}

/// A device that answers at once and then stands still has not completed the load.
#[test]
fn a_device_that_stands_still_does_not_complete_its_load() {
    for seed in 0..50 {
        // The first look is after two seconds.
        let (verdict, share) = open_loop(200.0, 0.001, 9.0, 1.0, seed);
        assert!(share < 0.2, "{share}");
        assert_ne!(verdict, ReadyVerdict::Pass, "{seed}");
    }
}

#[test]
fn figures_that_change_have_no_verdict() {
    let mut test = ReadyTest::new(p99(LIMIT), PACE, 1);
    for i in 0..240 {
        // A soft decline: each interval is narrow, and the last ones are far from the first.
        let latency = if i < 40 { 1_000_000 } else { 9_000_000 };
        test.add(LatencyBlock::of(0.25, &[latency; 100]));
        if i == 39 {
            assert_eq!(test.verdict(), ReadyVerdict::Pass);
        }
    }
    test.finish();
    assert_eq!(test.verdict(), ReadyVerdict::Undecided);
}

/// Latencies in bins, such as the histograms that etcd exports: upper end of the bin in seconds, and the number of latencies
/// at or below it. All of a bin are put at its upper end, which is the worst case.
fn of_bins(bins: &[(f64, u64)]) -> Vec<u64> {
    let mut before = 0;
    let mut all = Vec::new();
    for (end, up_to) in bins {
        let n = (up_to - before) / 10;
        all.extend(std::iter::repeat_n((end * 1e9) as u64, n as usize));
        before = *up_to;
    }
    all
}

/// Latencies with these percentiles: percent, nanoseconds. Each value fills the part up to its percent.
fn of_percentiles(count: usize, table: &[(f64, f64)]) -> Vec<u64> {
    (0..count)
        .map(|i| {
            let percent = 100.0 * (i as f64 + 0.5) / count as f64;
            let row = table.iter().find(|(upto, _)| percent <= *upto);
            row.or(table.last()).expect("a row").1 as u64
        })
        .collect()
}

/// Mixes the order, which published tables do not contain.
fn shuffled(mut all: Vec<u64>) -> Vec<u64> {
    let mut random = Random(7);
    for i in (1..all.len()).rev() {
        all.swap(i, (random.next() % (i as u64 + 1)) as usize);
    }
    all
}

fn judged(limit: ReadyLimit, latencies: &[u64]) -> ReadyVerdict {
    let mut test = ReadyTest::new(limit, PACE, 1);
    let length = latencies.len().div_ceil(240);
    for block in latencies.chunks(length) {
        if test.is_decided() {
            break;
        }
        test.add(LatencyBlock::of(PACE.block(), block));
    }
    if !test.is_decided() {
        test.finish();
    }
    test.verdict()
}

/// The sample of "Using Fio to Tell Whether Your Storage is Fast Enough for Etcd" (IBM Cloud blog, 2019): 10,030 commits of
/// 2,300 bytes, 99th percentile 2,376 us, judged fast enough for the limit of 10 ms.
#[test]
fn the_published_sample_for_etcd_passes() {
    let table = [
        (1.0, 553e3),
        (5.0, 578e3),
        (10.0, 594e3),
        (20.0, 627e3),
        (30.0, 709e3),
        (40.0, 750e3),
        (50.0, 783e3),
        (60.0, 1549e3),
        (70.0, 1729e3),
        (80.0, 1991e3),
        (90.0, 2180e3),
        (95.0, 2278e3),
        (99.0, 2376e3),
        (99.5, 9634e3),
        (100.0, 15_795e3),
    ];
    let latencies = shuffled(of_percentiles(10_030, &table));
    assert_eq!(judged(p99(10e6), &latencies), ReadyVerdict::Pass);
}

/// The table of replicatedhq/troubleshoot#1215: a warning for p99 66.95 ms on an instance without problems. The report suspects
/// the warm-up, so the slow writes came together. Such a part is not a failure but undecided, and when the
/// measurement goes on without stalls it passes. If every hundredth write were slow all the time, it would be a failure.
#[test]
fn a_stall_during_the_warm_up_is_not_a_failure() {
    let table = [
        (1.0, 1_408_942.0),
        (5.0, 1_526_009.0),
        (10.0, 1_602_084.0),
        (20.0, 1_709_857.0),
        (30.0, 1_798_301.0),
        (40.0, 1_884_261.0),
        (50.0, 1_976_585.0),
        (60.0, 2_074_297.0),
        (70.0, 2_193_705.0),
        (80.0, 2_370_422.0),
        (90.0, 2_740_913.0),
        (95.0, 3_383_787.0),
        (98.5, 3_600_000.0),
        (99.0, 66_952_460.0),
        (99.5, 85_128_422.0),
        (99.9, 140_532_147.0),
        (99.95, 155_877_727.0),
        (100.0, 185_874_478.0),
    ];
    let all = of_percentiles(2740, &table);
    let (fast, slow): (Vec<u64>, Vec<u64>) = all.iter().partition(|latency| **latency < 10_000_000);
    let fast = shuffled(fast);
    // The slow writes come in the first second.
    let warming: Vec<u64> = slow.iter().chain(&fast).copied().collect();
    assert_eq!(judged(p99(10e6), &warming), ReadyVerdict::Undecided);
    let longer: Vec<u64> = warming
        .iter()
        .chain(fast.iter().cycle().take(30 * 2740))
        .copied()
        .collect();
    assert_eq!(judged(p99(10e6), &longer), ReadyVerdict::Pass);
    let always = shuffled(all.iter().cycle().take(30 * 2740).copied().collect());
    assert_eq!(judged(p99(10e6), &always), ReadyVerdict::Fail);
}

/// etcd-io/etcd#11884: backend commits, "commit durations looks fine"; the limit is 25 ms, the next bin 16 ms.
#[test]
fn published_backend_commits_of_etcd_pass() {
    let bins = [
        (0.001, 168_386),
        (0.002, 576_993),
        (0.004, 757_708),
        (0.008, 782_904),
        (0.016, 787_763),
        (0.032, 788_436),
        (0.064, 788_584),
        (0.128, 788_953),
        (0.256, 789_118),
        (0.512, 789_148),
    ];
    let limit = p99(25e6);
    assert_eq!(judged(limit, &shuffled(of_bins(&bins))), ReadyVerdict::Pass);
}

/// etcd-io/etcd#10799: WAL commits of which less than 99 % took 16 ms, "not even reach 99% in 10ms".
#[test]
fn published_commits_of_etcd_that_miss_the_limit_fail() {
    let bins = [
        (0.001, 438_012),
        (0.002, 504_743),
        (0.004, 540_407),
        (0.008, 546_545),
        (0.016, 549_721),
        (0.032, 551_710),
        (1.0, 556_341),
    ];
    assert_eq!(
        judged(p99(10e6), &shuffled(of_bins(&bins))),
        ReadyVerdict::Fail
    );
}
