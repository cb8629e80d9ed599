//! Streams made of other streams: a share of sequential I/O, and runs after a random start.

use super::{Offsets, Span};
use crate::rng::Rng;

/// `percentage_random`: a share of the I/Os is random, the others continue from the last one.
#[derive(Clone)]
pub(crate) struct Blend {
    pub span: Span,
    pub random: Box<dyn Offsets>,
    pub percent: u8,
    pub rng: Rng,
    pub next: u64,
    /// Whether the next I/O is random, if that is decided already.
    pub drawn: Option<bool>,
}

impl Blend {
    fn draw(&mut self) -> bool {
        self.drawn
            .take()
            .unwrap_or_else(|| self.rng.percent(self.percent))
    }
}

impl Offsets for Blend {
    fn next(&mut self, len: u32) -> Option<u64> {
        let at = if self.draw() {
            self.random.next(len)?
        } else if self.next >= self.span.start && self.next + u64::from(len) <= self.span.end {
            self.next
        } else {
            self.span.start
        };
        self.next = at + u64::from(len);
        Some(at)
    }

    fn next_is_random(&mut self) -> bool {
        let random = self.draw();
        self.drawn = Some(random);
        random && self.random.next_is_random()
    }

    fn end_pass(&mut self) {
        self.random.end_pass();
    }
}

/// `rw=randread:N`: a new random offset every N I/Os; the I/Os in between continue from there, or
/// repeat the same offset.
#[derive(Clone)]
pub(crate) struct Burst {
    pub span: Span,
    pub starts: Box<dyn Offsets>,
    pub every: u32,
    pub identical: bool,
    pub left: u32,
    pub at: u64,
}

impl Offsets for Burst {
    fn next(&mut self, len: u32) -> Option<u64> {
        if self.left == 0 || self.at + u64::from(len) > self.span.end {
            self.at = self.starts.next(len)?;
            self.left = self.every;
        }
        self.left -= 1;
        let at = self.at;
        if !self.identical {
            self.at += u64::from(len);
        }
        Some(at)
    }

    fn next_is_random(&mut self) -> bool {
        self.left == 0
    }

    fn end_pass(&mut self) {
        self.left = 0;
        self.starts.end_pass();
    }
}

#[cfg(test)]
mod tests {
    use super::super::Uniform;
    use super::*;
    const SPAN: Span = Span {
        start: 0,
        end: 1 << 30,
        align: 4096,
    };

    #[test]
    fn with_a_quarter_random_three_quarters_are_sequential() {
        let random = Box::new(Uniform::new(SPAN, Rng::new(1, 1)));
        let mut blend = Blend {
            span: SPAN,
            random,
            percent: 25,
            rng: Rng::new(2, 2),
            next: 0,
            drawn: None,
        };
        let walk: Vec<u64> = (0..10_000)
            .map(|_| blend.next(4096).expect("endless"))
            .collect();
        let follows = walk.windows(2).filter(|w| w[1] == w[0] + 4096).count();
        assert!((7_300..=7_700).contains(&follows), "{follows}");
    }

    #[test]
    fn bursts_have_the_requested_length() {
        let starts = Box::new(Uniform::new(SPAN, Rng::new(1, 1)));
        let mut burst = Burst {
            span: SPAN,
            starts,
            every: 8,
            identical: false,
            left: 0,
            at: 0,
        };
        let walk: Vec<u64> = (0..800)
            .map(|_| burst.next(4096).expect("endless"))
            .collect();
        let follows = walk.windows(2).filter(|w| w[1] == w[0] + 4096).count();
        assert_eq!(follows, 700);
    }
}
