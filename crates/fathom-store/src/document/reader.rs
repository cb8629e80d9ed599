//! Deserializes CBOR in which field names are replaced by their index in a list of names.

use minicbor::Decoder;
use minicbor::data::Type;
use minicbor::decode::Error as DecodeError;
use serde::de::value::StrDeserializer;
use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, Error as _, IntoDeserializer, MapAccess, SeqAccess,
    VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;

use super::DocumentError;

/// CBOR, and the names that it refers to.
pub(crate) struct Reader<'de, 'n> {
    decoder: Decoder<'de>,
    names: &'n [&'de str],
}

impl<'de, 'n> Reader<'de, 'n> {
    pub fn new(decoder: Decoder<'de>, names: &'n [&'de str]) -> Self {
        Reader { decoder, names }
    }

    /// The next number as a name.
    fn name(&mut self) -> Result<&'de str, DocumentError> {
        let number = self.decoder.u64()?;
        usize::try_from(number)
            .ok()
            .and_then(|number| self.names.get(number).copied())
            .ok_or_else(|| DocumentError::Malformed(format!("unknown field number {number}")))
    }

    fn map(&mut self) -> Result<u64, DocumentError> {
        known(self.decoder.map()?)
    }

    fn visit_map<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value, DocumentError> {
        let left = self.map()?;
        visitor.visit_map(Items { reader: self, left })
    }

    fn visit_list<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value, DocumentError> {
        let left = known(self.decoder.array()?)?;
        visitor.visit_seq(Items { reader: self, left })
    }
}

/// Documents contain only lists and maps of definite length.
pub(crate) fn known(len: Option<u64>) -> Result<u64, DocumentError> {
    len.ok_or_else(|| DocumentError::Malformed("unknown length".to_owned()))
}

impl From<DecodeError> for DocumentError {
    fn from(error: DecodeError) -> Self {
        DocumentError::Malformed(error.to_string())
    }
}

impl serde::de::Error for DocumentError {
    fn custom<T: std::fmt::Display>(message: T) -> Self {
        DocumentError::Malformed(message.to_string())
    }
}

impl<'de> Deserializer<'de> for &mut Reader<'de, '_> {
    type Error = DocumentError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DocumentError> {
        match self.decoder.datatype()? {
            Type::U8 | Type::U16 | Type::U32 | Type::U64 => visitor.visit_u64(self.decoder.u64()?),
            Type::I8 | Type::I16 | Type::I32 | Type::I64 => visitor.visit_i64(self.decoder.i64()?),
            Type::F64 => visitor.visit_f64(self.decoder.f64()?),
            Type::Bool => visitor.visit_bool(self.decoder.bool()?),
            Type::String => visitor.visit_borrowed_str(self.decoder.str()?),
            Type::Bytes => visitor.visit_borrowed_bytes(self.decoder.bytes()?),
            Type::Array => self.visit_list(visitor),
            Type::Map => self.visit_map(visitor),
            Type::Null => {
                self.decoder.null()?;
                visitor.visit_unit()
            }
            other => Err(DocumentError::Malformed(format!("unexpected {other}"))),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DocumentError> {
        if self.decoder.datatype()? == Type::Null {
            self.decoder.null()?;
            visitor.visit_none()
        } else {
            visitor.visit_some(self)
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, DocumentError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DocumentError> {
        if self.decoder.datatype()? == Type::String {
            let variant: StrDeserializer<'_, DocumentError> =
                self.decoder.str()?.into_deserializer();
            return visitor.visit_enum(variant);
        }
        match self.map()? {
            1 => visitor.visit_enum(self),
            other => Err(DocumentError::invalid_length(
                other as usize,
                &"one variant",
            )),
        }
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(
        self,
        visitor: V,
    ) -> Result<V::Value, DocumentError> {
        self.decoder.skip()?;
        visitor.visit_unit()
    }

    // A struct is always written as a map, and a tuple as a list. Without the other form, for which each visitor has code too, the
    // program is a quarter of a megabyte smaller.
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DocumentError> {
        self.visit_map(visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DocumentError> {
        self.visit_map(visitor)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DocumentError> {
        self.visit_list(visitor)
    }

    fn deserialize_tuple<V: Visitor<'de>>(
        self,
        _: usize,
        visitor: V,
    ) -> Result<V::Value, DocumentError> {
        self.visit_list(visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: usize,
        visitor: V,
    ) -> Result<V::Value, DocumentError> {
        self.visit_list(visitor)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 char str string bytes byte_buf unit unit_struct identifier
    }
}

/// The items of a list, or the entries of a map.
struct Items<'a, 'de, 'n> {
    reader: &'a mut Reader<'de, 'n>,
    left: u64,
}

impl Items<'_, '_, '_> {
    fn next(&mut self) -> bool {
        let more = self.left > 0;
        self.left = self.left.saturating_sub(1);
        more
    }
}

impl<'de> SeqAccess<'de> for Items<'_, 'de, '_> {
    type Error = DocumentError;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, DocumentError> {
        if !self.next() {
            return Ok(None);
        }
        seed.deserialize(&mut *self.reader).map(Some)
    }

    fn size_hint(&self) -> Option<usize> {
        usize::try_from(self.left).ok()
    }
}

impl<'de> MapAccess<'de> for Items<'_, 'de, '_> {
    type Error = DocumentError;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, DocumentError> {
        if !self.next() {
            return Ok(None);
        }
        let name: StrDeserializer<'_, DocumentError> = self.reader.name()?.into_deserializer();
        seed.deserialize(name).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(
        &mut self,
        seed: V,
    ) -> Result<V::Value, DocumentError> {
        seed.deserialize(&mut *self.reader)
    }
}

impl<'de> EnumAccess<'de> for &mut Reader<'de, '_> {
    type Error = DocumentError;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(
        self,
        seed: V,
    ) -> Result<(V::Value, Self), DocumentError> {
        let name: StrDeserializer<'_, DocumentError> = self.name()?.into_deserializer();
        Ok((seed.deserialize(name)?, self))
    }
}

impl<'de> VariantAccess<'de> for &mut Reader<'de, '_> {
    type Error = DocumentError;

    fn unit_variant(self) -> Result<(), DocumentError> {
        self.decoder.skip()?;
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
        _: usize,
        visitor: V,
    ) -> Result<V::Value, DocumentError> {
        self.visit_list(visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DocumentError> {
        self.visit_map(visitor)
    }
}
