//! Simulated devices: models of disks, links and limits in virtual time, and queues with known
//! answers, so that searches and procedures can be tested exactly.
//!
//! ```
//! use fathom_sim::{Servers, Service};
//!
//! let device = Servers { count: 4, mean_ns: 100_000.0, service: Service::Fixed, credit_ns: 0.0 };
//! assert_eq!(device.max_iops(), 40_000.0);
//! // One I/O at a time keeps one of the four servers busy.
//! let observed = device.closed(1, 10_000, 1);
//! assert!((observed.iops - 10_000.0).abs() < 10.0);
//! ```
//!
//! Other devices are built from a description, with models of the library:
//!
//! ```
//! let disk = fathom_sim::Library::new().build_text("sata(hdd-7200)", 1);
//! assert!(disk.is_err_and(|error| error.to_string().contains("unknown model 'sata'")));
//! let disk = fathom_sim::Library::new().build_text("link(sata-600, hdd-7200)", 1)?;
//! assert_eq!(disk.capacity(), 4_000_787_030_016);
//! # Ok::<(), fathom_sim::ModelError>(())
//! ```
//!
//! They use no clock, no file, and no random number without a seed: time is a number that moves
//! from event to event.

pub mod agenda;
mod cache;
mod controller;
pub mod device;
mod devices;
mod disk_counts;
mod error;
mod flash;
mod load;
pub mod machine;
mod measured_disk;
mod members;
mod open_requests;
mod params;
mod raid;
mod random;
mod registry;
mod servers;
pub mod slots;
mod spec;
mod tier;
mod toml_file;

pub use self::cache::{Cache, CacheCounts, CacheParameters, WritePolicy};
pub use self::controller::{Batching, Controller, ControllerParameters};
pub use self::device::{
    DeviceSurvey, SimCompletion, SimDevice, SimOp, SimRequest, SimTime, SurveyedArray,
    SurveyedLink, closed_loop,
};
pub use self::error::{ModelError, ParameterError, Place};
pub use self::flash::{Flash, FlashCounts, FlashParameters, MAPPED_PAGE, Precondition, SlcCache};
pub use self::load::{
    Finished, PoweredDisk, RealFiles, RequestFailed, SharedTime, SimHost, member_name, run_load,
    unsupported,
};
pub use self::machine::{
    DeviceCache, DeviceEntry, Event, EventKind, Extent, FileEntry, FileNode, FileTree, ForeignLoad,
    Machine, MachineFile, Node, OneHost, PlaceError, SimCommitResult, SimCommits, SimDisk,
    TokenBucket, Volume, VolumeKind,
};
pub use self::measured_disk::{MeasuredDisk, MeasuredDiskParameters};
pub use self::members::MemberCounts;
pub use self::params::Params;
pub use self::raid::{Raid, RaidLevel, RaidParameters};
pub use self::registry::{BUILT_IN, Builder, Device, KINDS, Library, ModelKind, build};
pub use self::servers::{Arrivals, Observed, Servers, Service};
pub use self::spec::{ModelSpec, Parameter, Value};
pub use self::tier::{Tier, TierParameters};
pub use self::toml_file::ModelFile;
