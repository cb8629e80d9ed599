//! Where on a device I/O happens, over time, in bounded memory.

use crate::event::SECTOR;

const COLUMNS: usize = 256;
const ROWS: usize = 512;
/// The first length of a column, nanoseconds, and height of a row, sectors.
const COLUMN_NS: u64 = 1 << 24;
const ROW_SECTORS: u64 = (1 << 20) / SECTOR;

/// Counts of I/Os by time and by position on the device. Columns and rows double in length when I/O is beyond the last, so that
/// it takes 512 KiB at most, and nothing without I/O.
#[derive(Clone, Debug)]
pub struct OffsetMap {
    column_ns: u64,
    row_sectors: u64,
    /// Column by column.
    counts: Vec<u32>,
}

/// The used part of an [`OffsetMap`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OffsetCounts {
    /// Length of a column, nanoseconds.
    pub column_ns: u64,
    /// Where the first row begins on the device, bytes.
    pub first_byte: u64,
    /// Height of a row, bytes.
    pub row_bytes: u64,
    /// Rows.
    pub rows: usize,
    /// I/Os, column by column.
    pub counts: Vec<u64>,
}

impl Default for OffsetMap {
    fn default() -> Self {
        Self {
            column_ns: COLUMN_NS,
            row_sectors: ROW_SECTORS,
            counts: Vec::new(),
        }
    }
}

impl OffsetMap {
    /// Counts an I/O.
    pub(crate) fn add(&mut self, elapsed_ns: u64, sector: u64) {
        if self.counts.is_empty() {
            self.counts = vec![0; COLUMNS * ROWS];
        }
        while elapsed_ns / self.column_ns >= COLUMNS as u64 {
            self.double_columns();
        }
        while sector / self.row_sectors >= ROWS as u64 {
            self.double_rows();
        }
        let column = (elapsed_ns / self.column_ns) as usize;
        let row = (sector / self.row_sectors) as usize;
        let count = &mut self.counts[column * ROWS + row];
        *count = count.saturating_add(1);
    }

    fn double_columns(&mut self) {
        self.column_ns *= 2;
        for column in 0..COLUMNS {
            for row in 0..ROWS {
                let place = |column: usize| column * ROWS + row;
                let sum = if column < COLUMNS / 2 {
                    self.counts[place(2 * column)]
                        .saturating_add(self.counts[place(2 * column + 1)])
                } else {
                    0
                };
                self.counts[place(column)] = sum;
            }
        }
    }

    fn double_rows(&mut self) {
        self.row_sectors *= 2;
        for column in self.counts.chunks_mut(ROWS) {
            for row in 0..ROWS {
                column[row] = if row < ROWS / 2 {
                    column[2 * row].saturating_add(column[2 * row + 1])
                } else {
                    0
                };
            }
        }
    }

    /// The rows between the first and the last I/O, at most `most_rows` of them, and the columns to the last I/O. `None` without
    /// I/O.
    #[must_use]
    pub fn used(&self, most_rows: usize) -> Option<OffsetCounts> {
        let used = |row: &usize| self.counts.chunks(ROWS).any(|column| column[*row] > 0);
        let first = (0..ROWS).find(used)?;
        let last = (0..ROWS).rev().find(used)?;
        let columns = self
            .counts
            .chunks(ROWS)
            .rposition(|column| column.iter().any(|count| *count > 0))?
            + 1;
        let merged = (last + 1 - first).div_ceil(most_rows.max(1));
        let rows = (last + 1 - first).div_ceil(merged);
        let counts = self
            .counts
            .chunks(ROWS)
            .take(columns)
            .flat_map(|column| {
                column[first..=last]
                    .chunks(merged)
                    .map(|some| some.iter().map(|count| u64::from(*count)).sum())
            })
            .collect();
        let row_bytes = self.row_sectors * SECTOR;
        Some(OffsetCounts {
            column_ns: self.column_ns,
            first_byte: first as u64 * row_bytes,
            row_bytes: row_bytes * merged as u64,
            rows,
            counts,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each I/O is in the cell of its time and offset, however often columns and rows were doubled meanwhile.
    #[test]
    fn every_io_is_counted_where_it_was() {
        let mut map = OffsetMap::default();
        assert_eq!(map.used(128), None);
        let mut ios = Vec::new();
        for n in 0..5_000u64 {
            // 50 s, and from 1 GiB up to 200 GiB.
            let io = (n * 10_000_000, (1 << 21) + n * n * 16);
            ios.push(io);
            map.add(io.0, io.1);
        }
        let used = map.used(128).unwrap();
        assert!(used.rows <= 128 && used.counts.len() <= COLUMNS * 128);
        let mut expected = vec![0; used.counts.len()];
        for (time, sector) in ios {
            let column = (time / used.column_ns) as usize;
            let row = ((sector * SECTOR - used.first_byte) / used.row_bytes) as usize;
            expected[column * used.rows + row] += 1;
        }
        assert_eq!(used.counts, expected);
        assert_eq!(used.counts.iter().sum::<u64>(), 5_000);
    }
}
