//! fathom-linux

mod probe;

pub use self::probe::{
    Examined, Held, HoldError, ProbeError, examine, hold, is_ours, list_block_devices, mark_ours, remove_ours,
};
