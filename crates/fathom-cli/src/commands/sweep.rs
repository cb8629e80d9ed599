//! `fathom sweep`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use fathom_plan::Axis;

use super::Text;
use crate::common::{DisplayOptions, ExperimentOptions, LoadOptions, MachineOptions};
use crate::parse::{CommandArgs, ParseStop, parse};
use crate::values;

pub(crate) const TEXT: Text = (
    "Measure every combination of values of job options",
    "Measures the grid of all values of the axes: first its corners and its middle, then the cells in between, so that an \
     interrupted sweep has covered the whole range.\n\n\
     Without a job file the load is direct random reads of 4 KiB with queue depth 16. Several targets are measured each alone \
     and all together; the result says how much they slow each other down.\n\n\
     Each cell is stored as soon as it is measured: `fathom resume` continues a sweep that was interrupted or killed.",
    "Examples:
  fathom sweep . --axis bs=4k,16k --axis iodepth=1..64*2
  fathom sweep job.fio /dev/nvme0n1 --axis rw=randread,randwrite --destroy=CODE
  fathom sweep . --axis iodepth=1..32*2 --repeat=5 --precision=2%
  fathom sweep --axis target=/mnt/ext4,/mnt/xfs

Values of an axis are a list (4k,16k), a range (1..8, 1..64*2, 4k..64k+4k), powers (2^0..6), or several of these;
semicolons separate values that contain commas. The axis `target` (or `fs`) compares directories, files or devices.",
);

/// Default of `--agree`.
const DEFAULT_AGREEMENT: f64 = 0.10;

/// Arguments of `fathom sweep`.
#[derive(Args, Clone, Debug, Default)]
pub struct SweepArgs {
    /// Directories (a file is created in each and removed at the end), files, block devices, or one job file
    #[arg(value_name = "PATH")]
    pub operands: Vec<String>,
    /// Vary a job option; once for each axis
    #[arg(long = "axis", value_name = "NAME=VALUES", value_parser = axis)]
    pub axes: Vec<Axis>,
    /// Time to measure
    ///
    /// Time of each cell. Default: the job file's time, else a share of --budget, else 10s.
    #[arg(long, value_name = "TIME", value_parser = values::runtime)]
    pub runtime: Option<Duration>,
    /// Measure each cell this many times
    ///
    /// The cells are measured in rounds, and each figure has a 95 % confidence interval.
    #[arg(long, value_name = "N", value_parser = values::whole_number::<1, 1000>)]
    pub repeat: Option<u32>,
    /// Measure until the result is this precise
    ///
    /// Each cell is repeated until its 95 % confidence interval is within this share of the mean.
    #[arg(long, value_name = "PERCENT", value_parser = values::percentage)]
    pub precision: Option<f64>,
    /// With the axes iodepth and numjobs: measure one line, fill the grid only where needed
    ///
    /// Measures one line over the total queue depth and checks it at three points. The grid is filled only where few and many
    /// jobs with the same total differ by more than --agree.
    #[arg(long)]
    pub adaptive: bool,
    /// With --adaptive: largest difference that is not measured in more detail [default: 10%]
    #[arg(long, value_name = "PERCENT", value_parser = values::percentage)]
    pub agree: Option<f64>,
    /// Do not measure several targets together
    #[arg(long)]
    pub alone: bool,
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
    /// The targets among the operands.
    #[arg(skip)]
    pub paths: Vec<PathBuf>,
}

impl CommandArgs for SweepArgs {
    const NAME: &'static str = "sweep";

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
            if !values::is_job_file(operand) {
                self.paths.push(operand.into());
            } else if let Some(first) = self.job_file.replace(operand.clone()) {
                return Err(format!(
                    "only one job file is allowed, not {first} and {operand}"
                ));
            }
        }
        let by_axis = self.axes.iter().any(|axis| axis.name == "target");
        if self.axes.is_empty() && self.paths.len() < 2 {
            return Err(
                "no axis: give one, such as --axis bs=4k,16k --axis iodepth=1..64*2".to_owned(),
            );
        }
        if self.paths.is_empty() && self.job_file.is_none() && !by_axis {
            return Err("no target: give a directory, a file, a device or a job file, such as `fathom sweep . --axis iodepth=1..64*2`".to_owned());
        }
        if by_axis && !self.paths.is_empty() {
            return Err("the axis target names the targets: remove the other paths".to_owned());
        }
        let names: Vec<&str> = self.axes.iter().map(|axis| axis.name.as_str()).collect();
        if let Some(twice) = (1..names.len()).find(|at| names[..*at].contains(&names[*at])) {
            return Err(format!(
                "--axis {}: this axis is defined twice; give all values to one axis",
                names[twice]
            ));
        }
        self.common.validate()
    }
}

impl SweepArgs {
    /// Parses arguments that a run was started with.
    ///
    /// # Errors
    /// The first mistake.
    pub fn read(arguments: &[String]) -> Result<SweepArgs, String> {
        parse(arguments)
            .map(|parsed| parsed.args)
            .map_err(ParseStop::into_text)
    }

    /// The largest difference that counts as agreement, when the sweep is adaptive.
    #[must_use]
    pub fn agreement(&self) -> Option<f64> {
        self.agree
            .or_else(|| self.adaptive.then_some(DEFAULT_AGREEMENT))
    }
}

fn axis(text: &str) -> Result<Axis, String> {
    Axis::parse(text).map_err(|error| error.to_string())
}
