//! `fathom size`.

use clap::{Args, ValueEnum};
use fathom_analyse::SloLimit;
use fathom_model::HostLink;

use super::Text;
use crate::common::{OutputFormat, OutputOptions, StoreSource};
use crate::parse::CommandArgs;
use crate::values;

pub(crate) const TEXT: Text = (
    "Calculate which drives a load needs, and how many; reference tables",
    "Calculates the number of drives that carry a load within latency limits, for each drive class and RAID level: for latency from \
     the drive's curve (not its maximum), for capacity, bandwidth, endurance, and one failure with its rebuild. The result is a table \
     of options sorted by cost, and a recommendation with its uncertainty. The load is given, or taken from a result or a trace.\n\n\
     `fathom size tables` lists reference tables: access times and IOPS by speed, RAID levels, usable rates of links, latency \
     against load, caches. With --what-if, predicts how a measured result would change.\n\n\
     With --explain each number is followed by its formula, its inputs and their sources.",
    "Examples:
  fathom size --load '2000 iops, 70/30, 8k random' --slo 'mean<=20ms' --capacity 10TB --drives hdd-7200,sata-ssd --raid 10,5
  fathom size --from result.json --slo 'p99<=2ms' --price 'sata-ssd=400USD,nvme=500USD'
  fathom size --from r12 --what-if 'raid=5->10' --what-if 'drives=12'
  fathom size tables rpm --explain",
);

/// Format of a calculated answer.
#[derive(ValueEnum, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SizeFormat {
    /// Text for people
    #[default]
    Text,
    /// JSON for programs
    Json,
    /// Markdown
    #[value(alias = "markdown")]
    Md,
}

impl OutputFormat for SizeFormat {
    const JSON: Self = SizeFormat::Json;
}

/// Arguments of `fathom size`.
#[derive(Args, Clone, Debug, Default)]
pub struct SizeArgs {
    /// `tables`, and the name of a table
    #[arg(value_name = "TABLE")]
    pub operands: Vec<String>,
    /// Load to carry, such as '2000 iops, 70/30, 8k random'
    ///
    /// Parts, separated by commas: a rate (2000 iops, 500 MB/s), reads/writes in percent (70/30, read, write), the block size, random
    /// or sequential, and optionally the burstiness of the arrivals (burstiness 4; 1 is independent arrivals).
    #[arg(
        long,
        value_name = "TEXT",
        help_heading = "Load",
        conflicts_with = "from"
    )]
    pub load: Option<String>,
    /// Take the load from this result, stored run or trace of I/O
    ///
    /// Of a trace (a format that `fathom profile` reads; - for standard input) the mean rate, mix, size and burstiness.
    #[arg(long, value_name = "RESULT", help_heading = "Load")]
    pub from: Option<String>,
    /// Latency limit, such as p99<=1ms
    ///
    /// A limit on mean, p50, p90, p99, p99.9 or p99.99; or hdd (mean<=20ms) or ssd (mean<=3ms). Can be repeated: all limits hold together.
    #[arg(long = "slo", value_name = "LIMIT", value_parser = values::parsed::<SloLimit>, help_heading = "Load")]
    pub limits: Vec<SloLimit>,
    /// Usable capacity, such as 10TB or 10TiB
    #[arg(long, value_name = "CAPACITY", help_heading = "Load")]
    pub capacity: Option<String>,
    /// Drive classes to choose from, or TOML files of drives
    #[arg(
        long,
        value_name = "DRIVE,...",
        value_delimiter = ',',
        default_value = "hdd-7200,hdd-10k,sata-ssd,nvme",
        help_heading = "Drives"
    )]
    pub drives: Vec<String>,
    /// RAID levels to choose from: 0, 1, 10, 5, 6
    #[arg(
        long,
        value_name = "LEVEL,...",
        value_delimiter = ',',
        default_value = "10,5,6",
        help_heading = "Drives"
    )]
    pub raid: Vec<String>,
    /// Take the latency curve of the drive from this measured sweep of queue depths
    ///
    /// A result, directory or stored run. Only the range that was measured is used. --drives names the one drive whose capacity and
    /// endurance it has.
    #[arg(
        long,
        visible_alias = "device",
        value_name = "RESULT",
        help_heading = "Drives"
    )]
    pub curve: Option<String>,
    /// Prices of one drive each: 'hdd-7200=150USD,nvme=600USD', or a TOML file
    #[arg(long, value_name = "PRICES", help_heading = "Drives")]
    pub price: Option<String>,
    /// Answer for this number of drives instead of the smallest
    #[arg(long, value_name = "N", value_parser = values::whole_number::<1, 100_000>, help_heading = "Drives")]
    pub count: Option<u32>,
    /// Spare drives
    #[arg(long, value_name = "N", default_value = "0", value_parser = values::whole_number::<0, 1000>, help_heading = "Drives")]
    pub spares: u32,
    /// Most drives of a RAID group with parity
    #[arg(long, value_name = "N", default_value = "8", value_parser = values::whole_number::<3, 1000>, help_heading = "Drives")]
    pub group: u32,
    /// Share of a drive's load that stays free
    #[arg(
        long,
        value_name = "PERCENT",
        default_value = "20%",
        help_heading = "Drives"
    )]
    pub headroom: String,
    /// Share of the capacity that may be filled
    #[arg(
        long,
        value_name = "PERCENT",
        default_value = "80%",
        help_heading = "Drives"
    )]
    pub fill: String,
    /// Share of a drive's time that a rebuild takes
    #[arg(
        long,
        value_name = "PERCENT",
        default_value = "20%",
        help_heading = "Drives"
    )]
    pub rebuild: String,
    /// Years that flash has to last
    #[arg(long, value_name = "N", default_value = "5", value_parser = values::whole_number::<1, 100>, help_heading = "Drives")]
    pub years: u32,
    /// Link of the device: sata6, sas12, pcie3x4, fc16, 25gbe, usb10, tb3
    ///
    /// Each drive has this link in place of that of its class: a ceiling of its bandwidth. `--uplink` is the link that all drives
    /// share; `--what-if=link=sas12` changes that of a measured result.
    #[arg(long, value_name = "LINK", value_parser = values::parsed::<HostLink>, help_heading = "Drives")]
    pub link: Option<HostLink>,
    /// Link that all drives share, such as pcie3x8 or fc16
    #[arg(long, value_name = "LINK", value_parser = values::parsed::<HostLink>, help_heading = "Drives")]
    pub uplink: Option<HostLink>,
    /// I/Os per second that one controller carries
    #[arg(long, value_name = "N", value_parser = values::whole_number::<1, 1_000_000_000>, help_heading = "Drives")]
    pub controller_iops: Option<u32>,
    /// Predict a change of the result of --from: 'drives=12', 'raid=5->10', 'cache=64GB', 'link=sas12'; can be repeated
    ///
    /// The state before the change is that of the measured storage, as far as the result says; 'drives=8->12' states it. For a
    /// trace, the hits of a cache come from its own accesses.
    #[arg(long, value_name = "CHANGE", requires = "from")]
    pub what_if: Vec<String>,
    /// Explain what would run, where and for how long, and exit; in `size`, how each number is calculated; in `show`, what limits the result
    #[arg(long)]
    pub explain: bool,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub result: OutputOptions<SizeFormat>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub store: StoreSource,
}

impl CommandArgs for SizeArgs {
    const NAME: &'static str = "size";
}
