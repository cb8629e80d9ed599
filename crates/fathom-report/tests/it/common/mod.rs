//! Findings for tests: made by hand, or read out of a document of the real fio.

use fathom_model::{
    Accounting, Bytes, ClockFacts, Counts, DirectionSummary, DiskCounters, DiskSummary, Entry,
    Findings, GroupDirection, GroupSummary, HostRecording, Job, LatencyKinds, LatencySummary,
    Little, Logs, Nanos, PerDirection, Personality, Plan, RunEnd, Samples, Verdict,
};
use serde_json::Value;

/// A run without entries.
pub fn empty(personality: Personality) -> Findings {
    Findings {
        personality,
        sources: vec![],
        globals: vec![],
        overrides: vec![],
        started_unix_ns: 0,
        elapsed: Nanos::ZERO,
        end: RunEnd::Completed,
        entries: vec![],
        groups: vec![],
        totals: vec![],
        disks: vec![],
        targets: vec![],
        findings: vec![],
        verdict: Verdict::Valid,
        clock: ClockFacts {
            source: "tsc".into(),
            cost_ns: 12.0,
            drift_ppm: 0.4,
        },
        host: HostRecording {
            kernel: "6.1.0".into(),
            build_profile: "release".into(),
            cpus: 2,
            memory: Bytes::from_mib(4096),
            ..HostRecording::default()
        },
        conditions: Default::default(),
        stalls: vec![],
        messages: vec![],
        imported: None,
        spec: None,
        blame: None,
        hosts: vec![],
    }
}

/// A job that did nothing.
pub fn idle(name: &str) -> Entry {
    Entry {
        name: name.into(),
        group: 0,
        description: None,
        options: vec![],
        members: 1,
        tid: 4711,
        workload: String::new(),
        rw: "randread".into(),
        block_sizes: PerDirection::all((4096, 4096)),
        engine: "psync".into(),
        depth: 1,
        error: 0,
        error_text: String::new(),
        errors_continued: None,
        elapsed_s: 1,
        started_unix_ms: 0,
        directions: PerDirection::default(),
        mixed: None,
        show_directions: true,
        sync: LatencySummary::default(),
        fsyncs: None,
        job_runtime: Nanos::ZERO,
        user_percent: 0.0,
        system_percent: 0.0,
        switches: 0,
        major_faults: 0,
        minor_faults: 0,
        depth_levels: [0.0; 7],
        submit_levels: [0.0; 7],
        complete_levels: [0.0; 7],
        latency_ns: [0.0; 10],
        latency_us: [0.0; 10],
        latency_ms: [0.0; 12],
        little: Little::default(),
        latency_kinds: LatencyKinds {
            slat: true,
            clat: true,
            lat: true,
            clat_percentiles: true,
            ..LatencyKinds::default()
        },
        ceiling_iops: None,
        verify: None,
        steady: None,
        latency: None,
        damages: vec![],
        damage_lines: vec![],
        counts: Counts::default(),
        offered: None,
        notes: vec![],
        summary: vec![],
        diagnosis: None,
        series: vec![],
        observed: None,
    }
}

/// The findings that a document of fio's `json+` speaks of.
pub fn from_fio(document: &Value) -> Findings {
    let mut findings = empty(Personality::Fio);
    findings.started_unix_ns = int(&document["timestamp_ms"]) * 1_000_000;
    findings.globals = options(&document["global options"]);
    findings.entries = list(&document["jobs"]).iter().map(entry).collect();
    findings.disks = list(&document["disk_util"]).iter().map(disk).collect();
    findings.groups = groups(&findings.entries);
    findings
}

fn int(value: &Value) -> u64 {
    value.as_u64().unwrap_or(0)
}

fn float(value: &Value) -> f64 {
    value.as_f64().unwrap_or(0.0)
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], |all| &all[..])
}

fn options(value: &Value) -> Vec<(String, Option<String>)> {
    let pairs = value.as_object().into_iter().flatten();
    pairs
        .map(|(name, value)| (name.clone(), value.as_str().map(Into::into)))
        .collect()
}

fn entry(job: &Value) -> Entry {
    let mut entry = idle(job["jobname"].as_str().expect("jobs have names"));
    entry.group = int(&job["groupid"]) as u32;
    entry.description = job["desc"].as_str().map(Into::into);
    entry.options = options(&job["job options"]);
    entry.error = job["error"].as_i64().expect("an errno") as i32;
    entry.elapsed_s = int(&job["elapsed"]);
    entry.depth = int(&job["latency_depth"]) as u32;
    entry.show_directions = job["read"].is_object();
    entry.directions = PerDirection(["read", "write", "trim"].map(|word| direction(&job[word])));
    entry.mixed = job["mixed"].is_object().then(|| direction(&job["mixed"]));
    entry.sync = latency(&job["sync"]["lat_ns"]);
    entry.job_runtime = Nanos::from_millis(int(&job["job_runtime"]));
    (entry.user_percent, entry.system_percent) = (float(&job["usr_cpu"]), float(&job["sys_cpu"]));
    entry.switches = int(&job["ctx"]);
    (entry.major_faults, entry.minor_faults) = (int(&job["majf"]), int(&job["minf"]));
    entry.depth_levels = table(&job["iodepth_level"]);
    entry.submit_levels = table(&job["iodepth_submit"]);
    entry.complete_levels = table(&job["iodepth_complete"]);
    entry.latency_ns = table(&job["latency_ns"]);
    entry.latency_us = table(&job["latency_us"]);
    entry.latency_ms = table(&job["latency_ms"]);
    if job["total_err"].is_u64() {
        entry.errors_continued = Some((int(&job["total_err"]), int(&job["first_error"]) as i32));
    }
    entry.latency_kinds = shows(&entry);
    entry
}

fn table<const N: usize>(value: &Value) -> [f64; N] {
    let shares: Vec<f64> = value
        .as_object()
        .expect("a table")
        .values()
        .map(float)
        .collect();
    shares
        .try_into()
        .expect("as many classes as the contract has")
}

fn shows(entry: &Entry) -> LatencyKinds {
    let ways = || entry.directions.0.iter().chain(&entry.mixed);
    let any = |kind: fn(&DirectionSummary) -> &LatencySummary| {
        ways().any(|way| !kind(way).percentiles.is_empty())
    };
    LatencyKinds {
        slat: true,
        clat: true,
        lat: true,
        slat_percentiles: any(|way| &way.slat),
        clat_percentiles: any(|way| &way.clat)
            || (!entry.sync.percentiles.is_empty() && !any(|way| &way.lat)),
        lat_percentiles: any(|way| &way.lat),
    }
}

fn direction(value: &Value) -> DirectionSummary {
    DirectionSummary {
        bytes: int(&value["io_bytes"]),
        bandwidth: int(&value["bw_bytes"]) as f64,
        iops: float(&value["iops"]),
        runtime_ms: int(&value["runtime"]),
        ios: int(&value["total_ios"]),
        short_ios: int(&value["short_ios"]),
        dropped_ios: int(&value["drop_ios"]),
        slat: latency(&value["slat_ns"]),
        clat: latency(&value["clat_ns"]),
        lat: latency(&value["lat_ns"]),
        bw_samples: samples(value, "bw", "dev"),
        bw_share: float(&value["bw_agg"]),
        iops_samples: samples(value, "iops", "stddev"),
        ..DirectionSummary::default()
    }
}

fn samples(value: &Value, kind: &str, dev: &str) -> Samples {
    let figure = |word: &str| float(&value[format!("{kind}_{word}")]);
    Samples {
        min: figure("min"),
        max: figure("max"),
        mean: figure("mean"),
        dev: figure(dev),
        count: int(&value[format!("{kind}_samples")]),
    }
}

fn latency(value: &Value) -> LatencySummary {
    let pairs = |name: &str| {
        value[name]
            .as_object()
            .into_iter()
            .flatten()
            .map(|(key, n)| (key.clone(), int(n)))
    };
    LatencySummary {
        min: int(&value["min"]),
        max: int(&value["max"]),
        mean: float(&value["mean"]),
        stddev: float(&value["stddev"]),
        n: int(&value["N"]),
        percentiles: pairs("percentile")
            .map(|(key, ns)| (key.parse().expect("a percentile"), ns))
            .collect(),
        bins: pairs("bins")
            .map(|(key, n)| (key.parse().expect("a latency"), n))
            .collect(),
        overflow: 0,
    }
}

fn disk(value: &Value) -> DiskSummary {
    let delta = DiskCounters {
        read_ios: int(&value["read_ios"]),
        write_ios: int(&value["write_ios"]),
        read_merges: int(&value["read_merges"]),
        write_merges: int(&value["write_merges"]),
        read_ticks: int(&value["read_ticks"]),
        write_ticks: int(&value["write_ticks"]),
        time_in_queue: int(&value["in_queue"]),
        ..DiskCounters::default()
    };
    DiskSummary {
        name: value["name"].as_str().expect("a name").into(),
        delta,
        util: float(&value["util"]),
        size: None,
    }
}

/// Group lines as the manual describes them: sums, and extremes of the members.
fn groups(entries: &[Entry]) -> Vec<GroupSummary> {
    let last = entries.iter().map(|entry| entry.group).max().unwrap_or(0);
    (0..=last)
        .map(|number| {
            group(
                number,
                entries
                    .iter()
                    .filter(|entry| entry.group == number)
                    .collect(),
            )
        })
        .collect()
}

fn group(number: u32, members: Vec<&Entry>) -> GroupSummary {
    let apart = |way| group_direction(members.iter().map(|entry| &entry.directions[way]).collect());
    let directions = PerDirection::from_fn(apart);
    let mixed: Vec<_> = members
        .iter()
        .filter_map(|entry| entry.mixed.as_ref())
        .collect();
    let mut mixed = group_direction(mixed);
    let ways = || directions.0.iter().flatten();
    if let Some(mixed) = mixed.as_mut().filter(|_| ways().next().is_some()) {
        // Where directions are shown too, the extremes of the mix are those of the directions.
        mixed.min_bandwidth = ways().map(|way| way.min_bandwidth).fold(f64::MAX, f64::min);
        mixed.max_bandwidth = ways().map(|way| way.max_bandwidth).fold(0.0, f64::max);
    }
    GroupSummary {
        group: number,
        directions,
        mixed,
    }
}

fn group_direction(members: Vec<&DirectionSummary>) -> Option<GroupDirection> {
    let ran: Vec<_> = members
        .into_iter()
        .filter(|way| way.runtime_ms > 0)
        .collect();
    let longest = ran.iter().map(|way| way.runtime_ms).max()?;
    let bytes: u64 = ran.iter().map(|way| way.bytes).sum();
    let rates = || {
        ran.iter()
            .map(|way| (way.bytes * 1000 / way.runtime_ms) as f64)
    };
    Some(GroupDirection {
        bandwidth: (bytes * 1000 / longest) as f64,
        min_bandwidth: rates().fold(f64::MAX, f64::min),
        max_bandwidth: rates().fold(0.0, f64::max),
        bytes,
        min_runtime_ms: ran.iter().map(|way| way.runtime_ms).min()?,
        max_runtime_ms: longest,
    })
}

/// A plan of these jobs.
pub fn plan(jobs: Vec<Job>) -> Plan {
    Plan {
        personality: Personality::Fio,
        jobs,
        ..Plan::default()
    }
}

/// A job whose logs are `logs`.
pub fn job(name: &str, number: u32, logs: Logs) -> Job {
    Job {
        name: name.into(),
        number,
        section: number - 1,
        accounting: Accounting {
            slat: true,
            clat: true,
            lat: true,
            logs,
            ..Accounting::default()
        },
        ..Job::default()
    }
}
