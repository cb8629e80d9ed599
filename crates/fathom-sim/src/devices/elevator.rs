//! A scheduler of the host: requests wait while the device has enough of them, are sorted by their
//! offset, and adjacent ones are merged, as the mq-deadline scheduler of Linux does.

use super::below::{Layer, Layered, Port};
use crate::device::{SimCompletion, SimOp, SimRequest, SimTime};
use crate::error::ModelError;
use crate::params::Params;
use crate::registry::{Builder, Device, ModelKind};
use crate::slots::Slots;

pub(crate) const KIND: ModelKind = ModelKind {
    name: "elevator",
    summary: "scheduler of the host: sorts and merges the requests that wait",
    members: (1, 1),
    build,
};

fn build(params: &mut Params<'_>, builder: &mut Builder<'_>) -> Result<Device, ModelError> {
    let elevator = Elevator {
        depth: params.count("queue_depth", (1, 65_536), Some(1))? as usize,
        sorts: params.choice("order", &[("elevator", true), ("fifo", false)])?,
        merges: params.flag("merge", true)?,
        most: params
            .bytes_from("max_bytes", 512, Some(512 << 10))?
            .min(u64::from(u32::MAX)),
        read_expire: params.positive_time("expire", Some(500e6))? as SimTime,
        position: 0,
        waiting: Vec::new(),
        flying: Slots::default(),
    };
    Ok(Box::new(Layered::new(elevator, builder.member()?)))
}

struct Elevator {
    depth: usize,
    sorts: bool,
    merges: bool,
    most: u64,
    /// A request that has waited longer is next, unless the scheduler is busy with a sweep of them.
    read_expire: SimTime,
    /// End of the last request that was dispatched.
    position: u64,
    waiting: Vec<(SimTime, SimRequest)>,
    /// Identifiers of the requests that were merged into each request below.
    flying: Slots<Vec<u64>>,
}

fn end(request: &SimRequest) -> u64 {
    request.offset.saturating_add(u64::from(request.bytes))
}

impl Elevator {
    fn choose(&self) -> usize {
        if !self.sorts {
            return 0;
        }
        // One direction, then back to the lowest: C-LOOK.
        let key = |index: &usize| {
            let offset = self.waiting[*index].1.offset;
            (offset < self.position, offset)
        };
        (0..self.waiting.len()).min_by_key(key).unwrap_or(0)
    }

    fn dispatch(&mut self, now: SimTime, port: &mut Port<()>) {
        while self.flying.len() < self.depth && !self.waiting.is_empty() {
            let expired = (0..self.waiting.len())
                .find(|index| self.depth > 1 && now - self.waiting[*index].0 > self.read_expire);
            let chosen = expired.unwrap_or_else(|| self.choose());
            let (_, mut request) = self.waiting.remove(chosen);
            let mut ids = vec![request.id];
            let data = matches!(request.op, SimOp::Read | SimOp::Write);
            while self.merges && data {
                let next = self.waiting.iter().position(|(_, next)| {
                    next.op == request.op
                        && next.fua == request.fua
                        && next.offset == end(&request)
                        && u64::from(request.bytes) + u64::from(next.bytes) <= self.most
                });
                let Some(next) = next else { break };
                let (_, next) = self.waiting.remove(next);
                request.bytes += next.bytes;
                ids.push(next.id);
            }
            self.position = end(&request);
            request.id = self.flying.put(ids);
            port.submit(now, request);
        }
    }
}

impl Layer for Elevator {
    type Event = ();

    fn arrived(&mut self, now: SimTime, request: SimRequest, port: &mut Port<()>) {
        self.waiting.push((now, request));
        self.dispatch(now, port);
    }

    fn completed(&mut self, completion: SimCompletion, port: &mut Port<()>) {
        for id in self.flying.take(completion.id).unwrap_or_default() {
            port.complete(id, completion.at, completion.failed);
        }
        // The requests that follow at this time are sorted with those that wait.
        port.plan(completion.at, ());
    }

    fn due(&mut self, now: SimTime, (): (), port: &mut Port<()>) {
        self.dispatch(now, port);
    }
}
