//! Nothing waits for storage, or what was seen does not tell why.

use fathom_model::Certainty;
use fathom_model::format::{duration, percent};

use super::super::answer::{WhyCause, WhyFinding};
use super::super::facts::{Facts, IDLE_SHARE, WaitSource};
use super::device::phrase;

/// A pressure below this share explains nothing.
const NO_PRESSURE_SHARE: f64 = 0.05;
/// What was observed for less is too little to see waits.
const MIN_SECONDS: f64 = 1.0;
/// So many looks at threads all miss a wait of a fifth of the time in one case of twenty (0.8 to the power of 14).
const MIN_LOOKS: usize = 14;
/// From this share on, tasks wait for a CPU or for memory.
const OTHER_PRESSURE_SHARE: f64 = 0.2;

/// The length of an observation.
fn length(seconds: f64) -> String {
    if seconds >= MIN_SECONDS {
        format!("{seconds:.1} s")
    } else {
        duration(seconds * 1e9)
    }
}

/// Storage is not the reason.
pub(in super::super) fn not_storage(facts: &Facts) -> Option<WhyFinding> {
    let scope = &facts.evidence.scope;
    let pressure = facts.io_pressure_of_scope();
    if !facts.waiters.is_empty() || pressure.is_some_and(|share| share >= NO_PRESSURE_SHARE) {
        return None;
    }
    let busiest = facts.busiest();
    // The kernel rounds the time in which a device is busy to its ticks, but not the sum of the times of I/Os.
    let is_idle =
        busiest.is_none_or(|load| load.busy() < IDLE_SHARE && load.in_flight() < IDLE_SHARE);
    let who = if scope.name.is_empty() {
        "nothing"
    } else {
        "nothing of what was asked for"
    };
    let pressure_text = pressure.map_or(String::new(), |share| {
        format!(" (I/O pressure {})", percent(100.0 * share))
    });
    let device_text = busiest.map_or("no device had I/O".to_owned(), |load| {
        format!(
            "the busiest device, {}, is {} busy",
            load.name(),
            percent(100.0 * load.busy())
        )
    });
    // Where all requests were followed, it is known whatever other processes and devices do.
    let is_followed = facts.evidence.looks.len() >= MIN_LOOKS && facts.has_all_requests();
    let is_sure = facts.seconds >= MIN_SECONDS
        && (is_idle || is_followed && scope.is_of_processes())
        && (pressure.is_some() || scope.is_of_processes() || is_followed);
    let adverb = if is_sure { "" } else { "probably " };
    let sentence = format!(
        "Storage is {adverb}not the reason: in {} {who} was seen waiting for it{pressure_text}, and {device_text}.",
        length(facts.seconds),
    );
    let mut finding = WhyFinding::sure_if(
        is_sure,
        WhyCause::NotStorage,
        sentence,
        "`fathom why` while it is slow",
    );
    finding = with_figures(finding, facts, pressure);
    for (share, what) in [
        (facts.cpu_pressure(), "a CPU"),
        (facts.memory_pressure(), "memory"),
    ] {
        if let Some(share) = share.filter(|share| *share >= OTHER_PRESSURE_SHARE) {
            finding = finding
                .because(format!(
                    "Tasks waited {} of the time for {what}.",
                    percent(100.0 * share)
                ))
                .advise(format!("Look at what waits for {what}."));
        }
    }
    Some(finding)
}

/// Something waits, and no rule explains it.
pub(in super::super) fn not_known(facts: &Facts) -> WhyFinding {
    let who = match facts.waiters.first() {
        Some(waiter) => format!("{} {}", waiter.title(), waiter.phrase()),
        None => format!(
            "tasks waited {} of the time for I/O",
            percent(100.0 * facts.io_pressure().unwrap_or(0.0))
        ),
    };
    let device = facts
        .busiest()
        .map_or("no device had I/O".to_owned(), phrase);
    let settled_by = if facts.evidence.requests.is_some() {
        "`fathom observe` shows sizes, phases and files"
    } else {
        "run `fathom why` as root, which sees the latency of each program"
    };
    let mut finding = WhyFinding {
        certainty: Certainty::NotKnown,
        settled_by: Some(settled_by.to_owned()),
        ..WhyFinding::fact(
            WhyCause::NotKnown,
            format!("Not known from what was seen: {who}, and {device}."),
        )
    };
    if let Some(waiter) = facts.waiters.first() {
        finding = finding.about("waits", &waiter.name, Some(waiter.pid));
        finding = match waiter.source {
            WaitSource::Seen(seen, looks) => finding
                .figure("seen_waiting", seen as f64)
                .figure("looks", looks as f64),
            WaitSource::Counted | WaitSource::InFlight => {
                finding.figure("waited_share", waiter.share)
            }
        };
    }
    let pressure = facts.io_pressure().filter(|_| facts.waiters.is_empty());
    with_figures(finding, facts, pressure)
}

/// The figures of the sentences.
fn with_figures(mut finding: WhyFinding, facts: &Facts, pressure: Option<f64>) -> WhyFinding {
    finding = finding.figure("observed_s", facts.seconds);
    if let Some(share) = pressure {
        finding = finding.figure("io_pressure_share", share);
    }
    if let Some(load) = facts.busiest() {
        finding = finding
            .about("device", load.name(), None)
            .figure("device_busy_share", load.busy());
        if let Some(each) = load.mean_ns(None) {
            finding = finding.figure("latency_ns", each);
        }
    }
    finding
}
