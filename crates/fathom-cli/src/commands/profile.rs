//! `fathom profile` and `fathom fidelity`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::Text;
use crate::common::{OutputFormat, OutputOptions, ResultOptions, StoreSource};
use crate::parse::CommandArgs;
use crate::values;

pub(crate) const PROFILE_TEXT: Text = (
    "Describe the load in a trace, and make a job file of it",
    "Reads a trace of I/O and describes its load: streams, sizes, mix, sequentiality, footprint, working set, popularity, miss-ratio \
     curve, arrivals, depth, flushes and phases. With -o JOB.fio the load becomes a job file that runs in fio and in fathom; its \
     score says how true a copy it is. With -o LOAD.toml it becomes a load file, which also says what fio cannot: bursts, phases, think times; \
     fathom replay runs it, and it is read as a trace everywhere. With -o PAGE.html it becomes a page with pictures. Traces are read in constant memory, also compressed with gzip or zstd, or from standard input (-).\n\n\
     Formats, detected by content: blktrace (binary), blkparse (also YCSB of SNIA), tracefs, iolog (fio, version 2 and 3), msr \
     (Cambridge), alibaba (2020), tencent (CBS), spc, disksim (also MQSim), hfplayer, biosnoop, etw (xperf -a dumper), load (load files), and the traces of \
     fathom capture.",
    "Examples:
  fathom profile trace.txt.gz
  fathom profile trace.txt -o load.fio
  fathom profile trace.txt -o load.toml      a load file for fathom replay
  fathom profile trace.txt -o load.html      a page with pictures
  fathom profile trace.txt -o load.fio --scale-rate=2 --scale-footprint=0.1
  fathom profile volume.csv --trace-format=msr --json",
);

pub(crate) const FIDELITY_TEXT: Text = (
    "Score how well one trace stands for another",
    "Compares the loads of two traces: sizes, mix, gaps between arrivals, sequentiality, depth over time, footprint, miss-ratio curve \
     and latency. Each has a score from 0 to 100, and the worst is named. A is the original; B is its replay, a synthetic copy, or \
     another day.",
    "Examples:
  fathom fidelity original.txt replay.txt
  fathom fidelity monday.csv.gz tuesday.csv.gz --json",
);

/// How a trace is read.
#[derive(Args, Clone, Debug, Default)]
pub struct TraceOptions {
    /// Format of the trace; without it the content decides
    #[arg(long, value_name = "NAME", help_heading = "Trace")]
    pub trace_format: Option<String>,
    /// Malformed lines to skip; one more is an error
    ///
    /// Without it 100 lines, or 1 % of the lines so far if that is more.
    #[arg(long, value_name = "LINES", help_heading = "Trace")]
    pub max_malformed: Option<u64>,
}

/// Format of a profile.
#[derive(ValueEnum, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProfileFormat {
    /// Text for people
    #[default]
    Text,
    /// JSON for programs
    Json,
    /// Job file for fio and fathom
    Fio,
    /// Page with pictures
    Html,
    /// Load file in TOML for fathom replay, with bursts and phases
    Load,
}

impl OutputFormat for ProfileFormat {
    const JSON: Self = ProfileFormat::Json;
}

/// Arguments of `fathom profile`.
#[derive(Args, Clone, Debug, Default)]
pub struct ProfileArgs {
    /// Trace to read; - for standard input; or a stored run that wrote an I/O log
    ///
    /// A run, as r12 or latest, stands for the log of fathom run --write_iolog.
    #[arg(value_name = "TRACE|RUN")]
    pub trace: PathBuf,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub reading: TraceOptions,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub store: StoreSource,
    /// Factor on the rate of the job file
    #[arg(long, value_name = "FACTOR", value_parser = values::parsed::<f64>, default_value = "1", help_heading = "Job file")]
    pub scale_rate: f64,
    /// Factor on the size of the regions that the job file uses
    #[arg(long, value_name = "FACTOR", value_parser = values::parsed::<f64>, default_value = "1", help_heading = "Job file")]
    pub scale_footprint: f64,
    /// Factor on the runtime of the job file
    #[arg(long, value_name = "FACTOR", value_parser = values::parsed::<f64>, default_value = "1", help_heading = "Job file")]
    pub scale_time: f64,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub result: OutputOptions<ProfileFormat>,
}

impl ProfileArgs {
    /// The requested format: that of the options, else that of the extension of the file.
    #[must_use]
    pub fn format(&self) -> ProfileFormat {
        let extension = self
            .result
            .output
            .as_ref()
            .and_then(|file| file.extension());
        match (self.result.format(), extension) {
            (ProfileFormat::Text, Some(extension)) if extension == "fio" => ProfileFormat::Fio,
            (ProfileFormat::Text, Some(extension)) if extension == "json" => ProfileFormat::Json,
            (ProfileFormat::Text, Some(extension)) if extension == "html" => ProfileFormat::Html,
            (ProfileFormat::Text, Some(extension)) if extension == "toml" => ProfileFormat::Load,
            (format, _) => format,
        }
    }
}

impl CommandArgs for ProfileArgs {
    const NAME: &'static str = "profile";

    fn finish(&mut self) -> Result<(), String> {
        for (name, factor) in [
            ("scale-rate", self.scale_rate),
            ("scale-footprint", self.scale_footprint),
            ("scale-time", self.scale_time),
        ] {
            if !factor.is_finite() || factor <= 0.0 {
                return Err(format!("--{name}: the factor must be greater than 0"));
            }
        }
        Ok(())
    }
}

/// Arguments of `fathom fidelity`.
#[derive(Args, Clone, Debug, Default)]
pub struct FidelityArgs {
    /// Original trace; - for standard input; or a stored run that wrote an I/O log
    #[arg(value_name = "A")]
    pub original: PathBuf,
    /// Trace that stands for it, or a stored run
    #[arg(value_name = "B")]
    pub copy: PathBuf,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub reading: TraceOptions,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub store: StoreSource,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub result: ResultOptions,
}

impl CommandArgs for FidelityArgs {
    const NAME: &'static str = "fidelity";
}
