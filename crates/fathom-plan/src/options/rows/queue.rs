//! Options: engines, queues, durability and clocks.

use crate::options::typed::*;
use crate::values::Unit::*;

job_options! {
    IOENGINE: Text = engine("ioengine", "How I/O is submitted").default("psync");
    IODEPTH: Number = number("iodepth", Count, "I/Os each job keeps in flight").default("1").min(1);
    IODEPTH_BATCH: Number = number("iodepth_batch", Count, "Maximum I/Os submitted at once").alias("iodepth_batch_submit").default("1");
    IODEPTH_BATCH_COMPLETE_MIN: Number = number("iodepth_batch_complete_min", Count, "Minimum completions to wait for").alias("iodepth_batch_complete").default("1");
    IODEPTH_BATCH_COMPLETE_MAX: Number = number("iodepth_batch_complete_max", Count, "Maximum completions reaped at once");
    IODEPTH_LOW: Number = number("iodepth_low", Count, "Refill the queue when no more than this many are in flight");
    SERIALIZE_OVERLAP: Switch = boolean("serialize_overlap", "Delay I/Os that overlap others in flight (of the same job; with io_submit_mode=offload, of all jobs)").default("0");
    IO_SUBMIT_MODE: Choice = choice("io_submit_mode", &["inline", "offload"], "Submit I/O from the job itself, or from a pool of threads").default("inline");
    FSYNC: Number = number("fsync", Count, "fsync every N writes").default("0");
    FDATASYNC: Number = number("fdatasync", Count, "fdatasync every N writes; in the count of syncs of fathom run, not of fathom fio").default("0");
    WRITE_BARRIER: Number = number("write_barrier", Count, "Barrier every N writes").default("0").refused("use fsync or fdatasync");
    SYNC_FILE_RANGE: Text = text("sync_file_range", "sync_file_range(2) every N writes: a list of wait_before, write, wait_after, then :N; in the count of syncs of fathom run, not of fathom fio");
    END_FSYNC: Switch = boolean("end_fsync", "fsync at the end of the job; counted as a sync by fathom run, not by fathom fio").default("0");
    FSYNC_ON_CLOSE: Switch = boolean("fsync_on_close", "fsync when a file is closed; counted as a sync by fathom run, not by fathom fio").default("0");
    END_SYNCFS: Switch = boolean("end_syncfs", "syncfs at the end of the job").default("0");
    MEM: ChoiceWith = choice_with("mem", &["malloc", "shm", "shmhuge", "mmap", "mmapshared", "mmaphuge", "cudamalloc"], "How buffer memory is allocated").alias("iomem").default("malloc").no_effect("buffers are private memory, touched before the measurement, with huge pages where available in fathom run and with ordinary pages in fathom fio, where mem=mmaphuge and mem=shmhuge take them from the pool of huge pages or fail, as in fio. mem=cudamalloc is refused");
    IOMEM_ALIGN: Number = number("iomem_align", Bytes, "Alignment of buffers").alias("mem_align").default("0").no_effect("buffers are always aligned to 4096 bytes");
    HUGEPAGE_SIZE: Number = number("hugepage-size", Bytes, "Size of a huge page").default("4194304").no_effect("the huge page size of the kernel is used");
    CLOCKSOURCE: Choice = choice("clocksource", &["gettimeofday", "clock_gettime", "cpu"], "Clock source").no_effect("the fastest clock that agrees with CLOCK_MONOTONIC is used");
    GTOD_CPU: Number = number("gtod_cpu", Count, "CPU that reads the clock for all jobs").no_effect("every worker reads its own clock");
    GTOD_REDUCE: Switch = boolean("gtod_reduce", "Measure no latencies").default("0");
    DISABLE_LAT: Switch = boolean("disable_lat", "Do not record total latency").default("0");
    DISABLE_CLAT: Switch = boolean("disable_clat", "Do not record completion latency").default("0");
    DISABLE_SLAT: Switch = boolean("disable_slat", "Do not record submission latency").default("0");
    DISABLE_BW_MEASUREMENT: Switch = boolean("disable_bw_measurement", "Do not sample the bandwidth").alias("disable_bw").default("0");
}
