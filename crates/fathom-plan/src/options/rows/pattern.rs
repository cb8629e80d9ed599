//! Options: which addresses and sizes are used.

use crate::options::row::{Kind, OptionRow, Unit, row};

#[rustfmt::skip] // One row per option.
pub(super) const ROWS: &[OptionRow] = &[
    row("rw", Kind::ChoiceWith(&["read", "write", "trim", "randread", "randwrite", "randtrim", "rw", "readwrite", "randrw", "trimwrite", "randtrimwrite"]), "Direction and order of the I/O").alias("readwrite").default("read"),
    row("rw_sequencer", Kind::Choice(&["sequential", "identical"]), "What follows a random address with rw=...:N").default("sequential"),
    row("bs", Kind::Three(Unit::Bytes), "Block size of reads, writes and trims").alias("blocksize").default("4096").min(1),
    row("ba", Kind::Three(Unit::Bytes), "Alignment of random addresses").alias("blockalign").min(1),
    row("bsrange", Kind::Ranges, "Range block sizes are drawn from").alias("blocksize_range").min(1),
    row("bssplit", Kind::Split, "Block sizes with their shares"),
    row("bs_unaligned", Kind::Flag, "Sizes need not be multiples of the smallest").alias("blocksize_unaligned"),
    row("bs_is_seq_rand", Kind::Bool, "The two block sizes are of sequential and random I/O").default("0"),
    row("rwmixread", Kind::One(Unit::Percent), "Percentage of reads in a mixed job").default("50").max(100),
    row("rwmixwrite", Kind::One(Unit::Percent), "Percentage of writes in a mixed job").default("50").max(100),
    row("rwmixcycle", Kind::Dead, "Former length of a mix cycle").refused("leave it out; the mix is drawn per I/O"),
    row("randrepeat", Kind::Bool, "The same addresses in every run").alias("allrandrepeat").default("1"),
    row("randseed", Kind::One(Unit::Count), "Seed of every draw").default("0x89"),
    row("norandommap", Kind::Flag, "Blocks may repeat before all were touched"),
    row("softrandommap", Kind::Bool, "Do without the random map when memory is short").default("0").no_effect("there is no map; a permutation needs no memory"),
    row("random_generator", Kind::Choice(&["tausworthe", "lfsr", "tausworthe64"]), "Generator of random addresses; lfsr touches each block once").default("tausworthe"),
    row("random_distribution", Kind::Distribution, "How random addresses are distributed").default("random"),
    row("random_sequence_stride", Kind::Bool, "Stride of a repeated sequence").default("0"),
    row("percentage_random", Kind::Three(Unit::Percent), "Share of I/Os that are random").default("100,100,100").max(100),
    row("percentage_sequential", Kind::Dead, "Former share of sequential I/O").refused("use percentage_random=100-N"),
    row("num_range", Kind::One(Unit::Count), "Ranges in one trim").default("1").max(256).refused("leave it at 1; a trim has one range here"),
    row("sprandom", Kind::Bool, "Leave flash as long random writing would, in one pass").default("0"),
    row("spr_num_regions", Kind::One(Unit::Count), "Regions of sprandom").default("100").min(1).max(1048576),
    row("spr_op", Kind::Floats(1), "Spare room of the flash as a share of its size").default("0.15").min(0).max(1),
    row("spr_cs", Kind::One(Unit::Bytes), "Write cache that must be full before a block is written again").default("0"),
];
