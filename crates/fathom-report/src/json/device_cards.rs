//! Devices as one JSON document.

use std::io::{self, Write};

use fathom_model::{DeviceSafety, TargetOverview, WritePermission};

use super::devices::target;
use crate::names::write_access_name;
use crate::tree::{Object, Tree};

/// Version of the layout; an incompatible change increments it.
const VERSION: u64 = 1;

/// Writes all cards as one JSON document and a line end. Unknown values are `null`.
///
/// # Errors
/// If writing to `out` fails.
pub fn device_document(cards: &[TargetOverview], out: &mut dyn Write) -> io::Result<()> {
    let cards = cards.iter().map(card).collect::<Tree>();
    Tree::from(
        Object::new()
            .with("version", VERSION)
            .with("targets", cards),
    )
    .write(out)?;
    out.write_all(b"\n")
}

fn card(card: &TargetOverview) -> Object {
    let mut object = target(&card.target);
    object.push("headline", &card.headline);
    object.push("safety", safety(&card.safety));
    object.push("data_sheets", card.sheets.iter().collect::<Tree>());
    object.push("concerns", card.concerns.iter().collect::<Tree>());
    object
}

fn safety(safety: &DeviceSafety) -> Object {
    let (code, reason) = match &safety.write {
        WritePermission::NeedsCode(code) => (Some(code), None),
        WritePermission::Refused(reason) => (None, Some(reason)),
        WritePermission::Allowed | WritePermission::Unknown => (None, None),
    };
    let list = |names: &[String]| names.iter().collect::<Tree>();
    Object::new()
        .with("partitions", list(&safety.partitions))
        .with("holders", list(&safety.holders))
        .with("uses", list(&safety.uses))
        .with("mounted_at", list(&safety.mounted_at))
        .with("contents", safety.holds.as_deref().map(list))
        .with("write", write_access_name(&safety.write))
        .with("code", code)
        .with("reason", reason)
}
