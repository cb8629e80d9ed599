//! Options with the type of their value: each row of the table is a constant, and the constant is how the value is read.

use std::marker::PhantomData;

use super::row::{Kind, OptionRow, Support};
use crate::values::{SizePriority, SizeShares, Unit, Value};

/// A row of the option table whose value has the type `T`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct JobOption<T> {
    row: OptionRow,
    value: PhantomData<T>,
}

/// The name of an option in the table. Names that are not in the table cannot be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OptionName(&'static str);

impl OptionName {
    pub(crate) const fn as_str(self) -> &'static str {
        self.0
    }
}

impl<T> From<JobOption<T>> for OptionName {
    fn from(option: JobOption<T>) -> Self {
        option.name()
    }
}

/// How the value of an option is read from what was parsed.
pub(crate) trait OptionType: Copy {
    /// The value.
    type Value<'a>;

    /// The value of one setting.
    fn parsed(value: &Value) -> Option<Self::Value<'_>>;

    /// The value that all settings of the option amount to, in order; usually the last one.
    fn effective<'a>(
        _row: &OptionRow,
        values: impl DoubleEndedIterator<Item = &'a Value>,
    ) -> Option<Self::Value<'a>> {
        values.rev().find_map(Self::parsed)
    }
}

/// Types whose options have a value when they are not set.
pub(crate) trait WithDefault: OptionType {
    /// The default of the row: zero, off or empty where it states none.
    fn default<'a>(row: &OptionRow) -> Self::Value<'a>;
}

/// Defines option types whose value is read from one variant of [`Value`].
macro_rules! option_types {
    ($($(#[$doc:meta])+ $type:ident: $value:ty = $pattern:pat => $read:expr;)+) => {
        $(
            $(#[$doc])+
            #[derive(Clone, Copy, Debug)]
            pub(crate) struct $type;

            impl OptionType for $type {
                type Value<'a> = $value;

                fn parsed(value: &Value) -> Option<Self::Value<'_>> {
                    match value {
                        $pattern => $read,
                        _ => None,
                    }
                }
            }
        )+
    };
}

option_types! {
    /// A count, bytes or nanoseconds; negative numbers are 0.
    Number: u64 = Value::Number(n) => Some(u64::try_from(*n).unwrap_or(0));
    /// A number that may be negative.
    Signed: i64 = Value::Number(n) => Some(*n);
    /// Minimum and maximum.
    Pair: (u64, u64) = Value::Pair(min, max) => Some((*min, *max));
    /// A size that may be relative.
    Extent: crate::values::Size = Value::Extent(size) => Some(*size);
    /// On or off.
    Switch: bool = Value::Switch(on) => Some(*on);
    /// Text.
    Text: &'a str = Value::Text(text) => Some(text);
    /// Optional text.
    Prefix: Option<&'a str> = Value::Prefix(text) => Some(text.as_deref());
    /// One of the valid values.
    Choice: &'static str = Value::Choice(choice, _) => Some(choice);
    /// One of the valid values, and the text after its colon.
    ChoiceWith: (&'static str, Option<&'a str>) = Value::Choice(choice, rest) => Some((choice, rest.as_deref()));
    /// Sizes with shares and priorities for read, write and trim.
    PrioritySplit: &'a [Vec<SizePriority>; 3] = Value::PrioritySplit(split) => Some(split);
    /// Distributions for read, write and trim.
    Distribution: &'a fathom_model::PerDirection<fathom_model::Distribution> = Value::Distribution(all) => Some(all);
    /// Decimals.
    Floats: Vec<f64> = Value::Floats(list) => Some(list.clone());
    /// Bytes.
    Pattern: &'a [fathom_model::PatternPart] = Value::Pattern(parts) => Some(parts);
    /// CPU numbers.
    Cpus: &'a [u32] = Value::Cpus(cpus) => Some(cpus);
    /// The option has no value any more.
    Removed: () = Value::Nothing => Some(());
}

/// Numbers for read, write and trim. A later setting keeps the directions it does not name.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Three;

impl OptionType for Three {
    type Value<'a> = [u64; 3];

    fn parsed(value: &Value) -> Option<[u64; 3]> {
        match value {
            Value::Three(values) => Some(values.map(Option::unwrap_or_default)),
            _ => None,
        }
    }

    fn effective<'a>(
        row: &OptionRow,
        values: impl DoubleEndedIterator<Item = &'a Value>,
    ) -> Option<[u64; 3]> {
        let merge = |merged: Option<[u64; 3]>, value: &Value| match value {
            Value::Three(new) => {
                let mut all = merged.unwrap_or([row.default_number; 3]);
                for (one, new) in all.iter_mut().zip(new) {
                    *one = new.unwrap_or(*one);
                }
                Some(all)
            }
            _ => merged,
        };
        values.fold(None, merge)
    }
}

/// Ranges for read, write and trim. A later setting keeps the directions it does not name.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ranges;

/// Sizes with shares for read, write and trim. A later setting keeps the directions it leaves empty.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Split;

/// errno values for read, write and verify. A later setting keeps the lists it does not name.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Errors;

/// Implements [`OptionType`] for three values of which a later setting replaces those it names.
macro_rules! merged_by_direction {
    ($($type:ident: $value:ty = $variant:ident, $one:expr;)+) => {
        $(
            impl OptionType for $type {
                type Value<'a> = [Option<$value>; 3];

                fn parsed(value: &Value) -> Option<Self::Value<'_>> {
                    match value {
                        Value::$variant(all) => Some(all.each_ref().map($one)),
                        _ => None,
                    }
                }

                fn effective<'a>(
                    _row: &OptionRow,
                    values: impl DoubleEndedIterator<Item = &'a Value>,
                ) -> Option<Self::Value<'a>> {
                    values.filter_map(Self::parsed).reduce(|mut merged, new| {
                        for (one, new) in merged.iter_mut().zip(new) {
                            *one = new.or(*one);
                        }
                        merged
                    })
                }
            }
        )+
    };
}

merged_by_direction! {
    Ranges: (u64, u64) = Ranges, |range| *range;
    Split: &'a SizeShares = Split, |split| Some(split).filter(|split| !split.is_empty());
    Errors: &'a [i32] = Errors, |list| list.as_deref();
}

impl WithDefault for Number {
    fn default<'a>(row: &OptionRow) -> Self::Value<'a> {
        row.default_number
    }
}

impl WithDefault for Three {
    fn default<'a>(row: &OptionRow) -> Self::Value<'a> {
        [row.default_number; 3]
    }
}

impl WithDefault for Switch {
    fn default<'a>(row: &OptionRow) -> Self::Value<'a> {
        row.default == Some("1")
    }
}

impl WithDefault for Text {
    fn default<'a>(row: &OptionRow) -> Self::Value<'a> {
        row.default.unwrap_or_default()
    }
}

impl WithDefault for Choice {
    fn default<'a>(row: &OptionRow) -> Self::Value<'a> {
        row.default.unwrap_or_default()
    }
}

impl WithDefault for ChoiceWith {
    fn default<'a>(row: &OptionRow) -> Self::Value<'a> {
        let default = row.default.unwrap_or_default();
        default
            .split_once(':')
            .map_or((default, None), |(choice, rest)| (choice, Some(rest)))
    }
}

impl WithDefault for Floats {
    fn default<'a>(row: &OptionRow) -> Self::Value<'a> {
        let default = row.default.unwrap_or_default();
        default.split(':').filter_map(|n| n.parse().ok()).collect()
    }
}

impl<T> JobOption<T> {
    const fn new(name: &'static str, kind: Kind, help: &'static str) -> Self {
        JobOption {
            row: OptionRow {
                name,
                alias: None,
                kind,
                default: None,
                default_number: 0,
                min: None,
                max: None,
                engines: &[],
                support: Support::Honoured,
                help,
            },
            value: PhantomData,
        }
    }

    /// The row of the table.
    pub(crate) const fn row(&self) -> OptionRow {
        self.row
    }

    /// The canonical name.
    pub(crate) const fn name(&self) -> OptionName {
        OptionName(self.row.name)
    }

    /// The value that `settings` amount to; `None` when there is none.
    pub(crate) fn effective<'a>(
        &self,
        values: impl DoubleEndedIterator<Item = &'a Value>,
    ) -> Option<T::Value<'a>>
    where
        T: OptionType,
    {
        T::effective(&self.row, values)
    }

    /// The value when the option is not set.
    pub(crate) fn default_value<'a>(&self) -> T::Value<'a>
    where
        T: WithDefault,
    {
        T::default(&self.row)
    }

    pub(super) const fn alias(mut self, alias: &'static str) -> Self {
        self.row.alias = Some(alias);
        self
    }

    pub(super) const fn default(mut self, default: &'static str) -> Self {
        self.row.default = Some(default);
        if let Kind::One(unit) | Kind::Three(unit) = self.row.kind {
            self.row.default_number = number_of(default, unit);
        }
        self
    }

    pub(super) const fn min(mut self, min: i64) -> Self {
        self.row.min = Some(min);
        self
    }

    pub(super) const fn max(mut self, max: u64) -> Self {
        self.row.max = Some(max);
        self
    }

    pub(super) const fn engines(mut self, engines: &'static [&'static str]) -> Self {
        self.row.engines = engines;
        self
    }

    pub(super) const fn no_effect(mut self, why: &'static str) -> Self {
        self.row.support = Support::NoEffect { why };
        self
    }

    pub(super) const fn refused(mut self, instead: &'static str) -> Self {
        self.row.support = Support::Refused { instead };
        self
    }
}

/// The default of a number in its base unit: decimal or hexadecimal digits; of a triple the first number; negative is 0.
const fn number_of(text: &str, unit: Unit) -> u64 {
    let bytes = text.as_bytes();
    if bytes[0] == b'-' {
        return 0;
    }
    let hex = bytes.len() > 2 && bytes[1] == b'x';
    let (radix, mut at) = if hex { (16, 2) } else { (10, 0) };
    let mut value = 0;
    while at < bytes.len() && bytes[at] != b',' && bytes[at] != b'h' {
        let Some(digit) = (bytes[at] as char).to_digit(radix) else {
            panic!("the default is not a number")
        };
        value = value * radix as u64 + digit as u64;
        at += 1;
    }
    let hours = at < bytes.len() && bytes[at] == b'h';
    match unit {
        Unit::Seconds | Unit::Micros if hours => value * 3_600_000_000_000,
        Unit::Seconds => value * 1_000_000_000,
        Unit::Micros => value * 1_000,
        Unit::Count | Unit::Bytes | Unit::Percent | Unit::Millis => value,
    }
}

/// Functions that begin a row without alias, default or limits, one for each kind of value.
macro_rules! constructors {
    ($($name:ident($($arg:ident: $arg_type:ty),*) -> $type:ident = $kind:expr;)+) => {
        $(
            pub(super) const fn $name(
                name: &'static str,
                $($arg: $arg_type,)*
                help: &'static str,
            ) -> JobOption<$type> {
                JobOption::new(name, $kind, help)
            }
        )+
    };
}

constructors! {
    number(unit: Unit) -> Number = Kind::One(unit);
    signed(unit: Unit) -> Signed = Kind::One(unit);
    cpu_mask() -> Cpus = Kind::One(Unit::Count);
    three(unit: Unit) -> Three = Kind::Three(unit);
    pair(unit: Unit) -> Pair = Kind::Pair(unit);
    extent() -> Extent = Kind::Extent;
    boolean() -> Switch = Kind::Bool;
    flag() -> Switch = Kind::Flag;
    text() -> Text = Kind::Text;
    prefix() -> Prefix = Kind::Prefix;
    engine() -> Text = Kind::Engine;
    choice(values: &'static [&'static str]) -> Choice = Kind::Choice(values);
    choice_with(values: &'static [&'static str]) -> ChoiceWith = Kind::ChoiceWith(values);
    ranges() -> Ranges = Kind::Ranges;
    split() -> Split = Kind::Split;
    priority_split() -> PrioritySplit = Kind::PrioritySplit;
    distribution() -> Distribution = Kind::Distribution;
    floats(max_count: usize) -> Floats = Kind::Floats(max_count);
    pattern() -> Pattern = Kind::Pattern;
    cpus() -> Cpus = Kind::Cpus;
    errors() -> Errors = Kind::Errors;
    removed() -> Removed = Kind::Removed;
}

/// Defines a group of options: a typed constant for each, and `ROWS`, the group as part of the table.
macro_rules! job_options {
    ($($option:ident: $type:ident = $row:expr;)+) => {
        $(pub(crate) const $option: JobOption<$type> = $row;)+

        pub(super) const ROWS: &[crate::options::OptionRow] = &[$($option.row()),+];
    };
}
pub(super) use job_options;

#[cfg(test)]
mod tests {
    use crate::options::{Kind, options};
    use crate::values::{ParseContext, Value};
    use fathom_model::Personality;

    /// The default that the resolver uses is the one that the table states.
    #[test]
    fn typed_defaults_match_their_text() {
        for row in options() {
            let (Kind::One(_) | Kind::Three(_), Some(default)) = (row.kind, row.default) else {
                continue;
            };
            let mut context = ParseContext::new(Personality::Fathom, 4);
            let number = match crate::options::read_value(row, Some(default), &mut context) {
                Ok(Value::Number(n)) => u64::try_from(n).unwrap_or(0),
                Ok(Value::Three([Some(n), ..])) => n,
                other => panic!("{}={default}: {other:?}", row.name),
            };
            assert_eq!(row.default_number, number, "{}={default}", row.name);
        }
    }
}
