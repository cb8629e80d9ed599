//! What a link carries once its line coding is paid for.

use std::fmt;
use std::str::FromStr;

use fathom_model::{Finding, LinkSpeed, Weight};

use super::about;
use super::figures::Imported;
use crate::figures::{bytes, percent};

/// Measured rates above the link by more than this are no rounding.
const ROUNDING: f64 = 1.005;

/// Of each generation of PCI Express, for each lane and second, millions.
const MEGATRANSFERS: [u32; 6] = [2_500, 5_000, 8_000, 16_000, 32_000, 64_000];

/// A link between host and device.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Link {
    /// Serial ATA: tenths of Gbit/s on the line (15, 30, 60), 8b/10b coded. Serial ATA 3.x, section 7.
    Sata(u32),
    /// Serial attached SCSI: tenths of Gbit/s (30, 60, 120), 8b/10b coded; 225 is 128b/150b coded. SAS-4.
    Sas(u32),
    /// PCI Express: generation (1 to 6) and lanes. PCI Express Base Specification, section 4.2.
    Pcie(u32, u32),
}

/// A link that is not known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkError(String);

impl fmt::Display for LinkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "'{}' is no link that is known; write sata6, sas12 or pcie3x4",
            self.0.escape_debug()
        )
    }
}

impl std::error::Error for LinkError {}

impl Link {
    /// Bytes per second after line coding. Packets and commands cost some percent more.
    #[must_use]
    pub fn usable(self) -> f64 {
        self.speed().bytes_per_s as f64
    }

    fn speed(self) -> LinkSpeed {
        match self {
            Link::Sata(tenths) => LinkSpeed::sata(tenths * 100),
            Link::Sas(tenths) => LinkSpeed::sas(tenths * 100, 1),
            Link::Pcie(generation, lanes) => {
                LinkSpeed::pcie(MEGATRANSFERS[(generation.clamp(1, 6) - 1) as usize], lanes)
            }
        }
    }

    fn coding(self) -> &'static str {
        match self {
            Link::Sas(225..) => "128b/150b",
            Link::Sata(_) | Link::Sas(_) | Link::Pcie(..=2, _) => "8b/10b",
            Link::Pcie(3..=5, _) => "128b/130b",
            Link::Pcie(..) => "flit",
        }
    }

    /// `600 MB/s after 8b/10b`.
    pub(super) fn words(self) -> String {
        format!(
            "{} carries {:.0} MB/s after {} coding",
            self,
            self.usable() / 1e6,
            self.coding()
        )
    }
}

impl fmt::Display for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Link::Sata(tenths) => write!(f, "SATA at {} Gbit/s", f64::from(*tenths) / 10.0),
            Link::Sas(tenths) => write!(f, "SAS at {} Gbit/s", f64::from(*tenths) / 10.0),
            Link::Pcie(generation, lanes) => write!(f, "PCIe {generation}.0 x{lanes}"),
        }
    }
}

impl FromStr for Link {
    type Err = LinkError;

    /// `sata6`, `sata 1.5`, `sas12`, `pcie3x4`.
    fn from_str(text: &str) -> Result<Self, LinkError> {
        let plain: String = text
            .to_ascii_lowercase()
            .chars()
            .filter(|c| !c.is_whitespace())
            .collect();
        known(&plain).ok_or_else(|| LinkError(text.chars().take(40).collect()))
    }
}

fn known(plain: &str) -> Option<Link> {
    let tenths = |digits: &str| {
        digits
            .parse::<f64>()
            .ok()
            .map(|gbit| (gbit * 10.0).round() as u32)
    };
    if let Some(rest) = plain.strip_prefix("sata") {
        return tenths(rest)
            .filter(|t| [15, 30, 60].contains(t))
            .map(Link::Sata);
    }
    if let Some(rest) = plain.strip_prefix("sas") {
        return tenths(rest)
            .filter(|t| [30, 60, 120, 225].contains(t))
            .map(Link::Sas);
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
    Some(Link::Pcie(generation, lanes))
}

/// Nothing goes faster than its link: above it, parts that did not run at the same time were added up.
pub(super) fn above(imported: &Imported) -> Option<Finding> {
    let (link, got) = (imported.link?, imported.bandwidth()?);
    let links = imported.links.max(1);
    let usable = link.usable() * f64::from(links);
    if got <= usable * ROUNDING {
        return None;
    }
    let evidence = format!(
        "{}/s in all is {} of what {links} x {link} can carry ({}/s): the jobs did not all run at the same time, or a cache \
         answered.",
        bytes(got as u64),
        percent(got * 100.0 / usable),
        bytes(usable as u64),
    );
    let advice = "Add rates only over the time in which all jobs ran; a sum of averages over different times is reached by nothing.";
    Some(about(
        imported,
        "ABOVE_LINK",
        Weight::Invalidates,
        evidence,
        advice,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usable_rates_are_those_of_the_standards() {
        let mb = |text: &str| (text.parse::<Link>().expect(text).usable() / 1e6).round();
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

    #[test]
    fn what_is_no_link_is_refused() {
        for text in ["sata5", "pcie3", "pcie9x4", "pciex4", "usb3", "", "pcie3x3"] {
            assert!(text.parse::<Link>().is_err(), "{text}");
        }
    }
}
