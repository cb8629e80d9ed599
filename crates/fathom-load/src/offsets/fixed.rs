//! Blocks in an order given by the user.

use super::{Offsets, Span};

/// A repeated sequence of blocks. With `advances` each repetition starts after the previous one,
/// and again at the start of the span when it no longer fits.
#[derive(Clone, Debug)]
pub(crate) struct Fixed {
    span: Span,
    blocks: Vec<u64>,
    advances: bool,
    base: u64,
    next: usize,
}

impl Fixed {
    /// `None` if the sequence is empty or names a block beyond the span.
    pub fn new(span: Span, blocks: Vec<u64>, advances: bool) -> Option<Self> {
        let fits = blocks
            .iter()
            .max()
            .is_some_and(|last| *last < span.blocks());
        fits.then_some(Fixed {
            span,
            blocks,
            advances,
            base: 0,
            next: 0,
        })
    }

    fn again(&mut self) {
        self.next = 0;
        if self.advances {
            self.base += self.blocks.len() as u64;
            let last = self.blocks.iter().max().copied().unwrap_or(0);
            if self.base + last >= self.span.blocks() {
                self.base = 0;
            }
        }
    }
}

impl Offsets for Fixed {
    fn next(&mut self, len: u32) -> Option<u64> {
        let block = self.base + self.blocks[self.next];
        self.next += 1;
        if self.next == self.blocks.len() {
            self.again();
        }
        Some(self.span.fit(block, len))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn walk(advances: bool, n: usize) -> Vec<u64> {
        let span = Span {
            start: 4096,
            end: 4096 + 12 * 4096,
            align: 4096,
        };
        let mut offsets = Fixed::new(span, vec![2, 0, 1], advances).expect("fits");
        (0..n)
            .map(|_| offsets.next(4096).expect("endless") / 4096 - 1)
            .collect()
    }

    /// The two examples of fio's manual.
    #[test]
    fn blocks_come_in_the_given_order() {
        assert_eq!(walk(false, 6), [2, 0, 1, 2, 0, 1]);
        assert_eq!(walk(true, 6), [2, 0, 1, 5, 3, 4]);
        // Twelve blocks hold four groups; then it starts over.
        assert_eq!(walk(true, 15)[9..], [11, 9, 10, 2, 0, 1]);
        let span = Span {
            start: 0,
            end: 2 * 4096,
            align: 4096,
        };
        assert!(Fixed::new(span, vec![2, 0, 1], false).is_none());
    }
}
