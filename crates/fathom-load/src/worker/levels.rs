//! fio's three small histograms of how many I/Os were in flight, submitted and reaped at once.

/// Counts by class.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Levels {
    pub depth: [u64; 7],
    pub submit: [u64; 7],
    pub complete: [u64; 7],
}

/// Classes 1, 2, 4, 8, 16, 32, 64 and more: each up to the next.
#[inline]
fn depth_class(depth: u32) -> usize {
    (depth.max(1).ilog2() as usize).min(6)
}

/// Classes 0, 4, 8, 16, 32, 64, more: each down to the one before.
#[inline]
fn batch_class(n: u32) -> usize {
    match n {
        0 => 0,
        1..=4 => 1,
        _ => ((n - 1).ilog2() as usize).min(6),
    }
}

impl Levels {
    /// `n` I/Os were submitted at once, after which `in_flight` are in flight.
    #[inline]
    pub fn submitted(&mut self, n: u32, in_flight: u32) {
        self.submit[batch_class(n)] += 1;
        self.depth[depth_class(in_flight)] += u64::from(n);
    }

    /// `n` I/Os were submitted and reaped one by one.
    pub fn one_by_one(&mut self, n: u64) {
        self.depth[0] += n;
        self.submit[1] += n;
        self.complete[1] += n;
    }

    /// `n` I/Os were reaped at once.
    #[inline]
    pub fn reaped(&mut self, n: u32) {
        self.complete[batch_class(n)] += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_those_of_fio() {
        assert_eq!(
            [1, 2, 3, 4, 7, 8, 63, 64, 1000].map(depth_class),
            [0, 1, 1, 2, 2, 3, 5, 6, 6]
        );
        assert_eq!(
            [0, 1, 4, 5, 8, 9, 16, 17, 64, 65].map(batch_class),
            [0, 1, 1, 2, 2, 3, 3, 4, 5, 6]
        );
    }
}
