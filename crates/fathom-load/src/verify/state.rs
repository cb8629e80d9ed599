//! The progress of the writes of a job, in fio's verify state files.
//!
//! Version 7 (fio 3.42) is written; versions 7 and 3 (fio 3.33) are read. All numbers are
//! little-endian; the file begins with a header of version, length and CRC-32C of the rest.
//!
//! | version 7 | version 3 |
//! |---|---|
//! | 0..4 depth, 4..8 zero, or `UNFINISHED` | 0..8 lists, 8..12 depth, 12..16 files |
//! | 8..16 writes issued | 16..24 writes issued |
//! | 16..24 index of the job | 24..32 index of the job |
//! | 24..80 random state; in `UNFINISHED` states 24..32 the targets | 32..88 random state |
//! | 80..144 name | 88..152 name |
//! | then 8 bytes for each write in flight or failed | then 16 for each of the last writes completed: file, offset |

use std::fmt;

use super::checksum::crc32c;

/// In the padding of version 7, which fio ignores: the run that wrote lasted when this was saved.
const UNFINISHED: u32 = 0x6C61_7374;
/// Marks an empty entry in the list of writes in flight.
const NONE: u64 = u64::MAX;
const HEADER: usize = 24;
const FIXED_7: usize = 144;
const FIXED_3: usize = 152;
/// Maximum size of a valid state.
const MAX_LEN: usize = 16 << 20;

/// The progress of the writes of a job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VerifyState {
    /// Name of the job.
    pub name: String,
    /// Index of the job in the run, from 0.
    pub index: u64,
    /// Queue depth of the writer.
    pub depth: u32,
    /// Writes submitted, or with `verify_policy=fsynced` those before the last successful fsync;
    /// reads stop there.
    pub issued: u64,
    /// Numbers of the writes in flight at the end, from 0; reads stop at the first of them.
    pub in_flight: Vec<u64>,
    /// Numbers of the writes that failed; they are skipped.
    pub failed: Vec<u64>,
    /// Version 3 only: file and offset of the last completed writes. Among the last `depth` writes,
    /// only these are verified.
    pub completed: Option<Vec<(u64, u64)>>,
    /// Saved while the run lasted, with a hash of the paths of its targets. The run may have written
    /// more before it was killed.
    pub unfinished: Option<u64>,
}

/// Why a verify state cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StateError {
    /// It ends too early, or its counts exceed its length.
    Cut,
    /// Neither version 3 nor 7.
    Version(u64),
    /// Its checksum is wrong.
    Altered,
}

impl fmt::Display for StateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StateError::Cut => f.write_str("the verify state is truncated; write again with verify_state_save=1"),
            StateError::Version(found) => {
                write!(f, "the verify state has version {found}, but only 3 (fio 3.33) and 7 (fio 3.42) are supported")
            }
            StateError::Altered => f.write_str("the verify state does not match its checksum; write again with verify_state_save=1"),
        }
    }
}

impl std::error::Error for StateError {}

impl VerifyState {
    /// Its file name, as in fio.
    #[must_use]
    pub fn file_name(job: &str, index: u64) -> String {
        format!("local-{}-{index}-verify.state", job.replace('/', "."))
    }

    /// The hash of the paths of the targets of a job, for [`VerifyState::unfinished`].
    #[must_use]
    pub fn targets_of(job: &fathom_model::Job) -> u64 {
        job.files.paths.iter().fold(0, |hash, path| {
            let bytes = path.as_os_str().as_encoded_bytes();
            crate::payload::mix(hash ^ twox_hash::XxHash3_64::oneshot(bytes))
        })
    }

    /// The content of its file, version 7.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let slots = self.depth as usize;
        let mut body = Vec::with_capacity(FIXED_7 + (slots + self.failed.len()) * 8);
        body.extend(((slots + self.failed.len()) as u32).to_le_bytes());
        body.extend(
            if self.unfinished.is_some() {
                UNFINISHED
            } else {
                0
            }
            .to_le_bytes(),
        );
        body.extend(self.issued.to_le_bytes());
        body.extend(self.index.to_le_bytes());
        // The random state belongs to fio; fathom does not use it.
        body.extend(self.unfinished.unwrap_or(0).to_le_bytes());
        body.resize(80, 0);
        body.extend(self.name.bytes().take(63));
        body.resize(FIXED_7, 0);
        let in_flight = self
            .in_flight
            .iter()
            .copied()
            .chain(std::iter::repeat(NONE))
            .take(slots);
        in_flight
            .chain(self.failed.iter().copied())
            .for_each(|number| body.extend(number.to_le_bytes()));
        let mut bytes = Vec::with_capacity(HEADER + body.len());
        bytes.extend(7_u64.to_le_bytes());
        bytes.extend((body.len() as u64).to_le_bytes());
        bytes.extend(u64::from(crc32c(&[&body])).to_le_bytes());
        bytes.extend(body);
        bytes
    }

    /// Reads a state file of version 3 or 7. `depth` is that of the job that reads; in version 7 it
    /// separates writes in flight from failed ones.
    ///
    /// # Errors
    /// It is truncated, altered, or of another version.
    pub fn decode(bytes: &[u8], depth: u32) -> Result<Self, StateError> {
        let (Some(version), Some(len), Some(crc)) =
            (word(bytes, 0), word(bytes, 8), word(bytes, 16))
        else {
            return Err(StateError::Cut);
        };
        if version != 3 && version != 7 {
            return Err(StateError::Version(version));
        }
        let len = usize::try_from(len)
            .ok()
            .filter(|len| *len <= MAX_LEN)
            .ok_or(StateError::Cut)?;
        let body = bytes.get(HEADER..HEADER + len).ok_or(StateError::Cut)?;
        if u64::from(crc32c(&[body])) != crc {
            return Err(StateError::Altered);
        }
        if version == 7 {
            decode_7(body, depth)
        } else {
            decode_3(body)
        }
        .ok_or(StateError::Cut)
    }

    /// Whether read number `number` (from 0), of `file` at `offset`, reads a block that was
    /// written.
    #[must_use]
    pub fn verdict(&self, number: u64, file: u64, offset: u64) -> ReplayVerdict {
        match &self.completed {
            _ if self.failed.contains(&number) => ReplayVerdict::Skip,
            None if number >= self.issued || self.in_flight.contains(&number) => {
                ReplayVerdict::Stop
            }
            Some(_) if number >= self.issued => ReplayVerdict::Stop,
            Some(done)
                if number + u64::from(self.depth) >= self.issued
                    && !done.contains(&(file, offset)) =>
            {
                ReplayVerdict::Stop
            }
            _ => ReplayVerdict::Check,
        }
    }
}

/// The verdict of a state on one block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplayVerdict {
    /// It was written.
    Check,
    /// Its write failed.
    Skip,
    /// It, and everything after it, may not have been written.
    Stop,
}

fn decode_7(body: &[u8], depth: u32) -> Option<VerifyState> {
    let slots = half(body, 0)? as usize;
    let numbers = body.get(FIXED_7..)?;
    if numbers.len() != slots.checked_mul(8)? {
        return None;
    }
    let numbers: Vec<u64> = numbers
        .as_chunks::<8>()
        .0
        .iter()
        .map(|bytes| u64::from_le_bytes(*bytes))
        .collect();
    let (in_flight, failed) = numbers.split_at(slots.min(depth as usize));
    let known = |numbers: &[u64]| {
        numbers
            .iter()
            .copied()
            .filter(|number| *number != NONE)
            .collect()
    };
    Some(VerifyState {
        name: name(body.get(80..FIXED_7)?),
        index: word(body, 16)?,
        depth: slots as u32,
        issued: word(body, 8)?,
        in_flight: known(in_flight),
        failed: known(failed),
        completed: None,
        unfinished: Some(word(body, 24)?).filter(|_| half(body, 4) == Some(UNFINISHED)),
    })
}

fn decode_3(body: &[u8]) -> Option<VerifyState> {
    let lists = body.get(FIXED_3..)?;
    let pairs = usize::try_from(word(body, 0)?).ok()?;
    if lists.len() < pairs.checked_mul(16)? {
        return None;
    }
    let pair = |n: usize| Some((word(lists, n * 16)?, word(lists, n * 16 + 8)?));
    Some(VerifyState {
        name: name(body.get(88..FIXED_3)?),
        index: word(body, 24)?,
        depth: half(body, 8)?,
        issued: word(body, 16)?,
        in_flight: Vec::new(),
        failed: Vec::new(),
        completed: Some((0..pairs).map_while(pair).collect()),
        unfinished: None,
    })
}

fn name(bytes: &[u8]) -> String {
    let end = bytes
        .iter()
        .position(|byte| *byte == 0)
        .unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

fn word(bytes: &[u8], at: usize) -> Option<u64> {
    bytes
        .get(at..at + 8)?
        .try_into()
        .ok()
        .map(u64::from_le_bytes)
}

fn half(bytes: &[u8], at: usize) -> Option<u32> {
    bytes
        .get(at..at + 4)?
        .try_into()
        .ok()
        .map(u32::from_le_bytes)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn state() -> VerifyState {
        VerifyState {
            name: "job".into(),
            index: 2,
            depth: 4,
            issued: 100,
            in_flight: vec![98, 99],
            failed: vec![7, 13],
            completed: None,
            unfinished: None,
        }
    }

    #[test]
    fn a_state_of_an_unfinished_run_says_so() {
        let saved = VerifyState {
            unfinished: Some(77),
            ..state()
        };
        let loaded = VerifyState::decode(&saved.encode(), 4).expect("whole");
        assert_eq!((loaded.unfinished, loaded.issued), (Some(77), 100));
    }

    #[test]
    fn a_saved_state_is_loaded() {
        let loaded = VerifyState::decode(&state().encode(), 4).expect("whole");
        assert_eq!(
            loaded,
            VerifyState {
                depth: 6,
                ..state()
            }
        );
        let verdict = |number| loaded.verdict(number, 0, 0);
        assert_eq!(
            (verdict(6), verdict(7), verdict(98), verdict(100)),
            (
                ReplayVerdict::Check,
                ReplayVerdict::Skip,
                ReplayVerdict::Stop,
                ReplayVerdict::Stop
            )
        );
    }

    #[test]
    fn a_corrupted_state_is_refused() {
        let whole = state().encode();
        for at in 8..whole.len() {
            let mut spoilt = whole.clone();
            spoilt[at] ^= 1;
            assert!(VerifyState::decode(&spoilt, 4).is_err(), "byte {at}");
        }
        assert_eq!(
            VerifyState::decode(&whole[..whole.len() - 1], 4),
            Err(StateError::Cut)
        );
        assert_eq!(
            VerifyState::decode(&[9; 64], 4)
                .err()
                .map(|e| matches!(e, StateError::Version(_))),
            Some(true)
        );
        assert_eq!(VerifyState::decode(&[], 4), Err(StateError::Cut));
    }

    proptest! {
        /// With a valid checksum in front, so that the body is decoded.
        #[test]
        fn no_bytes_panic(body in proptest::collection::vec(any::<u8>(), 0..400), three: bool) {
            let mut bytes = if three { 3_u64 } else { 7 }.to_le_bytes().to_vec();
            bytes.extend((body.len() as u64).to_le_bytes());
            bytes.extend(u64::from(crc32c(&[&body])).to_le_bytes());
            bytes.extend(body);
            if let Ok(state) = VerifyState::decode(&bytes, 4) {
                let _ = state.verdict(0, 0, 0);
            }
        }
    }
}
