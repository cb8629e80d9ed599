//! Describes jobs: `random read, 4 KiB blocks, queue depth 32, io_uring, direct`.
//!
//! The description says what the job does, not how the options are written: `rw=rw` is sequential.

use fathom_model::{
    Access, Arrivals, BlockSizes, Direction, Distribution, Job, Pace, Pattern, Plan, Rate, Replay,
    ReplayTiming, SyncMode, Traffic,
};

use crate::figures::{bytes, counted, rate};
use crate::members::Member;

/// The program of a job whose I/Os are transactions of an application.
const APPLICATION: &str = "fathom app";
/// Limit of listed descriptions if the members of an entry differ.
const MAX_LISTED: usize = 3;

/// Describes the members of an entry.
pub(crate) fn entry_summary(members: &[Member]) -> String {
    let mut kinds: Vec<String> = Vec::new();
    for member in members {
        let summary = describe_job(member);
        if !kinds.contains(&summary) {
            kinds.push(summary);
        }
    }
    let more = kinds.len().saturating_sub(MAX_LISTED);
    let mut text = kinds[..kinds.len() - more].join("; ");
    if more > 0 {
        text += &format!("; and {more} more patterns");
    }
    if members.len() > 1 {
        text += &format!(", {} jobs", members.len());
    }
    text
}

fn describe_job(member: &Member) -> String {
    if let Some(summary) = application(member.job) {
        return summary;
    }
    if member.is_observed() {
        return "observed block I/O".to_owned();
    }
    describe_plan(member.job, engine(member))
}

/// Describes an application among jobs, by the arguments of `fathom app`: `application sqlite, 4 clients`.
fn application(job: &Job) -> Option<String> {
    let program = job.engine.settings.program.as_ref()?;
    if program.path != APPLICATION {
        return None;
    }
    let mut words = program.arguments.iter();
    let engine = words.clone().find(|word| !word.starts_with('-'));
    let clients = words.find_map(|word| word.strip_prefix("--clients=")?.parse().ok());
    let clients = clients.map_or(String::new(), |clients: u64| {
        format!(", {}", counted(clients, "client"))
    });
    let engine = engine.map_or("sqlite", String::as_str);
    Some(format!("application {engine}{clients}"))
}

/// Describes a job that uses `engine`.
pub(crate) fn describe_plan(job: &Job, engine: &str) -> String {
    let mut parts = match &job.pace.replay {
        Some(replay) => vec![replay_summary(replay), blocks(&job.pattern)],
        None => vec![pattern(&job.pattern), blocks(&job.pattern)],
    };
    if job.pace.replay.is_none() {
        parts.extend(distribution(&job.pattern));
    }
    parts.push(format!("queue depth {}", job.queue.depth));
    parts.push(engine.to_owned());
    parts.extend(cache_use(job).map(str::to_owned));
    parts.extend(durability(job));
    parts.extend(offered_by(&[job]).map(|summary| format!("open loop at {summary}")));
    parts.join(", ")
}

/// Whether the job uses the page cache; nothing for an image, which has none.
fn cache_use(job: &Job) -> Option<&'static str> {
    if job.engine.kind.has_image() {
        return None;
    }
    Some(if job.files.direct {
        "direct"
    } else {
        "buffered"
    })
}

/// Describes the jobs of a plan, without depth and rate: `random read, 4 KiB blocks, direct, 4
/// jobs`.
#[must_use]
pub fn load_summary(plan: &Plan) -> String {
    let mut kinds: Vec<String> = Vec::new();
    for job in &plan.jobs {
        let parts = [pattern(&job.pattern), blocks(&job.pattern)]
            .into_iter()
            .chain(distribution(&job.pattern));
        let summary = parts
            .chain(cache_use(job).map(str::to_owned))
            .collect::<Vec<_>>()
            .join(", ");
        if !kinds.contains(&summary) {
            kinds.push(summary);
        }
    }
    kinds.truncate(MAX_LISTED);
    let jobs = plan.jobs.len();
    kinds.join("; ")
        + &if jobs > 1 {
            format!(", {jobs} jobs")
        } else {
            String::new()
        }
}

/// Describes a replay: `replay of x.log at its own times (120 reads, 3 writes, 2 syncs)`.
#[must_use]
pub fn replay_summary(replay: &Replay) -> String {
    let held = Direction::ALL
        .into_iter()
        .map(|d| (replay.ios[d], d.name()))
        .chain([(replay.syncs, "sync")]);
    let held: Vec<String> = held
        .filter(|(n, _)| *n > 0)
        .map(|(n, word)| counted(n, word))
        .collect();
    let speed = match (replay.reading.timing, replay.reading.time_percent) {
        (ReplayTiming::AsFast, _) => "as fast as possible".to_owned(),
        (ReplayTiming::OnTime, 100) => "at its own times".to_owned(),
        (ReplayTiming::OnTime, percent) => format!("at {percent} % of its speed"),
        (ReplayTiming::AfterLast | ReplayTiming::NotBefore, _) => "with its gaps".to_owned(),
        (ReplayTiming::ByDependency, _) => "as fast as its dependencies allow".to_owned(),
    };
    format!("replay of {} {speed} ({})", replay.log, held.join(", "))
}

/// The engine that did the I/O; the planned one for a job that never started.
pub(crate) fn engine<'a>(member: &Member<'a>) -> &'a str {
    if member.seen.engine.is_empty() {
        member.job.engine.kind.name()
    } else {
        &member.seen.engine
    }
}

fn pattern(pattern: &Pattern) -> String {
    let order = match pattern.access {
        Access::Sequential { skip: 0 } => "sequential".to_owned(),
        Access::Sequential { skip } if skip > 0 => {
            format!("sequential (skipping {})", bytes(skip.unsigned_abs()))
        }
        Access::Sequential { skip } => format!("backward (by {})", bytes(skip.unsigned_abs())),
        Access::Random { every: 0 | 1, .. } => partly_random(pattern),
        Access::Random {
            every,
            identical: false,
        } => format!("random every {every} I/Os, sequential between,"),
        Access::Random {
            every,
            identical: true,
        } => format!("random, each address {every} times,"),
    };
    format!("{order} {}", traffic(pattern.traffic))
}

fn partly_random(pattern: &Pattern) -> String {
    let used = Direction::ALL
        .into_iter()
        .filter(|d| pattern.traffic.uses(*d));
    match used.map(|d| pattern.random_percent[d]).min() {
        Some(share) if share < 100 => format!("{share} % random"),
        _ => "random".to_owned(),
    }
}

fn traffic(traffic: Traffic) -> String {
    match traffic {
        Traffic::Read => "read".to_owned(),
        Traffic::Write => "write".to_owned(),
        Traffic::Trim => "trim".to_owned(),
        Traffic::ReadWrite { read_percent } => {
            format!(
                "mixed {read_percent}/{} read/write",
                100u8.saturating_sub(read_percent)
            )
        }
        Traffic::TrimWrite => "trim, then write".to_owned(),
        Traffic::Logged { .. } => "mixed".to_owned(),
    }
}

fn blocks(pattern: &Pattern) -> String {
    let used: Vec<Direction> = Direction::ALL
        .into_iter()
        .filter(|d| pattern.traffic.uses(*d))
        .collect();
    let alike = used
        .iter()
        .all(|d| pattern.block_size[*d] == pattern.block_size[used[0]]);
    if alike {
        return format!("{} blocks", sizes(&pattern.block_size[used[0]]));
    }
    let each = |d: &Direction| format!("{} {}s", sizes(&pattern.block_size[*d]), d.name());
    used.iter().map(each).collect::<Vec<_>>().join(" and ")
}

fn sizes(sizes: &BlockSizes) -> String {
    let (min, max) = (sizes.min(), sizes.max());
    if min == max {
        bytes(min.into())
    } else {
        format!("{} to {}", bytes(min.into()), bytes(max.into()))
    }
}

/// The distribution of addresses, if it is not uniform.
fn distribution(pattern: &Pattern) -> Option<String> {
    if !matches!(pattern.access, Access::Random { .. }) {
        return None;
    }
    let used = Direction::ALL
        .into_iter()
        .filter(|d| pattern.traffic.uses(*d));
    used.map(|d| &pattern.distribution[d])
        .find_map(|distribution| match distribution {
            Distribution::Uniform => None,
            Distribution::Zipf { theta, .. } => Some(format!("zipf {theta}")),
            Distribution::Pareto { power, .. } => Some(format!("pareto {power}")),
            Distribution::Normal { deviation, .. } => Some(format!("normal {deviation} %")),
            Distribution::Aged { .. } => Some("as flash ages".to_owned()),
            Distribution::Zoned(_) | Distribution::ZonedAbs(_) => Some("zoned".to_owned()),
            Distribution::Sequence { blocks, .. } => {
                Some(format!("a sequence of {} blocks", blocks.len()))
            }
        })
}

fn durability(job: &Job) -> Vec<String> {
    let every = |n: u32, call: &str| (n > 0).then(|| format!("{call} every {n} writes"));
    let mode = match job.files.sync_mode {
        SyncMode::None => None,
        SyncMode::Sync => Some("O_SYNC".to_owned()),
        SyncMode::Dsync => Some("O_DSYNC".to_owned()),
    };
    let writes = job.pattern.traffic.uses(Direction::Write);
    let parts = [
        mode,
        every(job.sync.fsync_every, "fsync"),
        every(job.sync.fdatasync_every, "fdatasync"),
        every(job.sync.range_every, "sync_file_range"),
    ];
    if writes {
        parts.into_iter().flatten().collect()
    } else {
        Vec::new()
    }
}

/// The planned rate of all members together: `200 reads per second, Poisson`; `None` in a closed
/// loop.
pub(crate) fn offered(members: &[Member]) -> Option<String> {
    offered_by(&members.iter().map(|member| member.job).collect::<Vec<_>>())
}

fn offered_by(jobs: &[&Job]) -> Option<String> {
    let parts: Vec<String> = Direction::ALL
        .into_iter()
        .filter_map(|d| offered_direction(jobs, d))
        .collect();
    let poisson = jobs.iter().any(|job| job.pace.process == Arrivals::Poisson);
    (!parts.is_empty()).then(|| parts.join(" and ") + if poisson { " (Poisson)" } else { "" })
}

fn offered_direction(jobs: &[&Job], direction: Direction) -> Option<String> {
    let (mut ios, mut bandwidth) = (0.0, 0.0);
    for job in jobs
        .iter()
        .filter(|job| job.pattern.traffic.uses(direction))
    {
        match job.pace.rate[direction] {
            Some(Rate::Iops(n)) => ios += n,
            Some(Rate::Bandwidth(n)) => bandwidth += n,
            None => {}
        }
    }
    let ios = (ios > 0.0).then(|| format!("{} {}s per second", rate(ios), direction.name()));
    let bandwidth = (bandwidth > 0.0).then(|| {
        format!(
            "{} per second of {}s",
            bytes(bandwidth as u64),
            direction.name()
        )
    });
    let parts: Vec<String> = ios.into_iter().chain(bandwidth).collect();
    (!parts.is_empty()).then(|| parts.join(" and "))
}

/// Whether I/Os have due times: from a rate, or from a log.
pub(crate) fn is_open_loop(pace: &Pace) -> bool {
    let by_log = pace.replay.as_ref().is_some_and(|replay| {
        !matches!(
            replay.reading.timing,
            ReplayTiming::AsFast | ReplayTiming::ByDependency
        )
    });
    by_log || pace.rate.iter().any(|(_, rate)| rate.is_some())
}
