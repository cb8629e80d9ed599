//! NVMe Identify, SMART log and the write cache feature. Figure numbers are those of NVM Express
//! Base Specification 2.0c.

use fathom_model::{Bytes, DeviceFacts, HealthFacts, HealthState};

use super::{celsius, little, text};

/// Pages of an NVMe controller.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NvmePages {
    /// Identify Controller, 4096 bytes (figure 275).
    pub controller: Vec<u8>,
    /// SMART / Health Information, log page 2, 512 bytes (figure 207).
    pub smart: Vec<u8>,
    /// Feature 6, Volatile Write Cache: bit 0 is set if the cache is enabled (figure 322).
    pub cache: Option<u32>,
}

/// Meaning of the bits of Critical Warning.
const WARNINGS: [&str; 6] = [
    "spare blocks are below the threshold",
    "temperature is above or below a threshold",
    "reliability is degraded by media or internal errors",
    "the medium is read-only now",
    "the backup of volatile memory has failed",
    "persistent memory is read-only or unreliable",
];

pub(super) fn apply_device_pages(facts: &mut DeviceFacts, pages: &NvmePages) {
    let page = &pages.controller;
    let identity = &mut facts.identity;
    identity.serial = text(page, 4, 24).or(identity.serial.take());
    identity.model = text(page, 24, 64).or(identity.model.take());
    identity.firmware = text(page, 64, 72).or(identity.firmware.take());
    if let Some(present) = page.get(525) {
        facts.cache.device_has = Some(present & 1 == 1);
        facts.cache.device_on =
            Some(present & 1 == 1 && pages.cache.is_none_or(|value| value & 1 == 1));
        // Every NVMe write can carry FUA (NVM Command Set 1.0c, figure 66).
        facts.cache.device_fua = Some(true);
        facts.cache.source = Some("NVMe identify");
    }
    if pages.smart.len() >= 512 {
        facts.health = health(&pages.smart, &facts.health);
    }
    facts.health.warning_c = little(page, 266, 2)
        .and_then(celsius)
        .or(facts.health.warning_c);
    facts.health.critical_c = little(page, 268, 2)
        .and_then(celsius)
        .or(facts.health.critical_c);
}

fn health(log: &[u8], sensors: &HealthFacts) -> HealthFacts {
    let number = |at, bytes| little(log, at, bytes);
    // A data unit is 1000 times 512 bytes, rounded up.
    let units = |at| number(at, 16).map(|units| Bytes::new(units.saturating_mul(512_000)));
    let warm_minutes = number(192, 4)
        .unwrap_or(0)
        .saturating_add(number(196, 4).unwrap_or(0));
    let managed_s = number(224, 4)
        .unwrap_or(0)
        .saturating_add(number(228, 4).unwrap_or(0));
    HealthFacts {
        state: state(log),
        source: Some("NVMe SMART log"),
        temperature_c: number(1, 2).and_then(celsius).or(sensors.temperature_c),
        warning_c: sensors.warning_c,
        critical_c: sensors.critical_c,
        throttled_s: Some(warm_minutes.saturating_mul(60).saturating_add(managed_s)),
        throttle_count: Some(
            number(216, 4)
                .unwrap_or(0)
                .saturating_add(number(220, 4).unwrap_or(0)),
        ),
        spare_percent: log.get(3).copied(),
        used_percent: log.get(5).copied(),
        media_errors: number(160, 16),
        reallocated: None,
        pending: None,
        power_on_hours: number(128, 16),
        unsafe_shutdowns: number(144, 16),
        written: units(48),
        read: units(32),
    }
}

fn state(log: &[u8]) -> HealthState {
    let bits = log.first().copied().unwrap_or(0);
    let mut warnings: Vec<String> = WARNINGS
        .iter()
        .enumerate()
        .filter(|(bit, _)| bits >> bit & 1 == 1)
        .map(|(_, word)| (*word).to_owned())
        .collect();
    if log.get(5).is_some_and(|used| *used >= 100) {
        warnings.push(format!("{} % of the rated life is used", log[5]));
    }
    if warnings.is_empty() {
        HealthState::Good
    } else {
        HealthState::Warns(warnings)
    }
}
