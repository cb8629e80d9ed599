//! fathom-linux

#![deny(unsafe_op_in_unsafe_fn)]

mod calendar;
mod clock;
mod devices;
mod engines;
mod host;
mod last_words;
mod memory;
mod probe;

pub use self::calendar::utc_offset_s;
pub use self::clock::LinuxClock;
pub use self::devices::{DeviceWatch, LinuxSysfs, look_below, look_closely};
pub use self::engines::{EngineFile, bare_noop_ring, make_engine, make_noop_ring};
pub use self::host::{
    CacheState, ConditionsWatch, DirectIo, HostWatch, IdleWatch, LinuxHost, cache_state, direct_io,
    dump_requests, end_with_parent, idle_calibration, interrupts, written_share,
};
pub use self::last_words::last_words;
pub use self::probe::{
    Examined, Held, HoldError, ProbeError, examine, hold, hold_again, is_ours, knock,
    list_block_devices, mark_ours, remove_ours,
};
