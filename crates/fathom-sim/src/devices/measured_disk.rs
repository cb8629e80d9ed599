//! A disk that is known by its measured service time.

use crate::error::ModelError;
use crate::measured_disk::{MeasuredDisk, MeasuredDiskParameters};
use crate::params::Params;
use crate::registry::{Builder, Device, ModelKind};

pub(crate) const KIND: ModelKind = ModelKind {
    name: "measured-disk",
    summary: "a disk by its measured service time and its gain from queued requests",
    members: (0, 0),
    build,
};

fn build(params: &mut Params<'_>, builder: &mut Builder<'_>) -> Result<Device, ModelError> {
    let parameters = MeasuredDiskParameters {
        capacity_bytes: params.bytes_from("capacity", 1 << 20, Some(1_000_000_000_000))?,
        service_ns: params.positive_time("service", None)? as u64,
        variation: params.number("variation", (0.0, 1.0), Some(0.0))?,
        queue_gain: params.number("queue_gain", (0.0, 10.0), Some(0.0))?,
        queue_depth: params.count("queue_depth", (1, 65_536), Some(32))? as u32,
    };
    let disk =
        MeasuredDisk::new(parameters, builder.seed()).map_err(|error| params.impossible(error))?;
    Ok(Box::new(disk))
}
