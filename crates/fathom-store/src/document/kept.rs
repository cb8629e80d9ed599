//! What can stand in a document, and the two macros that make it so for structs and enums of the model.

use std::collections::HashMap;
use std::path::PathBuf;

use fathom_model::{Bytes, Direction, Nanos, PerDirection};

use super::value::Value;
use super::{Names, Unreadable};

#[cfg(test)]
use super::dice::TestRng;

/// A noun that documents can hold.
pub(crate) trait Kept: Sized {
    /// This as a value.
    fn keep(&self, names: &mut Names) -> Value;
    /// Back from a value.
    fn restore(value: Value, names: &Names) -> Result<Self, Unreadable>;
    /// Any one, for tests of the way there and back.
    #[cfg(test)]
    fn any(dice: &mut TestRng) -> Self;
}

/// Fields of a struct as they come back.
pub(crate) struct Fields<'a> {
    of: &'static str,
    fields: HashMap<u64, Value>,
    names: &'a Names,
}

impl<'a> Fields<'a> {
    pub fn of(what: &'static str, value: Value, names: &'a Names) -> Result<Self, Unreadable> {
        match value {
            Value::Fields(fields) => Ok(Fields {
                of: what,
                fields: fields.into_iter().collect(),
                names,
            }),
            _ => Err(Unreadable::wrong(what)),
        }
    }

    fn value(&mut self, name: &str) -> Option<Value> {
        self.fields.remove(&self.names.place(name)?)
    }

    /// A field that was always there.
    pub fn take<T: Kept>(&mut self, name: &'static str) -> Result<T, Unreadable> {
        let value = self
            .value(name)
            .ok_or_else(|| Unreadable::missing(self.of, name))?;
        T::restore(value, self.names)
    }

    /// A field that older documents lack.
    pub fn take_or<T: Kept>(
        &mut self,
        name: &'static str,
        absent: impl FnOnce() -> T,
    ) -> Result<T, Unreadable> {
        self.value(name)
            .map_or_else(|| Ok(absent()), |value| T::restore(value, self.names))
    }
}

/// Makes a struct part of documents: `kept!(Counts { planned, ok })`.
///
/// Every field is named, and its name is its name on disk. A field added to the model later gets the value it has in
/// older documents: `kept!(Counts { planned, ok, late = 0 })`.
macro_rules! kept {
    ($name:ident { $($field:ident $(= $absent:expr)?),* $(,)? }) => {
        impl Kept for $name {
            fn keep(&self, names: &mut Names) -> Value {
                let $name { $($field),* } = self;
                Value::Fields(vec![$((names.number(stringify!($field)), $field.keep(names))),*])
            }
            fn restore(value: Value, names: &Names) -> Result<Self, Unreadable> {
                let mut fields = Fields::of(stringify!($name), value, names)?;
                Ok($name { $($field: taken!(fields $field $($absent)?)?),* })
            }
            #[cfg(test)]
            fn any(dice: &mut TestRng) -> Self {
                $name { $($field: Kept::any(dice)),* }
            }
        }
    };
}

macro_rules! taken {
    ($fields:ident $field:ident) => {
        $fields.take(stringify!($field))
    };
    ($fields:ident $field:ident $absent:expr) => {
        $fields.take_or(stringify!($field), || $absent)
    };
}

/// Makes an enum part of documents, as the name of its variant alone or with what it holds:
/// `choice!(Extent { Whole, Bytes(bytes), Range { min, max } })`.
macro_rules! choice {
    ($name:ident { $($variant:ident $(($inner:ident))? $({ $($field:ident),* })?),* $(,)? }) => {
        impl Kept for $name {
            fn keep(&self, names: &mut Names) -> Value {
                let _: &Names = names;
                match self {
                    $($name::$variant $(($inner))? $({ $($field),* })? =>
                        chosen!(names $variant $(($inner))? $({ $($field)* })?),)*
                }
            }
            fn restore(value: Value, names: &Names) -> Result<Self, Unreadable> {
                let (word, held) = variant(stringify!($name), value, names)?;
                let _ = &held;
                match word.as_str() {
                    $(stringify!($variant) => Ok(rebuilt!($name $variant held names $(($inner))? $({ $($field)* })?)),)*
                    other => Err(Unreadable::unknown(stringify!($name), other)),
                }
            }
            #[cfg(test)]
            fn any(dice: &mut TestRng) -> Self {
                let makers: &[fn(&mut TestRng) -> $name] = &[$(|_dice| drawn!($name $variant _dice $(($inner))? $({ $($field)* })?)),*];
                makers[dice.below(makers.len())](dice)
            }
        }
    };
}

macro_rules! chosen {
    ($names:ident $variant:ident) => { Value::Text(stringify!($variant).to_owned()) };
    ($names:ident $variant:ident ($inner:ident)) => {
        Value::Fields(vec![($names.number(stringify!($variant)), $inner.keep($names))])
    };
    ($names:ident $variant:ident { $($field:ident)* }) => {{
        let held = Value::Fields(vec![$(($names.number(stringify!($field)), $field.keep($names))),*]);
        Value::Fields(vec![($names.number(stringify!($variant)), held)])
    }};
}

macro_rules! rebuilt {
    ($name:ident $variant:ident $held:ident $names:ident) => { $name::$variant };
    ($name:ident $variant:ident $held:ident $names:ident ($inner:ident)) => { $name::$variant(Kept::restore($held, $names)?) };
    ($name:ident $variant:ident $held:ident $names:ident { $($field:ident)* }) => {{
        let mut fields = Fields::of(stringify!($variant), $held, $names)?;
        $name::$variant { $($field: fields.take(stringify!($field))?),* }
    }};
}

#[cfg(test)]
macro_rules! drawn {
    ($name:ident $variant:ident $dice:ident) => { $name::$variant };
    ($name:ident $variant:ident $dice:ident ($inner:ident)) => { $name::$variant(Kept::any($dice)) };
    ($name:ident $variant:ident $dice:ident { $($field:ident)* }) => { $name::$variant { $($field: Kept::any($dice)),* } };
}

/// The variant's name, and what it holds.
pub(crate) fn variant(
    of: &'static str,
    value: Value,
    names: &Names,
) -> Result<(String, Value), Unreadable> {
    match value {
        Value::Text(word) => Ok((word, Value::Nothing)),
        Value::Fields(mut fields) if fields.len() == 1 => {
            let (number, held) = fields.remove(0);
            let word = names.name(number).ok_or_else(|| Unreadable::wrong(of))?;
            Ok((word.to_owned(), held))
        }
        _ => Err(Unreadable::wrong(of)),
    }
}

macro_rules! number {
    ($($kind:ident),*) => {$(
        impl Kept for $kind {
            fn keep(&self, _: &mut Names) -> Value {
                match u64::try_from(*self) {
                    Ok(number) => Value::Count(number),
                    Err(_) => below(*self as i128),
                }
            }
            fn restore(value: Value, _: &Names) -> Result<Self, Unreadable> {
                let number = match value {
                    Value::Count(number) => $kind::try_from(number).ok(),
                    Value::Below(number) => $kind::try_from(-1 - i128::from(number)).ok(),
                    _ => None,
                };
                number.ok_or_else(|| Unreadable::wrong(stringify!($kind)))
            }
            #[cfg(test)]
            fn any(dice: &mut TestRng) -> Self {
                dice.number() as $kind
            }
        }
    )*};
}

/// A number below zero.
fn below(number: i128) -> Value {
    Value::Below((-1 - number) as u64)
}

number!(u8, u16, u32, u64, usize, i32, i64);

impl Kept for u128 {
    fn keep(&self, _: &mut Names) -> Value {
        match u64::try_from(*self) {
            Ok(number) => Value::Count(number),
            Err(_) => Value::Bytes(self.to_be_bytes().to_vec()),
        }
    }
    fn restore(value: Value, _: &Names) -> Result<Self, Unreadable> {
        match value {
            Value::Count(number) => Ok(number.into()),
            Value::Bytes(bytes) => bytes
                .try_into()
                .map(u128::from_be_bytes)
                .map_err(|_| Unreadable::wrong("u128")),
            _ => Err(Unreadable::wrong("u128")),
        }
    }
    #[cfg(test)]
    fn any(dice: &mut TestRng) -> Self {
        u128::from(dice.number()) << dice.below(64)
    }
}

impl Kept for bool {
    fn keep(&self, _: &mut Names) -> Value {
        Value::Flag(*self)
    }
    fn restore(value: Value, _: &Names) -> Result<Self, Unreadable> {
        match value {
            Value::Flag(flag) => Ok(flag),
            _ => Err(Unreadable::wrong("bool")),
        }
    }
    #[cfg(test)]
    fn any(dice: &mut TestRng) -> Self {
        dice.below(2) == 1
    }
}

impl Kept for f64 {
    fn keep(&self, _: &mut Names) -> Value {
        Value::Float(*self)
    }
    fn restore(value: Value, _: &Names) -> Result<Self, Unreadable> {
        match value {
            Value::Float(number) => Ok(number),
            _ => Err(Unreadable::wrong("f64")),
        }
    }
    #[cfg(test)]
    fn any(dice: &mut TestRng) -> Self {
        match dice.below(8) {
            0 => f64::INFINITY,
            1 => f64::NAN,
            2 => -0.0,
            _ => f64::from_bits(dice.number()),
        }
    }
}

impl Kept for String {
    fn keep(&self, _: &mut Names) -> Value {
        Value::Text(self.clone())
    }
    fn restore(value: Value, _: &Names) -> Result<Self, Unreadable> {
        match value {
            Value::Text(text) => Ok(text),
            _ => Err(Unreadable::wrong("String")),
        }
    }
    #[cfg(test)]
    fn any(dice: &mut TestRng) -> Self {
        ["", "a", "größer", "line\nline\0", "/dev/nvme0n1"][dice.below(5)].to_owned()
    }
}

/// A path that is no text is kept as its bytes.
impl Kept for PathBuf {
    fn keep(&self, _: &mut Names) -> Value {
        use std::os::unix::ffi::OsStrExt;
        match self.to_str() {
            Some(text) => Value::Text(text.to_owned()),
            None => Value::Bytes(self.as_os_str().as_bytes().to_vec()),
        }
    }
    fn restore(value: Value, _: &Names) -> Result<Self, Unreadable> {
        use std::os::unix::ffi::OsStringExt;
        match value {
            Value::Text(text) => Ok(text.into()),
            Value::Bytes(bytes) => Ok(std::ffi::OsString::from_vec(bytes).into()),
            _ => Err(Unreadable::wrong("PathBuf")),
        }
    }
    #[cfg(test)]
    fn any(dice: &mut TestRng) -> Self {
        use std::os::unix::ffi::OsStringExt;
        let bytes: &[u8] = [&b"/tmp/x"[..], b"\xff\xfe", b""][dice.below(3)];
        std::ffi::OsString::from_vec(bytes.to_vec()).into()
    }
}

/// Words of our own code. The same few come back from every document; each is spelled once in this process.
impl Kept for &'static str {
    fn keep(&self, _: &mut Names) -> Value {
        Value::Text((*self).to_owned())
    }
    fn restore(value: Value, names: &Names) -> Result<Self, Unreadable> {
        super::word::word(String::restore(value, names)?)
    }
    #[cfg(test)]
    fn any(dice: &mut TestRng) -> Self {
        ["NVMe SMART log", "virtio"][dice.below(2)]
    }
}

impl<T: Kept> Kept for Option<T> {
    fn keep(&self, names: &mut Names) -> Value {
        self.as_ref()
            .map_or(Value::Nothing, |held| held.keep(names))
    }
    fn restore(value: Value, names: &Names) -> Result<Self, Unreadable> {
        match value {
            Value::Nothing => Ok(None),
            value => T::restore(value, names).map(Some),
        }
    }
    #[cfg(test)]
    fn any(dice: &mut TestRng) -> Self {
        (dice.below(3) > 0).then(|| T::any(dice))
    }
}

impl<T: Kept> Kept for Vec<T> {
    fn keep(&self, names: &mut Names) -> Value {
        Value::List(self.iter().map(|item| item.keep(names)).collect())
    }
    fn restore(value: Value, names: &Names) -> Result<Self, Unreadable> {
        match value {
            Value::List(items) => items
                .into_iter()
                .map(|item| T::restore(item, names))
                .collect(),
            _ => Err(Unreadable::wrong("Vec")),
        }
    }
    #[cfg(test)]
    fn any(dice: &mut TestRng) -> Self {
        (0..dice.below(3)).map(|_| T::any(dice)).collect()
    }
}

impl<T: Kept, const N: usize> Kept for [T; N] {
    fn keep(&self, names: &mut Names) -> Value {
        Value::List(self.iter().map(|item| item.keep(names)).collect())
    }
    fn restore(value: Value, names: &Names) -> Result<Self, Unreadable> {
        Vec::restore(value, names)?
            .try_into()
            .map_err(|_| Unreadable::wrong("an array of another length"))
    }
    #[cfg(test)]
    fn any(dice: &mut TestRng) -> Self {
        std::array::from_fn(|_| T::any(dice))
    }
}

impl<A: Kept, B: Kept> Kept for (A, B) {
    fn keep(&self, names: &mut Names) -> Value {
        Value::List(vec![self.0.keep(names), self.1.keep(names)])
    }
    fn restore(value: Value, names: &Names) -> Result<Self, Unreadable> {
        match value {
            Value::List(items) => {
                let [a, b] = items.try_into().map_err(|_| Unreadable::wrong("a pair"))?;
                Ok((A::restore(a, names)?, B::restore(b, names)?))
            }
            _ => Err(Unreadable::wrong("a pair")),
        }
    }
    #[cfg(test)]
    fn any(dice: &mut TestRng) -> Self {
        (A::any(dice), B::any(dice))
    }
}

impl<T: Kept> Kept for PerDirection<T> {
    fn keep(&self, names: &mut Names) -> Value {
        self.0.keep(names)
    }
    fn restore(value: Value, names: &Names) -> Result<Self, Unreadable> {
        Kept::restore(value, names).map(PerDirection)
    }
    #[cfg(test)]
    fn any(dice: &mut TestRng) -> Self {
        PerDirection::from_fn(|_| T::any(dice))
    }
}

macro_rules! unit {
    ($($unit:ident),*) => {$(
        impl Kept for $unit {
            fn keep(&self, names: &mut Names) -> Value {
                self.get().keep(names)
            }
            fn restore(value: Value, names: &Names) -> Result<Self, Unreadable> {
                u64::restore(value, names).map($unit::new)
            }
            #[cfg(test)]
            fn any(dice: &mut TestRng) -> Self {
                $unit::new(dice.number())
            }
        }
    )*};
}

unit!(Bytes, Nanos);
choice!(Direction { Read, Write, Trim });
