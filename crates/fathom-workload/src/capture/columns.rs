//! Numbers of a chunk, column by column.
//!
//! A column begins with a byte: 0 for the numbers themselves, 1 for a list of the different values (varints, the most frequent
//! first, after their count) and then indices. Both follow in blocks of 128: the smallest number (varint), the width in bits, the
//! number of exceptions, all differences from the smallest number in that many bits (little-endian bit order), and for each
//! exception its place in the block and the bits above (varint). So one long gap does not widen the other 127.

use std::collections::HashMap;

const BLOCK: usize = 128;
const PLAIN: u8 = 0;
const LISTED: u8 = 1;
/// Different values of a list at most.
const LIST: usize = 256;

/// Appends a number in groups of 7 bits, the lowest first.
pub(super) fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Small for numbers near 0, of both signs.
pub(super) fn zigzag(value: i64) -> u64 {
    (value << 1 ^ value >> 63).cast_unsigned()
}

pub(super) fn unzigzag(value: u64) -> i64 {
    (value >> 1).cast_signed() ^ -(value & 1).cast_signed()
}

/// Appends a column in the shorter of its forms.
pub(super) fn put_column(out: &mut Vec<u8>, values: &[u64]) {
    let start = out.len();
    out.push(PLAIN);
    put_blocks(out, values);
    let Some((list, indices)) = listed(values) else {
        return;
    };
    let mut other = vec![LISTED];
    put_varint(&mut other, list.len() as u64);
    for value in list {
        put_varint(&mut other, value);
    }
    put_blocks(&mut other, &indices);
    if other.len() < out.len() - start {
        out.truncate(start);
        out.extend_from_slice(&other);
    }
}

/// The different values, the most frequent first, and the index of each number.
fn listed(values: &[u64]) -> Option<(Vec<u64>, Vec<u64>)> {
    let mut counts: HashMap<u64, u64> = HashMap::new();
    for value in values {
        *counts.entry(*value).or_default() += 1;
        if counts.len() > LIST {
            return None;
        }
    }
    let mut list: Vec<u64> = counts.keys().copied().collect();
    list.sort_unstable_by_key(|value| (std::cmp::Reverse(counts[value]), *value));
    let places: HashMap<u64, u64> = list.iter().copied().zip(0..).collect();
    let indices = values.iter().map(|value| places[value]).collect();
    Some((list, indices))
}

fn put_blocks(out: &mut Vec<u8>, values: &[u64]) {
    for block in values.chunks(BLOCK) {
        put_block(out, block);
    }
}

fn put_block(out: &mut Vec<u8>, block: &[u64]) {
    let smallest = block.iter().copied().min().unwrap_or(0);
    // How many differences have which number of bits.
    let mut lengths = [0_usize; 65];
    for value in block {
        lengths[bits(value - smallest) as usize] += 1;
    }
    let (mut width, mut least) = (64, usize::MAX);
    for candidate in 0..=64 {
        let longer: usize = (candidate + 1..=64)
            .map(|length| lengths[length] * (1 + (length - candidate).div_ceil(7)))
            .sum();
        let cost = (block.len() * candidate).div_ceil(8) + longer;
        if cost < least {
            (width, least) = (candidate as u32, cost);
        }
    }
    let exceptions = block
        .iter()
        .filter(|value| bits(*value - smallest) > width)
        .count();
    put_varint(out, smallest);
    out.push(width as u8);
    out.push(exceptions as u8);
    let mask = mask(width);
    let (mut buffer, mut held) = (0_u128, 0_u32);
    for value in block {
        buffer |= u128::from((value - smallest) & mask) << held;
        held += width;
        while held >= 8 {
            out.push(buffer as u8);
            buffer >>= 8;
            held -= 8;
        }
    }
    if held > 0 {
        out.push(buffer as u8);
    }
    for (index, value) in block.iter().enumerate() {
        let above = if width == 64 {
            0
        } else {
            (value - smallest) >> width
        };
        if above > 0 {
            out.push(index as u8);
            put_varint(out, above);
        }
    }
}

/// Bits that a number needs.
fn bits(value: u64) -> u32 {
    64 - value.leading_zeros()
}

fn mask(width: u32) -> u64 {
    match width {
        64 => u64::MAX,
        width => (1 << width) - 1,
    }
}

/// Reads what the functions above write. Everything is checked: the bytes may come from anywhere.
pub(super) struct ColumnReader<'a> {
    bytes: &'a [u8],
}

impl<'a> ColumnReader<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        ColumnReader { bytes }
    }

    pub fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.bytes.split_first()?;
        self.bytes = rest;
        Some(*first)
    }

    pub fn varint(&mut self) -> Option<u64> {
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let part = u64::from(byte & 0x7f);
            if shift == 63 && part > 1 {
                return None;
            }
            value |= part << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    /// A column of this many numbers.
    pub fn column(&mut self, count: usize) -> Option<Vec<u64>> {
        let list = match self.byte()? {
            PLAIN => None,
            LISTED => {
                let length = usize::try_from(self.varint()?)
                    .ok()
                    .filter(|n| *n <= LIST)?;
                Some(
                    (0..length)
                        .map(|_| self.varint())
                        .collect::<Option<Vec<u64>>>()?,
                )
            }
            _ => return None,
        };
        let mut values = Vec::with_capacity(count);
        while values.len() < count {
            let left = count - values.len();
            self.block(&mut values, left.min(BLOCK))?;
        }
        if let Some(list) = list {
            for value in &mut values {
                *value = *list.get(usize::try_from(*value).ok()?)?;
            }
        }
        Some(values)
    }

    /// Appends a block of this many numbers.
    fn block(&mut self, values: &mut Vec<u64>, count: usize) -> Option<()> {
        let smallest = self.varint()?;
        let (width, exceptions) = (u32::from(self.byte()?), usize::from(self.byte()?));
        if width > 64 {
            return None;
        }
        let length = (count * width as usize).div_ceil(8);
        let packed = self.bytes.get(..length)?;
        self.bytes = &self.bytes[length..];
        let start = values.len();
        let (mut buffer, mut held, mut packed) = (0_u128, 0_u32, packed.iter());
        let mask = mask(width);
        for _ in 0..count {
            while held < width {
                buffer |= u128::from(*packed.next()?) << held;
                held += 8;
            }
            values.push(buffer as u64 & mask);
            buffer >>= width;
            held -= width;
        }
        for _ in 0..exceptions {
            let index = usize::from(self.byte()?);
            let above = self.varint()?;
            let value = values[start..].get_mut(index)?;
            if width == 64 || above.leading_zeros() < width {
                return None;
            }
            *value |= above << width;
        }
        for value in &mut values[start..] {
            *value = value.checked_add(smallest)?;
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trip(values: &[u64]) -> usize {
        let mut out = Vec::new();
        put_column(&mut out, values);
        let mut reader = ColumnReader::new(&out);
        assert_eq!(reader.column(values.len()).as_deref(), Some(values));
        assert!(reader.bytes.is_empty());
        // Cut anywhere, it is an error.
        for length in 0..out.len().min(300) {
            assert_eq!(ColumnReader::new(&out[..length]).column(values.len()), None);
        }
        out.len()
    }

    #[test]
    fn columns_come_back() {
        round_trip(&[]);
        round_trip(&[u64::MAX]);
        round_trip(&[0, u64::MAX, 1, u64::MAX - 1]);
        round_trip(&(0..1000).map(|n| n * 977 % 4096).collect::<Vec<_>>());
        round_trip(&(0..64).map(|n| 1 << n).collect::<Vec<_>>());
        for value in [0, 1, -1, i64::MAX, i64::MIN] {
            assert_eq!(unzigzag(zigzag(value)), value);
        }
    }

    /// 128 numbers of 10 bits are 160 bytes; one of 60 bits among them costs its place and 8 bytes.
    #[test]
    fn one_large_number_does_not_widen_the_others() {
        let mut values: Vec<u64> = (0..128).map(|n| n * 7919 % 1024).collect();
        // The form, the smallest number, the width and the number of exceptions.
        assert_eq!(round_trip(&values), 160 + 4);
        values[5] = 1 << 59;
        assert!(round_trip(&values) <= 160 + 4 + 9);
    }

    /// Four sizes need 2 bits each.
    #[test]
    fn a_few_different_numbers_are_listed() {
        let values: Vec<u64> = (0..1280_u64).map(|n| 1 << (n * 7 % 4 * 10)).collect();
        let length = round_trip(&values);
        assert!(length < 1280 / 4 + 60, "{length}");
    }
}
