//! The size of the next I/O.

use fathom_model::BlockSizes;

use crate::rng::Rng;

/// Draws block sizes.
#[derive(Clone, Debug)]
pub(super) enum Sizes {
    Fixed(u32),
    /// `min + step * below(count)`.
    Range {
        min: u32,
        step: u32,
        count: u64,
    },
    /// Upper ends of the cumulative shares of 2^32, and sizes.
    Split(Vec<(u64, u32)>),
}

impl Sizes {
    pub fn new(sizes: &BlockSizes, unaligned: bool) -> Self {
        match sizes {
            BlockSizes::Fixed(size) => Sizes::Fixed(*size),
            BlockSizes::Range { min, max } if min == max => Sizes::Fixed(*min),
            BlockSizes::Range { min, max } => {
                let step = if unaligned { 1 } else { (*min).max(1) };
                Sizes::Range {
                    min: *min,
                    step,
                    count: u64::from((max - min) / step) + 1,
                }
            }
            BlockSizes::Split(parts) => {
                let total: f64 = parts.iter().map(|part| part.1).sum();
                let mut sum = 0.0;
                let mut shares: Vec<(u64, u32)> = parts
                    .iter()
                    .filter(|part| part.1 > 0.0)
                    .map(|(size, share)| {
                        sum += share / total;
                        ((sum * (1u64 << 32) as f64) as u64, *size)
                    })
                    .collect();
                if let Some(last) = shares.last_mut() {
                    last.0 = 1 << 32;
                }
                Sizes::Split(shares)
            }
        }
    }

    /// Draws from the sizes up to `room`; if there is none, from all sizes, and the I/O then does
    /// not fit. As in fio, a sequential pass can thus reach the end of its region whatever the
    /// sizes before were.
    #[inline]
    pub fn draw_within(&self, room: u64, rng: &mut Rng) -> u32 {
        let len = self.draw(rng);
        if u64::from(len) <= room {
            len
        } else {
            self.draw_smaller(room, len, rng)
        }
    }

    #[cold]
    fn draw_smaller(&self, room: u64, otherwise: u32, rng: &mut Rng) -> u32 {
        match self {
            Sizes::Range { min, step, .. } if u64::from(*min) <= room => {
                min + step * rng.below((room - u64::from(*min)) / u64::from(*step) + 1) as u32
            }
            Sizes::Split(shares) => {
                let lower = std::iter::once(0).chain(shares.iter().map(|share| share.0));
                let fitting = || {
                    lower
                        .clone()
                        .zip(shares)
                        .filter(|(_, (_, size))| u64::from(*size) <= room)
                };
                let mut draw = rng.below(
                    fitting()
                        .map(|(from, (to, _))| to - from)
                        .sum::<u64>()
                        .max(1),
                );
                for (from, (to, size)) in fitting() {
                    if draw < to - from {
                        return *size;
                    }
                    draw -= to - from;
                }
                otherwise
            }
            _ => otherwise,
        }
    }

    #[inline]
    pub fn draw(&self, rng: &mut Rng) -> u32 {
        match self {
            Sizes::Fixed(size) => *size,
            Sizes::Range { min, step, count } => min + step * rng.below(*count) as u32,
            Sizes::Split(shares) => {
                let draw = rng.bits() >> 32;
                shares
                    .iter()
                    .find(|share| draw < share.0)
                    .expect("shares reach 2^32")
                    .1
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_follow_their_shares() {
        let split = BlockSizes::Split(vec![
            (4096, 60.0),
            (65_536, 30.0),
            (1 << 20, 10.0),
            (512, 0.0),
        ]);
        let sizes = Sizes::new(&split, false);
        let mut rng = Rng::new(1, 1);
        let drawn: Vec<u32> = (0..100_000).map(|_| sizes.draw(&mut rng)).collect();
        let share = |size| drawn.iter().filter(|s| **s == size).count();
        assert!(share(4096).abs_diff(60_000) < 900 && share(65_536).abs_diff(30_000) < 900);
        assert_eq!(share(512), 0);
        assert_eq!(share(4096) + share(65_536) + share(1 << 20), 100_000);
    }

    #[test]
    fn only_sizes_that_fit_are_drawn_by_their_shares() {
        let split = BlockSizes::Split(vec![(512, 25.0), (8192, 50.0), (1024, 25.0)]);
        let (sizes, mut rng) = (Sizes::new(&split, false), Rng::new(1, 1));
        let drawn: Vec<u32> = (0..10_000)
            .map(|_| sizes.draw_within(4096, &mut rng))
            .collect();
        let share = |size| drawn.iter().filter(|s| **s == size).count();
        assert!(
            share(512).abs_diff(5000) < 300 && share(512) + share(1024) == 10_000,
            "{}",
            share(512)
        );
        assert!(
            (0..100).all(|_| sizes.draw_within(600, &mut rng) == 512),
            "only this size fits"
        );
        assert!(
            (0..100).all(|_| sizes.draw_within(100, &mut rng) >= 512),
            "no size fits: any size"
        );
        let range = Sizes::new(
            &BlockSizes::Range {
                min: 512,
                max: 4096,
            },
            false,
        );
        let drawn: Vec<u32> = (0..10_000)
            .map(|_| range.draw_within(1535, &mut rng))
            .collect();
        assert!(
            drawn.contains(&512) && drawn.contains(&1024) && drawn.iter().all(|len| *len <= 1024)
        );
    }

    #[test]
    fn a_range_gives_multiples_of_its_minimum() {
        let sizes = Sizes::new(
            &BlockSizes::Range {
                min: 512,
                max: 4096,
            },
            false,
        );
        let mut rng = Rng::new(1, 1);
        let mut seen = [0u32; 9];
        (0..8000).for_each(|_| seen[(sizes.draw(&mut rng) / 512) as usize] += 1);
        assert!(
            seen[0] == 0 && seen[1..].iter().all(|n| (800..1200).contains(n)),
            "{seen:?}"
        );
        let loose = Sizes::new(
            &BlockSizes::Range {
                min: 512,
                max: 4096,
            },
            true,
        );
        assert!((0..100).any(|_| !loose.draw(&mut rng).is_multiple_of(512)));
    }
}
