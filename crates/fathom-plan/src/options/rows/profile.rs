//! Options: private to built-in profiles.

use crate::options::typed::*;
use crate::values::Unit::*;

job_options! {
    DEVICE_NAMES: Text = text("device-names", "Devices of the act profile").engines(&["profile=act"]).no_effect("it belongs to a profile; fio ignores it in a job too");
    LOAD: Number = number("load", Count, "Load of the act profile").default("1").engines(&["profile=act"]).no_effect("it belongs to a profile; fio ignores it in a job too");
    TEST_DURATION: Number = number("test-duration", Micros, "Length of the act profile").default("24h").engines(&["profile=act"]).no_effect("it belongs to a profile; fio ignores it in a job too");
    THREADS_PER_QUEUE: Number = number("threads-per-queue", Count, "Threads of the act profile").default("8").engines(&["profile=act"]).no_effect("it belongs to a profile; fio ignores it in a job too");
    READ_REQ_NUM_512_BLOCKS: Number = number("read-req-num-512-blocks", Count, "Read size of the act profile").default("3").engines(&["profile=act"]).no_effect("it belongs to a profile; fio ignores it in a job too");
    LARGE_BLOCK_OP_KBYTES: Number = number("large-block-op-kbytes", Count, "Large block size of the act profile").default("131072").engines(&["profile=act"]).no_effect("it belongs to a profile; fio ignores it in a job too");
    PREP: Switch = flag("prep", "Prepare the device for the act profile").engines(&["profile=act"]).no_effect("it belongs to a profile; fio ignores it in a job too");
    BLOCK: Number = number("block", Count, "Block size of the tiobench profile").default("4096").engines(&["profile=tiobench"]).no_effect("it belongs to a profile; fio ignores it in a job too");
    NUMRUNS: Number = number("numruns", Count, "Runs of the tiobench profile").engines(&["profile=tiobench"]).no_effect("it belongs to a profile; fio ignores it in a job too");
    DIR: Text = text("dir", "Directory of the tiobench profile").engines(&["profile=tiobench"]).no_effect("it belongs to a profile; fio ignores it in a job too");
    THREADS: Number = number("threads", Count, "Threads of the tiobench profile").engines(&["profile=tiobench"]).no_effect("it belongs to a profile; fio ignores it in a job too");
}
