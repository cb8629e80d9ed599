//! Analysis of recordings and imported results: figures, findings with evidence, summaries,
//! comparisons, searches and charts.
//!
//! [`findings`] analyses a recording, [`imported`] an imported result, and [`judge_imported`]
//! published figures. [`FINDINGS`] lists all findings. All functions are pure: they use no clock,
//! file or random number, and equal input gives equal output.
//!
//! ```
//! use fathom_analyse::judge_imported;
//! use fathom_model::{Direction, ImportedDirection, ImportedFigures};
//!
//! // At queue depth 1, 8.5 ms allow at most 117.6 I/Os per second.
//! let figures = ImportedFigures {
//!     streams: vec![ImportedDirection {
//!         direction: Direction::Read,
//!         iops: 125.0,
//!         latency_ns: Some(8.5e6),
//!         is_median: false,
//!     }],
//!     depth: Some(1),
//!     jobs: Some(1),
//!     closed: true,
//!     ..ImportedFigures::default()
//! };
//!
//! let findings = judge_imported(&figures);
//! assert_eq!(findings[0].code, "LITTLE_DISAGREES");
//! ```

mod adaptive;
mod array_members;
mod blame;
mod catalogue;
mod cell;
mod charts;
mod clients;
mod compare;
mod contradictions;
mod damage;
mod detectors;
mod device_class;
mod diagnosis;
mod direction;
mod disk;
mod distinct_blocks;
mod entry;
mod errno;
mod estimate;
mod figures;
mod grid;
mod group;
mod headline;
mod hosts;
mod imported;
mod interference;
mod job_summary;
mod joined;
mod knee;
mod latency;
mod latency_class;
mod layers;
mod levels;
mod little;
mod members;
mod over_time;
mod pace;
mod plan_explanation;
mod priorities;
pub mod provider_limits;
mod pts;
mod ready;
mod report;
mod response;
mod samples;
mod search;
mod series;
mod slo;
mod sufficient_depth;
mod suite_answer;
mod summary_sentences;
mod tail;
mod targets;
mod totals;
mod trend;
mod whole;
mod window;
mod witnessed;

pub use self::adaptive::{Agreement, Crossing, Split};
pub use self::catalogue::{Category, FINDINGS, FindingKind, by_number, checks, detectors, explain};
pub use self::cell::cell_figures;
pub use self::charts::{
    CHARTS, ChartError, ChartKind, chart, fitting_charts, job_figures, jobs_of, report_source, thin,
};
pub use self::clients::clients;
pub use self::compare::{
    ComparedRun, Costs, FEWEST_INTERVALS, Figure, InvalidLimit, Limit, compare, compare_repeats,
    difference, load_summaries, measured, shapes, unlike_settings,
};
pub use self::contradictions::{
    CONTRADICTION, ComparedCell, contradiction_finding, contradictions, mark_stored_contradictions,
};
pub use self::detectors::verdict;
pub use self::device_class::device_class;
pub use self::distinct_blocks::distinct_blocks;
pub use self::estimate::estimate;
pub use self::grid::{Repeats, grid, mark_contradiction};
pub use self::headline::{cell_headline, entries_headline, found, headline};
pub use self::imported::{
    CheckInput, ImportedLogs, NumberError, check_input, distinct_share, imported, judge as check,
    judge_imported, judge_logs, judge_sweep, judge_with as check_with, link_line, little_line,
    parse_figure,
};
pub use self::interference::interference;
pub use self::job_summary::{load_summary, replay_summary};
pub use self::joined::joined;
pub use self::knee::{ClosedPoint, Knee, KneeRule, knees};
pub use self::latency_class::{latency_class, latency_line, single_read_latency};
pub use self::over_time::{entry_figures, over_time};
pub use self::plan_explanation::{explain_plan, plan_commands};
pub use self::pts::{
    PTS_ROUNDS, PTS_WINDOW, PtsWindow, pts_sentence, pts_steady_round, pts_window, pts_windows,
};
pub use self::ready::{
    LatencyBlock, READY_CONFIDENCE, ReadyPace, ReadySession, ReadyTest, ready_on_hosts,
    ready_result, ready_sentence,
};
pub use self::report::report;
pub use self::response::{MeasuredLoad, is_disturbed, judge, response};
pub use self::search::{
    LatencyFigure, LoadArrivals, ParseLimitError, Search, SearchAnswer, SearchBounds, SearchLoad,
    SearchStep, SearchVerdict, SloLimit, trial_error, trial_seconds,
};
pub use self::slo::{run_meets, slo_answer};
pub use self::sufficient_depth::sufficient_depths;
pub use self::suite_answer::suite_answer;
pub use self::tail::{Inflection, inflection};
pub use self::targets::by_target;
pub use self::trend::{Level, TREND_METHOD, trend, trend_chart};
pub use self::whole::{bytes_of_split_request, findings, findings_with, foreign_ios_per_second};
pub use self::window::{Window, WindowFigures};
