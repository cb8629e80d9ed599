//! What the build script stored: as it is used, or as a stream of DEFLATE in a program that is optimised for size.

use std::io::{self, Read};

use flate2::read::DeflateDecoder;

/// The bytes as they are used. They last as long as the program.
///
/// # Errors
/// When they are not what the build script stored.
pub(crate) fn unpacked(stored: &'static [u8]) -> io::Result<&'static [u8]> {
    if cfg!(packed) {
        inflated(stored)
    } else {
        Ok(stored)
    }
}

fn inflated(stored: &[u8]) -> io::Result<&'static [u8]> {
    let mut bytes = Vec::new();
    DeflateDecoder::new(stored).read_to_end(&mut bytes)?;
    Ok(bytes.leak())
}

#[cfg(test)]
mod tests {
    use super::inflated;

    /// RFC 1951, section 3.2.4: a last block (bit 0) that is not compressed, its length and the complement of that.
    #[test]
    fn a_stream_is_unpacked_and_a_cut_one_is_an_error() {
        let stored = [1, 3, 0, 0xfc, 0xff, b'a', b'b', b'c'];
        assert_eq!(inflated(&stored).expect("a stream"), b"abc");
        assert!(inflated(&stored[..6]).is_err());
    }
}
