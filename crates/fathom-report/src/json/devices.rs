//! Targets and the devices below them, as JSON. Unknown values are `null`.

use fathom_model::{
    ArrayFacts, BackingFacts, Bytes, CacheFacts, DeviceFacts, DeviceRecording, DirectIoFacts,
    DirectIoProbe, FileSystemFacts, HealthFacts, HealthState, Link, LinkSpeed, PartitionFacts,
    QueueFacts, ReportedDirectIo, TargetRecording,
};

use crate::names::{
    direct_answer_name, direct_probe_name, health_state_name, kernel_cache_name, link_kind_name,
    location_name,
};
use crate::tree::{Object, Tree};

/// One target.
pub(crate) fn target(target: &TargetRecording) -> Object {
    Object::new()
        .with("path", target.path.to_string_lossy().as_ref())
        .with("more_targets", target.others)
        .with("file_system", target.file_system.as_ref().map(file_system))
        .with(
            "devices",
            target.devices.iter().map(recorded).collect::<Tree>(),
        )
        .with("errors", target.problems.iter().collect::<Tree>())
}

/// A device before the run, and the values that changed during the run.
fn recorded(recorded: &DeviceRecording) -> Object {
    let mut object = device(&recorded.before);
    object.push("parent", recorded.parent.map(|place| place as u64));
    object.push("partition", recorded.partition.as_ref().map(partition));
    if let Some(after) = &recorded.after {
        let changed = changes(&recorded.before.queue, &after.queue);
        object.push(
            "after",
            Object::new()
                .with("health", health(&after.health))
                .with("cache", cache(&after.cache))
                .with("settings_changed", changed),
        );
    }
    object
}

/// Settings of the queue that differ: name, before, after.
fn changes(before: &QueueFacts, after: &QueueFacts) -> Object {
    let old = |name: &str| {
        before
            .settings
            .iter()
            .find(|setting| setting.0 == name)
            .map(|setting| &setting.1)
    };
    let differ = after
        .settings
        .iter()
        .filter(|(name, value)| old(name) != Some(value));
    differ.fold(Object::new(), |all, (name, value)| {
        all.with(
            name.clone(),
            Object::new().with("before", old(name)).with("after", value),
        )
    })
}

/// One device.
pub(crate) fn device(facts: &DeviceFacts) -> Object {
    let identity = &facts.identity;
    Object::new()
        .with("name", &facts.name)
        .with(
            "number",
            format!("{}:{}", facts.number.0, facts.number.1).as_str(),
        )
        .with("size", bytes(facts.size))
        .with("read_only", facts.read_only)
        .with("removable", facts.removable)
        .with("vendor", identity.vendor.as_ref())
        .with("model", identity.model.as_ref())
        .with("serial", identity.serial.as_ref())
        .with("firmware", identity.firmware.as_ref())
        .with("wwid", identity.wwid.as_ref())
        .with("medium", facts.medium.name())
        .with("rpm", facts.rpm)
        .with("transport", facts.transport.name())
        .with("driver", facts.driver.as_ref())
        .with("links", facts.links.iter().map(link).collect::<Tree>())
        .with("queue", queue(&facts.queue))
        .with("cache", cache(&facts.cache))
        .with("array", facts.array.as_ref().map(array))
        .with("backing", facts.backing.as_ref().map(backing))
        .with("lower_devices", facts.built_on.iter().collect::<Tree>())
        .with("numa_node", facts.numa_node)
        .with("health", health(&facts.health))
        .with("hypervisor", facts.hypervisor.as_ref())
        .with("unreadable", facts.unread.iter().collect::<Tree>())
}

fn bytes(size: Bytes) -> u64 {
    size.get()
}

fn partition(facts: &PartitionFacts) -> Object {
    Object::new()
        .with("name", &facts.name)
        .with("start", bytes(facts.starts_at))
        .with("size", bytes(facts.size))
}

fn link(link: &Link) -> Object {
    Object::new()
        .with("kind", link_kind_name(link.kind))
        .with("address", &link.at)
        .with("current", speed(&link.now))
        .with("maximum", link.best.as_ref().map(speed))
}

fn speed(speed: &LinkSpeed) -> Object {
    Object::new()
        .with("generation", speed.generation)
        .with("lanes", speed.lanes)
        .with("megatransfers_per_s", speed.megatransfers)
        .with("usable_bytes_per_s", speed.bytes_per_s)
}

fn queue(queue: &QueueFacts) -> Object {
    let settings = queue
        .settings
        .iter()
        .map(|(name, value)| (name.clone(), Tree::from(value)));
    Object::new()
        .with("hardware_queues", queue.hardware_queues)
        .with("requests", queue.requests)
        .with("device_depth", queue.device_depth)
        .with("scheduler", queue.scheduler.as_ref())
        .with("logical_block", queue.logical_block)
        .with("physical_block", queue.physical_block)
        .with("minimum_io", queue.minimum_io)
        .with("optimal_io", queue.optimal_io)
        .with("max_request", queue.max_request.map(bytes))
        .with(
            "max_hardware_request",
            queue.max_hardware_request.map(bytes),
        )
        .with("max_segments", queue.max_segments)
        .with("max_segment_size", queue.max_segment_size)
        .with("chunk", queue.chunk.map(bytes))
        .with("max_unsplit", queue.max_unsplit.map(bytes))
        .with(
            "max_unsplit_contiguous",
            queue.max_unsplit_contiguous.map(bytes),
        )
        .with("settings", Object::of(settings))
}

fn cache(cache: &CacheFacts) -> Object {
    Object::new()
        .with("kernel", cache.kernel.map(kernel_cache_name))
        .with("kernel_fua", cache.kernel_fua)
        .with("device_present", cache.device_has)
        .with("device_enabled", cache.device_on)
        .with("device_fua", cache.device_fua)
        .with("source", cache.source)
}

fn array(array: &ArrayFacts) -> Object {
    Object::new()
        .with("kind", &array.kind)
        .with("name", array.name.as_ref())
        .with("members", array.members)
        .with("degraded", array.degraded)
        .with("chunk", array.chunk.map(bytes))
        .with("stripe", array.stripe.map(bytes))
        .with("state", array.state.as_ref())
        .with("sync", array.sync.as_ref())
}

fn backing(backing: &BackingFacts) -> Object {
    Object::new()
        .with("path", backing.path.to_string_lossy().as_ref())
        .with("offset", bytes(backing.offset))
        .with("direct_io", backing.direct_io)
        .with("file_system", backing.file_system.as_ref().map(file_system))
}

fn health(health: &HealthFacts) -> Object {
    let warnings: &[String] = match &health.state {
        HealthState::Unknown | HealthState::Good => &[],
        HealthState::Warns(warnings) => warnings,
    };
    Object::new()
        .with("state", health_state_name(&health.state))
        .with("warnings", warnings.iter().collect::<Tree>())
        .with("source", health.source)
        .with("temperature_c", health.temperature_c)
        .with("warning_c", health.warning_c)
        .with("critical_c", health.critical_c)
        .with("throttled_s", health.throttled_s)
        .with("throttle_count", health.throttle_count)
        .with("spare_percent", health.spare_percent.map(u32::from))
        .with("used_percent", health.used_percent.map(u32::from))
        .with("media_errors", health.media_errors)
        .with("reallocated", health.reallocated)
        .with("pending", health.pending)
        .with("power_on_hours", health.power_on_hours)
        .with("unsafe_shutdowns", health.unsafe_shutdowns)
        .with("written_bytes", health.written.map(bytes))
        .with("read_bytes", health.read.map(bytes))
}

fn file_system(facts: &FileSystemFacts) -> Object {
    Object::new()
        .with("kind", &facts.kind)
        .with("mounted_at", facts.mounted_at.to_string_lossy().as_ref())
        .with("source", &facts.source)
        .with("options", &facts.options)
        .with("read_only", facts.read_only)
        .with("location", location_name(facts.location))
        .with("block", bytes(facts.block))
        .with("free", bytes(facts.free))
        .with("total", bytes(facts.total))
        .with("direct_io", direct(&facts.direct))
}

fn direct(direct: &DirectIoFacts) -> Object {
    let (offset_align, memory_align) = match direct.reported {
        ReportedDirectIo::Unknown | ReportedDirectIo::Buffered => (None, None),
        ReportedDirectIo::Direct {
            offset_align,
            memory_align,
        } => (Some(offset_align), Some(memory_align)),
    };
    let reason = match &direct.probe {
        DirectIoProbe::NotTried(reason) | DirectIoProbe::Refused(reason) => Some(reason),
        DirectIoProbe::NotProbed | DirectIoProbe::Direct | DirectIoProbe::Buffered => None,
    };
    Object::new()
        .with("reported", direct_answer_name(&direct.reported))
        .with("offset_align", offset_align)
        .with("memory_align", memory_align)
        .with("probe", direct_probe_name(&direct.probe))
        .with("probe_reason", reason)
}
