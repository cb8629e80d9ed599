//! A link between a host and a device: SATA, SAS, PCIe, or a hop of a storage network.
//!
//! Data of a read cross it after the device has read them, data of a write before the device gets
//! them. Each command occupies the link for its overhead and its data; a hop adds its latency.

use std::collections::VecDeque;

use fathom_model::LinkKind;

use super::below::{Layer, Layered, Port};
use crate::device::{DeviceSurvey, SimCompletion, SimOp, SimRequest, SimTime, SurveyedLink};
use crate::error::ModelError;
use crate::params::Params;
use crate::registry::{Builder, Device, ModelKind};
use crate::slots::Slots;

pub(crate) const KIND: ModelKind = ModelKind {
    name: "link",
    summary: "SATA, SAS, PCIe or a network hop in front of a device",
    members: (1, 1),
    build,
};

fn build(params: &mut Params<'_>, builder: &mut Builder<'_>) -> Result<Device, ModelError> {
    let kinds = [
        ("pcie", Some(LinkKind::Pcie)),
        ("sata", Some(LinkKind::Sata)),
        ("sas", Some(LinkKind::Sas)),
        ("fc", Some(LinkKind::FibreChannel)),
        ("network", None),
    ];
    let link = Link {
        kind: params.choice("kind", &kinds)?,
        ns_per_byte: 1e9 / params.rate("rate", None)?,
        overhead: params.time("overhead", Some(0.0))?,
        latency: params.time("latency", Some(0.0))? as SimTime,
        depth: params.count("queue_depth", (1, 1 << 20), Some(1 << 16))? as usize,
        full_duplex: params.choice("duplex", &[("half", false), ("full", true)])?,
        free_at: [0, 0],
        waiting: VecDeque::new(),
        flying: Slots::default(),
        outstanding: 0,
    };
    Ok(Box::new(Layered::new(link, builder.member()?)))
}

struct Link {
    /// What the host knows it as; a network has no rate that the host knows.
    kind: Option<LinkKind>,
    ns_per_byte: f64,
    overhead: f64,
    latency: SimTime,
    /// Commands that the device may have at a time.
    depth: usize,
    full_duplex: bool,
    /// When each direction is free: to the device, from the device.
    free_at: [SimTime; 2],
    waiting: VecDeque<SimRequest>,
    flying: Slots<SimRequest>,
    outstanding: usize,
}

pub(crate) enum Event {
    /// A command with the data of a write has reached the device.
    Arrived(u64),
    /// The data of a read have reached the host, or the state of a write.
    Returned(u64, bool),
}

impl Link {
    /// Occupies a direction of the link; returns when the transfer ends.
    fn occupy(&mut self, now: SimTime, back: bool, time: f64) -> SimTime {
        let direction = usize::from(back && self.full_duplex);
        let free = &mut self.free_at[direction];
        *free = (*free).max(now) + time.round() as SimTime;
        *free
    }

    fn send(&mut self, now: SimTime, port: &mut Port<Event>) {
        while self.outstanding < self.depth {
            let Some(request) = self.waiting.pop_front() else {
                return;
            };
            self.outstanding += 1;
            let data = match request.op {
                SimOp::Write => self.overhead + self.ns_per_byte * f64::from(request.bytes),
                _ => 0.0,
            };
            let at = match data > 0.0 {
                true => self.occupy(now, false, data),
                false => now,
            };
            let slot = self.flying.put(request);
            port.plan(at + self.latency, Event::Arrived(slot));
        }
    }
}

impl Layer for Link {
    type Event = Event;

    fn survey(&self, below: DeviceSurvey) -> DeviceSurvey {
        let own = self.kind.map(|kind| SurveyedLink {
            kind,
            bytes_per_s: (1e9 / self.ns_per_byte).round() as u64,
        });
        let links = own.into_iter().chain(below.link);
        DeviceSurvey {
            link: links.min_by_key(|link| link.bytes_per_s),
            ..below
        }
    }

    fn arrived(&mut self, now: SimTime, request: SimRequest, port: &mut Port<Event>) {
        self.waiting.push_back(request);
        self.send(now, port);
    }

    fn completed(&mut self, completion: SimCompletion, port: &mut Port<Event>) {
        let Some(request) = self.flying.get_mut(completion.id).copied() else {
            return;
        };
        let time = match request.op {
            SimOp::Read if completion.failed => self.overhead,
            SimOp::Read => self.overhead + self.ns_per_byte * f64::from(request.bytes),
            SimOp::Write => 0.0,
            SimOp::Trim | SimOp::Flush => self.overhead,
        };
        let at = match time > 0.0 {
            true => self.occupy(completion.at, true, time),
            false => completion.at,
        };
        port.plan(
            at + self.latency,
            Event::Returned(completion.id, completion.failed),
        );
    }

    fn due(&mut self, now: SimTime, event: Event, port: &mut Port<Event>) {
        match event {
            Event::Arrived(slot) => {
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
            Event::Returned(slot, failed) => {
                if let Some(request) = self.flying.take(slot) {
                    port.complete(request.id, now, failed);
                    self.outstanding -= 1;
                    self.send(now, port);
                }
            }
        }
    }
}
