//! Where the chunks of a capture go: to a file at once, or into memory that keeps the last ones.

use std::collections::VecDeque;
use std::io::{self, Write};

use fathom_workload::{CaptureCounts, CaptureWriter, EncodedChunk};

/// Memory of a capture that keeps the last part, without `--max-size`.
const MEMORY: u64 = 256 << 20;

/// Opens the file of this number, from 2.
pub type NextFile = Box<dyn FnMut(u64) -> io::Result<Box<dyn Write>>>;

/// What goes on in another file when one is full.
struct Rotation {
    next: NextFile,
    /// Files so far.
    files: u64,
    /// Chunks without times: each file begins with all of them.
    preamble: Vec<u8>,
}

/// Takes the chunks in order.
pub struct TraceFile {
    out: Box<dyn Write>,
    rotation: Option<Rotation>,
    /// Largest size of a file.
    limit: Option<u64>,
    /// Bytes and I/Os of the present file.
    file_bytes: u64,
    file_ios: u64,
    /// Kept until the end: chunks of the last so many nanoseconds, and their bytes.
    last_ns: Option<u64>,
    kept: VecDeque<EncodedChunk>,
    kept_bytes: u64,
    /// Bytes that are written.
    pub bytes: u64,
    /// I/Os that are written.
    pub ios: u64,
    /// First and last time in the trace.
    pub covers: Option<(u64, u64)>,
}

impl TraceFile {
    /// A trace of at most `limit` bytes; with `last_ns` only the end of the load.
    pub fn new(out: Box<dyn Write>, limit: Option<u64>, last_ns: Option<u64>) -> Self {
        TraceFile {
            out,
            rotation: None,
            file_bytes: 0,
            file_ios: 0,
            limit: limit.or(last_ns.map(|_| MEMORY)),
            last_ns,
            kept: VecDeque::new(),
            kept_bytes: 0,
            bytes: 0,
            ios: 0,
            covers: None,
        }
    }

    /// With a limit, goes on in another file when one is full.
    pub fn rotate(&mut self, next: NextFile) {
        self.rotation = Some(Rotation {
            next,
            files: 1,
            preamble: Vec::new(),
        });
    }

    /// The number of files that were written.
    pub fn files(&self) -> u64 {
        self.rotation.as_ref().map_or(1, |rotation| rotation.files)
    }

    /// Adds chunks. `false` if there is no room for the next one.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn add(&mut self, chunks: Vec<EncodedChunk>) -> io::Result<bool> {
        for chunk in chunks {
            // Names and the beginning are needed whatever is kept.
            let (Some(last_ns), Some((_, newest))) = (self.last_ns, chunk.times) else {
                if !self.fits(&chunk) && !self.next_file()? {
                    return Ok(false);
                }
                self.write(&chunk)?;
                if let Some(rotation) = self.rotation.as_mut().filter(|_| chunk.times.is_none()) {
                    rotation.preamble.extend_from_slice(&chunk.bytes);
                }
                continue;
            };
            self.kept_bytes += chunk.bytes.len() as u64;
            self.kept.push_back(chunk);
            while let Some(oldest) = self.kept.front()
                && (oldest
                    .times
                    .is_some_and(|(_, time)| time < newest.saturating_sub(last_ns))
                    || self
                        .limit
                        .is_some_and(|limit| self.bytes + self.kept_bytes > limit))
            {
                self.kept_bytes -= oldest.bytes.len() as u64;
                self.kept.pop_front();
            }
        }
        self.out.flush()?;
        Ok(true)
    }

    fn fits(&self, chunk: &EncodedChunk) -> bool {
        chunk.times.is_none()
            || self
                .limit
                .is_none_or(|limit| self.file_bytes + chunk.bytes.len() as u64 <= limit)
    }

    /// Ends the present file and begins another one. `false` if there is only one.
    fn next_file(&mut self) -> io::Result<bool> {
        let Some(rotation) = &mut self.rotation else {
            return Ok(false);
        };
        // A file without I/Os is not full: a chunk that is larger than the limit goes into a file of its own.
        if self.file_ios == 0 {
            return Ok(true);
        }
        let end = CaptureWriter::end(CaptureCounts {
            ios: self.file_ios,
            ..CaptureCounts::default()
        });
        self.out.write_all(&end.bytes)?;
        self.out.flush()?;
        rotation.files += 1;
        self.out = (rotation.next)(rotation.files)?;
        self.out.write_all(&rotation.preamble)?;
        self.bytes += (end.bytes.len() + rotation.preamble.len()) as u64;
        self.file_bytes = rotation.preamble.len() as u64;
        self.file_ios = 0;
        Ok(true)
    }

    /// Writes what was kept, and the end.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn finish(&mut self, end: impl FnOnce(u64) -> EncodedChunk) -> io::Result<()> {
        while let Some(chunk) = self.kept.pop_front() {
            self.write(&chunk)?;
        }
        let end = end(self.file_ios);
        self.write(&end)?;
        self.out.flush()
    }

    fn write(&mut self, chunk: &EncodedChunk) -> io::Result<()> {
        self.out.write_all(&chunk.bytes)?;
        self.bytes += chunk.bytes.len() as u64;
        self.ios += chunk.ios;
        self.file_bytes += chunk.bytes.len() as u64;
        self.file_ios += chunk.ios;
        if let (Some((first, last)), true) = (chunk.times, chunk.ios > 0) {
            let (start, end) = self.covers.unwrap_or((first, last));
            self.covers = Some((start.min(first), end.max(last)));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::rc::Rc;

    use fathom_workload::{
        CaptureHeader, CapturedIo, IoFlags, IoKind, ReadOptions, TraceIo, TraceReader, TraceSource,
    };

    use super::*;

    type Bytes = Rc<RefCell<Vec<u8>>>;

    /// A file in memory.
    struct Shared(Bytes);

    impl Write for Shared {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.borrow_mut().extend_from_slice(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// A writer without any I/O, and its header.
    fn begin() -> (CaptureWriter, Vec<EncodedChunk>) {
        let mut writer = CaptureWriter::default();
        writer.name_device(7, "loop7", 1 << 30);
        let header = CaptureWriter::header(&CaptureHeader::default());
        (writer, vec![header])
    }

    /// One I/O per millisecond.
    fn add(writer: &mut CaptureWriter, number: u64) {
        writer.add(CapturedIo {
            io: TraceIo {
                time_ns: number * 1_000_000,
                latency_ns: Some(1000 + number * 37 % 5000),
                offset: number * 7919 % 100_000 * 4096,
                length: 4096,
                device: 7,
                process: 0,
                kind: IoKind::Read,
                flags: IoFlags::default(),
            },
            waited_ns: None,
        });
    }

    /// A file on a disk with room for so many bytes, which takes a part of a write as a disk does.
    struct Full(Bytes, usize);

    impl Write for Full {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let room = self.1 - self.0.borrow().len();
            if room == 0 {
                return Err(io::ErrorKind::StorageFull.into());
            }
            self.0
                .borrow_mut()
                .extend_from_slice(&bytes[..bytes.len().min(room)]);
            Ok(bytes.len().min(room))
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// Whatever the byte at which the disk is full: what the file has so far is read, and is the beginning of the load.
    #[test]
    fn a_file_of_a_rotation_is_valid_up_to_a_full_disk() {
        for room in (2000..9000).step_by(97) {
            let (first, second) = (Bytes::default(), Bytes::default());
            let mut trace = TraceFile::new(Box::new(Shared(Rc::clone(&first))), Some(4096), None);
            let next = Rc::clone(&second);
            trace.rotate(Box::new(move |_| {
                Ok(Box::new(Full(Rc::clone(&next), room)))
            }));
            let (mut writer, header) = begin();
            assert!(trace.add(header).expect("memory"));
            let failed = (0..5000_u64).find_map(|number| {
                add(&mut writer, number);
                (number % 50 == 49)
                    .then(|| trace.add(writer.chunks(number * 1_000_000)).err())
                    .flatten()
            });
            if room <= 4096 {
                let error = failed.expect("the disk is full before the second file is");
                assert_eq!(error.kind(), io::ErrorKind::StorageFull);
            }
            let mut expected = 0;
            for file in [first, second] {
                let bytes = file.borrow().clone();
                let mut reader =
                    TraceReader::open(bytes.as_slice(), ReadOptions::default()).expect("a trace");
                while let Some(io) = reader.next_io().expect("an I/O") {
                    assert_eq!(io.time_ns, expected * 1_000_000);
                    expected += 1;
                }
            }
            assert!(expected > 100, "{expected}");
        }
    }

    /// Each file is a whole trace with the names, below the limit, and together they have every I/O once.
    #[test]
    fn every_file_of_a_rotation_is_a_whole_trace() {
        let files: Rc<RefCell<Vec<Bytes>>> = Rc::default();
        let open = {
            let files = Rc::clone(&files);
            move |_| -> io::Result<Box<dyn Write>> {
                let bytes = Bytes::default();
                files.borrow_mut().push(Rc::clone(&bytes));
                Ok(Box::new(Shared(bytes)))
            }
        };
        let mut open: NextFile = Box::new(open);
        let mut trace = TraceFile::new(open(1).expect("memory"), Some(4096), None);
        trace.rotate(open);
        let (mut writer, header) = begin();
        assert!(trace.add(header).expect("memory"));
        for number in 0..5000_u64 {
            add(&mut writer, number);
            if number % 100 == 99 {
                let chunks = writer.chunks(number * 1_000_000);
                assert!(trace.add(chunks).expect("memory"));
            }
        }
        let end = |ios| {
            CaptureWriter::end(CaptureCounts {
                ios,
                ..CaptureCounts::default()
            })
        };
        trace.finish(end).expect("memory");
        let files = files.borrow();
        assert!(files.len() >= 3, "{}", files.len());
        assert_eq!(trace.files(), files.len() as u64);
        let mut times = Vec::new();
        for file in files.iter() {
            let bytes = file.borrow().clone();
            assert!(bytes.len() < 4096 + 200, "{}", bytes.len());
            let mut reader =
                TraceReader::open(bytes.as_slice(), ReadOptions::default()).expect("a trace");
            while let Some(io) = reader.next_io().expect("an I/O") {
                times.push(io.time_ns);
            }
            let facts = reader.facts();
            assert!(!facts.cut, "{facts:?}");
            assert_eq!(facts.devices, ["loop7"]);
        }
        let all: Vec<u64> = (0..5000).map(|number| number * 1_000_000).collect();
        assert_eq!(times, all);
    }
}
