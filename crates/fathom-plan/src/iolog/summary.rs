//! The summary of a trace, made before its replay.

use std::io::BufRead;
use std::path::PathBuf;

use fathom_model::{
    BlockSizes, Bytes, Direction, Nanos, PerDirection, Replay, ReplayFile, ReplayReading,
    TraceAction, TraceEntry,
};

use super::{TraceError, TraceReader};
use crate::limits::MAX_TIME;

/// The summary of a whole trace. Its size depends on the number of files, not on the length of the trace.
#[derive(Clone, Debug)]
pub struct TraceSummary {
    /// The part that the plan contains.
    pub replay: Replay,
    /// Files with I/O, by index.
    pub paths: Vec<PathBuf>,
    /// Smallest and largest I/O of each direction; 0 where there is none.
    pub sizes: PerDirection<(u32, u32)>,
    /// The trace has wait lines, whose unit differs between fio and its manual.
    pub has_waits: bool,
}

/// Reads a trace to its end.
///
/// # Errors
/// The first error, with its line.
pub fn summarise_trace(
    source: impl BufRead,
    name: &str,
    reading: &ReplayReading,
) -> Result<TraceSummary, TraceError> {
    let mut reader = TraceReader::new(source, reading)?;
    let mut sum = Sum::default();
    while let Some(entry) = reader.next_io()? {
        sum.add(&entry);
        if reader.length().get() > MAX_TIME {
            let problem = "the time is more than 100 years after the first";
            return Err(TraceError::new(reader.line(), problem)
                .advise("set replay_time_scale or replay_no_stall"));
        }
    }
    if sum.ios.0.iter().sum::<u64>() == 0 {
        return Err(TraceError::new(
            reader.line(),
            "the trace contains no read, write or trim to replay",
        ));
    }
    Ok(sum.finish(name, reading, &reader))
}

#[derive(Default)]
struct Sum {
    files: Vec<ReplayFile>,
    ios: PerDirection<u64>,
    bytes: PerDirection<u64>,
    sizes: PerDirection<(u32, u32)>,
    syncs: u64,
    /// All offsets and lengths of reads and writes, or-ed together.
    bits: u64,
}

impl Sum {
    fn add(&mut self, entry: &TraceEntry) {
        let index = entry.file as usize;
        if index == self.files.len() {
            self.files.push(ReplayFile {
                start: u64::MAX,
                end: 0,
                uses: PerDirection::all(false),
            });
        }
        let direction = match entry.action {
            TraceAction::Read => Direction::Read,
            TraceAction::Write => Direction::Write,
            TraceAction::Trim => Direction::Trim,
            TraceAction::Sync | TraceAction::Datasync => {
                self.syncs += 1;
                return;
            }
        };
        let file = &mut self.files[index];
        file.uses[direction] = true;
        file.start = file.start.min(entry.offset);
        file.end = file.end.max(entry.offset + u64::from(entry.len));
        self.ios[direction] += 1;
        self.bytes[direction] = self.bytes[direction].saturating_add(u64::from(entry.len));
        let (min, max) = &mut self.sizes[direction];
        *min = if *min == 0 {
            entry.len
        } else {
            (*min).min(entry.len)
        };
        *max = (*max).max(entry.len);
        if direction != Direction::Trim {
            self.bits |= entry.offset | u64::from(entry.len);
        }
    }

    fn finish<R: BufRead>(
        mut self,
        name: &str,
        reading: &ReplayReading,
        reader: &TraceReader<R>,
    ) -> TraceSummary {
        for file in self.files.iter_mut().filter(|file| file.start > file.end) {
            file.start = 0;
        }
        let alignment = if self.bits == 0 {
            1 << 20
        } else {
            1 << self.bits.trailing_zeros().min(62)
        };
        let replay = Replay {
            log: name.to_owned(),
            reading: ReplayReading {
                timing: reader.timing(),
                ..reading.clone()
            },
            files: self.files,
            ios: self.ios,
            bytes: self.bytes,
            syncs: self.syncs,
            length: reader.length(),
            largest: self.sizes[Direction::Read]
                .1
                .max(self.sizes[Direction::Write].1),
            alignment: Bytes::new(alignment),
            bad_lines: reader.bad_lines(),
        };
        TraceSummary {
            replay,
            paths: reader.paths().to_vec(),
            sizes: self.sizes,
            has_waits: reader.has_waits(),
        }
    }
}

impl TraceSummary {
    /// Block sizes of the plan; directions without I/O keep `others`.
    #[must_use]
    pub fn block_sizes(&self, others: &PerDirection<BlockSizes>) -> PerDirection<BlockSizes> {
        PerDirection::from_fn(|direction| match self.sizes[direction] {
            (0, _) => others[direction].clone(),
            (min, max) if min == max => BlockSizes::Fixed(min),
            (min, max) => BlockSizes::Range { min, max },
        })
    }

    /// Total time of the trace.
    #[must_use]
    pub fn length(&self) -> Nanos {
        self.replay.length
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_model::ReplayTiming;

    const LOG: &str = "fio version 3 iolog\n100 a add\n100 a open\n100 b add\n150 b open\n1100 a write 8192 4096\n\
                       2100 b read 0 512\n2000 a sync 0 0\n5100 a write 4096 8192\n6100 b trim 1024 2147483648\n7000 a close\n";

    fn reading(timing: ReplayTiming) -> ReplayReading {
        ReplayReading {
            timing,
            ..ReplayReading::default()
        }
    }

    fn dues(log: &str, reading: &ReplayReading) -> Vec<u64> {
        let mut reader = TraceReader::new(log.as_bytes(), reading).expect("a trace");
        std::iter::from_fn(|| {
            reader
                .next_io()
                .expect("readable")
                .map(|io| io.at.get() / 1000)
        })
        .collect()
    }

    #[test]
    fn a_trace_is_summarised() {
        let summary =
            summarise_trace(LOG.as_bytes(), "x", &reading(ReplayTiming::OnTime)).expect("a trace");
        let replay = &summary.replay;
        assert_eq!(summary.paths, ["a", "b"].map(PathBuf::from));
        assert_eq!(
            (replay.ios.0, replay.bytes.0, replay.syncs),
            ([1, 2, 1], [512, 12_288, 1 << 31], 1)
        );
        assert_eq!((replay.files[0].start, replay.files[0].end), (4096, 12_288));
        assert_eq!(replay.files[1].uses.0, [true, false, true]);
        assert_eq!(replay.files[1].end, 1024 + (1 << 31));
        assert_eq!(
            summary.sizes.0,
            [(512, 512), (4096, 8192), (1 << 31, 1 << 31)]
        );
        assert_eq!(replay.alignment, Bytes::new(512));
        // The last line is 6.9 ms after the first.
        assert_eq!(replay.length, Nanos::new(6_900_000));
    }

    #[test]
    fn due_times_start_at_the_first_timestamp_and_never_go_back() {
        assert_eq!(
            dues(LOG, &reading(ReplayTiming::OnTime)),
            [1000, 2000, 2000, 5000, 6000]
        );
        let half = ReplayReading {
            time_percent: 50,
            ..reading(ReplayTiming::OnTime)
        };
        assert_eq!(dues(LOG, &half), [2000, 4000, 4000, 10_000, 12_000]);
        assert_eq!(dues(LOG, &reading(ReplayTiming::AsFast)), [0; 5]);
    }

    /// fio 3.33: a gap counts from the last I/O; none before a timestamp that goes back, nor after a timestamp of zero.
    #[test]
    fn gaps_are_those_of_fio() {
        assert_eq!(
            dues(LOG, &reading(ReplayTiming::AfterLast)),
            [1000, 1000, 0, 3100, 1000]
        );
        let zero = "fio version 3 iolog\n0 a add\n0 a open\n5000 a read 0 1\n7000 a read 0 1\n";
        assert_eq!(dues(zero, &reading(ReplayTiming::AfterLast)), [0, 2000]);
        // A skipped line takes its gap along.
        let skip = PerDirection([true, false, false]);
        assert_eq!(
            dues(
                LOG,
                &ReplayReading {
                    skip,
                    ..reading(ReplayTiming::AfterLast)
                }
            ),
            [1000, 0, 3100, 1000]
        );
    }

    #[test]
    fn waits_are_microseconds_or_in_fio_milliseconds_since_the_start() {
        let log = "fio version 2 iolog\na add\na open\na read 0 1\na wait 500 0\na read 1 1\na wait 700 0\na read 2 1\n";
        assert_eq!(dues(log, &reading(ReplayTiming::OnTime)), [0, 500, 1200]);
        assert_eq!(
            dues(log, &reading(ReplayTiming::AfterLast)),
            [0, 500_000, 700_000]
        );
        assert_eq!(
            summarise_trace(log.as_bytes(), "x", &reading(ReplayTiming::AfterLast))
                .map(|s| s.replay.reading.timing),
            Ok(ReplayTiming::NotBefore)
        );
    }

    #[test]
    fn addresses_are_scaled_then_aligned_and_files_redirected() {
        let reading = ReplayReading {
            scale: 3,
            align: 4096,
            redirect: Some("/t".into()),
            ..reading(ReplayTiming::AsFast)
        };
        let mut reader = TraceReader::new(LOG.as_bytes(), &reading).expect("a trace");
        let places: Vec<(u32, u64)> = std::iter::from_fn(|| {
            reader
                .next_io()
                .expect("readable")
                .map(|io| (io.file, io.offset))
        })
        .collect();
        assert_eq!(places, [(0, 0), (0, 0), (0, 0), (0, 0), (0, 0)]);
        assert_eq!(reader.paths(), ["/t"].map(PathBuf::from));
    }

    #[test]
    fn errors_name_their_line() {
        let error_of = |lines: &str| {
            let log = format!("fio version 3 iolog\n{lines}");
            summarise_trace(log.as_bytes(), "x", &reading(ReplayTiming::OnTime))
                .map(|_| ())
                .map_err(|error| (error.line, error.problem))
        };
        let fails = |lines: &str, line: u64, text: &str| match error_of(lines) {
            Err((at, problem)) => assert!(
                at == line && problem.contains(text),
                "{lines}: {at}: {problem}"
            ),
            Ok(()) => panic!("{lines} was accepted"),
        };
        fails("1 f read 0 1\n", 2, "adds the file 'f'");
        fails("1 f add\n2 f read 0 1\n", 3, "not open");
        fails(
            "1 f add\n2 f open\n3 f close\n4 f read 0 1\n",
            5,
            "not open",
        );
        fails("1 f add\n2 f open\n", 4, "contains no read");
        fails(
            "1 f add\n2 f open\nfio version 3 iolog\n",
            4,
            "second trace",
        );
        fails(
            "1 f add\n2 f open\n3 f read 18446744073709551615 1\n",
            4,
            "outside of any possible file",
        );
        fails(
            "1 f add\n2 f open\n3 f read 0 2147483648\n",
            4,
            "exceed the limit",
        );
        fails(
            "0 f add\n2 f open\n18446744073709551615 f read 0 1\n",
            4,
            "100 years",
        );
        fails(&format!("1 {} add\n", "n".repeat(9000)), 2, "longer than");
        let many: String = (0..70_000).map(|n| format!("1 f{n} add\n")).collect();
        fails(&many, 65_538, "more than 65536 files");
        assert_eq!(error_of("1 f add\n2 f open\n3 f read 0 1\n"), Ok(()));
    }

    /// fio skips these lines with a message.
    #[test]
    fn a_lenient_reader_skips_invalid_lines() {
        let log = "fio version 3 iolog\n1 f add\n1 f open\ngarbage\n2 f jump 0 1\n3 f read 0 1\nfio version 3 iolog\n4 f rea";
        let reading = ReplayReading {
            lenient: true,
            ..reading(ReplayTiming::AfterLast)
        };
        let summary = summarise_trace(log.as_bytes(), "x", &reading).expect("a trace");
        assert_eq!(
            (
                summary.replay.ios[Direction::Read],
                summary.replay.bad_lines
            ),
            (1, 4)
        );
    }
}
