//! What stands on a target, and whether it could be written, as plain words.

use fathom_model::{Bytes, DeviceSafety, WriteAnswer};

use crate::describe::{holds, use_line};
use crate::facts::{Exclusive, Relative, Target, TargetFacts, UseKind};
use crate::intent::{Intent, Span};
use crate::judge::judge;
use crate::refusal::Reason;

/// What stands on it. A claim that was not tried counts as granted: the answer is for a person who looks, and the run asks
/// again with the claim in hand.
#[must_use]
pub fn standing(facts: &TargetFacts) -> DeviceSafety {
    let mut standing = DeviceSafety {
        write: write(facts),
        ..DeviceSafety::default()
    };
    let ends = match &facts.target {
        Target::Block(block) => {
            let names = |all: &[Relative]| all.iter().map(|one| one.name.clone()).collect();
            standing.partitions = names(&block.partitions);
            standing.holders = names(&block.holders);
            standing.uses = block.uses.iter().map(use_line).collect();
            standing.mounted_at = block
                .uses
                .iter()
                .filter_map(|used| mount_point(&used.kind))
                .collect();
            standing.mounted_at.dedup();
            &block.ends
        }
        Target::File(file) => {
            standing.holders.clone_from(&file.backs);
            &file.ends
        }
        _ => &None,
    };
    standing.holds = ends.as_ref().map(holds);
    standing
}

fn mount_point(kind: &UseKind) -> Option<String> {
    match kind {
        UseKind::Mounted(mount) => Some(crate::clean(mount.at.as_os_str().as_encoded_bytes())),
        UseKind::Swap => Some("swap".to_owned()),
        UseKind::BtrfsMember { .. } => None,
    }
}

fn write(facts: &TargetFacts) -> WriteAnswer {
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
        Ok(_) => WriteAnswer::Free,
        Err(refusal) => match &refusal.reason {
            Reason::NeedsCode { code, .. } => WriteAnswer::WithCode(code.to_string()),
            Reason::EmptyRange(_) => WriteAnswer::Free,
            _ => WriteAnswer::Never(refusal.found()),
        },
    }
}
