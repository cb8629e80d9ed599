//! A value as CBOR (RFC 8949), the part of it that documents need: no tags, no lengths left open.

/// How deep a document may nest.
const DEEPEST: usize = 64;

/// One value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Nothing,
    Flag(bool),
    Count(u64),
    /// -1 - n.
    Below(u64),
    Float(f64),
    Bytes(Vec<u8>),
    Text(String),
    List(Vec<Value>),
    /// Fields by name. Names are spelled once at the head of a document; here stands their place there.
    Fields(Vec<(u64, Value)>),
}

const COUNT: u8 = 0;
const BELOW: u8 = 1;
const BYTES: u8 = 2;
const TEXT: u8 = 3;
const LIST: u8 = 4;
const FIELDS: u8 = 5;
const SIMPLE: u8 = 7;

impl Value {
    /// Appends this value.
    pub fn put(&self, into: &mut Vec<u8>) {
        match self {
            Value::Nothing => into.push(0xf6),
            Value::Flag(flag) => into.push(0xf4 + u8::from(*flag)),
            Value::Count(n) => put_head(COUNT, *n, into),
            Value::Below(n) => put_head(BELOW, *n, into),
            Value::Float(number) => {
                into.push(0xfb);
                into.extend_from_slice(&number.to_bits().to_be_bytes());
            }
            Value::Bytes(bytes) => put_string(BYTES, bytes, into),
            Value::Text(text) => put_string(TEXT, text.as_bytes(), into),
            Value::List(items) => {
                put_head(LIST, items.len() as u64, into);
                items.iter().for_each(|item| item.put(into));
            }
            Value::Fields(fields) => {
                put_head(FIELDS, fields.len() as u64, into);
                for (name, value) in fields {
                    put_head(COUNT, *name, into);
                    value.put(into);
                }
            }
        }
    }

    /// Takes a value from the front of `from`; `None` when there is no whole one that [`Value::put`] could have written.
    pub fn pull(from: &mut &[u8]) -> Option<Value> {
        pull(from, DEEPEST)
    }
}

/// The kind in the upper three bits, the number in the lower five or behind them, big-endian.
fn put_head(kind: u8, number: u64, into: &mut Vec<u8>) {
    let kind = kind << 5;
    match number {
        0..=23 => into.push(kind | number as u8),
        24..=0xff => into.extend_from_slice(&[kind | 24, number as u8]),
        0x100..=0xffff => {
            into.push(kind | 25);
            into.extend_from_slice(&(number as u16).to_be_bytes());
        }
        0x1_0000..=0xffff_ffff => {
            into.push(kind | 26);
            into.extend_from_slice(&(number as u32).to_be_bytes());
        }
        _ => {
            into.push(kind | 27);
            into.extend_from_slice(&number.to_be_bytes());
        }
    }
}

fn put_string(kind: u8, bytes: &[u8], into: &mut Vec<u8>) {
    put_head(kind, bytes.len() as u64, into);
    into.extend_from_slice(bytes);
}

fn pull(from: &mut &[u8], deeper: usize) -> Option<Value> {
    let deeper = deeper.checked_sub(1)?;
    let (&first, rest) = from.split_first()?;
    if first >> 5 == SIMPLE {
        *from = rest;
        return simple(first, from);
    }
    let (kind, number) = pull_head(from)?;
    // Nothing takes less than a byte: a longer list than bytes is no list, and no memory is set aside for it.
    let few = |n: u64| usize::try_from(n).ok().filter(|n| *n <= rest.len());
    Some(match kind {
        COUNT => Value::Count(number),
        BELOW => Value::Below(number),
        BYTES => Value::Bytes(take(from, few(number)?)?.to_vec()),
        TEXT => Value::Text(
            std::str::from_utf8(take(from, few(number)?)?)
                .ok()?
                .to_owned(),
        ),
        LIST => Value::List(
            (0..few(number)?)
                .map(|_| pull(from, deeper))
                .collect::<Option<_>>()?,
        ),
        FIELDS => Value::Fields(
            (0..few(number)?)
                .map(|_| field(from, deeper))
                .collect::<Option<_>>()?,
        ),
        _ => return None,
    })
}

fn simple(first: u8, from: &mut &[u8]) -> Option<Value> {
    Some(match first {
        0xf4 | 0xf5 => Value::Flag(first == 0xf5),
        0xf6 => Value::Nothing,
        0xfb => Value::Float(f64::from_bits(u64::from_be_bytes(
            take(from, 8)?.try_into().ok()?,
        ))),
        _ => return None,
    })
}

fn field(from: &mut &[u8], deeper: usize) -> Option<(u64, Value)> {
    match pull_head(from)? {
        (COUNT, name) => Some((name, pull(from, deeper)?)),
        _ => None,
    }
}

fn pull_head(from: &mut &[u8]) -> Option<(u8, u64)> {
    let first = take(from, 1)?[0];
    let number = match first & 31 {
        small @ 0..=23 => u64::from(small),
        24 => u64::from(take(from, 1)?[0]),
        25 => u64::from(u16::from_be_bytes(take(from, 2)?.try_into().ok()?)),
        26 => u64::from(u32::from_be_bytes(take(from, 4)?.try_into().ok()?)),
        27 => u64::from_be_bytes(take(from, 8)?.try_into().ok()?),
        _ => return None,
    };
    Some((first >> 5, number))
}

fn take<'a>(from: &mut &'a [u8], n: usize) -> Option<&'a [u8]> {
    let (taken, rest) = from.split_at_checked(n)?;
    *from = rest;
    Some(taken)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of RFC 8949, appendix A.
    #[test]
    fn examples_of_the_standard() {
        let examples: [(&str, Value); 12] = [
            ("00", Value::Count(0)),
            ("17", Value::Count(23)),
            ("1818", Value::Count(24)),
            ("1903e8", Value::Count(1000)),
            ("1a000f4240", Value::Count(1_000_000)),
            ("1bffffffffffffffff", Value::Count(u64::MAX)),
            ("3903e7", Value::Below(999)),
            ("fb3ff199999999999a", Value::Float(1.1)),
            ("4401020304", Value::Bytes(vec![1, 2, 3, 4])),
            ("6449455446", Value::Text("IETF".into())),
            (
                "83010203",
                Value::List(vec![Value::Count(1), Value::Count(2), Value::Count(3)]),
            ),
            (
                "a201020304",
                Value::Fields(vec![(1, Value::Count(2)), (3, Value::Count(4))]),
            ),
        ];
        for (hex, value) in examples {
            let mut bytes = Vec::new();
            value.put(&mut bytes);
            assert_eq!(
                bytes.iter().map(|b| format!("{b:02x}")).collect::<String>(),
                hex
            );
            assert_eq!(Value::pull(&mut &bytes[..]), Some(value));
        }
    }

    #[test]
    fn what_is_cut_off_too_deep_or_too_long_is_nothing() {
        let mut bytes = Vec::new();
        Value::List(vec![
            Value::Text("a".repeat(300)),
            Value::Float(0.5),
            Value::Count(70_000),
        ])
        .put(&mut bytes);
        for cut in 0..bytes.len() {
            assert_eq!(Value::pull(&mut &bytes[..cut]), None, "{cut}");
        }
        assert_eq!(Value::pull(&mut &[0x81; 100_000][..]), None);
        assert_eq!(
            Value::pull(&mut &[0x9b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0][..]),
            None
        );
        assert_eq!(
            Value::pull(&mut &[0x5b, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0][..]),
            None
        );
    }
}
