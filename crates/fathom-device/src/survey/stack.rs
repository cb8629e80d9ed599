//! Devices made of others: md, device mapper, loop.

use std::path::PathBuf;

use fathom_model::{ArrayFacts, BackingFacts, Bytes};

use super::sysfs::Folder;

/// What md or device mapper says of itself.
pub(super) fn array(folder: &Folder<'_>) -> Option<ArrayFacts> {
    let members = folder.names("slaves").len() as u32;
    if folder.exists("md/level") {
        return Some(md(folder, members));
    }
    folder.exists("dm").then(|| mapper(folder, members))
}

/// See Documentation/admin-guide/md.rst of Linux.
fn md(folder: &Folder<'_>, members: u32) -> ArrayFacts {
    let kind = folder.text("md/level").unwrap_or_default();
    let disks = folder.small("md/raid_disks").unwrap_or(members);
    let chunk = folder.number("md/chunk_size").filter(|n| *n > 0);
    let data = match kind.as_str() {
        "raid0" => disks,
        "raid4" | "raid5" => disks.saturating_sub(1),
        "raid6" => disks.saturating_sub(2),
        "raid10" => disks / 2,
        _ => 0,
    };
    let sync = folder
        .text("md/sync_action")
        .filter(|action| action != "idle");
    ArrayFacts {
        name: None,
        members: disks.max(members),
        degraded: folder.small("md/degraded"),
        chunk: chunk.map(Bytes::new),
        stripe: chunk
            .filter(|_| data > 0)
            .map(|chunk| Bytes::new(chunk.saturating_mul(u64::from(data)))),
        state: folder.text("md/array_state"),
        sync,
        kind,
    }
}

/// Who made a mapped device stands in front of its UUID: `LVM-`, `CRYPT-`, `mpath-`, `part1-`, `DMRAID-`.
fn mapper(folder: &Folder<'_>, members: u32) -> ArrayFacts {
    let uuid = folder.text("dm/uuid").unwrap_or_default();
    let maker = uuid.split('-').next().unwrap_or_default();
    let kind = match maker {
        "LVM" => "lvm",
        "CRYPT" => "crypt",
        "mpath" => "multipath",
        "DMRAID" => "fakeraid",
        part if part.starts_with("part") => "partition",
        _ => "mapped",
    };
    let state = folder
        .flag("dm/suspended")
        .filter(|suspended| *suspended)
        .map(|_| "suspended".to_owned());
    ArrayFacts {
        kind: kind.to_owned(),
        name: folder.text("dm/name"),
        members,
        state,
        ..ArrayFacts::default()
    }
}

/// See Documentation/ABI/testing/sysfs-block-loop of Linux.
pub(super) fn backing(folder: &Folder<'_>) -> Option<BackingFacts> {
    let bytes = folder.bytes("loop/backing_file")?;
    let path = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
    Some(BackingFacts {
        path: PathBuf::from(std::ffi::OsString::from(
            String::from_utf8_lossy(path).into_owned(),
        )),
        offset: Bytes::new(folder.number("loop/offset").unwrap_or(0)),
        direct_io: folder.flag("loop/dio"),
        file_system: None,
    })
}
