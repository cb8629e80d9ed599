//! Memory that is short: swap, and files that are read again and again.

use fathom_model::format::{bandwidth, bytes, percent, rate};

use super::super::answer::{WhyCause, WhyFinding};
use super::super::evidence::{WhyGroup, is_in_group};
use super::super::facts::{Facts, MIN_WAIT_SHARE, share, title};

/// Pages per second below which neither swap nor refaults hold anything up.
const MIN_PAGES_PER_SECOND: f64 = 100.0;
/// Pages that one major fault brings back at most, with read-ahead (`vm.page-cluster` is 3).
const PAGES_PER_FAULT: f64 = 8.0;
/// Share of the limit of a group from which on its memory is full.
const FULL_SHARE: f64 = 0.95;

/// Pages that come back from swap space.
pub(super) fn swap(facts: &Facts) -> Option<WhyFinding> {
    let pages = facts.per_second("pswpin")?;
    let pressure = facts.memory_pressure();
    let waits = pressure.map_or_else(|| facts.waits(), |share| share >= MIN_WAIT_SHARE);
    if pages < MIN_PAGES_PER_SECOND || !waits {
        return None;
    }
    let evidence = facts.evidence;
    let asked = evidence
        .after
        .processes
        .iter()
        .filter(|(pid, process)| evidence.scope.has_process(**pid, &process.group));
    let (pid, process) = asked.max_by_key(|(pid, _)| facts.major_faults(**pid))?;
    let faults = facts.major_faults(*pid) as f64 / facts.seconds;
    if faults == 0.0 {
        return None;
    }
    let explains = faults * PAGES_PER_FAULT >= pages;
    let device = evidence
        .swap
        .iter()
        .find_map(|number| facts.device(*number));
    let on = device.map_or(String::new(), |load| format!(" on {}", load.name()));
    let waited = pressure.map_or(String::new(), |share| {
        format!(
            "; tasks waited {} of the time for memory",
            percent(100.0 * share)
        )
    });
    let sentence = format!(
        "The machine swaps: {} pages per second ({}) come back from swap space{on}, and {} has {} major faults per second{waited}.",
        rate(pages),
        bandwidth(pages * evidence.page_bytes as f64),
        title(&process.name, *pid),
        rate(faults),
    );
    let mut finding = WhyFinding::sure_if(
        explains && pressure.is_some(),
        WhyCause::Swap,
        sentence,
        "more memory, or a smaller working set",
    )
    .about("waits", &process.name, Some(*pid))
    .figure("swapped_in_pages_per_s", pages)
    .figure("major_faults_per_s", faults);
    if let Some(load) = device {
        finding = finding
            .about("device", load.name(), None)
            .because(load.sentence());
    }
    if let Some(out) = facts.per_second("pswpout") {
        finding = finding.because(format!(
            "{} pages per second go out to swap space.",
            rate(out)
        ));
    }
    Some(finding.advise(
        "Give the machine more memory, or its programs less to keep in it. A faster disk for swap space only eases it.",
    ))
}

/// Memory that is too small for the files that are in use.
pub(super) fn pressure(facts: &Facts) -> Option<WhyFinding> {
    // Where pages are swapped, that is the sentence.
    if facts
        .per_second("pswpin")
        .is_some_and(|pages| pages >= MIN_PAGES_PER_SECOND)
    {
        return None;
    }
    of_group(facts).or_else(|| of_machine(facts))
}

fn of_group(facts: &Facts) -> Option<WhyFinding> {
    let evidence = facts.evidence;
    let scope = &evidence.scope;
    let is_asked = |name: &str| {
        let has = |pid: &u32| {
            let process = evidence.after.processes.get(pid);
            process.is_some_and(|process| is_in_group(&process.group, name))
        };
        match &scope.group {
            Some(group) => is_in_group(group, name) || is_in_group(name, group),
            None => scope.pids.is_empty() || scope.pids.iter().any(has),
        }
    };
    let waited = |name: &String, group: &WhyGroup| {
        let before = evidence.before.groups.get(name)?;
        share(before.pressure.memory, group.pressure.memory, facts.seconds)
    };
    let groups = evidence.after.groups.iter();
    let (name, group, waited) = groups
        .filter(|(name, _)| name.as_str() != "/" && is_asked(name))
        .filter_map(|(name, group)| Some((name, group, waited(name, group)?)))
        .filter(|(_, _, waited)| *waited >= MIN_WAIT_SHARE)
        .filter(|(_, group, _)| group.memory.is_some())
        .max_by(|a, b| a.2.total_cmp(&b.2))?;
    let (used, limit) = group.memory?;
    let before = evidence.before.groups.get(name)?;
    let refaults = group.refaults.saturating_sub(before.refaults) as f64 / facts.seconds;
    let hits = group
        .memory_max_events
        .saturating_sub(before.memory_max_events);
    let is_full = used as f64 >= FULL_SHARE * limit as f64 && hits > 0;
    let sentence = format!(
        "Memory is short in control group {name}: it uses {} of {}, its tasks waited {} of the time for memory, and {} pages of files per second are read again that had just been dropped.",
        bytes(used),
        bytes(limit),
        percent(100.0 * waited),
        rate(refaults),
    );
    let finding = WhyFinding::sure_if(
        is_full && refaults >= MIN_PAGES_PER_SECOND,
        WhyCause::Memory,
        sentence,
        "the same load with a larger limit",
    )
    .about("group", name, None)
    .figure("memory_waited_share", waited)
    .figure("refaults_per_s", refaults)
    .because(format!("The limit was reached {hits} times meanwhile."))
    .advise(format!(
        "Raise the memory limit of {name} (memory.max, MemoryMax= of its unit)."
    ));
    Some(finding)
}

fn of_machine(facts: &Facts) -> Option<WhyFinding> {
    let waited = facts
        .memory_pressure()
        .filter(|share| *share >= MIN_WAIT_SHARE)?;
    let refaults = facts.per_second("workingset_refault_file")?;
    if refaults < MIN_PAGES_PER_SECOND || (facts.evidence.scope.is_of_processes() && !facts.waits())
    {
        return None;
    }
    let scanned = facts.per_second("pgscan_direct").unwrap_or(0.0);
    let sentence = format!(
        "Memory is short: tasks waited {} of the time for memory, and {} pages of files per second are read again that had just been dropped.",
        percent(100.0 * waited),
        rate(refaults),
    );
    let finding = WhyFinding::sure_if(
        scanned > 0.0,
        WhyCause::Memory,
        sentence,
        "the same load with more memory",
    )
    .figure("memory_waited_share", waited)
    .figure("refaults_per_s", refaults)
    .because(format!(
        "Programs themselves had to look for free memory: {} pages per second.",
        rate(scanned)
    ))
    .advise("Give the machine more memory, or its programs less to keep in it.");
    Some(finding)
}
