//! Options: private to built-in profiles.

use crate::options::row::{Kind, OptionRow, Unit, row};

#[rustfmt::skip] // One row per option.
pub(super) const ROWS: &[OptionRow] = &[
    row("device-names", Kind::Text, "Devices of the act profile").engines(&["profile=act"]).no_effect("it belongs to a profile; fio ignores it in a job as well"),
    row("load", Kind::One(Unit::Count), "Load of the act profile").default("1").engines(&["profile=act"]).no_effect("it belongs to a profile; fio ignores it in a job as well"),
    row("test-duration", Kind::One(Unit::Micros), "Length of the act profile").default("24h").engines(&["profile=act"]).no_effect("it belongs to a profile; fio ignores it in a job as well"),
    row("threads-per-queue", Kind::One(Unit::Count), "Threads of the act profile").default("8").engines(&["profile=act"]).no_effect("it belongs to a profile; fio ignores it in a job as well"),
    row("read-req-num-512-blocks", Kind::One(Unit::Count), "Read size of the act profile").default("3").engines(&["profile=act"]).no_effect("it belongs to a profile; fio ignores it in a job as well"),
    row("large-block-op-kbytes", Kind::One(Unit::Count), "Large block size of the act profile").default("131072").engines(&["profile=act"]).no_effect("it belongs to a profile; fio ignores it in a job as well"),
    row("prep", Kind::Flag, "Prepare the device for the act profile").engines(&["profile=act"]).no_effect("it belongs to a profile; fio ignores it in a job as well"),
    row("block", Kind::One(Unit::Count), "Block size of the tiobench profile").default("4096").engines(&["profile=tiobench"]).no_effect("it belongs to a profile; fio ignores it in a job as well"),
    row("numruns", Kind::One(Unit::Count), "Runs of the tiobench profile").engines(&["profile=tiobench"]).no_effect("it belongs to a profile; fio ignores it in a job as well"),
    row("dir", Kind::Text, "Folder of the tiobench profile").engines(&["profile=tiobench"]).no_effect("it belongs to a profile; fio ignores it in a job as well"),
    row("threads", Kind::One(Unit::Count), "Threads of the tiobench profile").engines(&["profile=tiobench"]).no_effect("it belongs to a profile; fio ignores it in a job as well"),
];
