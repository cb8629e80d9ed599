//! Pages of the kernel's ring buffer, as `per_cpu/cpuN/trace_pipe_raw` returns them.
//!
//! Layout: `Documentation/trace/ring-buffer-design.rst`, `include/linux/ring_buffer.h` and `kernel/trace/ring_buffer.c` of
//! Linux, and the files `events/header_page` and `events/header_event` of tracefs. A page has a time stamp, the number of its
//! data bytes with two flags for lost events, and then events. An event has a header of 32 bits: 5 bits of type or length,
//! 27 bits of nanoseconds since the event before.

use crate::format::parse_fields;

/// Where the parts of a page are, from `events/header_page`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageLayout {
    timestamp: usize,
    commit: usize,
    commit_size: usize,
    data: usize,
}

const MISSED_EVENTS: u64 = 1 << 31;
const MISSED_STORED: u64 = 1 << 30;
/// Lengths of a page have fewer bits than this; the bits above are flags.
const LENGTH_BITS: u64 = (1 << 28) - 1;

const TYPE_PADDING: u32 = 29;
const TYPE_TIME_EXTEND: u32 = 30;
const TYPE_TIME_STAMP: u32 = 31;
/// An absolute time stamp has 59 bits; the others are those of the page.
const TIME_STAMP_BITS: u32 = 59;
const DELTA_BITS: u32 = 27;

impl PageLayout {
    /// Reads `events/header_page`.
    ///
    /// # Errors
    /// What is missing, as a sentence.
    pub fn parse(text: &str) -> Result<Self, String> {
        let fields = parse_fields(text)?;
        let field = |name: &str| {
            fields
                .iter()
                .find(|field| field.name == name)
                .ok_or(format!("no field '{name}'"))
        };
        let commit = field("commit")?;
        if !matches!(commit.size, 4 | 8) {
            return Err(format!("field 'commit' has {} bytes", commit.size));
        }
        Ok(Self {
            timestamp: field("timestamp")?.offset,
            commit: commit.offset,
            commit_size: commit.size,
            data: field("data")?.offset,
        })
    }

    /// The events of a page. `None` if the page is shorter than its header.
    #[must_use]
    pub fn read<'a>(&self, page: &'a [u8]) -> Option<Page<'a>> {
        let time_ns = number(page, self.timestamp, 8)?;
        let commit = number(page, self.commit, self.commit_size)?;
        let data = page.get(self.data..)?;
        let length = (commit & LENGTH_BITS) as usize;
        let lost = match (commit & MISSED_EVENTS != 0, commit & MISSED_STORED != 0) {
            (false, _) => Lost::None,
            (true, true) => {
                number(data, length, self.commit_size).map_or(Lost::Unknown, Lost::Events)
            }
            (true, false) => Lost::Unknown,
        };
        Some(Page {
            data: data.get(..length).unwrap_or(data),
            time_ns,
            lost,
        })
    }
}

/// Events that the kernel overwrote before a page because nobody had read them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lost {
    /// None.
    None,
    /// So many.
    Events(u64),
    /// Some; the kernel does not say how many.
    Unknown,
}

/// The events of one page in order: an iterator over time in nanoseconds and bytes of each event.
#[derive(Clone, Debug)]
pub struct Page<'a> {
    data: &'a [u8],
    time_ns: u64,
    lost: Lost,
}

impl Page<'_> {
    /// Events lost before this page.
    #[must_use]
    pub fn lost(&self) -> Lost {
        self.lost
    }
}

impl<'a> Iterator for Page<'a> {
    type Item = (u64, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let header = word(self.data, 0)?;
            // The header's bit field starts at the lowest bits on little-endian machines, at the highest on others.
            let (kind, delta) = if cfg!(target_endian = "little") {
                (header & 31, u64::from(header >> 5))
            } else {
                (
                    header >> DELTA_BITS,
                    u64::from(header & ((1 << DELTA_BITS) - 1)),
                )
            };
            let (payload, total) = match kind {
                TYPE_PADDING if delta == 0 => return None,
                TYPE_PADDING => {
                    self.time_ns = self.time_ns.saturating_add(delta);
                    self.skip(4 + word(self.data, 4)? as usize)?;
                    continue;
                }
                TYPE_TIME_EXTEND => {
                    let extended = (u64::from(word(self.data, 4)?) << DELTA_BITS) + delta;
                    self.time_ns = self.time_ns.saturating_add(extended);
                    self.skip(8)?;
                    continue;
                }
                TYPE_TIME_STAMP => {
                    let high = self.time_ns >> TIME_STAMP_BITS << TIME_STAMP_BITS;
                    self.time_ns = high | ((u64::from(word(self.data, 4)?) << DELTA_BITS) + delta);
                    self.skip(8)?;
                    continue;
                }
                0 => (8, 4 + word(self.data, 4)? as usize),
                words => (4, 4 + 4 * words as usize),
            };
            self.time_ns = self.time_ns.saturating_add(delta);
            let event = self.data.get(payload..total)?;
            self.skip(total)?;
            return Some((self.time_ns, event));
        }
    }
}

impl Page<'_> {
    fn skip(&mut self, bytes: usize) -> Option<()> {
        self.data = self.data.get(bytes..)?;
        Some(())
    }
}

fn word(bytes: &[u8], offset: usize) -> Option<u32> {
    let bytes = bytes.get(offset..)?.first_chunk()?;
    Some(u32::from_ne_bytes(*bytes))
}

/// The unsigned number of `size` bytes at `offset`, in the machine's byte order.
#[inline]
pub(crate) fn number(bytes: &[u8], offset: usize, size: usize) -> Option<u64> {
    let bytes = bytes.get(offset..)?;
    match size {
        8 => bytes.first_chunk().map(|b| u64::from_ne_bytes(*b)),
        4 => bytes.first_chunk().map(|b| u32::from_ne_bytes(*b).into()),
        2 => bytes.first_chunk().map(|b| u16::from_ne_bytes(*b).into()),
        1 => bytes.first().map(|b| (*b).into()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\
        \tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n\
        \tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n\
        \tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;\n";

    fn header(kind: u32, delta: u32) -> [u8; 4] {
        if cfg!(target_endian = "little") {
            (delta << 5 | kind).to_ne_bytes()
        } else {
            (kind << DELTA_BITS | delta).to_ne_bytes()
        }
    }

    fn page(time: u64, commit_flags: u64, data: &[u8], after: &[u8]) -> Vec<u8> {
        let mut page = time.to_ne_bytes().to_vec();
        page.extend((data.len() as u64 | commit_flags).to_ne_bytes());
        page.extend(data);
        page.extend(after);
        page.resize(4096, 0);
        page
    }

    #[test]
    fn times_lengths_and_kinds_follow_the_kernels_header() {
        let mut data = Vec::new();
        data.extend(header(2, 5)); // two words, 5 ns later
        data.extend([1; 8]);
        data.extend(header(TYPE_TIME_EXTEND, 3));
        data.extend(2u32.to_ne_bytes()); // 2 * 2^27 + 3 ns
        data.extend(header(0, 7)); // length in the next word, which it includes
        data.extend(12u32.to_ne_bytes());
        data.extend([2; 8]);
        data.extend(header(TYPE_PADDING, 1)); // a discarded event of 8 bytes
        data.extend(4u32.to_ne_bytes());
        data.extend(header(TYPE_TIME_STAMP, 9));
        data.extend(100u32.to_ne_bytes());
        data.extend(header(1, 0));
        data.extend([3; 4]);
        data.extend(header(TYPE_PADDING, 0)); // nothing after this
        let layout = PageLayout::parse(HEADER).unwrap();
        let bytes = page(1_000, 0, &data, &[]);
        let page = layout.read(&bytes).unwrap();
        assert_eq!(page.lost(), Lost::None);
        let events: Vec<_> = page.collect();
        assert_eq!(
            events,
            [
                (1_005, &[1; 8][..]),
                (1_005 + (2 << 27) + 3 + 7, &[2; 8][..]),
                ((100 << 27) + 9, &[3; 4][..]),
            ]
        );
    }

    #[test]
    fn lost_events_are_counted_where_the_kernel_says_how_many() {
        let layout = PageLayout::parse(HEADER).unwrap();
        let data = [header(1, 0), [9; 4]].concat();
        let count = 17u64.to_ne_bytes();
        let with_count = page(5, MISSED_EVENTS | MISSED_STORED, &data, &count);
        assert_eq!(layout.read(&with_count).unwrap().lost(), Lost::Events(17));
        assert_eq!(layout.read(&with_count).unwrap().count(), 1);
        let without = page(5, MISSED_EVENTS, &data, &[]);
        assert_eq!(layout.read(&without).unwrap().lost(), Lost::Unknown);
    }

    #[test]
    fn damaged_pages_end_early() {
        let layout = PageLayout::parse(HEADER).unwrap();
        assert!(layout.read(&[0; 15]).is_none());
        // The length of the page and of the event exceed the data.
        let mut bytes = page(0, 0, &header(28, 0), &[]);
        bytes.truncate(30);
        assert_eq!(layout.read(&bytes).unwrap().count(), 0);
        let mut seed = 7u64;
        for _ in 0..2_000 {
            let random: Vec<u8> = (0..256)
                .map(|_| {
                    seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    (seed >> 56) as u8
                })
                .collect();
            let count = layout.read(&random).unwrap().count();
            assert!(count <= 60, "{count} events in 256 bytes");
        }
    }
}
