//! Flash, arrays, controllers, caches and tiers against published measurements and arithmetic.

mod any_text;
mod arrays;
mod caches;
mod disks;
mod every_device;
mod flash;
mod parts;
mod systems;

use fathom_sim::{SimCompletion, SimDevice, SimOp, SimRequest, SimTime};

/// A seeded generator for the requests of a test (SplitMix64).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % limit
    }
}

pub(crate) fn request(op: SimOp, offset: u64, bytes: u32) -> SimRequest {
    SimRequest {
        id: 0,
        op,
        offset,
        bytes,
        fua: false,
    }
}

/// Aligned requests at random offsets.
pub(crate) fn random_requests(
    op: SimOp,
    span: u64,
    bytes: u32,
    seed: u64,
) -> impl FnMut() -> SimRequest {
    let mut random = Random(seed);
    let blocks = span / u64::from(bytes);
    move || request(op, random.below(blocks) * u64::from(bytes), bytes)
}

/// Submits one request and waits for it. Returns its latency.
pub(crate) fn one(device: &mut dyn SimDevice, now: &mut SimTime, request: SimRequest) -> u64 {
    let start = *now;
    let mut done = Vec::new();
    device.advance(start, &mut done);
    device.submit(start, request);
    while !done
        .iter()
        .any(|completion: &SimCompletion| completion.id == request.id)
    {
        *now = device.next_event().expect("a request is in flight");
        device.advance(*now, &mut done);
    }
    *now - start
}

/// Processes all events that are left.
pub(crate) fn settle(device: &mut dyn SimDevice, now: &mut SimTime) {
    let mut done = Vec::new();
    while let Some(at) = device.next_event() {
        *now = at;
        device.advance(at, &mut done);
    }
}

/// I/Os per second and latencies of a closed loop.
pub(crate) struct Measured {
    pub(crate) iops: f64,
    pub(crate) latencies: Vec<(SimOp, u64)>,
}

impl Measured {
    /// A percentile of the latencies of one direction, microseconds.
    pub(crate) fn percentile(&self, op: SimOp, percent: f64) -> f64 {
        let mut latencies: Vec<u64> = self
            .latencies
            .iter()
            .filter(|(of, _)| *of == op)
            .map(|(_, latency)| *latency)
            .collect();
        latencies.sort_unstable();
        latencies[(latencies.len() as f64 * percent / 100.0) as usize] as f64 / 1000.0
    }

    pub(crate) fn mean_us(&self) -> f64 {
        let sum: u64 = self.latencies.iter().map(|(_, latency)| latency).sum();
        sum as f64 / self.latencies.len() as f64 / 1000.0
    }
}

/// `jobs` that each have one request in flight and wait `think_ns` after each completion. The first
/// `warm_up` requests are not measured.
pub(crate) fn measure(
    device: &mut dyn SimDevice,
    jobs: usize,
    (warm_up, count): (usize, usize),
    think_ns: u64,
    mut next: impl FnMut(usize) -> SimRequest,
) -> Measured {
    let mut due: std::collections::BinaryHeap<std::cmp::Reverse<(SimTime, usize)>> =
        (0..jobs).map(|job| std::cmp::Reverse((0, job))).collect();
    let mut open = vec![(0, SimOp::Read); jobs];
    let mut latencies = Vec::with_capacity(count);
    let (mut finished, mut began, mut now, mut done) = (0, 0, 0, Vec::new());
    while finished < warm_up + count {
        let submit = due.peek().map_or(SimTime::MAX, |entry| entry.0.0);
        let event = device.next_event().unwrap_or(SimTime::MAX);
        now = submit.min(event);
        device.advance(now, &mut done);
        for completion in done.drain(..) {
            let job = completion.id as usize;
            let (submitted, op) = open[job];
            finished += 1;
            if finished == warm_up {
                began = completion.at;
            }
            if finished > warm_up {
                latencies.push((op, completion.at - submitted));
            }
            due.push(std::cmp::Reverse((completion.at + think_ns, job)));
        }
        while due.peek().is_some_and(|entry| entry.0.0 <= now) {
            let Some(std::cmp::Reverse((_, job))) = due.pop() else {
                break;
            };
            let request = SimRequest {
                id: job as u64,
                ..next(job)
            };
            open[job] = (now, request.op);
            device.submit(now, request);
        }
    }
    Measured {
        iops: count as f64 / (now - began) as f64 * 1e9,
        latencies,
    }
}

pub(crate) fn assert_within(what: &str, got: f64, expected: f64, tolerance: f64) {
    assert!(
        (got / expected - 1.0).abs() <= tolerance,
        "{what}: {got:.4} instead of {expected:.4} ({:+.1} %)",
        (got / expected - 1.0) * 100.0
    );
}
