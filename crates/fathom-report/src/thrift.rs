//! The compact protocol of Apache Thrift, as far as the metadata of Parquet needs it.
//!
//! Source: <https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md>.

/// Types of fields and of the elements of lists.
const I32: u8 = 5;
const I64: u8 = 6;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const STRUCT: u8 = 12;

/// A structure that is written field by field, with growing numbers.
#[derive(Default)]
pub(crate) struct Struct {
    bytes: Vec<u8>,
    last: u8,
}

impl Struct {
    /// The header of a field: the distance from the last field's number, and its type.
    fn field(&mut self, number: u8, kind: u8) {
        let step = number - self.last;
        debug_assert!((1..=15).contains(&step), "fields are written in order");
        self.bytes.push(step << 4 | kind);
        self.last = number;
    }

    pub(crate) fn i32(&mut self, number: u8, value: i32) {
        self.field(number, I32);
        zigzag(&mut self.bytes, i64::from(value));
    }

    pub(crate) fn i64(&mut self, number: u8, value: i64) {
        self.field(number, I64);
        zigzag(&mut self.bytes, value);
    }

    pub(crate) fn text(&mut self, number: u8, value: &str) {
        self.field(number, BINARY);
        binary(&mut self.bytes, value);
    }

    pub(crate) fn nested(&mut self, number: u8, value: Struct) {
        self.field(number, STRUCT);
        self.bytes.extend(value.finish());
    }

    fn list(&mut self, number: u8, kind: u8, length: usize) {
        self.field(number, LIST);
        if length < 15 {
            self.bytes.push((length as u8) << 4 | kind);
        } else {
            self.bytes.push(0xf0 | kind);
            varint(&mut self.bytes, length as u64);
        }
    }

    pub(crate) fn i32s(&mut self, number: u8, values: &[i32]) {
        self.list(number, I32, values.len());
        for value in values {
            zigzag(&mut self.bytes, i64::from(*value));
        }
    }

    pub(crate) fn texts(&mut self, number: u8, values: &[&str]) {
        self.list(number, BINARY, values.len());
        for value in values {
            binary(&mut self.bytes, value);
        }
    }

    pub(crate) fn structs(&mut self, number: u8, values: Vec<Struct>) {
        self.list(number, STRUCT, values.len());
        for value in values {
            self.bytes.extend(value.finish());
        }
    }

    /// The bytes of the structure with its end.
    pub(crate) fn finish(mut self) -> Vec<u8> {
        self.bytes.push(0);
        self.bytes
    }
}

fn binary(bytes: &mut Vec<u8>, text: &str) {
    varint(bytes, text.len() as u64);
    bytes.extend(text.as_bytes());
}

/// Small numbers of either sign become small unsigned numbers.
fn zigzag(bytes: &mut Vec<u8>, value: i64) {
    varint(bytes, (value << 1 ^ value >> 63) as u64);
}

/// Seven bits in each byte, the lowest first; the highest bit marks that more follow.
pub(crate) fn varint(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of the specification: 50399 as a varint; -1 and 1 in zigzag; a field whose number is one larger.
    #[test]
    fn numbers_are_those_of_the_specification() {
        let mut bytes = Vec::new();
        varint(&mut bytes, 50_399);
        assert_eq!(bytes, [0xdf, 0x89, 0x03]);
        bytes.clear();
        zigzag(&mut bytes, -1);
        zigzag(&mut bytes, 1);
        assert_eq!(bytes, [1, 2]);
        let mut value = Struct::default();
        value.i32(1, 3);
        value.i64(3, -2);
        assert_eq!(value.finish(), [0x15, 6, 0x26, 3, 0]);
    }
}
