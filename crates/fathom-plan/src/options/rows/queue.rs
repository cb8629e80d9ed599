//! Options: engines, queues, durability and clocks.

use crate::options::row::{Kind, OptionRow, Unit, row};

#[rustfmt::skip] // One row per option.
pub(super) const ROWS: &[OptionRow] = &[
    row("ioengine", Kind::Engine, "How I/Os are carried to the kernel").default("psync"),
    row("iodepth", Kind::One(Unit::Count), "I/Os each job keeps in flight").default("1").min(1),
    row("iodepth_batch", Kind::One(Unit::Count), "Most I/Os handed over at once").alias("iodepth_batch_submit").default("1"),
    row("iodepth_batch_complete_min", Kind::One(Unit::Count), "Fewest completions waited for").alias("iodepth_batch_complete").default("1"),
    row("iodepth_batch_complete_max", Kind::One(Unit::Count), "Most completions taken at once"),
    row("iodepth_low", Kind::One(Unit::Count), "Refill once this few are in flight"),
    row("serialize_overlap", Kind::Bool, "Hold back I/Os that overlap others in flight, of the same job or, when offloaded, of all").default("0"),
    row("io_submit_mode", Kind::Choice(&["inline", "offload"]), "Calls that wait for their I/O are made by the job, or by a pool of threads").default("inline"),
    row("fsync", Kind::One(Unit::Count), "fsync every N writes").default("0"),
    row("fdatasync", Kind::One(Unit::Count), "fdatasync every N writes").default("0"),
    row("write_barrier", Kind::One(Unit::Count), "Make every Nth write a barrier").default("0").refused("use fsync or fdatasync"),
    row("sync_file_range", Kind::ChoiceWith(&["wait_before", "write", "wait_after"]), "sync_file_range every N writes").refused("use fdatasync"),
    row("end_fsync", Kind::Bool, "fsync at the end of the job").default("0"),
    row("fsync_on_close", Kind::Bool, "fsync when a file is closed").default("0"),
    row("end_syncfs", Kind::Bool, "syncfs at the end of the job").default("0"),
    row("mem", Kind::ChoiceWith(&["malloc", "shm", "shmhuge", "mmap", "mmapshared", "mmaphuge", "cudamalloc"]), "Where buffers come from").alias("iomem").default("malloc").no_effect("buffers are private memory, touched before the clock starts; huge pages are taken where there are any. mem=cudamalloc is refused"),
    row("iomem_align", Kind::One(Unit::Bytes), "Alignment of buffers").alias("mem_align").default("0").no_effect("buffers always begin at pages of 4096 bytes"),
    row("hugepage-size", Kind::One(Unit::Bytes), "Size of a huge page").default("4194304").no_effect("the huge pages of the kernel are taken, of its own size"),
    row("clocksource", Kind::Choice(&["gettimeofday", "clock_gettime", "cpu"]), "Which clock is read").no_effect("the fastest clock that agrees with CLOCK_MONOTONIC is taken"),
    row("gtod_cpu", Kind::One(Unit::Count), "CPU that reads the clock for all").no_effect("every worker reads its own clock"),
    row("gtod_reduce", Kind::Bool, "Take no latency at all").default("0"),
    row("disable_lat", Kind::Bool, "Do not keep total latency").default("0"),
    row("disable_clat", Kind::Bool, "Do not keep completion latency").default("0"),
    row("disable_slat", Kind::Bool, "Do not keep submission latency").default("0"),
    row("disable_bw_measurement", Kind::Bool, "Do not sample the bandwidth").alias("disable_bw").default("0"),
];
