//! The style of a report: everything that depends on the output device.

/// How a report is shown. The binary fills it; libraries read neither terminal nor environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Style {
    /// fio's version string, first in JSON and terse: `fio-3.42`.
    pub version: String,
    /// Columns of the terminal; 80 when writing to a file.
    pub width: usize,
    /// ANSI colours.
    pub colour: bool,
    /// Text contains only ASCII.
    pub ascii: bool,
    /// Local time minus UTC, seconds, for the dates fio prints.
    pub utc_offset_s: i32,
    /// Expected seconds until the run ends, for `--status-interval`; 0 at the end.
    pub eta_s: u64,
}

impl Default for Style {
    fn default() -> Self {
        Style {
            version: "fio-3.42".into(),
            width: 80,
            colour: false,
            ascii: false,
            utc_offset_s: 0,
            eta_s: 0,
        }
    }
}
