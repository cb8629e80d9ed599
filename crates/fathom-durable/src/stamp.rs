//! The stamp of every sector of a record.
//!
//! Each 512-byte sector identifies itself, so that one sector alone shows which commit it belongs to, whether it is at its own
//! place, and whether its bytes are intact.

/// Bytes in a sector: the smallest unit that a disk writes whole.
pub const SECTOR: usize = 512;

const MAGIC: &[u8; 8] = b"FDURABLE";
/// Offset of the checksum in a sector.
const CHECKSUM: usize = 36;
/// Offset of the fill in a sector.
const FILL: usize = 40;
/// Damaged bits up to which a sector is still recognised. Unrelated content differs in half of the 4,096 bits.
const MAX_DAMAGED_BITS: u32 = 1024;

/// The identity of one sector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// The run that wrote it.
    pub run: u64,
    /// Cycle of the run, from 1.
    pub cycle: u32,
    /// Stream of the cycle, from 0.
    pub stream: u16,
    /// Commit of the stream, from 0.
    pub commit: u64,
    /// Record of the commit, from 0.
    pub record: u16,
    /// Sector of the record, from 0.
    pub sector: u16,
}

/// The content of a sector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SectorState {
    /// An intact sector of fathom, perhaps not the expected one.
    Stamped(Stamp),
    /// Only zeros: never written.
    Zero,
    /// The expected sector with this number of inverted bits.
    Damaged(u32),
    /// None of these.
    Unknown,
}

impl Stamp {
    /// Fills `sector`, which has [`SECTOR`] bytes.
    pub fn write(&self, sector: &mut [u8]) {
        sector[..8].copy_from_slice(MAGIC);
        sector[8..16].copy_from_slice(&self.run.to_le_bytes());
        sector[16..20].copy_from_slice(&self.cycle.to_le_bytes());
        sector[20..22].copy_from_slice(&self.stream.to_le_bytes());
        sector[22..24].copy_from_slice(&self.record.to_le_bytes());
        sector[24..32].copy_from_slice(&self.commit.to_le_bytes());
        sector[32..34].copy_from_slice(&self.sector.to_le_bytes());
        sector[34..36].copy_from_slice(&1_u16.to_le_bytes());
        let mut state = self.seed();
        for word in sector[FILL..].chunks_exact_mut(8) {
            state = next(state);
            word.copy_from_slice(&state.to_le_bytes());
        }
        let sum = checksum(sector);
        sector[CHECKSUM..FILL].copy_from_slice(&sum.to_le_bytes());
    }

    /// Fills a record or a commit: consecutive sectors of consecutive records of `record_bytes`.
    pub fn write_records(self, records: &mut [u8], record_bytes: usize) {
        let mut stamp = self;
        for record in records.chunks_mut(record_bytes) {
            for (index, sector) in record.chunks_exact_mut(SECTOR).enumerate() {
                stamp.sector = index as u16;
                stamp.write(sector);
            }
            stamp.record += 1;
        }
    }

    /// What `sector` holds, where this stamp is expected.
    #[must_use]
    pub fn inspect(&self, sector: &[u8]) -> SectorState {
        if let Some(found) = parse(sector) {
            return SectorState::Stamped(found);
        }
        if sector.iter().all(|byte| *byte == 0) {
            return SectorState::Zero;
        }
        let mut expected = [0; SECTOR];
        self.write(&mut expected);
        let bits = expected
            .iter()
            .zip(sector)
            .map(|(a, b)| (a ^ b).count_ones())
            .sum::<u32>();
        if bits <= MAX_DAMAGED_BITS {
            SectorState::Damaged(bits)
        } else {
            SectorState::Unknown
        }
    }

    fn seed(&self) -> u64 {
        let position = u64::from(self.stream) << 48
            | u64::from(self.record) << 32
            | u64::from(self.sector) << 16
            | 1;
        let mixed = mix(self.run ^ mix(self.commit ^ mix(u64::from(self.cycle) ^ position)));
        // The generator has no use for a state of zero.
        mixed | 1
    }
}

/// The stamp of an intact sector.
fn parse(sector: &[u8]) -> Option<Stamp> {
    if sector.len() != SECTOR || &sector[..8] != MAGIC {
        return None;
    }
    let sum = u32::from_le_bytes(sector[CHECKSUM..FILL].try_into().ok()?);
    if sum != checksum(sector) {
        return None;
    }
    Some(Stamp {
        run: u64::from_le_bytes(sector[8..16].try_into().ok()?),
        cycle: u32::from_le_bytes(sector[16..20].try_into().ok()?),
        stream: u16::from_le_bytes(sector[20..22].try_into().ok()?),
        record: u16::from_le_bytes(sector[22..24].try_into().ok()?),
        commit: u64::from_le_bytes(sector[24..32].try_into().ok()?),
        sector: u16::from_le_bytes(sector[32..34].try_into().ok()?),
    })
}

/// CRC-32 of everything but the checksum itself.
fn checksum(sector: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&sector[..CHECKSUM]);
    hasher.update(&sector[FILL..]);
    hasher.finalize()
}

/// Xorshift64 (Marsaglia, "Xorshift RNGs", 2003).
fn next(mut state: u64) -> u64 {
    state ^= state << 13;
    state ^= state >> 7;
    state ^ (state << 17)
}

/// The finaliser of SplitMix64 (Steele, Lea, Flood 2014).
pub(crate) fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAMP: Stamp = Stamp {
        run: 7,
        cycle: 1,
        stream: 2,
        commit: 99,
        record: 1,
        sector: 15,
    };

    fn sector() -> [u8; SECTOR] {
        let mut sector = [0; SECTOR];
        STAMP.write(&mut sector);
        sector
    }

    #[test]
    fn a_sector_identifies_itself() {
        assert_eq!(STAMP.inspect(&sector()), SectorState::Stamped(STAMP));
        assert_eq!(STAMP.inspect(&[0; SECTOR]), SectorState::Zero);
        assert_eq!(STAMP.inspect(&[0x5a; SECTOR]), SectorState::Unknown);
    }

    /// CRC-32 detects every single inverted bit.
    #[test]
    fn every_inverted_bit_is_damage() {
        for bit in 0..SECTOR * 8 {
            let mut damaged = sector();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(
                STAMP.inspect(&damaged),
                SectorState::Damaged(1),
                "bit {bit}"
            );
        }
    }

    #[test]
    fn records_have_consecutive_sectors() {
        let mut commit = vec![0; 4 * SECTOR];
        let first = Stamp {
            record: 0,
            sector: 0,
            ..STAMP
        };
        first.write_records(&mut commit, 2 * SECTOR);
        let stamps: Vec<_> = commit
            .chunks(SECTOR)
            .map(|sector| match STAMP.inspect(sector) {
                SectorState::Stamped(stamp) => (stamp.record, stamp.sector),
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(stamps, [(0, 0), (0, 1), (1, 0), (1, 1)]);
    }

    /// Content that compresses or repeats would be stored differently by some devices.
    #[test]
    fn fills_differ_between_sectors() {
        let mut other = [0; SECTOR];
        Stamp {
            sector: 14,
            ..STAMP
        }
        .write(&mut other);
        let equal = sector()[FILL..]
            .iter()
            .zip(&other[FILL..])
            .filter(|(a, b)| a == b)
            .count();
        assert!(equal < 20, "{equal} of 472 bytes are equal");
    }
}
