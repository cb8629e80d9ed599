//! One row of the option table: everything about an option except its value.

use crate::values::Unit;

/// What kind of value an option takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// One number.
    One(Unit),
    /// One number for reads, one for writes, one for trims: `a`, `a,b`, `a,b,c`.
    Three(Unit),
    /// A number or a range of two: `a`, `a-b`.
    Pair(Unit),
    /// Bytes, a percentage, or zones: `1g`, `50%`, `3z`.
    Extent,
    /// `0` or `1`; the value is required.
    Bool,
    /// Set by its bare name, or `0` or `1`.
    Flag,
    /// Any text.
    Text,
    /// Text, or nothing: the name of the job.
    Prefix,
    /// Name of an engine, or the path of one.
    Engine,
    /// One of these values.
    Choice(&'static [&'static str]),
    /// One of these values, with parameters after a colon.
    ChoiceWith(&'static [&'static str]),
    /// One to three ranges of bytes: `4k-16k,1k-2k`.
    Ranges,
    /// Sizes with shares: `4k/60:64k/40`.
    Split,
    /// Sizes with shares and priorities: `64k/25/1/1:64k/75/3/2`.
    PrioritySplit,
    /// A distribution with its parameters: `zipf:1.2`.
    Distribution,
    /// At most this many decimals, separated by colons.
    Floats(usize),
    /// Bytes: `0xff`, `"text"`, `-12`, `'file'`, `%o`, side by side.
    Pattern,
    /// CPU numbers: `0,2-5`.
    Cpus,
    /// errno names or numbers by direction: `EIO:5,ENOSPC`.
    Errors,
    /// fio removed the option.
    Removed,
}

/// How an option is supported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Support {
    /// It has the effect that fio documents.
    Honoured,
    /// Accepted without effect, for this reason.
    NoEffect {
        /// Why the result is the same.
        why: &'static str,
    },
    /// An error, unless it is set to its default.
    Refused {
        /// What to do instead.
        instead: &'static str,
    },
}

/// One option: names, type, limits, help and support.
#[derive(Clone, Copy, Debug)]
pub struct OptionRow {
    /// Canonical name.
    pub name: &'static str,
    /// Another name of the same option, if there is one.
    pub alias: Option<&'static str>,
    /// Type of the value.
    pub kind: Kind,
    /// The default, as written in a job file.
    pub default: Option<&'static str>,
    /// The default of a number, in its base unit; 0 where there is none.
    pub(crate) default_number: u64,
    /// Minimum.
    pub min: Option<i64>,
    /// Maximum.
    pub max: Option<u64>,
    /// The only engines it belongs to; empty for every job.
    pub engines: &'static [&'static str],
    /// How it is supported.
    pub support: Support,
    /// One line of help.
    pub help: &'static str,
}

impl OptionRow {
    /// Whether the bare name without `=value` is enough in a job file.
    #[must_use]
    pub const fn may_be_bare(&self) -> bool {
        matches!(self.kind, Kind::Flag | Kind::Prefix | Kind::Removed)
    }

    /// fio sorts the options of a section by this before it reads them, highest first.
    pub(crate) fn rank(&self) -> i8 {
        match self.name {
            "kb_base" | "unit_base" | "lockfile" | "cpus_allowed_policy" => 1,
            "filename" | "filename_format" | "unique_filename" => -1,
            _ => 0,
        }
    }
}
