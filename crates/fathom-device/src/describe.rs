//! Text that describes a target, for the device list and for refusals.

use crate::code::Fingerprint;
use crate::facts::{
    BlockFacts, Content, DeviceLocation, Ends, Exclusive, FileFacts, Owner, RelatedDevice, Relation,
};
use crate::facts::{Target, TargetFacts, Use, UseKind};
use fathom_model::format::size;

/// Everything the user should see before deciding: identity, contents, uses and code.
///
/// Several lines, without a trailing newline. Names and model strings come from outside, so they
/// are made printable first.
#[must_use]
pub fn describe(facts: &TargetFacts) -> String {
    let (headline, lines) = description(facts);
    let lines = lines
        .into_iter()
        .map(|(label, value)| format!("\n  {label:<11} {value}"));
    headline + &lines.collect::<String>()
}

/// The same in parts: the headline, then the label and text of each line.
#[must_use]
pub fn description(facts: &TargetFacts) -> (String, Vec<(&'static str, String)>) {
    let mut lines = Vec::new();
    match &facts.target {
        Target::Block(block) => block_lines(block, &mut lines),
        Target::File(file) => file_lines(file, &mut lines),
        Target::NewFile(location) => location_lines(location, &mut lines),
        Target::Char(_) | Target::Other(_) => {}
    }
    if let Some(fingerprint) = Fingerprint::of(facts) {
        line(
            &mut lines,
            "code",
            &format!(
                "{} (changes when the target or its contents change)",
                fingerprint.code()
            ),
        );
    }
    (headline(facts), lines)
}

/// One line that identifies the target.
pub(crate) fn identity(facts: &TargetFacts) -> String {
    match &facts.target {
        Target::Block(block) => block_identity(block),
        Target::File(file) => format!(
            "inode {} on device {}, {}",
            file.inode,
            file.dev,
            size(file.size)
        ),
        Target::NewFile(location) => format!(
            "a new file in {}",
            printable(&location.directory.to_string_lossy())
        ),
        Target::Char(devno) => format!("character device {devno}"),
        Target::Other(_) => printable(&facts.resolved.to_string_lossy()),
    }
}

/// What a write would destroy, one phrase each.
pub(crate) fn holds(ends: &Ends) -> Vec<String> {
    let named: Vec<String> = ends.signatures.iter().map(ToString::to_string).collect();
    match (named.is_empty(), ends.blank) {
        (false, _) => named,
        (true, false) => vec!["data of unknown type".into()],
        (true, true) => vec!["any data between its blank first and last MiB".into()],
    }
}

/// One use, as part of a sentence.
pub(crate) fn use_line(used: &Use) -> String {
    let device = &used.device.name;
    let whose = match used.relation {
        Relation::Itself => "it is".to_owned(),
        Relation::PartitionOf => format!("its partition {device} is"),
        Relation::WholeOf => format!("the whole disk {device} that contains it is"),
        Relation::BuiltOn => format!("{device}, built on it, is"),
    };
    match &used.kind {
        UseKind::Swap => format!("{whose} active swap space"),
        UseKind::BtrfsMember { uuid } => {
            format!("{whose} a member of the mounted btrfs {}", printable(uuid))
        }
        UseKind::Mounted(mount) => {
            let at = printable(&mount.at.to_string_lossy());
            let only = if mount.read_only { ", read-only" } else { "" };
            let space = mount.namespace_of.map_or(String::new(), |pid| {
                format!(" in the mount namespace of process {pid}")
            });
            format!(
                "{whose} mounted at {at} ({}{only}){space}",
                printable(&mount.fs_type)
            )
        }
    }
}

/// `a`, `a and b`, `a, b and c`.
pub(crate) fn list(items: impl IntoIterator<Item = String>) -> String {
    let mut items: Vec<String> = items.into_iter().collect();
    match (items.pop(), items.is_empty()) {
        (None, _) => "nothing".into(),
        (Some(last), true) => last,
        (Some(last), false) => format!("{} and {last}", items.join(", ")),
    }
}

/// Escapes control characters, so that a device name cannot control the terminal.
pub(crate) fn printable(text: &str) -> String {
    fathom_model::format::printable(text).into_owned()
}

fn headline(facts: &TargetFacts) -> String {
    let named = printable(&facts.named.to_string_lossy());
    let link = if facts.named == facts.resolved {
        String::new()
    } else {
        format!(" -> {}", facts.resolved.display())
    };
    format!("{named}{}: {}", printable(&link), identity(facts))
}

fn block_identity(block: &BlockFacts) -> String {
    let known = |label: &str, value: &Option<String>| {
        value
            .as_ref()
            .map(|value| format!("{label}{}", printable(value)))
    };
    let parts = [
        Some(format!("block device {} ({})", block.name, block.devno)),
        known("", &block.model),
        known("serial ", &block.serial),
        known("WWID ", &block.wwid).filter(|_| block.serial.is_none()),
        Some(size(block.size)),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// Labels and texts of the lines.
type Lines = Vec<(&'static str, String)>;

fn line(lines: &mut Lines, label: &'static str, value: &str) {
    lines.push((label, value.to_owned()));
}

fn names(lines: &mut Lines, label: &'static str, relatives: &[RelatedDevice]) {
    if !relatives.is_empty() {
        line(
            lines,
            label,
            &list(
                relatives
                    .iter()
                    .map(|one| format!("{} ({})", one.name, one.devno)),
            ),
        );
    }
}

fn block_lines(block: &BlockFacts, lines: &mut Lines) {
    let state = if block.read_only { ", read-only" } else { "" };
    let blocks = format!(
        "{} bytes logical, {} physical{state}",
        block.logical_block, block.physical_block
    );
    line(lines, "blocks", &blocks);
    if let (Some(wwid), Some(_)) = (&block.wwid, &block.serial) {
        line(lines, "WWID", &printable(wwid));
    }
    if let Some(file) = &block.backing_file {
        line(lines, "backed by", &printable(&file.to_string_lossy()));
    }
    names(lines, "part of", block.whole.as_slice());
    names(lines, "partitions", &block.partitions);
    names(lines, "holders", &block.holders);
    names(lines, "built on", &block.slaves);
    for used in &block.uses {
        line(lines, "in use", &use_line(used));
    }
    if block.system {
        line(
            lines,
            "system",
            "holds the root file system of the running system",
        );
    }
    if block.exclusive == Exclusive::Busy {
        line(lines, "claimed", "O_EXCL returns EBUSY");
    }
    ends_line(block.ends.as_ref(), lines);
}

fn ends_line(ends: Option<&Ends>, lines: &mut Lines) {
    let found = match ends {
        None => "its first and last MiB could not be read".to_owned(),
        Some(ends) => list(holds(ends)),
    };
    line(lines, "holds", &found);
}

fn file_lines(file: &FileFacts, lines: &mut Lines) {
    let owner = match file.owner {
        Owner::Ours => "created by fathom",
        Owner::Changed => "created by fathom, modified by another program since",
        Owner::Unfinished if file.locked => "a run of fathom is writing it",
        Owner::Unfinished => {
            "written by a run of fathom that was killed, and perhaps by others since"
        }
        Owner::Foreign => "not created by fathom",
    };
    line(lines, "owner", owner);
    line(lines, "allocated", &size(file.allocated));
    if file.swap {
        line(lines, "in use", "active swap space");
    }
    if !file.loop_devices.is_empty() {
        line(
            lines,
            "attached to",
            &list(file.loop_devices.iter().cloned()),
        );
    }
    if file.content == Content::Data {
        ends_line(file.ends.as_ref(), lines);
    } else {
        line(lines, "holds", "no data");
    }
    location_lines(&file.location, lines);
}

fn location_lines(location: &DeviceLocation, lines: &mut Lines) {
    let state = if location.read_only {
        ", read-only"
    } else {
        ""
    };
    let space = format!(
        "{}{state}, {} free of {}",
        printable(&location.fs_type),
        size(location.free),
        size(location.total)
    );
    line(lines, "on", &space);
    if let Some(why) = &location.kernel_owned {
        line(lines, "reserved", &printable(why));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_name_cannot_control_a_terminal() {
        assert_eq!(printable("Disk\u{1b}[2J"), "Disk\\u{1b}[2J");
    }

    #[test]
    fn lists_read_as_sentences() {
        assert_eq!(list(["a".to_owned()]), "a");
        assert_eq!(
            list(["a".to_owned(), "b".to_owned(), "c".to_owned()]),
            "a, b and c"
        );
    }
}
