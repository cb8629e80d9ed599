//! Options: how much, how long and how fast.

use crate::options::typed::*;
use crate::values::Unit::*;

job_options! {
    LOOPS: Number = number("loops", Count, "Number of times the amount of I/O is repeated").default("1");
    NUMBER_IOS: Number = number("number_ios", Count, "End after this many I/Os").default("0");
    RUNTIME: Number = number("runtime", Seconds, "Maximum runtime of the job").alias("timeout").default("0");
    TIME_BASED: Switch = flag("time_based", "Repeat until the runtime ends");
    RAMP_TIME: Number = number("ramp_time", Seconds, "Warm-up time, not measured");
    RAMP_SIZE: Number = number("ramp_size", Bytes, "Warm-up in bytes, not measured").min(1).refused("use ramp_time");
    THINKTIME: Number = number("thinktime", Micros, "Pause between groups of I/Os").default("0");
    THINKTIME_SPIN: Number = number("thinktime_spin", Micros, "Part of the pause spent in a busy loop").default("0");
    THINKCYCLES: Number = number("thinkcycles", Count, "Pause in loop cycles").default("0").refused("use thinktime_spin");
    THINKTIME_BLOCKS: Number = number("thinktime_blocks", Count, "I/Os between two pauses").default("1");
    THINKTIME_BLOCKS_TYPE: Choice = choice("thinktime_blocks_type", &["complete", "issue"], "Whether completed or issued I/Os count").default("complete");
    THINKTIME_IOTIME: Number = number("thinktime_iotime", Seconds, "Time of I/O between two pauses").default("0");
    RATE: Three = three("rate", Bytes, "Target bandwidth per clone");
    RATE_MIN: Three = three("rate_min", Bytes, "Fail when the bandwidth falls below this").alias("ratemin");
    RATE_IOPS: Three = three("rate_iops", Count, "Target IOPS per clone");
    RATE_IOPS_MIN: Three = three("rate_iops_min", Count, "Fail when the IOPS fall below this");
    RATE_PROCESS: Choice = choice("rate_process", &["linear", "poisson"], "Distribution of the intervals between due I/Os").default("linear");
    RATE_CYCLE: Number = number("rate_cycle", Millis, "Window of rate_min").alias("ratecycle").default("1000");
    RATE_IGNORE_THINKTIME: Switch = boolean("rate_ignore_thinktime", "Do not make up for the I/Os that a think time delayed").default("0");
    LATENCY_TARGET: Number = number("latency_target", Micros, "Search for the queue depth that meets this latency");
    LATENCY_WINDOW: Number = number("latency_window", Micros, "Duration of one step of the search");
    LATENCY_PERCENTILE: Floats = floats("latency_percentile", 1, "Percentile that must meet the target").default("100").min(0).max(100);
    LATENCY_RUN: Switch = boolean("latency_run", "Continue the search after the first result").default("0");
    WRITE_IOLOG: Text = text("write_iolog", "Append a trace of the I/O to this file");
    READ_IOLOG: Text = text("read_iolog", "Replay the I/O of this trace; with several, each clone replays its own");
    READ_IOLOG_CHUNKED: Switch = boolean("read_iolog_chunked", "Read the trace in chunks").default("0").no_effect("a trace is always read in chunks");
    REPLAY_NO_STALL: Switch = boolean("replay_no_stall", "Replay without the pauses").default("0");
    REPLAY_REDIRECT: Text = text("replay_redirect", "Replay to this target");
    REPLAY_SCALE: Number = number("replay_scale", Count, "Divide addresses by this").default("1");
    REPLAY_ALIGN: Number = number("replay_align", Bytes, "Round addresses down to this power of two");
    REPLAY_TIME_SCALE: Number = number("replay_time_scale", Count, "Speed of the replay in percent of the original").default("100").min(1);
    REPLAY_SKIP: Text = text("replay_skip", "Operations to skip: read, write, trim, sync");
    MERGE_BLKTRACE_FILE: Text = text("merge_blktrace_file", "Merge several block traces").refused("print the traces with blkparse(1) and convert them to one trace in fio's version 3");
    MERGE_BLKTRACE_SCALARS: Floats = floats("merge_blktrace_scalars", 20, "Speed of each merged trace").no_effect("it only applies with merge_blktrace_file");
    MERGE_BLKTRACE_ITERS: Floats = floats("merge_blktrace_iters", 20, "Repeats of each merged trace").no_effect("it only applies with merge_blktrace_file");
}
