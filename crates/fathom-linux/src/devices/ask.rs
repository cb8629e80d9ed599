//! Asks a device for its own pages, through a descriptor that is open for reading only.

use std::os::fd::{AsFd, OwnedFd};

use fathom_device::{AtaPages, NvmePages, Pages, ScsiPages};
use fathom_model::{DeviceFacts, Transport};
use rustix::fs::{FileType, Mode, OFlags, major, minor};

use super::{nvme, sg};

/// Answers of the whole device that `facts` speaks of. Only buses whose devices answer such questions without harm are
/// asked; cheap USB bridges hang on them.
pub(super) fn ask(facts: &DeviceFacts) -> Pages {
    let wanted: fn(&OwnedFd, &mut Pages) = match facts.transport {
        Transport::Nvme | Transport::NvmeFabrics => ask_nvme,
        Transport::Sata => ask_ata,
        Transport::Sas
        | Transport::Scsi
        | Transport::FibreChannel
        | Transport::Iscsi
        | Transport::RaidController => ask_scsi,
        _ => return Pages::default(),
    };
    let mut pages = Pages::default();
    match open(facts) {
        Ok(device) => wanted(&device, &mut pages),
        Err(why) => pages.unread.push(format!("the device itself: {why}")),
    }
    pages
}

/// The node in `/dev`, if it is this device.
fn open(facts: &DeviceFacts) -> Result<OwnedFd, String> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let words = |error: rustix::io::Errno| std::io::Error::from(error).to_string();
    let device =
        rustix::fs::open(format!("/dev/{}", facts.name), flags, Mode::empty()).map_err(words)?;
    let stat = rustix::fs::fstat(&device).map_err(words)?;
    let same = (major(stat.st_rdev), minor(stat.st_rdev)) == facts.number;
    let block = FileType::from_raw_mode(stat.st_mode) == FileType::BlockDevice;
    if same && block {
        Ok(device)
    } else {
        Err("its node in /dev is another device".to_owned())
    }
}

/// Keeps an answer, or notes why there is none.
fn keep<T: Default>(what: &str, answer: std::io::Result<T>, unread: &mut Vec<String>) -> T {
    answer.unwrap_or_else(|error| {
        unread.push(format!("{what}: {error}"));
        T::default()
    })
}

fn ask_nvme(device: &OwnedFd, pages: &mut Pages) {
    let unread = &mut pages.unread;
    pages.nvme = Some(NvmePages {
        controller: keep(
            "NVMe identify",
            nvme::identify_controller(device.as_fd()),
            unread,
        ),
        smart: keep("NVMe SMART log", nvme::smart_log(device.as_fd()), unread),
        // Without a volatile cache the feature is not there, which is no trouble.
        cache: nvme::write_cache_feature(device.as_fd()).ok(),
    });
}

fn ask_ata(device: &OwnedFd, pages: &mut Pages) {
    let unread = &mut pages.unread;
    let identify = keep("ATA identify", sg::ata_identify(device.as_fd()), unread);
    let asleep = sg::ata_sleeps(device.as_fd()).unwrap_or(false);
    if asleep {
        unread.push("ATA SMART: the disk sleeps and was not woken".to_owned());
        pages.ata = Some(AtaPages {
            identify,
            ..AtaPages::default()
        });
        return;
    }
    pages.ata = Some(AtaPages {
        identify,
        smart: keep("ATA SMART", sg::ata_smart(device.as_fd()), unread),
        failing: sg::ata_failing(device.as_fd()).ok(),
    });
}

fn ask_scsi(device: &OwnedFd, pages: &mut Pages) {
    let unread = &mut pages.unread;
    let log = |page| sg::scsi_log(device.as_fd(), page).unwrap_or_default();
    pages.scsi = Some(ScsiPages {
        caching: keep("SCSI mode page 8", sg::scsi_caching(device.as_fd()), unread),
        // Many devices lack one or the other log page: then its facts stay unknown.
        temperature: log(0x0D),
        exceptions: log(0x2F),
        solid_state: log(0x11),
    });
}
