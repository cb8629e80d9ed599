//! Short measurements of the load at other queue depths, after the run: whether the depth or the target was the limit. Where the kernel
//! splits the I/Os, also of single requests of two sizes: whether their number or their bytes take the time.
//!
//! A run at one depth does not tell (see `fathom_analyse`, module `diagnosis`). The probes take at most a twentieth of the time of the
//! run and three seconds, are recorded apart, and are no part of its figures. One that is refused or fails is left out.

use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;

use fathom_linux::interrupts;
use fathom_model::{
    BlockSizes, Counts, DepthProbe, Direction, Distribution, Entry, Job, JobRecording, Logs,
    MergedInterval, Nanos, PerDirection, Plan, Recording, RunEnd,
};

use crate::guard;
use crate::measure;
use crate::session::Session;

/// Share of the time of the run that all probes take together.
const MAX_SHARE_OF_RUN: f64 = 0.05;
/// Time of all probes together.
const MAX_TOTAL_TIME: Nanos = Nanos::from_secs(3);
/// A shorter probe measures little but its own start.
const MIN_PROBE_TIME: Nanos = Nanos::from_millis(50);
/// Before each probe the target is idle for this time, so that the first I/Os find an empty queue and a bucket with tokens.
const PAUSE_BEFORE_PROBE: Nanos = Nanos::from_millis(10);
/// The probe of one size takes the time of all probes divided by this: few I/Os of a size tell their time, and many of a depth its rate.
const SIZE_PROBE_TIME_DIVISOR: u64 = 10;
/// Intervals of a probe. Those at its begin and its end are no part of its rate.
const PROBE_INTERVALS: u64 = 16;
/// Intervals whose I/Os show how much the rate varies.
const MIN_INTERVALS_OF_DISPERSION: usize = 6;
/// A rate of which a smaller share was not sent may have been reached.
const MIN_UNSENT_SHARE: f64 = 0.005;
/// Added to the seed of a job for other addresses than those of the run.
const SEED_DISTANCE: u64 = 1 << 32;
/// More jobs of a synchronous engine than this are not started for a probe: each is a thread.
const MAX_PROBED_JOBS: u32 = 256;

/// Measures the load of `recording` at depth 1, at half and at twice its depth, where that is meaningful and harmless. Where the kernel
/// splits its I/Os, also one request at a time, and half of one.
pub fn measure_depths(
    session: &Session,
    recording: &Recording,
    auxiliary: &Path,
) -> Vec<DepthProbe> {
    let plan = &recording.plan;
    let Some(shape) = probed_shape(recording) else {
        return Vec::new();
    };
    let time = recording.elapsed.get() as f64 * MAX_SHARE_OF_RUN;
    let time = Nanos::new((time as u64).min(MAX_TOTAL_TIME.get()));
    let points = points(shape.depth(), &request_sizes(recording), time);
    if points.iter().any(|point| point.time < MIN_PROBE_TIME) {
        return Vec::new();
    }
    let mut probes = Vec::new();
    for point in points {
        // A file that was removed during the run is not laid out again.
        let is_gone = measure::target_paths(plan).any(|path| !session.exists(path));
        if is_gone || interrupts().load(Relaxed) != 0 {
            break;
        }
        let Some(probe) = shape.probe_plan(plan, point) else {
            continue;
        };
        let measured = measure_point(session, probe, auxiliary);
        probes.extend(measured.map(|probe| DepthProbe {
            block: point.block.map_or(0, u64::from),
            ..probe
        }));
    }
    probes
}

/// What one probe changes of the load.
#[derive(Clone, Copy)]
struct Point {
    /// I/Os in flight.
    depth: u32,
    /// Bytes of each; `None` leaves them as they are.
    block: Option<u32>,
    time: Nanos,
}

/// The shallow depth, half and twice the depth of the run, then the sizes of one request at a time, in this time together.
fn points(depth: u32, request_sizes: &[u32], time: Nanos) -> Vec<Point> {
    let mut depths = vec![1, depth / 2, depth * 2];
    depths.retain(|probed| *probed > 0 && *probed != depth);
    depths.dedup();
    let of_size = time.get() / SIZE_PROBE_TIME_DIVISOR;
    let of_depths = time.get() - of_size * request_sizes.len() as u64;
    let of_depth = of_depths / depths.len() as u64;
    let depths = depths.into_iter().map(|depth| Point {
        depth,
        block: None,
        time: Nanos::new(of_depth),
    });
    let sizes = request_sizes.iter().map(|block| Point {
        depth: 1,
        block: Some(*block),
        time: Nanos::new(of_size),
    });
    depths.chain(sizes).collect()
}

/// The size of the requests into which the kernel splits the I/Os, and half of it; none where it does not, or where sizes vary.
fn request_sizes(recording: &Recording) -> Vec<u32> {
    let has_one_size = recording.plan.jobs.iter().all(|job| {
        Direction::ALL
            .into_iter()
            .filter(|direction| job.pattern.traffic.uses(*direction))
            .all(|direction| matches!(job.pattern.block_size[direction], BlockSizes::Fixed(_)))
    });
    fathom_analyse::bytes_of_split_request(recording)
        .filter(|_| has_one_size)
        .map_or(Vec::new(), |bytes| vec![bytes, bytes / 2])
}

/// How the depth of a load is varied.
#[derive(Clone, Copy)]
enum ProbedShape {
    /// Each job keeps this many I/Os in flight.
    Queue(u32),
    /// Each job of a synchronous engine has one I/O in flight, so that their number is the depth.
    Jobs(u32),
}

impl ProbedShape {
    fn depth(self) -> u32 {
        match self {
            ProbedShape::Queue(depth) | ProbedShape::Jobs(depth) => depth,
        }
    }

    /// The plan of the load at another depth or size, without logs.
    fn probe_plan(self, plan: &Plan, point: Point) -> Option<Plan> {
        let (depth, time) = (point.depth, point.time);
        let mut plan = plan.clone();
        match self {
            ProbedShape::Queue(_) => plan.jobs.iter_mut().for_each(|job| {
                let queue = &mut job.queue;
                queue.depth = depth;
                queue.low = depth;
                queue.batch_submit = queue.batch_submit.min(depth);
                queue.batch_complete_min = queue.batch_complete_min.min(depth);
                queue.batch_complete_max = queue.batch_complete_max.min(depth);
            }),
            ProbedShape::Jobs(_) if depth > MAX_PROBED_JOBS => return None,
            ProbedShape::Jobs(_) => plan.jobs = (0..depth).map(|n| clone_job(&plan, n)).collect(),
        }
        // A read-only plan creates no target, also where one is removed before it is opened.
        plan.read_only |= !plan.jobs.iter().any(changes_target);
        plan.interval = Nanos::new(time.get() / PROBE_INTERVALS);
        for job in &mut plan.jobs {
            if let Some(bytes) = point.block {
                job.pattern.block_size = PerDirection::from_fn(|_| BlockSizes::Fixed(bytes));
            }
            if changes_target(job) && is_uniform(job) {
                // Written again in the order of the run, whole blocks of a flash drive become free at once.
                job.pattern.seed = job.pattern.seed.wrapping_add(SEED_DISTANCE);
            }
            job.limits.runtime = Some(time);
            job.limits.time_based = true;
            job.limits.ramp = Nanos::ZERO;
            job.limits.steady = None;
            // While a target is idle, its buffer takes up what the probe would have to wait for.
            let takes_up = changes_target(job) && depth > 1;
            let pause = if takes_up {
                Nanos::ZERO
            } else {
                PAUSE_BEFORE_PROBE
            };
            job.start.delay = (pause, pause);
            job.accounting.logs = Logs::default();
            job.accounting.blame = false;
            job.accounting.clat_percentiles = true;
            job.accounting.percentiles = vec![10.0, 90.0];
        }
        Some(plan)
    }
}

/// Whether a job writes or trims.
fn changes_target(job: &Job) -> bool {
    let changes = [Direction::Write, Direction::Trim];
    changes.iter().any(|way| job.pattern.traffic.uses(*way))
}

/// Whether all blocks have the same probability, so that other draws of them are the same load.
fn is_uniform(job: &Job) -> bool {
    let distribution = &job.pattern.distribution;
    Direction::ALL
        .into_iter()
        .all(|direction| matches!(distribution[direction], Distribution::Uniform))
}

/// Clone `n` of the section: one of the plan, or one more with random numbers of its own.
fn clone_job(plan: &Plan, n: u32) -> Job {
    let count = plan.jobs.len().max(1);
    let mut job = plan.jobs[n as usize % count].clone();
    let round = n / count as u32;
    // The figures of all jobs are those of the probe.
    job.group_reporting = true;
    job.number = n + 1;
    job.clone = n;
    job.pattern.seed = job
        .pattern
        .seed
        .wrapping_add(u64::from(round) * SEED_DISTANCE);
    job
}

/// How the depth can be varied, where other depths of the load can be measured: one section whose queue was full, in a closed loop or at
/// a rate that was not reached, and which ended by its plan. Writes are repeated only where the plan repeats them itself and checks
/// nothing.
fn probed_shape(recording: &Recording) -> Option<ProbedShape> {
    let jobs = &recording.plan.jobs;
    let first = jobs.first()?;
    let is_missed = recording.jobs.iter().all(missed_rate);
    let is_closed = |job: &Job| {
        let pace = &job.pace;
        (is_missed || pace.rate.iter().all(|(_, rate)| rate.is_none()))
            && pace.think.is_none()
            && pace.flow.is_none()
            && pace.replay.is_none()
            && pace.latency.is_none()
    };
    let is_harmless = |job: &Job| {
        let reads_only = !changes_target(job);
        // What the run left in the page cache would make a buffered probe faster.
        job.files.direct
            && job.verify.is_none()
            && job.limits.ios.is_none()
            && job.start.command_before.is_none()
            && job.start.command_after.is_none()
            && !job.files.layout.unlink
            && !job.files.layout.create_only
            && (reads_only || job.limits.time_based)
    };
    let can_be_probed = jobs.iter().all(|job| {
        job.section == first.section
            && job.engine.kind.moves_data()
            && job.engine.is_synchronous() == first.engine.is_synchronous()
            && is_closed(job)
            && is_harmless(job)
    });
    let succeeded =
        recording.end == RunEnd::Completed && recording.jobs.iter().all(|job| job.error.is_none());
    (can_be_probed && succeeded).then_some(if first.engine.is_synchronous() {
        ProbedShape::Jobs(jobs.len() as u32)
    } else {
        ProbedShape::Queue(first.queue.depth)
    })
}

/// Whether a job had so many I/Os due that its queue was full.
fn missed_rate(job: &JobRecording) -> bool {
    let sum = |count: fn(&Counts) -> u64| -> u64 {
        job.directions.iter().map(|(_, d)| count(&d.counts)).sum()
    };
    let (planned, not_sent) = (sum(|c| c.planned), sum(|c| c.not_sent));
    not_sent as f64 > MIN_UNSENT_SHARE * planned as f64
}

/// I/Os of the whole intervals of a probe that lasts `time`, without its begin, in which the queue fills, and its end, which waits for the
/// last I/Os.
struct Middle {
    ios: Vec<f64>,
    /// Seconds of one.
    each_s: f64,
}

impl Middle {
    fn iops(&self) -> f64 {
        self.ios.iter().sum::<f64>() / (self.each_s * self.ios.len() as f64)
    }

    /// Their variance as a share of their mean; `None` with too few of them.
    fn dispersion(&self) -> Option<f64> {
        let count = self.ios.len();
        let mean = self.ios.iter().sum::<f64>() / count as f64;
        let squares: f64 = self.ios.iter().map(|ios| (ios - mean).powi(2)).sum();
        (count >= MIN_INTERVALS_OF_DISPERSION).then(|| squares / (count as f64 - 1.0) / mean)
    }
}

/// `None` where nothing completed between the edges.
fn middle(entry: &Entry, time: Nanos) -> Option<Middle> {
    let start = entry.series.first()?.start;
    let mut filled = start + Nanos::new(2 * entry.little.mean_ns as u64);
    let wrote = entry.directions[Direction::Write].ios + entry.directions[Direction::Trim].ios > 0;
    if wrote {
        // A buffer may take the first ones.
        filled = filled.max(start + Nanos::new(time.get() / 2));
    }
    let longest = entry.series.iter().map(|interval| interval.length).max()?;
    let count = |interval: &MergedInterval| {
        let ios: u64 = interval.directions.iter().map(|(_, d)| d.ios).sum();
        ios as f64
    };
    let ios: Vec<f64> = entry
        .series
        .iter()
        .filter(|one| one.length == longest && one.start >= filled)
        .filter(|one| one.start + one.length <= start + time)
        .map(count)
        .collect();
    let each_s = longest.as_secs_f64();
    (ios.iter().sum::<f64>() > 0.0).then_some(Middle { ios, each_s })
}

/// One probe; `None` if the guard or the target refuses it.
///
/// Nothing is confirmed for it: a target that needs the user's code is not written a second time.
fn measure_point(session: &Session, plan: Plan, auxiliary: &Path) -> Option<DepthProbe> {
    let in_flight = |job: &Job| match job.engine.is_synchronous() {
        true => 1,
        false => job.queue.depth,
    };
    let depth: u32 = plan.jobs.iter().map(in_flight).sum();
    let time = plan.jobs.first()?.limits.runtime?;
    let (load, _) = guard::open_targets(
        session,
        &plan,
        &guard::Confirmed::default(),
        &mut guard::Backups::new(auxiliary),
    )
    .ok()?;
    let (recording, _) = measure::measure(load, plan).ok()?;
    let failed = recording.jobs.iter().any(|job| job.error.is_some());
    if failed || recording.end != RunEnd::Completed {
        return None;
    }
    let findings = fathom_analyse::findings(&recording);
    let entry = findings.entries.first()?;
    let ios = Direction::ALL
        .into_iter()
        .map(|direction| entry.directions[direction].ios)
        .sum();
    let used = Direction::ALL
        .into_iter()
        .map(|direction| &entry.directions[direction].clat)
        .filter(|clat| clat.n > 0);
    let min_ns = used
        .clone()
        .map(|clat| clat.min as f64)
        .fold(f64::INFINITY, f64::min);
    // Of the direction with most I/Os.
    let busiest = used.clone().max_by_key(|clat| clat.n);
    let percentile = |percent: f64| {
        let mut all = busiest.iter().flat_map(|clat| &clat.percentiles);
        all.find(|(p, _)| *p == percent)
            .map_or(0.0, |(_, value)| *value as f64)
    };
    let middle = middle(entry, time);
    Some(DepthProbe {
        depth,
        ios,
        iops: middle.as_ref().map_or(entry.little.iops, Middle::iops),
        mean_ns: entry.little.mean_ns,
        min_ns: if min_ns.is_finite() { min_ns } else { 0.0 },
        p10_ns: percentile(10.0),
        p90_ns: percentile(90.0),
        foreign_iops: fathom_analyse::foreign_ios_per_second(&recording),
        block: 0,
        dispersion: middle.and_then(|middle| middle.dispersion()),
    })
}
