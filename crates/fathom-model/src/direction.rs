//! The three directions of I/O, and a value for each of them.

use std::ops::{Index, IndexMut};

/// What an I/O does with the target's data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Direction {
    /// Data comes from the target.
    Read = 0,
    /// Data goes to the target.
    Write = 1,
    /// The target may discard a range.
    Trim = 2,
}

impl Direction {
    /// Read, write, trim: the order of every table.
    pub const ALL: [Direction; 3] = [Direction::Read, Direction::Write, Direction::Trim];

    /// Its name in results.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Direction::Read => "read",
            Direction::Write => "write",
            Direction::Trim => "trim",
        }
    }
}

/// One value for reads, one for writes, one for trims.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PerDirection<T>(pub [T; 3]);

impl<T: Clone> PerDirection<T> {
    /// The same value for all three.
    #[must_use]
    pub fn all(value: T) -> Self {
        PerDirection([value.clone(), value.clone(), value])
    }
}

impl<T> PerDirection<T> {
    /// One value made for each direction.
    pub fn from_fn(mut make: impl FnMut(Direction) -> T) -> Self {
        PerDirection(Direction::ALL.map(&mut make))
    }

    /// The three values with their directions.
    pub fn iter(&self) -> impl Iterator<Item = (Direction, &T)> {
        Direction::ALL.into_iter().zip(&self.0)
    }
}

impl<T> Index<Direction> for PerDirection<T> {
    type Output = T;
    fn index(&self, direction: Direction) -> &T {
        &self.0[direction as usize]
    }
}

impl<T> IndexMut<Direction> for PerDirection<T> {
    fn index_mut(&mut self, direction: Direction) -> &mut T {
        &mut self.0[direction as usize]
    }
}
