//! Serializes to CBOR in which field names are replaced by their index in a list of names.

use std::collections::HashMap;
use std::convert::Infallible;

use minicbor::Encoder;
use minicbor::encode::Error as EncodeError;
use serde::ser::{
    Impossible, Serialize, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple,
    Serializer,
};

use super::DocumentError;

/// CBOR, and the names that it refers to.
pub(crate) struct Writer {
    encoder: Encoder<Vec<u8>>,
    numbers: HashMap<&'static str, u64>,
    names: Vec<&'static str>,
}

impl Writer {
    pub fn new() -> Writer {
        Writer {
            encoder: Encoder::new(Vec::new()),
            numbers: HashMap::new(),
            names: Vec::new(),
        }
    }

    /// The names in the order of their numbers, and the CBOR.
    pub fn finish(self) -> (Vec<&'static str>, Vec<u8>) {
        (self.names, self.encoder.into_writer())
    }

    fn number(&mut self, name: &'static str) -> u64 {
        let next = self.names.len() as u64;
        let number = *self.numbers.entry(name).or_insert(next);
        if number == next {
            self.names.push(name);
        }
        number
    }

    /// A map of `len` entries starts.
    fn map(&mut self, len: usize) -> Result<(), DocumentError> {
        self.encoder.map(len as u64)?;
        Ok(())
    }

    fn key(&mut self, name: &'static str) -> Result<(), DocumentError> {
        let number = self.number(name);
        self.encoder.u64(number)?;
        Ok(())
    }
}

impl From<EncodeError<Infallible>> for DocumentError {
    fn from(error: EncodeError<Infallible>) -> Self {
        DocumentError::Malformed(error.to_string())
    }
}

impl serde::ser::Error for DocumentError {
    fn custom<T: std::fmt::Display>(message: T) -> Self {
        DocumentError::Malformed(message.to_string())
    }
}

/// Kinds of values that documents do not contain.
fn unsupported(kind: &str) -> DocumentError {
    DocumentError::Malformed(format!("documents hold no {kind}"))
}

macro_rules! encode {
    ($($method:ident($kind:ty) => $encode:ident),* $(,)?) => {$(
        fn $method(self, value: $kind) -> Result<(), DocumentError> {
            self.encoder.$encode(value)?;
            Ok(())
        }
    )*};
}

impl Serializer for &mut Writer {
    type Ok = ();
    type Error = DocumentError;
    type SerializeSeq = Self;
    type SerializeTuple = Self;
    type SerializeTupleStruct = Impossible<(), DocumentError>;
    type SerializeTupleVariant = Impossible<(), DocumentError>;
    type SerializeMap = Impossible<(), DocumentError>;
    type SerializeStruct = Self;
    type SerializeStructVariant = StructVariant<Self>;

    encode! {
        serialize_bool(bool) => bool,
        serialize_i8(i8) => i8,
        serialize_i16(i16) => i16,
        serialize_i32(i32) => i32,
        serialize_i64(i64) => i64,
        serialize_u8(u8) => u8,
        serialize_u16(u16) => u16,
        serialize_u32(u32) => u32,
        serialize_u64(u64) => u64,
        serialize_f32(f32) => f32,
        serialize_f64(f64) => f64,
        serialize_str(&str) => str,
        serialize_bytes(&[u8]) => bytes,
    }

    fn serialize_char(self, value: char) -> Result<(), DocumentError> {
        self.serialize_str(value.encode_utf8(&mut [0; 4]))
    }

    fn serialize_none(self) -> Result<(), DocumentError> {
        self.encoder.null()?;
        Ok(())
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), DocumentError> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), DocumentError> {
        self.serialize_none()
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<(), DocumentError> {
        self.serialize_none()
    }

    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
    ) -> Result<(), DocumentError> {
        self.serialize_str(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<(), DocumentError> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<(), DocumentError> {
        self.map(1)?;
        self.key(variant)?;
        value.serialize(self)
    }

    fn serialize_seq(self, len: Option<usize>) -> Result<Self, DocumentError> {
        let len = len.ok_or_else(|| unsupported("list of unknown length"))?;
        self.encoder.array(len as u64)?;
        Ok(self)
    }

    fn serialize_tuple(self, len: usize) -> Result<Self, DocumentError> {
        self.serialize_seq(Some(len))
    }

    fn serialize_tuple_struct(
        self,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeTupleStruct, DocumentError> {
        Err(unsupported("tuple struct"))
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeTupleVariant, DocumentError> {
        Err(unsupported("tuple variant"))
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Self::SerializeMap, DocumentError> {
        Err(unsupported("map"))
    }

    fn serialize_struct(self, _: &'static str, len: usize) -> Result<Self, DocumentError> {
        self.map(len)?;
        Ok(self)
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        len: usize,
    ) -> Result<Self::SerializeStructVariant, DocumentError> {
        self.map(1)?;
        let key_at = self.encoder.writer().len();
        self.map(len)?;
        Ok(StructVariant {
            writer: self,
            variant,
            key_at,
        })
    }
}

/// A variant with fields. The names of its fields are listed before its own, so that its key is inserted at the end.
pub(crate) struct StructVariant<W> {
    writer: W,
    variant: &'static str,
    key_at: usize,
}

impl SerializeSeq for &mut Writer {
    type Ok = ();
    type Error = DocumentError;
    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), DocumentError> {
        value.serialize(&mut **self)
    }
    fn end(self) -> Result<(), DocumentError> {
        Ok(())
    }
}

impl SerializeTuple for &mut Writer {
    type Ok = ();
    type Error = DocumentError;
    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), DocumentError> {
        value.serialize(&mut **self)
    }
    fn end(self) -> Result<(), DocumentError> {
        Ok(())
    }
}

impl SerializeStruct for &mut Writer {
    type Ok = ();
    type Error = DocumentError;
    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        name: &'static str,
        value: &T,
    ) -> Result<(), DocumentError> {
        self.key(name)?;
        value.serialize(&mut **self)
    }
    fn end(self) -> Result<(), DocumentError> {
        Ok(())
    }
}

impl SerializeStructVariant for StructVariant<&mut Writer> {
    type Ok = ();
    type Error = DocumentError;
    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        name: &'static str,
        value: &T,
    ) -> Result<(), DocumentError> {
        self.writer.key(name)?;
        value.serialize(&mut *self.writer)
    }
    fn end(self) -> Result<(), DocumentError> {
        let end = self.writer.encoder.writer().len();
        self.writer.key(self.variant)?;
        let bytes = self.writer.encoder.writer_mut();
        let key = bytes.len() - end;
        bytes[self.key_at..].rotate_right(key);
        Ok(())
    }
}
