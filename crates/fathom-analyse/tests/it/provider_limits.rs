//! Limits of providers on simulated devices in virtual time: token buckets with known rates and
//! sizes, and devices that are slow for other reasons.

use fathom_analyse::provider_limits::{RateLimit, RateShape, rate_shape};
use fathom_model::{
    Direction, Histogram, MergedInterval, MergedIntervalDirection, Nanos, PerDirection,
    SparseHistogram,
};
use fathom_sim::{Library, SimDevice, SimOp, SimRequest};

/// Park and Miller's minimal standard generator (1988).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0 * 48_271 % 2_147_483_647;
        self.0
    }
}

/// A closed loop of `depth` requests for `seconds` of virtual time, in `intervals` intervals.
fn load(
    device: &mut dyn SimDevice,
    depth: usize,
    (seconds, intervals): (f64, usize),
    mut next: impl FnMut() -> (SimOp, u64, u32),
) -> Vec<MergedInterval> {
    let length = (seconds * 1e9 / intervals as f64) as u64;
    let is_write = std::cell::Cell::new(false);
    let mut ios = vec![(0u64, 0u64, Histogram::new()); intervals];
    let mut slots: Vec<(u64, u32)> = Vec::new();
    let submit =
        |device: &mut dyn SimDevice, now: u64, id: u64, (op, offset, bytes): (SimOp, u64, u32)| {
            is_write.set(op == SimOp::Write);
            device.submit(
                now,
                SimRequest {
                    id,
                    op,
                    offset,
                    bytes,
                    fua: false,
                },
            );
            (now, bytes)
        };
    for id in 0..depth as u64 {
        slots.push(submit(device, 0, id, next()));
    }
    let mut done = Vec::new();
    'run: loop {
        let now = device.next_event().expect("requests are in flight");
        device.advance(now, &mut done);
        let completions = std::mem::take(&mut done);
        for completion in completions {
            let (submitted, bytes) = slots[completion.id as usize];
            let number = (completion.at / length) as usize;
            if number >= intervals {
                break 'run;
            }
            ios[number].0 += 1;
            ios[number].1 += u64::from(bytes);
            ios[number].2.record(completion.at - submitted);
            slots[completion.id as usize] = submit(device, now, completion.id, next());
        }
    }
    let direction = if is_write.get() {
        Direction::Write
    } else {
        Direction::Read
    };
    ios.iter()
        .enumerate()
        .map(|(number, (ios, bytes, latencies))| {
            let mut directions = PerDirection::<MergedIntervalDirection>::default();
            directions[direction] = MergedIntervalDirection {
                ios: *ios,
                bytes: *bytes,
                latencies: SparseHistogram::pack(latencies),
                ..MergedIntervalDirection::default()
            };
            MergedInterval {
                start: Nanos::new(number as u64 * length),
                length: Nanos::new(length),
                directions,
            }
        })
        .collect()
}

fn shape_of(series: &[MergedInterval]) -> Option<RateShape> {
    let end = series.last().map(|last| last.start + last.length)?;
    rate_shape(series, Nanos::ZERO, end)
}

/// The backing devices of limited volumes: a fast one, one with scattered service times.
const BELOW: [&str; 2] = [
    "servers(count=32, service=200us)",
    "servers(count=64, service=250us, distribution=exponential)",
];

/// What a volume counts.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Unit {
    Ios,
    IosOf(u64),
    Bytes,
}

/// 60 volumes: 5 rates, 4 bursts, 3 units each, alternating backing devices and queue depths.
#[test]
fn sixty_buckets_are_recognised_with_their_rates_and_sizes() {
    let mut worst = (0.0_f64, 0.0_f64, 0.0_f64);
    let mut number = 0;
    for base in [100.0_f64, 300.0, 500.0, 1100.0, 2300.0] {
        for burst_s in [4.0_f64, 15.0, 40.0, 90.0] {
            for unit in [
                Unit::Ios,
                Unit::IosOf([16 << 10, 32 << 10, 256 << 10][number % 3]),
                Unit::Bytes,
            ] {
                number += 1;
                // One I/O at a time on these devices reaches 4,000 to 5,000 IOPS.
                let depth = match [1, 4, 16, 32, 64][number % 5] {
                    1 if base > 600.0 => 4,
                    depth => depth,
                };
                let block: u32 = match unit {
                    Unit::Ios => 4 << 10,
                    Unit::IosOf(unit) => unit as u32 * 3 / 2,
                    Unit::Bytes => 64 << 10,
                };
                // The burst limit is a bucket of one I/O in front of the credits.
                let high = base * 3.0 + 700.0;
                let tokens = ((high - base) * burst_s).round();
                let below = BELOW[number % 2];
                let text = match unit {
                    Unit::Ios | Unit::IosOf(_) => {
                        let size = match unit {
                            Unit::IosOf(unit) => format!(", io_size={unit}B"),
                            _ => String::new(),
                        };
                        format!(
                            "limit(limit({below}, iops={base}, burst={tokens}{size}), iops={high}{size})"
                        )
                    }
                    Unit::Bytes => format!(
                        "limit(limit({below}, bandwidth={}B/s, burst_bytes={}B), bandwidth={}B/s, burst_bytes={block}B)",
                        base * f64::from(block),
                        tokens * f64::from(block),
                        high * f64::from(block),
                    ),
                };
                let mut device = Library::new()
                    .build_text(&text, number as u64)
                    .expect("a device");
                let mut random = Random(number as u64 + 7);
                let reached = if depth == 1 { high.min(2000.0) } else { high };
                let seconds = tokens / (reached - base) * 1.5 + 20.0;
                let series = load(device.as_mut(), depth, (seconds, 100), || {
                    (SimOp::Read, random.next() % 1000 * 1_048_576, block)
                });
                // Each I/O of the third unit takes two tokens.
                let per_io = if matches!(unit, Unit::IosOf(_)) {
                    2.0
                } else {
                    1.0
                };
                let one_at_a_time = depth == 1;
                let Some(RateShape::Bucket(found)) = shape_of(&series) else {
                    panic!("{number}: {text} at depth {depth}: {:?}", shape_of(&series));
                };
                let off = |value: f64, expected: f64| (value / expected - 1.0).abs();
                worst.0 = worst.0.max(off(found.base.value, base / per_io));
                // At depth 1 the latency of the device may be longer than the time of a token.
                let reached = found.burst.expect("a burst").value;
                if !one_at_a_time {
                    worst.1 = worst.1.max(off(reached, high / per_io));
                }
                worst.2 = worst.2.max(off(found.bucket.value, tokens / per_io));
                assert!(
                    off(found.base.value, base / per_io) < 0.02
                        && (one_at_a_time || off(reached, high / per_io) < 0.02)
                        && off(found.bucket.value, tokens / per_io) < 0.05,
                    "{number}: {text} at depth {depth}: {found:?}"
                );
                assert!(
                    found.bucket.low <= tokens / per_io && tokens / per_io <= found.bucket.high
                        || off(found.bucket.value, tokens / per_io) < 0.01,
                    "{number}: {text}: {found:?}"
                );
            }
        }
    }
    assert_eq!(number, 60);
    eprintln!(
        "worst of 60: base {:.3} %, burst {:.3} %, bucket {:.3} %",
        worst.0 * 100.0,
        worst.1 * 100.0,
        worst.2 * 100.0
    );
}

/// The load of a device without limits: operation, pattern and size.
fn workloads() -> [(SimOp, bool, u32); 5] {
    [
        (SimOp::Read, true, 4 << 10),
        (SimOp::Write, true, 4 << 10),
        (SimOp::Read, false, 128 << 10),
        (SimOp::Write, false, 128 << 10),
        (SimOp::Read, true, 64 << 10),
    ]
}

/// 100 runs on devices that have no limit: none is claimed.
#[test]
fn no_limit_is_claimed_on_a_hundred_clean_runs() {
    let mut runs = 0;
    for (model, seconds) in [
        ("nvme-ssd", 0.25),
        ("sata-ssd", 0.5),
        ("link(sata-600, hdd-7200)", 60.0),
        ("servers(count=8, service=200us)", 1.0),
        (
            "servers(count=16, service=300us, distribution=exponential)",
            1.0,
        ),
    ] {
        for depth in [1, 4, 16, 32] {
            for (op, is_random, bytes) in workloads() {
                runs += 1;
                let mut device = Library::new().build_text(model, runs).expect("a device");
                let blocks = (device.capacity() / u64::from(bytes)).min(1 << 18);
                let mut random = Random(runs + 1);
                let mut at = 0;
                let series = load(device.as_mut(), depth, (seconds, 60), || {
                    at += 1;
                    let block = if is_random { random.next() } else { at } % blocks;
                    (op, block * u64::from(bytes), bytes)
                });
                let found = shape_of(&series);
                assert!(
                    found.is_none(),
                    "{model} {op:?} {is_random} {bytes} depth {depth}: {found:?}"
                );
            }
        }
    }
    assert_eq!(runs, 100);
}

/// An SLC cache that is full: the rate falls as that of a bucket does.
#[test]
fn no_limit_is_claimed_when_an_slc_cache_is_full() {
    for (number, depth) in [(1, 1), (2, 8), (3, 32)] {
        for bytes in [128 << 10, 32 << 10_u32] {
            let text = "samsung-970-evo-plus-1tb(slc_cache=\"300MB\", slc_dynamic=\"0B\")"
                .replace('"', "");
            let mut device = Library::new().build_text(&text, number).expect("a device");
            let mut at = 0;
            let series = load(device.as_mut(), depth, (1.0, 100), || {
                at += 1;
                (SimOp::Write, at * u64::from(bytes), bytes)
            });
            let total = |part: &[MergedInterval]| {
                part.iter()
                    .map(|one| one.directions[Direction::Write].bytes)
                    .sum::<u64>()
            };
            assert!(
                total(&series[..15]) as f64 > 1.3 * total(&series[85..]) as f64,
                "the cache was used up: {} {}",
                total(&series[..15]),
                total(&series[85..])
            );
            assert_eq!(shape_of(&series), None, "depth {depth}, {bytes} bytes");
        }
    }
}

/// A device with heat: above a temperature it works slower, in steps, and recovers.
struct Hot {
    inner: Box<dyn SimDevice>,
    /// Requests on their way back, with the time at which they are slow enough.
    late: Vec<(u64, u64)>,
    heat: f64,
    now: u64,
    step: f64,
    random: Random,
}

impl Hot {
    /// The delay of a completion: a share of the work is held back at each step of the heat.
    fn delay(&mut self, now: u64) -> u64 {
        let passed = (now - self.now) as f64 / 1e9;
        self.now = now;
        self.heat = (self.heat - passed * 3.0).max(0.0) + 0.002;
        let steps = (self.heat / self.step).floor().min(4.0);
        (steps * 400_000.0 * (0.5 + self.random.next() as f64 / 2_147_483_647.0)) as u64
    }
}

impl SimDevice for Hot {
    fn capacity(&self) -> u64 {
        self.inner.capacity()
    }
    fn submit(&mut self, now: u64, request: SimRequest) {
        self.inner.submit(now, request);
    }
    fn next_event(&self) -> Option<u64> {
        let late = self.late.iter().map(|(at, _)| *at).min();
        match (late, self.inner.next_event()) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }
    fn advance(&mut self, now: u64, done: &mut Vec<fathom_sim::SimCompletion>) {
        let mut inner = Vec::new();
        self.inner.advance(now, &mut inner);
        for completion in inner {
            let at = completion.at + self.delay(completion.at.max(self.now));
            self.late.push((at, completion.id));
        }
        self.late.sort_unstable();
        let ready = self.late.partition_point(|(at, _)| *at <= now);
        done.extend(
            self.late
                .drain(..ready)
                .map(|(at, id)| fathom_sim::SimCompletion {
                    id,
                    at,
                    failed: false,
                }),
        );
    }
}

#[test]
fn no_limit_is_claimed_on_a_device_that_gets_hot() {
    for (seed, step) in [(3, 2.0), (5, 5.0), (9, 12.0)] {
        for depth in [4, 16] {
            let inner = Library::new()
                .build_text(
                    "servers(count=8, service=400us, distribution=exponential)",
                    seed,
                )
                .expect("a device");
            let mut device = Hot {
                inner,
                late: Vec::new(),
                heat: 0.0,
                now: 0,
                step,
                random: Random(seed),
            };
            let mut random = Random(seed);
            let series = load(&mut device, depth, (10.0, 100), || {
                (SimOp::Read, random.next() % 100_000 * 4096, 4096)
            });
            assert_eq!(shape_of(&series), None, "step {step}, depth {depth}");
        }
    }
}

/// A limit from the start: its rate within 2 %; at depth 1, too.
#[test]
fn a_smooth_ceiling_is_recognised() {
    for (number, base) in [200.0, 500.0, 1600.0, 3000.0].into_iter().enumerate() {
        for depth in [4, 32] {
            let text = format!("limit(servers(count=32, service=100us), iops={base})");
            let mut device = Library::new()
                .build_text(&text, number as u64)
                .expect("a device");
            let mut random = Random(number as u64 + 3);
            let series = load(device.as_mut(), depth, (20.0, 40), || {
                (SimOp::Read, random.next() % 1000 * 4096, 4096)
            });
            let Some(RateShape::Ceiling(RateLimit { base: found, .. })) = shape_of(&series) else {
                panic!("{text}: {:?}", shape_of(&series));
            };
            assert!((found.value / base - 1.0).abs() < 0.02, "{text}: {found:?}");
        }
    }
}

/// With several block sizes in one run, the even quantity is the limited one.
#[test]
fn bytes_and_ios_are_told_apart_by_mixed_sizes() {
    use fathom_analyse::provider_limits::LimitedUnit;
    for (text, unit) in [
        (
            "limit(servers(count=32, service=100us), bandwidth=50MB/s, burst_bytes=1MB)",
            LimitedUnit::Bytes,
        ),
        (
            "limit(servers(count=32, service=100us), iops=1000, burst=20)",
            LimitedUnit::Ios,
        ),
    ] {
        let mut device = Library::new().build_text(text, 1).expect("a device");
        let mut random = Random(11);
        let series = load(device.as_mut(), 32, (30.0, 60), || {
            let bytes = if random.next().is_multiple_of(2) {
                4096
            } else {
                65_536
            };
            (SimOp::Read, random.next() % 1000 * 65_536, bytes)
        });
        let found = shape_of(&series);
        let Some(RateShape::Ceiling(limit)) = found else {
            panic!("{text}: {found:?}");
        };
        assert_eq!(limit.unit, unit, "{text}");
    }
}
