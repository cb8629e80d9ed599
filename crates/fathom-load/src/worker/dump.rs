//! `verify_dump`: found and expected content, in files named as in fio.

use crate::verify::{BlockMismatch, Mismatch, SECTOR, SectorStamp, Sectors, Stamper};

/// A wrong block, or the wrong piece of one.
pub(super) struct Dump {
    /// Where it is in its file or device, bytes.
    offset: u64,
    /// The content read, and its name in fio.
    found: (&'static str, Vec<u8>),
    /// The expected content, where it is known.
    wanted: Option<Vec<u8>>,
}

impl Dump {
    /// The piece that fio's header says is wrong. Without a good header the right content is not
    /// known.
    pub fn of_piece(stamper: &Stamper, block: &[u8], offset: u64, mismatch: &Mismatch) -> Dump {
        let from = (mismatch.offset - offset) as usize;
        let piece = &block[from..from + mismatch.len as usize];
        let wanted = stamper
            .expected_piece(piece, from, offset)
            .filter(|_| mismatch.is_about_data());
        let name = if wanted.is_some() {
            "received"
        } else {
            "hdr_fail"
        };
        Dump {
            offset: mismatch.offset,
            found: (name, piece.to_vec()),
            wanted,
        }
    }

    /// A block with fathom's stamps. Its right content is known where one of its sectors is right.
    pub fn of_block(
        sectors: &Sectors,
        block: &[u8],
        offset: u64,
        mismatch: &BlockMismatch,
    ) -> Dump {
        let wanted = mismatch.right.map(|right| {
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

impl Dump {
    /// Names and contents of the files to save for a target called `target`.
    pub fn files(self, target: &str) -> impl Iterator<Item = (String, Vec<u8>)> {
        let expected = self.wanted.map(|wanted| ("expected", wanted));
        let pieces = [Some(self.found), expected].into_iter().flatten();
        let file = move |(name, bytes)| (format!("{target}.{}.{name}", self.offset), bytes);
        pieces.map(file)
    }
}

/// The stamp of the sector at `index` of the block at `offset`, from that of another sector of the
/// same write.
fn shifted(right: SectorStamp, offset: u64, index: usize) -> SectorStamp {
    let position = right.offset.saturating_sub(offset) / SECTOR as u64;
    SectorStamp {
        index: (u64::from(right.index) + index as u64).saturating_sub(position) as u16,
        ..right
    }
}
