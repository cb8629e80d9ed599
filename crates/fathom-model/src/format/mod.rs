//! Numbers, sizes, times and dates as fathom prints them in reports, charts and findings.
//!
//! fio's own texts round differently; their formatter is in `fathom-report`.
//!
//! ```
//! use fathom_model::format;
//!
//! assert_eq!(format::thousands(95_012), "95,012");
//! assert_eq!(format::bytes(3 << 29), "1.5 GiB");
//! assert_eq!(format::duration(1_250_000.0), "1.25 ms");
//! assert_eq!(format::bandwidth(389_169_152.0), "389 MB/s");
//! ```

mod calendar;
mod number;
mod printable;
mod shell;
mod time;

pub use self::calendar::{ctime, date, date_minute, date_of_result};
pub use self::number::{
    available, bandwidth, bytes, capacity, counted, percent, rate, size, thousands,
};
pub use self::printable::{
    csv_field, csv_line, escape_invisible, json_plain_len, printable, terminal_text,
};
pub use self::shell::shell_word;
pub use self::time::{TimeUnit, duration, exact_time, latency, time_left};
