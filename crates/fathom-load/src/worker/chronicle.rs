//! When the writes of a job were handed over, to within a known distance, in constant memory.

/// Samples kept; when there are more, every second one goes.
const MOST: usize = 4096;

/// Times of writes by number. At least [`MOST`] / 2 evenly spaced samples after the first so many writes.
#[derive(Debug, Default)]
pub(super) struct Chronicle {
    /// (number, nanoseconds since 1970), rising.
    samples: Vec<(u64, u64)>,
    /// A power of two.
    stride: u64,
}

impl Chronicle {
    pub fn new() -> Self {
        Chronicle {
            samples: Vec::with_capacity(MOST),
            stride: 1,
        }
    }

    /// Write `number` was handed over at `when`.
    #[inline]
    pub fn note(&mut self, number: u64, when: u64) {
        // No division for each write.
        if number & (self.stride - 1) == 0 {
            self.keep(number, when);
        }
    }

    #[cold]
    fn keep(&mut self, number: u64, when: u64) {
        if self.samples.len() == MOST {
            self.stride *= 2;
            self.samples
                .retain(|(number, _)| number.is_multiple_of(self.stride));
        }
        if number.is_multiple_of(self.stride) {
            self.samples.push((number, when));
        }
    }

    /// The time of the newest sample that is not after `number`.
    pub fn when(&self, number: u64) -> Option<u64> {
        let after = self
            .samples
            .partition_point(|(sampled, _)| *sampled <= number);
        let before = after
            .checked_sub(1)
            .or(Some(0).filter(|_| !self.samples.is_empty()))?;
        Some(self.samples[before].1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_known_to_within_a_stride_in_constant_memory() {
        let mut chronicle = Chronicle::new();
        for number in 1..=1_000_000 {
            chronicle.note(number, number * 10);
        }
        assert!(chronicle.samples.len() <= MOST && chronicle.samples.capacity() <= 2 * MOST);
        for number in [1, 511, 512, 777_777, 1_000_000] {
            let when = chronicle.when(number).expect("a time");
            assert!(when.abs_diff(number * 10) <= 512 * 10, "{number}: {when}");
        }
        assert_eq!(Chronicle::new().when(5), None);
    }
}
