//! Options: logs and the report.

use crate::options::typed::*;
use crate::values::Unit::*;

job_options! {
    WRITE_BW_LOG: Prefix = prefix("write_bw_log", "Log of the bandwidth, with this prefix");
    WRITE_LAT_LOG: Prefix = prefix("write_lat_log", "Logs of the latencies, with this prefix");
    WRITE_IOPS_LOG: Prefix = prefix("write_iops_log", "Log of the IOPS, with this prefix");
    WRITE_HIST_LOG: Prefix = prefix("write_hist_log", "Log of latency histograms, with this prefix");
    PER_JOB_LOGS: Switch = boolean("per_job_logs", "One log file for each job").default("1");
    LOG_ENTRIES: Number = number("log_entries", Count, "Entries reserved for a log").default("1024").min(1024).max(1048576);
    LOG_AVG_MSEC: Number = number("log_avg_msec", Millis, "Average log entries over this interval").default("0");
    LOG_HIST_MSEC: Number = number("log_hist_msec", Millis, "Interval between two histograms").default("0");
    LOG_HIST_COARSENESS: Number = number("log_hist_coarseness", Count, "Halve the resolution of the histogram this many times").default("0").max(6);
    LOG_WINDOW_VALUE: Choice = choice("log_window_value", &["avg", "max", "both", "0", "1"], "Log the mean, the maximum or both of each interval").alias("log_max_value").default("avg");
    LOG_OFFSET: Switch = boolean("log_offset", "Log the offset of each I/O").default("0");
    LOG_PRIO: Switch = boolean("log_prio", "Log the priority of each I/O").default("0");
    LOG_ISSUE_TIME: Switch = boolean("log_issue_time", "Log the time when each I/O was issued").default("0");
    LOG_COMPRESSION: Number = number("log_compression", Bytes, "Compress logs in memory").min(1024).max(536870912).no_effect("logs are written to disk during the run");
    LOG_COMPRESSION_CPUS: Cpus = cpus("log_compression_cpus", "CPUs that compress logs").no_effect("logs are compressed by the thread that writes them");
    LOG_STORE_COMPRESSED: Switch = boolean("log_store_compressed", "Write compressed logs; --inflate-log decompresses them").default("0");
    LOG_ALTERNATE_EPOCH: Switch = boolean("log_alternate_epoch", "Log the time of day instead of the time since the start").alias("log_unix_epoch");
    LOG_ALTERNATE_EPOCH_CLOCK_ID: Number = number("log_alternate_epoch_clock_id", Count, "Clock for log_alternate_epoch").no_effect("the time of day is CLOCK_REALTIME");
    JOB_START_CLOCK_ID: Number = number("job_start_clock_id", Count, "Clock of the start of the job").no_effect("the start is CLOCK_REALTIME");
    BWAVGTIME: Number = number("bwavgtime", Millis, "Length of a bandwidth sample").default("500");
    IOPSAVGTIME: Number = number("iopsavgtime", Millis, "Length of an IOPS sample").default("500");
    STATS: Switch = boolean("stats", "Include the job in the report").default("1");
    CLAT_PERCENTILES: Switch = boolean("clat_percentiles", "Percentiles of completion latency").default("1");
    LAT_PERCENTILES: Switch = boolean("lat_percentiles", "Percentiles of total latency").default("0");
    SLAT_PERCENTILES: Switch = boolean("slat_percentiles", "Percentiles of submission latency").default("0");
    PERCENTILE_LIST: Floats = floats("percentile_list", 20, "Reported percentiles").default("1:5:10:20:30:40:50:60:70:80:90:95:99:99.5:99.9:99.95:99.99").min(0).max(100);
    BLOCK_ERROR_PERCENTILES: Switch = boolean("block_error_percentiles", "Percentiles of erase blocks").default("0").refused("leave it out; it belongs to the mtd engine");
    SIGNIFICANT_FIGURES: Number = number("significant_figures", Count, "Significant digits in the text report").default("4").min(1).max(10).no_effect("the text report rounds to four digits, and JSON is exact");
    DISK_UTIL: Switch = boolean("disk_util", "Report the counters of the devices").default("1");
    UNIFIED_RW_REPORTING: Choice = choice("unified_rw_reporting", &["none", "mixed", "both", "0", "1", "2"], "Report directions separately, combined, or both").default("none");
}
