//! Conditions that affect a measurement on a target, each a sentence with its figures. Unknown
//! facts produce no sentence.

use fathom_model::format::size;
use fathom_model::{
    ArrayFacts, BackingFacts, DeviceFacts, DirectIoProbe, FileSystemFacts, FileSystemLocation,
    HealthState, KernelCache, Link, Medium, ReportedDirectIo, TargetRecording,
};

/// A device closer than this to its temperature limit is hot, degrees.
const NEAR_C: f64 = 5.0;

/// Every concern: first those of the target, then those of each device, from the top of the stack
/// down.
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
    let place = match facts.location {
        FileSystemLocation::Memory => Some(format!(
            "{kind} keeps files in memory: no device is measured"
        )),
        FileSystemLocation::Network => Some(format!(
            "{kind} keeps files on another host: the network is measured too"
        )),
        FileSystemLocation::Process => Some(format!(
            "{kind} passes every I/O to a user-space process: that process is measured too"
        )),
        _ => None,
    };
    let direct = match (&facts.direct.probe, facts.direct.reported) {
        (DirectIoProbe::Buffered, _) => Some(format!(
            "{kind} accepts O_DIRECT but reads through the page cache: the results measure memory"
        )),
        (DirectIoProbe::Refused(why), _) => Some(format!("{kind} refuses O_DIRECT here ({why})")),
        (_, ReportedDirectIo::Buffered) => Some(format!(
            "{kind} reports that O_DIRECT is not direct on this file"
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
        all.push("it is memory of this host: the results measure memory".to_owned());
    }
    if facts.transport.is_network() {
        all.push("its data is on another host: the network is measured too".to_owned());
    }
    all
}

fn link(link: &Link) -> Option<String> {
    let best = link.best.filter(|_| link.is_degraded())?;
    let rate = |bytes: u64| bytes / 1_000_000;
    let (now, could) = (rate(link.now.bytes_per_s), rate(best.bytes_per_s));
    Some(format!(
        "the link at {} runs at {now} MB/s, but both ends support {could} MB/s",
        link.at
    ))
}

fn cache(facts: &DeviceFacts) -> Vec<String> {
    let cache = &facts.cache;
    let mut all = Vec::new();
    if cache.flushes_withheld() {
        all.push(
            "the kernel is configured to treat its write cache as safe and sends no flush, but the device reports the cache as volatile"
                .to_owned(),
        );
    } else if cache.device_on == Some(true)
        || (cache.device_on.is_none() && cache.kernel == Some(KernelCache::WriteBack))
    {
        all.push(
            "its write cache is volatile: a power failure can lose writes that were not flushed"
                .to_owned(),
        );
    }
    if let Some(who) = &facts.hypervisor {
        all.push(format!(
            "it is provided by {who}: whether a flush reaches stable storage cannot be verified from the guest"
        ));
    }
    all
}

fn requests(facts: &DeviceFacts) -> Option<String> {
    let (now, most) = (facts.queue.max_request?, facts.queue.max_hardware_request?);
    // Every kernel sets the limit to 1280 KiB or more by itself; a lower one was configured.
    (now < most && now.get() < 1280 << 10 && most.get() >= 1280 << 10).then(|| {
        format!(
            "max_sectors_kb is set to {}, but the hardware accepts {}: larger I/Os are split",
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
        .map(|action| format!("a {action} is in progress"));
    let both: Vec<String> = degraded.into_iter().chain(sync).collect();
    (!both.is_empty()).then(|| both.join(" and "))
}

fn backing(backing: &BackingFacts) -> Option<String> {
    let buffered = backing.direct_io == Some(false);
    let memory = backing
        .file_system
        .as_ref()
        .is_some_and(|facts| facts.location == FileSystemLocation::Memory);
    match (memory, buffered) {
        (true, _) => Some("its backing file is in memory: no device is measured".to_owned()),
        (false, true) => {
            Some("the loop driver uses the page cache of the backing file: direct I/O on it is not direct".to_owned())
        }
        _ => None,
    }
}

fn health(facts: &DeviceFacts) -> Vec<String> {
    let health = &facts.health;
    let mut all = match &health.state {
        HealthState::Warns(warnings) => warnings
            .iter()
            .map(|warning| format!("health: {warning}"))
            .collect(),
        HealthState::Unknown | HealthState::Good => Vec::new(),
    };
    if let (Some(now), Some(limit)) = (health.temperature_c, health.warning_c.or(health.critical_c))
        && now >= limit - NEAR_C
    {
        all.push(format!(
            "its temperature is {now:.0} C; it throttles or warns at {limit:.0} C"
        ));
    }
    all
}
