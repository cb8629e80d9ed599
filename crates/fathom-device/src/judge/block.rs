//! Rules for block devices.

use super::{Access, check_code, check_range};
use crate::code::Fingerprint;
use crate::confirmation::Confirmations;
use crate::describe::holds;
use crate::facts::{BlockFacts, Exclusive, TargetFacts};
use crate::intent::{Intent, Span};
use crate::refusal::Reason;

/// Reading is always permitted. A write is checked in this order: in use, read-only, range,
/// contents readable, scratch list, code.
pub(super) fn judge_block(
    facts: &TargetFacts,
    block: &BlockFacts,
    intent: &Intent,
    confirmed: &Confirmations,
) -> Result<Access, Reason> {
    if !intent.modifies() {
        return check_range(intent, block.size).map(|()| Access::ReadOnly);
    }
    check_in_use(block)?;
    check_range(intent, block.size)?;
    check_growth(block, intent)?;
    let ends = block.ends.as_ref().ok_or(Reason::Unreadable)?;
    let code = Fingerprint::of(facts).ok_or(Reason::Unreadable)?.code();
    if !confirmed.allow_device(block, code) {
        check_code(facts, holds(ends), &confirmed.codes)?;
    }
    Ok(Access::ReadWrite)
}

/// Conditions that no code overrides.
pub(super) fn check_in_use(block: &BlockFacts) -> Result<(), Reason> {
    if block.system {
        return Err(Reason::System);
    }
    if !block.uses.is_empty() {
        return Err(Reason::InUse(block.uses.clone()));
    }
    if !block.holders.is_empty() {
        return Err(Reason::Held(block.holders.clone()));
    }
    match &block.exclusive {
        Exclusive::Busy => return Err(Reason::Claimed),
        Exclusive::Unknown(why) => return Err(Reason::ClaimUnknown(why.clone())),
        Exclusive::Free => {}
    }
    if block.read_only {
        Err(Reason::ReadOnlyDevice)
    } else {
        Ok(())
    }
}

/// A device does not grow, so a larger size is a range past its end.
fn check_growth(block: &BlockFacts, intent: &Intent) -> Result<(), Reason> {
    match intent.grows_to {
        Some(end) if end > block.size => Err(Reason::BeyondEnd {
            span: Span::new(intent.range.start, end),
            size: block.size,
        }),
        _ => Ok(()),
    }
}
