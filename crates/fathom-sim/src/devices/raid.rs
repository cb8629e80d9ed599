//! RAID arrays: `raid5(8 x hdd-7200, chunk=64k)`.

use crate::error::ModelError;
use crate::params::Params;
use crate::raid::{Raid, RaidLevel, RaidParameters};
use crate::registry::{Builder, Device, ModelKind};

/// One kind for each level.
macro_rules! kind {
    ($name:ident, $level:ident, $text:literal, $least:literal, $summary:literal) => {
        pub(crate) const $name: ModelKind = ModelKind {
            name: $text,
            summary: $summary,
            members: ($least, 64),
            build: |params, builder| build(RaidLevel::$level, params, builder),
        };
    };
}

kind!(RAID0, Raid0, "raid0", 1, "chunks over all members");
kind!(RAID1, Raid1, "raid1", 2, "mirrors");
kind!(RAID10, Raid10, "raid10", 4, "chunks over mirrored pairs");
kind!(
    RAID5,
    Raid5,
    "raid5",
    3,
    "chunks with one parity per stripe"
);
kind!(
    RAID6,
    Raid6,
    "raid6",
    4,
    "chunks with two parities per stripe"
);

fn build(
    level: RaidLevel,
    params: &mut Params<'_>,
    builder: &mut Builder<'_>,
) -> Result<Device, ModelError> {
    let parameters = RaidParameters {
        level,
        chunk_bytes: params.bytes_between("chunk", (4096, 1 << 30), Some(64 << 10))?,
        // 0: as fast as the members are.
        rebuild_bytes_per_s: params.optional_rate("rebuild_rate")?.unwrap_or(0.0) as u64,
    };
    let failed = params.count("failed", (0, 64), Some(0))? as usize;
    let replacement = params.device("rebuild")?;
    let members = builder.members()?;
    let mut raid = Raid::new(&parameters, members).map_err(|error| params.impossible(error))?;
    if failed > level.failures(raid.member_counts().len()) {
        return Err(params.error(
            "failed",
            format!(
                "{} of {} members loses its data when {failed} fail",
                level.name(),
                raid.member_counts().len()
            ),
        ));
    }
    // With mirrored pairs, one of each pair.
    let step = if level == RaidLevel::Raid10 { 2 } else { 1 };
    for member in 0..failed {
        raid.fail_member(member * step);
    }
    if let Some(replacement) = replacement {
        if failed == 0 {
            return Err(params.error("rebuild", "give failed= as well: nothing has failed"));
        }
        let device = builder.build(&replacement)?;
        raid.rebuild_member(0, 0, device)
            .map_err(|error| params.impossible(error))?;
    }
    Ok(Box::new(raid))
}
