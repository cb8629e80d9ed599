//! A floppy disk drive: stepper, settle time, motor, and the turnaround of a USB bridge.

use std::collections::VecDeque;

use crate::agenda::Agenda;
use crate::device::{SimCompletion, SimDevice, SimOp, SimRequest, SimTime};
use crate::error::ModelError;
use crate::params::Params;
use crate::registry::{Builder, Device, ModelKind};

pub(crate) const KIND: ModelKind = ModelKind {
    name: "floppy",
    summary: "floppy disk: stepper, settle time, rotation, turnaround of the bridge",
    members: (0, 0),
    build,
};

fn build(params: &mut Params<'_>, _: &mut Builder<'_>) -> Result<Device, ModelError> {
    let revolution = 60e9 / params.number("rpm", (60.0, 10_000.0), None)?;
    let tracks = params.count("tracks", (1, 1000), None)?;
    let heads = params.count("heads", (1, 8), Some(2))?;
    let sectors = params.count("sectors", (1, 1000), None)?;
    let floppy = Floppy {
        cylinder_bytes: heads * sectors * 512,
        track_bytes: (sectors * 512) as f64,
        capacity: tracks * heads * sectors * 512,
        revolution,
        step: params.time("step", None)?,
        settle: params.time("settle", None)?,
        turnaround: params.time("turnaround", Some(0.0))?,
        motor_start: params.time("motor_start", Some(0.0))?,
        motor_off: params.time("motor_off", Some(2e9))? as SimTime,
        arm: 0,
        idle_since: None,
        queue: VecDeque::new(),
        active: None,
        done: Agenda::default(),
    };
    Ok(Box::new(floppy))
}

struct Floppy {
    capacity: u64,
    cylinder_bytes: u64,
    track_bytes: f64,
    revolution: f64,
    step: f64,
    settle: f64,
    turnaround: f64,
    motor_start: f64,
    motor_off: SimTime,
    arm: u64,
    /// When the last request ended; `None` before the first.
    idle_since: Option<SimTime>,
    queue: VecDeque<SimRequest>,
    active: Option<(SimTime, u64)>,
    done: Agenda<SimCompletion>,
}

impl Floppy {
    fn start(&mut self, now: SimTime) {
        if self.active.is_some() {
            return;
        }
        let Some(request) = self.queue.pop_front() else {
            return;
        };
        let mut time = self.turnaround;
        if self
            .idle_since
            .is_none_or(|since| now - since > self.motor_off)
        {
            time += self.motor_start;
        }
        let cylinder = request.offset / self.cylinder_bytes;
        let distance = cylinder.abs_diff(self.arm);
        if distance > 0 {
            time += self.step * distance as f64 + self.settle;
        }
        let place = request.offset as f64 / self.track_bytes;
        let angle = ((now as f64 + time) / self.revolution).fract();
        time += (place.fract() - angle).rem_euclid(1.0) * self.revolution;
        let end = request.offset + u64::from(request.bytes);
        time += (end as f64 / self.track_bytes - place) * self.revolution;
        self.arm = (end.max(1) - 1) / self.cylinder_bytes;
        self.active = Some((now + time.max(1.0) as SimTime, request.id));
    }
}

impl SimDevice for Floppy {
    fn capacity(&self) -> u64 {
        self.capacity
    }

    fn submit(&mut self, now: SimTime, request: SimRequest) {
        let end = request.offset.checked_add(u64::from(request.bytes));
        match request.op {
            SimOp::Flush | SimOp::Trim => self.done.complete(request.id, now + 1000, false),
            _ if end.is_none_or(|end| end > self.capacity) => {
                self.done.complete(request.id, now + 1000, true);
            }
            _ => {
                self.queue.push_back(request);
                self.start(now);
            }
        }
    }

    fn next_event(&self) -> Option<SimTime> {
        crate::agenda::earlier(self.active.map(|(at, _)| at), self.done.next())
    }

    fn advance(&mut self, now: SimTime, done: &mut Vec<SimCompletion>) {
        loop {
            let other = self.done.next();
            match self.active {
                Some((at, id)) if at <= now && other.is_none_or(|other| at <= other) => {
                    done.push(SimCompletion {
                        id,
                        at,
                        failed: false,
                    });
                    self.active = None;
                    self.idle_since = Some(at);
                    self.start(at);
                }
                _ => match self.done.take(now) {
                    Some((_, completion)) => done.push(completion),
                    None => return,
                },
            }
        }
    }
}
