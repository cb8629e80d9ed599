//! A disk that is known by its measured service times only.

use std::collections::VecDeque;

use crate::device::{SimCompletion, SimDevice, SimRequest, SimTime};
use crate::error::{ParameterError, require};
use crate::random::{Gamma, Random};

/// The parameters of a disk whose mechanics are not modelled.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasuredDiskParameters {
    /// Bytes of the disk.
    pub capacity_bytes: u64,
    /// Mean service time of one request at queue depth 1, ns.
    pub service_ns: u64,
    /// Coefficient of variation of the service time: its standard deviation divided by its mean.
    pub variation: f64,
    /// The logarithmic law of command queueing: with `k` requests queued the disk is
    /// `1 + gain * log2(k)` times as fast.
    pub queue_gain: f64,
    /// Requests that the disk can sort; more do not make it faster.
    pub queue_depth: u32,
}

/// One server with gamma-distributed service times that become shorter when requests queue.
#[derive(Debug)]
pub struct MeasuredDisk {
    p: MeasuredDiskParameters,
    random: Random,
    queue: VecDeque<SimRequest>,
    /// When the first request of the queue completes.
    end: SimTime,
    /// Mean service time with so many requests, ns, as far as it was calculated.
    means: Vec<f64>,
    /// The distribution of the service times; `None` if they are equal.
    gamma: Option<Gamma>,
}

impl MeasuredDisk {
    /// A disk with these parameters.
    ///
    /// # Errors
    /// A parameter is impossible.
    pub fn new(parameters: MeasuredDiskParameters, seed: u64) -> Result<Self, ParameterError> {
        let p = parameters;
        require(p.capacity_bytes > 0, "capacity", "0 is not a capacity")?;
        require(
            (1..=100_000_000_000).contains(&p.service_ns),
            "service",
            format!("{} ns is outside 1 ns to 100 s", p.service_ns),
        )?;
        require(
            (0.0..=1.0).contains(&p.variation),
            "variation",
            format!("{} is outside 0 to 1", p.variation),
        )?;
        require(
            (0.0..=10.0).contains(&p.queue_gain),
            "queue_gain",
            format!("{} is outside 0 to 10", p.queue_gain),
        )?;
        require(
            (1..=65_536).contains(&p.queue_depth),
            "queue_depth",
            format!("{} is outside 1 to 65536", p.queue_depth),
        )?;
        // Below, a distribution is the same as equal times, and its shape may be infinite.
        let gamma = (p.variation > 1e-6).then(|| Gamma::new(p.variation));
        Ok(MeasuredDisk {
            p,
            random: Random::new(seed),
            queue: VecDeque::new(),
            end: 0,
            means: Vec::new(),
            gamma,
        })
    }

    fn serve(&mut self, now: SimTime) {
        let Some(first) = self.queue.front() else {
            return;
        };
        if first.bytes == 0 {
            self.end = now;
            return;
        }
        let queued = (self.queue.len() as u32).min(self.p.queue_depth);
        while self.means.len() <= queued as usize {
            let logarithm = f64::from(self.means.len().max(1) as u32).log2();
            let gain = 1.0 + self.p.queue_gain * logarithm;
            self.means.push(self.p.service_ns as f64 / gain);
        }
        let mean = self.means[queued as usize];
        let service = match &self.gamma {
            Some(gamma) => self.random.gamma(mean, gamma),
            None => mean,
        };
        self.end = now + service as u64;
    }
}

impl SimDevice for MeasuredDisk {
    fn capacity(&self) -> u64 {
        self.p.capacity_bytes
    }

    fn submit(&mut self, now: SimTime, request: SimRequest) {
        self.queue.push_back(request);
        if self.queue.len() == 1 {
            self.serve(now);
        }
    }

    fn next_event(&self) -> Option<SimTime> {
        (!self.queue.is_empty()).then_some(self.end)
    }

    fn advance(&mut self, now: SimTime, done: &mut Vec<SimCompletion>) {
        while !self.queue.is_empty() && self.end <= now {
            let at = self.end;
            if let Some(request) = self.queue.pop_front() {
                let failed = request
                    .offset
                    .checked_add(u64::from(request.bytes))
                    .is_none_or(|end| end > self.p.capacity_bytes);
                let id = request.id;
                done.push(SimCompletion { id, at, failed });
            }
            self.serve(at);
        }
    }
}
