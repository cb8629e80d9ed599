//! Memory for direct I/O.

const BLOCK: usize = 4096;

/// Memory aligned for direct I/O: a slice of a larger buffer.
pub struct Aligned {
    bytes: Vec<u8>,
    start: usize,
    len: usize,
}

impl Aligned {
    pub fn new(len: usize) -> Self {
        let bytes = vec![0; len + BLOCK];
        let start = bytes.as_ptr().align_offset(BLOCK);
        Aligned { bytes, start, len }
    }

    pub fn as_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[self.start..self.start + self.len]
    }
}
