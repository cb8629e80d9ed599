//! Devices as one JSON document.

use std::io::{self, Write};

use fathom_model::{DeviceSafety, TargetOverview, WritePermission};

use crate::json::devices::target;
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
    object.push("safety", standing(&card.safety));
    object.push("data_sheets", card.sheets.iter().collect::<Tree>());
    object.push("concerns", card.concerns.iter().collect::<Tree>());
    object
}

fn standing(standing: &DeviceSafety) -> Object {
    let (write, code, why) = match &standing.write {
        WritePermission::Allowed => ("free", None, None),
        WritePermission::NeedsCode(code) => ("with code", Some(code), None),
        WritePermission::Refused(why) => ("never", None, Some(why)),
        WritePermission::Unknown => ("unknown", None, None),
    };
    let list = |names: &[String]| names.iter().collect::<Tree>();
    Object::new()
        .with("partitions", list(&standing.partitions))
        .with("holders", list(&standing.holders))
        .with("uses", list(&standing.uses))
        .with("mounted_at", list(&standing.mounted_at))
        .with("contents", standing.holds.as_deref().map(list))
        .with("write", write)
        .with("code", code)
        .with("reason", why)
}
