//! When the writes of a job were submitted, with a known resolution, in constant memory.

/// Samples kept. When there are more, every second one is dropped.
const MAX_SAMPLES: usize = 4096;

/// Times of writes by number. At least [`MAX_SAMPLES`] / 2 evenly spaced samples once there were
/// that many writes.
#[derive(Debug, Default)]
pub(super) struct WriteTimes {
    /// (number, nanoseconds since 1970), ascending.
    samples: Vec<(u64, u64)>,
    /// Every so many writes are sampled; a power of two.
    stride: u64,
}

impl WriteTimes {
    pub fn new() -> Self {
        WriteTimes {
            samples: Vec::with_capacity(MAX_SAMPLES),
            stride: 1,
        }
    }

    /// Write `number` was submitted at `when`.
    #[inline]
    pub fn note(&mut self, number: u64, when: u64) {
        // No division for each write.
        if number & (self.stride - 1) == 0 {
            self.keep(number, when);
        }
    }

    #[cold]
    fn keep(&mut self, number: u64, when: u64) {
        if self.samples.len() == MAX_SAMPLES {
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
        let mut times = WriteTimes::new();
        for number in 1..=1_000_000 {
            times.note(number, number * 10);
        }
        assert!(times.samples.len() <= MAX_SAMPLES && times.samples.capacity() <= 2 * MAX_SAMPLES);
        for number in [1, 511, 512, 777_777, 1_000_000] {
            let when = times.when(number).expect("a time");
            assert!(when.abs_diff(number * 10) <= 512 * 10, "{number}: {when}");
        }
        assert_eq!(WriteTimes::new().when(5), None);
    }
}
