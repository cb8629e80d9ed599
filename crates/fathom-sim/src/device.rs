//! The interface of every simulated device, and a closed loop that drives one.
//!
//! A device is a state machine in virtual time. It accepts requests, names the time of its next
//! internal event, and reports completions when that time is reached. A device that consists of
//! others (an array, a cache, a link) is a device too: it forwards requests to its members with
//! identifiers of its own and combines their completions. Nothing reads a clock, so the same
//! requests give the same completions.

use fathom_model::{DiskCounters, LinkKind};

/// Virtual time, nanoseconds since the start of the simulation.
pub type SimTime = u64;

/// What a request does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SimOp {
    /// Read the range.
    Read,
    /// Write the range.
    Write,
    /// Discard the range.
    Trim,
    /// Make all acknowledged writes durable; offset and length are 0.
    Flush,
}

/// One request to a simulated device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SimRequest {
    /// Chosen by the sender; unique among the requests in flight at this device.
    pub id: u64,
    /// What to do.
    pub op: SimOp,
    /// First byte.
    pub offset: u64,
    /// Bytes; 0 for a flush.
    pub bytes: u32,
    /// The write is durable when it completes (FUA).
    pub fua: bool,
}

/// The completion of one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SimCompletion {
    /// The identifier of the request.
    pub id: u64,
    /// When it completed; at most the time up to which the device was advanced.
    pub at: SimTime,
    /// Whether the device reported an error instead (EIO).
    pub failed: bool,
}

/// What a host that surveys a device learns of how it is built and connected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeviceSurvey {
    /// The narrowest link to it of which the host knows the rate.
    pub link: Option<SurveyedLink>,
    /// Bytes of the largest request; larger I/Os are split.
    pub max_request_bytes: Option<u64>,
    /// The array that it is, if the host knows its members.
    pub array: Option<SurveyedArray>,
}

/// A link of which the host knows the rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SurveyedLink {
    /// Kind.
    pub kind: LinkKind,
    /// Bytes per second in one direction.
    pub bytes_per_s: u64,
}

/// An array of which the host knows the members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SurveyedArray {
    /// RAID level by the name that the kernel gives it, such as `raid5`.
    pub level: &'static str,
    /// Number of members.
    pub members: u32,
    /// Bytes on one member before the next.
    pub chunk_bytes: u64,
    /// Data of a full stripe.
    pub stripe_bytes: u64,
    /// Bytes of each member that the array uses.
    pub member_bytes: u64,
    /// Members that are missing, or do not hold all of their data yet.
    pub degraded: u32,
    /// The data of a member that was replaced is being rebuilt.
    pub is_rebuilding: bool,
}

/// A simulated device.
///
/// The caller never goes back in time: the times given to [`SimDevice::submit`] and
/// [`SimDevice::advance`] do not decrease. Before it submits at a time, it has advanced the device
/// to that time.
pub trait SimDevice: Send {
    /// Bytes of the device.
    fn capacity(&self) -> u64;

    /// What the host knows of it.
    fn survey(&self) -> DeviceSurvey {
        DeviceSurvey::default()
    }

    /// Requests that the block layer of the host made by splitting, beyond those that were submitted, by [`SimOp`].
    fn requests_added(&self) -> [u64; 4] {
        [0; 4]
    }

    /// What the members have done until `now`, if it is an array whose members the host knows.
    fn member_counters(&self, _: SimTime) -> Vec<DiskCounters> {
        Vec::new()
    }

    /// Accepts a request at `now`. A device with a limited queue holds what does not fit; it never
    /// refuses.
    fn submit(&mut self, now: SimTime, request: SimRequest);

    /// When something happens next if nothing else is submitted; `None` when nothing is in flight
    /// and no background work is left. Never earlier than the time of the last call.
    fn next_event(&self) -> Option<SimTime>;

    /// Processes all events up to and including `now` and appends the completions, in the order of
    /// their times.
    fn advance(&mut self, now: SimTime, done: &mut Vec<SimCompletion>);
}

/// Moves the device from event to event until `count` requests have completed, with `depth` of them
/// always in flight, and reports each latency. `next` supplies the requests; their identifiers are
/// replaced. The measurement of models without the load generator.
///
/// Returns the virtual time at which the last of them completed.
///
/// # Panics
/// If the device has requests in flight but no next event.
pub fn closed_loop(
    device: &mut dyn SimDevice,
    depth: usize,
    count: u64,
    mut next: impl FnMut() -> SimRequest,
    mut completed: impl FnMut(&SimRequest, u64),
) -> SimTime {
    let mut slots: Vec<(SimTime, SimRequest)> = Vec::with_capacity(depth);
    let (mut now, mut sent, mut finished) = (0, 0, 0);
    while slots.len() < depth && sent < count {
        let request = SimRequest {
            id: slots.len() as u64,
            ..next()
        };
        device.submit(now, request);
        slots.push((now, request));
        sent += 1;
    }
    let mut done = Vec::with_capacity(depth);
    while finished < count {
        now = device
            .next_event()
            .expect("a device with requests in flight has a next event");
        device.advance(now, &mut done);
        for completion in done.drain(..) {
            let slot = completion.id as usize;
            let (submitted, request) = slots[slot];
            completed(&request, completion.at - submitted);
            finished += 1;
            if sent < count {
                let request = SimRequest {
                    id: completion.id,
                    ..next()
                };
                device.submit(now, request);
                slots[slot] = (now, request);
                sent += 1;
            }
        }
    }
    now
}
