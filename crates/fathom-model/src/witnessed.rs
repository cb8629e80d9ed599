//! A program that was watched while it did I/O of its own.

use std::path::PathBuf;

use crate::Nanos;

/// A command that was watched, with all processes that it started.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Witnessed {
    /// The program and its arguments.
    pub command: Vec<String>,
    /// How it ended.
    pub ended: ProgramEnd,
    /// Processes of the command that were seen; some may have ended before they were.
    pub processes: u64,
    /// Processes that were running before, and were watched as well.
    pub servers: Vec<WatchedProcess>,
    /// Processes of the command that still ran when it had ended.
    pub left: Vec<WatchedProcess>,
    /// What all of them read and wrote.
    pub io: ProcessIo,
    /// CPU time in user space.
    pub user: Nanos,
    /// CPU time in the kernel.
    pub system: Nanos,
    /// What their control group transferred on each device. Empty where no control group counts it.
    pub disks: Vec<GroupDisk>,
    /// Files and devices that they were seen to have open.
    pub files: Vec<OpenedFile>,
    /// What could not be watched, and why, in sentences.
    pub unknown: Vec<String>,
    /// The result of a database that fathom ran, in sentences. Empty for other commands.
    pub application: Vec<String>,
    /// What its transactions cost. `None` for other commands.
    pub costs: Option<TransactionCosts>,
}

/// What the transactions of a database cost in the measured time, all together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TransactionCosts {
    /// Transactions that were committed.
    pub transactions: u64,
    /// CPU time of the engine, nanoseconds.
    pub cpu_ns: u64,
    /// Reads of the devices of data and log.
    pub reads: u64,
    /// Time of all of them, nanoseconds.
    pub read_ns: u64,
    /// Writes of these devices.
    pub writes: u64,
    /// Time of all of them, nanoseconds.
    pub write_ns: u64,
    /// Flushes of these devices.
    pub flushes: u64,
    /// Time of all of them, nanoseconds; 0 where the kernel does not count it (before version 5.5).
    pub flush_ns: u64,
}

/// How a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgramEnd {
    /// With this exit code.
    Code(i32),
    /// Killed by this signal.
    Signal(i32),
}

/// Exit code 0.
impl Default for ProgramEnd {
    fn default() -> ProgramEnd {
        ProgramEnd::Code(0)
    }
}

/// A process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WatchedProcess {
    /// Process number.
    pub process: u32,
    /// Its name, as the kernel stores it (at most 15 bytes).
    pub name: String,
}

/// Counters of processes. See proc_pid_io(5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcessIo {
    /// Bytes read with system calls, also from the page cache, pipes and sockets (`rchar`).
    pub read_bytes: u64,
    /// Bytes written with system calls, also to the page cache, pipes and sockets (`wchar`).
    pub written_bytes: u64,
    /// Read system calls (`syscr`).
    pub read_calls: u64,
    /// Write system calls (`syscw`).
    pub write_calls: u64,
    /// Bytes that had to be read from devices (`read_bytes`).
    pub device_read_bytes: u64,
    /// Bytes of the page cache that were made dirty, and bytes written around it: they were written, or are still to be written
    /// (`write_bytes`).
    pub device_written_bytes: u64,
    /// Dirty bytes whose file was truncated or removed before they were written (`cancelled_write_bytes`).
    pub cancelled_bytes: u64,
}

impl ProcessIo {
    /// What was counted after `before`.
    #[must_use]
    pub fn since(&self, before: &ProcessIo) -> ProcessIo {
        self.join(before, u64::saturating_sub)
    }

    /// The sum of two counters.
    #[must_use]
    pub fn plus(&self, other: &ProcessIo) -> ProcessIo {
        self.join(other, u64::saturating_add)
    }

    /// The larger one of each counter.
    #[must_use]
    pub fn max(&self, other: &ProcessIo) -> ProcessIo {
        self.join(other, u64::max)
    }

    fn join(&self, other: &ProcessIo, each: fn(u64, u64) -> u64) -> ProcessIo {
        ProcessIo {
            read_bytes: each(self.read_bytes, other.read_bytes),
            written_bytes: each(self.written_bytes, other.written_bytes),
            read_calls: each(self.read_calls, other.read_calls),
            write_calls: each(self.write_calls, other.write_calls),
            device_read_bytes: each(self.device_read_bytes, other.device_read_bytes),
            device_written_bytes: each(self.device_written_bytes, other.device_written_bytes),
            cancelled_bytes: each(self.cancelled_bytes, other.cancelled_bytes),
        }
    }
}

/// What a control group transferred on one device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GroupDisk {
    /// Kernel name, such as `vda`.
    pub name: String,
    /// Reads.
    pub reads: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Writes.
    pub writes: u64,
    /// Bytes written.
    pub written_bytes: u64,
}

/// A file or block device that a watched process had open.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OpenedFile {
    /// Its path, as the kernel reports it.
    pub path: PathBuf,
    /// It was open for reading.
    pub reads: bool,
    /// It was open for writing.
    pub writes: bool,
    /// It was open with O_DIRECT, which avoids the page cache.
    pub direct: bool,
    /// Kernel name of the device that it is on, where known.
    pub disk: Option<String>,
    /// Its file system keeps its data in memory (`tmpfs`, `ramfs`).
    pub memory_backed: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_joined_field_by_field() {
        let one = ProcessIo {
            read_bytes: 5,
            write_calls: 7,
            ..ProcessIo::default()
        };
        let two = ProcessIo {
            read_bytes: 8,
            write_calls: 1,
            cancelled_bytes: 2,
            ..ProcessIo::default()
        };
        assert_eq!(
            one.plus(&two).since(&two),
            one,
            "a sum less a part is the other part"
        );
        let most = one.max(&two);
        assert_eq!(
            (most.read_bytes, most.write_calls, most.cancelled_bytes),
            (8, 7, 2)
        );
        assert_eq!(one.since(&two).read_bytes, 0, "counters never go back");
    }
}
