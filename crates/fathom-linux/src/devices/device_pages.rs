//! Reads a device's own pages through a descriptor that is open only for reading.

use std::os::fd::{AsFd, OwnedFd};

use fathom_device::{AtaPages, EbsStats, NvmePages, Pages, ScsiPages};
use fathom_model::{DeviceFacts, Transport};
use rustix::fs::{FileType, Mode, OFlags, major, minor};

use super::{nvme, sg};

/// The pages of the device described by `facts`. Only devices on buses where such commands are
/// harmless are queried: cheap USB bridges hang on them.
pub(super) fn read_device_pages(facts: &DeviceFacts) -> Pages {
    let read_pages: fn(&OwnedFd, &mut Pages) = match facts.transport {
        Transport::Nvme | Transport::NvmeFabrics => read_nvme_pages,
        Transport::Sata => read_ata_pages,
        Transport::Sas
        | Transport::Scsi
        | Transport::FibreChannel
        | Transport::Iscsi
        | Transport::RaidController => read_scsi_pages,
        _ => return Pages::default(),
    };
    let mut pages = Pages::default();
    match open(facts) {
        Ok(device) => read_pages(&device, &mut pages),
        Err(error) => pages.unread.push(format!("device pages: {error}")),
    }
    pages
}

/// The counters of an Amazon EBS volume; `None` for every other device, and without permission.
#[must_use]
pub fn ebs_stats(facts: &DeviceFacts) -> Option<EbsStats> {
    let is_ebs = facts.transport == Transport::Nvme
        && facts
            .identity
            .model
            .as_deref()
            .is_some_and(|model| model.starts_with("Amazon Elastic Block Store"));
    if !is_ebs {
        return None;
    }
    let device = open(facts).ok()?;
    EbsStats::parse(&nvme::ebs_log(device.as_fd()).ok()?).ok()
}

/// Opens the node in `/dev`, if it is this device.
fn open(facts: &DeviceFacts) -> std::io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let device = rustix::fs::open(format!("/dev/{}", facts.name), flags, Mode::empty())?;
    let stat = rustix::fs::fstat(&device)?;
    let same = (major(stat.st_rdev), minor(stat.st_rdev)) == facts.number;
    let block = FileType::from_raw_mode(stat.st_mode) == FileType::BlockDevice;
    if same && block {
        Ok(device)
    } else {
        Err(std::io::Error::other(
            "the node in /dev belongs to another device",
        ))
    }
}

/// Returns an answer, or records why there is none.
fn page_or_default<T: Default>(
    what: &str,
    answer: std::io::Result<T>,
    unread: &mut Vec<String>,
) -> T {
    answer.unwrap_or_else(|error| {
        unread.push(format!("{what}: {error}"));
        T::default()
    })
}

fn read_nvme_pages(device: &OwnedFd, pages: &mut Pages) {
    let unread = &mut pages.unread;
    pages.nvme = Some(NvmePages {
        controller: page_or_default(
            "NVMe identify",
            nvme::identify_controller(device.as_fd()),
            unread,
        ),
        smart: page_or_default("NVMe SMART log", nvme::smart_log(device.as_fd()), unread),
        // Without a volatile cache the feature does not exist, which is not an error.
        cache: nvme::write_cache_feature(device.as_fd()).ok(),
    });
}

fn read_ata_pages(device: &OwnedFd, pages: &mut Pages) {
    let unread = &mut pages.unread;
    let identify = page_or_default("ATA identify", sg::ata_identify(device.as_fd()), unread);
    let standby = sg::ata_in_standby(device.as_fd()).unwrap_or(false);
    if standby {
        unread.push("ATA SMART: the disk is in standby and was not woken".to_owned());
        pages.ata = Some(AtaPages {
            identify,
            ..AtaPages::default()
        });
        return;
    }
    pages.ata = Some(AtaPages {
        identify,
        smart: page_or_default("ATA SMART", sg::ata_smart(device.as_fd()), unread),
        failing: sg::ata_failing(device.as_fd()).ok(),
    });
}

fn read_scsi_pages(device: &OwnedFd, pages: &mut Pages) {
    let unread = &mut pages.unread;
    let log_page = |page| sg::scsi_log(device.as_fd(), page).unwrap_or_default();
    pages.scsi = Some(ScsiPages {
        caching: page_or_default("SCSI mode page 8", sg::scsi_caching(device.as_fd()), unread),
        // Many devices lack one of these log pages; its facts then stay unknown.
        temperature: log_page(0x0D),
        exceptions: log_page(0x2F),
        solid_state: log_page(0x11),
    });
}
