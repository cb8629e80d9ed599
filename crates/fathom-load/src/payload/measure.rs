//! The properties of a payload: how much of it a device could save.
//!
//! An estimate from samples, cheap and without allocation. It distinguishes zeros, patterns and
//! repeated blocks from random data; it does not predict the ratio of a particular compressor.

use super::mix;

const WORD: usize = 8;
/// Window of the estimate, bytes; compressors use at least this much.
const WINDOW: usize = 4096;
const SECTOR: usize = 512;
/// Number of sectors that a [`Sampler`] stores.
const REMEMBERED: usize = 1 << 14;

/// How much of one buffer can be saved; shares are 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PayloadMeasurement {
    /// Share of the 512-byte sectors that are all zeros.
    pub zero_share: f64,
    /// Estimated size after compression as a share of the size before; 1.0 is incompressible.
    pub compressed_share: f64,
}

/// Estimates how much of `buf` a compressor could save.
///
/// 8-byte words that already occurred in the same 4 KiB cost nothing; the others cost the order-0
/// entropy of their bytes (C. Shannon, 1948) with the correction of G. Miller (1955) for small
/// samples. An empty buffer is 1.0.
#[must_use]
pub fn measure(buf: &[u8]) -> PayloadMeasurement {
    if buf.is_empty() {
        return PayloadMeasurement {
            zero_share: 0.0,
            compressed_share: 1.0,
        };
    }
    let sectors = buf.chunks(SECTOR);
    let (count, zeros) = (
        sectors.len(),
        sectors.filter(|sector| is_zero(sector)).count(),
    );
    let cost: f64 = buf.chunks(WINDOW).map(window_cost).sum();
    PayloadMeasurement {
        zero_share: zeros as f64 / count as f64,
        compressed_share: (cost / buf.len() as f64).min(1.0),
    }
}

fn is_zero(bytes: &[u8]) -> bool {
    bytes.iter().all(|&byte| byte == 0)
}

/// Estimated bytes of one window after compression.
fn window_cost(window: &[u8]) -> f64 {
    let mut seen = [0u64; WINDOW / WORD];
    let mut counts = [0u32; 256];
    let mut kept = 0u32;
    for chunk in window.chunks(WORD) {
        let mut bytes = [0; WORD];
        bytes[..chunk.len()].copy_from_slice(chunk);
        let word = u64::from_le_bytes(bytes);
        let place = &mut seen[mix(word) as usize % (WINDOW / WORD)];
        if *place == word {
            continue;
        }
        *place = word;
        chunk
            .iter()
            .for_each(|&byte| counts[usize::from(byte)] += 1);
        kept += chunk.len() as u32;
    }
    f64::from(kept) * entropy(&counts, kept) / 8.0
}

/// Bits per byte, 0 to 8.
fn entropy(counts: &[u32; 256], total: u32) -> f64 {
    if total == 0 {
        return 0.0;
    }
    let total = f64::from(total);
    let used = counts.iter().filter(|&&count| count > 0);
    let symbols = used.clone().count() as f64;
    let plain: f64 = used
        .map(|&count| f64::from(count) / total)
        .map(|share| -share * share.log2())
        .sum();
    (plain + (symbols - 1.0) / (2.0 * total * std::f64::consts::LN_2)).min(8.0)
}

/// Accumulates the measurements of sampled buffers and counts duplicate sectors.
#[derive(Clone, Debug)]
pub struct Sampler {
    /// Fingerprints of sectors; a new one replaces an older one with the same index.
    seen: Vec<u64>,
    sectors: u64,
    duplicates: u64,
    bytes: f64,
    compressed: f64,
    zero: f64,
}

impl Default for Sampler {
    fn default() -> Self {
        Self::new()
    }
}

impl Sampler {
    /// An empty sampler; it holds 128 KiB and allocates no more.
    #[must_use]
    pub fn new() -> Self {
        Sampler {
            seen: vec![0; REMEMBERED],
            sectors: 0,
            duplicates: 0,
            bytes: 0.0,
            compressed: 0.0,
            zero: 0.0,
        }
    }

    /// Adds one buffer. Add one buffer in many, not every one: the speed is about 1 GB/s.
    pub fn add(&mut self, buf: &[u8]) {
        let found = measure(buf);
        let bytes = buf.len() as f64;
        self.bytes += bytes;
        self.compressed += bytes * found.compressed_share;
        self.zero += bytes * found.zero_share;
        for sector in buf.chunks_exact(SECTOR) {
            let print = fingerprint(sector);
            let place = &mut self.seen[print as usize % REMEMBERED];
            self.duplicates += u64::from(*place == print);
            self.sectors += 1;
            *place = print;
        }
    }

    /// The mean over all buffers; `None` before the first one.
    #[must_use]
    pub fn measured(&self) -> Option<PayloadMeasurement> {
        (self.bytes > 0.0).then(|| PayloadMeasurement {
            zero_share: self.zero / self.bytes,
            compressed_share: self.compressed / self.bytes,
        })
    }

    /// Share of sectors that equal one of the last 16,000 or so sampled sectors, 0 to 1.
    #[must_use]
    pub fn duplicate_share(&self) -> f64 {
        if self.sectors == 0 {
            0.0
        } else {
            self.duplicates as f64 / self.sectors as f64
        }
    }

    /// Total bytes of all buffers.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes as u64
    }
}

/// 64 bits that are equal for different sectors only with probability 2^-64; never 0, which marks
/// an empty entry.
fn fingerprint(sector: &[u8]) -> u64 {
    let words = sector
        .chunks_exact(WORD)
        .map(|word| u64::from_le_bytes(word.try_into().expect("8 bytes")));
    words
        .fold(1, |print, word| mix(print ^ word).rotate_left(1))
        .max(1)
}
