//! Sequential offsets, with an optional skip between I/Os, forwards or backwards.

use super::{Offsets, Span};

/// Each I/O starts where the last one ended, plus `skip`.
#[derive(Clone, Debug)]
pub(crate) struct Sequential {
    span: Span,
    skip: i64,
    next: Option<u64>,
}

impl Sequential {
    pub fn new(span: Span, skip: i64) -> Self {
        Sequential {
            span,
            skip,
            next: None,
        }
    }

    /// The first offset of a pass: a backward pass starts at the end.
    fn first(&self, len: u32) -> u64 {
        if self.skip < 0 && self.skip.unsigned_abs() > u64::from(len) {
            self.span
                .end
                .saturating_sub(u64::from(len))
                .max(self.span.start)
        } else {
            self.span.start
        }
    }
}

impl Offsets for Sequential {
    fn next(&mut self, len: u32) -> Option<u64> {
        let at = match self.next {
            Some(at) => at,
            None => self.first(len),
        };
        if at < self.span.start
            || at
                .checked_add(u64::from(len))
                .is_none_or(|end| end > self.span.end)
        {
            self.next = None;
            return None;
        }
        let after = (at + u64::from(len)).checked_add_signed(self.skip);
        // Below zero is before any span: the next call ends the pass.
        self.next = Some(after.unwrap_or(u64::MAX));
        Some(at)
    }

    fn room(&self) -> u64 {
        match self.next {
            Some(at) if at >= self.span.start && at < self.span.end => self.span.end - at,
            _ => u64::MAX,
        }
    }

    fn end_pass(&mut self) {
        self.next = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn walk(mut offsets: impl Offsets, len: u32) -> Vec<u64> {
        std::iter::from_fn(|| offsets.next(len)).collect()
    }
    const SPAN: Span = Span {
        start: 100,
        end: 140,
        align: 10,
    };

    #[test]
    fn a_pass_covers_the_span_and_then_starts_over() {
        let mut offsets = Sequential::new(SPAN, 0);
        let pass = |o: &mut Sequential| std::iter::from_fn(|| o.next(10)).collect::<Vec<_>>();
        assert_eq!(pass(&mut offsets), [100, 110, 120, 130]);
        assert_eq!(pass(&mut offsets), [100, 110, 120, 130]);
    }

    #[test]
    fn a_tail_smaller_than_a_block_is_not_accessed() {
        assert_eq!(
            walk(Sequential::new(Span { end: 139, ..SPAN }, 0), 10),
            [100, 110, 120]
        );
    }

    #[test]
    fn a_skip_of_half_a_block_reads_85_of_128() {
        // fio's t0007: rw=read:512k bs=1m size=128m reads 87040 KiB.
        let span = Span {
            start: 0,
            end: 128 << 20,
            align: 1 << 20,
        };
        assert_eq!(
            walk(Sequential::new(span, 512 << 10), 1 << 20).len() * 1024,
            87_040
        );
    }

    #[test]
    fn a_negative_skip_walks_backwards_from_the_end() {
        assert_eq!(walk(Sequential::new(SPAN, -20), 10), [130, 120, 110, 100]);
    }
}
