//! `fathom fit`.

use std::path::PathBuf;

use clap::Args;

use super::Text;
use crate::common::StoreSource;
use crate::parse::CommandArgs;

pub(crate) const TEXT: Text = (
    "Fit a device model to results",
    "Fits throughput and latency over the I/Os in flight (depth x jobs), for each pattern, block size and mix, and writes a \
     device model as TOML, which `fathom run --machine` reads. Of three laws (soft minimum, universal scalability law, logarithmic law of a \
     disk that reorders its queue) it takes the one that predicts left-out loads best, and prints the error of all. Parameters and \
     predictions have 95 % intervals. Nothing is predicted beyond twice the largest measured load. All results must be of \
     one device: files, one directory, or stored runs such as a sweep over iodepth.",
    "Examples:
  fathom fit r12 -o my-device.toml
  fathom fit results/ -o my-device.toml
  fathom fit depth1.json depth4.json depth16.json depth64.json --predict=32,128",
);

/// Arguments of `fathom fit`.
#[derive(Args, Clone, Debug, Default)]
pub struct FitArgs {
    /// Result files, directories, or stored runs
    #[arg(value_name = "RESULT", required = true)]
    pub results: Vec<String>,
    /// Write results to FILE
    ///
    /// The model, as TOML.
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    pub output: Option<PathBuf>,
    /// Also predict throughput and latency at these numbers of I/Os in flight
    #[arg(long, value_name = "N,...", value_delimiter = ',')]
    pub predict: Vec<u32>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub store: StoreSource,
}

impl CommandArgs for FitArgs {
    const NAME: &'static str = "fit";

    fn finish(&mut self) -> Result<(), String> {
        match &self.output {
            Some(file) if file.extension().is_none_or(|extension| extension != "toml") => {
                Err(format!(
                    "{}: unknown format: use the extension .toml",
                    file.display().to_string().escape_debug()
                ))
            }
            _ => Ok(()),
        }
    }
}
