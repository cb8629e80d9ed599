//! Options: logs and the report.

use crate::options::row::{Kind, OptionRow, Unit, row};

#[rustfmt::skip] // One row per option.
pub(super) const ROWS: &[OptionRow] = &[
    row("write_bw_log", Kind::Prefix, "Log of the bandwidth, with this prefix"),
    row("write_lat_log", Kind::Prefix, "Logs of the latencies, with this prefix"),
    row("write_iops_log", Kind::Prefix, "Log of the IOPS, with this prefix"),
    row("write_hist_log", Kind::Prefix, "Log of latency histograms, with this prefix"),
    row("per_job_logs", Kind::Bool, "One log file for each job").default("1"),
    row("log_entries", Kind::One(Unit::Count), "Entries reserved for a log").default("1024").min(1024).max(1048576),
    row("log_avg_msec", Kind::One(Unit::Millis), "Average log entries over this time").default("0"),
    row("log_hist_msec", Kind::One(Unit::Millis), "Time between two histograms").default("0"),
    row("log_hist_coarseness", Kind::One(Unit::Count), "Halve the histogram's resolution this often").default("0").max(6),
    row("log_window_value", Kind::Choice(&["avg", "max", "both", "0", "1"]), "Log the mean, the maximum or both").alias("log_max_value").default("avg"),
    row("log_offset", Kind::Bool, "Log the address").default("0"),
    row("log_prio", Kind::Bool, "Log the priority").default("0"),
    row("log_issue_time", Kind::Bool, "Log when the I/O was issued").default("0"),
    row("log_compression", Kind::One(Unit::Bytes), "Compress logs in memory").min(1024).max(536870912).no_effect("logs go to disk while the job runs"),
    row("log_compression_cpus", Kind::Cpus, "CPUs that compress logs").no_effect("logs are compressed by the thread that writes them"),
    row("log_store_compressed", Kind::Bool, "Write logs compressed, to be read with --inflate-log").default("0"),
    row("log_alternate_epoch", Kind::Bool, "Log the time of day instead of the time of the job").alias("log_unix_epoch"),
    row("log_alternate_epoch_clock_id", Kind::One(Unit::Count), "Clock of that time").no_effect("the time of day is CLOCK_REALTIME"),
    row("job_start_clock_id", Kind::One(Unit::Count), "Clock of the start of the job").no_effect("the start is CLOCK_REALTIME"),
    row("bwavgtime", Kind::One(Unit::Millis), "Length of a bandwidth sample").default("500"),
    row("iopsavgtime", Kind::One(Unit::Millis), "Length of an IOPS sample").default("500"),
    row("stats", Kind::Bool, "Whether the job is in the report").default("1"),
    row("clat_percentiles", Kind::Bool, "Percentiles of completion latency").default("1"),
    row("lat_percentiles", Kind::Bool, "Percentiles of total latency").default("0"),
    row("slat_percentiles", Kind::Bool, "Percentiles of submission latency").default("0"),
    row("percentile_list", Kind::Floats(20), "Which percentiles are reported").default("1:5:10:20:30:40:50:60:70:80:90:95:99:99.5:99.9:99.95:99.99").min(0).max(100),
    row("block_error_percentiles", Kind::Bool, "Percentiles of erase blocks").default("0").refused("leave it out; it belongs to the mtd engine"),
    row("significant_figures", Kind::One(Unit::Count), "Digits in the text report").default("4").min(1).max(10).no_effect("text rounds to four digits; JSON is exact"),
    row("disk_util", Kind::Bool, "Report the device's own counters").default("1"),
    row("unified_rw_reporting", Kind::Choice(&["none", "mixed", "both", "0", "1", "2"]), "Report directions apart, as one, or both").default("none"),
];
