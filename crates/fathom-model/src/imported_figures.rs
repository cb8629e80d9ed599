//! Published figures: results of other programs or authors, reduced to what can be checked.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use crate::{Direction, LatencySummary, LinkSpeed, Nanos};

/// With fewer I/Os, or a shorter run, a rate only shows how it was rounded.
const MIN_IOS: u64 = 100;
const MIN_RUNTIME_MS: u64 = 200;

/// The figures of one result by another program or author. Unknown values stay empty.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ImportedFigures {
    /// Name of the result.
    pub name: String,
    /// fio's name of the pattern, such as `randread`.
    pub rw: Option<String>,
    /// Reads, writes and trims.
    pub streams: Vec<ImportedDirection>,
    /// Block size, bytes.
    pub block: Option<u64>,
    /// Queue depth of one job.
    pub depth: Option<u32>,
    /// Number of concurrent jobs.
    pub jobs: Option<u32>,
    /// The figures describe one job, not all of them.
    pub per_job: bool,
    /// A closed loop: the next I/O follows as soon as one completes. False with a rate or think time.
    pub closed: bool,
    /// The interface of the device.
    pub link: Option<HostLink>,
    /// Number of such links, one for each device.
    pub links: u32,
    /// What the author states about the result.
    pub claims: AuthorClaims,
    /// The vendor's figures.
    pub sheet: Option<SpecSheet>,
    /// Part number as the device reports it.
    pub part_number: Option<String>,
    /// The path from host to device: controller, mode, expander. `None`: not recorded.
    pub attachment: Option<String>,
    /// Logical block size that the device reports, bytes.
    pub logical_block: Option<u64>,
    /// Skew of the addresses: theta of a zipf distribution.
    pub zipf: Option<f64>,
    /// Size of the region that was accessed, bytes.
    pub region: Option<u64>,
    /// Total number of I/Os.
    pub ios: Option<u64>,
    /// errno of the error that ended the job; 0 for none.
    pub error: i32,
    /// I/Os that failed without ending the job (`continue_on_error`).
    pub failed: u64,
    /// Where the figures come from.
    pub origin: ImportedOrigin,
    /// Stated rates, each with the rate computed from amount and time.
    pub rates: Vec<StatedRate>,
    /// Which latency the means of `streams` are: `lat` or `clat`.
    pub latency_name: Option<&'static str>,
    /// Latency distributions, as far as the result lists them.
    pub latencies: Vec<ImportedLatency>,
    /// Throughput over time, where the result has logs that account for its I/Os.
    pub rounds: Option<ThroughputRounds>,
    /// Mean latency of the logs where it contradicts that of the summary.
    pub log_latency: Option<LogLatency>,
    /// The result is of fathom and contains the findings of its run, which had more data.
    pub judged: bool,
}

/// The latency distribution of one direction.
#[derive(Clone, Debug, PartialEq)]
pub struct ImportedLatency {
    /// Read, write or trim.
    pub direction: Direction,
    /// Name of the latency: `clat` or `lat`.
    pub kind: &'static str,
    /// Number of I/Os, maximum and percentiles, nanoseconds.
    pub summary: LatencySummary,
}

/// Bytes per second in five equal parts of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ThroughputRounds {
    /// The rate of each part.
    pub bytes_per_s: [f64; 5],
    /// Start of the first part.
    pub from: Nanos,
    /// End of the last part.
    pub to: Nanos,
}

/// Two means of the same latency that contradict each other, nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LogLatency {
    /// Mean of the rows of the logs, weighted by their I/Os.
    pub logs_ns: f64,
    /// Mean in the summary.
    pub summary_ns: f64,
}

/// One direction of an imported result.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ImportedDirection {
    /// Read, write or trim.
    pub direction: Direction,
    /// I/Os per second.
    pub iops: f64,
    /// Mean latency from submission to completion, nanoseconds; the median where `is_median`.
    pub latency_ns: Option<f64>,
    /// The latency is a median; the mean is unknown.
    pub is_median: bool,
}

/// The place of a result among other results, and the options of its job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImportedOrigin {
    /// Number of the document that contains it; `None` for figures that an author states.
    pub document: Option<u32>,
    /// Number of the group of concurrent jobs in that document, from 0.
    pub phase: u32,
    /// Options of the job that determine its load and its device, without names, queue depth, number of jobs, random seed and
    /// outputs.
    pub options: BTreeMap<String, String>,
}

impl ImportedOrigin {
    /// Whether two results are of the same load on the same device, except for queue depth and number of jobs, and were not
    /// measured at the same time.
    #[must_use]
    pub fn is_comparable(&self, other: &ImportedOrigin) -> bool {
        let same_document = self.document.is_some() && self.document == other.document;
        self.options == other.options && !(same_document && self.phase == other.phase)
    }
}

/// What an author states about figures.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AuthorClaims {
    /// I/Os in flight.
    pub in_flight: Option<f64>,
    /// The most the link can carry, bytes per second.
    pub ceiling: Option<f64>,
    /// Share of the links' capacity, 0 to 1.
    pub share: Option<f64>,
    /// Description of the pattern.
    pub pattern: Option<String>,
    /// Model of the device.
    pub model: Option<String>,
    /// The smallest block the device accepts, bytes.
    pub smallest_block: Option<u64>,
}

impl ImportedFigures {
    /// The most I/Os that can be in flight: depth x jobs.
    #[must_use]
    pub fn max_in_flight(&self) -> Option<f64> {
        Some(f64::from(self.depth?) * f64::from(self.jobs.unwrap_or(1)))
    }

    /// I/Os per second of all jobs and directions.
    #[must_use]
    pub fn iops(&self) -> f64 {
        self.streams.iter().map(|stream| stream.iops).sum::<f64>() * self.job_factor()
    }

    /// Bytes per second of all jobs and directions.
    #[must_use]
    pub fn bandwidth(&self) -> Option<f64> {
        Some(self.iops() * self.block? as f64)
    }

    /// I/Os in flight by Little's law, all jobs together.
    #[must_use]
    pub fn in_flight(&self) -> Option<f64> {
        let product = |stream: &ImportedDirection| Some(stream.iops * stream.latency_ns? / 1e9);
        let parts: Vec<f64> = self
            .streams
            .iter()
            .filter(|stream| stream.iops > 0.0)
            .map(product)
            .collect::<Option<_>>()?;
        (!parts.is_empty()).then(|| parts.iter().sum::<f64>() * self.job_factor())
    }

    /// I/Os in flight by Little's law, divided by the most that can be.
    #[must_use]
    pub fn little(&self) -> Option<f64> {
        Some(self.in_flight()? / self.max_in_flight()?)
    }

    /// The number of jobs that the figures have to be multiplied by.
    fn job_factor(&self) -> f64 {
        if self.per_job {
            f64::from(self.jobs.unwrap_or(1))
        } else {
            1.0
        }
    }
}

/// A rate that a result states and that can also be computed from its amount and time.
#[derive(Clone, Debug, PartialEq)]
pub struct StatedRate {
    /// Name of the rate: `read IOPS`.
    pub name: String,
    /// The rate in the result, per second.
    pub stated: f64,
    /// Amount divided by time.
    pub computed: f64,
}

impl StatedRate {
    /// The rates of one direction, given its I/Os and bytes in so many milliseconds. Empty when
    /// there are so few that rounding shows.
    #[must_use]
    pub fn of_direction(
        direction: Direction,
        (iops, ios): (f64, u64),
        (bandwidth, bytes): (f64, u64),
        runtime_ms: u64,
    ) -> Vec<StatedRate> {
        if ios < MIN_IOS || runtime_ms < MIN_RUNTIME_MS {
            return Vec::new();
        }
        let rate = |unit, stated, amount: u64| StatedRate {
            name: format!("{} {unit}", direction.name()),
            stated,
            computed: amount as f64 * 1e3 / runtime_ms as f64,
        };
        let mut rates = vec![rate("IOPS", iops, ios)];
        rates.extend(
            (bandwidth > 0.0 && bytes > 1 << 20)
                .then(|| rate("bytes per second", bandwidth, bytes)),
        );
        rates
    }
}

/// Latency percentiles of one job.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LatencyPercentiles {
    /// Number of I/Os.
    pub ios: u64,
    /// Percentile (0 to 100) and latency in nanoseconds, rising.
    pub percentiles: Vec<(f64, f64)>,
}

/// The hosts of one result, as far as they are known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImportedHosts {
    /// Hosts whose figures are in the result.
    pub present: Vec<String>,
    /// Hosts that the program reports as lost, with its reason.
    pub lost: Vec<(String, String)>,
    /// Number of hosts expected, where it is known.
    pub expected: Option<u32>,
}

/// A vendor's figures for a model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SpecSheet {
    /// The model.
    pub model: String,
    /// Prefixes of its part numbers.
    pub part_prefixes: Vec<String>,
    /// Its figures.
    pub figures: Vec<SpecFigure>,
}

/// One figure of a data sheet.
#[derive(Clone, Debug, PartialEq)]
pub struct SpecFigure {
    /// Reads or writes.
    pub direction: Direction,
    /// Random or sequential.
    pub random: bool,
    /// I/Os per second, or bytes per second where `is_bandwidth`.
    pub value: f64,
    /// The value is a bandwidth.
    pub is_bandwidth: bool,
    /// Block size, bytes.
    pub block: Option<u64>,
    /// I/Os in flight.
    pub in_flight: Option<f64>,
}

/// Of each generation of PCI Express, for each lane and second, millions.
const MEGATRANSFERS: [u32; 6] = [2_500, 5_000, 8_000, 16_000, 32_000, 64_000];

/// A link between host and device.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum HostLink {
    /// Serial ATA: tenths of Gbit/s on the line (15, 30, 60), 8b/10b coded. Serial ATA 3.x, section 7.
    Sata(u32),
    /// Serial attached SCSI: tenths of Gbit/s (30, 60, 120), 8b/10b coded; 225 is 128b/150b coded. SAS-4.
    Sas(u32),
    /// PCI Express: generation (1 to 6) and lanes. PCI Express Base Specification, section 4.2.
    Pcie(u32, u32),
    /// Fibre Channel: 8, 16, 32 or 64 (8GFC to 64GFC). FC-PI-5 to FC-PI-7, FC-FS-5.
    FibreChannel(u32),
    /// Ethernet: Gbit/s (1, 10, 25, 40, 100). IEEE 802.3, clauses 36, 49, 82, 91 and 107.
    Ethernet(u32),
    /// USB: Mbit/s on the line (480, 5000, 10000, 20000). USB 2.0, section 7.1; USB 3.2, sections 6.3 and 6.4.
    Usb(u32),
    /// Thunderbolt 3 and 4: two lanes of 20 Gbit/s. Storage is tunnelled as PCIe 3.0 x4, which is less.
    Thunderbolt(u32),
}

/// Every link with a known rate.
const LINKS: [HostLink; 52] = [
    HostLink::Sata(15),
    HostLink::Sata(30),
    HostLink::Sata(60),
    HostLink::Sas(30),
    HostLink::Sas(60),
    HostLink::Sas(120),
    HostLink::Sas(225),
    HostLink::Pcie(1, 1),
    HostLink::Pcie(1, 2),
    HostLink::Pcie(1, 4),
    HostLink::Pcie(1, 8),
    HostLink::Pcie(1, 16),
    HostLink::Pcie(2, 1),
    HostLink::Pcie(2, 2),
    HostLink::Pcie(2, 4),
    HostLink::Pcie(2, 8),
    HostLink::Pcie(2, 16),
    HostLink::Pcie(3, 1),
    HostLink::Pcie(3, 2),
    HostLink::Pcie(3, 4),
    HostLink::Pcie(3, 8),
    HostLink::Pcie(3, 16),
    HostLink::Pcie(4, 1),
    HostLink::Pcie(4, 2),
    HostLink::Pcie(4, 4),
    HostLink::Pcie(4, 8),
    HostLink::Pcie(4, 16),
    HostLink::Pcie(5, 1),
    HostLink::Pcie(5, 2),
    HostLink::Pcie(5, 4),
    HostLink::Pcie(5, 8),
    HostLink::Pcie(5, 16),
    HostLink::Pcie(6, 1),
    HostLink::Pcie(6, 2),
    HostLink::Pcie(6, 4),
    HostLink::Pcie(6, 8),
    HostLink::Pcie(6, 16),
    HostLink::FibreChannel(8),
    HostLink::FibreChannel(16),
    HostLink::FibreChannel(32),
    HostLink::FibreChannel(64),
    HostLink::Ethernet(1),
    HostLink::Ethernet(10),
    HostLink::Ethernet(25),
    HostLink::Ethernet(40),
    HostLink::Ethernet(100),
    HostLink::Usb(480),
    HostLink::Usb(5_000),
    HostLink::Usb(10_000),
    HostLink::Usb(20_000),
    HostLink::Thunderbolt(3),
    HostLink::Thunderbolt(4),
];

/// The text does not name a known link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseLinkError(String);

impl fmt::Display for ParseLinkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "unknown link '{}'; use sata6, sas12, pcie3x4, fc16, 25gbe, usb10 or tb3 (`fathom spec --list-links` lists all)",
            self.0.escape_debug()
        )
    }
}

impl std::error::Error for ParseLinkError {}

impl HostLink {
    /// Bytes per second after line coding. Packets and commands cost some percent more.
    #[must_use]
    pub fn usable(self) -> f64 {
        self.speed().bytes_per_s as f64
    }

    fn speed(self) -> LinkSpeed {
        match self {
            HostLink::Sata(tenths) => LinkSpeed::sata(tenths * 100),
            HostLink::Sas(tenths) => LinkSpeed::sas(tenths * 100, 1),
            HostLink::Pcie(generation, lanes) => {
                LinkSpeed::pcie(MEGATRANSFERS[(generation.clamp(1, 6) - 1) as usize], lanes)
            }
            // 8GFC is 8b/10b coded. For 16GFC of 66 bits 64 are data; 256b/257b with the error correction of 32GFC
            // (514 of 528) is the same share, and with that of 64GFC (514 of 544) it is 16 of 17.
            HostLink::FibreChannel(8) => LinkSpeed::coded(None, 1, 8_500, 8, 10),
            HostLink::FibreChannel(16) => LinkSpeed::coded(None, 1, 14_025, 64, 66),
            HostLink::FibreChannel(32) => LinkSpeed::coded(None, 1, 28_050, 64, 66),
            HostLink::FibreChannel(_) => LinkSpeed::coded(None, 1, 57_800, 16, 17),
            // The rate of Ethernet is that after coding.
            HostLink::Ethernet(gbit) => LinkSpeed::coded(None, 1, gbit * 1_000, 1, 1),
            // 480 Mbit/s has no block code, only stuffed bits. 5 Gbit/s is 8b/10b coded, 10 Gbit/s a lane 128b/132b.
            HostLink::Usb(mbit @ ..=480) => LinkSpeed::coded(None, 1, mbit, 1, 1),
            HostLink::Usb(mbit @ ..=5_000) => LinkSpeed::coded(None, 1, mbit, 8, 10),
            HostLink::Usb(mbit) => LinkSpeed::coded(None, mbit / 10_000, 10_000, 128, 132),
            HostLink::Thunderbolt(_) => LinkSpeed::pcie(8_000, 4),
        }
    }

    /// Every known link.
    #[must_use]
    pub const fn all() -> &'static [HostLink] {
        &LINKS
    }

    /// The name that selects it: `pcie3x4`.
    #[must_use]
    pub fn name(self) -> String {
        let gbit = |tenths: u32| f64::from(tenths) / 10.0;
        match self {
            HostLink::Sata(tenths) => format!("sata{}", gbit(tenths)),
            HostLink::Sas(tenths) => format!("sas{}", gbit(tenths)),
            HostLink::Pcie(generation, lanes) => format!("pcie{generation}x{lanes}"),
            HostLink::FibreChannel(gbit) => format!("fc{gbit}"),
            HostLink::Ethernet(gbit) => format!("{gbit}gbe"),
            HostLink::Usb(mbit) => format!("usb{}", f64::from(mbit) / 1e3),
            HostLink::Thunderbolt(version) => format!("tb{version}"),
        }
    }

    /// Bits per second on the line, all lanes together, 10^9.
    #[must_use]
    pub fn line_gbit(self) -> f64 {
        match self {
            HostLink::Ethernet(1) => 1.25,
            // 64b/66b: 10.3125 and 25.78125 Gbit/s a lane.
            HostLink::Ethernet(gbit) => f64::from(gbit) * 66.0 / 64.0,
            HostLink::Thunderbolt(_) => 2.0 * 20.625,
            link => {
                let speed = link.speed();
                f64::from(speed.megatransfers) * f64::from(speed.lanes) / 1e3
            }
        }
    }

    /// Name of the line coding: `8b/10b`.
    #[must_use]
    pub fn coding(self) -> &'static str {
        match self {
            HostLink::Sas(225..) => "128b/150b",
            HostLink::Sata(_) | HostLink::Sas(_) | HostLink::Pcie(..=2, _) => "8b/10b",
            HostLink::Pcie(3..=5, _) => "128b/130b",
            HostLink::Pcie(..) => "flit",
            HostLink::FibreChannel(8) | HostLink::Ethernet(1) | HostLink::Usb(5_000) => "8b/10b",
            HostLink::FibreChannel(16) | HostLink::Ethernet(_) => "64b/66b",
            HostLink::FibreChannel(_) => "256b/257b, FEC",
            HostLink::Usb(..=480) => "NRZI",
            HostLink::Usb(_) => "128b/132b",
            HostLink::Thunderbolt(_) => "PCIe 3.0 x4 in 64b/66b",
        }
    }
}

impl fmt::Display for HostLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HostLink::Sata(tenths) => write!(f, "SATA at {} Gbit/s", f64::from(*tenths) / 10.0),
            HostLink::Sas(tenths) => write!(f, "SAS at {} Gbit/s", f64::from(*tenths) / 10.0),
            HostLink::Pcie(generation, lanes) => write!(f, "PCIe {generation}.0 x{lanes}"),
            HostLink::FibreChannel(gbit) => write!(f, "Fibre Channel {gbit}GFC"),
            HostLink::Ethernet(gbit) => write!(f, "Ethernet at {gbit} Gbit/s"),
            HostLink::Usb(mbit) => write!(f, "USB at {} Gbit/s", f64::from(*mbit) / 1e3),
            HostLink::Thunderbolt(version) => write!(f, "Thunderbolt {version}"),
        }
    }
}

impl FromStr for HostLink {
    type Err = ParseLinkError;

    /// `sata6`, `sata 1.5`, `sas12`, `pcie3x4`, `fc16`, `25gbe`, `usb10`, `tb3`.
    fn from_str(text: &str) -> Result<Self, ParseLinkError> {
        let plain: String = text
            .to_ascii_lowercase()
            .chars()
            .filter(|c| !c.is_whitespace())
            .collect();
        parse_link(&plain).ok_or_else(|| ParseLinkError(text.chars().take(40).collect()))
    }
}

fn parse_link(plain: &str) -> Option<HostLink> {
    let tenths = |digits: &str| {
        digits
            .parse::<f64>()
            .ok()
            .map(|gbit| (gbit * 10.0).round() as u32)
    };
    if let Some(rest) = plain.strip_prefix("sata") {
        return tenths(rest)
            .filter(|t| [15, 30, 60].contains(t))
            .map(HostLink::Sata);
    }
    if let Some(rest) = plain.strip_prefix("sas") {
        return tenths(rest)
            .filter(|t| [30, 60, 120, 225].contains(t))
            .map(HostLink::Sas);
    }
    if !plain.starts_with("pcie") {
        let plain = plain.replace("thunderbolt", "tb");
        return LINKS.into_iter().find(|link| link.name() == plain);
    }
    let (generation, lanes) = plain.strip_prefix("pcie")?.split_once('x')?;
    let generation = generation
        .trim_end_matches(".0")
        .parse()
        .ok()
        .filter(|g| (1..=6).contains(g))?;
    let lanes = lanes
        .parse()
        .ok()
        .filter(|lanes| [1, 2, 4, 8, 16].contains(lanes))?;
    Some(HostLink::Pcie(generation, lanes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usable_rates_are_those_of_the_standards() {
        let mb = |text: &str| (text.parse::<HostLink>().expect(text).usable() / 1e6).round();
        assert_eq!(
            [mb("sata6"), mb("SATA 3"), mb("sata1.5"), mb("sas12")],
            [600.0, 300.0, 150.0, 1200.0]
        );
        assert_eq!(
            [
                mb("pcie1x1"),
                mb("pcie2x4"),
                mb("pcie3x4"),
                mb("PCIe 4.0 x4")
            ],
            [250.0, 2000.0, 3938.0, 7877.0]
        );
        assert_eq!(mb("sas22.5"), 2400.0);
    }

    /// Nominal rates of the standards: FC-PI (FC 800, 1600 and 3200 are rates of a loop of frames, these are those of the line),
    /// IEEE 802.3, USB 3.2.
    #[test]
    fn links_of_networks_and_buses_have_their_rates() {
        let mb = |text: &str| (text.parse::<HostLink>().expect(text).usable() / 1e6).round();
        assert_eq!(
            [mb("fc8"), mb("fc16"), mb("fc32"), mb("fc64")],
            [850.0, 1700.0, 3400.0, 6800.0]
        );
        assert_eq!(
            [mb("10GbE"), mb("25gbe"), mb("100gbe")],
            [1250.0, 3125.0, 12_500.0]
        );
        assert_eq!(
            [mb("usb0.48"), mb("usb5"), mb("usb10"), mb("usb20")],
            [60.0, 500.0, 1212.0, 2424.0]
        );
        assert_eq!(
            [mb("tb3"), mb("Thunderbolt 4"), mb("pcie5x16")],
            [3938.0, 3938.0, 63_015.0]
        );
    }

    #[test]
    fn every_link_is_found_by_its_name() {
        for link in HostLink::all() {
            assert_eq!(link.name().parse(), Ok(*link));
            assert!(link.line_gbit() * 1e9 / 8.0 >= link.usable(), "{link}");
            assert!(link.usable() > 0.0 && !link.coding().is_empty(), "{link}");
        }
    }

    #[test]
    fn unknown_links_are_refused() {
        for text in ["sata5", "pcie3", "pcie9x4", "pciex4", "usb3", "", "pcie3x3"] {
            assert!(text.parse::<HostLink>().is_err(), "{text}");
        }
    }
}
