//! The path of the host: system call, block layer, driver, interrupt, wake-up.

use super::below::{Layer, Layered, Port};
use crate::device::{SimCompletion, SimRequest, SimTime};
use crate::error::ModelError;
use crate::params::Params;
use crate::registry::{Builder, Device, ModelKind};
use crate::slots::Slots;

pub(crate) const KIND: ModelKind = ModelKind {
    name: "host",
    summary: "CPU time and latency of the host's I/O path",
    members: (1, 1),
    build,
};

fn build(params: &mut Params<'_>, builder: &mut Builder<'_>) -> Result<Device, ModelError> {
    let cpus = params.count("cpus", (1, 4096), Some(1))? as usize;
    let host = Host {
        submit: params.time("submit", Some(0.0))? as SimTime,
        complete: params.time("complete", Some(0.0))? as SimTime,
        cpus: vec![0; cpus],
        flying: Slots::default(),
    };
    Ok(Box::new(Layered::new(host, builder.member()?)))
}

struct Host {
    submit: SimTime,
    complete: SimTime,
    /// When each CPU is free.
    cpus: Vec<SimTime>,
    flying: Slots<SimRequest>,
}

impl Host {
    /// Does this much work on the CPU that is free first.
    fn work(&mut self, now: SimTime, time: SimTime) -> SimTime {
        let Some(cpu) = self.cpus.iter_mut().min() else {
            return now + time;
        };
        *cpu = (*cpu).max(now) + time;
        *cpu
    }
}

impl Layer for Host {
    type Event = u64;

    fn arrived(&mut self, now: SimTime, request: SimRequest, port: &mut Port<u64>) {
        let at = self.work(now, self.submit);
        let slot = self.flying.put(request);
        port.plan(at, slot);
    }

    fn completed(&mut self, completion: SimCompletion, port: &mut Port<u64>) {
        let at = self.work(completion.at, self.complete);
        if let Some(request) = self.flying.take(completion.id) {
            port.complete(request.id, at, completion.failed);
        }
    }

    fn due(&mut self, now: SimTime, slot: u64, port: &mut Port<u64>) {
        if let Some(request) = self.flying.get_mut(slot).copied() {
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
