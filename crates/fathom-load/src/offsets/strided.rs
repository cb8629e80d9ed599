//! `zonemode=strided`: a given amount of I/O in one zone, then on to the next zone.
//!
//! As in fio, the amount of a pass is the size of the whole span, whatever the zones leave out:
//! after the last zone follows the first. A zone that the end of the span cuts short ends the pass
//! when it is used up.

use fathom_model::Strided;

use super::{Offsets, Span};

/// The current zone.
#[derive(Clone, Copy, Debug)]
struct Window {
    whole: Span,
    zone: Strided,
    at: u64,
    done: u64,
}

impl Window {
    fn new(whole: Span, zone: Strided) -> Self {
        Window {
            whole,
            zone,
            at: whole.start,
            done: 0,
        }
    }

    fn end(&self) -> u64 {
        self.at.saturating_add(self.zone.range.get())
    }

    /// Moves on to the next zone when this one has done its amount. Returns whether it did.
    fn next_zone(&mut self) -> bool {
        if self.done < self.zone.size.get() {
            return false;
        }
        let next = self.end().saturating_add(self.zone.skip.get());
        *self = Window {
            at: if next >= self.whole.end {
                self.whole.start
            } else {
                next
            },
            done: 0,
            ..*self
        };
        true
    }
}

/// Sequential blocks inside each zone.
#[derive(Clone, Debug)]
pub(crate) struct Strides {
    window: Window,
    next: u64,
}

impl Strides {
    pub fn new(whole: Span, zone: Strided) -> Self {
        Strides {
            window: Window::new(whole, zone),
            next: whole.start,
        }
    }
}

impl Offsets for Strides {
    fn next(&mut self, len: u32) -> Option<u64> {
        // An amount larger than the zone repeats it.
        if self.window.next_zone() || self.next >= self.window.end() {
            self.next = self.window.at;
        }
        let (at, len) = (self.next, u64::from(len));
        if at + len > self.window.whole.end {
            self.end_pass();
            return None;
        }
        self.next = at + len;
        self.window.done += len;
        Some(at)
    }

    fn end_pass(&mut self) {
        *self = Strides::new(self.window.whole, self.window.zone);
    }
}

/// Creates the offsets inside one zone.
type Make = fn(Span, u64) -> Box<dyn Offsets>;

/// Random offsets, drawn anew for each zone.
#[derive(Clone)]
pub(crate) struct RandomStrides {
    window: Window,
    make: Make,
    seed: u64,
    inner: Box<dyn Offsets>,
}

impl RandomStrides {
    /// `make` creates the stream inside one zone.
    pub fn new(whole: Span, zone: Strided, seed: u64, make: Make) -> Self {
        let window = Window::new(whole, zone);
        RandomStrides {
            window,
            make,
            seed,
            inner: make(inside(&window), seed ^ whole.start),
        }
    }
}

fn inside(window: &Window) -> Span {
    Span {
        start: window.at,
        end: window.end().min(window.whole.end),
        ..window.whole
    }
}

impl Offsets for RandomStrides {
    fn next(&mut self, len: u32) -> Option<u64> {
        if self.window.next_zone() {
            let span = inside(&self.window);
            if span.end - span.start < u64::from(len) {
                self.end_pass();
                return None;
            }
            self.inner = (self.make)(span, self.seed ^ span.start);
        }
        self.window.done += u64::from(len);
        self.inner.next(len).or_else(|| self.inner.next(len))
    }

    fn end_pass(&mut self) {
        *self = RandomStrides::new(self.window.whole, self.window.zone, self.seed, self.make);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_model::Bytes;

    /// The first `n` offsets of blocks of `len` KiB, in KiB, over `span` KiB.
    fn walk(span: u64, zone: [u64; 3], len: u32, n: usize) -> Vec<u64> {
        let [size, range, skip] = zone.map(|kib| Bytes::new(kib << 10));
        let whole = Span {
            start: 0,
            end: span << 10,
            align: u64::from(len) << 10,
        };
        let mut strides = Strides::new(whole, Strided { size, range, skip });
        std::iter::from_fn(|| strides.next(len << 10))
            .take(n)
            .map(|at| at >> 10)
            .collect()
    }

    /// fio 3.33: after the last zone follows the first.
    #[test]
    fn strides_do_their_amount_in_each_zone_and_wrap() {
        assert_eq!(walk(32, [8, 16, 0], 4, 6), [0, 4, 16, 20, 0, 4]);
        assert_eq!(walk(32, [8, 8, 8], 4, 6), [0, 4, 16, 20, 0, 4]);
        // An amount larger than the zone repeats it.
        assert_eq!(walk(32, [16, 8, 0], 4, 6), [0, 4, 0, 4, 8, 12]);
        // The block that crosses the amount is the last one of its zone.
        assert_eq!(walk(64, [16, 32, 0], 12, 5), [0, 12, 32, 44, 0]);
    }

    /// fio 3.33: size=1000k zonesize=60k zonerange=120k reads 8 zones of 15 blocks and 10 blocks of
    /// the ninth.
    #[test]
    fn a_zone_that_is_cut_short_ends_the_pass() {
        assert_eq!(walk(1000, [60, 120, 0], 4, 1000).len(), 130);
    }

    #[test]
    fn random_strides_stay_in_their_zone() {
        let zone = Strided {
            size: Bytes::new(40),
            range: Bytes::new(50),
            skip: Bytes::new(10),
        };
        let make: Make = |span, seed| {
            Box::new(super::super::Uniform::new(
                span,
                crate::rng::Rng::new(seed, 1),
            ))
        };
        let mut strides = RandomStrides::new(
            Span {
                start: 0,
                end: 120,
                align: 10,
            },
            zone,
            1,
            make,
        );
        let seen: Vec<u64> = std::iter::from_fn(|| strides.next(10)).take(12).collect();
        assert!(
            seen[..4].iter().chain(&seen[8..]).all(|at| *at < 50),
            "{seen:?}"
        );
        assert!(
            seen[4..8].iter().all(|at| (60..110).contains(at)),
            "{seen:?}"
        );
    }
}
