//! The one-line commands with which another process controls the device.

use std::fmt::Write as _;
use std::io;
use std::path::PathBuf;
use std::str::FromStr;

use crate::core::Core;
use crate::fault::{Fault, Op};
use crate::oplog::Entry;
use crate::store::Keep;

/// The commands with their arguments, for the help text.
pub const COMMANDS: &str = "\
read-us N | write-us N | sync-us N      latency in microseconds
servers N                               process N requests at a time, 0 for all
stall EVERY US                          each EVERY-th read or write takes US longer
eio-read OFFSET LEN                     reads touching the range fail
eio-write OFFSET LEN                    writes touching the range fail
short-read BYTES                        reads return at most BYTES
flip OFFSET MASK                        reads of that byte have the bits of MASK inverted
lose-writes EVERY                       each EVERY-th write is dropped
torn-write SECTORS                      only the first SECTORS of a write are stored
misdirect SHIFT                         writes go to an offset SHIFT bytes away
lying-flush                             sync is acknowledged but not done
sync-eio                                sync fails and drops the unsynced writes
hang [read|write|sync]                  operations stay in flight until release
gone                                    everything fails with EIO
  any fault may end in `times N`        trigger N times only
release | clear | clear-log             end a hang | disarm all faults | empty the log
shrink BYTES                            shrink the device
snapshot PATH none|all|half SEED        write what a power cut would leave
";

/// Why a command cannot be parsed or executed.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// No such command.
    #[error("unknown command `{0}`; the commands are:\n{commands}", commands = COMMANDS)]
    Command(String),
    /// No such kind of operation.
    #[error("unknown operation `{0}`; choose read, write or sync")]
    Operation(String),
    /// Not a number, or out of range.
    #[error("invalid number `{0}`")]
    Number(String),
    /// A period of 0.
    #[error("invalid period 0; use 1 or more")]
    Period,
    /// The file of a snapshot could not be written.
    #[error("snapshot to {}: {source}", path.display())]
    Snapshot {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
}

/// One parsed command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// Set the latency of one kind of operation, in microseconds.
    SetLatency(Op, u64),
    /// Set the number of requests that are processed at a time.
    Servers(u32),
    /// Arm a fault, for a number of times or without a limit.
    Inject(Fault, Option<u64>),
    /// End a hang.
    Release,
    /// Disarm every fault.
    Clear,
    /// Empty the operation log.
    ClearLog,
    /// Shrink the device to this many bytes.
    Shrink(u64),
    /// Write the image after a power cut to a file.
    Snapshot(PathBuf, Keep),
}

impl Command {
    /// Executes the command.
    ///
    /// # Errors
    /// Only a snapshot can fail, if its file could not be written.
    pub fn apply(&self, core: &Core) -> Result<(), CommandError> {
        match self {
            Command::SetLatency(op, us) => set_latency(core, *op, *us),
            Command::Servers(servers) => core.set_servers(*servers),
            Command::Inject(fault, None) => core.inject(*fault),
            Command::Inject(fault, Some(times)) => core.inject_times(*fault, *times),
            Command::Release => core.release(),
            Command::Clear => core.clear_faults(),
            Command::ClearLog => core.clear_log(),
            Command::Shrink(size) => core.shrink(*size),
            Command::Snapshot(path, keep) => {
                let done = core.snapshot_to(path, keep);
                return done.map_err(|source| CommandError::Snapshot {
                    path: path.clone(),
                    source,
                });
            }
        }
        Ok(())
    }
}

fn set_latency(core: &Core, op: Op, us: u64) {
    let mut latency = core.latency();
    match op {
        Op::Read => latency.read_us = us,
        Op::Write => latency.write_us = us,
        Op::Sync => latency.sync_us = us,
    }
    core.set_latency(latency);
}

impl FromStr for Command {
    type Err = CommandError;

    fn from_str(line: &str) -> Result<Self, CommandError> {
        let mut args: Vec<&str> = line.split_whitespace().collect();
        let times = take_times(&mut args)?;
        let unknown = || CommandError::Command(line.trim().to_owned());
        if let Some(fault) = parse_fault(&args)? {
            return Ok(Command::Inject(fault, times));
        }
        if times.is_some() {
            return Err(unknown());
        }
        parse_other(&args)?.ok_or_else(unknown)
    }
}

fn take_times(args: &mut Vec<&str>) -> Result<Option<u64>, CommandError> {
    let [.., "times", count] = args.as_slice() else {
        return Ok(None);
    };
    let count = number(count)?;
    args.truncate(args.len() - 2);
    Ok(Some(count))
}

fn parse_fault(args: &[&str]) -> Result<Option<Fault>, CommandError> {
    Ok(Some(match args {
        ["stall", every, us] => Fault::Stall {
            every: period(every)?,
            micros: number(us)?,
        },
        ["eio-read", at, len] => Fault::ReadError {
            offset: number(at)?,
            len: number(len)?,
        },
        ["eio-write", at, len] => Fault::WriteError {
            offset: number(at)?,
            len: number(len)?,
        },
        ["short-read", bytes] => Fault::ShortRead {
            at_most: number(bytes)?,
        },
        ["flip", at, mask] => Fault::BitFlip {
            offset: number(at)?,
            mask: number(mask)?,
        },
        ["lose-writes", every] => Fault::LostWrite {
            every: period(every)?,
        },
        ["torn-write", sectors] => Fault::TornWrite {
            sectors: number(sectors)?,
        },
        ["misdirect", shift] => Fault::MisdirectedWrite {
            shift: number(shift)?,
        },
        ["lying-flush"] => Fault::LyingFlush,
        ["sync-eio"] => Fault::SyncError,
        ["hang"] => Fault::Hang(None),
        ["hang", op] => Fault::Hang(Some(parse_op(op)?)),
        ["gone"] => Fault::Gone,
        _ => return Ok(None),
    }))
}

fn parse_other(args: &[&str]) -> Result<Option<Command>, CommandError> {
    Ok(Some(match args {
        ["read-us", us] => Command::SetLatency(Op::Read, number(us)?),
        ["write-us", us] => Command::SetLatency(Op::Write, number(us)?),
        ["sync-us", us] => Command::SetLatency(Op::Sync, number(us)?),
        ["servers", count] => Command::Servers(number::<u16>(count)?.into()),
        ["release"] => Command::Release,
        ["clear"] => Command::Clear,
        ["clear-log"] => Command::ClearLog,
        ["shrink", size] => Command::Shrink(number(size)?),
        ["snapshot", path, "none"] => Command::Snapshot(path.into(), Keep::None),
        ["snapshot", path, "all"] => Command::Snapshot(path.into(), Keep::All),
        ["snapshot", path, "half", seed] => {
            Command::Snapshot(path.into(), Keep::Half(number(seed)?))
        }
        _ => return Ok(None),
    }))
}

fn parse_op(text: &str) -> Result<Op, CommandError> {
    let all = [Op::Read, Op::Write, Op::Sync];
    let found = all.into_iter().find(|op| op.name() == text);
    found.ok_or_else(|| CommandError::Operation(text.to_owned()))
}

fn number<T: FromStr>(text: &str) -> Result<T, CommandError> {
    text.parse()
        .map_err(|_| CommandError::Number(text.to_owned()))
}

fn period(text: &str) -> Result<u64, CommandError> {
    match number(text)? {
        0 => Err(CommandError::Period),
        every => Ok(every),
    }
}

/// The counters and settings as `name value` lines, the text of the control file.
pub fn status(core: &Core) -> String {
    let (counts, latency) = (core.counts(), core.latency());
    let mut text = String::new();
    let mut line = |name: &str, value: u64| {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{name} {value}");
    };
    line("size", core.size());
    line("injected", counts.injected());
    line("in-flight", counts.in_flight);
    line("deepest", counts.deepest);
    line("held", counts.held);
    line("unsynced-sectors", counts.unsynced_sectors);
    line("log-dropped", counts.log_dropped);
    line("read-us", latency.read_us);
    line("write-us", latency.write_us);
    line("sync-us", latency.sync_us);
    for (kind, count) in &counts.faults {
        line(&format!("injected.{}", kind.name()), *count);
    }
    for fault in core.armed() {
        let _ = writeln!(text, "armed {fault:?}");
    }
    text
}

/// The operation log as comma-separated text with a header line.
pub fn log_text(core: &Core) -> String {
    let mut text = format!("{}\n", Entry::HEADER);
    for entry in core.log() {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{entry}");
    }
    text
}
