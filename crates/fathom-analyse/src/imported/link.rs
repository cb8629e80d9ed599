//! Checks for rates above the capacity of the link.

use fathom_model::{Finding, HostLink, ImportedFigures, Weight};

use super::about;
use crate::figures::{bytes, percent};

/// A measured rate may exceed the link by this factor through rounding.
const ROUNDING: f64 = 1.005;

/// `SATA at 6 Gbit/s carries 600 MB/s after 8b/10b coding`, `4 x PCIe 3.0 x4 carry 15754 MB/s after 128b/130b coding`.
pub(super) fn usable_rate(link: HostLink, links: u32) -> String {
    let (name, verb) = if links == 1 {
        (link.to_string(), "carries")
    } else {
        (format!("{links} x {link}"), "carry")
    };
    format!(
        "{name} {verb} {:.0} MB/s after {} coding",
        link.usable() * f64::from(links) / 1e6,
        link.coding()
    )
}

/// The share of the links' capacity that a result uses: `67 % of 4 x PCIe 3.0 x4 (15754 MB/s usable)`. `None` without a link
/// or a bandwidth.
#[must_use]
pub fn link_line(imported: &ImportedFigures) -> Option<String> {
    let (link, got) = (imported.link?, imported.bandwidth()?);
    let links = imported.links.max(1);
    let usable = link.usable() * f64::from(links);
    Some(format!(
        "link: {} of {links} x {link} ({:.0} MB/s usable after {} coding)",
        percent(got * 100.0 / usable),
        usable / 1e6,
        link.coding()
    ))
}

/// Checks that the rate is within the capacity of the link. Above it, rates of different times were
/// added, or a cache answered.
pub(crate) fn above(imported: &ImportedFigures) -> Option<Finding> {
    let (link, got) = (imported.link?, imported.bandwidth()?);
    let links = imported.links.max(1);
    let usable = link.usable() * f64::from(links);
    if got <= usable * ROUNDING {
        return None;
    }
    let evidence = format!(
        "{}/s in total is {} of what {links} x {link} can carry ({}/s): the jobs did not all run at the same time, or a cache \
         answered.",
        bytes(got as u64),
        percent(got * 100.0 / usable),
        bytes(usable as u64),
    );
    let advice = "Add rates only over the time in which all jobs ran; a sum of averages over different times was never reached.";
    Some(about(imported, Weight::Invalidates, evidence, advice))
}
