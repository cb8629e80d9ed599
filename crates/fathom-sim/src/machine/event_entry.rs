//! `[[event]]` of the file of a machine: what happens, at a set time and of a set size.
//!
//! | what happens | other keys beside `at` |
//! | --- | --- |
//! | `stop_generator = TIME` | |
//! | `steal_cpu = SHARE`, `slow_cpu = SHARE`, `memory_pressure = SHARE` | `lasts` |
//! | `wake_late = TIME` | `lasts`; without it once |
//! | `foreign_reads = DEVICE` | `lasts`, `depth` or `iops`, `size` |
//! | `limit_io = DEVICE` | `lasts`, `iops` and `burst`, `bandwidth` and `burst_bytes`; one with a burst is the volume's own and is not among the limits that the host knows |
//! | `step_clock = TIME` | `back = true` for the other direction |
//! | `stall_device = DEVICE` | `lasts` |
//! | `overheat_device = DEVICE` | `lasts`, `speed = SHARE` at which it works while it is hot; it counts that time |
//! | `hang_device = DEVICE` | |
//! | `hang_io = DEVICE`, `fail_io = DEVICE` | `number` |
//! | `fail_range = DEVICE` | `from`, `to` |
//! | `tear_write = DEVICE` | `number`, `keep` |
//! | `lose_write = DEVICE` | `number` |
//! | `misplace_write = DEVICE` | `number`, `by` |
//! | `corrupt = DEVICE` | `from`, `to` |
//! | `cut_power = DEVICE` | only of `fathom durable` |
//! | `cut_network = TIME` | only of one of several hosts |
//! | `delay_network = TIME` | `lasts`; only of one of several hosts |

use std::path::Path;

use fathom_model::{Bytes, Nanos};

use super::events::{BURST_BYTES, Event, EventKind, ForeignLoad, TokenBucket};
use super::file::DeviceEntry;
use crate::error::ModelError;
use crate::params::Params;
use crate::spec::ModelSpec;

/// Bytes of a foreign read unless `size` sets them.
const FOREIGN_READ_BYTES: u64 = 4096;
/// The most foreign reads in flight.
const MAX_DEPTH: u64 = 65_536;
/// The highest rate per second.
const MAX_RATE: f64 = 1e12;
/// The highest number of an I/O.
const MAX_NUMBER: u64 = 1 << 52;

/// The keys of what can happen.
const KINDS: &[(&str, Read)] = &[
    ("stop_generator", |event| {
        let lasts = event.time("stop_generator", None)?;
        Ok(EventKind::GeneratorStops { lasts })
    }),
    ("steal_cpu", |event| {
        let (lasts, share) = (event.lasts()?, event.share("steal_cpu")?);
        Ok(EventKind::CpuStolen { lasts, share })
    }),
    ("slow_cpu", |event| {
        let (lasts, share) = (event.lasts()?, event.share("slow_cpu")?);
        Ok(EventKind::CpuSlows { lasts, share })
    }),
    ("memory_pressure", |event| {
        let (lasts, share) = (event.lasts()?, event.share("memory_pressure")?);
        Ok(EventKind::MemoryPressure { lasts, share })
    }),
    ("wake_late", |event| {
        let late = event.time("wake_late", None)?;
        let lasts = event.time("lasts", Some(0.0))?;
        Ok(EventKind::WakesLate { late, lasts })
    }),
    ("foreign_reads", |event| event.foreign_reads()),
    ("limit_io", |event| event.limit_io()),
    ("step_clock", |event| {
        let by = event.time("step_clock", None)?.get() as i64;
        let is_back = event.params.flag("back", false)?;
        let by = if is_back { -by } else { by };
        Ok(EventKind::ClockSteps { by })
    }),
    ("stall_device", |event| {
        let (disk, lasts) = (event.device("stall_device")?, event.lasts()?);
        Ok(EventKind::DiskStalls { disk, lasts })
    }),
    ("overheat_device", |event| {
        let (disk, lasts) = (event.device("overheat_device")?, event.lasts()?);
        let share = event.share("speed")?;
        Ok(EventKind::DiskThrottles { disk, lasts, share })
    }),
    ("hang_device", |event| {
        let disk = event.device("hang_device")?;
        Ok(EventKind::DiskHangs { disk })
    }),
    ("hang_io", |event| {
        let (disk, number) = (event.device("hang_io")?, event.number()?);
        Ok(EventKind::IoHangs { disk, number })
    }),
    ("fail_io", |event| {
        let (disk, number) = (event.device("fail_io")?, event.number()?);
        Ok(EventKind::IoFails { disk, number })
    }),
    ("fail_range", |event| {
        let (disk, (from, to)) = (event.device("fail_range")?, event.range()?);
        Ok(EventKind::RangeFails { disk, from, to })
    }),
    ("tear_write", |event| {
        let (disk, number) = (event.device("tear_write")?, event.number()?);
        let keep = event.params.bytes("keep", None)?;
        Ok(EventKind::WriteTorn { disk, number, keep })
    }),
    ("lose_write", |event| {
        let (disk, number) = (event.device("lose_write")?, event.number()?);
        Ok(EventKind::WriteLost { disk, number })
    }),
    ("misplace_write", |event| {
        let (disk, number) = (event.device("misplace_write")?, event.number()?);
        let by = event.params.bytes("by", None)?;
        Ok(EventKind::WriteMisplaced { disk, number, by })
    }),
    ("corrupt", |event| {
        let (disk, (from, to)) = (event.device("corrupt")?, event.range()?);
        Ok(EventKind::DataCorrupted { disk, from, to })
    }),
    ("cut_power", |event| {
        let disk = event.device("cut_power")?;
        Ok(EventKind::PowerCut { disk })
    }),
    ("cut_network", |event| {
        let lasts = event.of_network("cut_network")?;
        Ok(EventKind::NetworkCut { lasts })
    }),
    ("delay_network", |event| {
        let (by, lasts) = (event.of_network("delay_network")?, event.lasts()?);
        Ok(EventKind::NetworkDelays { by, lasts })
    }),
];

/// Reads what belongs to one kind of event.
type Read = fn(&mut EventEntry<'_>) -> Result<EventKind, ModelError>;

/// The keys of an event that is being read.
struct EventEntry<'a> {
    params: Params<'a>,
    devices: &'a [DeviceEntry],
    /// The machine is one of several.
    has_network: bool,
}

/// The event of a table, on a machine with these devices, and with a network to other ones.
///
/// # Errors
/// If it is none, or its values are impossible; with the place.
pub(super) fn read_event(
    spec: &ModelSpec,
    devices: &[DeviceEntry],
    has_network: bool,
) -> Result<Event, ModelError> {
    let mut event = EventEntry {
        params: Params::new(spec),
        devices,
        has_network,
    };
    let at = event.time("at", None)?;
    let Some((_, read)) = KINDS.iter().find(|(name, _)| event.params.has(name)) else {
        let names: Vec<&str> = KINDS.iter().map(|(name, _)| *name).collect();
        let problem = format!("an event says what happens: {}", names.join(", "));
        return Err(ModelError::at(&spec.place, problem));
    };
    let kind = read(&mut event)?;
    event.params.finish()?;
    kind.check()
        .map_err(|problem| ModelError::at(&spec.place, problem))?;
    Ok(Event { at, kind })
}

impl EventEntry<'_> {
    fn time(&mut self, name: &'static str, default: Option<f64>) -> Result<Nanos, ModelError> {
        let ns = self.params.time(name, default)?;
        Ok(Nanos::new(ns.round() as u64))
    }

    /// The time of an event of the network.
    fn of_network(&mut self, name: &'static str) -> Result<Nanos, ModelError> {
        if self.has_network {
            return self.time(name, None);
        }
        let problem = "one host alone needs no network: `fathom run --hosts=a,b` has several, and `fathom durable` a recorder";
        Err(self.params.error(name, problem))
    }

    fn lasts(&mut self) -> Result<Nanos, ModelError> {
        self.time("lasts", None)
    }

    /// A share of one, such as 0.3 or 30%.
    fn share(&mut self, name: &'static str) -> Result<f64, ModelError> {
        self.params.number(name, (0.0, 1.0), None)
    }

    /// The first byte of a range, and the first one after it.
    fn range(&mut self) -> Result<(u64, u64), ModelError> {
        let params = &mut self.params;
        Ok((params.bytes("from", Some(0))?, params.bytes("to", None)?))
    }

    fn number(&mut self) -> Result<u64, ModelError> {
        self.params.count("number", (1, MAX_NUMBER), None)
    }

    /// The position of the device with this path in the file.
    fn device(&mut self, name: &'static str) -> Result<usize, ModelError> {
        let path = self.params.text(name)?.unwrap_or_default();
        let found = self
            .devices
            .iter()
            .position(|one| one.path == Path::new(path));
        found.ok_or_else(|| {
            let names = self
                .devices
                .iter()
                .map(|one| one.path.display().to_string());
            let names = names.collect::<Vec<_>>().join(", ");
            let problem = format!("no device '{path}'; the machine has {names}");
            self.params.error(name, problem)
        })
    }

    fn foreign_reads(&mut self) -> Result<EventKind, ModelError> {
        let (disk, lasts) = (self.device("foreign_reads")?, self.lasts()?);
        let params = &mut self.params;
        let size = Bytes::new(params.bytes("size", Some(FOREIGN_READ_BYTES))?);
        let load = if params.has("iops") {
            ForeignLoad::Rate(params.number("iops", (0.0, MAX_RATE), None)?)
        } else {
            ForeignLoad::Depth(params.count("depth", (1, MAX_DEPTH), None)? as u32)
        };
        Ok(EventKind::ForeignReads {
            disk,
            lasts,
            load,
            size,
        })
    }

    fn limit_io(&mut self) -> Result<EventKind, ModelError> {
        let (disk, lasts) = (self.device("limit_io")?, self.lasts()?);
        let params = &mut self.params;
        let ios = if params.has("iops") {
            let rate = params.number("iops", (0.0, MAX_RATE), None)?;
            let burst = params.number("burst", (1.0, MAX_RATE), Some(1.0))?;
            Some(TokenBucket { rate, burst })
        } else {
            None
        };
        let bytes = match params.optional_rate("bandwidth")? {
            Some(rate) => {
                let burst = params.bytes("burst_bytes", Some(BURST_BYTES))? as f64;
                Some(TokenBucket { rate, burst })
            }
            None => None,
        };
        Ok(EventKind::IoLimited {
            disk,
            lasts,
            ios,
            bytes,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::MachineFile;

    const DEVICES: &str = "[[device]]\npath = '/dev/a'\nmodel = 'servers(count=1)'\n\
        [[device]]\npath = '/b'\nmodel = 'servers(count=1)'\n";

    fn read(event: &str) -> Result<Event, ModelError> {
        let text = format!("{DEVICES}[[event]]\n{event}\n");
        let mut file = MachineFile::parse("m.toml", &text)?;
        Ok(file.events.remove(0))
    }

    #[test]
    fn each_event_has_its_time_and_its_size() {
        let (ms, s) = (Nanos::from_millis, Nanos::from_secs);
        let bucket = |rate, burst| TokenBucket { rate, burst };
        for (text, expected) in [
            (
                "stop_generator = '100ms'",
                Event::generator_stops(ms(500), ms(100)),
            ),
            (
                "steal_cpu = '30%'\nlasts = '2s'",
                Event::cpu_stolen(ms(500), s(2), 0.3),
            ),
            (
                "slow_cpu = 0.5\nlasts = '2s'",
                Event::cpu_slows(ms(500), s(2), 0.5),
            ),
            (
                "memory_pressure = 0.2\nlasts = '1s'",
                Event::memory_pressure(ms(500), s(1), 0.2),
            ),
            ("wake_late = '5ms'", Event::wakes_late_once(ms(500), ms(5))),
            (
                "wake_late = '5ms'\nlasts = '1s'",
                Event::wakes_late(ms(500), s(1), ms(5)),
            ),
            (
                "foreign_reads = '/b'\nlasts = '1s'\ndepth = 4",
                Event::foreign_reads(ms(500), s(1), 1, ForeignLoad::Depth(4)),
            ),
            (
                "foreign_reads = '/b'\nlasts = '1s'\niops = 250",
                Event::foreign_reads(ms(500), s(1), 1, ForeignLoad::Rate(250.0)),
            ),
            (
                "limit_io = '/dev/a'\nlasts = '1s'\niops = 300\nburst = 5000",
                Event::ios_limited(ms(500), s(1), 0, bucket(300.0, 5000.0)),
            ),
            (
                "limit_io = '/dev/a'\nlasts = '1s'\nbandwidth = '2MB/s'\nburst_bytes = '1m'",
                Event::bytes_limited(ms(500), s(1), 0, bucket(2e6, 1_048_576.0)),
            ),
            (
                "step_clock = '2s'",
                Event::clock_steps(ms(500), 2_000_000_000),
            ),
            (
                "step_clock = '2s'\nback = true",
                Event::clock_steps(ms(500), -2_000_000_000),
            ),
            (
                "stall_device = '/b'\nlasts = '1s'",
                Event::disk_stalls(ms(500), s(1), 1),
            ),
            (
                "overheat_device = '/b'\nlasts = '2s'\nspeed = '40%'",
                Event::disk_throttles(ms(500), s(2), 1, 0.4),
            ),
            ("hang_device = '/dev/a'", Event::disk_hangs(ms(500), 0)),
            ("hang_io = '/b'\nnumber = 7", Event::io_hangs(ms(500), 1, 7)),
            ("fail_io = '/b'\nnumber = 7", Event::io_fails(ms(500), 1, 7)),
            (
                "fail_range = '/dev/a'\nfrom = '4k'\nto = '8k'",
                Event::range_fails(ms(500), 0, 4096..8192),
            ),
            (
                "tear_write = '/b'\nnumber = 7\nkeep = '512B'",
                Event::write_torn(ms(500), 1, 7, 512),
            ),
            (
                "lose_write = '/b'\nnumber = 7",
                Event::write_lost(ms(500), 1, 7),
            ),
            (
                "misplace_write = '/b'\nnumber = 7\nby = '8k'",
                Event::write_misplaced(ms(500), 1, 7, 8192),
            ),
            (
                "corrupt = '/dev/a'\nto = '8k'",
                Event::data_corrupted(ms(500), 0, 0..8192),
            ),
            (
                "cut_power = '/b'",
                Event {
                    at: ms(500),
                    kind: EventKind::PowerCut { disk: 1 },
                },
            ),
        ] {
            let found = read(&format!("at = '500ms'\n{text}"));
            assert_eq!(found, Ok(expected), "{text}");
        }
    }

    #[test]
    fn mistakes_of_events_name_their_line() {
        for (event, place, problem) in [
            ("at = '1s'", "m.toml:7:1", "an event says what happens"),
            ("stop_generator = '1s'", "m.toml:7:1", "at"),
            (
                "at = '1s'\nstop_generator = 1",
                "m.toml:9:18",
                "missing unit",
            ),
            (
                "at = '1s'\nstall_device = '/c'\nlasts = '1s'",
                "m.toml:9:16",
                "has /dev/a, /b",
            ),
            (
                "at = '1s'\nsteal_cpu = 1\nlasts = '1s'",
                "m.toml:7:1",
                "below 1",
            ),
            (
                "at = '1s'\nhang_device = '/b'\ncolour = 1",
                "m.toml:10:10",
                "colour",
            ),
        ] {
            let error = read(event).expect_err(event);
            assert_eq!(error.place.to_string(), place, "{event}: {error}");
            assert!(error.problem.contains(problem), "{event}: {error}");
        }
    }
}
