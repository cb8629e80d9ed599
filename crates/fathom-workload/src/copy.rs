//! A synthetic load with the parameters of a profile.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::Arc;

use crate::arrivals::{ArrivalModel, UNIT};
use crate::hash::mix;
use crate::histogram::LogHistogram;
use crate::profile::{Profile, Sizes, Stream};
use crate::record::{IoFlags, IoKind, TraceIo};
use crate::space::{Pattern, Zone};
use crate::windows::Phase;

/// What a copy can express.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expression {
    /// All of the profile: bursts and phases too.
    Profile,
    /// What a job file of fio can say: even or Poisson arrivals at the mean rate.
    Fio,
}

/// Random numbers (SplitMix64).
#[derive(Debug)]
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// From 0 to below 1.
    fn uniform(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn below(&mut self, limit: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(limit.max(1))) >> 64) as u64
    }

    fn exponential(&mut self, mean: f64) -> f64 {
        -mean * (1.0 - self.uniform()).ln()
    }

    /// The gap after an I/O.
    fn gap(&mut self, model: &ArrivalModel, mean: f64) -> f64 {
        match *model {
            ArrivalModel::Constant { gap } => gap,
            ArrivalModel::Hyper { share, short, long } => {
                let mean = if self.uniform() < share { short } else { long };
                self.exponential(mean)
            }
            ArrivalModel::OnOff {
                burst,
                gap,
                pause,
                deviation,
            } => {
                if self.uniform() * burst < 1.0 {
                    let normal: f64 = (0..12).map(|_| self.uniform()).sum::<f64>() - 6.0;
                    (pause + deviation * normal).max(0.0)
                } else {
                    self.exponential(gap)
                }
            }
            ArrivalModel::Exponential { mean } => self.exponential(mean),
            ArrivalModel::Unknown => self.exponential(mean),
        }
    }
}

/// Draws from weighted values.
#[derive(Debug)]
struct Weighted<T>(Vec<(f64, T)>);

impl<T: std::marker::Copy> Weighted<T> {
    fn new(values: impl Iterator<Item = (f64, T)>) -> Self {
        let mut sum = 0.0;
        Weighted(
            values
                .map(|(weight, value)| {
                    sum += weight;
                    (sum, value)
                })
                .collect(),
        )
    }

    fn draw(&self, random: &mut Random) -> Option<T> {
        let x = random.uniform() * self.0.last()?.0;
        let index = self.0.partition_point(|(sum, _)| *sum <= x);
        self.0.get(index).or(self.0.last()).map(|(_, value)| *value)
    }
}

fn sizes(sizes: &Sizes) -> Weighted<u32> {
    Weighted::new(sizes.iter().map(|(size, count)| (*count as f64, *size)))
}

/// Draws ranks of a zipf distribution (rejection-inversion, Hörmann and Derflinger 1996).
#[derive(Debug)]
struct Zipf {
    theta: f64,
    ranks: f64,
    low: f64,
    high: f64,
    shift: f64,
}

impl Zipf {
    fn new(theta: f64, ranks: u64) -> Self {
        let mut zipf = Zipf {
            theta,
            ranks: ranks.max(1) as f64,
            low: 0.0,
            high: 0.0,
            shift: 0.0,
        };
        zipf.low = zipf.integral(1.5) - 1.0;
        zipf.high = zipf.integral(zipf.ranks + 0.5);
        zipf.shift = 2.0 - zipf.inverse(zipf.integral(2.5) - 2.0_f64.powf(-theta));
        zipf
    }

    fn integral(&self, x: f64) -> f64 {
        let power = 1.0 - self.theta;
        if power.abs() < 1e-9 {
            x.ln()
        } else {
            (x.powf(power) - 1.0) / power
        }
    }

    fn inverse(&self, x: f64) -> f64 {
        let power = 1.0 - self.theta;
        if power.abs() < 1e-9 {
            x.exp()
        } else {
            (1.0 + x * power).max(0.0).powf(1.0 / power)
        }
    }

    /// A rank from 0.
    fn draw(&self, random: &mut Random) -> u64 {
        loop {
            let u = self.high + random.uniform() * (self.low - self.high);
            let x = self.inverse(u);
            let rank = x.round().clamp(1.0, self.ranks);
            if rank - x <= self.shift || u >= self.integral(rank + 0.5) - rank.powf(-self.theta) {
                return rank as u64 - 1;
            }
        }
    }
}

#[derive(Debug)]
enum Places {
    Uniform,
    Zones(Weighted<Zone>),
    Zipf(Zipf, u64),
    /// Next offsets, and I/Os until a jump.
    Runs(Vec<(u64, u64)>, u64, usize),
}

#[derive(Debug)]
struct StreamCopy {
    stream: Arc<Stream>,
    random: Random,
    next: f64,
    places: Places,
    sizes: [Weighted<u32>; 2],
    unit: u64,
    units: u64,
    model: ArrivalModel,
    mean_gap: f64,
    /// Rates of phases relative to the mean.
    rates: Vec<(f64, f64)>,
    /// A closed loop: when each slot is free.
    slots: BinaryHeap<Reverse<u64>>,
    closed: usize,
    bursts: Option<Bursts>,
    writes: f64,
    flushes: VecDeque<TraceIo>,
    end: f64,
    /// Reads and writes that may follow.
    left: u64,
}

/// I/Os sent together, each burst after all of the one before have completed.
#[derive(Debug)]
struct Bursts {
    /// Mean number of I/Os.
    mean: f64,
    /// fio sends the same number each time.
    even: bool,
    /// Between two I/Os of a burst, in nanoseconds.
    gap: f64,
    /// From the last completion to the next burst, in nanoseconds.
    think: f64,
    /// I/Os left of this one.
    left: u64,
    /// When all of it so far have completed.
    free: u64,
}

impl Bursts {
    fn new(stream: &Stream, expression: Expression) -> Option<Self> {
        let mean = stream.burst()?;
        let gap = match stream.arrivals.model {
            ArrivalModel::OnOff { gap, .. } => gap,
            _ => 0.0,
        };
        // Bursts that differ become a rate in a job file, of which fio sends as many at once as are due.
        let even = expression == Expression::Fio && stream.equal_bursts().is_some();
        let more = if even { mean.round() - mean } else { 0.0 };
        Some(Bursts {
            mean,
            even,
            gap,
            think: (stream.think.mean() + more * stream.arrivals.mean_gap).max(0.0),
            left: mean.round() as u64,
            free: 0,
        })
    }

    /// When the next I/O is sent, after one at `now` that completes at `free`.
    fn next(&mut self, random: &mut Random, now: f64, free: u64) -> f64 {
        self.free = self.free.max(free);
        self.left = self.left.saturating_sub(1);
        if self.left > 0 {
            return now + random.exponential(self.gap);
        }
        let size = if self.even {
            self.mean.round()
        } else {
            (self.mean + random.uniform()).floor()
        };
        self.left = (size as u64).max(1);
        (self.free as f64 + self.think).max(now)
    }
}

fn coprime(near: u64, to: u64) -> u64 {
    fn gcd(a: u64, b: u64) -> u64 {
        if b == 0 { a } else { gcd(b, a % b) }
    }
    let mut factor = near | 1;
    while gcd(factor, to) != 1 {
        factor += 2;
    }
    factor
}

impl StreamCopy {
    fn new(stream: &Arc<Stream>, phases: &[Phase], expression: Expression, seed: u64) -> Self {
        let mut random = Random(mix(seed));
        let unit = u64::from(stream.main_size()).max(512);
        let units = ((stream.end - stream.start) / unit).max(1);
        let places = match &stream.pattern {
            Pattern::Uniform => Places::Uniform,
            Pattern::Zones(zones) => {
                Places::Zones(Weighted::new(zones.iter().map(|zone| (zone.share, *zone))))
            }
            Pattern::Zipf { theta } => Places::Zipf(
                Zipf::new(*theta, units),
                coprime((units as f64 * 0.618) as u64, units),
            ),
            Pattern::Sequential { places, run } => {
                let places = (places.round() as u64).clamp(1, 64);
                let bytes = run * f64::from(stream.main_size());
                let jumps = bytes * 1.5 < (stream.end - stream.start) as f64 / places as f64;
                let starts = (0..places)
                    .map(|place| (stream.start + units * place / places * unit, 0))
                    .collect();
                Places::Runs(starts, if jumps { *run as u64 } else { u64::MAX }, 0)
            }
        };
        let phased = expression == Expression::Profile && phases.len() > 1;
        let mean_gap = 1e9 / stream.iops().max(1e-9);
        let plain = matches!(
            stream.arrivals.model,
            ArrivalModel::Constant { .. } | ArrivalModel::Exponential { .. }
        );
        let model = if phased {
            scaled(
                &stream.arrivals.local,
                mean_gap / stream.arrivals.local.mean().unwrap_or(UNIT),
            )
        } else if expression == Expression::Profile || plain && stream.flushing.is_none() {
            stream.arrivals.model
        } else if stream.flushing.is_some() {
            ArrivalModel::Constant { gap: mean_gap }
        } else {
            ArrivalModel::Exponential { mean: mean_gap }
        };
        let rates = if phased {
            rates(phases, stream)
        } else {
            Vec::new()
        };
        let closed = stream
            .depth
            .as_ref()
            .and_then(|depth| depth.closed)
            .unwrap_or(0) as usize;
        let next = stream.first as f64 + random.uniform() * mean_gap;
        StreamCopy {
            stream: Arc::clone(stream),
            random,
            next,
            places,
            sizes: [sizes(&stream.sizes[0]), sizes(&stream.sizes[1])],
            unit,
            units,
            model,
            mean_gap,
            rates,
            slots: BinaryHeap::new(),
            closed,
            bursts: Bursts::new(stream, expression),
            writes: 0.0,
            flushes: VecDeque::new(),
            end: stream.last as f64,
            // Latencies and gaps say how many I/Os there are in the time; where those of a text are far too short, the number of
            // I/Os ends it. An open loop has about as many as the original, by chance.
            left: stream.ios().saturating_mul(if closed > 0 { 1 } else { 2 }),
        }
    }

    /// When the next I/O is due; `None` at the end.
    fn due(&self) -> Option<f64> {
        let flush = self.flushes.front().map(|io| io.time_ns as f64);
        let data = self.has_next().then_some(self.next);
        match (flush, data) {
            (Some(flush), Some(data)) => Some(flush.min(data)),
            (flush, data) => flush.or(data),
        }
    }

    fn has_next(&self) -> bool {
        self.next <= self.end && self.left > 0
    }

    fn draw(&mut self, histogram: fn(&Stream) -> &LogHistogram) -> Option<u64> {
        let histogram = histogram(&self.stream);
        (histogram.total() > 0).then(|| histogram.draw(self.random.uniform()))
    }

    fn issue(&mut self) -> TraceIo {
        let is_flush = self
            .flushes
            .front()
            .is_some_and(|io| !self.has_next() || io.time_ns as f64 <= self.next);
        if is_flush && let Some(io) = self.flushes.pop_front() {
            return io;
        }
        self.left -= 1;
        let time_ns = self.next as u64;
        let write = self.random.uniform() >= self.stream.read_share();
        let length = self.sizes[usize::from(write)]
            .draw(&mut self.random)
            .unwrap_or(4096);
        let offset = self.place(u64::from(length));
        let latency_ns = self.draw(|stream| &stream.latency);
        let fua = write && self.random.uniform() < self.stream.fua;
        let mut free = time_ns.saturating_add(latency_ns.unwrap_or(0));
        if write && let Some(flushing) = self.stream.flushing {
            self.writes += 1.0;
            if self.writes >= flushing.every - 0.5 {
                self.writes -= flushing.every;
                let latency_ns = self.draw(|stream| &stream.flush_latency);
                let delay = self.draw(|stream| &stream.flush_delay).unwrap_or(0);
                let at = time_ns.saturating_add(delay);
                self.flushes.push_back(TraceIo {
                    time_ns: at,
                    latency_ns,
                    offset: 0,
                    length: 0,
                    device: self.stream.device,
                    process: self.stream.process,
                    kind: IoKind::Flush,
                    flags: if flushing.data_only {
                        IoFlags::DATA_ONLY
                    } else {
                        IoFlags::default()
                    },
                });
                free = free.max(at.saturating_add(latency_ns.unwrap_or(0)));
            }
        }
        if let Some(bursts) = &mut self.bursts {
            self.next = bursts.next(&mut self.random, self.next, free);
        } else if self.closed > 0 {
            self.slots.push(Reverse(free));
            let free = if self.slots.len() < self.closed {
                time_ns
            } else {
                self.slots.pop().map_or(free, |slot| slot.0)
            };
            let uniform = self.random.uniform();
            let think = self.stream.think.draw(uniform);
            self.next = free.saturating_add(think).max(time_ns) as f64;
            if self.slots.len() + 1 < self.closed {
                self.next = time_ns as f64;
            }
        } else {
            let rate = self
                .rates
                .iter()
                .find(|(end, _)| self.next < *end)
                .map_or(1.0, |(_, rate)| *rate);
            self.next += self.random.gap(&self.model, self.mean_gap) / rate.max(1e-6);
        }
        TraceIo {
            time_ns,
            latency_ns,
            offset,
            length,
            device: self.stream.device,
            process: self.stream.process,
            kind: if write { IoKind::Write } else { IoKind::Read },
            flags: if fua {
                IoFlags::FUA
            } else {
                IoFlags::default()
            },
        }
    }

    fn place(&mut self, length: u64) -> u64 {
        let (start, end) = (self.stream.start, self.stream.end);
        let offset = match &mut self.places {
            Places::Uniform => start + self.random.below(self.units) * self.unit,
            Places::Zones(zones) => match zones.draw(&mut self.random) {
                Some(zone) => {
                    // On the grid of the span.
                    let from = (zone.offset - start).div_ceil(self.unit);
                    let units = (zone.bytes / self.unit).max(1);
                    start + (from + self.random.below(units)) * self.unit
                }
                None => start,
            },
            Places::Zipf(zipf, factor) => {
                let rank = zipf.draw(&mut self.random);
                let block = u128::from(rank) * u128::from(*factor) % u128::from(self.units);
                start + block as u64 * self.unit
            }
            Places::Runs(places, run, turn) => {
                *turn = (*turn + 1) % places.len();
                let (next, count) = &mut places[*turn];
                if *count >= *run {
                    *next = start + self.random.below(self.units) * self.unit;
                    *count = 0;
                } else if next.saturating_add(length) > end {
                    *next = start;
                }
                *count += 1;
                let offset = *next;
                *next = next.saturating_add(length);
                return offset;
            }
        };
        offset.min(end.saturating_sub(length).max(start))
    }
}

/// A model with all times multiplied.
fn scaled(model: &ArrivalModel, factor: f64) -> ArrivalModel {
    match *model {
        ArrivalModel::Unknown => ArrivalModel::Unknown,
        ArrivalModel::Constant { gap } => ArrivalModel::Constant { gap: gap * factor },
        ArrivalModel::Exponential { mean } => ArrivalModel::Exponential {
            mean: mean * factor,
        },
        ArrivalModel::Hyper { share, short, long } => ArrivalModel::Hyper {
            share,
            short: short * factor,
            long: long * factor,
        },
        ArrivalModel::OnOff {
            burst,
            gap,
            pause,
            deviation,
        } => ArrivalModel::OnOff {
            burst,
            gap: gap * factor,
            pause: pause * factor,
            deviation: deviation * factor,
        },
    }
}

/// The end of each phase, and its rate relative to the mean while the stream lasts.
fn rates(phases: &[Phase], stream: &Stream) -> Vec<(f64, f64)> {
    let (mut ios, mut time) = (0.0, 0.0);
    for phase in phases {
        let covered = phase.end.min(stream.last) as f64 - phase.start.max(stream.first) as f64;
        if covered > 0.0 {
            ios += phase.iops * covered;
            time += covered;
        }
    }
    let mean = if time > 0.0 { ios / time } else { 1.0 };
    phases
        .iter()
        .map(|phase| (phase.end as f64, phase.iops / mean.max(1e-9)))
        .collect()
}

/// The I/Os of a copy, in the order of time.
#[derive(Debug)]
pub struct Copy {
    streams: Vec<StreamCopy>,
    last: u64,
}

impl Copy {
    /// A copy; the same seed gives the same one.
    #[must_use]
    pub fn new(profile: &Profile, expression: Expression, seed: u64) -> Self {
        let streams: Vec<Arc<Stream>> = profile.streams.iter().cloned().map(Arc::new).collect();
        Copy::of(&streams, &profile.phases, expression, seed)
    }

    pub(crate) fn of(
        streams: &[Arc<Stream>],
        phases: &[Phase],
        expression: Expression,
        seed: u64,
    ) -> Self {
        Copy {
            streams: streams
                .iter()
                .enumerate()
                .map(|(index, stream)| {
                    let seed = seed.wrapping_mul(1_000_003).wrapping_add(index as u64);
                    StreamCopy::new(stream, phases, expression, seed)
                })
                .collect(),
            last: 0,
        }
    }
}

impl Iterator for Copy {
    type Item = TraceIo;

    fn next(&mut self) -> Option<TraceIo> {
        let (index, _) = self
            .streams
            .iter()
            .enumerate()
            .filter_map(|(index, stream)| Some((index, stream.due()?)))
            .min_by(|a, b| a.1.total_cmp(&b.1))?;
        let mut io = self.streams[index].issue();
        // After centuries a time in floating point is rounded by microseconds.
        io.time_ns = io.time_ns.max(self.last);
        self.last = io.time_ns;
        Some(io)
    }
}
