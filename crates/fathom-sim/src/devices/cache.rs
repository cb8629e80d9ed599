//! A cache of blocks: `cache(sata-ssd, raid10(20 x hdd-10k))`.

use crate::cache::{Cache, CacheParameters, WritePolicy};
use crate::error::ModelError;
use crate::params::Params;
use crate::registry::{Builder, Device, ModelKind};

pub(crate) const KIND: ModelKind = ModelKind {
    name: "cache",
    summary: "the first device caches blocks of the second, least recently used first out",
    members: (2, 2),
    build,
};

fn build(params: &mut Params<'_>, builder: &mut Builder<'_>) -> Result<Device, ModelError> {
    let parameters = CacheParameters {
        block_bytes: params.request_bytes("block", Some(64 << 10))?,
        writes: params.choice(
            "writes",
            &[
                ("through", WritePolicy::Through),
                ("back", WritePolicy::Back),
                ("around", WritePolicy::Around),
            ],
        )?,
        promote_share: params.number("promote", (0.0, 1.0), Some(1.0))?,
        bypass_bytes: params.request_bytes("bypass", Some(0))?,
    };
    let seed = builder.seed();
    let [fast, slow] = builder.two_members()?;
    let cache =
        Cache::new(parameters, fast, slow, seed).map_err(|error| params.impossible(error))?;
    Ok(Box::new(cache))
}
