//! A queue with several servers, first come, first served.

use std::collections::VecDeque;

use crate::agenda::Agenda;
use crate::device::{SimCompletion, SimDevice, SimOp, SimRequest, SimTime};
use crate::error::ModelError;
use crate::params::Params;
use crate::random::Random;
use crate::registry::{Builder, Device, ModelKind};

pub(crate) const KIND: ModelKind = ModelKind {
    name: "servers",
    summary: "several servers with one queue: the device of queueing theory",
    members: (0, 0),
    build,
};

/// Time of a flush unless `flush` sets it: the device has no cache.
const FLUSH_NS: f64 = 1000.0;

#[derive(Clone, Copy, Debug)]
enum Distribution {
    Fixed,
    Exponential,
}

fn build(params: &mut Params<'_>, builder: &mut Builder<'_>) -> Result<Device, ModelError> {
    let read = params.positive_time("service", None)?;
    let write = params.positive_time("service_write", Some(read))?;
    let rate = match params.has("rate") {
        true => params.rate("rate", None)?,
        false => {
            params.rate("rate", Some(1.0))?;
            f64::INFINITY
        }
    };
    let servers = Servers {
        capacity: params.bytes_from("capacity", 1 << 20, Some(1_000_000_000_000))?,
        free: params.count("count", (1, 65_536), Some(1))? as u32,
        read,
        write,
        flush: params.positive_time("flush", Some(FLUSH_NS))?,
        per_byte: 1e9 / rate,
        distribution: params.choice(
            "distribution",
            &[
                ("fixed", Distribution::Fixed),
                ("exponential", Distribution::Exponential),
            ],
        )?,
        random: Random::new(builder.seed()),
        queue: VecDeque::new(),
        busy: Agenda::default(),
    };
    Ok(Box::new(servers))
}

struct Servers {
    capacity: u64,
    /// Servers that are idle.
    free: u32,
    read: f64,
    write: f64,
    /// Time of a flush, which needs no server.
    flush: f64,
    per_byte: f64,
    distribution: Distribution,
    random: Random,
    queue: VecDeque<SimRequest>,
    /// Requests in service.
    busy: Agenda<InService>,
}

/// A request in service.
struct InService {
    id: u64,
    failed: bool,
    /// It occupies a server.
    server: bool,
}

impl Servers {
    fn start(&mut self, now: SimTime) {
        while self.free > 0 {
            let Some(request) = self.queue.pop_front() else {
                return;
            };
            let mean = match request.op {
                SimOp::Write => self.write,
                _ => self.read,
            } + self.per_byte * f64::from(request.bytes);
            let time = match self.distribution {
                Distribution::Fixed => mean,
                Distribution::Exponential => self.random.exponential(mean),
            };
            self.free -= 1;
            self.add(now, time, request.id, false, true);
        }
    }

    fn add(&mut self, now: SimTime, time: f64, id: u64, failed: bool, server: bool) {
        let at = now + time.round().max(1.0) as SimTime;
        self.busy.add(at, InService { id, failed, server });
    }
}

impl SimDevice for Servers {
    fn capacity(&self) -> u64 {
        self.capacity
    }

    fn submit(&mut self, now: SimTime, request: SimRequest) {
        let end = request.offset.checked_add(u64::from(request.bytes));
        match request.op {
            SimOp::Flush => self.add(now, self.flush, request.id, false, false),
            _ if end.is_none_or(|end| end > self.capacity) => {
                self.add(now, 1000.0, request.id, true, false);
            }
            _ => {
                self.queue.push_back(request);
                self.start(now);
            }
        }
    }

    fn next_event(&self) -> Option<SimTime> {
        self.busy.next()
    }

    fn advance(&mut self, now: SimTime, done: &mut Vec<SimCompletion>) {
        while let Some((at, InService { id, failed, server })) = self.busy.take(now) {
            done.push(SimCompletion { id, at, failed });
            if server {
                self.free += 1;
                self.start(at);
            }
        }
    }
}
