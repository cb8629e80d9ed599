//! `fathom ready`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use fathom_analyse::{LatencyFigure, SloLimit};
use fathom_model::{Bytes, ReadyFigure};

use super::Text;
use super::size::SizeFormat;
use crate::common::{HostsOptions, MachineOptions, OutputOptions, StoreOptions};
use crate::parse::CommandArgs;
use crate::values;

pub(crate) const TEXT: Text = (
    "Decide whether a disk is good enough for an application",
    "Runs the load of an application and compares its latencies and rates with the limits of the application: pass, warn, fail or \
     undecided, with the measured figure, its confidence interval, the limit and what to change. It measures until every interval \
     is on one side of its limit, or the time is up, so a verdict does not depend on luck.\n\n\
     Without arguments it lists the profiles; with the name of a profile it describes it. Exit code 0: pass or warn; 1: fail; \
     3: undecided.",
    "Examples:
  fathom ready etcd /var/lib/etcd
  fathom ready postgresql /mnt --rate=2000      random reads at this rate
  fathom ready . --rate=3000 --mix=70/30 --slo 'p99<=2ms'
  fathom ready etcd /data --json --junit=ready.xml
  fathom ready etcd /data/ --hosts=a,b,c --nats=nats://10.0.0.1",
);

/// The shortest time in which an interval means something.
const SHORTEST: Duration = Duration::from_secs(5);

/// Arguments of `fathom ready`.
#[derive(Args, Clone, Debug)]
pub struct ReadyArgs {
    /// Name of a profile, and a directory (files are created in it and removed at the end), file or block device
    #[arg(value_name = "PROFILE|PATH")]
    pub operands: Vec<String>,
    /// Load of I/Os per second
    ///
    /// Without a profile: I/Os per second of the load. With one: the rate of its reads or writes, where the profile has a rate.
    #[arg(long, value_name = "IOPS", value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    pub rate: Option<u32>,
    /// Reads and writes in percent, such as 70/30
    #[arg(long, value_name = "READS/WRITES", value_parser = mix)]
    pub mix: Option<u32>,
    /// Block size: 4k, 1m
    ///
    /// Of the load without a profile; 4k unless given.
    #[arg(long, value_name = "SIZE", value_parser = values::size)]
    pub bs: Option<Bytes>,
    /// Latency limit, such as p99<=1ms
    ///
    /// A limit on the mean or a percentile of the latency, from the time an I/O is due. Can be repeated.
    #[arg(long = "slo", value_name = "LIMIT", value_parser = values::parsed::<SloLimit>)]
    pub limits: Vec<SloLimit>,
    /// Time to measure
    ///
    /// The longest time of all measurements together, without creating the files; at least 5s. It ends earlier when every check is
    /// decided.
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = runtime)]
    pub runtime: Duration,
    /// Use this much of the target
    ///
    /// Each file has at most this size.
    #[arg(long, value_name = "SIZE", value_parser = values::target_size, help_heading = "Target")]
    pub size: Option<Bytes>,
    /// Confirm that the data on this target may be destroyed
    #[arg(long, value_name = "CODE", help_heading = "Target")]
    pub destroy: Vec<String>,
    /// Keep the file that was created for the measurement
    #[arg(long, help_heading = "Target")]
    pub keep: bool,
    /// Show what would be done, and exit
    #[arg(long)]
    pub dry_run: bool,
    /// Read profiles from this directory too, besides ~/.config/fathom/profiles; can be repeated
    #[arg(long, value_name = "DIR", value_parser = values::not_empty)]
    pub profiles: Vec<String>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub hosts: HostsOptions,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub machine: MachineOptions,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub result: OutputOptions<SizeFormat>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub store: StoreOptions,
    /// Write the verdicts as JUnit test cases to this file too
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub junit: Option<PathBuf>,
}

impl CommandArgs for ReadyArgs {
    const NAME: &'static str = "ready";

    fn machine(&self) -> MachineOptions {
        self.machine.clone()
    }

    fn hosts(&self) -> Option<&str> {
        self.hosts.hosts.as_deref()
    }

    fn finish(&mut self) -> Result<(), String> {
        if let Some(extra) = self.operands.get(2) {
            return Err(format!(
                "unexpected argument '{}': give a profile and a path",
                extra.escape_debug()
            ));
        }
        if self
            .limits
            .iter()
            .any(|limit| ready_figure(limit).is_none())
        {
            return Err(
                "--slo: no measurement proves a maximum, because a longer one may exceed it; limit p99.9 or p99.99 instead"
                    .to_owned(),
            );
        }
        if self.is_custom() && self.rate.is_none() {
            return Err(
                "--slo, --mix and --bs need the load: --rate=3000 (I/Os per second)".to_owned(),
            );
        }
        if self.is_custom() && self.limits.is_empty() {
            return Err("--mix and --bs need a limit, such as --slo 'p99<=2ms'".to_owned());
        }
        self.hosts.validate()
    }
}

impl ReadyArgs {
    /// Whether the load is that of the command line instead of a profile.
    #[must_use]
    pub fn is_custom(&self) -> bool {
        !self.limits.is_empty() || self.mix.is_some() || self.bs.is_some()
    }
}

/// The figure of a limit as one that a measurement can prove.
#[must_use]
pub fn ready_figure(limit: &SloLimit) -> Option<ReadyFigure> {
    match limit.figure {
        LatencyFigure::Mean => Some(ReadyFigure::Mean),
        LatencyFigure::Percentile(percent) => Some(ReadyFigure::Percentile(percent)),
        LatencyFigure::Max => None,
    }
}

/// `70/30`, `read` or `write`: the percentage of reads.
fn mix(text: &str) -> Result<u32, String> {
    let parts = text.split_once('/').and_then(|(reads, writes)| {
        Some((
            reads.trim().parse::<u32>().ok()?,
            writes.trim().parse::<u32>().ok()?,
        ))
    });
    match (text, parts) {
        ("read", _) => Ok(100),
        ("write", _) => Ok(0),
        (_, Some((reads, writes))) if reads.checked_add(writes) == Some(100) => Ok(reads),
        (_, Some(_)) => Err("reads and writes must add up to 100".to_owned()),
        (_, None) => {
            Err("reads and writes in percent, such as 70/30, or read, or write".to_owned())
        }
    }
}

fn runtime(text: &str) -> Result<Duration, String> {
    match values::time(text)? {
        time if time >= SHORTEST => Ok(time),
        _ => Err("too short for an interval: at least 5s".to_owned()),
    }
}
