//! The devices below each target, one line each.

use fathom_model::{DeviceRecording, TargetRecording};

use crate::devices::link_speed_text;
use fathom_model::format::capacity;

/// `Target a.bin: ext4 on vda: 64 GiB, virtual, virtio, mq-deadline; 41 -> 48 °C`.
pub(super) fn target_line(target: &TargetRecording) -> String {
    let others = match target.others {
        0 => String::new(),
        n => format!(" and {n} more"),
    };
    let below = target
        .devices
        .iter()
        .map(device)
        .collect::<Vec<_>>()
        .join(", on ");
    let on = match (&target.file_system, below.is_empty()) {
        (Some(facts), true) => format!("{} ({})", facts.kind, facts.source),
        (Some(facts), false) => format!("{} on {below}", facts.kind),
        (None, _) => below,
    };
    if on.is_empty() {
        String::new()
    } else {
        format!("Target {}{others}: {on}", target.path.display())
    }
}

fn device(recorded: &DeviceRecording) -> String {
    let facts = &recorded.before;
    let name = recorded.partition.as_ref().map_or_else(
        || facts.name.clone(),
        |part| format!("{} of {}", part.name, facts.name),
    );
    let link = facts
        .narrowest_link()
        .map(|link| link_speed_text(link.kind, &link.now));
    let parts = [
        facts.identity.model.clone(),
        facts
            .identity
            .firmware
            .as_ref()
            .map(|firmware| format!("firmware {firmware}")),
        Some(capacity(facts.size)),
        Some(facts.medium.name().to_owned()),
        Some(facts.transport.name().to_owned()),
        link,
        facts
            .queue
            .scheduler
            .as_ref()
            .map(|name| format!("scheduler {name}")),
        temperature(recorded),
    ];
    format!(
        "{name} ({})",
        parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
    )
}

fn temperature(recorded: &DeviceRecording) -> Option<String> {
    let before = recorded.before.health.temperature_c?;
    let after = recorded
        .after
        .as_ref()
        .and_then(|after| after.health.temperature_c);
    Some(after.map_or_else(
        || format!("{before:.0} C"),
        |after| format!("{before:.0} C before, {after:.0} C after"),
    ))
}
