//! Reports: fio's JSON, terse, text, log files and progress line, and what fathom adds to them.
//!
//! Nothing here prints, reads a clock or computes a statistic. Width, colour, version and time zone come
//! from a [`Style`], figures from [`fathom_model::Findings`].
//!
//! ```
//! use fathom_model::{Personality, Progress};
//!
//! let line = fathom_report::live_line(&Progress::default(), Personality::Fathom, 80);
//! assert_eq!(line, "waiting");
//! ```

mod aggregate;
mod banner;
mod client_result;
mod clients;
mod commits;
mod comparison;
mod comparison_summary;
mod compressed;
mod derived;
mod devices;
mod evidence;
mod experiment;
mod fio_number;
mod format;
mod idleness;
mod imported;
mod json;
mod junit;
mod log_lines;
mod logs;
mod names;
mod observation;
mod openmetrics;
mod output;
mod parquet;
mod plan_explanation;
mod progress;
mod ready;
mod response;
mod runs;
mod style;
mod suite;
mod table;
mod terse;
mod text;
mod thrift;
mod trace;
mod tree;
mod why;

pub use self::aggregate::aggregate_bandwidth;
pub use self::banner::{banner, starting};
pub use self::client_result::ClientResult;
pub use self::clients::{clients_banner, write_clients};
pub use self::commits::{commits_json, commits_markdown, commits_text};
pub use self::comparison::{
    comparison, comparison_json, comparison_junit, comparison_markdown, comparison_remarks,
    comparison_rows, differing,
};
pub use self::compressed::inflate_log;
pub use self::derived::{derived_json, derived_markdown, derived_text};
pub use self::devices::{
    cache_words, device_cards, device_table, links_json, links_text, queue_words, spec_text,
};
pub use self::evidence::explain_limits;
pub use self::experiment::{
    CellPosition, cell_line, cell_lines, cell_status_line, figures_line, first_look, grid_text,
};
pub use self::format::{Format, write};
pub use self::idleness::idleness_text;
pub use self::imported::imported;
pub use self::json::events::{
    begin_event, cell_event, done_event, end_event, failed_event, progress_event,
};
pub use self::json::grid::grid_json;
pub use self::json::response::response_json;
pub use self::json::suite::suite_json;
pub use self::json::{device_document, json, spec_document};
pub use self::junit::{TestCase, grid_cases, junit, suite_cases, verdict_case};
pub use self::logs::{LogWriter, Mode};
pub use self::names::json_values;
pub use self::observation::{
    LiveRates, counted_json, counted_text, live_rates_text, observation_json, observation_text,
    request_event,
};
pub use self::openmetrics::{Exposition, Label, exposition};
pub use self::output::{paragraph, wrap};
pub use self::parquet::{CellsParquetError, cells_parquet};
pub use self::plan_explanation::{command_list, explanation_text};
pub use self::progress::{live_line, plain_line};
pub use self::ready::{ready_cases, ready_json, ready_markdown, ready_text};
pub use self::response::{response_text, search_answer};
pub use self::runs::{
    cells_csv, cells_document, cells_text, metric_text, run_state, run_value, runs_document,
    runs_text, search_document,
};
pub use self::style::Style;
pub use self::suite::suite_text;
pub use self::terse::{TerseVersion, terse};
pub use self::text::{checked, quick, text};
pub use self::why::{why_json, why_text};
