//! Who is this target, what is it joined to, and is it safe to write.
//!
//! Pure policy: facts come in (from `fathom-linux::probe`), a [`Permit`] or a [`Refusal`] goes out. This crate
//! opens nothing and writes to nothing, so every rule can be tested with a hand-made [`TargetFacts`].
//!
//! The flow is `facts -> judge -> permit -> hold`: nobody can open a target for writing without a [`Permit`],
//! and only [`judge`] makes one.
#![forbid(unsafe_code)]

mod code;
mod concerns;
mod describe;
mod device_safety;
mod facts;
mod intent;
mod judge;
mod mark;
mod pages;
mod refusal;
mod signature;
pub mod spec;
mod survey;

pub use self::code::{DestroyCode, Fingerprint, Identity, ParseCodeError};
pub use self::concerns::concerns;
pub use self::describe::{describe, description};
pub use self::device_safety::device_safety;
pub use self::facts::{
    BlockFacts, Content, DevNo, DeviceLocation, Ends, Exclusive, FileFacts, MountedAt, NotATarget,
    Owner, RelatedDevice, Relation, Target, TargetFacts, TargetId, Use, UseKind,
};
pub use self::intent::{Intent, OutOfSpan, Span};
pub use self::judge::{Access, Permit, judge, unchanged};
pub use self::mark::{Manifest, ManifestEntry, Mark, Origin, ParseMarkError, Seal};
pub use self::pages::{AtaPages, NvmePages, Pages, ScsiPages, apply_device_pages};
pub use self::refusal::{Reason, Refusal};
pub use self::signature::{END_WINDOW, Signature, SignatureKind, signatures};
pub use self::survey::{
    BackingDevices, Machine, ReadFailure, Sysfs, chain, clean, device_names, survey,
};
