//! SCSI mode and log pages. Numbers are those of SPC-5 and SBC-4.

use fathom_model::{DeviceFacts, HealthState};

/// Pages of a SCSI device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScsiPages {
    /// MODE SENSE(6) of the Caching mode page (8), with its header.
    pub caching: Vec<u8>,
    /// LOG SENSE of Temperature (0Dh).
    pub temperature: Vec<u8>,
    /// LOG SENSE of Informational Exceptions (2Fh).
    pub exceptions: Vec<u8>,
    /// LOG SENSE of Solid State Media (11h).
    pub solid_state: Vec<u8>,
}

pub(super) fn apply_device_pages(facts: &mut DeviceFacts, pages: &ScsiPages) {
    caching(facts, &pages.caching);
    let degrees = parameter(&pages.temperature, 0).and_then(|value| value.get(1).copied());
    if let Some(c) = degrees.filter(|c| *c != 0xFF) {
        facts.health.temperature_c = Some(f64::from(c));
        facts.health.source = Some("SCSI log pages");
    }
    let reference = parameter(&pages.temperature, 1).and_then(|value| value.get(1).copied());
    facts.health.critical_c = reference
        .filter(|c| *c != 0xFF)
        .map(f64::from)
        .or(facts.health.critical_c);
    facts.health.used_percent =
        parameter(&pages.solid_state, 1).and_then(|value| value.get(3).copied());
    if let Some(code) = parameter(&pages.exceptions, 0).and_then(|value| value.first().copied()) {
        // Additional sense code 5Dh: failure prediction threshold exceeded; 0Bh: a warning.
        facts.health.state = match code {
            0 => HealthState::Good,
            0x5D => HealthState::Warns(vec!["the device predicts a failure".to_owned()]),
            0x0B => HealthState::Warns(vec!["the device reports a warning".to_owned()]),
            other => HealthState::Warns(vec![format!("the device reports condition {other:#04x}")]),
        };
        facts.health.source = Some("SCSI log pages");
    }
}

/// Header of four bytes (the third holds DPOFUA), block descriptors, then the page. WCE is bit 2 of
/// the page's third byte.
fn caching(facts: &mut DeviceFacts, sense: &[u8]) {
    let Some(&[_, _, specific, descriptors]) = sense.first_chunk::<4>() else {
        return;
    };
    let page = sense
        .get(4 + usize::from(descriptors)..)
        .unwrap_or_default();
    if page.len() < 3 || page[0] & 0x3F != 8 {
        return;
    }
    let on = page[2] >> 2 & 1 == 1;
    facts.cache.device_on = Some(on);
    facts.cache.device_has = on.then_some(true);
    facts.cache.device_fua = Some(specific >> 4 & 1 == 1);
    facts.cache.source = Some("SCSI mode page 8");
}

/// Value of a parameter of a log page: a four-byte header, then code, control, length and value of
/// each parameter.
fn parameter(page: &[u8], wanted: u16) -> Option<&[u8]> {
    let length = usize::from(u16::from_be_bytes([*page.get(2)?, *page.get(3)?]));
    let mut rest = page.get(4..page.len().min(4 + length))?;
    loop {
        let (head, tail) = rest.split_at_checked(4)?;
        let (value, next) = tail.split_at_checked(usize::from(head[3]))?;
        if u16::from_be_bytes([head[0], head[1]]) == wanted {
            return Some(value);
        }
        rest = next;
    }
}
