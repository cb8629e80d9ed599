//! Any recording, for tests: a deserializer that reads random values instead of a document.

use std::collections::BTreeMap;

use fathom_model::{
    Histogram, Interval, IntervalDirection, Nanos, PerDirection, Recording, SparseHistogram,
};
use serde::de::value::StrDeserializer;
use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, IntoDeserializer, MapAccess, SeqAccess,
    VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;

use super::DocumentError;
use super::recording::RecordingDocument;

/// A generator with a seed (splitmix64).
struct TestRng(u64);

impl TestRng {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// 0 to `n` - 1.
    fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    fn pick<T: Copy>(&mut self, values: &[T]) -> T {
        values[self.below(values.len())]
    }

    /// Any number, of any length in bits.
    fn number(&mut self) -> u64 {
        let shift = self.below(64);
        self.next() >> shift
    }

    fn float(&mut self) -> f64 {
        match self.below(8) {
            0 => f64::INFINITY,
            1 => f64::NAN,
            2 => -0.0,
            _ => f64::from_bits(self.number()),
        }
    }

    fn histogram(&mut self) -> Histogram {
        let mut histogram = Histogram::new();
        for _ in 0..self.below(20) {
            let value = self.number();
            histogram.record_n(value, 1 + self.below(1000) as u64);
        }
        histogram
    }

    fn interval(&mut self) -> Interval {
        let directions = PerDirection::from_fn(|_| IntervalDirection {
            ios: self.number(),
            bytes: self.number(),
            bad: self.number(),
            clat: SparseHistogram::pack(&self.histogram()),
            response: SparseHistogram::pack(&self.histogram()),
        });
        Interval {
            start: Nanos::new(self.number()),
            length: Nanos::new(self.number()),
            directions,
        }
    }
}

/// Fields or variants of every type that was read, by the name of the type.
pub(crate) type TypeNames = BTreeMap<&'static str, &'static [&'static str]>;

/// A recording made from `seed`.
pub(crate) fn random_recording(seed: u64) -> Recording {
    random_recording_and_names(seed, &mut TypeNames::new())
}

/// A recording made from `seed`; adds all types it has to `names`.
pub(crate) fn random_recording_and_names(seed: u64, names: &mut TypeNames) -> Recording {
    let mut source = RandomValues {
        rng: TestRng(seed),
        names,
        packed: Packed::None,
    };
    RecordingDocument::deserialize(&mut source).expect("random values fit every type")
}

/// The type of the bytes that are read next.
#[derive(Clone, Copy)]
enum Packed {
    None,
    Histogram,
    Interval,
    Path,
    StaticText,
}

struct RandomValues<'a> {
    rng: TestRng,
    names: &'a mut TypeNames,
    packed: Packed,
}

impl RandomValues<'_> {
    fn bytes(&mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        match self.packed {
            Packed::Histogram => SparseHistogram::pack(&self.rng.histogram()).encode(&mut bytes),
            Packed::Interval => self.rng.interval().encode(&mut bytes),
            Packed::Path => bytes.extend_from_slice(self.rng.pick(&[b"/tmp/x", b"\xff\xfe", b""])),
            Packed::None | Packed::StaticText => {}
        }
        bytes
    }

    fn text(&mut self) -> &'static str {
        match self.packed {
            Packed::StaticText => self.rng.pick(&["NVMe SMART log", "virtio"]),
            _ => self
                .rng
                .pick(&["", "a", "größer", "line\nline\0", "/dev/nvme0n1"]),
        }
    }
}

macro_rules! numbers {
    ($($method:ident => $visit:ident($kind:ty)),* $(,)?) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DocumentError> {
            visitor.$visit(self.rng.number() as $kind)
        }
    )*};
}

impl<'de> Deserializer<'de> for &mut RandomValues<'_> {
    type Error = DocumentError;

    numbers! {
        deserialize_u8 => visit_u8(u8),
        deserialize_u16 => visit_u16(u16),
        deserialize_u32 => visit_u32(u32),
        deserialize_u64 => visit_u64(u64),
        deserialize_i32 => visit_i32(i32),
        deserialize_i64 => visit_i64(i64),
    }

    /// A number of up to 128 bits, or a path.
    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DocumentError> {
        if let Packed::Path = self.packed {
            let bytes = self.bytes();
            return visitor.visit_bytes(&bytes);
        }
        if self.rng.below(2) == 0 {
            return visitor.visit_u64(self.rng.number());
        }
        let number = u128::from(self.rng.number()) << self.rng.below(64);
        visitor.visit_bytes(&number.to_be_bytes())
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DocumentError> {
        visitor.visit_bool(self.rng.below(2) == 1)
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DocumentError> {
        visitor.visit_f64(self.rng.float())
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DocumentError> {
        visitor.visit_str(self.text())
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DocumentError> {
        visitor.visit_borrowed_bytes(self.bytes().leak())
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DocumentError> {
        if self.rng.below(3) == 0 {
            visitor.visit_none()
        } else {
            visitor.visit_some(self)
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, DocumentError> {
        self.packed = match name {
            "Histogram" | "Latencies" => Packed::Histogram,
            "Interval" => Packed::Interval,
            "Path" => Packed::Path,
            "StaticText" => Packed::StaticText,
            other => panic!("unknown newtype {other}"),
        };
        let value = visitor.visit_newtype_struct(&mut *self);
        self.packed = Packed::None;
        value
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DocumentError> {
        let left = self.rng.below(3);
        visitor.visit_seq(Items {
            source: self,
            left,
            fields: &[],
        })
    }

    fn deserialize_tuple<V: Visitor<'de>>(
        self,
        len: usize,
        visitor: V,
    ) -> Result<V::Value, DocumentError> {
        visitor.visit_seq(Items {
            source: self,
            left: len,
            fields: &[],
        })
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DocumentError> {
        self.names.insert(name, fields);
        self.struct_variant(fields, visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DocumentError> {
        self.names.insert(name, variants);
        let variant = self.rng.pick(variants);
        visitor.visit_enum(Variant {
            source: self,
            variant,
        })
    }

    forward_to_deserialize_any! {
        i8 i16 f32 char str byte_buf unit unit_struct tuple_struct map identifier ignored_any
    }
}

/// Items of a list, or fields of a struct.
struct Items<'a, 's> {
    source: &'a mut RandomValues<'s>,
    left: usize,
    fields: &'static [&'static str],
}

impl<'de> SeqAccess<'de> for Items<'_, '_> {
    type Error = DocumentError;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, DocumentError> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        seed.deserialize(&mut *self.source).map(Some)
    }
}

impl<'de> MapAccess<'de> for Items<'_, '_> {
    type Error = DocumentError;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, DocumentError> {
        let Some((first, rest)) = self.fields.split_first() else {
            return Ok(None);
        };
        self.fields = rest;
        let name: StrDeserializer<'_, DocumentError> = first.into_deserializer();
        seed.deserialize(name).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(
        &mut self,
        seed: V,
    ) -> Result<V::Value, DocumentError> {
        seed.deserialize(&mut *self.source)
    }
}

struct Variant<'a, 's> {
    source: &'a mut RandomValues<'s>,
    variant: &'static str,
}

impl<'de, 'a, 's> EnumAccess<'de> for Variant<'a, 's> {
    type Error = DocumentError;
    type Variant = &'a mut RandomValues<'s>;

    fn variant_seed<V: DeserializeSeed<'de>>(
        self,
        seed: V,
    ) -> Result<(V::Value, Self::Variant), DocumentError> {
        let name: StrDeserializer<'_, DocumentError> = self.variant.into_deserializer();
        Ok((seed.deserialize(name)?, self.source))
    }
}

impl<'de> VariantAccess<'de> for &mut RandomValues<'_> {
    type Error = DocumentError;

    fn unit_variant(self) -> Result<(), DocumentError> {
        Ok(())
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(
        self,
        seed: T,
    ) -> Result<T::Value, DocumentError> {
        seed.deserialize(self)
    }

    fn tuple_variant<V: Visitor<'de>>(
        self,
        len: usize,
        visitor: V,
    ) -> Result<V::Value, DocumentError> {
        self.deserialize_tuple(len, visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DocumentError> {
        visitor.visit_map(Items {
            source: self,
            left: 0,
            fields,
        })
    }
}
