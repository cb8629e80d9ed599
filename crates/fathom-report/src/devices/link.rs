//! The text of a link.

use fathom_model::{LinkKind, LinkSpeed};

use crate::names::link_kind_name;
use fathom_model::format::thousands;

/// `PCIe 4.0 x4, 7,876 MB/s`.
pub(crate) fn link_speed_text(kind: LinkKind, speed: &LinkSpeed) -> String {
    let generation = match (kind, speed.generation) {
        (LinkKind::Pcie, Some(generation)) => format!(" {generation}.0"),
        (LinkKind::Sas, Some(generation)) => format!("-{generation}"),
        (LinkKind::Usb | LinkKind::Sata, Some(generation)) => format!(" {generation}"),
        _ => format!(" {:.1} GT/s", f64::from(speed.megatransfers) / 1000.0),
    };
    let lanes = if speed.lanes > 1 || kind == LinkKind::Pcie {
        format!(" x{}", speed.lanes)
    } else {
        String::new()
    };
    format!(
        "{}{generation}{lanes}, {} MB/s",
        link_kind_name(kind),
        thousands(speed.bytes_per_s / 1_000_000)
    )
}
