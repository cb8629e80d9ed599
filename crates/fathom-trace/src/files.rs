//! Which file a request belongs to, by its place on the device.

use fathom_model::Histogram;

use crate::event::DeviceNumber;
use crate::summary::IoDirection;

/// Requests whose file is not known yet, which are tried again: a file may get its place on the device after its map was made.
const MOST_PENDING: usize = 1 << 16;

/// A part of a device that belongs to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FileRange {
    /// The whole device.
    pub device: DeviceNumber,
    /// First sector.
    pub start: u64,
    /// The sector after the last one.
    pub end: u64,
    /// The number of the file.
    pub file: u32,
}

/// The I/O of one file.
#[derive(Clone, Debug, Default)]
pub struct FileSummary {
    /// Requests: reads, writes, discards.
    pub ios: [u64; 3],
    /// Bytes of them.
    pub bytes: [u64; 3],
    /// From queue to completion.
    pub latency: Histogram,
}

/// The I/O of files, as far as their places are known.
#[derive(Clone, Debug, Default)]
pub struct FileIo {
    /// Their names.
    pub names: Vec<String>,
    /// Their I/O, by the number of the file.
    pub files: Vec<FileSummary>,
    /// Requests outside of these files: their number and bytes.
    pub elsewhere: (u64, u64),
    ranges: Vec<FileRange>,
    pending: Vec<FileRequest>,
}

/// A request with data.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FileRequest {
    pub device: DeviceNumber,
    pub sector: u64,
    pub bytes: u64,
    pub direction: IoDirection,
    pub time: Option<u64>,
}

impl FileIo {
    /// The places of files as they are now. Files keep their numbers; new ones are added at the end.
    pub fn set(&mut self, names: Vec<String>, mut ranges: Vec<FileRange>) {
        ranges.sort_unstable();
        self.files.resize_with(names.len(), FileSummary::default);
        (self.names, self.ranges) = (names, ranges);
        for request in std::mem::take(&mut self.pending) {
            self.add(request);
        }
    }

    pub(crate) fn add(&mut self, request: FileRequest) {
        match self.file_of(request.device, request.sector) {
            Some(file) => {
                let Some(file) = self.files.get_mut(file as usize) else {
                    return;
                };
                file.ios[request.direction as usize] += 1;
                file.bytes[request.direction as usize] += request.bytes;
                if let Some(time) = request.time {
                    file.latency.record(time);
                }
            }
            None if self.pending.len() < MOST_PENDING => self.pending.push(request),
            None => self.outside(&request),
        }
    }

    /// No more places will be known.
    pub(crate) fn finish(&mut self) {
        for request in std::mem::take(&mut self.pending) {
            self.outside(&request);
        }
    }

    fn outside(&mut self, request: &FileRequest) {
        self.elsewhere.0 += 1;
        self.elsewhere.1 += request.bytes;
    }

    fn file_of(&self, device: DeviceNumber, sector: u64) -> Option<u32> {
        let after = self
            .ranges
            .partition_point(|range| (range.device, range.start) <= (device, sector));
        let range = self.ranges.get(after.checked_sub(1)?)?;
        (range.device == device && sector < range.end).then_some(range.file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_belong_to_the_file_at_their_place_also_when_it_is_known_later() {
        let device = DeviceNumber::new(8, 0);
        let range = |start, end, file| FileRange {
            device,
            start,
            end,
            file,
        };
        let read = |device, sector| FileRequest {
            device,
            sector,
            bytes: 4096,
            direction: IoDirection::Read,
            time: Some(1_000),
        };
        let mut io = FileIo::default();
        let names = || vec!["a".to_owned(), "b".to_owned()];
        io.set(names(), vec![range(100, 200, 1), range(0, 50, 0)]);
        for sector in [0, 49, 50, 99, 100, 199, 200] {
            io.add(read(device, sector));
        }
        io.add(read(DeviceNumber::new(8, 16), 10));
        assert_eq!([io.files[0].ios[0], io.files[1].ios[0]], [2, 2]);
        // The file grew.
        io.set(names(), vec![range(0, 60, 0), range(100, 200, 1)]);
        io.finish();
        assert_eq!([io.files[0].ios[0], io.files[1].ios[0]], [3, 2]);
        assert_eq!(io.files[0].bytes[0], 3 * 4096);
        assert_eq!(io.elsewhere, (3, 3 * 4096));
    }
}
