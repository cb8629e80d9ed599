//! Random I/O of several sizes without replacement, in bounded memory at any size of the target.
//!
//! The region is divided into slabs. The slabs are processed in a permuted order, each is divided
//! into pieces of drawn sizes, and the pieces of many slabs are shuffled in a window. Every byte is
//! in exactly one piece.

use fathom_model::{Direction, PerDirection};

use super::mixed::{Mix, Syncs};
use super::sizes::Sizes;
use super::steering::Steering;
use super::{PlannedIo, op_of};
use crate::offsets::{Permutation, Span};
use crate::rng::Rng;

/// Pieces that are shuffled together: 24 KiB of state.
const WINDOW: usize = 1024;
/// Size of a slab, in blocks of the largest size.
const BLOCKS_PER_SLAB: u64 = 8;

#[derive(Clone)]
pub(super) struct ShuffledSlabs {
    spans: Vec<Span>,
    /// First slab number of each file, and the number of slabs at the end.
    first_slab: Vec<u64>,
    slab: u64,
    order: Permutation,
    seed: u64,
    pass: u64,
    next: u64,
    window: Vec<PlannedIo>,
    mix: Mix,
    sizes: PerDirection<Sizes>,
    rng: Rng,
    syncs: Syncs,
    /// Chooses the directions instead of `mix`.
    pub steering: Option<Steering>,
}

impl ShuffledSlabs {
    pub fn new(
        spans: Vec<Span>,
        largest: u32,
        mix: Mix,
        sizes: PerDirection<Sizes>,
        syncs: Syncs,
        seed: u64,
    ) -> Self {
        let align = spans[0].align;
        let slab = (u64::from(largest) * BLOCKS_PER_SLAB).next_multiple_of(align);
        let mut first_slab = vec![0];
        for span in &spans {
            let slabs = (span.blocks() * align).div_ceil(slab);
            first_slab.push(first_slab.last().expect("starts with one") + slabs);
        }
        let order = Permutation::new(*first_slab.last().expect("starts with one"), seed);
        let rng = Rng::new(seed, 0x7469_6c65);
        let window = Vec::with_capacity(WINDOW + slab.div_ceil(align) as usize);
        ShuffledSlabs {
            spans,
            first_slab,
            slab,
            order,
            seed,
            pass: 0,
            next: 0,
            window,
            mix,
            sizes,
            rng,
            syncs,
            steering: None,
        }
    }

    pub fn fill(&mut self, left: &mut u64, out: &mut Vec<PlannedIo>, want: usize) {
        let end = out.len() + want;
        while out.len() < end && *left > 0 {
            while self.window.len() < WINDOW && self.next < self.order.len() {
                let slab = self.order.at(self.next);
                self.next += 1;
                self.cut(slab, None);
            }
            if self.window.is_empty() {
                return;
            }
            let steered = self.steering.as_mut().map(Steering::next);
            let planned_io = match steered {
                None => {
                    let pick = self.rng.below(self.window.len() as u64) as usize;
                    self.window.swap_remove(pick)
                }
                Some(direction) => self.take_of(direction),
            };
            *left = left.saturating_sub(u64::from(planned_io.len));
            out.push(planned_io);
            out.extend(self.syncs.after(planned_io));
        }
    }

    /// Takes a piece of this direction from the window. The last pieces of a pass are used for any
    /// direction.
    fn take_of(&mut self, direction: Direction) -> PlannedIo {
        let op = op_of(direction);
        let mut fitting = self.window.iter().filter(|piece| piece.op == op).count() as u64;
        if fitting == 0 && self.next < self.order.len() {
            let slab = self.order.at(self.next);
            self.next += 1;
            let before = self.window.len();
            self.cut(slab, Some(direction));
            fitting = (self.window.len() - before) as u64;
        }
        if fitting == 0 {
            let pick = self.rng.below(self.window.len() as u64) as usize;
            return PlannedIo {
                op,
                ..self.window.swap_remove(pick)
            };
        }
        let nth = self.rng.below(fitting) as usize;
        let mut pieces = self.window.iter().enumerate();
        let pick = pieces
            .by_ref()
            .filter(|(_, piece)| piece.op == op)
            .nth(nth)
            .map_or(0, |(at, _)| at);
        self.window.swap_remove(pick)
    }

    /// Cuts a slab into pieces, all of direction `only` if it is given.
    fn cut(&mut self, slab: u64, only: Option<Direction>) {
        let file = self.first_slab.partition_point(|first| *first <= slab) - 1;
        let span = self.spans[file];
        let mut at = span.start + (slab - self.first_slab[file]) * self.slab;
        let end = (at + self.slab).min(span.start + span.blocks() * span.align);
        while at < end {
            let direction = only.unwrap_or_else(|| self.mix.draw(&mut self.rng));
            let drawn =
                u64::from(self.sizes[direction].draw(&mut self.rng)).next_multiple_of(span.align);
            let len = drawn.min(end - at) as u32;
            let then_write = matches!(self.mix, Mix::TrimWrite);
            self.window.push(PlannedIo {
                offset: at,
                len,
                file: file as u32,
                op: op_of(direction),
                then_write,
                prio: 0,
            });
            at += u64::from(len);
        }
    }

    pub fn restart(&mut self) {
        self.pass += 1;
        self.next = 0;
        self.window.clear();
        self.order = Permutation::new(
            self.order.len(),
            self.seed ^ self.pass.wrapping_mul(0xa076_1d64_78bd_642f),
        );
    }
}
