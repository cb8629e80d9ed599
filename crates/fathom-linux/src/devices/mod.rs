//! What is below a target: sysfs, mounts and the devices' own pages, read for `fathom_device` to interpret.
//!
//! Nothing in here opens anything for writing, and nothing fails for good: what does not answer is named in the facts.

mod ask;
mod direct;
mod file_system;
mod nvme;
mod sg;
mod sysfs;
mod watch;

pub use self::sysfs::LinuxSysfs;
pub use self::watch::{DeviceWatch, inspect_target, inspect_target_with_ioctls};
