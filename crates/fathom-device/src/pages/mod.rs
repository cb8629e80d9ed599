//! Pages read from the device itself: NVMe, ATA and SCSI. They complete and override what sysfs
//! says.
//!
//! Pages are raw bytes, from `fathom-linux` or from a test. A page that is too short or invalid is
//! ignored.

mod ata;
mod ebs;
mod nvme;
mod scsi;

use fathom_model::DeviceFacts;

pub use self::ata::AtaPages;
pub use self::ebs::{EbsStats, EbsStatsError};
pub use self::nvme::NvmePages;
pub use self::scsi::ScsiPages;

/// Pages of one device. A page that was not requested or not returned is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pages {
    /// Of an NVMe controller.
    pub nvme: Option<NvmePages>,
    /// Of an ATA device.
    pub ata: Option<AtaPages>,
    /// Of a SCSI device.
    pub scsi: Option<ScsiPages>,
    /// Pages that could not be read, with the reason.
    pub unread: Vec<String>,
}

/// Adds the device's own pages to `facts`. Where they differ from sysfs, the device is right.
pub fn apply_device_pages(facts: &mut DeviceFacts, pages: &Pages) {
    if let Some(scsi) = &pages.scsi {
        scsi::apply_device_pages(facts, scsi);
    }
    if let Some(ata) = &pages.ata {
        ata::apply_device_pages(facts, ata);
    }
    if let Some(nvme) = &pages.nvme {
        nvme::apply_device_pages(facts, nvme);
    }
    facts
        .unread
        .extend(pages.unread.iter().map(|why| crate::clean(why.as_bytes())));
}

fn text(page: &[u8], from: usize, to: usize) -> Option<String> {
    Some(crate::clean(page.get(from..to)?)).filter(|text| !text.is_empty())
}

/// Little-endian number of up to eight bytes; a larger one saturates.
fn little(page: &[u8], at: usize, bytes: usize) -> Option<u64> {
    let field = page.get(at..at.checked_add(bytes)?)?;
    let (low, high) = field.split_at(field.len().min(8));
    if high.iter().any(|byte| *byte != 0) {
        return Some(u64::MAX);
    }
    Some(
        low.iter()
            .rev()
            .fold(0, |number, byte| number << 8 | u64::from(*byte)),
    )
}

/// Kelvin to Celsius; zero means not reported.
fn celsius(kelvin: u64) -> Option<f64> {
    (150..=500)
        .contains(&kelvin)
        .then_some(kelvin as f64 - 273.0)
}
