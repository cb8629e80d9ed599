//! The entry point: converts a recording to findings.

use fathom_model::{
    Diagnosis, Direction, DiskSummary, Entry, Finding, Findings, Recording, Weight,
};

use crate::array_members::members_of_array;
use crate::blame::blame_sheet;
use crate::catalogue::{FindingKind, detectors};
use crate::detectors::requests_resized::requests_per_io;
use crate::detectors::too_hot;
use crate::detectors::{EntryContext, RunContext, detect, verdict};
use crate::diagnosis::{Evidence, FigureLog, TargetParts, are_split, diagnose};
use crate::direction::bandwidth_share;
use crate::disk::disk_summary;
use crate::entry::entry;
use crate::group::groups;
use crate::hosts;
use crate::layers::layers;
use crate::members::{Member, entries};
use crate::summary_sentences::{busiest, summary_sentences};
use crate::totals::totals;
use crate::witnessed;

/// Analyses `recording`. Pure: the same recording gives the same findings.
#[must_use]
pub fn findings(recording: &Recording) -> Findings {
    findings_with(recording, &detectors().collect::<Vec<_>>())
}

/// As [`findings`], with the detectors of `kinds` only.
#[must_use]
pub fn findings_with(recording: &Recording, kinds: &[&FindingKind]) -> Findings {
    let members = entries(recording);
    let mut entries: Vec<Entry> = members
        .iter()
        .map(|members| entry(members, recording))
        .collect();
    let groups = groups(&entries);
    for entry in &mut entries {
        let group = groups
            .iter()
            .find(|g| g.group == entry.group)
            .expect("every entry is in a group");
        for (d, line) in group.directions.iter() {
            entry.directions[d].bw_share =
                bandwidth_share(&entry.directions[d], line.map_or(0.0, |l| l.bandwidth));
        }
        if let Some(mixed) = &mut entry.mixed {
            mixed.bw_share = bandwidth_share(mixed, group.mixed.map_or(0.0, |l| l.bandwidth));
        }
    }
    let disks = disk_summaries(recording);
    let run = RunContext {
        recording,
        entries: contexts(&entries, &members),
        disks: &disks,
    };
    let found = if recording.hosts.is_empty() {
        detect(&run, kinds)
    } else {
        found_on_hosts(&run, kinds)
    };
    let diagnoses: Vec<Option<Diagnosis>> = run
        .entries
        .iter()
        .map(|entry| diagnosis_of_entry(&run, entry, &found))
        .collect();
    let summaries: Vec<_> = run
        .entries
        .iter()
        .zip(&diagnoses)
        .enumerate()
        .map(|(place, (entry, diagnosis))| {
            if let Some(witnessed) = run.witnessed() {
                return if place == 0 {
                    witnessed::sentences(recording, witnessed)
                } else {
                    witnessed::block_sentences(entry)
                };
            }
            let mut sentences = summary_sentences(entry, diagnosis.as_ref(), &found);
            sentences.extend(layers(&run, entry));
            sentences
        })
        .collect();
    entries
        .iter_mut()
        .zip(summaries.into_iter().zip(diagnoses))
        .for_each(|(entry, (summary, diagnosis))| {
            (entry.summary, entry.diagnosis) = (summary, diagnosis);
        });
    let plan = &recording.plan;
    Findings {
        personality: plan.personality,
        sources: plan.sources.clone(),
        globals: plan.globals.clone(),
        overrides: plan.overrides.clone(),
        started_unix_ns: recording.started_unix_ns,
        elapsed: recording.elapsed,
        end: recording.end,
        groups,
        disks: if plan.jobs.iter().any(|job| job.accounting.disk_util) {
            disks
        } else {
            Vec::new()
        },
        // System calls and the block I/O that they cause are not one load.
        totals: if recording.host.witnessed.is_some() {
            Vec::new()
        } else {
            totals(&members, recording)
        },
        targets: recording.targets.clone(),
        verdict: verdict(&found),
        findings: found,
        clock: recording.clock.clone(),
        host: recording.host.clone(),
        conditions: recording.conditions.clone(),
        stalls: recording.stalls.clone(),
        messages: plan
            .warnings
            .iter()
            .chain(&recording.messages)
            .cloned()
            .collect(),
        entries,
        imported: None,
        spec: None,
        blame: recording.blame.as_ref().map(blame_sheet),
        hosts: hosts::summaries(recording),
    }
}

/// Requests are whole sectors of this size on all devices.
const MIN_REQUEST_BYTES: f64 = 4096.0;

/// I/Os per second of the device of a run, that were not from the run; 0 where that cannot be told.
#[must_use]
pub fn foreign_ios_per_second(recording: &Recording) -> f64 {
    with_run(recording, |run| {
        let own: u64 = run.moved().iter().map(|(_, moved)| moved.ios).sum();
        let seconds = recording.elapsed.as_secs_f64().max(1e-9);
        run.foreign_per_own_io() * own as f64 / seconds
    })
}

/// Bytes of a request of the device of a run whose I/Os the kernel splits, a multiple of 4 KiB; `None` where it does not split them, or
/// into requests of which there is no half.
#[must_use]
pub fn bytes_of_split_request(recording: &Recording) -> Option<u32> {
    with_run(recording, |run| {
        let main = busiest(run.entries.first()?.figures)?;
        let requests = requests_per_io(run, main).filter(|requests| are_split(*requests))?;
        let moved = run.moved()[main];
        let bytes = moved.bytes as f64 / moved.ios.max(1) as f64 / requests;
        let bytes = (bytes / MIN_REQUEST_BYTES).round() * MIN_REQUEST_BYTES;
        (bytes >= 2.0 * MIN_REQUEST_BYTES).then_some(bytes as u32)
    })
}

/// What `read` finds in a run.
fn with_run<T>(recording: &Recording, read: impl FnOnce(&RunContext) -> T) -> T {
    let members = entries(recording);
    let figures: Vec<Entry> = members.iter().map(|m| entry(m, recording)).collect();
    let disks = disk_summaries(recording);
    read(&RunContext {
        recording,
        entries: contexts(&figures, &members),
        disks: &disks,
    })
}

fn disk_summaries(recording: &Recording) -> Vec<DiskSummary> {
    recording
        .disks
        .iter()
        .map(|disk| disk_summary(disk, recording.elapsed))
        .collect()
}

fn contexts<'a>(figures: &'a [Entry], members: &'a [Vec<Member<'a>>]) -> Vec<EntryContext<'a>> {
    figures
        .iter()
        .zip(members)
        .map(|(figures, members)| EntryContext { figures, members })
        .collect()
}

/// What limits an entry. What limits the I/O of other programs is not known.
fn diagnosis_of_entry(
    run: &RunContext,
    entry: &EntryContext,
    found: &[Finding],
) -> Option<Diagnosis> {
    let main = busiest(entry.figures)?;
    if run.witnessed().is_some() || entry.members.iter().any(Member::is_observed) {
        return None;
    }
    let recording = run.recording;
    let probes = match run.entries.len() {
        1 => &recording.depth_probes[..],
        _ => &[],
    };
    let sizes_from = probes.iter().position(|probe| probe.block > 0);
    let (probes, size_probes) = probes.split_at(sizes_from.unwrap_or(probes.len()));
    Some(diagnose(&Evidence {
        context: entry,
        main,
        limits: &recording.conditions.limits,
        found,
        steal_percent: recording.host.steal_percent,
        stalls: &recording.stalls,
        foreign_per_own_io: run.foreign_per_own_io(),
        parts: target_parts(run, main),
        probes,
        size_probes,
        earlier: recording.earlier.filter(|_| run.entries.len() == 1),
        figures: FigureLog::default(),
    }))
}

/// What the survey and the counters tell of the way to a target. Of several targets, none is the limit alone.
fn target_parts<'a>(run: &RunContext<'a>, main: Direction) -> TargetParts<'a> {
    let devices = match &run.recording.targets[..] {
        [target] if target.others == 0 => run.devices(),
        _ => Vec::new(),
    };
    let links = devices.iter().flat_map(|device| &device.before.links);
    TargetParts {
        link: links
            .filter(|link| link.now.bytes_per_s > 0)
            .min_by_key(|link| link.now.bytes_per_s),
        array: devices
            .iter()
            .find_map(|device| device.before.array.as_ref()),
        requests_per_io: requests_per_io(run, main).unwrap_or(1.0),
        members: members_of_array(run, &devices),
        throttled: devices.iter().find_map(|device| {
            let (seconds, _) = too_hot::throttling(device)?;
            Some((device.before.name.as_str(), seconds))
        }),
    }
}

/// What is found on each host by itself, and between the hosts. Conditions of one host say nothing about another one.
fn found_on_hosts(run: &RunContext, kinds: &[&FindingKind]) -> Vec<Finding> {
    let (between, own): (Vec<&FindingKind>, Vec<&FindingKind>) =
        kinds.iter().partition(|kind| kind.between_hosts);
    let between = detect(run, &between).into_iter();
    let mut found: Vec<(Finding, usize)> = between.map(|finding| (finding, 0)).collect();
    let received = run
        .recording
        .hosts
        .iter()
        .filter(|part| part.lost.is_none());
    for (part, recording) in received.zip(run.recording.of_hosts()) {
        for mut finding in findings_with(&recording, &own).findings {
            // The names of entries begin with that of their host.
            finding.about.get_or_insert_with(|| part.name.clone());
            // Notes that hold on every host are one note.
            let is_known = |(known, _): &&mut (Finding, usize)| {
                finding.weight == Weight::Note && known.code == finding.code
            };
            match found.iter_mut().find(is_known) {
                Some((_, more)) => *more += 1,
                None => found.push((finding, 0)),
            }
        }
    }
    let mut found: Vec<Finding> = found
        .into_iter()
        .map(|(mut finding, more)| {
            if more > 0 {
                finding.evidence += &format!(" ({more} more like this)");
            }
            finding
        })
        .collect();
    found.sort_by_key(|finding| std::cmp::Reverse(finding.weight));
    found
}
