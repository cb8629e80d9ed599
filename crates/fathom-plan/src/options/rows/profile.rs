//! Options: private to built-in profiles.

use crate::options::typed::*;
use crate::values::Unit::*;

job_options! {
    DEVICE_NAMES: Text = text("device-names", "Devices of the act profile").engines(&["profile=act"]).no_effect("it belongs to a profile; fio ignores it in a job as well");
    LOAD: Number = number("load", Count, "Load of the act profile").default("1").engines(&["profile=act"]).no_effect("it belongs to a profile; fio ignores it in a job as well");
    TEST_DURATION: Number = number("test-duration", Micros, "Length of the act profile").default("24h").engines(&["profile=act"]).no_effect("it belongs to a profile; fio ignores it in a job as well");
    THREADS_PER_QUEUE: Number = number("threads-per-queue", Count, "Threads of the act profile").default("8").engines(&["profile=act"]).no_effect("it belongs to a profile; fio ignores it in a job as well");
    READ_REQ_NUM_512_BLOCKS: Number = number("read-req-num-512-blocks", Count, "Read size of the act profile").default("3").engines(&["profile=act"]).no_effect("it belongs to a profile; fio ignores it in a job as well");
    LARGE_BLOCK_OP_KBYTES: Number = number("large-block-op-kbytes", Count, "Large block size of the act profile").default("131072").engines(&["profile=act"]).no_effect("it belongs to a profile; fio ignores it in a job as well");
    PREP: Switch = flag("prep", "Prepare the device for the act profile").engines(&["profile=act"]).no_effect("it belongs to a profile; fio ignores it in a job as well");
    BLOCK: Number = number("block", Count, "Block size of the tiobench profile").default("4096").engines(&["profile=tiobench"]).no_effect("it belongs to a profile; fio ignores it in a job as well");
    NUMRUNS: Number = number("numruns", Count, "Runs of the tiobench profile").engines(&["profile=tiobench"]).no_effect("it belongs to a profile; fio ignores it in a job as well");
    DIR: Text = text("dir", "Folder of the tiobench profile").engines(&["profile=tiobench"]).no_effect("it belongs to a profile; fio ignores it in a job as well");
    THREADS: Number = number("threads", Count, "Threads of the tiobench profile").engines(&["profile=tiobench"]).no_effect("it belongs to a profile; fio ignores it in a job as well");
}
