//! The power-cut test: stamped records, the protocol and the log of the recorder, the checker and the certificate.
//!
//! A writer commits records to the device under test and sends each acknowledgement to a recorder that keeps power. After the
//! cut, [`check_cycle`] compares what the recorder knows with what the device returns, and [`Certificate`] states the result.
//!
//! * [`Geometry`]: the streams of a cycle, and where each commit is stored.
//! * [`Stamp`]: every 512-byte sector identifies itself and has a checksum.
//! * [`log`]: the recorder's log, which can be cut at any byte.
//! * [`wire`]: the acknowledgements over TCP, authenticated with a token.
//! * [`diagnose`]: the behaviour of the device that explains the result.
//!
//! The crate opens no file and no connection. The failure classes are those of Zheng, Tucek, Qin and Lillibridge,
//! "Understanding the Robustness of SSDs under Power Fault", FAST 2013.

mod causes;
mod certificate;
mod check;
mod documents;
mod fingerprint;
mod geometry;
mod html;
pub mod log;
mod stamp;
pub mod wire;

pub use causes::{Cause, CauseKind, FailureClass, diagnose};
pub use certificate::{Certificate, Circumstances, Verdict, loss_bound};
pub use check::{
    Acknowledgements, CommitRead, CycleEnd, CycleResult, Media, StreamResult, Unreadable,
    check_cycle,
};
pub use documents::{CutOptions, MARKER, Marker, WriteOptions};
pub use fingerprint::Fingerprint;
pub use geometry::{
    COMMITS_IN_FLIGHT, FORMAT, Geometry, GeometryError, Layout, MAX_STREAMS, Method, Place, RunId,
    Stream,
};
pub use stamp::{SECTOR, SectorState, Stamp};
