//! fathom-linux

#![deny(unsafe_op_in_unsafe_fn)]

mod calendar;
mod clock;
mod devices;
mod engines;
mod host;
mod memory;
mod probe;
mod sigbus_handler;

pub use self::calendar::utc_offset_s;
pub use self::clock::LinuxClock;
pub use self::devices::{DeviceWatch, LinuxSysfs, inspect_target, inspect_target_with_ioctls};
pub use self::engines::{EngineFile, bare_noop_ring, make_engine, make_noop_ring};
pub use self::host::{
    CacheState, ConditionsWatch, DirectIo, HostWatch, IdleWatch, LinuxHost, cache_state, direct_io,
    dump_requests, end_with_parent, idle_calibration, interrupts, written_share,
};
pub use self::probe::{
    Examined, HeldTarget, HoldError, ProbeError, examine, file_owner, hold, hold_again,
    list_block_devices, mark_owned, probe_responds, remove_owned,
};
pub use self::sigbus_handler::sigbus_handler;
