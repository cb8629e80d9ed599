//! Saves the first and last MiB of a device before its first write.

use super::ends::EndBytes;
use super::error::ProbeError;
use fathom_device::{TargetFacts, describe};
use rustix::fd::BorrowedFd;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Size of the text at the start, so that `dd bs=4096` can restore the rest.
const HEADER: usize = 4096;

/// Writes a new file at `path`: a text that describes the contents and how to restore them, then
/// the first and last MiB. The file is on disk when this returns.
///
/// # Errors
/// If the device cannot be read, or the file cannot be created and synced. An existing file is
/// never replaced.
pub(super) fn save(
    device: BorrowedFd<'_>,
    facts: &TargetFacts,
    path: &Path,
) -> Result<(), ProbeError> {
    let size = capacity(facts);
    let bytes = EndBytes::read(device, size)
        .map_err(|error| ProbeError::new("read the first and last MiB of", &facts.named, error))?;
    write(path, &header(facts, &bytes), &bytes)
        .map_err(|error| ProbeError::new("save the first and last MiB to", path, error))
}

fn capacity(facts: &TargetFacts) -> fathom_model::Bytes {
    match &facts.target {
        fathom_device::Target::Block(block) => block.size,
        _ => fathom_model::Bytes::ZERO,
    }
}

fn write(path: &Path, header: &[u8], bytes: &EndBytes) -> io::Result<()> {
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)?;
    let written = file
        .write_all(header)
        .and_then(|()| file.write_all(&bytes.head))
        .and_then(|()| file.write_all(&bytes.tail))
        .and_then(|()| file.sync_all());
    if let Err(error) = written {
        // It was created above, and a part of a backup restores nothing.
        let _ = std::fs::remove_file(path);
        return Err(error);
    }
    let directory = path
        .parent()
        .filter(|directory| !directory.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    std::fs::File::open(directory)?.sync_all()
}

fn header(facts: &TargetFacts, bytes: &EndBytes) -> Vec<u8> {
    let (head, tail) = (bytes.head.len(), bytes.tail.len());
    let tail_at = bytes.size.get() - tail as u64;
    let text = format!(
        "fathom: first and last bytes of a device, saved before it was overwritten\n\
         head: {head} bytes at byte {HEADER} of this file, from byte 0 of the device\n\
         tail: {tail} bytes at byte {} of this file, from byte {tail_at} of the device\n\
         to restore, with F this file and D the device:\n\
         dd if=F of=D iflag=skip_bytes,count_bytes oflag=seek_bytes conv=notrunc skip={HEADER} count={head}\n\
         dd if=F of=D iflag=skip_bytes,count_bytes oflag=seek_bytes conv=notrunc skip={} count={tail} seek={tail_at}\n\
         description of the device:\n{}\n",
        HEADER + head,
        HEADER + head,
        describe(facts),
    );
    let mut header = text.into_bytes();
    header.truncate(HEADER - 1);
    header.resize(HEADER - 1, b' ');
    header.push(b'\n');
    header
}
