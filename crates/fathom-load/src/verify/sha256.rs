//! The `sha256` of fio's verify headers, which differs from SHA-256.
//!
//! It runs the compression function of FIPS 180-4 over the message, but appends the length as a
//! little-endian number, keeps only the low byte of each of the eight state words, and fills the
//! rest of its 64 bytes with the content of the last padded block. fio 3.33 and 3.42 agree. This is
//! sufficient: 64 bits depend on every bit of the data.

use sha2::compress256;

/// FIPS 180-4, section 5.3.3.
const START: [u32; 8] = [
    0x6a09_e667,
    0xbb67_ae85,
    0x3c6e_f372,
    0xa54f_f53a,
    0x510e_527f,
    0x9b05_688c,
    0x1f83_d9ab,
    0x5be0_cd19,
];

/// Bytes of one block.
const BLOCK: usize = 64;
/// Position of the length in the last block.
const LENGTH_AT: usize = BLOCK - 8;

/// fio's 64 bytes for the concatenated parts.
pub(crate) fn fio_sha256(parts: &[&[u8]]) -> [u8; BLOCK] {
    let mut hash = Hash {
        state: START,
        block: [0; BLOCK],
        held: 0,
    };
    parts.iter().for_each(|part| hash.update(part));
    let bits = parts.iter().map(|part| part.len() as u64).sum::<u64>() * 8;
    hash.finish(bits)
}

struct Hash {
    state: [u32; 8],
    block: [u8; BLOCK],
    held: usize,
}

impl Hash {
    fn update(&mut self, mut part: &[u8]) {
        if self.held > 0 {
            let take = part.len().min(BLOCK - self.held);
            self.block[self.held..self.held + take].copy_from_slice(&part[..take]);
            self.held += take;
            part = &part[take..];
            if self.held < BLOCK {
                return;
            }
            self.compress();
        }
        let mut blocks = part.chunks_exact(BLOCK);
        for block in &mut blocks {
            self.block.copy_from_slice(block);
            self.compress();
        }
        self.held = blocks.remainder().len();
        self.block[..self.held].copy_from_slice(blocks.remainder());
    }

    fn compress(&mut self) {
        compress256(&mut self.state, &[self.block.into()]);
        self.held = 0;
    }

    fn finish(mut self, bits: u64) -> [u8; BLOCK] {
        let held = self.held;
        self.block[held] = 0x80;
        self.block[held + 1..].fill(0);
        if held >= LENGTH_AT {
            self.compress();
            self.block.fill(0);
        }
        self.block[LENGTH_AT..].copy_from_slice(&bits.to_le_bytes());
        self.compress();
        for (place, word) in self.block.iter_mut().zip(self.state) {
            *place = word as u8;
        }
        self.block
    }
}
