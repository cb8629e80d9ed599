//! What a measurement on a target should mind, in sentences with their figures. Nothing is said of what is not known.

use fathom_model::format::size;
use fathom_model::{
    ArrayFacts, BackingFacts, DeviceFacts, DirectProbe, DirectSaid, FileSystemFacts,
    FileSystemPlace, HealthState, KernelCache, Link, Medium, TargetRecording,
};

/// Closer than this to the limit is hot, degrees.
const NEAR_C: f64 = 5.0;

/// Everything to mind, the target first, then each device from above to below.
#[must_use]
pub fn concerns(target: &TargetRecording) -> Vec<String> {
    let mut all: Vec<String> = target.file_system.iter().flat_map(file_system).collect();
    for device in &target.devices {
        let name = &device.before.name;
        all.extend(
            of_device(&device.before)
                .into_iter()
                .map(|what| format!("{name}: {what}")),
        );
    }
    all
}

fn file_system(facts: &FileSystemFacts) -> Vec<String> {
    let kind = &facts.kind;
    let place = match facts.place {
        FileSystemPlace::Memory => Some(format!(
            "{kind} keeps files in memory: no device is measured"
        )),
        FileSystemPlace::Network => Some(format!(
            "{kind} keeps files on another host: the network is measured too"
        )),
        FileSystemPlace::Process => Some(format!(
            "{kind} hands every I/O to a process: that process is measured too"
        )),
        _ => None,
    };
    let direct = match (&facts.direct.probe, facts.direct.said) {
        (DirectProbe::Buffered, _) => Some(format!(
            "{kind} takes O_DIRECT but reads through the page cache: results are for memory"
        )),
        (DirectProbe::Refused(why), _) => Some(format!("{kind} refuses O_DIRECT here ({why})")),
        (_, DirectSaid::Buffered) => Some(format!(
            "{kind} says that O_DIRECT is not direct on this file"
        )),
        _ => None,
    };
    place.into_iter().chain(direct).collect()
}

fn of_device(facts: &DeviceFacts) -> Vec<String> {
    let mut all: Vec<String> = facts.links.iter().filter_map(link).collect();
    all.extend(cache(facts));
    all.extend(requests(facts));
    all.extend(facts.array.as_ref().and_then(array));
    all.extend(facts.backing.as_ref().and_then(backing));
    all.extend(health(facts));
    if facts.medium == Medium::Memory {
        all.push("it is memory of this host: results are for memory".to_owned());
    }
    if facts.transport.is_network() {
        all.push("the data is on another host: the network is measured too".to_owned());
    }
    all
}

fn link(link: &Link) -> Option<String> {
    let best = link.best.filter(|_| link.is_degraded())?;
    let rate = |bytes: u64| bytes / 1_000_000;
    let (now, could) = (rate(link.now.bytes_per_s), rate(best.bytes_per_s));
    Some(format!(
        "the link at {} carries {now} MB/s, but both of its ends can do {could} MB/s",
        link.at
    ))
}

fn cache(facts: &DeviceFacts) -> Vec<String> {
    let cache = &facts.cache;
    let mut all = Vec::new();
    if cache.flushes_withheld() {
        all.push(
            "the kernel was told that its cache is safe and sends no flush, but the device says that it is volatile"
                .to_owned(),
        );
    } else if cache.device_on == Some(true)
        || (cache.device_on.is_none() && cache.kernel == Some(KernelCache::WriteBack))
    {
        all.push(
            "its write cache is volatile: a write without a flush can be lost with the power"
                .to_owned(),
        );
    }
    if let Some(who) = &facts.hypervisor {
        all.push(format!(
            "it is made by {who}: what a flush does there cannot be shown from inside"
        ));
    }
    all
}

fn requests(facts: &DeviceFacts) -> Option<String> {
    let (now, most) = (facts.queue.max_request?, facts.queue.max_hardware_request?);
    // Every kernel lowers the limit by itself to 1280 KiB or more; below that somebody set it.
    (now < most && now.get() < 1280 << 10 && most.get() >= 1280 << 10).then(|| {
        format!(
            "max_sectors_kb is set to {}, although the hardware takes {}: larger I/Os are split",
            size(now),
            size(most)
        )
    })
}

fn array(array: &ArrayFacts) -> Option<String> {
    let missing = array.degraded.filter(|missing| *missing > 0);
    let degraded =
        missing.map(|missing| format!("{missing} of {} members are missing", array.members));
    let sync = array
        .sync
        .as_ref()
        .filter(|action| action.as_str() != "frozen")
        .map(|action| format!("a {action} is going on"));
    let both: Vec<String> = degraded.into_iter().chain(sync).collect();
    (!both.is_empty()).then(|| both.join(" and "))
}

fn backing(backing: &BackingFacts) -> Option<String> {
    let buffered = backing.direct_io == Some(false);
    let memory = backing
        .file_system
        .as_ref()
        .is_some_and(|facts| facts.place == FileSystemPlace::Memory);
    match (memory, buffered) {
        (true, _) => Some("its file is in memory: no device is measured".to_owned()),
        (false, true) => {
            Some("the loop driver goes through the page cache of its file: direct I/O on it is not direct".to_owned())
        }
        _ => None,
    }
}

fn health(facts: &DeviceFacts) -> Vec<String> {
    let health = &facts.health;
    let mut all = match &health.state {
        HealthState::Warns(words) => words
            .iter()
            .map(|word| format!("its health: {word}"))
            .collect(),
        HealthState::Unknown | HealthState::Good => Vec::new(),
    };
    if let (Some(now), Some(limit)) = (health.temperature_c, health.warning_c.or(health.critical_c))
        && now >= limit - NEAR_C
    {
        all.push(format!(
            "it has {now:.0} C, and slows down or warns at {limit:.0} C"
        ));
    }
    all
}
