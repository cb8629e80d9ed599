//! The conditions of the machine and the targets during a run, with the names used in documents.

use std::path::PathBuf;

use fathom_model::*;
use serde::{Deserialize, Serialize};
use serde_with::As;

use super::recording::DiskCountersDocument;
use super::values::{BytesDocument, NanosDocument, PathDocument};

#[derive(Deserialize, Serialize)]
#[serde(rename = "Conditions", remote = "Conditions")]
pub(crate) struct ConditionsDocument {
    #[serde(rename = "telemetry", with = "As::<TelemetryDocument>")]
    telemetry: Telemetry,
    #[serde(rename = "targets", with = "As::<Vec<TargetConditionsDocument>>")]
    targets: Vec<TargetConditions>,
    #[serde(rename = "limits", with = "As::<Vec<IoLimitDocument>>")]
    limits: Vec<IoLimit>,
    #[serde(rename = "virtual_machine")]
    virtual_machine: Option<bool>,
}

#[derive(Deserialize, Serialize)]
#[serde(rename = "Telemetry", remote = "Telemetry")]
pub(crate) struct TelemetryDocument {
    #[serde(rename = "disks")]
    disks: Vec<String>,
    #[serde(rename = "samples", with = "As::<Vec<SampleDocument>>")]
    samples: Vec<Sample>,
    #[serde(rename = "cost", with = "As::<NanosDocument>")]
    cost: Nanos,
}

#[derive(Deserialize, Serialize)]
#[serde(rename = "Sample", remote = "Sample")]
pub(crate) struct SampleDocument {
    #[serde(rename = "start", with = "As::<NanosDocument>")]
    start: Nanos,
    #[serde(rename = "length", with = "As::<NanosDocument>")]
    length: Nanos,
    #[serde(rename = "disks", with = "As::<Vec<DiskCountersDocument>>")]
    disks: Vec<DiskCounters>,
    #[serde(rename = "cpus", with = "As::<Vec<CpuShareDocument>>")]
    cpus: Vec<CpuShare>,
    #[serde(rename = "cpu_pressure")]
    cpu_pressure: Option<f64>,
    #[serde(rename = "io_pressure")]
    io_pressure: Option<f64>,
    #[serde(rename = "memory_pressure")]
    memory_pressure: Option<f64>,
    #[serde(rename = "cpu_mhz")]
    cpu_mhz: Option<f64>,
    #[serde(rename = "celsius")]
    celsius: Option<f64>,
    #[serde(rename = "available", with = "As::<Option<BytesDocument>>")]
    available: Option<Bytes>,
    #[serde(rename = "dirty", with = "As::<Option<BytesDocument>>")]
    dirty: Option<Bytes>,
    #[serde(rename = "writeback", with = "As::<Option<BytesDocument>>")]
    writeback: Option<Bytes>,
    #[serde(rename = "throttles")]
    throttles: Option<u64>,
    #[serde(rename = "wall_step_ns")]
    wall_step_ns: i64,
}

#[derive(Deserialize, Serialize)]
#[serde(rename = "CpuShare", remote = "CpuShare")]
pub(crate) struct CpuShareDocument {
    #[serde(rename = "busy")]
    busy: f64,
    #[serde(rename = "stolen")]
    stolen: f64,
}

#[derive(Deserialize, Serialize)]
#[serde(rename = "DirectTruth", remote = "DirectIoMode")]
pub(crate) enum DirectIoModeDocument {
    #[serde(rename = "Direct")]
    Direct,
    #[serde(rename = "Buffered")]
    Buffered,
    #[serde(rename = "Unsaid")]
    Unreported,
}

#[derive(Deserialize, Serialize)]
#[serde(rename = "TargetConditions", remote = "TargetConditions")]
pub(crate) struct TargetConditionsDocument {
    #[serde(rename = "path", with = "As::<PathDocument>")]
    path: PathBuf,
    #[serde(rename = "is_file")]
    is_file: bool,
    #[serde(rename = "size", with = "As::<BytesDocument>")]
    size: Bytes,
    #[serde(rename = "memory_backed")]
    memory_backed: bool,
    #[serde(rename = "direct", with = "As::<Option<DirectIoModeDocument>>")]
    direct: Option<DirectIoMode>,
    #[serde(rename = "written_share")]
    written_share: Option<f64>,
    #[serde(rename = "cached_share")]
    cached_share: Option<f64>,
    #[serde(rename = "dirty", with = "As::<Option<BytesDocument>>")]
    dirty: Option<Bytes>,
    #[serde(rename = "gone", with = "As::<Option<NanosDocument>>")]
    gone: Option<Nanos>,
    #[serde(rename = "sharers", with = "As::<Vec<SharerDocument>>")]
    sharers: Vec<Sharer>,
}

#[derive(Deserialize, Serialize)]
#[serde(rename = "Sharer", remote = "Sharer")]
pub(crate) struct SharerDocument {
    #[serde(rename = "process")]
    process: u32,
    #[serde(rename = "name")]
    name: String,
    #[serde(rename = "writes")]
    writes: bool,
    #[serde(rename = "orphan")]
    orphan: bool,
}

#[derive(Deserialize, Serialize)]
#[serde(rename = "IoLimit", remote = "IoLimit")]
pub(crate) struct IoLimitDocument {
    #[serde(rename = "disk")]
    disk: String,
    #[serde(rename = "reads")]
    reads: bool,
    #[serde(rename = "ios")]
    ios: bool,
    #[serde(rename = "per_second")]
    per_second: u64,
}

mirrors! {
    ConditionsDocument for Conditions,
    TelemetryDocument for Telemetry,
    SampleDocument for Sample,
    CpuShareDocument for CpuShare,
    DirectIoModeDocument for DirectIoMode,
    TargetConditionsDocument for TargetConditions,
    SharerDocument for Sharer,
    IoLimitDocument for IoLimit,
}
