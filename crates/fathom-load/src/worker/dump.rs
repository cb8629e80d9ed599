//! `verify_dump`: what was found, and what should have been found, in files named as fio names
//! them.

use std::path::Path;

use super::Worker;
use crate::clock::Clock;
use crate::engine::Engine;
use crate::host::Host;
use crate::verify::{BlockMismatch, Mismatch, SECTOR, SectorStamp, Sectors, Stamper};

/// Wrong blocks of one job that are saved; more would fill a disk without telling more.
const MOST: u32 = 1000;

/// A piece of a block, for a file each.
pub(super) struct Dump {
    /// Where it stands in its file or device, bytes.
    offset: u64,
    /// What was read, and what fio calls it.
    found: (&'static str, Vec<u8>),
    /// What should have been read, where that is known.
    wanted: Option<Vec<u8>>,
}

impl Dump {
    /// The piece that a header of fio says is wrong. Of one without a good header nobody knows what
    /// it should hold.
    pub fn of_piece(stamper: &Stamper, block: &[u8], offset: u64, mismatch: &Mismatch) -> Dump {
        let from = (mismatch.offset - offset) as usize;
        let piece = &block[from..from + mismatch.len as usize];
        let wanted = stamper
            .expected_piece(piece, from, offset)
            .filter(|_| mismatch.is_about_data());
        let word = if wanted.is_some() {
            "received"
        } else {
            "hdr_fail"
        };
        Dump {
            offset: mismatch.offset,
            found: (word, piece.to_vec()),
            wanted,
        }
    }

    /// A block of ours; what it should hold is known where one of its sectors is right.
    pub fn of_block(sectors: &Sectors, block: &[u8], offset: u64, blemish: &BlockMismatch) -> Dump {
        let wanted = blemish.right.map(|right| {
            let mut wanted = vec![0; block.len()];
            for (index, sector) in wanted.as_chunks_mut::<SECTOR>().0.iter_mut().enumerate() {
                let stamp = SectorStamp {
                    offset: offset + (index * SECTOR) as u64,
                    ..shifted(right, offset, index)
                };
                sectors.write(sector, &stamp);
            }
            wanted
        });
        Dump {
            offset,
            found: ("received", block.to_vec()),
            wanted,
        }
    }
}

/// The stamp of the sector at `index` of the block at `offset`, from that of another sector of the
/// same write.
fn shifted(right: SectorStamp, offset: u64, index: usize) -> SectorStamp {
    let seat = right.offset.saturating_sub(offset) / SECTOR as u64;
    SectorStamp {
        index: (u64::from(right.index) + index as u64).saturating_sub(seat) as u16,
        ..right
    }
}

impl<E: Engine, C: Clock, H: Host> Worker<'_, E, C, H> {
    /// Saves what was wrong, as long as there is room.
    #[cold]
    pub(super) fn save(&mut self, file: u32, dump: Dump) {
        if self.dumped == MOST {
            return;
        }
        self.dumped += 1;
        let path = self
            .job
            .files
            .paths
            .get(file as usize)
            .map_or(Path::new("target"), |path| path);
        let name = path
            .file_name()
            .map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        let (word, found) = dump.found;
        let pieces = [
            Some((word, found)),
            dump.wanted.map(|wanted| ("expected", wanted)),
        ];
        for (word, bytes) in pieces.into_iter().flatten() {
            if let Err(error) = self
                .host
                .save_output(&format!("{name}.{}.{word}", dump.offset), &bytes)
            {
                self.frame.notes.push(error.to_string());
                self.dumped = MOST;
            }
        }
        if self.dumped == MOST {
            self.frame
                .notes
                .push(format!("verify_dump saved {MOST} wrong blocks at most"));
        }
    }
}
