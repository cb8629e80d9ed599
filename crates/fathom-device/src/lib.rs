//! Identifies storage devices and decides whether a target may be written.
//!
//! * The target guard: [`judge`] takes [`TargetFacts`] and an [`Intent`] and returns a [`Permit`] or
//!   a [`Refusal`]. Only [`judge`] creates permits, and a target can be opened for writing only with
//!   a permit.
//! * Device facts: [`survey`] reads a sysfs tree, [`apply_device_pages`] adds the device's own NVMe,
//!   ATA or SCSI pages, and [`chain`] follows a target down to its devices.
//! * Data sheets: [`spec`] parses them and compares them with measurements.
//! * Volumes of providers: [`volumes`] parses their limits and recognises measured ones.
//!
//! The crate opens nothing and writes nothing: `fathom-linux` collects the facts, so every rule can
//! be tested with facts made by hand.
//!
//! ```
//! use fathom_device::{DevNo, Intent, Span, Target, TargetFacts, judge};
//! use fathom_model::Bytes;
//!
//! let device = |name: &str, minor| TargetFacts {
//!     named: name.into(),
//!     resolved: name.into(),
//!     symlink: false,
//!     target: Target::Char(DevNo { major: 1, minor }),
//! };
//! let write = Intent::write(Span::new(Bytes::ZERO, Bytes::new(4096)));
//!
//! assert!(judge(&device("/dev/null", 3), &write, &[]).is_ok());
//!
//! let refusal = judge(&device("/dev/mem", 1), &write, &[]).unwrap_err();
//! assert_eq!(refusal.remedy(), "name a file or a block device");
//! ```
#![forbid(unsafe_code)]

mod code;
mod concerns;
mod confirmation;
mod describe;
mod device_safety;
mod facts;
mod fill;
mod intent;
mod judge;
mod mark;
mod pages;
mod refusal;
mod scratch;
mod signature;
pub mod spec;
mod survey;
pub mod volumes;

pub use self::code::{DestroyCode, Fingerprint, Identity, ParseCodeError, Samples};
pub use self::concerns::concerns;
pub use self::confirmation::{Confirmations, DirectoryConfirmation};
pub use self::describe::{describe, description};
pub use self::device_safety::device_safety;
pub use self::facts::{
    BackingInode, BenchmarkFile, BlockFacts, Content, DevNo, DeviceLocation, Ends, Exclusive,
    FileFacts, MountedAt, NotATarget, Owner, RelatedDevice, Relation, Target, TargetFacts,
    TargetId, Use, UseKind,
};
pub use self::fill::is_benchmark_fill;
pub use self::intent::{Intent, OutOfSpan, Span};
pub use self::judge::{Access, Permit, judge, judge_with, unchanged};
pub use self::mark::{Manifest, ManifestEntry, Mark, MarkState, Origin, ParseMarkError, Seal};
pub use self::pages::{
    AtaPages, EbsStats, EbsStatsError, NvmePages, Pages, ScsiPages, apply_device_pages,
};
pub use self::refusal::{Reason, Refusal};
pub use self::scratch::{ScratchDevice, ScratchId, ScratchList};
pub use self::signature::{END_WINDOW, Signature, SignatureKind, signatures};
pub use self::survey::{
    BackingDevices, Machine, ReadFailure, Sysfs, chain, clean, device_names, survey,
};
