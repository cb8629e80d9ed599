//! One reading of the machine: counters since boot, from files that stay open.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use fathom_model::{Bytes, CpuShare, DiskCounters};

use super::super::disks;
use super::super::watch::throttles;
use crate::clock::monotonic;
use crate::control_groups::own_groups;

/// Large enough for `/proc/stat` of a machine with thousands of interrupts.
const MAX_BYTES: usize = 256 << 10;

/// Files that are read repeatedly.
#[derive(Debug)]
pub(super) struct Sources {
    disks: Vec<Option<File>>,
    stat: Option<File>,
    pressure: [Option<File>; 3],
    memory: Option<File>,
    frequencies: Vec<File>,
    temperatures: Vec<File>,
    groups: Vec<PathBuf>,
    buffer: Vec<u8>,
}

/// Counter values at one moment.
#[derive(Clone, Debug, Default)]
pub(super) struct Reading {
    pub disks: Vec<DiskCounters>,
    pub cpus: Vec<Ticks>,
    /// Microseconds of pressure: CPU (some), I/O (some), memory (full).
    pub pressure: [Option<u64>; 3],
    pub cpu_mhz: Option<f64>,
    pub celsius: Option<f64>,
    pub available: Option<Bytes>,
    pub dirty: Option<Bytes>,
    pub writeback: Option<Bytes>,
    pub throttles: Option<u64>,
    /// Wall clock minus monotonic clock.
    pub wall_offset_ns: i64,
}

/// Time of one CPU since boot in clock ticks. See proc_stat(5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Ticks {
    all: u64,
    idle: u64,
    stolen: u64,
}

impl Ticks {
    /// How the time since `before` was spent.
    pub(super) fn since(self, before: Ticks) -> CpuShare {
        let less = u64::saturating_sub;
        let (all, idle, stolen) = (
            less(self.all, before.all),
            less(self.idle, before.idle),
            less(self.stolen, before.stolen),
        );
        if all == 0 {
            return CpuShare::default();
        }
        let share = |part: u64| part as f64 * 100.0 / all as f64;
        CpuShare {
            busy: share(less(all, idle + stolen)),
            stolen: share(stolen),
        }
    }
}

impl Sources {
    pub(super) fn open(disks: &[String]) -> Self {
        let stat = |name: &String| {
            File::open(
                Path::new("/sys/class/block")
                    .join(name.replace('/', "!"))
                    .join("stat"),
            )
            .ok()
        };
        Self {
            disks: disks.iter().map(stat).collect(),
            stat: File::open("/proc/stat").ok(),
            pressure: ["cpu", "io", "memory"]
                .map(|name| File::open(Path::new("/proc/pressure").join(name)).ok()),
            memory: File::open("/proc/meminfo").ok(),
            frequencies: each("/sys/devices/system/cpu", "cpu", "cpufreq/scaling_cur_freq"),
            temperatures: sensors(),
            groups: own_groups("cpu"),
            buffer: vec![0; 16 << 10],
        }
    }

    pub(super) fn read(&mut self) -> Reading {
        let Self {
            disks,
            stat,
            pressure,
            memory,
            frequencies,
            temperatures,
            groups,
            buffer,
        } = self;
        let memory = memory
            .as_ref()
            .and_then(|file| text(file, buffer))
            .unwrap_or_default();
        let [cpu, io, stalled] = pressure;
        Reading {
            disks: disks
                .iter()
                .map(|file| counters(file.as_ref(), buffer))
                .collect(),
            cpus: stat
                .as_ref()
                .and_then(|file| text(file, buffer))
                .map_or_else(Vec::new, |text| cpu_ticks(&text)),
            pressure: [
                waited(cpu, "some", buffer),
                waited(io, "some", buffer),
                waited(stalled, "full", buffer),
            ],
            cpu_mhz: mean(frequencies, buffer).map(|khz| khz / 1e3),
            celsius: hottest(temperatures, buffer).map(|milli| milli / 1e3),
            available: line(&memory, "MemAvailable:"),
            dirty: line(&memory, "Dirty:"),
            writeback: line(&memory, "Writeback:"),
            throttles: throttles(groups),
            wall_offset_ns: wall_offset(),
        }
    }
}

fn each(directory: &str, start: &str, file: &str) -> Vec<File> {
    let Ok(entries) = std::fs::read_dir(directory) else {
        return Vec::new();
    };
    let named = entries
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(start));
    named
        .filter_map(|entry| File::open(entry.path().join(file)).ok())
        .collect()
}

/// Temperatures of drives and CPUs in thousandths of a degree. See
/// Documentation/hwmon/sysfs-interface.rst.
fn sensors() -> Vec<File> {
    let mut all = each("/sys/class/hwmon", "hwmon", "temp1_input");
    all.extend(each("/sys/class/thermal", "thermal_zone", "temp"));
    all
}

/// Contents of a small kernel file, read again from the start.
fn text(file: &File, buffer: &mut Vec<u8>) -> Option<String> {
    loop {
        let read = file.read_at(buffer, 0).ok()?;
        if read < buffer.len() || buffer.len() >= MAX_BYTES {
            return std::str::from_utf8(&buffer[..read]).ok().map(str::to_owned);
        }
        buffer.resize(buffer.len() * 2, 0);
    }
}

fn counters(file: Option<&File>, buffer: &mut Vec<u8>) -> DiskCounters {
    file.and_then(|file| text(file, buffer))
        .and_then(|text| disks::parse(&text))
        .unwrap_or_default()
}

/// Lines `cpu0 user nice system idle iowait irq softirq steal ...`, one for each CPU.
fn cpu_ticks(text: &str) -> Vec<Ticks> {
    let lines = text
        .lines()
        .take_while(|line| line.starts_with("cpu"))
        .skip(1);
    lines.filter_map(one_cpu).collect()
}

fn one_cpu(line: &str) -> Option<Ticks> {
    let ticks: Vec<u64> = line
        .split_whitespace()
        .skip(1)
        .take(8)
        .map(str::parse)
        .collect::<Result<_, _>>()
        .ok()?;
    let at = |index: usize| ticks.get(index).copied().unwrap_or(0);
    (ticks.len() >= 4).then(|| Ticks {
        all: ticks.iter().sum(),
        idle: at(3) + at(4),
        stolen: at(7),
    })
}

/// `some avg10=0.00 avg60=0.00 avg300=0.00 total=12345`.
fn waited(file: &Option<File>, kind: &str, buffer: &mut Vec<u8>) -> Option<u64> {
    pressure_total(&text(file.as_ref()?, buffer)?, kind)
}

/// The total of a line of pressure stall information, microseconds (`Documentation/accounting/psi.rst`).
pub(crate) fn pressure_total(text: &str, kind: &str) -> Option<u64> {
    let line = text.lines().find(|line| line.starts_with(kind))?;
    line.split_whitespace()
        .find_map(|word| word.strip_prefix("total="))?
        .parse()
        .ok()
}

fn numbers<'a>(files: &'a [File], buffer: &'a mut Vec<u8>) -> impl Iterator<Item = f64> + 'a {
    files
        .iter()
        .filter_map(|file| text(file, buffer)?.trim().parse::<f64>().ok())
}

fn mean(files: &[File], buffer: &mut Vec<u8>) -> Option<f64> {
    let (sum, count) =
        numbers(files, buffer).fold((0.0, 0u32), |(sum, count), value| (sum + value, count + 1));
    (count > 0).then(|| sum / f64::from(count))
}

fn hottest(files: &[File], buffer: &mut Vec<u8>) -> Option<f64> {
    numbers(files, buffer).reduce(f64::max)
}

/// `Dirty:   1234 kB`.
fn line(text: &str, name: &str) -> Option<Bytes> {
    let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
    let kib: u64 = rest.split_whitespace().next()?.parse().ok()?;
    Some(Bytes::new(kib * 1024))
}

/// Uses two clocks of the C library, so that an interposed clock affects both.
fn wall_offset() -> i64 {
    let wall = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .map_or(0, |since| since.as_nanos() as i64);
    wall.wrapping_sub(monotonic() as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpus_are_parsed_without_their_sum() {
        let text = "cpu  200 0 200 1600 0 0 0 0 0 0\ncpu0 100 0 100 800 0 0 0 0 50 0\ncpu1 100 0 100 800 0 0 0 0 0 0\nintr 5\n";
        let before = cpu_ticks(text);
        assert_eq!(
            before,
            [Ticks {
                all: 1000,
                idle: 800,
                stolen: 0
            }; 2]
        );
        let now = cpu_ticks("cpu  1\ncpu0 140 0 110 830 10 0 0 10 90 0\n");
        assert_eq!(
            now[0].since(before[0]),
            CpuShare {
                busy: 50.0,
                stolen: 10.0
            }
        );
        assert_eq!(now[0].since(now[0]), CpuShare::default());
    }

    #[test]
    fn memory_sizes_are_in_kib() {
        let text = "MemTotal: 10 kB\nMemAvailable:    2048 kB\nDirty:   4 kB\n";
        assert_eq!(
            (line(text, "MemAvailable:"), line(text, "Dirty:")),
            (Some(Bytes::new(2 << 20)), Some(Bytes::new(4096)))
        );
        assert_eq!(line(text, "Writeback:"), None);
    }
}
