//! Options: how much, how long and how fast.

use crate::options::typed::*;
use crate::values::Unit::*;

job_options! {
    LOOPS: Number = number("loops", Count, "How often the amount is done").default("1");
    NUMBER_IOS: Number = number("number_ios", Count, "End after this many I/Os").default("0");
    RUNTIME: Number = number("runtime", Seconds, "Longest time the job runs").alias("timeout").default("0");
    TIME_BASED: Switch = flag("time_based", "Start over until the runtime ends");
    RAMP_TIME: Number = number("ramp_time", Seconds, "Warm-up that is not measured");
    RAMP_SIZE: Number = number("ramp_size", Bytes, "Warm-up in bytes").min(1).refused("use ramp_time");
    THINKTIME: Number = number("thinktime", Micros, "Pause between groups of I/Os").default("0");
    THINKTIME_SPIN: Number = number("thinktime_spin", Micros, "Part of the pause spent busy").default("0");
    THINKCYCLES: Number = number("thinkcycles", Count, "Pause in loop cycles").default("0").refused("use thinktime_spin");
    THINKTIME_BLOCKS: Number = number("thinktime_blocks", Count, "I/Os between two pauses").default("1");
    THINKTIME_BLOCKS_TYPE: Choice = choice("thinktime_blocks_type", &["complete", "issue"], "Count completed or issued I/Os").default("complete");
    THINKTIME_IOTIME: Number = number("thinktime_iotime", Seconds, "Load time between two pauses").default("0");
    RATE: Three = three("rate", Bytes, "Planned bandwidth per clone");
    RATE_MIN: Three = three("rate_min", Bytes, "Fail when the bandwidth falls below this").alias("ratemin");
    RATE_IOPS: Three = three("rate_iops", Count, "Planned I/Os per second and clone");
    RATE_IOPS_MIN: Three = three("rate_iops_min", Count, "Fail when the IOPS fall below this");
    RATE_PROCESS: Choice = choice("rate_process", &["linear", "poisson"], "Gaps between planned I/Os").default("linear");
    RATE_CYCLE: Number = number("rate_cycle", Millis, "Window of rate_min").alias("ratecycle").default("1000");
    RATE_IGNORE_THINKTIME: Switch = boolean("rate_ignore_thinktime", "Do not catch up with a planned rate after a pause").default("0");
    LATENCY_TARGET: Number = number("latency_target", Micros, "Search the depth that keeps this latency");
    LATENCY_WINDOW: Number = number("latency_window", Micros, "Time of one step of the search");
    LATENCY_PERCENTILE: Floats = floats("latency_percentile", 1, "Percentile that must keep the target").default("100").min(0).max(100);
    LATENCY_RUN: Switch = boolean("latency_run", "Go on searching after the first answer").default("0");
    WRITE_IOLOG: Text = text("write_iolog", "Write a trace of the I/O to this file, at its end");
    READ_IOLOG: Text = text("read_iolog", "Replay the I/O of this trace; of several, each clone takes its own");
    READ_IOLOG_CHUNKED: Switch = boolean("read_iolog_chunked", "Read the trace piece by piece").default("0").no_effect("a trace is always read piece by piece");
    REPLAY_NO_STALL: Switch = boolean("replay_no_stall", "Replay without the pauses").default("0");
    REPLAY_REDIRECT: Text = text("replay_redirect", "Replay onto this target");
    REPLAY_SCALE: Number = number("replay_scale", Count, "Divide addresses by this").default("1");
    REPLAY_ALIGN: Number = number("replay_align", Bytes, "Round addresses down to this power of two");
    REPLAY_TIME_SCALE: Number = number("replay_time_scale", Count, "Speed of the replay in percent").default("100").min(1);
    REPLAY_SKIP: Text = text("replay_skip", "Leave these out of the replay: read, write, trim, sync");
    MERGE_BLKTRACE_FILE: Text = text("merge_blktrace_file", "Merge several block traces").refused("print the traces with blkparse(1) and write them as one log of fio's version 3");
    MERGE_BLKTRACE_SCALARS: Floats = floats("merge_blktrace_scalars", 20, "Speed of each merged trace").no_effect("it only matters with merge_blktrace_file");
    MERGE_BLKTRACE_ITERS: Floats = floats("merge_blktrace_iters", 20, "Repeats of each merged trace").no_effect("it only matters with merge_blktrace_file");
}
