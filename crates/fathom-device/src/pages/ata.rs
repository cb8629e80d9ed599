//! ATA IDENTIFY DEVICE and SMART. Word numbers are those of ATA/ATAPI Command Set 4 (ACS-4), 7.13
//! and 9.

use fathom_model::{DeviceFacts, HealthState, LinkKind, Medium};

use super::text;

/// Pages of an ATA device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AtaPages {
    /// IDENTIFY DEVICE, 512 bytes.
    pub identify: Vec<u8>,
    /// SMART READ DATA, 512 bytes.
    pub smart: Vec<u8>,
    /// SMART RETURN STATUS: a threshold was exceeded.
    pub failing: Option<bool>,
}

pub(super) fn apply_device_pages(facts: &mut DeviceFacts, pages: &AtaPages) {
    if pages.identify.len() >= 512 {
        identify(facts, &pages.identify);
    }
    if pages.smart.len() >= 512 {
        smart(facts, &pages.smart);
    }
    match pages.failing {
        Some(true) => {
            facts.health.state = HealthState::Warns(vec!["SMART predicts a failure".to_owned()]);
        }
        Some(false) => facts.health.state = HealthState::Good,
        None => {}
    }
    if pages.failing.is_some() || pages.smart.len() >= 512 {
        facts.health.source = Some("ATA SMART");
    }
}

fn identify(facts: &mut DeviceFacts, page: &[u8]) {
    let word = |number: usize| u16::from_le_bytes([page[2 * number], page[2 * number + 1]]);
    // A text field has two characters per word, the first in the upper byte.
    let swapped: Vec<u8> = page
        .chunks_exact(2)
        .flat_map(|pair| [pair[1], pair[0]])
        .collect();
    let identity = &mut facts.identity;
    identity.serial = text(&swapped, 20, 40).or(identity.serial.take());
    identity.firmware = text(&swapped, 46, 54).or(identity.firmware.take());
    identity.model = text(&swapped, 54, 94).or(identity.model.take());
    // Bits 15:14 of words 83 and 87 are 01 if the words around them are valid.
    if word(83) >> 14 == 1 {
        facts.cache.device_has = Some(word(82) >> 5 & 1 == 1);
        facts.cache.device_on = Some(word(82) >> 5 & 1 == 1 && word(85) >> 5 & 1 == 1);
        facts.cache.device_fua = Some(word(84) >> 14 == 1 && word(84) >> 6 & 1 == 1);
        facts.cache.source = Some("ATA identify");
    }
    match word(217) {
        1 => (facts.medium, facts.rpm) = (Medium::Flash, None),
        rpm @ 0x401..=0xFFFE => (facts.medium, facts.rpm) = (Medium::Disk, Some(u32::from(rpm))),
        _ => {}
    }
    best_link(facts, word(76));
}

/// Word 76: the speeds that the drive supports, unless it is not a serial drive.
fn best_link(facts: &mut DeviceFacts, known: u16) {
    if known == 0 || known == u16::MAX {
        return;
    }
    let best = [(3, 6_000), (2, 3_000), (1, 1_500)]
        .into_iter()
        .find(|(bit, _)| known >> bit & 1 == 1);
    if let (Some(link), Some((_, rate))) = (
        facts
            .links
            .iter_mut()
            .find(|link| link.kind == LinkKind::Sata),
        best,
    ) {
        link.best = Some(fathom_model::LinkSpeed::sata(rate));
    }
}

/// Thirty attributes of twelve bytes from byte 2 on: number, flags, value, worst, six
/// vendor-specific bytes.
fn smart(facts: &mut DeviceFacts, page: &[u8]) {
    let raw = |number: u8| {
        let attribute = page[2..362]
            .chunks_exact(12)
            .find(|attribute| attribute[0] == number)?;
        Some(
            attribute[5..11]
                .iter()
                .rev()
                .fold(0_u64, |sum, byte| sum << 8 | u64::from(*byte)),
        )
    };
    let health = &mut facts.health;
    health.reallocated = raw(5);
    // Some vendors count minutes or store other data in the upper bytes.
    health.power_on_hours = raw(9).map(|hours| hours & 0xFFFF_FFFF);
    health.pending = raw(197);
    health.media_errors = raw(198).or_else(|| raw(187));
    let degrees = raw(194)
        .or_else(|| raw(190))
        .map(|raw| f64::from((raw & 0xFF) as u8 as i8));
    health.temperature_c = degrees
        .filter(|c| (1.0..=120.0).contains(c))
        .or(health.temperature_c);
}
