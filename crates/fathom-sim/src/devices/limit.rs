//! The limits of a provider: token buckets for I/Os and for bytes, in the order of arrival.
//!
//! Each bucket is the generic cell rate algorithm (ITU-T I.371): a request conforms when the bucket
//! has its tokens, and waits until then.

use super::below::{Layer, Layered, Port};
use crate::device::{SimCompletion, SimOp, SimRequest, SimTime};
use crate::error::ModelError;
use crate::params::Params;
use crate::registry::{Builder, Device, ModelKind};
use crate::slots::Slots;

pub(crate) const KIND: ModelKind = ModelKind {
    name: "limit",
    summary: "IOPS and bandwidth limits with bursts, as cloud providers have them",
    members: (1, 1),
    build,
};

fn build(params: &mut Params<'_>, builder: &mut Builder<'_>) -> Result<Device, ModelError> {
    let mut buckets = [None, None];
    if params.has("iops") {
        let iops = params.number("iops", (0.001, 1e9), None)?;
        let burst = params.number("burst", (1.0, 1e15), Some(1.0))?;
        buckets[0] = Some(Bucket::new(iops, burst));
    }
    if params.has("bandwidth") {
        let rate = params.rate("bandwidth", None)?;
        let burst = params.bytes_from("burst_bytes", 1, Some(1))? as f64;
        buckets[1] = Some(Bucket::new(rate, burst));
    }
    if buckets.iter().all(Option::is_none) {
        return Err(params.error("iops", "missing parameter; give iops=, bandwidth= or both"));
    }
    let limit = Limit {
        buckets,
        unit: params.bytes("io_size", Some(0))?,
        ready: 0,
        flying: Slots::default(),
    };
    // Known also if the bucket is not there.
    let _ = (params.text("iops")?, params.text("burst")?);
    let _ = (params.text("bandwidth")?, params.text("burst_bytes")?);
    Ok(Box::new(Layered::new(limit, builder.member()?)))
}

/// A bucket of tokens that is full at the start.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bucket {
    ns_per_token: f64,
    /// Time in which an empty bucket fills.
    tolerance: f64,
    /// Theoretical arrival time: when the bucket would be full again.
    full_at: f64,
}

impl Bucket {
    pub fn new(rate: f64, burst: f64) -> Self {
        let ns_per_token = 1e9 / rate;
        Bucket {
            ns_per_token,
            tolerance: burst * ns_per_token,
            full_at: 0.0,
        }
    }

    /// Takes tokens for a request at `now`; returns when it has them. A request that needs more than
    /// the bucket holds waits until it is full.
    pub fn take(&mut self, now: f64, tokens: f64) -> f64 {
        let time = tokens * self.ns_per_token;
        let start = self.full_at.max(now);
        let conforms = start + time.min(self.tolerance) - self.tolerance;
        self.full_at = start + time;
        conforms.max(now)
    }
}

struct Limit {
    buckets: [Option<Bucket>; 2],
    /// A larger request counts as several I/Os; 0: as one.
    unit: u64,
    /// The time at which the last request got its tokens: the order is kept.
    ready: SimTime,
    flying: Slots<SimRequest>,
}

impl Layer for Limit {
    type Event = u64;

    fn arrived(&mut self, now: SimTime, request: SimRequest, port: &mut Port<u64>) {
        let bytes = u64::from(request.bytes);
        let ios = match self.unit {
            0 => 1,
            unit => bytes.div_ceil(unit).max(1),
        };
        let mut at = self.ready.max(now) as f64;
        if request.op != SimOp::Flush {
            for (bucket, tokens) in self.buckets.iter_mut().zip([ios, bytes]) {
                if let Some(bucket) = bucket {
                    at = at.max(bucket.take(now as f64, tokens as f64));
                }
            }
        }
        self.ready = at.ceil() as SimTime;
        let slot = self.flying.put(request);
        port.plan(self.ready, slot);
    }

    fn completed(&mut self, completion: SimCompletion, port: &mut Port<u64>) {
        if let Some(request) = self.flying.take(completion.id) {
            port.complete(request.id, completion.at, completion.failed);
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
