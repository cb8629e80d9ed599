//! Sentences about a plan.

use fathom_model::{Amount, Direction, FileEstimate, Job, Plan, Rate};

use super::EstimatedJob;
use super::amount::{amounts, planned};
use crate::distinct_blocks::{distinct_blocks, name, skewed};
use crate::figures::{bytes, count, percent, rate};
use fathom_model::format::{duration, exact_time};

/// Limit of listed regions; more are counted.
const MAX_LISTED: usize = 4;

/// Preparation of a file before the first I/O.
pub(super) fn layout(file: &FileEstimate) -> Option<String> {
    let (path, there, size) = (
        file.path.display(),
        file.current_size.get(),
        file.size.get(),
    );
    let what = if there == 0 {
        "is created".to_owned()
    } else {
        format!("grows from {}", bytes(there))
    };
    match (there < size, file.needs_data) {
        (true, true) => Some(format!(
            "{path} {what}, and {} of incompressible data are written to it",
            bytes(size - there)
        )),
        (true, false) => Some(format!("{path} {what}, with room for {}", bytes(size))),
        (false, true) if size > 0 => Some(format!(
            "{path} exists with {}; holes in its first {} are filled",
            bytes(there),
            bytes(size)
        )),
        (false, _) => None,
    }
}

/// When a job begins within its step.
pub(super) fn begins(job: &Job, waits_for: Option<&str>) -> String {
    let (low, high) = job.start.delay;
    let delay = match (low, high) {
        (_, high) if high.is_zero() => None,
        (low, high) if low == high => Some(format!("{} later (startdelay)", exact_time(high))),
        (low, high) => Some(format!(
            "{} to {} later (startdelay)",
            exact_time(low),
            exact_time(high)
        )),
    };
    let after = waits_for.map(|name| format!("when all of {name} has ended (wait_for)"));
    let parts: Vec<String> = after.into_iter().chain(delay).collect();
    if parts.is_empty() {
        "with the step".to_owned()
    } else {
        parts.join(", ")
    }
}

/// The regions of the clones; equal regions are listed once.
pub(super) fn places(clones: &[EstimatedJob]) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for (path, start, end) in clones.iter().flat_map(|clone| &clone.of.regions) {
        let place = match (path.as_os_str().is_empty(), start) {
            (true, _) => format!("no file, {}", bytes(end - start)),
            (false, 0) => format!("{}, its first {}", path.display(), bytes(*end)),
            (false, start) => format!(
                "{}, {} from byte {}",
                path.display(),
                bytes(end - start),
                count(*start)
            ),
        };
        if !all.contains(&place) {
            all.push(place);
        }
    }
    let more = all.len().saturating_sub(MAX_LISTED);
    if more > 1 {
        all.truncate(MAX_LISTED);
        all.push(format!("and {more} more"));
    }
    all
}

/// The amount and its reason: size, loops, io_size and number_ios in one sentence.
pub(super) fn amount(clones: &[EstimatedJob]) -> String {
    let first = &clones[0];
    let who = if clones.len() > 1 {
        format!("each of {} clones ", clones.len())
    } else {
        String::new()
    };
    let moved: Vec<String> = amounts(first)
        .iter()
        .filter(|(_, amount)| amount.max != Some(0))
        .map(|(d, amount)| moves(first, d, *amount))
        .collect();
    format!("{who}{}{}", moved.join(" and "), because(first))
}

fn moves(one: &EstimatedJob, direction: Direction, amount: Amount) -> String {
    let verb = if clones_reads_back(one, direction) {
        "reads back".to_owned()
    } else {
        format!("{}s", direction.name())
    };
    let about = if matches!(
        one.job.pattern.traffic,
        fathom_model::Traffic::ReadWrite { .. }
    ) {
        "about "
    } else {
        ""
    };
    match (amount.max, amount.min) {
        (None, _) => format!("{verb} as much as it can"),
        (Some(most), least) if most == least => format!("{verb} {about}{}", bytes(most)),
        (Some(most), _) => format!("{verb} at most {}", bytes(most)),
    }
}

fn clones_reads_back(one: &EstimatedJob, direction: Direction) -> bool {
    direction == Direction::Read && !one.job.pattern.traffic.uses(Direction::Read)
}

fn because(one: &EstimatedJob) -> String {
    if let Some(replay) = &one.job.pace.replay {
        return format!(" (all of {})", replay.log);
    }
    let region: u64 = one
        .of
        .regions
        .iter()
        .map(|(_, start, end)| end - start)
        .sum();
    let over = bytes(region);
    let reasons = match (one.of.passes, one.of.bytes, one.of.ios) {
        (_, _, Some(ios)) => format!("{} I/Os (number_ios) over {over}", count(ios)),
        (_, Some(_), _) if one.job.limits.io_size.is_some() => {
            format!("io_size, over a region of {over}")
        }
        (_, Some(_), _) => format!("size, over files of {over}"),
        (Some(1), ..) => format!("once over {over}"),
        (Some(passes), ..) => format!("{} loops over {over}", count(passes)),
        (None, None, None) => format!("repeatedly over {over}, until the run time is over"),
    };
    format!(" ({reasons})")
}

/// How many different blocks a skewed job touches: exact arithmetic on its distribution.
pub(super) fn repeats(one: &EstimatedJob) -> Option<String> {
    let (distribution, block) = skewed(&one.job.pattern)?;
    let [(_, start, end)] = one.of.regions.as_slice() else {
        return None;
    };
    let blocks = (end - start) / block;
    let limit = one.of.ios.or_else(|| Some(planned(one)? / block));
    let draws = limit.unwrap_or(blocks);
    let ios = if limit.is_some() {
        count(draws)
    } else {
        format!("{} (as many as blocks)", count(draws))
    };
    let distinct = distinct_blocks(distribution, blocks, draws).filter(|_| draws > 0)?;
    Some(format!(
        "{} over {} blocks: {ios} I/Os touch {} different blocks (expected value), {} of the I/Os repeat one",
        name(distribution),
        count(blocks),
        count(distinct.round() as u64),
        percent(100.0 * (1.0 - distinct / draws as f64)),
    ))
}

/// What ends a job.
pub(super) fn ends(one: &EstimatedJob) -> String {
    let limits = &one.job.limits;
    let ramp = if limits.ramp.is_zero() {
        String::new()
    } else {
        format!(
            " after {} of warm-up that is not measured",
            exact_time(limits.ramp)
        )
    };
    let by_amount = planned(one).is_some();
    let mut text = match limits.runtime {
        Some(run) if !by_amount => format!("after {}{ramp}", exact_time(run)),
        Some(run) => format!(
            "when its amount is done, at the latest after {}{ramp}",
            exact_time(run)
        ),
        None => format!("when its amount is done{ramp}"),
    };
    if let Some(replay) = one
        .job
        .pace
        .replay
        .as_ref()
        .filter(|replay| !replay.length.is_zero())
    {
        text += &format!(
            ", the last I/O being due {} after its start",
            duration(replay.length.get() as f64)
        );
    }
    text += &rates(one.job);
    if one
        .job
        .verify
        .as_ref()
        .is_some_and(|verify| verify.after_writes && !verify.only)
    {
        text += "; then the written data is read back and verified";
    }
    if one.job.exit.exit_all {
        text += "; its end also ends other jobs (exitall)";
    }
    text
}

fn rates(job: &Job) -> String {
    let used = Direction::ALL
        .into_iter()
        .filter(|d| job.pattern.traffic.uses(*d));
    let parts = used.filter_map(|d| {
        job.pace.rate[d].map(|planned| match planned {
            Rate::Iops(n) => format!("{} {}s per second", rate(n), d.name()),
            Rate::Bandwidth(n) => format!("{} of {}s per second", bytes(n as u64), d.name()),
        })
    });
    let parts: Vec<String> = parts.collect();
    if parts.is_empty() {
        String::new()
    } else {
        format!(", at {}", parts.join(" and "))
    }
}

/// The entries of the result: one for each job, or one for adjacent jobs of a group with
/// `group_reporting`.
pub(super) fn entries(plan: &Plan) -> Vec<String> {
    let mut all: Vec<Vec<&Job>> = Vec::new();
    for job in &plan.jobs {
        let joins = |last: &&mut Vec<&Job>| {
            job.group_reporting && last[0].group_reporting && last[0].group == job.group
        };
        match all.last_mut().filter(joins) {
            Some(last) => last.push(job),
            None => all.push(vec![job]),
        }
    }
    let mut parts: Vec<(String, usize)> = Vec::new();
    for text in all.iter().map(|jobs| entry(jobs)) {
        match parts.last_mut().filter(|(last, _)| *last == text) {
            Some((_, times)) => *times += 1,
            None => parts.push((text, 1)),
        }
    }
    parts
        .into_iter()
        .map(|(text, times)| {
            if times > 1 {
                format!("{text}, one for each of {times} clones")
            } else {
                text
            }
        })
        .collect()
}

fn entry(jobs: &[&Job]) -> String {
    let mut names: Vec<&str> = jobs.iter().map(|job| job.name.as_str()).collect();
    names.dedup();
    let (name, group) = (&jobs[0].name, jobs[0].group);
    match (jobs.len(), names.len()) {
        (1, _) => format!("{name} (group {group})"),
        (all, 1) => format!("{name} (group {group}): its {all} clones together"),
        (all, _) => format!(
            "{name} (group {group}): {all} jobs together, of {}",
            names.join(", ")
        ),
    }
}
