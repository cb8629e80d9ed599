//! How a device serves the program that uses it: slowly, one I/O at a time, or fully.

use fathom_model::format::{bandwidth, bytes, duration, percent, rate};

use super::super::answer::{WhyCause, WhyFinding};
use super::super::facts::{BUSY_SHARE, DeviceLoad, Facts, Waiter};

/// A device without moving medium that is busy longer for each I/O is slow, nanoseconds.
const SLOW_SOLID_NS: f64 = 20e6;
/// One with a moving medium: several turns and seeks.
const SLOW_ROTATING_NS: f64 = 100e6;
/// Share of the time in which it has I/Os from which on their time is what programs wait for.
const MIN_SLOW_SHARE: f64 = 0.5;
/// I/Os that tell a mean.
const MIN_IOS: u64 = 20;
/// Larger I/Os take long because of their size.
const MAX_IO_BYTES: u64 = 256 << 10;
/// Share of the time of a request with the driver and the device that excludes the block layer.
const DEVICE_SHARE: f64 = 0.9;
/// I/Os in flight of a program that has one at a time.
const ONE_IN_FLIGHT: std::ops::RangeInclusive<f64> = 0.5..=1.1;
/// Share of the bytes from which on one program is the only user.
const ONLY_USER_SHARE: f64 = 0.9;
/// A program that waits longer does little else.
const MIN_SHARE_OF_LONG_WAIT: f64 = 0.5;

/// A device that needs long for each I/O without a queue.
pub(super) fn slow(facts: &Facts) -> Option<WhyFinding> {
    if !facts.waits() {
        return None;
    }
    let load = facts
        .busiest()
        .filter(|load| load.busy() >= MIN_SLOW_SHARE)?;
    let ios = load.ios();
    let size = load.bytes() / ios.max(1);
    let each = load.grown.busy_ms as f64 * 1e6 / ios.max(1) as f64;
    let (limit, kind) = match load.facts.is_rotational {
        true => (SLOW_ROTATING_NS, "a disk with a moving medium"),
        false => (SLOW_SOLID_NS, "a device without moving parts"),
    };
    if ios < MIN_IOS || size > MAX_IO_BYTES || each < limit {
        return None;
    }
    let layers = facts
        .evidence
        .requests
        .as_ref()
        .and_then(|requests| requests.layers(load.number));
    let in_device = layers.filter(|(count, above, below)| {
        *count >= MIN_IOS && *below >= DEVICE_SHARE * (above + below)
    });
    let sentence = format!(
        "{} is slow: it is busy {} for each I/O of {} with {:.1} in flight; {kind} needs less than {}.",
        load.name(),
        duration(each),
        bytes(size),
        load.in_flight(),
        duration(limit),
    );
    let mut finding = WhyFinding::sure_if(
        in_device.is_some(),
        WhyCause::SlowDevice,
        sentence,
        "run `fathom why` as root, which sees whether the block layer or the device takes the time",
    )
    .about("device", load.name(), None)
    .figure("busy_per_io_ns", each)
    .figure("usual_max_ns", limit)
    .figure("io_bytes", size as f64)
    .figure("in_flight", load.in_flight())
    .because(load.sentence());
    if let Some((count, above, below)) = in_device {
        finding = finding.because(format!(
            "Of {count} requests each was {} in the block layer and {} with the driver and the device.",
            duration(above),
            duration(below)
        ));
    }
    if let Some(waiter) = facts.waiters.first() {
        finding = finding.about("waits", &waiter.name, Some(waiter.pid));
    }
    Some(finding.advise(format!(
        "Look at {0}: the kernel's log, smartctl -a, its link (`fathom devices /dev/{0}`), or the volume at its provider. `fathom spec /dev/{0}` shows the data sheet to compare with.",
        load.name()
    )))
}

/// A program that waits for each of its I/Os before the next one.
pub(super) fn one_at_a_time(facts: &Facts) -> Option<WhyFinding> {
    let load = facts.busiest()?;
    let users = facts.users_of(load);
    let user = users.first().filter(|user| user.share >= ONLY_USER_SHARE)?;
    let is_user =
        |waiter: &&Waiter| waiter.pid == user.pid && waiter.share >= MIN_SHARE_OF_LONG_WAIT;
    let waiter = facts.waiters.iter().find(is_user)?;
    let mean = load.mean_ns(None)?;
    // Flushes are no I/Os of the program.
    let data_in_flight = load.iops() * mean / 1e9;
    if !ONE_IN_FLIGHT.contains(&load.in_flight()) || !ONE_IN_FLIGHT.contains(&data_in_flight) {
        return None;
    }
    let sentence = format!(
        "{} has one I/O at a time on {}: {:.2} in flight, {} per second of {} each; it waits for each before the next.",
        waiter.title(),
        load.name(),
        load.in_flight(),
        rate(load.iops()),
        duration(mean),
    );
    let finding = WhyFinding::likely(
        WhyCause::OneAtATime,
        sentence,
        "`fathom quick` on a file of the same disk, at a time when nobody needs it, shows what it does with more in flight",
    )
    .about("waits", &waiter.name, Some(waiter.pid))
    .about("device", load.name(), None)
    .figure("in_flight", load.in_flight())
    .figure("iops", load.iops())
    .figure("latency_ns", mean)
    .because(format!("{} {}.", waiter.title(), waiter.phrase()))
    .because(format!("It has {} of the bytes of all programs.", percent(100.0 * user.share)))
    .although(
        "Whether the device would complete more with more in flight was not measured.".to_owned(),
    )
    .advise(format!(
        "Let {} have more I/Os in flight (more connections or workers, read-ahead, asynchronous I/O); a device with a shorter latency helps as well.",
        waiter.name
    ));
    Some(finding)
}

/// The programs that wait use the device fully themselves.
pub(super) fn busy(facts: &Facts) -> Option<WhyFinding> {
    let load = facts.busiest().filter(|load| load.busy() >= BUSY_SHARE)?;
    if !facts.waits() {
        return None;
    }
    let users = facts.users_of(load);
    let by = match users.first() {
        Some(user) => format!(
            "{} has {} of the bytes",
            user.title(),
            percent(100.0 * user.share)
        ),
        None => "by whom was not seen".to_owned(),
    };
    let mean = load.mean_ns(None)?;
    let sentence = format!(
        "{} is {} busy with {:.1} in flight ({} I/Os per second, {}, {} each{}); {by}.",
        load.name(),
        percent(100.0 * load.busy()),
        load.in_flight(),
        rate(load.iops()),
        bandwidth(load.bytes() as f64 / facts.seconds),
        duration(mean),
        load.flush_phrase(),
    );
    let mut finding = WhyFinding::likely(
        WhyCause::DeviceBusy,
        sentence,
        "`fathom quick` on a file of the same disk, at a time when nobody needs it, shows how much it can take",
    )
    .about("device", load.name(), None)
    .figure("device_busy_share", load.busy())
    .figure("in_flight", load.in_flight())
    .figure("iops", load.iops())
    .figure("bytes_per_s", load.bytes() as f64 / facts.seconds)
    .figure("latency_ns", mean)
    .although(
        "A device that takes several I/Os at once can be busy all the time and still take more."
            .to_owned(),
    );
    if let Some(each) = load.flush_ns() {
        finding = finding
            .figure("flushes_per_s", load.grown.flushes as f64 / facts.seconds)
            .figure("flush_ns", each);
    }
    if let Some(user) = users.first() {
        finding = finding
            .about("uses", &user.name, user.process())
            .figure("user_share", user.share);
    }
    if let Some(waiter) = facts.waiters.first() {
        finding = finding.about("waits", &waiter.name, Some(waiter.pid));
    }
    Some(finding)
}

/// For the sentence of an answer without a cause.
pub(super) fn phrase(load: &DeviceLoad) -> String {
    let each = load.mean_ns(None).map_or(String::new(), |mean| {
        format!(", {} per I/O", duration(mean))
    });
    format!(
        "{} is {} busy{each}",
        load.name(),
        percent(100.0 * load.busy())
    )
}
