//! NVMe admin commands that only read. See `linux/nvme_ioctl.h` and NVM Express Base Specification
//! 2.0c.
#![allow(
    unsafe_code,
    reason = "ioctl takes untyped memory; the request is paired with its type here"
)]

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// `_IOWR('N', 0x41, struct nvme_passthru_cmd)`.
const NVME_IOCTL_ADMIN_CMD: libc::c_ulong = 0xC048_4E41;
const GET_LOG_PAGE: u8 = 0x02;
const IDENTIFY: u8 = 0x06;
const GET_FEATURES: u8 = 0x0A;
/// Every namespace.
const ALL_NAMESPACES: u32 = u32::MAX;

/// `struct nvme_passthru_cmd`.
#[repr(C)]
#[derive(Default)]
struct Command {
    opcode: u8,
    flags: u8,
    reserved: u16,
    namespace: u32,
    cdw2: u32,
    cdw3: u32,
    metadata: u64,
    address: u64,
    metadata_length: u32,
    data_length: u32,
    cdw10: u32,
    cdw11: u32,
    cdw12: u32,
    cdw13: u32,
    cdw14: u32,
    cdw15: u32,
    timeout_ms: u32,
    result: u32,
}

const _: () = assert!(size_of::<Command>() == 72);

/// Identify Controller.
pub(super) fn identify_controller(device: BorrowedFd<'_>) -> io::Result<Vec<u8>> {
    let mut page = vec![0; 4096];
    admin(
        device,
        Command {
            opcode: IDENTIFY,
            cdw10: 1,
            ..Command::default()
        },
        &mut page,
    )?;
    Ok(page)
}

/// SMART / Health Information of the whole controller. The length is the number of 4-byte words
/// minus one.
pub(super) fn smart_log(device: BorrowedFd<'_>) -> io::Result<Vec<u8>> {
    let mut page = vec![0; 512];
    let words = page.len() as u32 / 4 - 1;
    let command = Command {
        opcode: GET_LOG_PAGE,
        namespace: ALL_NAMESPACES,
        cdw10: words << 16 | 2,
        ..Command::default()
    };
    admin(device, command, &mut page)?;
    Ok(page)
}

/// Log page 0xD0 of Amazon EBS volumes: 4,096 bytes of namespace 1. Other devices refuse it, or
/// return a page of their own.
pub(super) fn ebs_log(device: BorrowedFd<'_>) -> io::Result<Vec<u8>> {
    let mut page = vec![0; 4096];
    let words = page.len() as u32 / 4 - 1;
    let command = Command {
        opcode: GET_LOG_PAGE,
        namespace: 1,
        cdw10: words << 16 | 0xD0,
        ..Command::default()
    };
    admin(device, command, &mut page)?;
    Ok(page)
}

/// Feature 6, Volatile Write Cache.
pub(super) fn write_cache_feature(device: BorrowedFd<'_>) -> io::Result<u32> {
    admin(
        device,
        Command {
            opcode: GET_FEATURES,
            cdw10: 6,
            ..Command::default()
        },
        &mut [],
    )
}

/// Sends a command that only transfers data from the device to `page`, and returns its first result
/// word.
fn admin(device: BorrowedFd<'_>, mut command: Command, page: &mut [u8]) -> io::Result<u32> {
    debug_assert!(
        matches!(command.opcode, GET_LOG_PAGE | IDENTIFY | GET_FEATURES),
        "only commands that read"
    );
    command.address = page.as_mut_ptr() as u64;
    command.data_length = u32::try_from(page.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
    // SAFETY: the request takes one nvme_passthru_cmd, which has the layout of Command. The command
    // and the page it points to, of the given length, are borrowed for the whole call, and the
    // command has finished when the call returns.
    let status = unsafe { libc::ioctl(device.as_raw_fd(), NVME_IOCTL_ADMIN_CMD, &raw mut command) };
    match status {
        0 => Ok(command.result),
        status if status < 0 => Err(io::Error::last_os_error()),
        status => Err(io::Error::other(format!("NVMe status {status:#x}"))),
    }
}
