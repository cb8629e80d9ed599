//! Writes content and stamps, and recreates them for comparison.

use fathom_model::{Fill, Payload, Verify};

use super::stamp::{self, BODY, SECTOR, SectorStamp};
use crate::payload::{Content, Files, PayloadError, Stream};

/// Positions in the pool at which the content of a sector may begin.
const STARTS: usize = 2048;
const WORDS: usize = (BODY.end - BODY.start) / 8;

/// Identifies a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Write {
    /// Number of the write in its job, from 1.
    pub number: u64,
    /// Pass of the job, from 1.
    pub generation: u32,
    /// Nanoseconds since 1970.
    pub when: u64,
}

/// Stamps and checks the blocks of one worker; allocates nothing for a good block.
#[derive(Clone, Debug)]
pub(crate) struct Sectors {
    pub run: u64,
    pub job: u16,
    /// One for each file.
    pub targets: Vec<u32>,
    /// Data of any job of the run is accepted.
    pub any_job: bool,
    body: Body,
}

/// Source of the content.
#[derive(Clone, Debug)]
enum Body {
    /// A part of this pool, each word combined with a key: as incompressible as new random bytes,
    /// for the cost of a copy.
    Pool(Pool),
    /// The content that the job requests; two writes to the same offset may then have the same
    /// content.
    Requested(Content),
}

impl Sectors {
    /// Stamps for job `job` of run `run`; `targets` are the hashes of its files' paths.
    ///
    /// # Errors
    /// As for [`Content::new`].
    pub fn new(
        verify: &Verify,
        payload: &Payload,
        run: u64,
        job: u16,
        targets: Vec<u32>,
        files: Files<'_>,
    ) -> Result<Self, PayloadError> {
        let requested = if verify.pattern.is_empty() {
            payload.fill.clone()
        } else {
            Fill::Pattern(verify.pattern.clone())
        };
        let body = match requested {
            Fill::Random | Fill::Compressible { percent: 0, .. } => Body::Pool(Pool::new(run)),
            fill => Body::Requested(Content::new(&fill, files)?),
        };
        Ok(Sectors {
            run,
            job,
            targets,
            any_job: false,
            body,
        })
    }

    /// Fills and stamps a block at byte `offset` of a file. Its length is a multiple of [`SECTOR`].
    pub fn stamp(&self, buf: &mut [u8], file: u32, offset: u64, write: Write) {
        let of = (buf.len() / SECTOR) as u16;
        let first = SectorStamp {
            run: self.run,
            offset,
            number: write.number,
            when: write.when,
            generation: write.generation,
            job: self.job,
            file: file as u16,
            target: self.target(file),
            index: 0,
            of,
        };
        let (sectors, _) = buf.as_chunks_mut::<SECTOR>();
        for (index, sector) in sectors.iter_mut().enumerate() {
            let offset = offset + (index * SECTOR) as u64;
            self.write(
                sector,
                &SectorStamp {
                    offset,
                    index: index as u16,
                    ..first
                },
            );
        }
    }

    /// Writes one sector with this stamp: the same stamp gives the same bytes.
    #[inline]
    pub fn write(&self, sector: &mut [u8; SECTOR], stamp: &SectorStamp) {
        let content = self.fill(sector, stamp);
        stamp.encode(sector);
        stamp::write_checksum(sector, content);
    }

    /// Whether the checksum of a sector with this stamp is right. Content from the pool is compared
    /// with the pool, which takes half the time of a digest.
    #[inline]
    pub fn is_valid(&self, sector: &[u8; SECTOR], stamp: &SectorStamp) -> bool {
        match &self.body {
            Body::Pool(pool) if stamp.run == self.run => {
                match pool.digest_of(stamp.key(), sector) {
                    Some(content) => stamp::checksum_matches(sector, content),
                    None => stamp::is_valid(sector),
                }
            }
            _ => stamp::is_valid(sector),
        }
    }

    /// Takes the target of `file`, and with `run` also the run, from the first valid sector at its
    /// intended offset. The job is then not checked. Returns false if there is no such sector.
    pub fn adopt(&mut self, block: &[u8], file: u32, offset: u64, run: bool) -> bool {
        self.any_job = true;
        let sound = block
            .as_chunks::<SECTOR>()
            .0
            .iter()
            .enumerate()
            .find_map(|(index, sector)| {
                let stamp = SectorStamp::decode(sector).filter(|_| stamp::is_valid(sector))?;
                (stamp.offset == offset + (index * SECTOR) as u64).then_some(stamp)
            });
        let Some(stamp) = sound else { return false };
        if let Some(target) = self.targets.get_mut(file as usize) {
            *target = stamp.target;
        }
        if run {
            self.run = stamp.run;
            if let Body::Pool(pool) = &mut self.body {
                *pool = Pool::new(stamp.run);
            }
        }
        true
    }

    pub fn target(&self, file: u32) -> u32 {
        self.targets.get(file as usize).copied().unwrap_or(0)
    }

    /// Writes the content and returns its digest.
    #[inline]
    fn fill(&self, sector: &mut [u8; SECTOR], stamp: &SectorStamp) -> u64 {
        let key = stamp.key();
        match &self.body {
            Body::Pool(pool) => pool.copy(key, sector),
            Body::Requested(content) => {
                content.fill(&mut sector[BODY], stamp.offset, &mut Stream::new(key));
                stamp::digest_under(key, sector)
            }
        }
    }
}

/// Random words, and the digest of every part of them that may become content.
#[derive(Clone, Debug)]
struct Pool {
    words: Box<[u64]>,
    digests: Box<[u64]>,
}

impl Pool {
    /// The pool of a run. It is derived from the run's id, so that the sectors of an earlier run
    /// can be recreated.
    fn new(run: u64) -> Pool {
        let mut bytes = vec![0; (STARTS + WORDS) * 8];
        Stream::new(run).fill(&mut bytes);
        let word = |bytes: &[u8; 8]| u64::from_le_bytes(*bytes);
        Pool {
            words: bytes.as_chunks::<8>().0.iter().map(word).collect(),
            digests: (0..STARTS)
                .map(|start| stamp::digest(&bytes[start * 8..(start + WORDS) * 8]))
                .collect(),
        }
    }

    /// Writes the part that `key` selects, combined with that key. Returns its digest.
    #[inline]
    fn copy(&self, key: u64, sector: &mut [u8; SECTOR]) -> u64 {
        let start = (key % STARTS as u64) as usize;
        let (places, _) = sector[BODY].as_chunks_mut::<8>();
        for (place, word) in places.iter_mut().zip(&self.words[start..start + WORDS]) {
            *place = (word ^ key).to_le_bytes();
        }
        self.digests[start]
    }

    /// The digest of the content of `sector`, if it is the part that `key` selects.
    #[inline]
    fn digest_of(&self, key: u64, sector: &[u8; SECTOR]) -> Option<u64> {
        let start = (key % STARTS as u64) as usize;
        let (words, _) = sector[BODY].as_chunks::<8>();
        let pairs = words.iter().zip(&self.words[start..start + WORDS]);
        let difference = pairs.fold(0, |all, (found, word)| {
            all | (u64::from_le_bytes(*found) ^ word ^ key)
        });
        (difference == 0).then(|| self.digests[start])
    }
}
