//! A recording as one document: CBOR (RFC 8949) in which every field has its name, so that older documents stay readable
//! when the model grows.
//!
//! A document is a list of four: the name of the format, its version, the names of all fields, and the recording, whose
//! maps have the position of a name in that list as their keys. The CRC-32 of all that follows, four bytes, little-endian.
//! The modules below name every field and variant as text: renaming something in the model changes no document. Unknown
//! fields are skipped, and a field that older documents lack has a default there.

#[macro_use]
mod values;
mod blame;
mod conditions;
mod device;
mod observed;
mod plan;
#[cfg(test)]
mod random;
mod reader;
mod recording;
mod static_text;
#[cfg(test)]
mod tests;
mod writer;

use fathom_model::Recording;
use minicbor::{Decoder, Encoder};

use self::reader::{Reader, known};
use self::recording::RecordingDocument;
use self::writer::Writer;

pub(crate) use self::values::{pack_intervals, unpack_intervals};

const FORMAT: &str = "fathom recording";
const VERSION: u64 = 1;

/// Why a document cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DocumentError {
    /// It is too short.
    #[error("the document is empty")]
    Empty,
    /// It was damaged after it was written.
    #[error("wrong checksum: the document was damaged after it was written")]
    Checksum,
    /// It is a document of another kind.
    #[error("the document is not a recording")]
    Foreign,
    /// It was written by a later version.
    #[error("unsupported document format {found}: this version of fathom reads format {supported}")]
    Version {
        /// The format of the document.
        found: u64,
        /// The format that is read.
        supported: u64,
    },
    /// It is not what this program writes.
    #[error("malformed document: {0}")]
    Malformed(String),
}

/// `recording` as a document.
///
/// # Panics
/// Never: everything in a recording has a form in documents.
#[must_use]
pub fn write_recording(recording: &Recording) -> Vec<u8> {
    document(recording).expect("every value of a recording has a form in documents")
}

fn document(recording: &Recording) -> Result<Vec<u8>, DocumentError> {
    let mut writer = Writer::new();
    RecordingDocument::serialize(recording, &mut writer)?;
    let (names, body) = writer.finish();
    let mut head = Encoder::new(Vec::with_capacity(body.len() + 8192));
    head.array(4)?.str(FORMAT)?.u64(VERSION)?;
    head.array(names.len() as u64)?;
    for name in names {
        head.str(name)?;
    }
    let mut bytes = head.into_writer();
    bytes.extend_from_slice(&body);
    let sum = crc32fast::hash(&bytes);
    bytes.extend_from_slice(&sum.to_le_bytes());
    Ok(bytes)
}

/// The recording in a document.
///
/// # Errors
/// When it is damaged, not a recording, or of an unknown version.
pub fn read_recording(document: &[u8]) -> Result<Recording, DocumentError> {
    let (body, sum) = document
        .split_last_chunk::<4>()
        .ok_or(DocumentError::Empty)?;
    if crc32fast::hash(body) != u32::from_le_bytes(*sum) {
        return Err(DocumentError::Checksum);
    }
    let mut decoder = Decoder::new(body);
    let foreign = |_| DocumentError::Foreign;
    if decoder.array().map_err(foreign)? != Some(4) || decoder.str().map_err(foreign)? != FORMAT {
        return Err(DocumentError::Foreign);
    }
    let found = decoder.u64()?;
    if found != VERSION {
        return Err(DocumentError::Version {
            found,
            supported: VERSION,
        });
    }
    let count = known(decoder.array()?)?;
    let names: Vec<&str> = (0..count)
        .map(|_| decoder.str())
        .collect::<Result<_, _>>()?;
    RecordingDocument::deserialize(&mut Reader::new(decoder, &names))
}
