//! Options: which addresses and sizes are used.

use crate::options::typed::*;
use crate::values::Unit::*;

job_options! {
    RW: ChoiceWith = choice_with("rw", &["read", "write", "trim", "randread", "randwrite", "randtrim", "rw", "readwrite", "randrw", "trimwrite", "randtrimwrite"], "Direction and order of the I/O").alias("readwrite").default("read");
    RW_SEQUENCER: Choice = choice("rw_sequencer", &["sequential", "identical"], "Order of the I/Os after a random address with rw=...:N").default("sequential");
    BS: Three = three("bs", Bytes, "Block size of reads, writes and trims").alias("blocksize").default("4096").min(1);
    BA: Three = three("ba", Bytes, "Alignment of random addresses").alias("blockalign").min(1);
    BSRANGE: Ranges = ranges("bsrange", "Range of random block sizes").alias("blocksize_range").min(1);
    BSSPLIT: Split = split("bssplit", "Block sizes with their shares");
    BS_UNALIGNED: Switch = flag("bs_unaligned", "Sizes need not be multiples of the smallest").alias("blocksize_unaligned");
    BS_IS_SEQ_RAND: Switch = boolean("bs_is_seq_rand", "The block sizes are for sequential and random I/O; unlike in fio, a random job does all of its size").default("0");
    RWMIXREAD: Number = number("rwmixread", Percent, "Percentage of reads in a mixed job").default("50").max(100);
    RWMIXWRITE: Number = number("rwmixwrite", Percent, "Percentage of writes in a mixed job").default("50").max(100);
    RWMIXCYCLE: Removed = removed("rwmixcycle", "Former length of a mix cycle").refused("leave it out; the direction is drawn for each I/O");
    RANDREPEAT: Switch = boolean("randrepeat", "The same addresses in every run").alias("allrandrepeat").default("1");
    RANDSEED: Number = number("randseed", Count, "Seed of the random generators").default("0x89");
    NORANDOMMAP: Switch = flag("norandommap", "Blocks may repeat before all have been accessed");
    SOFTRANDOMMAP: Switch = boolean("softrandommap", "Continue without the random map when memory is short").default("0").no_effect("there is no map: the permutation needs no memory");
    RANDOM_GENERATOR: Choice = choice("random_generator", &["tausworthe", "lfsr", "tausworthe64"], "Generator of random addresses; lfsr accesses each block once").default("tausworthe");
    RANDOM_DISTRIBUTION: Distribution = distribution("random_distribution", "How random addresses are distributed; a center keeps hot addresses together in `fathom run`, and scatters them as fio does in `fathom fio`").default("random");
    RANDOM_SEQUENCE_STRIDE: Switch = boolean("random_sequence_stride", "Stride of a repeated sequence").default("0");
    PERCENTAGE_RANDOM: Three = three("percentage_random", Percent, "Percentage of random I/Os").default("100,100,100").max(100);
    PERCENTAGE_SEQUENTIAL: Removed = removed("percentage_sequential", "Former share of sequential I/O").refused("use percentage_random=100-N");
    NUM_RANGE: Number = number("num_range", Count, "Ranges in one trim").default("1").max(256).refused("leave it at 1; a trim has one range");
    SPRANDOM: Switch = boolean("sprandom", "Precondition flash in one pass: the state after long random writes").default("0");
    SPR_NUM_REGIONS: Number = number("spr_num_regions", Count, "Regions of sprandom").default("100").min(1).max(1048576);
    SPR_OP: Floats = floats("spr_op", 1, "Overprovisioning of the flash as a share of its size").default("0.15").min(0).max(1);
    SPR_CS: Number = number("spr_cs", Bytes, "Size of the write cache, which must be full before a block is written again").default("0");
}
