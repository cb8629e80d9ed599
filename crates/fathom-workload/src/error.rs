//! Why a trace cannot be read.

use std::io;

use crate::reader::TraceFormat;

/// Why a trace cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// Reading failed.
    #[error("read error after {line} lines or records: {error}")]
    Read {
        /// Lines or records before it.
        line: u64,
        /// The error of the system or of the decompressor.
        error: io::Error,
    },
    /// There is nothing in it.
    #[error("the trace is empty")]
    Empty,
    /// The content is of no known format.
    #[error(
        "unknown trace format; known formats: {}; name one with --trace-format",
        TraceFormat::names()
    )]
    UnknownFormat,
    /// Compressed in a way that is not read.
    #[error(
        "{0} compression is not supported; decompress the trace first: {1} TRACE | fathom profile -"
    )]
    Compressed(&'static str, &'static str),
    /// A load file that is wrong.
    #[error("load file: {0}")]
    LoadFile(String),
    /// Too many lines are malformed.
    #[error(
        "{count} malformed {unit} of {total} (limit {limit}); the first: {unit_one} {first}: {problem}; is it really a trace of format {format}?"
    )]
    Malformed {
        /// Malformed lines or records so far.
        count: u64,
        /// Lines or records so far.
        total: u64,
        /// The limit.
        limit: u64,
        /// `lines` or `records`.
        unit: &'static str,
        /// `line` or `record`.
        unit_one: &'static str,
        /// The first malformed one, from 1.
        first: u64,
        /// What is wrong with it.
        problem: &'static str,
        /// The format.
        format: TraceFormat,
    },
}
