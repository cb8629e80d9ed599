//! The details of a target, a line for each kind of fact.

use fathom_model::{
    ArrayFacts, Bytes, CacheFacts, DeviceFacts, DeviceRecording, DirectIoFacts, DirectIoProbe,
    FileSystemFacts, HealthFacts, HealthState, KernelCache, Link, QueueFacts, ReportedDirectIo,
    TargetOverview, WritePermission,
};

use super::link::link_speed_text;
use crate::Style;
use crate::output::{Colour, wrap};
use fathom_model::format::{self, capacity, thousands};

/// Columns that labels take.
const LABEL: usize = 12;

/// Cards with an empty line between them.
#[must_use]
pub fn device_cards(cards: &[TargetOverview], style: &Style) -> String {
    cards
        .iter()
        .map(|card| one(card, style))
        .collect::<Vec<_>>()
        .join("\n")
}

fn one(card: &TargetOverview, style: &Style) -> String {
    let mut text = wrap(&style.clean(&card.headline), style.width, "", "  ");
    for (label, value) in &card.lines {
        text += &entry(label, value, 2, style);
    }
    text += &entry("write", &write(&card.safety.write), 2, style);
    if let Some(facts) = &card.target.file_system {
        text += &file_system(facts, style);
    }
    for device in &card.target.devices {
        text += &below(device, card, style);
    }
    for trouble in &card.target.problems {
        text += &entry("not found", trouble, 2, style);
    }
    for sheet in &card.sheets {
        text += &entry("data sheet", sheet, 2, style);
    }
    for concern in &card.concerns {
        let line = entry("caution", concern, 2, style);
        text += &line.replacen("caution", &style.paint("caution", Colour::Yellow), 1);
    }
    text
}

fn entry(label: &str, value: &str, indent: usize, style: &Style) -> String {
    let value_column = LABEL + indent;
    let first = format!("{:indent$}{label:<LABEL$}", "");
    let value = style.clean(value);
    // On a narrow page the value is on a separate line.
    if style.width < value_column + 20 {
        return wrap(
            &format!("{label}: {value}"),
            style.width,
            &" ".repeat(indent),
            &" ".repeat(indent + 2),
        );
    }
    wrap(&value, style.width, &first, &" ".repeat(value_column))
}

fn write(answer: &WritePermission) -> String {
    match answer {
        WritePermission::Allowed => "allowed without confirmation".to_owned(),
        WritePermission::NeedsCode(code) => {
            format!("--destroy={code} confirms that its contents may be destroyed")
        }
        WritePermission::Refused(why) => format!("never: {why}"),
        WritePermission::Unknown => "unknown".to_owned(),
    }
}

fn file_system(facts: &FileSystemFacts, style: &Style) -> String {
    let only = if facts.read_only { ", read-only" } else { "" };
    let mounted = facts.mounted_at.display();
    let text = format!(
        "{} from {} at {mounted}{only}, blocks of {}",
        facts.kind,
        facts.source,
        format::size(facts.block)
    );
    entry("file system", &text, 2, style)
        + &entry("options", &facts.options, 2, style)
        + &entry("direct I/O", &direct(&facts.direct), 2, style)
}

fn direct(facts: &DirectIoFacts) -> String {
    let reported = match facts.reported {
        ReportedDirectIo::Unknown => "not reported by the file system".to_owned(),
        ReportedDirectIo::Buffered => "buffered, according to the file system".to_owned(),
        ReportedDirectIo::Direct {
            offset_align,
            memory_align,
        } => {
            format!(
                "supported, according to the file system; offsets aligned to {offset_align}, memory to {memory_align} bytes"
            )
        }
    };
    let probed = match &facts.probe {
        DirectIoProbe::NotProbed => return reported,
        DirectIoProbe::NotTried(why) => format!("not tested: {why}"),
        DirectIoProbe::Direct => "a direct read bypassed the page cache".to_owned(),
        DirectIoProbe::Buffered => "a direct read used the page cache".to_owned(),
        DirectIoProbe::Refused(why) => format!("a direct open was refused: {why}"),
    };
    format!("{reported}; {probed}")
}

/// One device below the target; the first is the target itself if that is a device.
fn below(device: &DeviceRecording, card: &TargetOverview, style: &Style) -> String {
    let facts = &device.before;
    let is_target =
        device.parent.is_none() && card.target.file_system.is_none() && device.partition.is_none();
    let indent = if is_target { 2 } else { 4 };
    let mut text = String::new();
    if !is_target {
        let part = device.partition.as_ref().map_or(String::new(), |part| {
            format!(
                " (partition {}, starting at byte {})",
                part.name,
                thousands(part.starts_at.get())
            )
        });
        text += &entry(
            "device",
            &format!("{}, {}{part}", facts.name, capacity(facts.size)),
            2,
            style,
        );
    }
    for (label, value) in lines(facts, is_target) {
        text += &entry(label, &value, indent, style);
    }
    text
}

fn lines(facts: &DeviceFacts, is_target: bool) -> Vec<(&'static str, String)> {
    let mut lines = Vec::new();
    if !is_target {
        lines.push(("model", model(facts)));
    }
    lines.push(("medium", medium(facts)));
    lines.extend(
        facts
            .identity
            .firmware
            .as_ref()
            .map(|firmware| ("firmware", firmware.clone())),
    );
    lines.extend(facts.links.iter().map(|one| ("link", link(one))));
    lines.push(("queue", queue_words(&facts.queue)));
    lines.push(("requests", requests(&facts.queue)));
    lines.push(("cache", cache_words(&facts.cache)));
    lines.extend(
        facts
            .array
            .as_ref()
            .map(|one| ("array", array(one, &facts.built_on))),
    );
    if let Some(backing) = &facts.backing {
        let direct = match backing.direct_io {
            Some(true) => "by direct I/O",
            Some(false) => "through the page cache",
            None => "in an unknown mode",
        };
        let on = backing
            .file_system
            .as_ref()
            .map_or(String::new(), |facts| format!(", on {}", facts.kind));
        lines.push((
            "file",
            format!("{}{on}, accessed {direct}", backing.path.display()),
        ));
    }
    lines.push(("temperature", temperature(&facts.health)));
    lines.push(("health", health(&facts.health)));
    lines.extend(facts.unread.iter().map(|what| ("unreadable", what.clone())));
    lines
}

fn model(facts: &DeviceFacts) -> String {
    let identity = &facts.identity;
    let serial = identity
        .serial
        .as_ref()
        .map(|serial| format!("serial {serial}"));
    let parts: Vec<String> = [identity.vendor.clone(), identity.model.clone(), serial]
        .into_iter()
        .flatten()
        .collect();
    if parts.is_empty() {
        "unknown".to_owned()
    } else {
        parts.join(", ")
    }
}

fn medium(facts: &DeviceFacts) -> String {
    let medium = match facts.medium {
        fathom_model::Medium::Below => "that of the lower devices".to_owned(),
        medium => medium.name().to_owned(),
    };
    let parts = [
        Some(medium),
        facts
            .rpm
            .map(|rpm| format!("{} rpm", thousands(u64::from(rpm)))),
        Some(format!("transport {}", facts.transport.name())),
        facts
            .driver
            .as_ref()
            .map(|driver| format!("driver {driver}")),
        facts.numa_node.map(|node| format!("NUMA node {node}")),
        facts
            .hypervisor
            .as_ref()
            .map(|who| format!("hypervisor {who}")),
        facts.removable.then(|| "removable".to_owned()),
        facts.read_only.then(|| "read-only".to_owned()),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn link(link: &Link) -> String {
    let now = link_speed_text(link.kind, &link.now);
    let best = link.best.filter(|_| link.is_degraded());
    let best = best.map_or(String::new(), |best| {
        format!("; both ends support {}", link_speed_text(link.kind, &best))
    });
    format!("{now} after line coding, at {}{best}", link.at)
}

/// Hardware queues, requests, the depth that the device accepts, scheduler.
#[must_use]
pub fn queue_words(queue: &QueueFacts) -> String {
    let parts = [
        queue.hardware_queues.map(|n| {
            if n == 1 {
                "1 hardware queue".to_owned()
            } else {
                format!("{n} hardware queues")
            }
        }),
        queue.requests.map(|n| format!("{n} requests each")),
        queue
            .device_depth
            .map(|n| format!("device queue depth {}", thousands(u64::from(n)))),
        queue
            .scheduler
            .as_ref()
            .map(|name| format!("scheduler {name}")),
        queue
            .zoned
            .as_ref()
            .filter(|zoned| *zoned != "none")
            .map(|zoned| format!("zoned: {zoned}")),
        queue
            .polls
            .filter(|polls| *polls)
            .map(|_| "polling on".to_owned()),
    ];
    known(parts)
}

fn requests(queue: &QueueFacts) -> String {
    let set = match (queue.max_request, queue.max_hardware_request) {
        (Some(now), Some(most)) if most > now => Some(format!(
            "at most {} (hardware limit {})",
            format::size(now),
            format::size(most)
        )),
        (Some(now), _) => Some(format!("at most {}", format::size(now))),
        _ => None,
    };
    let pieces = queue.max_segments.map(|n| format!("{n} memory segments"));
    let unsplit = queue
        .max_unsplit
        .map(|size| format!("aligned I/O up to {} is never split", format::size(size)));
    let best = queue
        .max_unsplit_contiguous
        .filter(|best| Some(*best) != queue.max_unsplit);
    let best = best.map(|size| format!("up to {} with contiguous memory", format::size(size)));
    let blocks = match (queue.logical_block, queue.physical_block) {
        (Some(logical), Some(physical)) => Some(format!(
            "logical blocks of {logical} bytes, physical {physical}"
        )),
        _ => None,
    };
    let boundary = queue
        .chunk
        .map(|chunk| format!("split at multiples of {}", format::size(chunk)));
    known([blocks, set, pieces, unsplit, best, boundary])
}

fn known<const N: usize>(parts: [Option<String>; N]) -> String {
    let all: Vec<String> = parts.into_iter().flatten().collect();
    if all.is_empty() {
        "unknown".to_owned()
    } else {
        all.join(", ")
    }
}

/// The write cache as seen by the device and by the kernel.
#[must_use]
pub fn cache_words(cache: &CacheFacts) -> String {
    let kernel = match cache.kernel {
        Some(KernelCache::WriteBack) => "the kernel sends flushes",
        Some(KernelCache::WriteThrough) => "the kernel sends no flushes",
        None => "kernel behaviour unknown",
    };
    let fua = match cache.kernel_fua {
        Some(true) => ", using FUA",
        Some(false) => ", without FUA",
        None => "",
    };
    let device = match (cache.device_has, cache.device_on) {
        (_, Some(true)) => "volatile and enabled".to_owned(),
        (Some(true), Some(false)) => "volatile, but disabled".to_owned(),
        (_, Some(false)) => "no volatile cache".to_owned(),
        _ => "device not queried".to_owned(),
    };
    let source = cache
        .source
        .map_or(String::new(), |who| format!(" ({who})"));
    format!("{device}{source}; {kernel}{fua}")
}

fn array(array: &ArrayFacts, members: &[String]) -> String {
    let parts = [
        Some(array.kind.clone()),
        array.name.clone(),
        Some(format!(
            "{} members ({})",
            array.members,
            members.join(", ")
        )),
        array
            .degraded
            .filter(|n| *n > 0)
            .map(|n| format!("{n} missing")),
        array
            .chunk
            .map(|chunk| format!("chunks of {}", format::size(chunk))),
        array
            .stripe
            .map(|stripe| format!("full stripe {}", format::size(stripe))),
        array.state.clone(),
        array
            .sync
            .as_ref()
            .map(|action| format!("{action} in progress")),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn temperature(health: &HealthFacts) -> String {
    let Some(now) = health.temperature_c else {
        return "unknown".to_owned();
    };
    let warning = health
        .warning_c
        .map_or(String::new(), |c| format!(", warning at {c:.0} C"));
    let critical = health
        .critical_c
        .map_or(String::new(), |c| format!(", critical at {c:.0} C"));
    let source = health
        .source
        .map_or(String::new(), |who| format!(" ({who})"));
    format!("{now:.0} C{warning}{critical}{source}")
}

fn health(health: &HealthFacts) -> String {
    let state = match &health.state {
        HealthState::Unknown => "unknown".to_owned(),
        HealthState::Good => "good".to_owned(),
        HealthState::Warns(warnings) => format!("warning: {}", warnings.join("; ")),
    };
    let plural = |n: u64, what: &str| format!("{} {what}", thousands(n));
    let parts = [
        Some(state),
        health
            .used_percent
            .map(|n| format!("{n} % of its rated life used")),
        health
            .spare_percent
            .map(|n| format!("{n} % of spare blocks left")),
        health.media_errors.map(|n| plural(n, "media errors")),
        health.reallocated.map(|n| plural(n, "sectors reallocated")),
        health.pending.map(|n| plural(n, "sectors pending")),
        health
            .throttled_s
            .map(|n| format!("{} s of thermal throttling", thousands(n))),
        health.power_on_hours.map(|n| plural(n, "hours powered")),
        health.unsafe_shutdowns.map(|n| plural(n, "power losses")),
        health
            .written
            .map(|size| format!("{} written", written(size))),
    ];
    let source = health
        .source
        .filter(|_| health.state != HealthState::Unknown)
        .map_or(String::new(), |who| format!(" ({who})"));
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ") + &source
}

fn written(size: Bytes) -> String {
    let terabytes = size.get() as f64 / 1e12;
    format!("{terabytes:.1} TB")
}
