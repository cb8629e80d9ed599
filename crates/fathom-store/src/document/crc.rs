//! CRC-32 (ISO-HDLC, as in zip and Ethernet): polynomial 0x04C11DB7, reflected.

const TABLE: [u32; 256] = table();

const fn table() -> [u32; 256] {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut rest = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            rest = if rest & 1 == 1 {
                rest >> 1 ^ 0xedb8_8320
            } else {
                rest >> 1
            };
            bit += 1;
        }
        table[byte] = rest;
        byte += 1;
    }
    table
}

pub(crate) fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |sum, byte| {
        sum >> 8 ^ TABLE[((sum ^ u32::from(*byte)) & 0xff) as usize]
    })
}

#[cfg(test)]
mod tests {
    /// The check value of the catalogue of CRCs.
    #[test]
    fn check_value() {
        assert_eq!(super::crc32(b"123456789"), 0xcbf4_3926);
    }
}
