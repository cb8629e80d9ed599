//! Devices, with the names used in documents.

use std::path::PathBuf;

use fathom_model::*;
use serde::{Deserialize, Serialize};
use serde_with::As;

use super::values::{BytesDocument, PathDocument, StaticText, StaticTextDocument};

#[derive(Deserialize, Serialize)]
#[serde(rename = "KernelCache", remote = "KernelCache")]
pub(crate) enum KernelCacheDocument {
    #[serde(rename = "WriteBack")]
    WriteBack,
    #[serde(rename = "WriteThrough")]
    WriteThrough,
}

#[derive(Deserialize, Serialize)]
#[serde(rename = "CacheFacts", remote = "CacheFacts")]
pub(crate) struct CacheFactsDocument {
    #[serde(rename = "kernel", with = "As::<Option<KernelCacheDocument>>")]
    kernel: Option<KernelCache>,
    #[serde(rename = "kernel_fua")]
    kernel_fua: Option<bool>,
    #[serde(rename = "device_has")]
    device_has: Option<bool>,
    #[serde(rename = "device_on")]
    device_on: Option<bool>,
    #[serde(rename = "device_fua")]
    device_fua: Option<bool>,
    #[serde(rename = "asked", with = "As::<Option<StaticTextDocument>>")]
    source: Option<StaticText>,
}

#[derive(Deserialize, Serialize)]
#[serde(rename = "FileSystemPlace", remote = "FileSystemLocation")]
pub(crate) enum FileSystemLocationDocument {
    #[serde(rename = "Local")]
    Local,
    #[serde(rename = "Network")]
    Network,
    #[serde(rename = "Memory")]
    Memory,
    #[serde(rename = "Process")]
    Process,
    #[serde(rename = "Stacked")]
    Stacked,
    #[serde(rename = "Unknown")]
    Unknown,
}

#[derive(Deserialize, Serialize)]
#[serde(rename = "FileSystemFacts", remote = "FileSystemFacts")]
pub(crate) struct FileSystemFactsDocument {
    #[serde(rename = "kind")]
    kind: String,
    #[serde(rename = "mounted_at", with = "As::<PathDocument>")]
    mounted_at: PathBuf,
    #[serde(rename = "source")]
    source: String,
    #[serde(rename = "options")]
    options: String,
    #[serde(rename = "read_only")]
    read_only: bool,
    #[serde(rename = "place", with = "As::<FileSystemLocationDocument>")]
    location: FileSystemLocation,
    #[serde(rename = "block", with = "As::<BytesDocument>")]
    block: Bytes,
    #[serde(rename = "free", with = "As::<BytesDocument>")]
    free: Bytes,
    #[serde(rename = "total", with = "As::<BytesDocument>")]
    total: Bytes,
    #[serde(rename = "direct", with = "As::<DirectIoFactsDocument>")]
    direct: DirectIoFacts,
}

#[derive(Deserialize, Serialize)]
#[serde(rename = "DirectSaid", remote = "ReportedDirectIo")]
pub(crate) enum ReportedDirectIoDocument {
    #[serde(rename = "Unknown")]
    Unknown,
    #[serde(rename = "Buffered")]
    Buffered,
    #[serde(rename = "Direct")]
    Direct {
        #[serde(rename = "offset_align")]
        offset_align: u32,
        #[serde(rename = "memory_align")]
        memory_align: u32,
    },
}

#[derive(Deserialize, Serialize)]
#[serde(rename = "DirectProbe", remote = "DirectIoProbe")]
pub(crate) enum DirectIoProbeDocument {
    #[serde(rename = "NotTried")]
    NotTried(String),
    #[serde(rename = "Direct")]
    Direct,
    #[serde(rename = "Buffered")]
    Buffered,
    #[serde(rename = "Refused")]
    Refused(String),
    #[serde(rename = "Unasked")]
    NotProbed,
}

#[derive(Deserialize, Serialize)]
#[serde(rename = "DirectFacts", remote = "DirectIoFacts")]
pub(crate) struct DirectIoFactsDocument {
    #[serde(rename = "said", with = "As::<ReportedDirectIoDocument>")]
    reported: ReportedDirectIo,
    #[serde(rename = "probe", with = "As::<DirectIoProbeDocument>")]
    probe: DirectIoProbe,
}

#[derive(Deserialize, Serialize)]
#[serde(rename = "HealthState", remote = "HealthState")]
pub(crate) enum HealthStateDocument {
    #[serde(rename = "Unknown")]
    Unknown,
    #[serde(rename = "Good")]
    Good,
    #[serde(rename = "Warns")]
    Warns(Vec<String>),
}

#[derive(Deserialize, Serialize)]
#[serde(rename = "HealthFacts", remote = "HealthFacts")]
pub(crate) struct HealthFactsDocument {
    #[serde(rename = "state", with = "As::<HealthStateDocument>")]
    state: HealthState,
    #[serde(rename = "asked", with = "As::<Option<StaticTextDocument>>")]
    source: Option<StaticText>,
    #[serde(rename = "temperature_c")]
    temperature_c: Option<f64>,
    #[serde(rename = "warning_c")]
    warning_c: Option<f64>,
    #[serde(rename = "critical_c")]
    critical_c: Option<f64>,
    #[serde(rename = "throttled_s")]
    throttled_s: Option<u64>,
    #[serde(rename = "throttle_count")]
    throttle_count: Option<u64>,
    #[serde(rename = "spare_percent")]
    spare_percent: Option<u8>,
    #[serde(rename = "used_percent")]
    used_percent: Option<u8>,
    #[serde(rename = "media_errors")]
    media_errors: Option<u64>,
    #[serde(rename = "reallocated")]
    reallocated: Option<u64>,
    #[serde(rename = "pending")]
    pending: Option<u64>,
    #[serde(rename = "power_on_hours")]
    power_on_hours: Option<u64>,
    #[serde(rename = "unsafe_shutdowns")]
    unsafe_shutdowns: Option<u64>,
    #[serde(rename = "written", with = "As::<Option<BytesDocument>>")]
    written: Option<Bytes>,
    #[serde(rename = "read", with = "As::<Option<BytesDocument>>")]
    read: Option<Bytes>,
}

#[derive(Deserialize, Serialize)]
#[serde(rename = "Medium", remote = "Medium")]
pub(crate) enum MediumDocument {
    #[serde(rename = "Disk")]
    Disk,
    #[serde(rename = "Flash")]
    Flash,
    #[serde(rename = "Optical")]
    Optical,
    #[serde(rename = "Memory")]
    Memory,
    #[serde(rename = "Virtual")]
    Virtual,
    #[serde(rename = "Below")]
    Below,
    #[serde(rename = "Unknown")]
    Unknown,
}

#[derive(Deserialize, Serialize)]
#[serde(rename = "Transport", remote = "Transport")]
pub(crate) enum TransportDocument {
    #[serde(rename = "Nvme")]
    Nvme,
    #[serde(rename = "NvmeFabrics")]
    NvmeFabrics,
    #[serde(rename = "Sata")]
    Sata,
    #[serde(rename = "Pata")]
    Pata,
    #[serde(rename = "Sas")]
    Sas,
    #[serde(rename = "Scsi")]
    Scsi,
    #[serde(rename = "FibreChannel")]
    FibreChannel,
    #[serde(rename = "Iscsi")]
    Iscsi,
    #[serde(rename = "Srp")]
    Srp,
    #[serde(rename = "RaidController")]
    RaidController,
    #[serde(rename = "Usb")]
    Usb,
    #[serde(rename = "FireWire")]
    FireWire,
    #[serde(rename = "Mmc")]
    Mmc,
    #[serde(rename = "Ufs")]
    Ufs,
    #[serde(rename = "Virtio")]
    Virtio,
    #[serde(rename = "Xen")]
    Xen,
    #[serde(rename = "HyperV")]
    HyperV,
    #[serde(rename = "Loop")]
    Loop,
    #[serde(rename = "DeviceMapper")]
    DeviceMapper,
    #[serde(rename = "Md")]
    Md,
    #[serde(rename = "Bcache")]
    Bcache,
    #[serde(rename = "Zvol")]
    Zvol,
    #[serde(rename = "Drbd")]
    Drbd,
    #[serde(rename = "RamDisk")]
    RamDisk,
    #[serde(rename = "Zram")]
    Zram,
    #[serde(rename = "Pmem")]
    Pmem,
    #[serde(rename = "Nbd")]
    Nbd,
    #[serde(rename = "Rbd")]
    Rbd,
    #[serde(rename = "Ublk")]
    Ublk,
    #[serde(rename = "Floppy")]
    Floppy,
    #[serde(rename = "NullBlk")]
    NullBlk,
    #[serde(rename = "ScsiDebug")]
    ScsiDebug,
    #[serde(rename = "Unknown")]
    Unknown,
}

#[derive(Deserialize, Serialize)]
#[serde(rename = "LinkKind", remote = "LinkKind")]
pub(crate) enum LinkKindDocument {
    #[serde(rename = "Pcie")]
    Pcie,
    #[serde(rename = "Sata")]
    Sata,
    #[serde(rename = "Sas")]
    Sas,
    #[serde(rename = "FibreChannel")]
    FibreChannel,
    #[serde(rename = "Usb")]
    Usb,
}

#[derive(Deserialize, Serialize)]
#[serde(rename = "LinkSpeed", remote = "LinkSpeed")]
pub(crate) struct LinkSpeedDocument {
    #[serde(rename = "generation")]
    generation: Option<u32>,
    #[serde(rename = "lanes")]
    lanes: u32,
    #[serde(rename = "megatransfers")]
    megatransfers: u32,
    #[serde(rename = "bytes_per_s")]
    bytes_per_s: u64,
}

#[derive(Deserialize, Serialize)]
#[serde(rename = "Link", remote = "Link")]
pub(crate) struct LinkDocument {
    #[serde(rename = "kind", with = "As::<LinkKindDocument>")]
    kind: LinkKind,
    #[serde(rename = "at")]
    at: String,
    #[serde(rename = "now", with = "As::<LinkSpeedDocument>")]
    now: LinkSpeed,
    #[serde(rename = "best", with = "As::<Option<LinkSpeedDocument>>")]
    best: Option<LinkSpeed>,
}

#[derive(Deserialize, Serialize)]
#[serde(rename = "QueueFacts", remote = "QueueFacts")]
pub(crate) struct QueueFactsDocument {
    #[serde(rename = "hardware_queues")]
    hardware_queues: Option<u32>,
    #[serde(rename = "requests")]
    requests: Option<u32>,
    #[serde(rename = "device_depth")]
    device_depth: Option<u32>,
    #[serde(rename = "scheduler")]
    scheduler: Option<String>,
    #[serde(rename = "logical_block")]
    logical_block: Option<u32>,
    #[serde(rename = "physical_block")]
    physical_block: Option<u32>,
    #[serde(rename = "minimum_io")]
    minimum_io: Option<u32>,
    #[serde(rename = "optimal_io")]
    optimal_io: Option<u32>,
    #[serde(rename = "max_request", with = "As::<Option<BytesDocument>>")]
    max_request: Option<Bytes>,
    #[serde(rename = "max_hardware_request", with = "As::<Option<BytesDocument>>")]
    max_hardware_request: Option<Bytes>,
    #[serde(rename = "max_segments")]
    max_segments: Option<u32>,
    #[serde(rename = "max_segment_size")]
    max_segment_size: Option<u32>,
    #[serde(rename = "chunk", with = "As::<Option<BytesDocument>>")]
    chunk: Option<Bytes>,
    #[serde(rename = "unsplit", with = "As::<Option<BytesDocument>>")]
    max_unsplit: Option<Bytes>,
    #[serde(rename = "unsplit_at_best", with = "As::<Option<BytesDocument>>")]
    max_unsplit_contiguous: Option<Bytes>,
    #[serde(rename = "read_ahead", with = "As::<Option<BytesDocument>>")]
    read_ahead: Option<Bytes>,
    #[serde(rename = "rotational")]
    rotational: Option<bool>,
    #[serde(rename = "polls")]
    polls: Option<bool>,
    #[serde(rename = "no_merges")]
    no_merges: Option<u32>,
    #[serde(rename = "writeback_throttle_us")]
    writeback_throttle_us: Option<i64>,
    #[serde(rename = "max_discard", with = "As::<Option<BytesDocument>>")]
    max_discard: Option<Bytes>,
    #[serde(rename = "zoned")]
    zoned: Option<String>,
    #[serde(rename = "settings")]
    settings: Vec<(String, String)>,
}

#[derive(Deserialize, Serialize)]
#[serde(rename = "TargetRecording", remote = "TargetRecording")]
pub(crate) struct TargetRecordingDocument {
    #[serde(rename = "path", with = "As::<PathDocument>")]
    path: PathBuf,
    #[serde(rename = "others")]
    others: u32,
    #[serde(rename = "file_system", with = "As::<Option<FileSystemFactsDocument>>")]
    file_system: Option<FileSystemFacts>,
    #[serde(rename = "devices", with = "As::<Vec<DeviceRecordingDocument>>")]
    devices: Vec<DeviceRecording>,
    #[serde(rename = "troubles")]
    problems: Vec<String>,
}

#[derive(Deserialize, Serialize)]
#[serde(rename = "DeviceRecording", remote = "DeviceRecording")]
pub(crate) struct DeviceRecordingDocument {
    #[serde(rename = "under")]
    parent: Option<usize>,
    #[serde(rename = "partition", with = "As::<Option<PartitionFactsDocument>>")]
    partition: Option<PartitionFacts>,
    #[serde(rename = "before", with = "As::<DeviceFactsDocument>")]
    before: DeviceFacts,
    #[serde(rename = "after", with = "As::<Option<DeviceFactsDocument>>")]
    after: Option<DeviceFacts>,
}

#[derive(Deserialize, Serialize)]
#[serde(rename = "PartitionFacts", remote = "PartitionFacts")]
pub(crate) struct PartitionFactsDocument {
    #[serde(rename = "name")]
    name: String,
    #[serde(rename = "starts_at", with = "As::<BytesDocument>")]
    starts_at: Bytes,
    #[serde(rename = "size", with = "As::<BytesDocument>")]
    size: Bytes,
}

#[derive(Deserialize, Serialize)]
#[serde(rename = "DeviceFacts", remote = "DeviceFacts")]
pub(crate) struct DeviceFactsDocument {
    #[serde(rename = "name")]
    name: String,
    #[serde(rename = "number")]
    number: (u32, u32),
    #[serde(rename = "size", with = "As::<BytesDocument>")]
    size: Bytes,
    #[serde(rename = "read_only")]
    read_only: bool,
    #[serde(rename = "removable")]
    removable: bool,
    #[serde(rename = "identity", with = "As::<IdentityDocument>")]
    identity: Identity,
    #[serde(rename = "medium", with = "As::<MediumDocument>")]
    medium: Medium,
    #[serde(rename = "rpm")]
    rpm: Option<u32>,
    #[serde(rename = "transport", with = "As::<TransportDocument>")]
    transport: Transport,
    #[serde(rename = "driver")]
    driver: Option<String>,
    #[serde(rename = "links", with = "As::<Vec<LinkDocument>>")]
    links: Vec<Link>,
    #[serde(rename = "queue", with = "As::<QueueFactsDocument>")]
    queue: QueueFacts,
    #[serde(rename = "cache", with = "As::<CacheFactsDocument>")]
    cache: CacheFacts,
    #[serde(rename = "array", with = "As::<Option<ArrayFactsDocument>>")]
    array: Option<ArrayFacts>,
    #[serde(rename = "backing", with = "As::<Option<BackingFactsDocument>>")]
    backing: Option<BackingFacts>,
    #[serde(rename = "built_on")]
    built_on: Vec<String>,
    #[serde(rename = "numa_node")]
    numa_node: Option<u32>,
    #[serde(rename = "health", with = "As::<HealthFactsDocument>")]
    health: HealthFacts,
    #[serde(rename = "hypervisor")]
    hypervisor: Option<String>,
    #[serde(rename = "unread")]
    unread: Vec<String>,
}

#[derive(Deserialize, Serialize)]
#[serde(rename = "Identity", remote = "Identity")]
pub(crate) struct IdentityDocument {
    #[serde(rename = "vendor")]
    vendor: Option<String>,
    #[serde(rename = "model")]
    model: Option<String>,
    #[serde(rename = "serial")]
    serial: Option<String>,
    #[serde(rename = "firmware")]
    firmware: Option<String>,
    #[serde(rename = "wwid")]
    wwid: Option<String>,
}

#[derive(Deserialize, Serialize)]
#[serde(rename = "ArrayFacts", remote = "ArrayFacts")]
pub(crate) struct ArrayFactsDocument {
    #[serde(rename = "kind")]
    kind: String,
    #[serde(rename = "name")]
    name: Option<String>,
    #[serde(rename = "members")]
    members: u32,
    #[serde(rename = "degraded")]
    degraded: Option<u32>,
    #[serde(rename = "chunk", with = "As::<Option<BytesDocument>>")]
    chunk: Option<Bytes>,
    #[serde(rename = "stripe", with = "As::<Option<BytesDocument>>")]
    stripe: Option<Bytes>,
    #[serde(rename = "state")]
    state: Option<String>,
    #[serde(rename = "sync")]
    sync: Option<String>,
}

#[derive(Deserialize, Serialize)]
#[serde(rename = "BackingFacts", remote = "BackingFacts")]
pub(crate) struct BackingFactsDocument {
    #[serde(rename = "path", with = "As::<PathDocument>")]
    path: PathBuf,
    #[serde(rename = "offset", with = "As::<BytesDocument>")]
    offset: Bytes,
    #[serde(rename = "direct_io")]
    direct_io: Option<bool>,
    #[serde(rename = "file_system", with = "As::<Option<FileSystemFactsDocument>>")]
    file_system: Option<FileSystemFacts>,
}

mirrors! {
    KernelCacheDocument for KernelCache,
    CacheFactsDocument for CacheFacts,
    FileSystemLocationDocument for FileSystemLocation,
    FileSystemFactsDocument for FileSystemFacts,
    ReportedDirectIoDocument for ReportedDirectIo,
    DirectIoProbeDocument for DirectIoProbe,
    DirectIoFactsDocument for DirectIoFacts,
    HealthStateDocument for HealthState,
    HealthFactsDocument for HealthFacts,
    MediumDocument for Medium,
    TransportDocument for Transport,
    LinkKindDocument for LinkKind,
    LinkSpeedDocument for LinkSpeed,
    LinkDocument for Link,
    QueueFactsDocument for QueueFacts,
    TargetRecordingDocument for TargetRecording,
    DeviceRecordingDocument for DeviceRecording,
    PartitionFactsDocument for PartitionFacts,
    DeviceFactsDocument for DeviceFacts,
    IdentityDocument for Identity,
    ArrayFactsDocument for ArrayFacts,
    BackingFactsDocument for BackingFacts,
}
