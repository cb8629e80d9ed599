//! The offset of the next I/O: one small generator for each access pattern.

mod aged;
mod fixed;
mod permutation;
mod sequential;
mod skewed;
mod strided;
mod uniform;
mod wrapped;
mod zipf;
mod zoned;

pub(crate) use self::aged::{Aged, Flash, physical};
pub(crate) use self::fixed::Fixed;
pub(crate) use self::permutation::Permutation;
pub(crate) use self::sequential::Sequential;
pub(crate) use self::skewed::Skewed;
pub(crate) use self::strided::{RandomStrides, Strides};
pub(crate) use self::uniform::{Permuted, Uniform};
pub(crate) use self::wrapped::{Blend, Burst};
pub(crate) use self::zoned::Zoned;

/// The bytes of a file that I/O may access: `start..end`, in blocks of `align`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub start: u64,
    pub end: u64,
    pub align: u64,
}

impl Span {
    /// Whole blocks in the span.
    pub fn blocks(self) -> u64 {
        (self.end - self.start) / self.align
    }
    /// Start of block `n`.
    #[inline]
    pub fn at(self, n: u64) -> u64 {
        self.start + n * self.align
    }
    /// Start of block `n`, moved back so that `len` bytes end inside the span.
    #[inline]
    pub fn fit(self, n: u64, len: u32) -> u64 {
        let last = self.end.saturating_sub(u64::from(len)).max(self.start);
        let last = self.start + (last - self.start) / self.align * self.align;
        self.at(n).min(last)
    }
}

/// A stream of offsets. `None` ends a pass over the span; the next call starts the next pass.
pub(crate) trait Offsets: Send + OffsetsClone {
    /// Start of the next I/O of `len` bytes.
    fn next(&mut self, len: u32) -> Option<u64>;

    /// Bytes left in this pass, if the stream has a fixed end: the size of the next I/O is drawn to
    /// fit.
    fn room(&self) -> u64 {
        u64::MAX
    }

    /// Whether the next I/O begins at a random offset, not where the one before ended.
    fn next_is_random(&mut self) -> bool {
        true
    }

    /// Ends the pass early: the next call starts a new one. Streams without passes do nothing.
    fn end_pass(&mut self) {}

    /// Fills `out` with the offsets of I/Os of `len` bytes each; fewer are returned only at the end
    /// of a pass.
    fn fill(&mut self, len: u32, out: &mut [u64]) -> usize {
        for (n, slot) in out.iter_mut().enumerate() {
            match self.next(len) {
                Some(offset) => *slot = offset,
                None => return n,
            }
        }
        out.len()
    }
}

/// Streams can be copied, so that a pass of writes can be repeated to verify it.
pub(crate) trait OffsetsClone {
    fn boxed_clone(&self) -> Box<dyn Offsets>;
}

impl<T: Offsets + Clone + 'static> OffsetsClone for T {
    fn boxed_clone(&self) -> Box<dyn Offsets> {
        Box::new(self.clone())
    }
}

impl Clone for Box<dyn Offsets> {
    fn clone(&self) -> Self {
        (**self).boxed_clone()
    }
}
