//! `fathom search`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use fathom_analyse::{LoadArrivals, SloLimit};

use super::Text;
use crate::common::{DisplayOptions, ExperimentOptions, LoadOptions, MachineOptions};
use crate::parse::{CommandArgs, ParseStop, parse};
use crate::values;

pub(crate) const TEXT: Text = (
    "Find the largest load within latency limits, the latency curve and its knee",
    "First queue depths are measured in a closed loop. Then loads are offered in an open loop, with latencies measured from the \
     time an I/O is due: short trials double or halve the load; long trials, which show whether the queue grows, narrow the interval. \
     The result is the interval between a load that keeps the limits and a load that exceeds them in all six parts of a trial, \
     and the latency curve up to that load.\n\n\
     Without a limit only the curves and their knees are measured. Without a job file the load is direct random reads of 4 KiB.",
    "Examples:
  fathom search . --slo 'p99<=1ms'
  fathom search job.fio /dev/nvme0n1 --slo 'p99.9<=5ms' --slo 'mean<=500us'
  fathom search . --at=3000 --slo 'p99<=2ms'        yes or no
  fathom search . --set rw=randrw --arrivals=even --budget=10m",
);

/// The figure of a load that is reported first.
#[derive(ValueEnum, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LoadUnit {
    /// I/Os per second
    #[default]
    Iops,
    /// Megabytes per second
    #[value(alias = "mb/s")]
    Mbps,
}

/// When the I/Os of an open loop are due.
#[derive(ValueEnum, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ArrivalProcess {
    /// Independent of each other, as from many users
    #[default]
    Poisson,
    /// At equal intervals
    Even,
}

impl From<ArrivalProcess> for LoadArrivals {
    fn from(process: ArrivalProcess) -> LoadArrivals {
        match process {
            ArrivalProcess::Poisson => LoadArrivals::Poisson,
            ArrivalProcess::Even => LoadArrivals::Even,
        }
    }
}

/// Arguments of `fathom search`.
#[derive(Args, Clone, Debug, Default)]
pub struct SearchArgs {
    /// Directory (a file is created in it and removed at the end), file, block device, and/or a job file
    #[arg(value_name = "PATH")]
    pub operands: Vec<String>,
    /// Latency limit, such as p99<=1ms
    ///
    /// A limit on mean, max, p50, p90, p99, p99.9 or p99.99; or hdd (mean<=20ms) or ssd (mean<=3ms). Can be repeated: all limits hold together.
    #[arg(long = "slo", value_name = "LIMIT", value_parser = values::parsed::<SloLimit>)]
    pub limits: Vec<SloLimit>,
    /// Measure only this load, and answer whether it meets the limits
    ///
    /// I/Os per second. The answer is one line: yes or no, with the distance to the nearest limit. No is exit code 1.
    #[arg(long, value_name = "IOPS", value_parser = clap::value_parser!(u64).range(1..))]
    pub at: Option<u64>,
    /// Unit of the load in the result
    #[arg(long = "max", value_name = "UNIT", value_enum, default_value = "iops")]
    pub unit: LoadUnit,
    /// When the I/Os of the open loop are due
    #[arg(long, value_name = "PROCESS", value_enum, default_value = "poisson")]
    pub arrivals: ArrivalProcess,
    /// Time to measure
    ///
    /// Time of a short trial: 2s by default, longer where a percentile needs more I/Os. A long trial takes six times that, and up
    /// to a minute where limit and precision need it.
    #[arg(long, value_name = "TIME", value_parser = values::runtime)]
    pub runtime: Option<Duration>,
    /// Measure until the result is this precise
    ///
    /// The width of the interval that the search ends with, as a share of the load; 1% by default.
    #[arg(long, value_name = "PERCENT", value_parser = values::precision)]
    pub precision: Option<f64>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub load: LoadOptions,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub common: ExperimentOptions,
    /// Write the verdicts as JUnit test cases to this file too
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub junit: Option<PathBuf>,
    /// The job file among the operands.
    #[arg(skip)]
    pub job_file: Option<String>,
    /// The target among the operands.
    #[arg(skip)]
    pub path: Option<PathBuf>,
}

impl CommandArgs for SearchArgs {
    const NAME: &'static str = "search";

    fn machine(&self) -> MachineOptions {
        self.common.machine.clone()
    }

    fn hosts(&self) -> Option<&str> {
        self.common.hosts.hosts.as_deref()
    }

    fn display(&mut self, display: DisplayOptions) {
        self.common.observers.quiet = display.quiet;
    }

    fn finish(&mut self) -> Result<(), String> {
        for operand in &self.operands {
            let first = if values::is_job_file(operand) {
                self.job_file.replace(operand.clone())
            } else {
                self.path
                    .replace(operand.into())
                    .map(|path| path.display().to_string())
            };
            if let Some(first) = first {
                return Err(format!(
                    "only one target and one job file are allowed, not {first} and {operand}"
                ));
            }
        }
        if self.path.is_none() && self.job_file.is_none() {
            return Err("no target: give a directory, a file, a device or a job file, such as `fathom search . --slo 'p99<=1ms'`".to_owned());
        }
        if self.junit.is_some() && self.limits.is_empty() {
            return Err("--junit needs a limit, such as --slo 'p99<=2ms'".to_owned());
        }
        if self.at.is_some() && self.limits.is_empty() {
            return Err("--at needs a limit, such as --slo 'p99<=2ms'".to_owned());
        }
        self.common.validate()
    }
}

impl SearchArgs {
    /// Parses arguments that a run was started with.
    ///
    /// # Errors
    /// The first mistake.
    pub fn read(arguments: &[String]) -> Result<SearchArgs, String> {
        parse(arguments)
            .map(|parsed| parsed.args)
            .map_err(ParseStop::into_text)
    }
}
