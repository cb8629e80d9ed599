//! SCSI commands that only read, and ATA commands wrapped in them. See `scsi/sg.h`, SPC-5, SAT-5
//! and ACS-4.
#![allow(
    unsafe_code,
    reason = "ioctl takes untyped memory; the request is paired with its type here"
)]

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

const SG_IO: libc::c_ulong = 0x2285;
/// No data transfer.
const DIRECTION_NONE: i32 = -1;
/// Data is transferred from the device.
const DIRECTION_FROM_DEVICE: i32 = -3;
/// Long enough for a disk in standby.
const TIMEOUT_MS: u32 = 15_000;
const ATA_PASS_THROUGH_16: u8 = 0x85;
const MODE_SENSE_6: u8 = 0x1A;
const LOG_SENSE: u8 = 0x4D;
const CHECK_CONDITION: u8 = 2;

/// `struct sg_io_hdr`.
#[repr(C)]
struct Header {
    interface: i32,
    direction: i32,
    command_length: u8,
    sense_size: u8,
    segments: u16,
    data_length: u32,
    data: *mut u8,
    command: *const u8,
    sense: *mut u8,
    timeout_ms: u32,
    flags: u32,
    pack_id: i32,
    user: *mut u8,
    status: u8,
    masked_status: u8,
    message_status: u8,
    sense_written: u8,
    host_status: u16,
    driver_status: u16,
    missing: i32,
    duration_ms: u32,
    info: u32,
}

#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<Header>() == 88);

/// The response to a command.
struct Answer {
    status: u8,
    sense: Vec<u8>,
}

/// IDENTIFY DEVICE.
pub(super) fn ata_identify(device: BorrowedFd<'_>) -> io::Result<Vec<u8>> {
    ata_data(device, 0xEC, 0, 0)
}

/// SMART READ DATA.
pub(super) fn ata_smart(device: BorrowedFd<'_>) -> io::Result<Vec<u8>> {
    ata_data(device, 0xB0, 0xD0, 0xC24F)
}

/// SMART RETURN STATUS: the signature in the LBA registers is inverted when a threshold is
/// exceeded.
pub(super) fn ata_failing(device: BorrowedFd<'_>) -> io::Result<bool> {
    let registers = ata_registers(device, 0xB0, 0xDA, 0xC24F)?;
    match (registers[9], registers[11]) {
        (0x4F, 0xC2) => Ok(false),
        (0xF4, 0x2C) => Ok(true),
        _ => Err(io::ErrorKind::InvalidData.into()),
    }
}

/// CHECK POWER MODE: a count of zero is standby.
pub(super) fn ata_in_standby(device: BorrowedFd<'_>) -> io::Result<bool> {
    Ok(ata_registers(device, 0xE5, 0, 0)?[5] == 0)
}

/// One block in, by the PIO protocol: 512 bytes, the length in the count field.
fn ata_data(
    device: BorrowedFd<'_>,
    command: u8,
    feature: u8,
    lba_mid_high: u16,
) -> io::Result<Vec<u8>> {
    let mut page = vec![0; 512];
    let mut cdb = ata_command(4 << 1, 0x0E, command, feature, lba_mid_high);
    cdb[6] = 1;
    let answer = send(device, &cdb, &mut page)?;
    if answer.status == 0 {
        Ok(page)
    } else {
        Err(rejected(&answer))
    }
}

/// No data transfer; the registers are returned in a sense descriptor (SAT-5, 12.2.7).
fn ata_registers(
    device: BorrowedFd<'_>,
    command: u8,
    feature: u8,
    lba_mid_high: u16,
) -> io::Result<[u8; 14]> {
    let cdb = ata_command(3 << 1, 0x20, command, feature, lba_mid_high);
    let answer = send(device, &cdb, &mut [])?;
    let descriptor = answer
        .sense
        .get(8..22)
        .filter(|descriptor| answer.sense[0] & 0x7F == 0x72 && descriptor[0] == 9);
    descriptor
        .and_then(|descriptor| descriptor.try_into().ok())
        .ok_or_else(|| rejected(&answer))
}

fn ata_command(
    protocol: u8,
    transfer: u8,
    command: u8,
    feature: u8,
    lba_mid_high: u16,
) -> [u8; 16] {
    let [high, mid] = lba_mid_high.to_be_bytes();
    let mut cdb = [0; 16];
    (cdb[0], cdb[1], cdb[2]) = (ATA_PASS_THROUGH_16, protocol, transfer);
    (cdb[4], cdb[10], cdb[12], cdb[14]) = (feature, mid, high, command);
    cdb
}

/// MODE SENSE(6) of the current Caching page.
pub(super) fn scsi_caching(device: BorrowedFd<'_>) -> io::Result<Vec<u8>> {
    let mut page = vec![0; 64];
    let answer = send(device, &[MODE_SENSE_6, 0, 8, 0, 64, 0], &mut page)?;
    if answer.status == 0 {
        Ok(page)
    } else {
        Err(rejected(&answer))
    }
}

/// LOG SENSE of the cumulative values of a page.
pub(super) fn scsi_log(device: BorrowedFd<'_>, number: u8) -> io::Result<Vec<u8>> {
    let mut page = vec![0; 512];
    let answer = send(
        device,
        &[LOG_SENSE, 0, 0x40 | number, 0, 0, 0, 0, 2, 0, 0],
        &mut page,
    )?;
    if answer.status == 0 {
        Ok(page)
    } else {
        Err(rejected(&answer))
    }
}

fn rejected(answer: &Answer) -> io::Error {
    let key = match answer.sense.first().map(|first| first & 0x7F) {
        Some(0x72 | 0x73) => answer.sense.get(1),
        Some(_) => answer.sense.get(2),
        None => None,
    };
    io::Error::other(match key.map(|key| key & 0x0F) {
        Some(5) => "the device does not support this command".to_owned(),
        Some(key) => format!("the device rejected the command (sense key {key:#x})"),
        None => format!(
            "the device rejected the command (status {:#x})",
            answer.status
        ),
    })
}

/// Sends a command that transfers data only from the device to `page`, or none.
fn send(device: BorrowedFd<'_>, cdb: &[u8], page: &mut [u8]) -> io::Result<Answer> {
    debug_assert!(
        matches!(cdb[0], ATA_PASS_THROUGH_16 | MODE_SENSE_6 | LOG_SENSE),
        "only commands that read"
    );
    let mut sense = vec![0; 64];
    let mut header = Header {
        interface: i32::from(b'S'),
        direction: if page.is_empty() {
            DIRECTION_NONE
        } else {
            DIRECTION_FROM_DEVICE
        },
        command_length: u8::try_from(cdb.len()).map_err(|_| io::ErrorKind::InvalidInput)?,
        sense_size: 64,
        segments: 0,
        data_length: u32::try_from(page.len()).map_err(|_| io::ErrorKind::InvalidInput)?,
        data: page.as_mut_ptr(),
        command: cdb.as_ptr(),
        sense: sense.as_mut_ptr(),
        timeout_ms: TIMEOUT_MS,
        flags: 0,
        pack_id: 0,
        user: std::ptr::null_mut(),
        status: 0,
        masked_status: 0,
        message_status: 0,
        sense_written: 0,
        host_status: 0,
        driver_status: 0,
        missing: 0,
        duration_ms: 0,
        info: 0,
    };
    // SAFETY: the request takes one sg_io_hdr, which has the layout of Header. The header, the
    // command, the page and the sense buffer, of the given lengths, are borrowed for the whole
    // call, and the command has finished when the call returns.
    let result = unsafe { libc::ioctl(device.as_raw_fd(), SG_IO, &raw mut header) };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    if header.host_status != 0 {
        return Err(io::Error::other(format!(
            "the host adapter reports {:#x}",
            header.host_status
        )));
    }
    sense.truncate(usize::from(header.sense_written));
    if header.status != 0 && header.status != CHECK_CONDITION {
        return Err(io::Error::other(format!(
            "the device is busy or rejected the command (status {:#x})",
            header.status
        )));
    }
    Ok(Answer {
        status: header.status,
        sense,
    })
}
