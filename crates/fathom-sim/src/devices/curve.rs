//! A device whose throughput at each number of I/Os in flight follows a fitted law: the file that
//! `fathom fit` writes.
//!
//! It is a flow-equivalent server (Chandy, Herzog and Woo, 1975): with `n` requests in the device
//! it completes `X(n)` per second, in the order of their arrival. A closed loop measures the curve
//! itself; in an open loop requests queue. Latencies have the mean of the law and no spread of
//! their own. Beyond twice the largest measured load the throughput stays what it is there, because
//! the law says nothing about higher loads.

use std::collections::VecDeque;

use fathom_fit::{ModelCurve, REACH};

use crate::agenda::Agenda;
use crate::device::{SimCompletion, SimDevice, SimOp, SimRequest, SimTime};
use crate::error::ModelError;
use crate::params::Params;
use crate::registry::{Builder, Device, ModelKind};

pub(crate) const KIND: ModelKind = ModelKind {
    name: "curve",
    summary: "a fitted law of throughput over the I/Os in flight, for each kind of I/O",
    members: (0, 0),
    build,
};

/// The most curves of a device.
const MOST_CURVES: usize = 256;
/// Loads with a value of their own; the laws are flat long before.
const MOST_LOADS: usize = 1 << 14;
/// Sequential streams that the device remembers.
const STREAMS: usize = 8;
/// Time of what is not I/O: a flush, a refused request, in nanoseconds.
const IMMEDIATE: SimTime = 1000;

fn build(params: &mut Params<'_>, _builder: &mut Builder<'_>) -> Result<Device, ModelError> {
    let capacity = params.bytes_from("capacity", 1 << 20, Some(1_000_000_000_000))?;
    let lines = params.texts("curves")?.unwrap_or_default();
    if lines.is_empty() || lines.len() > MOST_CURVES {
        return Err(params.error("curves", format!("expected 1 to {MOST_CURVES} curves")));
    }
    let mut curves = Vec::new();
    for line in lines {
        let curve = ModelCurve::parse(line).map_err(|problem| params.error("curves", problem))?;
        curves.push(Times::of(&curve));
    }
    curves.sort_by_key(|curve| curve.block);
    Ok(Box::new(Curve {
        capacity,
        curves,
        queue: VecDeque::new(),
        remaining: 0.0,
        updated: 0.0,
        ends: VecDeque::new(),
        aside: Agenda::default(),
    }))
}

/// The time per I/O at each load, nanoseconds.
struct Times {
    is_random: bool,
    reads: u32,
    block: u64,
    by_load: Vec<f64>,
}

impl Times {
    fn of(curve: &ModelCurve) -> Times {
        let loads = ((curve.loads.1 * REACH) as usize).clamp(1, MOST_LOADS);
        Times {
            is_random: curve.rw.starts_with("rand"),
            reads: curve.reads,
            block: curve.block,
            by_load: (1..=loads)
                .map(|load| 1e9 / curve.law.iops(load as f64).max(1e-9))
                .collect(),
        }
    }

    fn at(&self, load: usize) -> f64 {
        self.by_load[load.clamp(1, self.by_load.len()) - 1]
    }

    /// How far the curve is from a kind of I/O: a pattern, then a direction, of its own.
    fn distance(&self, is_random: bool, op: SimOp) -> u32 {
        let pattern = u32::from(self.is_random != is_random);
        let other = match op {
            SimOp::Write => self.reads,
            _ => 100 - self.reads,
        };
        pattern * 1000 + other
    }
}

struct Waiting {
    id: u64,
    is_random: bool,
    op: SimOp,
    bytes: u32,
}

struct Curve {
    capacity: u64,
    /// By block size.
    curves: Vec<Times>,
    /// The first one is in service.
    queue: VecDeque<Waiting>,
    /// Share of the first request that is still to be done at `updated`.
    remaining: f64,
    updated: f64,
    /// Ends of the latest sequential streams.
    ends: VecDeque<u64>,
    /// Completions that use no service.
    aside: Agenda<SimCompletion>,
}

impl Curve {
    /// The time per I/O of the first request at the present load.
    fn time(&self) -> f64 {
        let first = &self.queue[0];
        let load = self.queue.len();
        let nearest = self
            .curves
            .iter()
            .map(|curve| curve.distance(first.is_random, first.op))
            .min()
            .unwrap_or(0);
        let alike = || {
            self.curves
                .iter()
                .filter(move |curve| curve.distance(first.is_random, first.op) == nearest)
        };
        let bytes = f64::from(first.bytes.max(1));
        let below = alike().rfind(|curve| curve.block as f64 <= bytes);
        let above = alike().find(|curve| curve.block as f64 >= bytes);
        match (below, above) {
            (Some(below), Some(above)) if below.block == above.block => below.at(load),
            // Between two measured sizes along a straight line of logarithms.
            (Some(below), Some(above)) => {
                let share = (bytes / below.block as f64).ln()
                    / (above.block as f64 / below.block as f64).ln();
                below.at(load).powf(1.0 - share) * above.at(load).powf(share)
            }
            // Larger than any measured size: in proportion to the bytes.
            (Some(below), None) => below.at(load) * bytes / below.block as f64,
            // Smaller: the cost of a command.
            (None, Some(above)) => above.at(load),
            (None, None) => 1e9,
        }
    }

    /// Does the work up to `now` at the present load.
    fn work(&mut self, now: f64) {
        if !self.queue.is_empty() {
            let done = (now - self.updated) / self.time();
            self.remaining = (self.remaining - done).max(0.0);
        }
        self.updated = now;
    }

    /// When the first request is done, if nothing else arrives.
    fn finish(&self) -> Option<f64> {
        (!self.queue.is_empty()).then(|| self.updated + self.remaining * self.time())
    }

    /// Whether the offset continues none of the latest streams; remembers its end.
    fn is_random(&mut self, offset: u64, bytes: u32) -> bool {
        let known = self.ends.iter().position(|end| *end == offset);
        if let Some(at) = known {
            self.ends.remove(at);
        } else if self.ends.len() == STREAMS {
            self.ends.pop_front();
        }
        self.ends.push_back(offset + u64::from(bytes));
        known.is_none()
    }
}

impl SimDevice for Curve {
    fn capacity(&self) -> u64 {
        self.capacity
    }

    fn submit(&mut self, now: SimTime, request: SimRequest) {
        let end = request.offset.checked_add(u64::from(request.bytes));
        let failed = end.is_none_or(|end| end > self.capacity);
        if failed || request.op == SimOp::Flush {
            let at = now + IMMEDIATE;
            let id = request.id;
            return self.aside.add(at, SimCompletion { id, at, failed });
        }
        self.work(now as f64);
        let is_random = self.is_random(request.offset, request.bytes);
        if self.queue.is_empty() {
            self.remaining = 1.0;
        }
        self.queue.push_back(Waiting {
            id: request.id,
            is_random,
            op: request.op,
            bytes: request.bytes,
        });
    }

    fn next_event(&self) -> Option<SimTime> {
        let finish = self.finish().map(|at| at.ceil() as SimTime);
        match (finish, self.aside.next()) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }

    fn advance(&mut self, now: SimTime, done: &mut Vec<SimCompletion>) {
        loop {
            let finish = self.finish().map(|at| (at, at.ceil() as SimTime));
            let aside = self.aside.next();
            match finish {
                Some((exact, at)) if at <= now && aside.is_none_or(|other| at <= other) => {
                    let id = self.queue.pop_front().map_or(0, |first| first.id);
                    done.push(SimCompletion {
                        id,
                        at,
                        failed: false,
                    });
                    (self.remaining, self.updated) = (1.0, exact);
                }
                _ => match self.aside.take(now) {
                    Some((_, completion)) => done.push(completion),
                    None => return,
                },
            }
        }
    }
}
