//! The types that all crates of fathom share: units, the plan, the recording, the findings.
//!
//! Nothing here does I/O, reads a clock or formats for people. Data flows in one direction: job text -> [`Plan`] ->
//! [`Recording`] -> [`Findings`] -> output.
//!
//! ```
//! use fathom_model::{Bytes, Direction, Histogram, Nanos, PerDirection};
//!
//! let mut latencies = Histogram::new();
//! for latency in [Nanos::from_micros(80), Nanos::from_micros(90), Nanos::from_millis(2)] {
//!     latencies.record(latency.get());
//! }
//! assert_eq!(latencies.count(), 3);
//! assert_eq!(latencies.max(), Some(Nanos::from_millis(2)));
//!
//! let mut bytes = PerDirection::<Bytes>::default();
//! bytes[Direction::Read] += Bytes::from_kib(12);
//! assert_eq!(bytes[Direction::Read].get(), 12 << 10);
//! ```

mod blame;
mod cell;
mod chart;
mod chart_options;
mod commits;
mod comparison;
mod conditions;
mod damage;
mod derivation;
mod device;
mod diagnosis;
mod direction;
mod experiment;
mod findings;
mod fio_bins;
pub mod format;
mod gate;
mod histogram;
mod hosts;
mod imported;
mod imported_figures;
mod interval_bytes;
mod job_figures;
mod log;
mod names;
mod observed;
mod packed_series;
mod plan;
mod plan_explanation;
mod progress;
mod ready;
mod recording;
mod report;
mod report_source;
mod response;
mod run;
mod suite;
mod units;
mod witnessed;

pub use self::blame::*;
pub use self::cell::{CellContent, CellState, StoredCell, StoredFinding};
pub use self::chart::{
    AxisScale, Chart, ChartAxis, ChartBody, ChartEvent, ChartGrid, ChartMark, ChartSeries,
    ChartUnit, MarkPosition, SeriesShape,
};
pub use self::chart_options::{
    AxisLimits, ChartOptions, Dimension, ParseDimensionError, RatedValue, Smoothing,
};
pub use self::commits::{COMMIT_ROUNDS, CommitReport, CommitRow, choose_method};
pub use self::comparison::{
    CollectionSummary, Comparison, ComparisonRow, Difference, Explanation, LessEven, LoadSummary,
    Metric, OptionDifference, RateShape, ShapeComparison,
};
pub use self::conditions::*;
pub use self::damage::*;
pub use self::derivation::{Derivation, DerivationInput, DerivedAnswer, DerivedCell, DerivedTable};
pub use self::device::*;
pub use self::diagnosis::{Certainty, DepthProbe, Diagnosis, EarlierRuns, LimitCause};
pub use self::direction::{Direction, PerDirection};
pub use self::experiment::{CellFigures, CellLatency, Estimate, Grid, GridRow};
pub use self::findings::*;
pub use self::fio_bins::{
    FIO_BINS, FIO_CLAMP_NS, fio_bin, fio_bin_value, fio_bins, is_fio_last_bin,
};
pub use self::gate::{ComparedInput, Gate, GateOutcome};
pub use self::histogram::{
    BUCKETS, Histogram, LARGEST_NS, SparseHistogram, bucket_of, bucket_range,
};
pub use self::hosts::{HostPart, HostSummary};
pub use self::imported::{
    DirectionOverTime, ImportedResult, OverTime, Provenance, RecordedFinding,
};
pub use self::imported_figures::{
    AuthorClaims, HostLink, ImportedDirection, ImportedFigures, ImportedHosts, ImportedLatency,
    ImportedOrigin, LatencyPercentiles, LogLatency, ParseLinkError, SpecFigure, SpecSheet,
    StatedRate, ThroughputRounds,
};
pub use self::job_figures::{DirectionFigures, JobFigures, JobFinding, latency_classes};
pub use self::log::{HistEntry, LogChunk, LogEntry, LogKind, TraceAction, TraceEntry};
pub use self::observed::{ObservedIo, ObservedOffsets, RequestPhase};
pub use self::packed_series::PackedSeries;
pub use self::plan::*;
pub use self::plan_explanation::*;
pub use self::progress::{JobPattern, JobPhase, LiveRate, Progress};
pub use self::ready::{
    ReadyCheck, ReadyCheckResult, ReadyEstimate, ReadyFigure, ReadyLimit, ReadyMetric, ReadyResult,
    ReadyVerdict,
};
pub use self::recording::*;
pub use self::report::{
    Report, ReportBlock, ReportCell, ReportChart, ReportFinding, ReportRows, ReportSection,
    ReportTable,
};
pub use self::report_source::{QueueSettings, ReportSource, ReportSubject, StoredAnswer};
pub use self::response::{MaxLoad, NamedKnee, Response, ResponsePoint, SloAnswer};
pub use self::run::{Experiment, Run, RunId, RunState, parse_label, simulated_facts, simulated_in};
pub use self::suite::{
    CellTimeline, SuiteResult, SuiteRounds, SuiteStep, SuiteTenant, SuiteTraining, TimeSlice,
    fairness,
};
pub use self::units::{Bytes, Nanos};
pub use self::witnessed::{
    GroupDisk, OpenedFile, ProcessIo, ProgramEnd, TransactionCosts, WatchedProcess, Witnessed,
};
