//! Who a device is and how it is.

use fathom_model::*;

#[cfg(test)]
use super::dice::TestRng;
use super::kept::{Fields, Kept, variant};
use super::value::Value;
use super::{Names, Unreadable};

choice!(KernelCache {
    WriteBack,
    WriteThrough
});
kept!(CacheFacts {
    kernel,
    kernel_fua,
    device_has,
    device_on,
    device_fua,
    asked
});
choice!(FileSystemPlace {
    Local,
    Network,
    Memory,
    Process,
    Stacked,
    Unknown
});
kept!(FileSystemFacts {
    kind,
    mounted_at,
    source,
    options,
    read_only,
    place,
    block,
    free,
    total,
    direct
});
choice!(DirectSaid { Unknown, Buffered, Direct { offset_align, memory_align } });
choice!(DirectProbe { NotTried(inner), Direct, Buffered, Refused(inner), Unasked });
kept!(DirectFacts { said, probe });
choice!(HealthState { Unknown, Good, Warns(inner) });
kept!(HealthFacts {
    state,
    asked,
    temperature_c,
    warning_c,
    critical_c,
    throttled_s,
    throttle_count,
    spare_percent,
    used_percent,
    media_errors,
    reallocated,
    pending,
    power_on_hours,
    unsafe_shutdowns,
    written,
    read,
});
choice!(Medium {
    Disk,
    Flash,
    Optical,
    Memory,
    Virtual,
    Below,
    Unknown
});
choice!(Transport {
    Nvme,
    NvmeFabrics,
    Sata,
    Pata,
    Sas,
    Scsi,
    FibreChannel,
    Iscsi,
    Srp,
    RaidController,
    Usb,
    FireWire,
    Mmc,
    Ufs,
    Virtio,
    Xen,
    HyperV,
    Loop,
    DeviceMapper,
    Md,
    Bcache,
    Zvol,
    Drbd,
    RamDisk,
    Zram,
    Pmem,
    Nbd,
    Rbd,
    Ublk,
    Floppy,
    NullBlk,
    ScsiDebug,
    Unknown,
});
choice!(LinkKind {
    Pcie,
    Sata,
    Sas,
    FibreChannel,
    Usb
});
kept!(LinkSpeed {
    generation,
    lanes,
    megatransfers,
    bytes_per_s
});
kept!(Link {
    kind,
    at,
    now,
    best
});
kept!(QueueFacts {
    hardware_queues,
    requests,
    device_depth,
    scheduler,
    logical_block,
    physical_block,
    minimum_io,
    optimal_io,
    max_request,
    max_hardware_request,
    max_segments,
    max_segment_size,
    chunk,
    unsplit,
    unsplit_at_best,
    read_ahead,
    rotational,
    polls,
    no_merges,
    writeback_throttle_us,
    max_discard,
    zoned,
    settings,
});
kept!(TargetRecording {
    path,
    others,
    file_system,
    devices,
    troubles
});
kept!(DeviceRecording {
    under,
    partition,
    before,
    after
});
kept!(PartitionFacts {
    name,
    starts_at,
    size
});
kept!(DeviceFacts {
    name,
    number,
    size,
    read_only,
    removable,
    identity,
    medium,
    rpm,
    transport,
    driver,
    links,
    queue,
    cache,
    array,
    backing,
    built_on,
    numa_node,
    health,
    hypervisor,
    unread,
});
kept!(Identity {
    vendor,
    model,
    serial,
    firmware,
    wwid
});
kept!(ArrayFacts {
    kind,
    name,
    members,
    degraded,
    chunk,
    stripe,
    state,
    sync
});
kept!(BackingFacts {
    path,
    offset,
    direct_io,
    file_system
});
