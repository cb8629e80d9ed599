//! The block layer under observation: events of the kernel's block tracepoints.
//!
//! * [`TraceThread`] records in a private tracefs instance and gives a [`TraceConsumer`] each [`BlockEvent`] in order of time;
//!   [`TraceSession`] is the same without a thread.
//! * [`Tracker`] follows bios and requests through these events and gives a [`TrackerOutput`] each [`Request`] and [`Bio`]
//!   that is complete, with the time of every step.
//! * [`why`] answers from counters and events why programs wait for storage.
//!
//! ```
//! use fathom_trace::{DeviceNumber, IoFlags};
//!
//! let flags = IoFlags::parse("WFS");
//! assert!(flags.is_write() && flags.fua() && flags.sync());
//! assert_eq!(DeviceNumber::new(254, 1).to_string(), "254:1");
//! ```

mod blame;
mod counters;
mod decode;
mod error;
mod event;
mod files;
mod format;
mod limits;
mod observation;
mod offsets;
mod page;
mod process;
mod recorder;
mod session;
mod summary;
mod tracefs;
mod tracker;
mod why;

pub use self::blame::{BlameJoin, IoPlace, JoinedIo, LoadIo, Piece, Submitter, TracedDevices};
pub use self::counters::{DiskCounts, ProcessCounts, disk_counts, process_counts};
pub use self::decode::{Decoded, Decoder, FileMapSource, ThreadName, ThreadNames, Tracepoint};
pub use self::error::TraceError;
pub use self::event::{BlockEvent, BlockEventKind, DeviceNumber, IoFlags, SECTOR};
pub use self::files::{FileId, FileIo, FileRange, FileSummary, FileSystemPlace};
pub use self::format::{EventFormat, Field};
pub use self::limits::{Attachments, BlockDevices};
pub use self::observation::{CountedObservation, Observation, SizeAudit};
pub use self::offsets::{OffsetCounts, OffsetMap};
pub use self::page::{Lost, Page, PageLayout};
pub use self::process::{Process, Processes};
pub use self::recorder::{Recorded, TraceThread};
pub use self::session::{
    ClockCheck, TraceConsumer, TraceOptions, TraceSession, TraceTotals, monotonic_ns,
    remove_dead_instances,
};
pub use self::summary::{
    DepthSummary, DeviceSummary, DirectionSummary, INTERVAL_NS, IntervalSummary, IoDirection,
    Observer, Phases, ProcessFilter, ProcessSummary, QueueLimits, RequestSink, Sequence,
    SizeSummary, SplitCause, Summary,
};
pub use self::tracefs::Tracefs;
pub use self::tracker::{Bio, BioPart, Request, Tracker, TrackerCounts, TrackerOutput};
pub use self::why::{
    ReadsBesideOthers, RequestCollector, StuckThread, TracedRequest, TracedRequests, WaitingThread,
    WhyAnswer, WhyArray, WhyCause, WhyCost, WhyDevice, WhyEvidence, WhyFinding, WhyGroup, WhyLimit,
    WhyLook, WhyMount, WhyPressure, WhyProcess, WhyReading, WhyScope, WhySubject, WhyVolume,
    is_in_group, why,
};
