//! What is written, and what is checked on reading back.

use std::path::PathBuf;

/// What is written.
#[derive(Clone, Debug, PartialEq)]
pub struct Payload {
    /// Kind of content.
    pub fill: Fill,
    /// Fresh content for every write (`refill_buffers`); otherwise the buffer is filled once and marked.
    pub refill: bool,
    /// Each 512-byte sector is marked so that no two writes are alike (`scramble_buffers`).
    pub scramble: bool,
    /// `dedupe_percentage`: share of blocks that repeat an earlier one.
    pub dedupe_percent: u8,
    /// `dedupe_mode=working_set`: they repeat blocks of a fixed set; otherwise one of the last that were written.
    pub dedupe_set: Option<DedupeSet>,
}

/// The blocks that are repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DedupeSet {
    /// `dedupe_working_set_percentage`: as many as this share of the job's blocks, 1 to 100.
    pub percent: u8,
    /// `dedupe_global`: all jobs with this option share one set.
    pub shared: bool,
}

/// Kind of content.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Fill {
    /// Incompressible.
    #[default]
    Random,
    /// `zero_buffers`.
    Zeroes,
    /// `buffer_pattern`, repeated.
    Pattern(Vec<PatternPart>),
    /// `buffer_compress_percentage`: this share of each chunk is constant.
    Compressible {
        /// Share that compresses away, 0 to 100.
        percent: u8,
        /// `buffer_compress_chunk`; 0 is the whole block.
        chunk: u32,
        /// What the constant part repeats; empty is zeros.
        pattern: Vec<PatternPart>,
    },
}

/// A piece of a buffer or verify pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PatternPart {
    /// These bytes.
    Bytes(Vec<u8>),
    /// `%o`: offset of the block, 8 bytes, little endian.
    Offset,
    /// `'FILE'`: the content of that file.
    File(PathBuf),
}

/// What is checked on reading back.
#[derive(Clone, Debug, PartialEq)]
pub struct Verify {
    /// Checksum or method.
    pub kind: VerifyKind,
    /// Read back after the write phase.
    pub after_writes: bool,
    /// Stop at the first mismatch.
    pub fatal: bool,
    /// `verify_pattern`.
    pub pattern: Vec<PatternPart>,
    /// `verify_pattern_interval`: the pattern restarts every so many bytes; 0 is with each block.
    pub pattern_interval: u32,
    /// Size of one verified piece; 0 is the block.
    pub interval: u32,
    /// `verify_offset`: offset of the header in each piece.
    pub header_offset: u32,
    /// Save what was expected and what was found.
    pub dump: bool,
    /// `verify_only`: no writes, only the check of an earlier run.
    pub only: bool,
    /// `verify_backlog`: check after this many writes; 0 is at the end.
    pub backlog: u64,
    /// `verify_backlog_batch`.
    pub backlog_batch: u64,
    /// `verify_async`: threads that check data concurrently with the worker; 0 checks in the worker.
    pub threads: u32,
    /// `verify_async_cpus`: CPUs of those threads; empty is all.
    pub thread_cpus: Vec<u32>,
    /// `verify_write_sequence`: check the sequence number in the header.
    pub write_sequence: bool,
    /// `verify_header_seed`: check the seed in the header.
    pub header_seed: bool,
    /// `verify_state_save`: save the progress of the writes.
    pub state_save: bool,
    /// `verify_state_load`: file of such a state: only its writes are checked.
    pub state_load: Option<PathBuf>,
    /// `verify_policy=fsynced`: a state counts only what was written before the last fsync that succeeded.
    pub only_fsynced: bool,
}

/// fio's `verify=` methods, and ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "each is the name of a published checksum")]
pub enum VerifyKind {
    Md5,
    Crc64,
    Crc32c,
    Crc32cIntel,
    Crc32,
    Crc16,
    Crc7,
    Xxhash,
    Sha1,
    Sha256,
    Sha512,
    Sha3_224,
    Sha3_256,
    Sha3_384,
    Sha3_512,
    /// Only the header.
    Meta,
    /// Only the pattern, no header.
    Pattern,
    /// A header, then the pattern.
    PatternHeader,
    /// Writes headers, checks nothing.
    Null,
    /// Our own stamps in every sector of 512 bytes.
    Fathom,
}
