//! Memory that is short: swap, and files that are read again and again.

use fathom_model::format::{bandwidth, bytes, percent, rate};

use super::super::answer::{WhyCause, WhyFinding};
use super::super::evidence::{WhyGroup, is_in_group};
use super::super::facts::{Facts, MIN_WAIT_SHARE, share, title};
use super::super::users::read_bytes;

/// Pages per second below which neither swap nor refaults hold anything up.
const MIN_PAGES_PER_SECOND: f64 = 100.0;
/// Pages that one major fault brings back at most, with read-ahead (`vm.page-cluster` is 3).
const PAGES_PER_FAULT: f64 = 8.0;
/// Share of what devices read that is read again from which on memory matters. The kernel counts only pages that come back while those
/// dropped after them are few, so that the true share is larger (`lru_gen_refault` in `mm/workingset.c`).
const MIN_READ_SHARE: f64 = 0.25;
/// Share of the pages that the faults of a process explain from which on they are its own: both counters are not read at once.
const MIN_EXPLAINED_SHARE: f64 = 0.9;
/// Share of the limit of a group from which on its memory is full.
const FULL_SHARE: f64 = 0.95;

/// Pages that come back from swap space.
pub(super) fn swap(facts: &Facts) -> Option<WhyFinding> {
    let pages = facts.per_second("pswpin")?;
    // The kernel counts a wait for a page as one for memory only if the page comes back soon.
    let pressure = facts
        .memory_pressure()
        .filter(|share| *share >= MIN_WAIT_SHARE);
    if pages < MIN_PAGES_PER_SECOND || (pressure.is_none() && !facts.waits()) {
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
    let swapped_in = pages * evidence.page_bytes as f64;
    let explains = faults * PAGES_PER_FAULT >= MIN_EXPLAINED_SHARE * pages;
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
        bandwidth(swapped_in),
        title(&process.name, *pid),
        rate(faults),
    );
    let is_waiter = facts.waiters.iter().any(|waiter| waiter.pid == *pid);
    let mut finding = WhyFinding::sure_if(
        explains && (pressure.is_some() || is_waiter),
        WhyCause::Swap,
        sentence,
        "more memory, or a smaller working set",
    )
    .about("waits", &process.name, Some(*pid))
    .figure("swapped_in_pages_per_s", pages)
    .figure("swapped_in_bytes_per_s", swapped_in)
    .figure("major_faults_per_s", faults);
    if let Some(share) = pressure {
        finding = finding.figure("memory_waited_share", share);
    }
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

/// Pages of files that come back, and what tasks wait because of it.
struct Refaults {
    /// Per second.
    pages: f64,
    /// Share of what devices read for the group or the machine.
    read_share: f64,
    /// Share of the time in which tasks waited for memory, where it is known and matters.
    waited: Option<f64>,
}

impl Refaults {
    /// `None` if nobody waits because of them.
    fn new(facts: &Facts, pages: f64, waited: Option<f64>, read: u64) -> Option<Refaults> {
        let read_again = pages * facts.seconds * facts.evidence.page_bytes as f64;
        let refaults = Refaults {
            pages,
            read_share: (read_again / read.max(1) as f64).min(1.0),
            waited: waited.filter(|share| *share >= MIN_WAIT_SHARE),
        };
        let are_reads =
            pages >= MIN_PAGES_PER_SECOND && refaults.read_share >= MIN_READ_SHARE && facts.waits();
        (refaults.waited.is_some() || are_reads).then_some(refaults)
    }

    /// The end of a sentence.
    fn phrase(&self) -> String {
        let again = format!(
            "{} pages of files per second are read again that had just been dropped",
            rate(self.pages)
        );
        match self.waited {
            Some(waited) => format!(
                "tasks waited {} of the time for memory, and {again}",
                percent(100.0 * waited)
            ),
            None => format!(
                "{again}, {} of what devices read for it",
                percent(100.0 * self.read_share)
            ),
        }
    }
}

fn of_group(facts: &Facts) -> Option<WhyFinding> {
    let evidence = facts.evidence;
    let scope = &evidence.scope;
    let is_asked = |name: &str| {
        let has = |pid: &u32| {
            let process = evidence.after.processes.get(pid);
            process.is_some_and(|process| is_in_group(&process.memory_group, name))
        };
        match &scope.group {
            Some(group) => is_in_group(group, name) || is_in_group(name, group),
            None => scope.pids.is_empty() || scope.pids.iter().any(has),
        }
    };
    let refaults = |name: &String, group: &WhyGroup| {
        let before = evidence.before.groups.get(name)?;
        let pages = group.refaults.saturating_sub(before.refaults) as f64 / facts.seconds;
        let waited = share(before.pressure.memory, group.pressure.memory, facts.seconds);
        let read = read_bytes(evidence, |one| is_in_group(&one.memory_group, name));
        Some((before, Refaults::new(facts, pages, waited, read)?))
    };
    let groups = evidence.after.groups.iter();
    let (name, group, (before, refaults)) = groups
        .filter(|(name, group)| group.memory.is_some() && name.as_str() != "/" && is_asked(name))
        .filter_map(|(name, group)| Some((name, group, refaults(name, group)?)))
        .max_by(|a, b| a.2.1.pages.total_cmp(&b.2.1.pages))?;
    let (used, limit) = group.memory?;
    let hits = group
        .memory_max_events
        .saturating_sub(before.memory_max_events);
    let is_full = used as f64 >= FULL_SHARE * limit as f64 && hits > 0;
    if refaults.waited.is_none() && !is_full {
        return None;
    }
    let sentence = format!(
        "Memory is short in control group {name}: it uses {} of {}, {}.",
        bytes(used),
        bytes(limit),
        refaults.phrase(),
    );
    let is_sure = refaults.waited.is_some() && is_full && refaults.pages >= MIN_PAGES_PER_SECOND;
    let finding = WhyFinding::sure_if(
        is_sure,
        WhyCause::Memory,
        sentence,
        "the same load with a larger limit",
    )
    .about("group", name, None)
    .figure("memory_used_bytes", used as f64)
    .figure("memory_limit_bytes", limit as f64)
    .because(format!("The limit was reached {hits} times meanwhile."))
    .advise(format!(
        "Raise the memory limit of {name} (memory.max, memory.limit_in_bytes, or MemoryMax= of its unit)."
    ));
    Some(with_figures(finding, &refaults))
}

fn with_figures(finding: WhyFinding, refaults: &Refaults) -> WhyFinding {
    let finding = finding
        .figure("refaults_per_s", refaults.pages)
        .figure("read_again_share", refaults.read_share);
    match refaults.waited {
        Some(waited) => finding.figure("memory_waited_share", waited),
        None => finding,
    }
}

fn of_machine(facts: &Facts) -> Option<WhyFinding> {
    let pages = facts.per_second("workingset_refault_file")?;
    let scope = &facts.evidence.scope;
    if pages < MIN_PAGES_PER_SECOND || (scope.is_of_processes() && !facts.waits()) {
        return None;
    }
    let loads = facts
        .devices
        .iter()
        .filter(|load| load.facts.members.is_empty());
    let read = loads.map(|load| load.grown.bytes[0]).sum();
    let refaults = Refaults::new(facts, pages, facts.memory_pressure(), read)?;
    // Of which device the pages are is not known.
    if refaults.waited.is_none() && !scope.devices.is_empty() {
        return None;
    }
    let scanned = facts.per_second("pgscan_direct").unwrap_or(0.0);
    let sentence = format!("Memory is short: {}.", refaults.phrase());
    let finding = WhyFinding::sure_if(
        scanned > 0.0 && refaults.waited.is_some(),
        WhyCause::Memory,
        sentence,
        "the same load with more memory",
    )
    .because(format!(
        "Programs themselves had to look for free memory: {} pages per second.",
        rate(scanned)
    ))
    .advise("Give the machine, or the control group of the program, more memory, or its programs less to keep in it.");
    Some(with_figures(finding, &refaults))
}
