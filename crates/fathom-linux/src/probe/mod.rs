//! Examines and holds targets: the part of the target guard that talks to the kernel.
//!
//! `examine` opens a name without side effects (`O_PATH`) and gathers facts by descriptor. The
//! policy in `fathom-device` judges them. `hold` opens the same inode or device, claims it, checks
//! again, and keeps the claim until it is released. No check compares names.

mod backup;
mod ends;
mod error;
mod examine;
mod hold;
mod inventory;
mod kernel;
mod location;
mod loops;
pub(crate) mod mounts;
mod owner;
mod probe_responds;
mod sysfs;
mod system;

pub use self::error::{HoldError, ProbeError};
pub use self::examine::{Examined, examine, examine_without_samples};
pub(crate) use self::hold::recheck_all;
pub use self::hold::{HeldTarget, hold, hold_again};
pub use self::inventory::list_block_devices;
pub use self::owner::{file_owner, mark_owned, remove_owned};
pub use self::probe_responds::probe_responds;
