//! Uses and contents of a target, and whether it may be written, as text.

use fathom_model::{Bytes, DeviceSafety, WritePermission};

use crate::describe::{holds, use_line};
use crate::facts::{Exclusive, RelatedDevice, Target, TargetFacts, UseKind};
use crate::intent::{Intent, Span};
use crate::judge::judge;
use crate::refusal::Reason;

/// Uses and contents of a target. A claim that was not tried counts as granted: the answer is for
/// display only, and the run checks again while it holds the claim.
#[must_use]
pub fn device_safety(facts: &TargetFacts) -> DeviceSafety {
    let mut device_safety = DeviceSafety {
        write: write(facts),
        ..DeviceSafety::default()
    };
    let ends = match &facts.target {
        Target::Block(block) => {
            let names = |all: &[RelatedDevice]| all.iter().map(|one| one.name.clone()).collect();
            device_safety.partitions = names(&block.partitions);
            device_safety.holders = names(&block.holders);
            device_safety.uses = block.uses.iter().map(use_line).collect();
            device_safety.mounted_at = block
                .uses
                .iter()
                .filter_map(|used| mount_point(&used.kind))
                .collect();
            device_safety.mounted_at.dedup();
            &block.ends
        }
        Target::File(file) => {
            device_safety.holders.clone_from(&file.loop_devices);
            &file.ends
        }
        _ => &None,
    };
    device_safety.holds = ends.as_ref().map(holds);
    device_safety
}

fn mount_point(kind: &UseKind) -> Option<String> {
    match kind {
        UseKind::Mounted(mount) => Some(crate::clean(mount.at.as_os_str().as_encoded_bytes())),
        UseKind::Swap => Some("swap".to_owned()),
        UseKind::BtrfsMember { .. } => None,
    }
}

fn write(facts: &TargetFacts) -> WritePermission {
    let mut facts = facts.clone();
    let size = match &mut facts.target {
        Target::Block(block) => {
            if matches!(block.exclusive, Exclusive::Unknown(_)) {
                block.exclusive = Exclusive::Free;
            }
            block.size
        }
        Target::File(file) => file.size,
        _ => Bytes::ZERO,
    };
    match judge(&facts, &Intent::write(Span::new(Bytes::ZERO, size)), &[]) {
        Ok(_) => WritePermission::Allowed,
        Err(refusal) => match &refusal.reason {
            Reason::NeedsCode { code, .. } => WritePermission::NeedsCode(code.to_string()),
            Reason::EmptyRange(_) => WritePermission::Allowed,
            _ => WritePermission::Refused(refusal.reason_text()),
        },
    }
}
