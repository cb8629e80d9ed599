//! ioctls of block and loop devices without a safe wrapper elsewhere. See `ioctl(2)`, `loop(4)`.
#![allow(
    unsafe_code,
    reason = "ioctl takes untyped memory; each request is paired with its type here"
)]

use fathom_device::DevNo;
use fathom_model::Bytes;
use rustix::fd::BorrowedFd;
use rustix::io::Result;
use rustix::ioctl::{Getter, Opcode, ioctl, opcode};

const BLKROGET: Opcode = opcode::none(0x12, 94);
const BLKGETSIZE64: Opcode = opcode::read::<usize>(0x12, 114);
const BLKGETDISKSEQ: Opcode = opcode::read::<u64>(0x12, 128);
const LOOP_GET_STATUS64: Opcode = 0x4C05;

/// `struct loop_info64` of `linux/loop.h`.
#[repr(C)]
struct LoopInfo {
    device: u64,
    inode: u64,
    rdevice: u64,
    offset: u64,
    size_limit: u64,
    number: u32,
    encrypt_type: u32,
    encrypt_key_size: u32,
    flags: u32,
    file_name: [u8; 64],
    crypt_name: [u8; 64],
    encrypt_key: [u8; 32],
    init: [u64; 2],
}

/// Capacity of a block device.
///
/// # Errors
/// `ENOTTY` if it is not a block device.
pub(super) fn capacity(device: BorrowedFd<'_>) -> Result<Bytes> {
    // SAFETY: BLKGETSIZE64 writes one u64, despite the size_t in its number.
    let size = unsafe { ioctl(device, Getter::<BLKGETSIZE64, u64>::new()) }?;
    Ok(Bytes::new(size))
}

/// Whether a block device is set read-only.
///
/// # Errors
/// `ENOTTY` if it is not a block device.
pub(super) fn read_only(device: BorrowedFd<'_>) -> Result<bool> {
    // SAFETY: BLKROGET writes one int.
    let flag = unsafe { ioctl(device, Getter::<BLKROGET, libc::c_int>::new()) }?;
    Ok(flag != 0)
}

/// Sequence number of the device's attachment, Linux 5.15.
///
/// # Errors
/// `ENOTTY` on older kernels.
pub(super) fn disk_sequence(device: BorrowedFd<'_>) -> Result<u64> {
    // SAFETY: BLKGETDISKSEQ writes one u64.
    unsafe { ioctl(device, Getter::<BLKGETDISKSEQ, u64>::new()) }
}

/// Device and inode number of the backing file of a loop device, and where the device starts in it.
///
/// # Errors
/// `ENXIO` if no file is attached.
pub(super) fn loop_backing(device: BorrowedFd<'_>) -> Result<((DevNo, u64), u64)> {
    const { assert!(size_of::<LoopInfo>() == 232) };
    // SAFETY: LOOP_GET_STATUS64 writes one loop_info64, and LoopInfo has its layout: five u64, four
    // u32, 160 bytes, two u64, in this order without padding.
    let info = unsafe { ioctl(device, Getter::<LOOP_GET_STATUS64, LoopInfo>::new()) }?;
    Ok(((devno(info.device), info.inode), info.offset))
}

/// Splits a `dev_t`.
pub(super) fn devno(dev: u64) -> DevNo {
    DevNo {
        major: rustix::fs::major(dev),
        minor: rustix::fs::minor(dev),
    }
}
