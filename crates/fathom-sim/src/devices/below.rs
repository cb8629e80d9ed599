//! The device below another one, with the completions that it has reported.

use fathom_model::DiskCounters;

use crate::device::{DeviceSurvey, SimCompletion, SimDevice, SimRequest, SimTime};
use crate::registry::Device;

/// A device below and room for its completions.
pub(crate) struct Below {
    device: Device,
    done: Vec<SimCompletion>,
}

impl Below {
    pub fn new(device: Device) -> Self {
        Below {
            device,
            done: Vec::new(),
        }
    }

    pub fn capacity(&self) -> u64 {
        self.device.capacity()
    }

    pub fn survey(&self) -> DeviceSurvey {
        self.device.survey()
    }

    pub fn member_counters(&self, now: SimTime) -> Vec<DiskCounters> {
        self.device.member_counters(now)
    }

    pub fn next(&self) -> Option<SimTime> {
        self.device.next_event()
    }

    pub fn submit(&mut self, now: SimTime, request: SimRequest) {
        self.device.submit(now, request);
    }

    /// Its completions up to `now`. The caller returns the memory with [`Below::reuse`].
    pub fn advance(&mut self, now: SimTime) -> Vec<SimCompletion> {
        let mut done = std::mem::take(&mut self.done);
        self.device.advance(now, &mut done);
        done
    }

    pub fn reuse(&mut self, mut done: Vec<SimCompletion>) {
        done.clear();
        self.done = done;
    }
}

/// A device that changes the requests of one device below: what it does when a request arrives,
/// when the device below completes one, and at its own events.
pub(crate) trait Layer: Send {
    /// An event of its own.
    type Event: Send;

    /// A request arrives.
    fn arrived(&mut self, now: SimTime, request: SimRequest, port: &mut Port<Self::Event>);

    /// The device below has completed a request.
    fn completed(&mut self, completion: SimCompletion, port: &mut Port<Self::Event>);

    /// An event is due.
    fn due(&mut self, now: SimTime, event: Self::Event, port: &mut Port<Self::Event>);

    /// Bytes, given those of the device below.
    fn capacity(&self, below: u64) -> u64 {
        below
    }

    /// What the host knows of it, given what it knows of the device below.
    fn survey(&self, below: DeviceSurvey) -> DeviceSurvey {
        below
    }

    /// Requests beyond those that arrived, by operation, if it is a part of the block layer.
    fn requests_added(&self) -> [u64; 4] {
        [0; 4]
    }
}

/// What a layer can use: its events, the device below, and its completions.
pub(crate) struct Port<E> {
    below: Below,
    events: crate::agenda::Agenda<Step<E>>,
}

enum Step<E> {
    Event(E),
    Complete(SimCompletion),
}

impl<E> Port<E> {
    /// Submits to the device below.
    pub fn submit(&mut self, now: SimTime, request: SimRequest) {
        self.below.submit(now, request);
    }

    /// Plans an event.
    pub fn plan(&mut self, at: SimTime, event: E) {
        self.events.add(at, Step::Event(event));
    }

    /// Completes a request at a time that is not before now.
    pub fn complete(&mut self, id: u64, at: SimTime, failed: bool) {
        self.events
            .add(at, Step::Complete(SimCompletion { id, at, failed }));
    }
}

/// A layer above a device, as a device.
pub(crate) struct Layered<L: Layer> {
    layer: L,
    port: Port<L::Event>,
}

impl<L: Layer> Layered<L> {
    pub fn new(layer: L, below: Device) -> Self {
        Layered {
            layer,
            port: Port {
                below: Below::new(below),
                events: crate::agenda::Agenda::default(),
            },
        }
    }
}

impl<L: Layer> SimDevice for Layered<L> {
    fn capacity(&self) -> u64 {
        self.layer.capacity(self.port.below.capacity())
    }

    fn survey(&self) -> DeviceSurvey {
        self.layer.survey(self.port.below.survey())
    }

    fn requests_added(&self) -> [u64; 4] {
        self.layer.requests_added()
    }

    fn member_counters(&self, now: SimTime) -> Vec<DiskCounters> {
        self.port.below.member_counters(now)
    }

    fn submit(&mut self, now: SimTime, request: SimRequest) {
        self.layer.arrived(now, request, &mut self.port);
    }

    fn next_event(&self) -> Option<SimTime> {
        crate::agenda::earlier(self.port.below.next(), self.port.events.next())
    }

    fn advance(&mut self, now: SimTime, done: &mut Vec<SimCompletion>) {
        loop {
            let (below, own) = (self.port.below.next(), self.port.events.next());
            match (below, own) {
                (Some(at), own) if at <= now && own.is_none_or(|own| at <= own) => {
                    let mut completions = self.port.below.advance(at);
                    for completion in completions.drain(..) {
                        self.layer.completed(completion, &mut self.port);
                    }
                    self.port.below.reuse(completions);
                }
                (_, Some(at)) if at <= now => match self.port.events.take(at) {
                    Some((_, Step::Complete(completion))) => done.push(completion),
                    Some((at, Step::Event(event))) => {
                        // A device below is advanced before it gets a request.
                        let completions = self.port.below.advance(at);
                        debug_assert!(completions.is_empty());
                        self.port.below.reuse(completions);
                        self.layer.due(at, event, &mut self.port);
                    }
                    None => return,
                },
                _ => return,
            }
        }
    }
}
