//! Options: what is written and how it is checked.

use crate::options::typed::*;
use crate::values::Unit::*;

job_options! {
    ZERO_BUFFERS: Switch = flag("zero_buffers", "Write zeros");
    REFILL_BUFFERS: Switch = flag("refill_buffers", "New content for every write");
    SCRAMBLE_BUFFERS: Switch = boolean("scramble_buffers", "Change buffers slightly so that no two writes are equal").default("1");
    BUFFER_PATTERN: Pattern = pattern("buffer_pattern", "Pattern that fills every buffer");
    BUFFER_COMPRESS_PERCENTAGE: Number = number("buffer_compress_percentage", Percent, "Percentage by which buffers compress").max(100);
    BUFFER_COMPRESS_CHUNK: Number = number("buffer_compress_chunk", Bytes, "Size of the part of a buffer that compresses as a unit").default("512");
    DEDUPE_PERCENTAGE: Number = number("dedupe_percentage", Percent, "Percentage of blocks with the content of an earlier block").max(100);
    DEDUPE_GLOBAL: Switch = boolean("dedupe_global", "Also repeat the content of other jobs").default("0");
    DEDUPE_MODE: Choice = choice("dedupe_mode", &["repeat", "working_set"], "How repeated blocks are chosen").default("repeat");
    DEDUPE_WORKING_SET_PERCENTAGE: Number = number("dedupe_working_set_percentage", Percent, "Size of the working set of repeated blocks").default("5").min(1).max(100);
    VERIFY: Choice = choice("verify", &["0", "md5", "crc64", "crc32", "crc32c-intel", "crc32c", "crc16", "crc7", "sha1", "sha256", "sha512", "sha3-224", "sha3-256", "sha3-384", "sha3-512", "xxhash", "meta", "pattern", "pattern_hdr", "null", "fathom"], "How data is verified").default("0");
    DO_VERIFY: Switch = boolean("do_verify", "Read back and verify after the writes").default("1");
    VERIFY_POLICY: Choice = choice("verify_policy", &["completed", "fsynced"], "Which writes a saved verify state contains").default("completed");
    VERIFYSORT: Removed = removed("verifysort", "Former order of verification").no_effect("fio ignores it too");
    VERIFYSORT_NR: Removed = removed("verifysort_nr", "Former size of the verify order").no_effect("fio ignores it too");
    VERIFY_INTERVAL: Number = number("verify_interval", Bytes, "Size of a verified block, with one header each").min(80);
    VERIFY_OFFSET: Number = number("verify_offset", Bytes, "Offset of the header in a verified block").min(40);
    VERIFY_PATTERN: Pattern = pattern("verify_pattern", "Bytes written and expected");
    VERIFY_PATTERN_INTERVAL: Number = number("verify_pattern_interval", Bytes, "Restart the pattern at each interval").default("0");
    VERIFY_FATAL: Switch = boolean("verify_fatal", "Stop at the first mismatch").default("0");
    VERIFY_DUMP: Switch = boolean("verify_dump", "Save the actual and the expected data of a mismatch to files").default("0");
    VERIFY_ASYNC: Number = number("verify_async", Count, "Number of verification threads").default("0").max(1024);
    VERIFY_ASYNC_CPUS: Cpus = cpus("verify_async_cpus", "CPUs of the verification threads");
    VERIFY_BACKLOG: Number = number("verify_backlog", Count, "Verify after this many writes");
    VERIFY_BACKLOG_BATCH: Number = number("verify_backlog_batch", Count, "Number of backlog blocks verified at a time; all with verify=fathom where blocks are rewritten");
    VERIFY_ONLY: Switch = flag("verify_only", "Verify an earlier run without writing; fathom run reads on after a wrong block, fathom fio ends");
    VERIFY_STATE_LOAD: Switch = boolean("verify_state_load", "Verify only the writes in a saved verify state");
    VERIFY_STATE_SAVE: Switch = boolean("verify_state_save", "Save the progress of the writes").default("1");
    VERIFY_WRITE_SEQUENCE: Switch = boolean("verify_write_sequence", "Verify the sequence number").default("1");
    VERIFY_HEADER_SEED: Switch = boolean("verify_header_seed", "Verify the seed in the header").default("1");
    EXPERIMENTAL_VERIFY: Switch = boolean("experimental_verify", "Recompute the writes instead of storing them").no_effect("the headers are always recomputed");
    TRIM_PERCENTAGE: Number = number("trim_percentage", Percent, "Percentage of verified blocks that are trimmed").default("0").max(100).refused("leave it out; trims are not verified");
    TRIM_VERIFY_ZERO: Switch = boolean("trim_verify_zero", "Trimmed blocks must read as zeros").default("1").no_effect("it only applies with trim_percentage");
    TRIM_BACKLOG: Number = number("trim_backlog", Count, "Trim after this many blocks").refused("leave it out; trims are not verified");
    TRIM_BACKLOG_BATCH: Number = number("trim_backlog_batch", Count, "Blocks trimmed at a time").no_effect("it only applies with trim_backlog");
}
