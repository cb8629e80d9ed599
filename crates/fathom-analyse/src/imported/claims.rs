//! Checks the statements of authors against their figures.

use fathom_model::{Finding, ImportedFigures, Weight};

use super::about;
use super::link::usable_rate;
use crate::figures::{bytes, percent};

/// Tolerance for rounded statements.
const ROUNDING: f64 = 0.1;

/// Checks the stated number of I/Os in flight.
pub(crate) fn in_flight(imported: &ImportedFigures) -> Option<Finding> {
    let (claimed, max_in_flight) = (imported.claims.in_flight?, imported.max_in_flight()?);
    if claimed <= max_in_flight * (1.0 + ROUNDING) {
        return None;
    }
    let measured = imported
        .in_flight()
        .map_or(String::new(), |n| format!("; by Little's law {n:.1} were"));
    let evidence = format!(
        "The author claims {claimed} in flight, but {} jobs of depth {} allow at most {max_in_flight}{measured}.",
        imported.jobs.unwrap_or(1),
        imported.depth.unwrap_or(1),
    );
    let advice = "A mixed job has its reads and writes in one queue: count jobs x depth, and print rate x latency beside it.";
    Some(about(imported, Weight::Degrades, evidence, advice))
}

/// Checks that a stated ceiling includes line coding.
pub(crate) fn line_coding(imported: &ImportedFigures) -> Option<Finding> {
    let (claimed, link) = (imported.claims.ceiling?, imported.link?);
    let links = imported.links.max(1);
    let usable = link.usable() * f64::from(links);
    if claimed <= usable * (1.0 + ROUNDING) {
        return None;
    }
    let reached = imported.bandwidth().map_or(String::new(), |b| {
        format!(
            "; the measured rate is {} of that, not {}",
            percent(b * 100.0 / usable),
            percent(b * 100.0 / claimed)
        )
    });
    let evidence = format!(
        "The author claims a ceiling of {:.0} MB/s, but {}{reached}.",
        claimed / 1e6,
        usable_rate(link, links)
    );
    let advice =
        "Use the usable rate after line coding; packets and commands cost some percent more.";
    Some(about(imported, Weight::Degrades, evidence, advice))
}

/// Checks the stated utilisation of the links.
pub(crate) fn headroom(imported: &ImportedFigures) -> Option<Finding> {
    let (claimed, link, got) = (
        imported.claims.share?,
        imported.link?,
        imported.bandwidth()?,
    );
    let links = imported.links.max(1);
    let usable = link.usable() * f64::from(links);
    let share = got / usable;
    if (share - claimed).abs() <= ROUNDING {
        return None;
    }
    let evidence = format!(
        "The author claims that {} of the link capacity is used, but {}/s are {} of the {}/s that {links} x {link} can carry.",
        percent(claimed * 100.0),
        bytes(got as u64),
        percent(share * 100.0),
        bytes(usable as u64),
    );
    let advice = "Compute the share from generation, width and number of the links.";
    Some(about(imported, Weight::Degrades, evidence, advice))
}

/// Checks that the stated pattern is the one of the option.
pub(crate) fn pattern(imported: &ImportedFigures) -> Option<Finding> {
    let (rw, claimed) = (
        imported.rw.as_ref()?,
        imported.claims.pattern.as_ref()?.to_lowercase(),
    );
    let is_random = rw.starts_with("rand");
    if is_random == claimed.contains("random") {
        return None;
    }
    let (is, other) = if is_random {
        ("random", "sequential")
    } else {
        ("sequential", "random")
    };
    let jobs = imported.jobs.unwrap_or(1);
    let evidence = format!(
        "rw={rw} is {is} ({jobs} streams of it), but the text says {claimed}: the figures are not those of {other} I/O."
    );
    let advice =
        "Name the pattern beside every result; for random I/O use randread, randwrite or randrw.";
    Some(about(imported, Weight::Invalidates, evidence, advice))
}

/// Checks the stated block size against that of the device.
pub(crate) fn block(imported: &ImportedFigures) -> Option<Finding> {
    let (claimed, reported) = (imported.claims.smallest_block?, imported.logical_block?);
    (claimed != reported).then(|| {
        let evidence = format!("The author claims a smallest block of {claimed} bytes, but the device reports {reported}.");
        let advice = "Read queue/logical_block_size; below its physical block size the device may need read-modify-write.";
        about(imported, Weight::Note, evidence, advice)
    })
}

/// Checks that no controller with a cache is between host and drive.
pub(crate) fn attachment(imported: &ImportedFigures) -> Option<Finding> {
    let path = imported.attachment.as_ref()?;
    let plain = ["ahci", "hba", "nvme", "direct"]
        .iter()
        .any(|word| path.to_lowercase().contains(word));
    let raid = ["raid", "p420", "perc", "megaraid"]
        .iter()
        .any(|word| path.to_lowercase().contains(word));
    if plain && !raid {
        return None;
    }
    let what = if path.is_empty() {
        "is not recorded".to_owned()
    } else {
        format!("is '{path}'")
    };
    let evidence = format!(
        "The path from host to drive {what}: 1 drive behind a controller with a cache shows the controller's latency, \
         variation and ceiling.",
    );
    let advice = "Record controller, firmware and mode with each result, and repeat on a plain HBA before judging the drive.";
    Some(about(imported, Weight::Degrades, evidence, advice))
}
