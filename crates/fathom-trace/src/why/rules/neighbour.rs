//! A program that uses the device while another one waits.

use fathom_model::format::{duration, percent};

use super::super::answer::{WhyCause, WhyFinding};
use super::super::facts::{BUSY_SHARE, DeviceLoad, Facts, Waiter};
use super::super::requests::ReadsBesideOthers;
use super::super::users::User;

/// Share of the bytes of all programs from which on one is the user of a device.
const MIN_USER_SHARE: f64 = 0.6;
/// Reads that tell a mean.
const MIN_READS: u64 = 10;
/// Reads take at least this many times as long beside the other program.
const MIN_RATIO: f64 = 2.0;

/// One program keeps the device busy, another one waits.
pub(super) fn neighbour(facts: &Facts) -> Option<WhyFinding> {
    let load = facts.busiest().filter(|load| load.busy() >= BUSY_SHARE)?;
    let users = facts.users_of(load);
    let user = users.first().filter(|user| user.share >= MIN_USER_SHARE)?;
    let waiter = waiter_beside(facts, user, &users)?;
    let requests = facts.evidence.requests.as_ref();
    let reads = requests
        .map(|all| all.reads_beside(load.number, waiter.pid, |pid| user.pids.contains(&pid)))
        .filter(|reads| reads.with.0 >= MIN_READS);
    match reads.filter(|reads| reads.without.0 >= MIN_READS) {
        Some(reads) if reads.with.1 < MIN_RATIO * reads.without.1 => None,
        Some(reads) => Some(measured(load, user, waiter, reads)),
        None => Some(assumed(facts, load, user, waiter, reads)),
    }
    .map(|finding| {
        finding
            .about("uses", &user.name, user.process())
            .about("waits", &waiter.name, Some(waiter.pid))
            .about("device", load.name(), None)
            .figure("device_busy_share", load.busy())
            .figure("user_share", user.share)
            .because(load.sentence())
            .advise(advice(load, user))
    })
}

fn advice(load: &DeviceLoad, user: &User) -> String {
    if user.is_page_cache() {
        return format!(
            "Find the program that writes to {} (`fathom observe`), and ask whether it can wait; io.max of its control group limits it.",
            load.name()
        );
    }
    format!(
        "Ask whether {} can wait, run slower or use another device; `ionice -c 3 -p {}` lets others go first where the scheduler of {} is bfq or mq-deadline, and io.max of its control group limits it.",
        user.title(),
        user.pid,
        load.name()
    )
}

/// Who waits beside the user: one with I/Os of its own on the device before one that may wait for another.
fn waiter_beside<'a>(facts: &'a Facts, user: &User, users: &[User]) -> Option<&'a Waiter<'a>> {
    let others = || {
        facts
            .waiters
            .iter()
            .filter(|one| !user.pids.contains(&one.pid))
    };
    let is_user = |waiter: &&Waiter| users.iter().any(|user| user.pids.contains(&waiter.pid));
    // With a trace whoever has none there waits for something else.
    let is_open = facts.evidence.requests.is_none();
    others()
        .find(is_user)
        .or_else(|| others().next().filter(|_| is_open))
}

fn measured(
    load: &DeviceLoad,
    user: &User,
    waiter: &Waiter,
    reads: ReadsBesideOthers,
) -> WhyFinding {
    let sentence = format!(
        "{} keeps {} {} busy; {} waits {} per read because of it, {} without.",
        user.title(),
        load.name(),
        percent(100.0 * load.busy()),
        waiter.title(),
        duration(reads.with.1),
        duration(reads.without.1),
    );
    let settled_by = "whose writes the kernel's threads brought to the device: `fathom observe`";
    WhyFinding::sure_if(
        !user.is_page_cache(),
        WhyCause::Neighbour,
        sentence,
        settled_by,
    )
    .figure("read_beside_ns", reads.with.1)
    .figure("read_alone_ns", reads.without.1)
    .because(format!(
        "{} reads met I/Os of {}, {} met none.",
        reads.with.0, user.name, reads.without.0
    ))
}

/// `reads` are known only beside the other program.
fn assumed(
    facts: &Facts,
    load: &DeviceLoad,
    user: &User,
    waiter: &Waiter,
    reads: Option<ReadsBesideOthers>,
) -> WhyFinding {
    let mean = load.mean_ns(Some(0)).or_else(|| load.mean_ns(None));
    let takes = match (reads, mean) {
        (Some(reads), _) => format!(": its reads take {}", duration(reads.with.1)),
        (None, Some(mean)) => format!(": an I/O of {} takes {}", load.name(), duration(mean)),
        (None, None) => String::new(),
    };
    let sentence = format!(
        "{} keeps {} {} busy ({} of the bytes); {} probably waits because of it{takes}.",
        user.title(),
        load.name(),
        percent(100.0 * load.busy()),
        percent(100.0 * user.share),
        waiter.title(),
    );
    let settled_by = if facts.evidence.requests.is_none() {
        "run `fathom why` as root, which sees the latency of each program"
    } else {
        "the latency of the waiting program while the other one does nothing"
    };
    let finding = WhyFinding::likely(WhyCause::Neighbour, sentence, settled_by);
    match reads.map(|reads| reads.with.1).or(mean) {
        Some(each) => finding.figure("io_ns", each),
        None => finding,
    }
}
