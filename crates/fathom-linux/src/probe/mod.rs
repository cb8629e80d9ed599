//! Looks at targets and holds them: the half of the target guard that asks the kernel.
//!
//! `examine` opens a name without acting on it (`O_PATH`) and gathers facts by descriptor; the policy in
//! `fathom-device` judges them; `hold` opens the same inode or device for real, claims it, looks again, and
//! keeps the claim until it is released. No check compares names.

mod backup;
mod ends;
mod error;
mod examine;
mod hold;
mod inventory;
mod kernel;
mod loops;
pub(crate) mod mounts;
mod owner;
mod place;
mod probe_responds;
mod sysfs;
mod system;

pub use self::error::{HoldError, ProbeError};
pub use self::examine::{Examined, examine};
pub use self::hold::{Held, hold, hold_again};
pub use self::inventory::list_block_devices;
pub use self::owner::{is_ours, mark_ours, remove_ours};
pub use self::probe_responds::probe_responds;
