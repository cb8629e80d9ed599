//! A flash device.

use crate::error::ModelError;
use crate::flash::{Flash, FlashParameters, Precondition, SlcCache};
use crate::params::Params;
use crate::registry::{Builder, Device, ModelKind};

pub(crate) const KIND: ModelKind = ModelKind {
    name: "flash",
    summary: "flash: channels, dies, write buffer, page mapping and garbage collection",
    members: (0, 0),
    build,
};

fn build(params: &mut Params<'_>, builder: &mut Builder<'_>) -> Result<Device, ModelError> {
    let parameters = FlashParameters {
        capacity_bytes: params.bytes_from("capacity", 1 << 20, None)? / 4096 * 4096,
        channels: params.count("channels", (1, 4096), None)? as u32,
        chips_per_channel: params.count("chips_per_channel", (1, 4096), None)? as u32,
        dies_per_chip: params.count("dies_per_chip", (1, 4096), None)? as u32,
        planes: params.count("planes", (1, 64), None)? as u32,
        page_bytes: params.request_bytes("page", None)?,
        pages_per_block: params.count("pages_per_block", (1, 4096), None)? as u32,
        read_ns: params.positive_time("read_time", None)? as u64,
        read_spread: params.number("read_spread", (0.0, 0.99), Some(0.0))?,
        program_ns: params.positive_time("program_time", None)? as u64,
        erase_ns: params.positive_time("erase_time", None)? as u64,
        channel_bytes_per_s: params.rate("channel_rate", None)? as u64,
        program_suspend_ns: suspension(params, "program_suspend")?,
        erase_suspend_ns: suspension(params, "erase_suspend")?,
        // 0: the link takes no time.
        link_bytes_per_s: params.optional_rate("link_rate")?.unwrap_or(0.0) as u64,
        half_duplex: params.choice("link_duplex", &[("full", false), ("half", true)])?,
        command_ns: params.time("command_time", Some(0.0))? as u64,
        queue_depth: params.count("queue_depth", (0, 1 << 20), Some(0))? as u32,
        read_overhead_ns: params.time("read_overhead", Some(0.0))? as u64,
        buffer_ns: params.time("buffer_time", None)? as u64,
        buffer_bytes: params.bytes("buffer", None)?,
        power_loss_protection: params.flag("power_loss_protection", false)?,
        read_ahead_bytes: params.bytes("read_ahead", Some(0))?,
        read_ahead_streams: params.count("read_ahead_streams", (1, 256), Some(16))? as u32,
        over_provisioning: params.number("over_provisioning", (0.02, 10.0), None)?,
        garbage_collection: params.flag("garbage_collection", true)?,
        slc: slc(params)?,
        precondition: params.choice(
            "precondition",
            &[
                ("random", Precondition::Random),
                ("filled", Precondition::Filled),
                ("empty", Precondition::Empty),
            ],
        )?,
    };
    let flash = Flash::new(parameters, builder.seed()).map_err(|error| params.impossible(error))?;
    Ok(Box::new(flash))
}

/// The time that a suspension takes; `off` without it.
fn suspension(params: &mut Params<'_>, name: &'static str) -> Result<Option<u64>, ModelError> {
    match params.text(name)? {
        None | Some("off") => Ok(None),
        Some(_) => Ok(Some(params.time(name, None)? as u64)),
    }
}

fn slc(params: &mut Params<'_>) -> Result<Option<SlcCache>, ModelError> {
    let present = params.has("slc_cache") || params.has("slc_dynamic");
    let slc = SlcCache {
        fixed_bytes: params.bytes("slc_cache", Some(0))?,
        dynamic_bytes: params.bytes("slc_dynamic", Some(0))?,
        bits_per_cell: params.count("slc_bits_per_cell", (1, 8), Some(3))? as u32,
        program_ns: params.positive_time("slc_program_time", (!present).then_some(1.0))? as u64,
        fold_bytes_per_s: params.rate("slc_fold_rate", Some(200e6))? as u64,
        fold_after_ns: params.time("slc_fold_after", Some(1e9))? as u64,
    };
    Ok(present.then_some(slc))
}
