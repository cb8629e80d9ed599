//! Traces of I/O and what they say about a load.

mod arrivals;
mod copy;
mod depth;
mod error;
mod fidelity;
mod formats;
mod hash;
mod histogram;
mod job;
mod join;
mod json;
mod number;
mod profile;
mod reader;
mod record;
mod reuse;
mod runs;
mod space;
mod text;
mod windows;

pub use self::arrivals::{ArrivalModel, Arrivals};
pub use self::copy::{Copy, Expression};
pub use self::depth::Depth;
pub use self::error::TraceError;
pub use self::fidelity::{Fidelity, FidelityPart, TOTAL_RULE, fidelity};
pub use self::histogram::LogHistogram;
pub use self::job::{Scale, fio_job};
pub use self::json::{fidelity_json, profile_json};
pub use self::profile::{Flushing, Profile, Profiler, Sizes, Stream, Total};
pub use self::reader::{ReadOptions, TraceFacts, TraceFormat, TraceReader, TraceSource};
pub use self::record::{IoFlags, IoKind, TraceIo};
pub use self::reuse::{BLOCK, Locality};
pub use self::space::{Pattern, Zone};
pub use self::text::{fidelity_text, profile_text, sentence};
pub use self::windows::{OverTime, Phase, Picture, Window};
