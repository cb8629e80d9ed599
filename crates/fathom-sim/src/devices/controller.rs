//! A caching RAID controller: `controller(sata-ssd)`.

use crate::controller::{Batching, Controller, ControllerParameters};
use crate::error::ModelError;
use crate::params::Params;
use crate::registry::{Builder, Device, ModelKind};

pub(crate) const KIND: ModelKind = ModelKind {
    name: "controller",
    summary: "caching RAID controller: write-back cache with a battery, batched completions",
    members: (1, 1),
    build,
};

fn build(params: &mut Params<'_>, builder: &mut Builder<'_>) -> Result<Device, ModelError> {
    let parameters = ControllerParameters {
        cache_bytes: params.bytes("cache", Some(1 << 30))?,
        high_water: params.number("high_water", (0.0, 1.0), Some(0.8))?,
        low_water: params.number("low_water", (0.0, 1.0), Some(0.5))?,
        read_ns: params.time("read_time", None)? as u64,
        write_ns: params.time("write_time", None)? as u64,
        latency_ns: params.time("latency", Some(0.0))? as u64,
        write_latency_ns: params.time("write_latency", Some(0.0))? as u64,
        battery: params.flag("battery", true)?,
        destage_after_ns: params.time("destage_after", Some(1e9))? as u64,
        destage_depth: params.count("destage_depth", (1, 4096), Some(8))? as u32,
        destage_ns: params.time("destage_time", Some(0.0))? as u64,
        destage_bytes: params.request_bytes("destage_size", Some(256 << 10))?,
        read_ahead_bytes: params.request_bytes("read_ahead", Some(0))?,
        batching: batching(params)?,
    };
    let device = builder.member()?;
    let controller =
        Controller::new(parameters, device).map_err(|error| params.impossible(error))?;
    Ok(Box::new(controller))
}

fn batching(params: &mut Params<'_>) -> Result<Option<Batching>, ModelError> {
    let present = params.has("batch_period");
    let batching = Batching {
        period_ns: params.positive_time("batch_period", Some(1.0))? as u64,
        batch: params.count("batch", (1, 65_536), Some(8))? as u32,
        threshold: params.count("batch_threshold", (1, 65_536), Some(4))? as u32,
        clocks_ns: (
            params.time("batch_clock_1", Some(0.0))? as u64,
            params.time("batch_clock_2", Some(0.0))? as u64,
        ),
    };
    Ok(present.then_some(batching))
}
