//! A device with faults: errors, slow requests, stalls, and the end of its life.

use super::below::{Layer, Layered, Port};
use crate::device::{SimCompletion, SimOp, SimRequest, SimTime};
use crate::error::ModelError;
use crate::params::Params;
use crate::random::Random;
use crate::registry::{Builder, Device, ModelKind};
use crate::slots::Slots;

pub(crate) const KIND: ModelKind = ModelKind {
    name: "faults",
    summary: "errors, slow requests and stalls in front of a device",
    members: (1, 1),
    build,
};

fn build(params: &mut Params<'_>, builder: &mut Builder<'_>) -> Result<Device, ModelError> {
    let faults = Faults {
        read_errors: params.number("read_errors", (0.0, 1.0), Some(0.0))?,
        write_errors: params.number("write_errors", (0.0, 1.0), Some(0.0))?,
        error_time: params.positive_time("error_time", Some(1e6))? as SimTime,
        slow: params.number("slow", (0.0, 1.0), Some(0.0))?,
        slow_time: params.time("slow_time", Some(100e6))? as SimTime,
        stall_every: params.time("stall_every", Some(0.0))? as SimTime,
        stall_time: params.time("stall_time", Some(0.0))? as SimTime,
        fails_at: match params.time("fails_at", Some(0.0))? as SimTime {
            0 => SimTime::MAX,
            at => at,
        },
        random: Random::new(builder.seed()),
        flying: Slots::default(),
    };
    if faults.stall_time > 0 && faults.stall_every <= faults.stall_time {
        return Err(params.error("stall_every", "it must be longer than stall_time"));
    }
    Ok(Box::new(Layered::new(faults, builder.member()?)))
}

struct Faults {
    /// Share of requests that fail.
    read_errors: f64,
    write_errors: f64,
    /// How long the device tries before it reports an error.
    error_time: SimTime,
    /// Share of requests that take longer, and by how much.
    slow: f64,
    slow_time: SimTime,
    /// The device accepts nothing for the stall time at the end of each period.
    stall_every: SimTime,
    stall_time: SimTime,
    /// When it stops to work.
    fails_at: SimTime,
    random: Random,
    flying: Slots<(SimRequest, SimTime)>,
}

impl Layer for Faults {
    type Event = u64;

    fn arrived(&mut self, now: SimTime, request: SimRequest, port: &mut Port<u64>) {
        let errors = match request.op {
            SimOp::Read => self.read_errors,
            SimOp::Write => self.write_errors,
            SimOp::Trim | SimOp::Flush => 0.0,
        };
        // The same number of random numbers for each request, so that a changed rate changes no
        // other fault.
        let (error, slow) = (self.random.unit(), self.random.unit());
        if now >= self.fails_at || error < errors {
            return port.complete(request.id, now + self.error_time, true);
        }
        let late = if slow < self.slow { self.slow_time } else { 0 };
        let mut start = now;
        if self.stall_time > 0 {
            let end = (now / self.stall_every + 1) * self.stall_every;
            if now >= end - self.stall_time {
                start = end;
            }
        }
        let slot = self.flying.put((request, late));
        if start == now {
            port.submit(
                now,
                SimRequest {
                    id: slot,
                    ..request
                },
            );
        } else {
            port.plan(start, slot);
        }
    }

    fn completed(&mut self, completion: SimCompletion, port: &mut Port<u64>) {
        if let Some((request, late)) = self.flying.take(completion.id) {
            port.complete(request.id, completion.at + late, completion.failed);
        }
    }

    fn due(&mut self, now: SimTime, slot: u64, port: &mut Port<u64>) {
        if let Some((request, _)) = self.flying.get_mut(slot).copied() {
            port.submit(
                now,
                SimRequest {
                    id: slot,
                    ..request
                },
            );
        }
    }
}
