//! The devices below a target: sysfs, mounts and the devices' own pages, read for `fathom_device`
//! to interpret.
//!
//! Nothing here is opened for writing, and nothing fails for good: what cannot be read is listed in
//! the facts.

mod device_pages;
mod direct_io_probe;
mod file_system;
mod nvme;
mod sg;
mod sysfs;
mod watch;

pub use self::device_pages::ebs_stats;
pub use self::sysfs::LinuxSysfs;
pub use self::watch::{DeviceWatch, inspect_target, inspect_target_with_ioctls};
