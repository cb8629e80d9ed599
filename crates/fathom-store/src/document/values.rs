//! Types of the model with their own encoding in documents, and adapters for lists and options of mirrored types.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use fathom_model::{
    Bytes, DamageClass, DamageCounts, Histogram, Interval, IntervalDirection, Nanos, PerDirection,
    SparseHistogram,
};
use serde::de::{Error as _, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serializer};
use serde_with::{DeserializeAs, Same, SerializeAs};

use super::recording::DamageClassDocument;
use super::static_text::static_text;

/// Lets `As::<Vec<CountsDocument>>` and the like stand for lists, options and pairs of the mirrored types.
macro_rules! mirrors {
    ($($document:ident for $model:ty),* $(,)?) => {$(
        impl serde_with::SerializeAs<$model> for $document {
            fn serialize_as<S: serde::Serializer>(source: &$model, to: S) -> Result<S::Ok, S::Error> {
                $document::serialize(source, to)
            }
        }
        impl<'de> serde_with::DeserializeAs<'de, $model> for $document {
            fn deserialize_as<D: serde::Deserializer<'de>>(from: D) -> Result<$model, D::Error> {
                $document::deserialize(from)
            }
        }
    )*};
}

/// A list of three: read, write, trim.
pub(crate) struct PerDirectionDocument<T>(std::marker::PhantomData<T>);

impl<T, U: SerializeAs<T>> SerializeAs<PerDirection<T>> for PerDirectionDocument<U> {
    fn serialize_as<S: Serializer>(source: &PerDirection<T>, to: S) -> Result<S::Ok, S::Error> {
        <[U; 3]>::serialize_as(&source.0, to)
    }
}

impl<'de, T, U: DeserializeAs<'de, T>> DeserializeAs<'de, PerDirection<T>>
    for PerDirectionDocument<U>
{
    fn deserialize_as<D: Deserializer<'de>>(from: D) -> Result<PerDirection<T>, D::Error> {
        <[U; 3]>::deserialize_as(from).map(PerDirection)
    }
}

/// A count of bytes.
pub(crate) struct BytesDocument;

impl SerializeAs<Bytes> for BytesDocument {
    fn serialize_as<S: Serializer>(source: &Bytes, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_u64(source.get())
    }
}

impl<'de> DeserializeAs<'de, Bytes> for BytesDocument {
    fn deserialize_as<D: Deserializer<'de>>(from: D) -> Result<Bytes, D::Error> {
        u64::deserialize(from).map(Bytes::new)
    }
}

/// A time in nanoseconds.
pub(crate) struct NanosDocument;

impl SerializeAs<Nanos> for NanosDocument {
    fn serialize_as<S: Serializer>(source: &Nanos, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_u64(source.get())
    }
}

impl<'de> DeserializeAs<'de, Nanos> for NanosDocument {
    fn deserialize_as<D: Deserializer<'de>>(from: D) -> Result<Nanos, D::Error> {
        u64::deserialize(from).map(Nanos::new)
    }
}

/// A path: text, or its bytes where it is not UTF-8.
pub(crate) struct PathDocument;

impl SerializeAs<PathBuf> for PathDocument {
    fn serialize_as<S: Serializer>(source: &PathBuf, to: S) -> Result<S::Ok, S::Error> {
        match source.to_str() {
            Some(text) => to.serialize_str(text),
            None => to.serialize_bytes(source.as_os_str().as_bytes()),
        }
    }
}

impl<'de> DeserializeAs<'de, PathBuf> for PathDocument {
    fn deserialize_as<D: Deserializer<'de>>(from: D) -> Result<PathBuf, D::Error> {
        let bytes = TextOrBytes::deserialize(from)?;
        Ok(OsStr::from_bytes(&bytes.0).into())
    }
}

#[derive(Deserialize)]
#[serde(rename = "Path")]
struct TextOrBytes<'a>(#[serde(borrow, deserialize_with = "text_or_bytes")] Cow<'a, [u8]>);

fn text_or_bytes<'de, D: Deserializer<'de>>(from: D) -> Result<Cow<'de, [u8]>, D::Error> {
    struct Visit;
    impl<'de> Visitor<'de> for Visit {
        type Value = Cow<'de, [u8]>;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a text or bytes")
        }
        fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
            Ok(Cow::Owned(text.as_bytes().to_vec()))
        }
        fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Self::Value, E> {
            Ok(Cow::Owned(bytes.to_vec()))
        }
        fn visit_borrowed_bytes<E>(self, bytes: &'de [u8]) -> Result<Self::Value, E> {
            Ok(Cow::Borrowed(bytes))
        }
    }
    from.deserialize_any(Visit)
}

/// A text that the model holds as a part of the program. An alias, since serde would borrow from the document otherwise.
pub(crate) type StaticText = &'static str;

/// Such a text in documents.
pub(crate) struct StaticTextDocument;

#[derive(Deserialize)]
#[serde(rename = "StaticText")]
struct OwnedText(String);

impl SerializeAs<StaticText> for StaticTextDocument {
    fn serialize_as<S: Serializer>(source: &StaticText, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(source)
    }
}

impl<'de> DeserializeAs<'de, StaticText> for StaticTextDocument {
    fn deserialize_as<D: Deserializer<'de>>(from: D) -> Result<StaticText, D::Error> {
        let OwnedText(text) = OwnedText::deserialize(from)?;
        static_text(text)
            .map_err(|text| D::Error::invalid_value(Unexpected::Str(&text), &"a known text"))
    }
}

/// A number of up to 128 bits: a plain one where 64 bits are enough, otherwise 16 bytes, big-endian.
pub(crate) struct U128Document;

impl SerializeAs<u128> for U128Document {
    fn serialize_as<S: Serializer>(source: &u128, to: S) -> Result<S::Ok, S::Error> {
        match u64::try_from(*source) {
            Ok(number) => to.serialize_u64(number),
            Err(_) => to.serialize_bytes(&source.to_be_bytes()),
        }
    }
}

impl<'de> DeserializeAs<'de, u128> for U128Document {
    fn deserialize_as<D: Deserializer<'de>>(from: D) -> Result<u128, D::Error> {
        struct Visit;
        impl Visitor<'_> for Visit {
            type Value = u128;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number or 16 bytes")
            }
            fn visit_u64<E>(self, number: u64) -> Result<u128, E> {
                Ok(number.into())
            }
            fn visit_bytes<E: serde::de::Error>(self, bytes: &[u8]) -> Result<u128, E> {
                let bytes = bytes
                    .try_into()
                    .map_err(|_| E::invalid_length(bytes.len(), &self))?;
                Ok(u128::from_be_bytes(bytes))
            }
        }
        from.deserialize_any(Visit)
    }
}

/// A histogram in the packed form of the model.
pub(crate) struct HistogramDocument;

#[derive(Deserialize)]
#[serde(rename = "Histogram")]
struct PackedHistogram<'a>(#[serde(borrow)] &'a [u8]);

impl SerializeAs<Histogram> for HistogramDocument {
    fn serialize_as<S: Serializer>(source: &Histogram, to: S) -> Result<S::Ok, S::Error> {
        let mut bytes = Vec::new();
        SparseHistogram::pack(source).encode(&mut bytes);
        to.serialize_bytes(&bytes)
    }
}

impl<'de> DeserializeAs<'de, Histogram> for HistogramDocument {
    fn deserialize_as<D: Deserializer<'de>>(from: D) -> Result<Histogram, D::Error> {
        let PackedHistogram(mut rest) = PackedHistogram::deserialize(from)?;
        match SparseHistogram::decode(&mut rest) {
            Some(histogram) if rest.is_empty() => Ok(histogram.unpack()),
            _ => Err(D::Error::custom("malformed histogram")),
        }
    }
}

/// An interval in the packed form of the model.
pub(crate) struct IntervalDocument;

#[derive(Deserialize)]
#[serde(rename = "Interval")]
struct PackedInterval<'a>(#[serde(borrow)] &'a [u8]);

impl SerializeAs<Interval> for IntervalDocument {
    fn serialize_as<S: Serializer>(source: &Interval, to: S) -> Result<S::Ok, S::Error> {
        // Does not compile once an interval holds more: the packed form never changes, so that needs a second form
        // beside this one.
        let Interval {
            start: _,
            length: _,
            directions:
                PerDirection(
                    [
                        IntervalDirection {
                            ios: _,
                            bytes: _,
                            bad: _,
                            clat: _,
                            response: _,
                        },
                        _,
                        _,
                    ],
                ),
        } = source;
        let mut bytes = Vec::new();
        source.encode(&mut bytes);
        to.serialize_bytes(&bytes)
    }
}

impl<'de> DeserializeAs<'de, Interval> for IntervalDocument {
    fn deserialize_as<D: Deserializer<'de>>(from: D) -> Result<Interval, D::Error> {
        let PackedInterval(mut rest) = PackedInterval::deserialize(from)?;
        Interval::decode(&mut rest)
            .filter(|_| rest.is_empty())
            .ok_or_else(|| D::Error::custom("malformed interval"))
    }
}

/// `intervals` one after the other.
pub(crate) fn pack_intervals(intervals: &[Interval]) -> Vec<u8> {
    let mut bytes = Vec::new();
    intervals
        .iter()
        .for_each(|interval| interval.encode(&mut bytes));
    bytes
}

/// The reverse of [`pack_intervals`]; `None` for malformed bytes.
pub(crate) fn unpack_intervals(bytes: &[u8]) -> Option<Vec<Interval>> {
    let mut rest = bytes;
    let mut intervals = Vec::new();
    while !rest.is_empty() {
        intervals.push(Interval::decode(&mut rest)?);
    }
    Some(intervals)
}

/// A list of the classes that occurred, each with its count.
pub(crate) struct DamageCountsDocument;

type ClassCounts = Vec<(DamageClassDocument, Same)>;

impl SerializeAs<DamageCounts> for DamageCountsDocument {
    fn serialize_as<S: Serializer>(source: &DamageCounts, to: S) -> Result<S::Ok, S::Error> {
        ClassCounts::serialize_as(&source.nonzero().collect::<Vec<_>>(), to)
    }
}

impl<'de> DeserializeAs<'de, DamageCounts> for DamageCountsDocument {
    fn deserialize_as<D: Deserializer<'de>>(from: D) -> Result<DamageCounts, D::Error> {
        let list: Vec<(DamageClass, u64)> = ClassCounts::deserialize_as(from)?;
        let mut counts = DamageCounts::default();
        for (class, count) in list {
            counts.count_many(class, count);
        }
        Ok(counts)
    }
}
