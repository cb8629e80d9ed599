//! Any trace as text that the replay of fathom reads: fio's iolog, version 3, or with the times of completions.

use std::fmt::Write as _;
use std::io::{self, Read};

use crate::error::TraceError;
use crate::hash::mix;
use crate::reader::TraceReader;
use crate::reader::TraceSource as _;
use crate::record::{IoKind, TraceIo};

/// Bytes that stay together when offsets are mapped, so that sequential runs stay sequential.
const REGION: u64 = 1 << 20;
/// Text that is made at once.
const AHEAD: usize = 64 << 10;

/// How offsets of a trace become offsets of a target of another size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mapping {
    /// As they are.
    #[default]
    Same,
    /// Modulo the size of the target.
    Wrap,
    /// In proportion, in regions of 1 MiB.
    Scale,
    /// Regions of 1 MiB go to pseudo-random places; each always to the same.
    Hash,
}

/// A target of a replay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplayTarget {
    /// Its path.
    pub name: String,
    /// Its size in bytes.
    pub bytes: u64,
    /// The largest end of an I/O of the devices of the trace that go to it.
    pub span: u64,
}

impl ReplayTarget {
    /// The offset of an I/O on the target; it ends within the target if its length allows.
    #[must_use]
    pub fn place(&self, mapping: Mapping, offset: u64, length: u32) -> u64 {
        if mapping == Mapping::Same || self.bytes == 0 {
            return offset;
        }
        // At least 16 regions, so that small targets have places to map to.
        let region = REGION
            .min((self.bytes / 16).next_power_of_two() / 2)
            .max(4096);
        let regions = (self.bytes / region).max(1);
        let (number, within) = (offset / region, offset % region);
        let to = match mapping {
            Mapping::Same | Mapping::Wrap => number % regions,
            Mapping::Scale => {
                let of = self.span.div_ceil(region).max(1);
                (u128::from(number) * u128::from(regions) / u128::from(of)) as u64
            }
            Mapping::Hash => mix(number) % regions,
        };
        let placed = to * region + within;
        // An I/O over the end moves down by whole blocks.
        let over = (placed + u64::from(length)).saturating_sub(self.bytes);
        placed.saturating_sub(over.next_multiple_of(4096))
    }
}

/// What a replay changes.
#[derive(Clone, Debug, PartialEq)]
pub struct ReplayChange {
    /// Devices of the trace go to these in turn.
    pub targets: Vec<ReplayTarget>,
    /// How offsets are mapped.
    pub mapping: Mapping,
    /// Factor on the speed: times are divided by it.
    pub speed: f64,
    /// The text has the times of issue and completion in nanoseconds, from which the replay takes the order.
    pub dependencies: bool,
}

/// The text, made while it is read.
pub struct IologText<'a> {
    reader: TraceReader<'a>,
    change: ReplayChange,
    text: String,
    read: usize,
    first: Option<u64>,
    ended: bool,
}

impl<'a> IologText<'a> {
    /// The text of what the reader returns.
    #[must_use]
    pub fn new(reader: TraceReader<'a>, change: ReplayChange) -> Self {
        let mut text = match change.dependencies {
            true => "fathom version 1 dependency iolog\n".to_owned(),
            false => "fio version 3 iolog\n".to_owned(),
        };
        for target in &change.targets {
            let name = &target.name;
            let _ = write!(text, "0 {name} add\n0 {name} open\n");
        }
        IologText {
            reader,
            change,
            text,
            read: 0,
            first: None,
            ended: false,
        }
    }

    fn add(&mut self, io: &TraceIo) {
        let first = *self.first.get_or_insert(io.time_ns);
        let since = io.time_ns.saturating_sub(first);
        let (time, done) = if self.change.dependencies {
            let done = io.latency_ns.map(|latency| since.saturating_add(latency));
            (since, done.map_or(String::new(), |done| format!(" {done}")))
        } else {
            let scaled = since as f64 / 1000.0 / self.change.speed;
            (scaled.round_ties_even() as u64, String::new())
        };
        let targets = &self.change.targets;
        let Some(target) = targets.get(io.device as usize % targets.len().max(1)) else {
            return;
        };
        let offset = target.place(self.change.mapping, io.offset, io.length);
        let _ = match io.kind {
            IoKind::Flush => writeln!(self.text, "{time} {} sync 0 0{done}", target.name),
            kind => writeln!(
                self.text,
                "{time} {} {} {offset} {}{done}",
                target.name,
                match kind {
                    IoKind::Read => "read",
                    IoKind::Write => "write",
                    _ => "trim",
                },
                io.length
            ),
        };
    }
}

impl Read for IologText<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.read == self.text.len() {
            self.text.clear();
            self.read = 0;
        }
        while self.text.len() < AHEAD && !self.ended {
            let next = self.reader.next_io().map_err(|error| match error {
                TraceError::Read { error, .. } => error,
                error => io::Error::new(io::ErrorKind::InvalidData, error.to_string()),
            })?;
            match next {
                Some(io) => self.add(&io),
                None => self.ended = true,
            }
        }
        let rest = &self.text.as_bytes()[self.read..];
        let count = rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        self.read += count;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reader::ReadOptions;

    const GIB: u64 = 1 << 30;

    fn target(bytes: u64, span: u64) -> ReplayTarget {
        ReplayTarget {
            name: "t".to_owned(),
            bytes,
            span,
        }
    }

    #[test]
    fn every_mapping_stays_within_the_target_and_keeps_runs_together() {
        let target = target(GIB, 100 * GIB);
        for mapping in [Mapping::Wrap, Mapping::Scale, Mapping::Hash] {
            for place in 0..1000 {
                let offset = place * 107_374_182 / 4096 * 4096;
                let placed = target.place(mapping, offset, 65_536);
                assert!(placed + 65_536 <= GIB, "{mapping:?} {offset} {placed}");
                assert_eq!(placed % 4096, 0);
                // The next I/O of the same region follows.
                if offset % REGION + 131_072 <= REGION && placed + 131_072 <= GIB {
                    assert_eq!(
                        target.place(mapping, offset + 65_536, 65_536),
                        placed + 65_536
                    );
                }
            }
        }
        assert_eq!(target.place(Mapping::Wrap, 5 * GIB + 8192, 4096), 8192);
        // The middle of the trace is the middle of the target.
        assert_eq!(target.place(Mapping::Scale, 50 * GIB, 4096), GIB / 2);
        assert_eq!(target.place(Mapping::Same, 5 * GIB, 4096), 5 * GIB);
        // Regions of a hash are spread: 100 of them hit at least 80 different places of 1024.
        let places: std::collections::BTreeSet<u64> = (0..100)
            .map(|n| target.place(Mapping::Hash, n * REGION, 4096))
            .collect();
        assert!(places.len() > 80, "{}", places.len());
    }

    #[test]
    fn a_trace_of_any_format_becomes_an_iolog() {
        let msr = "128166372003061629,hm,0,Read,8589934592,4096,100\n\
                   128166372013061629,hm,1,Write,4096,8192,100\n";
        let reader = TraceReader::open(msr.as_bytes(), ReadOptions::default()).unwrap();
        let change = ReplayChange {
            targets: vec![
                target(GIB, 9 * GIB),
                ReplayTarget {
                    name: "u".to_owned(),
                    ..target(GIB, GIB)
                },
            ],
            mapping: Mapping::Wrap,
            speed: 2.0,
            dependencies: false,
        };
        let mut text = String::new();
        IologText::new(reader, change.clone())
            .read_to_string(&mut text)
            .unwrap();
        // One second later at twice the speed is half a second.
        assert_eq!(
            text,
            "fio version 3 iolog\n0 t add\n0 t open\n0 u add\n0 u open\n0 t read 0 4096\n500000 u write 4096 8192\n"
        );
        // Latencies of 100 units of 100 ns, whatever the speed.
        let reader = TraceReader::open(msr.as_bytes(), ReadOptions::default()).unwrap();
        let change = ReplayChange {
            dependencies: true,
            ..change
        };
        text.clear();
        IologText::new(reader, change)
            .read_to_string(&mut text)
            .unwrap();
        assert_eq!(
            text,
            "fathom version 1 dependency iolog\n0 t add\n0 t open\n0 u add\n0 u open\n0 t read 0 4096 10000\n1000000000 u write 4096 8192 1000010000\n"
        );
    }
}
