//! What a run will do to a target, and the range it must never leave.

use fathom_model::Bytes;

/// A half-open range of byte offsets, `[start, end)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// First byte.
    pub start: Bytes,
    /// The byte after the last.
    pub end: Bytes,
}

impl Span {
    /// `[start, end)`.
    #[must_use]
    pub const fn new(start: Bytes, end: Bytes) -> Self {
        Self { start, end }
    }
    /// Bytes in the range; zero if `end` is before `start`.
    #[must_use]
    pub const fn len(self) -> Bytes {
        self.end.saturating_sub(self.start)
    }
    /// Whether the range is empty.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.len().is_zero()
    }
    /// The last check before the kernel: an I/O of `length` bytes at `offset` must be within the
    /// range.
    ///
    /// # Errors
    /// [`OutOfSpan`] when any byte is outside the range, or `offset + length` overflows 64 bits.
    pub fn check(self, offset: u64, length: u64) -> Result<(), OutOfSpan> {
        let end = offset.checked_add(length);
        match end {
            Some(end) if offset >= self.start.get() && end <= self.end.get() => Ok(()),
            _ => Err(OutOfSpan {
                offset,
                length,
                span: self,
            }),
        }
    }
}

/// An I/O outside the range that the permit allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{length} bytes at offset {offset} are outside the permitted range [{}, {})",
    span.start.get(),
    span.end.get()
)]
pub struct OutOfSpan {
    /// Offset of the I/O in bytes.
    pub offset: u64,
    /// Length of the I/O in bytes.
    pub length: u64,
    /// The permitted range.
    pub span: Span,
}

/// What a run will do. Each permission is separate: `writes` never permits a trim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Intent {
    /// The run reads.
    pub reads: bool,
    /// The run writes.
    pub writes: bool,
    /// The run trims, discards or writes zeroes by command.
    pub trims: bool,
    /// The bytes it may touch.
    pub range: Span,
    /// A file will be created with or extended to this size, which is a modification even if the
    /// run only reads. Without it, a range that extends past the end of an existing file is
    /// refused.
    pub grows_to: Option<Bytes>,
}

impl Intent {
    /// Reads of `range`, nothing else.
    #[must_use]
    pub const fn read(range: Span) -> Self {
        Self {
            reads: true,
            writes: false,
            trims: false,
            range,
            grows_to: None,
        }
    }
    /// Reads and writes of `range`, without growth.
    #[must_use]
    pub const fn write(range: Span) -> Self {
        Self {
            writes: true,
            ..Self::read(range)
        }
    }
    /// The same intent, creating a file with or extending it to `size`.
    #[must_use]
    pub const fn growing_to(self, size: Bytes) -> Self {
        Self {
            grows_to: Some(size),
            ..self
        }
    }
    /// Whether the run changes the target.
    #[must_use]
    pub const fn modifies(self) -> bool {
        self.writes || self.trims || self.grows_to.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn accepted_ios_are_inside_the_span(start: u64, end: u64, offset: u64, length: u64) {
            let span = Span::new(Bytes::new(start), Bytes::new(end));
            let inside = u128::from(offset) + u128::from(length) <= u128::from(end) && offset >= start;
            prop_assert_eq!(span.check(offset, length).is_ok(), inside);
        }
    }

    #[test]
    fn a_span_rejects_ios_past_either_edge() {
        let span = Span::new(Bytes::new(4096), Bytes::new(8192));
        assert_eq!(span.check(4096, 4096), Ok(()));
        assert_eq!(span.check(8192, 0), Ok(()));
        for (offset, length) in [
            (4095, 1),
            (4096, 4097),
            (8191, 2),
            (u64::MAX, 2),
            (0, u64::MAX),
        ] {
            assert!(span.check(offset, length).is_err(), "{offset}+{length}");
        }
    }

    #[test]
    fn growth_is_a_modification() {
        let intent = Intent::read(Span::new(Bytes::ZERO, Bytes::new(1)));
        assert!(!intent.modifies());
        assert!(intent.growing_to(Bytes::new(1)).modifies());
    }
}
