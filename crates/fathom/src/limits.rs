//! `fathom limits`: the limits of a volume, measured on purpose.

use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use fathom_analyse::provider_limits::{
    COUNTED_SIZES, CountedForm, LimitEstimate, LimitsInput, LimitsReport, LimitsVerdict,
    limits_report,
};
use fathom_cli::LimitsArgs;
use fathom_device::EbsStats;
use fathom_device::volumes::{MeasuredVolume, Recognised, parse_volumes, recognise};
use fathom_linux::interrupts;
use fathom_model::format::{duration, size as size_text};
use fathom_model::{Bytes, DeviceFacts, Entry, Findings, Nanos, Recording, RunEnd, Verdict};
use fathom_plan::{LIMITS_DRAIN, LIMITS_ONE, LIMITS_REFILL, LIMITS_SIZE, LimitsPlan};
use serde_json::{Value, json};

use crate::cli;
use crate::experiment_target::{self, ExperimentTarget, TargetRequest};
use crate::outcome::Outcome;
use crate::print::{eprint_line, note_line, print, print_to};
use crate::quick::run_jobs;
use crate::result_store::{self, RunWriter};
use crate::session::Session;

/// The file that is created in a directory, and its size at most.
const FILE: &str = "fathom-limits.data";
const SIZE: u64 = 256 << 20;
/// The job file in messages.
const JOB_FILE: &str = "limits.fio";
/// I/Os in flight: enough for 32,000 IOPS at a millisecond.
const DEPTH: u32 = 32;
/// The known volumes.
pub const VOLUMES: (&str, &str) = (
    "volumes/volumes.toml",
    include_str!("../../../volumes/volumes.toml"),
);
/// Findings that mean that the volume itself was not measured.
const NOT_THE_VOLUME: [&str; 4] = [
    "DIRECT_NOT_DIRECT",
    "PAGE_CACHE",
    "MEMORY_BACKED",
    "LOOP_BUFFERED",
];

/// Measures the limits of the target that the arguments name.
pub fn command(arguments: &[String]) -> Outcome {
    cli::measuring_command(arguments, |session, args: LimitsArgs| {
        Ok(limits(session, &args).unwrap_or_else(|message| {
            eprint_line!("fathom limits: {message}");
            if interrupts().load(Relaxed) == 0 {
                Outcome::Refused
            } else {
                Outcome::Interrupted
            }
        }))
    })
}

fn limits(session: &Session, args: &LimitsArgs) -> Result<Outcome, String> {
    let request = TargetRequest {
        path: &args.path,
        name: FILE,
        size: None,
        read_only: args.read_only,
        create: args.create,
    };
    let mut target = experiment_target::resolve_target(session, request)?;
    if target.made {
        target.size = target.size.map(|size| size.min(Bytes::new(SIZE)));
    }
    let plan = plan(args, &target)?;
    if args.dry_run {
        return Ok(print(&plan.measure()));
    }
    interrupts();
    note_line!("{}", cost(args, &plan, &target));
    let outcome = measured(session, args, &target, &plan);
    if target.made && !args.keep {
        experiment_target::remove_created(session, "fathom limits", &target.file);
    }
    outcome
}

fn plan(args: &LimitsArgs, target: &ExperimentTarget) -> Result<LimitsPlan, String> {
    LimitsPlan::new(
        &target.file,
        target.size,
        false,
        DEPTH,
        nanos(args.runtime),
        &COUNTED_SIZES[1..],
    )
    .map_err(|error| format!("{}: {error}", target.file.display()))
}

fn nanos(time: Duration) -> Nanos {
    Nanos::new(time.as_nanos() as u64)
}

/// What the measurement costs, before it begins.
fn cost(args: &LimitsArgs, plan: &LimitsPlan, target: &ExperimentTarget) -> String {
    let time = |time: Nanos| duration(time.get() as f64);
    let written = match target.size {
        Some(size) if target.writes => format!(", and before it {} are written", size_text(size)),
        _ => String::new(),
    };
    format!(
        "fathom limits: takes {}{written}. {} of reads drain the bucket, so that the volume is at its base rate afterwards until the \
         bucket has filled; a burst that lasts longer is not seen to end (--runtime).",
        time(nanos(args.runtime)),
        time(plan.drain_time()),
    )
}

/// Lays out, measures and reports.
fn measured(
    session: &Session,
    args: &LimitsArgs,
    target: &ExperimentTarget,
    plan: &LimitsPlan,
) -> Result<Outcome, String> {
    if target.writes {
        match run_jobs(session, JOB_FILE, plan.layout(), None, None) {
            Ok((_, findings)) if findings.end != RunEnd::Completed => {
                return Ok(Outcome::Interrupted);
            }
            Ok((_, findings)) if findings.verdict != Verdict::Invalid => {}
            Ok((_, findings)) => return Ok(undecided(&first_problem(&findings))),
            Err(message) => return Ok(undecided(&message)),
        }
    }
    let jobs = plan.measure();
    let name = result_store::path_name(&target.file);
    let experiment = result_store::experiment(session, "limits", name, jobs.clone());
    let mut writer = RunWriter::begin(session, "fathom limits", &args.store, &experiment);
    let device = session
        .inspect(&target.file)
        .devices
        .last()
        .map(|device| device.before.clone());
    let read_counters = || session.volume_counters(device.as_ref()?);
    let counters = read_counters();
    let (recording, findings) = match run_jobs(session, JOB_FILE, jobs, Some(&mut writer), None) {
        Ok(measured) => measured,
        Err(message) => {
            writer.remove();
            return Ok(undecided(&message));
        }
    };
    let counted = counters
        .zip(read_counters())
        .map(|(before, after)| after.since(&before));
    finish(
        args,
        &target.display_name,
        plan,
        writer,
        (recording, findings),
        (device.as_ref(), counted),
    )
}

/// Reports and stores the measurements.
fn finish(
    args: &LimitsArgs,
    name: &str,
    plan: &LimitsPlan,
    writer: RunWriter,
    (recording, findings): (Recording, Findings),
    (device, counters): (Option<&DeviceFacts>, Option<EbsStats>),
) -> Result<Outcome, String> {
    let problem = problem(&findings);
    let report = report(&findings, plan);
    let volume = report
        .as_ref()
        .and_then(|report| looks_like(report, device));
    let facts = report
        .as_ref()
        .filter(|_| problem.is_none())
        .map(|report| ("limits".to_owned(), report.sentence.clone()));
    let end = findings.end;
    writer.finish(recording, &findings, facts.into_iter().collect());
    if end != RunEnd::Completed {
        return Ok(Outcome::Interrupted);
    }
    let (Some(report), None) = (&report, &problem) else {
        let why = problem.unwrap_or_else(|| "nothing was measured".to_owned());
        if args.result.is_json() {
            let document = json!({"limits": {"verdict": "undecided", "reason": why}});
            print_to(args.result.output.as_deref(), &format!("{document:#}\n"));
        }
        return Ok(undecided(&why));
    };
    let text = if args.result.is_json() {
        let document =
            json!({"limits": document(name, report, volume.as_ref(), counters.as_ref())});
        format!("{document:#}\n")
    } else {
        lines(name, report, volume.as_ref(), counters.as_ref())
    };
    Ok(print_to(args.result.output.as_deref(), &text))
}

fn undecided(why: &str) -> Outcome {
    eprint_line!("fathom limits: undecided: {why}");
    Outcome::Undecided
}

fn first_problem(findings: &Findings) -> String {
    findings
        .findings
        .first()
        .map_or("the run is invalid".to_owned(), |finding| {
            format!("{}: {}", finding.code, finding.evidence)
        })
}

/// Why the measurements say nothing about the volume.
fn problem(findings: &Findings) -> Option<String> {
    if findings.verdict == Verdict::Invalid {
        return Some(first_problem(findings));
    }
    let memory = findings
        .findings
        .iter()
        .find(|finding| NOT_THE_VOLUME.contains(&finding.code))?;
    Some(format!(
        "{}; memory answers such reads, so that the limits of the volume are not met. Give a file system or device with direct I/O",
        memory.evidence.trim_end_matches('.')
    ))
}

/// The analysis of the jobs.
fn report(findings: &Findings, plan: &LimitsPlan) -> Option<LimitsReport> {
    let named = |name: &str| findings.entries.iter().find(|entry| entry.name == name);
    let sizes: Vec<(u64, &Entry)> = COUNTED_SIZES
        .iter()
        .filter_map(|size| Some((*size, named(&format!("{LIMITS_SIZE}{}k", size >> 10))?)))
        .collect();
    Some(limits_report(&LimitsInput {
        drain: named(LIMITS_DRAIN)?,
        one: named(LIMITS_ONE),
        sizes: &sizes,
        refill: named(LIMITS_REFILL),
        idle: plan.idle_time(),
    }))
}

/// The volume that has these limits.
fn looks_like(report: &LimitsReport, device: Option<&DeviceFacts>) -> Option<Recognised> {
    let limit = report.limit?;
    let bandwidth = match report.counted.map(|counted| counted.form) {
        Some(CountedForm::Bytes { bytes_per_s } | CountedForm::Both { bytes_per_s, .. }) => {
            Some(bytes_per_s)
        }
        _ => None,
    };
    let volumes = match parse_volumes(VOLUMES.0, VOLUMES.1) {
        Ok(volumes) => volumes,
        Err(error) => {
            eprint_line!("fathom limits: {error}");
            return None;
        }
    };
    let measured = MeasuredVolume {
        iops: Some(limit.base.value),
        burst_iops: limit.burst.map(|burst| burst.value),
        bucket_ios: limit.burst.map(|_| limit.bucket.value),
        bandwidth,
        gib: device
            .map(|device| device.size.get() as f64 / f64::from(1 << 30))
            .filter(|gib| *gib >= 1.0),
    };
    Some(recognise(&measured, &volumes))
}

fn volume_text(volume: &Recognised) -> String {
    match volume {
        Recognised::One(one) => one.text(),
        Recognised::Several(all) => {
            let names: Vec<String> = all.iter().map(|one| one.name.clone()).collect();
            format!("ambiguous: {} fit equally well", names.join(", "))
        }
        Recognised::None => "no known volume".to_owned(),
    }
}

/// The report as text.
fn lines(
    name: &str,
    report: &LimitsReport,
    volume: Option<&Recognised>,
    counters: Option<&EbsStats>,
) -> String {
    let mut text = format!("{name}: reads of 4 KiB, queue depth {DEPTH}\n\n");
    let mut rows = report.rows.clone();
    if let Some(volume) = volume {
        rows.push(("looks like", volume_text(volume)));
    }
    if let Some(counters) = counters {
        rows.push((
            "EBS counters",
            counters.exceeded().map_or(
                "no limit of the volume or the instance was exceeded".to_owned(),
                |(what, time)| format!("{what} was exceeded for {}", duration(time.get() as f64)),
            ),
        ));
    }
    for (label, value) in rows {
        text += &format!("  {label:<12} {value}\n");
    }
    text + &format!("\n{}\n", report.sentence)
}

fn estimate(value: LimitEstimate) -> Value {
    json!({"value": value.value, "low": value.low, "high": value.high})
}

/// The report as JSON. Rates are I/Os and bytes per second, times seconds.
fn document(
    name: &str,
    report: &LimitsReport,
    volume: Option<&Recognised>,
    counters: Option<&EbsStats>,
) -> Value {
    let counts = report.counted.map(|counted| {
        let mut form = match counted.form {
            CountedForm::Ios { iops } => json!({"what": "ios", "iops": iops}),
            CountedForm::Bytes { bytes_per_s } => {
                json!({"what": "bytes", "bytes_per_s": bytes_per_s})
            }
            CountedForm::IosOf { unit, iops } => {
                json!({"what": "ios of a size", "unit_bytes": unit, "iops": iops})
            }
            CountedForm::Both { iops, bytes_per_s } => {
                json!({"what": "ios and bytes", "iops": iops, "bytes_per_s": bytes_per_s})
            }
        };
        form["worst_difference_percent"] = json!(counted.worst * 100.0);
        form
    });
    let limit = report.limit.map(|limit| {
        let is_bucket = report.verdict == LimitsVerdict::Bucket;
        json!({
            "base_iops": estimate(limit.base),
            "burst_iops": limit.burst.map(estimate),
            "bucket_ios": is_bucket.then(|| estimate(limit.bucket)),
            "empty_after_s": is_bucket.then_some(limit.dry_at_s),
            "holds_s": limit.holds_s().filter(|_| is_bucket),
            "full_after_s": is_bucket.then(|| limit.full_after_s()),
        })
    });
    let sizes: Vec<Value> = report
        .sizes
        .iter()
        .map(|point| json!({"block_bytes": point.bytes, "iops": estimate(point.iops)}))
        .collect();
    let volumes = match volume {
        Some(Recognised::One(one)) => vec![one.clone()],
        Some(Recognised::Several(all)) => all.clone(),
        Some(Recognised::None) | None => Vec::new(),
    };
    let volumes: Vec<Value> = volumes
        .iter()
        .map(|one| {
            json!({"name": one.name, "provider": one.provider, "gib": one.gib, "worst_difference_percent": one.worst() * 100.0})
        })
        .collect();
    let ebs = counters.map(|ebs| {
        json!({
            "volume_iops_exceeded_us": ebs.volume_iops_exceeded_us,
            "volume_bandwidth_exceeded_us": ebs.volume_bandwidth_exceeded_us,
            "instance_iops_exceeded_us": ebs.instance_iops_exceeded_us,
            "instance_bandwidth_exceeded_us": ebs.instance_bandwidth_exceeded_us,
        })
    });
    json!({
        "target": name,
        "verdict": report.verdict.name(),
        "sentence": report.sentence,
        "limit": limit,
        "counts": counts,
        "sizes": sizes,
        "mean_iops": report.mean_iops,
        "refill_ios_per_s": report.refill,
        "was_full_again": report.was_full,
        "latency_alone_s": report.one_ns.map(|ns| ns / 1e9),
        "looks_like": volumes,
        "ebs_counters": ebs,
    })
}
