//! Two tiers: `tier(raid10(4 x sata-ssd), raid10(20 x hdd-10k))`.

use crate::error::ModelError;
use crate::params::Params;
use crate::registry::{Builder, Device, ModelKind};
use crate::tier::{Tier, TierParameters};

pub(crate) const KIND: ModelKind = ModelKind {
    name: "tier",
    summary: "hot extents of the second device move to the first",
    members: (2, 2),
    build,
};

fn build(params: &mut Params<'_>, builder: &mut Builder<'_>) -> Result<Device, ModelError> {
    let parameters = TierParameters {
        extent_bytes: params.request_bytes("extent", Some(4 << 20))?,
        epoch_ns: params.positive_time("epoch", Some(300e9))? as u64,
        epoch_bytes: params.bytes("epoch_bytes", Some(0))?,
    };
    let [fast, slow] = builder.two_members()?;
    let tier = Tier::new(parameters, fast, slow).map_err(|error| params.impossible(error))?;
    Ok(Box::new(tier))
}
