//! One row of the option table: everything that is known about an option before a value is seen.

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
    /// `0` or `1`; must be given.
    Bool,
    /// Set by its mere name, or `0` or `1`.
    Flag,
    /// Any text.
    Text,
    /// Text, or nothing: the name of the job.
    Prefix,
    /// Name of an engine, or the path of one.
    Engine,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// One of these words, and more after a colon.
    ChoiceWith(&'static [&'static str]),
    /// One to three ranges of bytes: `4k-16k,1k-2k`.
    Ranges,
    /// Sizes with shares: `4k/60:64k/40`.
    Split,
    /// Sizes with shares and priorities: `64k/25/1/1:64k/75/3/2`.
    PrioritySplit,
    /// A distribution with its parameters: `zipf:1.2`.
    Distribution,
    /// Up to so many decimals, separated by colons.
    Floats(usize),
    /// Bytes: `0xff`, `"text"`, `-12`, `'file'`, `%o`, side by side.
    Pattern,
    /// CPU numbers: `0,2-5`.
    Cpus,
    /// errno names or numbers by direction: `EIO:5,ENOSPC`.
    Errors,
    /// fio has given the option up.
    Dead,
}

/// What a number counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Things; `k` and `m` multiply.
    Count,
    /// Bytes.
    Bytes,
    /// 0 to 100.
    Percent,
    /// Milliseconds, as a bare number.
    Millis,
    /// A time whose bare number is microseconds.
    Micros,
    /// A time whose bare number is seconds.
    Seconds,
}

impl Unit {
    /// Whether values carry suffixes of time rather than of size.
    #[must_use]
    pub const fn is_time(self) -> bool {
        matches!(self, Unit::Micros | Unit::Seconds)
    }
}

/// What becomes of an option that is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Support {
    /// It does what it says.
    Honoured,
    /// Accepted and without effect, for this reason.
    NoEffect {
        /// Why nothing is lost.
        why: &'static str,
    },
    /// An error, unless it is set to what it would be anyway.
    Refused {
        /// The way out.
        instead: &'static str,
    },
}

/// One option: names, type, limits, help and support.
#[derive(Clone, Copy, Debug)]
pub struct OptionRow {
    /// Canonical name.
    pub name: &'static str,
    /// Another name for the same, if there is one.
    pub alias: Option<&'static str>,
    /// Type of the value.
    pub kind: Kind,
    /// What holds when it is not set, as one would write it.
    pub default: Option<&'static str>,
    /// Smallest number.
    pub min: Option<i64>,
    /// Largest number.
    pub max: Option<u64>,
    /// The only engines it belongs to; empty for every job.
    pub engines: &'static [&'static str],
    /// What becomes of it.
    pub support: Support,
    /// One line of help.
    pub help: &'static str,
}

/// Starts a row that is honoured and has neither alias, default nor limits.
pub(crate) const fn row(name: &'static str, kind: Kind, help: &'static str) -> OptionRow {
    OptionRow {
        name,
        alias: None,
        kind,
        default: None,
        min: None,
        max: None,
        engines: &[],
        support: Support::Honoured,
        help,
    }
}

impl OptionRow {
    pub(crate) const fn alias(mut self, alias: &'static str) -> Self {
        self.alias = Some(alias);
        self
    }
    pub(crate) const fn default(mut self, default: &'static str) -> Self {
        self.default = Some(default);
        self
    }
    pub(crate) const fn min(mut self, min: i64) -> Self {
        self.min = Some(min);
        self
    }
    pub(crate) const fn max(mut self, max: u64) -> Self {
        self.max = Some(max);
        self
    }
    pub(crate) const fn engines(mut self, engines: &'static [&'static str]) -> Self {
        self.engines = engines;
        self
    }
    pub(crate) const fn no_effect(mut self, why: &'static str) -> Self {
        self.support = Support::NoEffect { why };
        self
    }
    pub(crate) const fn refused(mut self, instead: &'static str) -> Self {
        self.support = Support::Refused { instead };
        self
    }

    /// Whether a bare name without `=value` is enough in a job file.
    #[must_use]
    pub const fn may_be_bare(&self) -> bool {
        matches!(self.kind, Kind::Flag | Kind::Prefix | Kind::Dead)
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
