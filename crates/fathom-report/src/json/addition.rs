//! The `fathom` key: verdict, findings, conditions, and the data of each entry that fio's keys lack.

use fathom_model::{
    Counts, Damage, Diagnosis, Direction, DirectionSummary, Entry, Finding, Findings, HostSummary,
    Little, MergedInterval, MergedIntervalDirection, Override, ProgramEnd, Provenance, Stall,
    TotalSummary, VerifyCounts, WatchedProcess, Witnessed, WriteIdentity,
};

use super::conditions::conditions;
use super::direction::latency;
use super::simulated_object;
use super::spec::spec_object;
use crate::names::{damage_class_name, end_name, second_read_name};
use crate::tree::{Fields, Object, Tree, Value};

/// Version of the layout below; an incompatible change increments it.
const VERSION: u64 = 1;

/// `plus` adds the time series, as it adds bins to fio's keys.
pub(super) fn addition(findings: &Findings, plus: bool) -> Fields<'_> {
    let mut object = Fields::new().with("version", VERSION);
    if let Some(simulated) = &findings.host.simulated {
        object.push("simulated", simulated_object(simulated));
    }
    if let Some(one) = &findings.host.witnessed {
        object.push("witnessed", witnessed(one));
    }
    object = object
        .with("verdict", findings.verdict.name())
        .with(
            "findings",
            findings.findings.iter().map(finding).collect::<Tree>(),
        )
        .with("sources", findings.sources.iter().collect::<Tree>())
        .with(
            "overrides",
            findings.overrides.iter().map(override_).collect::<Tree>(),
        )
        .with("messages", findings.messages.iter().collect::<Tree>())
        .with("end", end_name(findings.end))
        .with("started_unix_ns", findings.started_unix_ns)
        .with("elapsed_ns", findings.elapsed.get())
        .with("clock", clock(findings))
        .with("host", host(findings))
        .with(
            "stalls",
            findings.stalls.iter().map(stall).collect::<Tree>(),
        )
        .with("conditions", conditions(&findings.conditions))
        .with(
            "targets",
            findings
                .targets
                .iter()
                .map(super::devices::target)
                .collect::<Tree>(),
        )
        .with(
            "entries",
            Value::each(&findings.entries, move |one| entry(one, plus)),
        );
    if !findings.totals.is_empty() {
        object.push(
            "totals",
            findings.totals.iter().map(total).collect::<Tree>(),
        );
    }
    if !findings.hosts.is_empty() {
        object.push(
            "hosts",
            findings.hosts.iter().map(one_host).collect::<Tree>(),
        );
    }
    if let Some(sheet) = &findings.blame {
        object.push("blame", super::blame::blame(sheet));
    }
    if let Some(spec) = &findings.spec {
        object.push("spec", spec_object(spec));
    }
    object
}

/// One host of a run on several hosts. `late_ns` is the start of its first job after the planned instant.
fn one_host(host: &HostSummary) -> Object {
    Object::new()
        .with("name", &host.name)
        .with("jobs", host.jobs)
        .with("lost", host.lost.as_ref())
        .with("counts", counts(&host.counts))
        .with("iops", host.iops)
        .with("bw_bytes", host.bandwidth)
        .with("clat_mean_ns", host.mean_ns)
        .with("clat_p99_ns", host.p99_ns)
        .with("late_ns", Tree::Signed(host.late_ns))
        .with("late_bound_ns", host.late_bound_ns)
        .with("wall_clock_offset_ns", Tree::Signed(host.wall_offset_ns))
        .with("kernel", &host.kernel)
        .with("cpus", host.cpus)
        .with("targets", host.targets.iter().collect::<Tree>())
}

/// A watched command. Counters have the names of proc_pid_io(5).
fn witnessed(one: &Witnessed) -> Object {
    let processes = |all: &[WatchedProcess]| {
        all.iter()
            .map(|one| {
                Object::new()
                    .with("pid", one.process)
                    .with("name", &one.name)
            })
            .collect::<Tree>()
    };
    let (code, signal) = match one.ended {
        ProgramEnd::Code(code) => (Some(code), None),
        ProgramEnd::Signal(signal) => (None, Some(signal)),
    };
    let object = Object::new()
        .with("command", one.command.iter().collect::<Tree>())
        .with("exit_code", code)
        .with("signal", signal)
        .with("processes", one.processes)
        .with("servers", processes(&one.servers))
        .with("left", processes(&one.left))
        .with(
            "io",
            Object::new()
                .with("rchar", one.io.read_bytes)
                .with("wchar", one.io.written_bytes)
                .with("syscr", one.io.read_calls)
                .with("syscw", one.io.write_calls)
                .with("read_bytes", one.io.device_read_bytes)
                .with("write_bytes", one.io.device_written_bytes)
                .with("cancelled_write_bytes", one.io.cancelled_bytes),
        )
        .with("user_ns", one.user.get())
        .with("system_ns", one.system.get())
        .with(
            "disks",
            one.disks
                .iter()
                .map(|disk| {
                    Object::new()
                        .with("name", &disk.name)
                        .with("reads", disk.reads)
                        .with("read_bytes", disk.read_bytes)
                        .with("writes", disk.writes)
                        .with("written_bytes", disk.written_bytes)
                })
                .collect::<Tree>(),
        )
        .with(
            "files",
            one.files
                .iter()
                .map(|file| {
                    Object::new()
                        .with("path", file.path.display().to_string())
                        .with("reads", file.reads)
                        .with("writes", file.writes)
                        .with("direct", file.direct)
                        .with("disk", file.disk.as_ref())
                        .with("memory_backed", file.memory_backed)
                })
                .collect::<Tree>(),
        )
        .with("unknown", one.unknown.iter().collect::<Tree>());
    if one.application.is_empty() {
        return object;
    }
    object.with("application", one.application.iter().collect::<Tree>())
}

/// The same of an imported result, which has fewer data.
pub(super) fn imported<'a>(findings: &'a Findings, source: &Provenance, plus: bool) -> Fields<'a> {
    let imported = Object::new()
        .with("program", &source.program)
        .with("files", source.files.iter().collect::<Tree>())
        .with("unknown", source.unknown.iter().collect::<Tree>())
        .with("notes", source.notes.iter().collect::<Tree>());
    Fields::new()
        .with("version", VERSION)
        .with("imported", imported)
        .with("verdict", findings.verdict.name())
        .with(
            "findings",
            findings.findings.iter().map(finding).collect::<Tree>(),
        )
        .with("started_unix_ns", findings.started_unix_ns)
        .with("elapsed_ns", findings.elapsed.get())
        .with(
            "entries",
            Value::each(&findings.entries, move |one| imported_entry(one, plus)),
        )
}

/// An imported entry. Its intervals contain their distributions, because there is no recording.
fn imported_entry(entry: &Entry, plus: bool) -> Fields<'_> {
    let size = |direction: Direction| entry.block_sizes[direction].0;
    let mut figures = Fields::new()
        .with("name", &entry.name)
        .with("workload", &entry.workload)
        .with("members", entry.members)
        .with("depth", entry.depth)
        .with("rw", &entry.rw)
        .with(
            "block_sizes",
            Direction::ALL
                .into_iter()
                .map(|direction| Tree::Int(u64::from(size(direction))))
                .collect::<Tree>(),
        )
        .with("littles_law", little(&entry.little));
    if plus {
        figures.push(
            "series",
            Value::each(&entry.series, |one| moment_with(one, &imported_direction)),
        );
    }
    figures
}

fn imported_direction(figures: &MergedIntervalDirection) -> Object {
    let mut object = moment_direction(figures);
    if !figures.latencies.is_empty() {
        let histogram = figures.latencies.unpack();
        let bins = histogram
            .buckets()
            .map(|(middle, n)| ((middle as u64).to_string(), Tree::Int(n)));
        object.push("bins", Object::of(bins));
    }
    object
}

/// Jobs that ran at the same time, as one load.
fn total(total: &TotalSummary) -> Object {
    let mut object = Object::new()
        .with("names", total.names.iter().collect::<Tree>())
        .with("jobs", total.jobs)
        .with("span_ns", total.span.get())
        .with("littles_law", little(&total.little))
        .with("sentence", &total.sentence);
    for (way, sum) in total.directions.iter().filter(|(_, sum)| sum.ios > 0) {
        object.push(
            way.name(),
            Object::new()
                .with("ios", sum.ios)
                .with("bytes", sum.bytes)
                .with("iops", sum.iops)
                .with("bw_bytes", sum.bandwidth)
                .with("clat_ns", latency(&sum.clat, true, false)),
        );
    }
    object
}

fn finding(finding: &Finding) -> Object {
    Object::new()
        .with("id", finding.id)
        .with("code", finding.code)
        .with("weight", finding.weight.name())
        .with("about", finding.about.as_ref())
        .with("evidence", &finding.evidence)
        .with("advice", &finding.advice)
        .with(
            "when",
            finding
                .when
                .iter()
                .map(|span| {
                    Object::new()
                        .with("from_ns", span.from.get())
                        .with("to_ns", span.to.get())
                })
                .collect::<Value>(),
        )
}

fn override_(one: &Override) -> Object {
    Object::new()
        .with("job", one.job.as_ref())
        .with("option", &one.option)
        .with("value", &one.value)
}

fn clock(findings: &Findings) -> Object {
    let clock = &findings.clock;
    Object::new()
        .with("source", &clock.source)
        .with("cost_ns", clock.cost_ns)
        .with("drift_ppm", clock.drift_ppm)
}

fn stall(stall: &Stall) -> Object {
    Object::new()
        .with("at_ns", stall.at.get())
        .with("lasted_ns", stall.lasted.get())
}

fn host(findings: &Findings) -> Object {
    let host = &findings.host;
    let build_profile = Some(&host.build_profile).filter(|profile| !profile.is_empty());
    Object::new()
        .with("kernel", &host.kernel)
        .with("build_profile", build_profile)
        .with("cpus", host.cpus)
        .with("memory_bytes", host.memory.get())
        .with("steal_percent", host.steal_percent)
        .with("cpu_throttles", host.cpu_throttles)
        .with("busy_percent", host.busy_percent)
}

fn entry(entry: &Entry, plus: bool) -> Fields<'_> {
    let mut figures = Fields::new()
        .with("name", &entry.name)
        .with("groupid", entry.group)
        .with("workload", &entry.workload)
        .with("engine", &entry.engine)
        .with("offered_load", entry.offered.as_ref())
        .with("littles_law", little(&entry.little))
        .with("ceiling_iops", entry.ceiling_iops)
        .with("limit", entry.diagnosis.as_ref().map(diagnosis))
        .with("counts", counts(&entry.counts))
        .with("summary", entry.summary.iter().collect::<Tree>())
        .with("notes", entry.notes.iter().collect::<Tree>());
    for (way, summary) in entry
        .directions
        .iter()
        .filter(|(_, summary)| summary.counts.planned > 0)
    {
        figures.push(way.name(), direction(summary));
    }
    if let Some(verify) = &entry.verify {
        figures.push("verify", verified(verify, &entry.damages));
    }
    if let Some(one) = &entry.observed {
        figures.push("observed", super::observed::observed(one));
    }
    if plus {
        figures.push("series", Value::each(&entry.series, moment));
    }
    figures
}

fn little(little: &Little) -> Object {
    Object::new()
        .with("queue_depth", little.queue_depth)
        .with("in_flight", little.in_flight)
        .with("iops", little.iops)
        .with("mean_ns", little.mean_ns)
}

fn diagnosis(diagnosis: &Diagnosis) -> Object {
    let shares = diagnosis.shares.iter().map(|(cause, share)| {
        Object::new()
            .with("cause", cause.name())
            .with("share", *share)
    });
    let figures = diagnosis
        .figures
        .iter()
        .map(|(name, value)| Object::new().with("name", *name).with("value", *value));
    Object::new()
        .with("cause", diagnosis.cause.name())
        .with("certainty", diagnosis.certainty.name())
        .with("text", diagnosis.sentences.join(" "))
        .with("shares", shares.collect::<Tree>())
        .with("figures", figures.collect::<Tree>())
        .with(
            "evidence_for",
            diagnosis.evidence_for.iter().collect::<Tree>(),
        )
        .with(
            "evidence_against",
            diagnosis.evidence_against.iter().collect::<Tree>(),
        )
        .with("settled_by", diagnosis.settled_by.as_ref())
}

fn counts(counts: &Counts) -> Object {
    Object::new()
        .with("planned_ios", counts.planned)
        .with("ok_ios", counts.ok)
        .with("short_ios", counts.short)
        .with("failed_ios", counts.failed)
        .with("timed_out_ios", counts.timed_out)
        .with("not_sent_ios", counts.not_sent)
        .with("planned_bytes", counts.bytes_requested)
        .with("ok_bytes", counts.bytes_ok)
        .with("short_bytes", counts.bytes_short)
        .with("missing_bytes", counts.bytes_missing)
}

/// Response exists in an open loop and for commits, lateness in an open loop only.
fn direction(summary: &DirectionSummary) -> Object {
    let mut figures = Object::new().with("counts", counts(&summary.counts));
    if let Some(response) = &summary.response {
        figures.push("response_ns", latency(response, true, false));
    }
    if let Some(lateness) = &summary.lateness {
        figures.push("lateness_ns", latency(lateness, true, false));
    }
    figures.with("clat_overflow_ios", summary.clat.overflow)
}

fn verified(verify: &VerifyCounts, damages: &[Damage]) -> Object {
    Object::new()
        .with("planned_blocks", verify.planned)
        .with("good_blocks", verify.good)
        .with("bad_blocks", verify.bad)
        .with("checked_bytes", verify.bytes)
        .with("unknown_blocks", verify.unknown)
        .with(
            "classes",
            Object::of(
                verify
                    .classes
                    .nonzero()
                    .map(|(class, n)| (damage_class_name(class), n.into())),
            ),
        )
        .with("corruptions", damages.iter().map(damage).collect::<Tree>())
}

/// One wrong block. At most [`Damage::MAX_RECORDED`] of each job are listed; `bad_blocks` counts all.
fn damage(damage: &Damage) -> Object {
    let elsewhere = damage.elsewhere.as_ref();
    Object::new()
        .with("class", damage_class_name(damage.class))
        .with("file", damage.path.display().to_string())
        .with("offset", damage.offset)
        .with("length", damage.len)
        .with("first_sector", damage.sectors.0)
        .with("sectors", damage.sectors.1)
        .with("expected", damage.expected.as_ref().map(write_mark))
        .with("found", damage.found.as_ref().map(write_mark))
        .with(
            "other_file",
            elsewhere.map(|(path, _)| path.display().to_string()),
        )
        .with("other_offset", elsewhere.map(|(_, offset)| *offset))
        .with("second_read", second_read_name(damage.reread))
        .with("detail", &damage.detail)
}

fn write_mark(mark: &WriteIdentity) -> Object {
    Object::new()
        .with("run", format!("{:016x}", mark.run))
        .with("job", mark.job)
        .with("generation", mark.generation)
        .with("number", mark.number)
        .with("written_unix_ns", mark.when_unix_ns)
}

fn moment(moment: &MergedInterval) -> Object {
    moment_with(moment, &moment_direction)
}

fn moment_with(
    moment: &MergedInterval,
    direction: &dyn Fn(&MergedIntervalDirection) -> Object,
) -> Object {
    let interval = Object::new()
        .with("start_ns", moment.start.get())
        .with("length_ns", moment.length.get());
    let used = moment
        .directions
        .iter()
        .filter(|(_, figures)| figures.ios > 0 || figures.bad > 0 || figures.mean.is_some());
    used.fold(interval, |interval, (way, figures)| {
        interval.with(way.name(), direction(figures))
    })
}

/// Latencies are response times in an open loop, clat in a closed one.
fn moment_direction(figures: &MergedIntervalDirection) -> Object {
    let mut object = Object::new()
        .with("ok_ios", figures.ios)
        .with("ok_bytes", figures.bytes)
        .with("bad_ios", figures.bad)
        .with("p50_ns", figures.p50)
        .with("p99_ns", figures.p99)
        .with("max_ns", figures.max)
        .with("mean_ns", figures.mean);
    // Only logs of fio have these over time.
    for (name, value) in [("slat_mean_ns", figures.slat), ("lat_mean_ns", figures.lat)] {
        if value.is_some() {
            object = object.with(name, value);
        }
    }
    object.with(
        "latency_buckets",
        super::observed::histogram(&figures.latencies),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each figure of a host is under its own key.
    #[test]
    fn figures_of_a_host_have_their_keys() {
        let host = HostSummary {
            name: "web1".to_owned(),
            jobs: 2,
            iops: 1000.5,
            bandwidth: 4098048.5,
            mean_ns: Some(336_000.5),
            p99_ns: Some(1_250_000.5),
            late_ns: -12_000,
            late_bound_ns: 45_000,
            wall_offset_ns: -7_000,
            cpus: 8,
            ..HostSummary::default()
        };
        let text = Tree::from(one_host(&host)).compact();
        for pair in [
            r#""name":"web1""#,
            r#""jobs":2"#,
            r#""lost":null"#,
            r#""iops":1000.5"#,
            r#""bw_bytes":4098048.5"#,
            r#""clat_mean_ns":336000.5"#,
            r#""clat_p99_ns":1250000.5"#,
            r#""late_ns":-12000"#,
            r#""late_bound_ns":45000"#,
            r#""wall_clock_offset_ns":-7000"#,
            r#""cpus":8"#,
        ] {
            assert!(text.contains(pair), "{pair}: {text}");
        }
    }
}
