//! Random bytes, generated faster than a device can take them.
//!
//! Eight generators run side by side, so that the compiler can keep them in vector registers. Each
//! is xorshift128+ with the shifts 23, 18, 5 (S. Vigna, "Further scramblings of Marsaglia's
//! xorshift generators", 2017). It needs shifts, xors and one addition, which even the oldest
//! x86-64 has for vectors, unlike multiplication.

const LANES: usize = 8;
const STEP: usize = LANES * 8;

/// The finaliser of splitmix64 (G. Steele, D. Lea, C. Flood, OOPSLA 2014): a bijection in which
/// every bit affects every other.
pub(crate) const fn mix(value: u64) -> u64 {
    let z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Overwrites `data` with incompressible bytes, which depend on `seed` and on `at`, their place in a file or on a device.
pub fn fill_incompressible(data: &mut [u8], seed: u64, at: u64) {
    Stream::new(seed ^ mix(at)).fill(data);
}

/// An endless stream of incompressible bytes; the same seed gives the same stream.
#[derive(Clone, Debug)]
pub(crate) struct Stream {
    older: [u64; LANES],
    newer: [u64; LANES],
}

impl Stream {
    /// The stream of this seed.
    pub(crate) fn new(seed: u64) -> Self {
        let start = mix(seed);
        let word =
            |n: usize| mix(start.wrapping_add((n as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)));
        // A generator whose whole state is zero stays there; one set bit prevents it.
        Stream {
            older: std::array::from_fn(|lane| word(lane) | 1),
            newer: std::array::from_fn(|lane| word(lane + LANES)),
        }
    }

    /// Overwrites `buf` with the next bytes. Bytes of the last step that did not fit are dropped.
    pub(crate) fn fill(&mut self, buf: &mut [u8]) {
        let mut state = self.clone();
        let mut chunks = buf.chunks_exact_mut(STEP);
        for chunk in &mut chunks {
            state.write(chunk);
        }
        let rest = chunks.into_remainder();
        if !rest.is_empty() {
            let mut last = [0; STEP];
            state.write(&mut last);
            rest.copy_from_slice(&last[..rest.len()]);
        }
        *self = state;
    }

    #[inline(always)]
    fn write(&mut self, chunk: &mut [u8]) {
        let words = self.step();
        for (place, word) in chunk.chunks_exact_mut(8).zip(words) {
            place.copy_from_slice(&word.to_le_bytes());
        }
    }

    #[inline(always)]
    fn step(&mut self) -> [u64; LANES] {
        let mut out = [0; LANES];
        for (out, (older, newer)) in out
            .iter_mut()
            .zip(self.older.iter_mut().zip(&mut self.newer))
        {
            let (mut x, y) = (*older, *newer);
            *out = x.wrapping_add(y);
            x ^= x << 23;
            *older = y;
            *newer = x ^ y ^ (x >> 18) ^ (y >> 5);
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_depend_on_the_seed_and_on_the_place() {
        // First output of splitmix64 seeded with 0, as in its reference implementation.
        assert_eq!(mix(0), 0xe220_a839_7b1d_cdaf);
        let filled = |seed, at| {
            let mut data = [0; 100];
            fill_incompressible(&mut data, seed, at);
            data
        };
        assert_eq!(filled(1, 4096), filled(1, 4096));
        assert_ne!(filled(1, 4096), filled(1, 8192));
        assert_ne!(filled(1, 4096), filled(2, 4096));
    }
}
