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
    /// Results of fio or fathom: JSON, terse lines, or the text that fio prints
    ///
    /// What the text does not contain is listed.
    #[arg(value_name = "RESULT")]
    pub results: Vec<String>,
    /// IOPS log of the result, one file for each job; can be repeated
    #[arg(long = "log", value_name = "FILE")]
    pub logs: Vec<String>,
    /// Link of the device: sata6, sas12, pcie3x4, fc16, 25gbe, usb10, tb3
    ///
    /// `fathom spec --list-links` lists all links with their rates.
    #[arg(long, value_name = "LINK", value_parser = values::parsed::<HostLink>)]
    pub link: Option<HostLink>,
    /// Number of links, one for each device
    #[arg(long, value_name = "N", default_value = "1", value_parser = values::whole_number::<1, 1_000_000>)]
    pub links: u32,
    /// Number of hosts that ran the load
    ///
    /// Results that are missing because a host was lost are reported.
    #[arg(long = "host-count", value_name = "N", value_parser = values::whole_number::<1, 1_000_000>)]
    pub hosts: Option<u32>,
    /// Model of the device, as the device reports it
    ///
    /// Each result is compared with the data sheet of the model, at the result's own queue depth. Results of fathom contain the
    /// model.
    #[arg(long, value_name = "TEXT")]
    pub model: Option<String>,
    /// Part number of the device, to compare with those of its data sheet
    #[arg(long, value_name = "TEXT")]
    pub part: Option<String>,
    /// Path from the host to the device: controller, mode, expander
    ///
    /// Give an empty text if the path is unknown.
    #[arg(long, value_name = "TEXT")]
    pub attachment: Option<String>,
    /// Logical block size that the device reports, such as 512
    #[arg(long, value_name = "SIZE", value_parser = values::size)]
    pub logical_block: Option<Bytes>,
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
    /// Theta of the zipf distribution of the addresses
    #[arg(long, value_name = "THETA", value_parser = theta, help_heading = "Figures")]
    pub zipf: Option<f64>,
    /// Size of the accessed region
    #[arg(long, value_name = "SIZE", value_parser = values::size, help_heading = "Figures")]
    pub region: Option<Bytes>,
    /// Total number of I/Os
    #[arg(long, value_name = "N", help_heading = "Figures")]
    pub ios: Option<u64>,
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
    /// Share of the capacity of the links that the author claims is used, such as 33%
    #[arg(long, value_name = "PERCENT", value_parser = values::percentage, help_heading = "Claims of the author")]
    pub claim_share: Option<f64>,
    /// Smallest block size of the device that the author claims, such as 4k
    ///
    /// It is compared with the logical block size: that of the device in a result of fathom, or --logical-block.
    #[arg(long, value_name = "SIZE", value_parser = values::size, help_heading = "Claims of the author")]
    pub claim_smallest: Option<Bytes>,
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

fn theta(text: &str) -> Result<f64, String> {
    let theta = text.trim().parse().ok();
    theta
        .filter(|theta| (0.0..=10.0).contains(theta))
        .ok_or_else(|| "not a number from 0 to 10".to_owned())
}

fn claimed_percentile(text: &str) -> Result<(f64, f64), String> {
    values::percentile_latency(text, "=")
}
