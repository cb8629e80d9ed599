//! Devices built on others: md, device mapper, loop.

use std::path::PathBuf;

use fathom_model::{ArrayFacts, BackingFacts, Bytes};

use super::sysfs_dir::SysfsDir;

/// Facts of an md array or a mapped device.
pub(super) fn array(dir: &SysfsDir<'_>) -> Option<ArrayFacts> {
    let members = dir.names("slaves").len() as u32;
    if dir.exists("md/level") {
        return Some(md(dir, members));
    }
    dir.exists("dm").then(|| mapper(dir, members))
}

/// See Documentation/admin-guide/md.rst of Linux.
fn md(dir: &SysfsDir<'_>, members: u32) -> ArrayFacts {
    let kind = dir.text("md/level").unwrap_or_default();
    let disks = dir.number_u32("md/raid_disks").unwrap_or(members);
    let chunk = dir.number("md/chunk_size").filter(|n| *n > 0);
    let data = match kind.as_str() {
        "raid0" => disks,
        "raid4" | "raid5" => disks.saturating_sub(1),
        "raid6" => disks.saturating_sub(2),
        "raid10" => disks / 2,
        _ => 0,
    };
    let sync = dir.text("md/sync_action").filter(|action| action != "idle");
    ArrayFacts {
        name: None,
        members: disks.max(members),
        degraded: dir.number_u32("md/degraded"),
        chunk: chunk.map(Bytes::new),
        stripe: chunk
            .filter(|_| data > 0)
            .map(|chunk| Bytes::new(chunk.saturating_mul(u64::from(data)))),
        state: dir.text("md/array_state"),
        sync,
        kind,
    }
}

/// The prefix of the UUID names the creator of a mapped device: `LVM-`, `CRYPT-`, `mpath-`,
/// `part1-`, `DMRAID-`.
fn mapper(dir: &SysfsDir<'_>, members: u32) -> ArrayFacts {
    let uuid = dir.text("dm/uuid").unwrap_or_default();
    let maker = uuid.split('-').next().unwrap_or_default();
    let kind = match maker {
        "LVM" => "lvm",
        "CRYPT" => "crypt",
        "mpath" => "multipath",
        "DMRAID" => "fakeraid",
        part if part.starts_with("part") => "partition",
        _ => "mapped",
    };
    let state = dir
        .flag("dm/suspended")
        .filter(|suspended| *suspended)
        .map(|_| "suspended".to_owned());
    ArrayFacts {
        kind: kind.to_owned(),
        name: dir.text("dm/name"),
        members,
        state,
        ..ArrayFacts::default()
    }
}

/// See Documentation/ABI/testing/sysfs-block-loop of Linux.
pub(super) fn backing(dir: &SysfsDir<'_>) -> Option<BackingFacts> {
    let bytes = dir.bytes("loop/backing_file")?;
    let path = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
    Some(BackingFacts {
        path: PathBuf::from(std::ffi::OsString::from(
            String::from_utf8_lossy(path).into_owned(),
        )),
        offset: Bytes::new(dir.number("loop/offset").unwrap_or(0)),
        direct_io: dir.flag("loop/dio"),
        file_system: None,
    })
}
