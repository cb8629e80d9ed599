//! `fathom check`.

use clap::Args;
use fathom_model::{Bytes, HostLink};

use super::Text;
use crate::common::SheetOptions;
use crate::parse::CommandArgs;
use crate::values;

pub(crate) const TEXT: Text = (
    "Check results of fio, or published figures, for errors",
    "Applies the checks of fathom's own results to results of fio, or to figures from a publication: rate, latency and queue depth \
     against Little's law, bandwidth against the link, logs against the summary, and several results against each other.",
    "Examples:
  fathom check result.json --link=pcie3x4
  fathom check --iops=80,000 --lat=116us --bs=4k --iodepth=1
  fathom check result.json --log=result_iops.1.log --log=result_iops.2.log",
);

/// Arguments of `fathom check`.
#[derive(Args, Clone, Debug, Default)]
pub struct CheckArgs {
    /// JSON results of fio or fathom
    #[arg(value_name = "RESULT")]
    pub results: Vec<String>,
    /// IOPS log of the result, one file for each job; can be repeated
    #[arg(long = "log", value_name = "FILE")]
    pub logs: Vec<String>,
    /// Link of the device: sata6, sas12, pcie3x4
    #[arg(long, value_name = "LINK", value_parser = values::parsed::<HostLink>)]
    pub link: Option<HostLink>,
    /// Number of links, one for each device
    #[arg(long, value_name = "N", default_value = "1", value_parser = values::whole_number::<1, 1_000_000>)]
    pub links: u32,
    /// Number of hosts that ran the load
    ///
    /// Results that are missing because a host was lost are reported.
    #[arg(long, value_name = "N", value_parser = values::whole_number::<1, 1_000_000>)]
    pub hosts: Option<u32>,
    /// Model of the device, as the device reports it
    ///
    /// Each result is compared with the data sheet of the model, at the result's own queue depth. Results of fathom contain the
    /// model.
    #[arg(long, value_name = "TEXT")]
    pub model: Option<String>,
    /// I/Os per second: 80,000 or 80k, but not 80,00
    #[arg(long, value_name = "N", help_heading = "Figures")]
    pub iops: Option<String>,
    /// Mean latency: 116us, 8.5ms, 1s
    #[arg(long = "lat", value_name = "TIME", value_parser = values::latency, help_heading = "Figures")]
    pub latency_ns: Option<f64>,
    /// Block size: 4k, 1m
    #[arg(long, value_name = "SIZE", value_parser = values::size, help_heading = "Figures")]
    pub bs: Option<Bytes>,
    /// Queue depth of one job
    #[arg(long, value_name = "N", value_parser = values::whole_number::<1, 1_000_000>, help_heading = "Figures")]
    pub iodepth: Option<u32>,
    /// Number of jobs
    #[arg(long, value_name = "N", value_parser = values::whole_number::<1, 1_000_000>, help_heading = "Figures")]
    pub numjobs: Option<u32>,
    /// The figures are those of one job
    #[arg(long, help_heading = "Figures")]
    pub per_job: bool,
    /// I/O pattern, such as randread
    #[arg(long, value_name = "PATTERN", help_heading = "Figures")]
    pub rw: Option<String>,
    /// Number of I/Os in flight that the author claims
    #[arg(long, value_name = "N", help_heading = "Claims of the author")]
    pub claim_inflight: Option<String>,
    /// Largest bandwidth of the device that the author claims, in MB/s
    #[arg(long, value_name = "MB", help_heading = "Claims of the author")]
    pub claim_ceiling: Option<String>,
    /// I/O pattern that the author claims
    #[arg(long, value_name = "TEXT", help_heading = "Claims of the author")]
    pub claim_pattern: Option<String>,
    /// Percentile of all jobs together that the author claims, such as p99=8.5ms; can be repeated
    #[arg(long, value_name = "PERCENTILE", value_parser = claimed_percentile, help_heading = "Claims of the author")]
    pub claim_percentile: Vec<(f64, f64)>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub sheets: SheetOptions,
}

impl CommandArgs for CheckArgs {
    const NAME: &'static str = "check";

    fn finish(&mut self) -> Result<(), String> {
        if self.results.is_empty() && self.iops.is_none() {
            return Err(
                "nothing to check: give a result of fio, or figures with --iops=N".to_owned(),
            );
        }
        Ok(())
    }
}

fn claimed_percentile(text: &str) -> Result<(f64, f64), String> {
    values::percentile_latency(text, "=")
}
