//! The mounts of this mount namespace and of those of other processes. See `proc_pid_mountinfo(5)`.

use super::kernel::devno;
use fathom_device::{DevNo, MountedAt};
use rustix::fs::FileType;
use std::collections::HashSet;
use std::ffi::OsStr;
use std::io::Read;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Limits of the other namespaces read, and of the bytes read from each.
const MAX_NAMESPACES: usize = 256;
const MAX_BYTES: u64 = 8 << 20;

/// One line of mountinfo.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MountRow {
    pub id: u64,
    pub devno: DevNo,
    /// The source of the mount, as the mounter named it.
    pub source: PathBuf,
    /// Options of the mount, then those of the file system, separated by commas.
    pub options: String,
    pub mount: MountedAt,
}

/// Mounts of this namespace and, if requested, of every other namespace with a visible process.
pub(super) fn all(also_elsewhere: bool) -> Vec<MountRow> {
    let mut rows = read("/proc/self/mountinfo", None);
    for row in &mut rows {
        row.devno = real_device(row);
    }
    if also_elsewhere {
        rows.extend(elsewhere());
    }
    rows
}

/// Mounts of this namespace only.
pub(crate) fn here() -> Vec<MountRow> {
    read("/proc/self/mountinfo", None)
}

/// The mounts in `proc/self/mountinfo` below `root`, such as a copy of /proc in a test.
pub(crate) fn below(root: &Path) -> Vec<MountRow> {
    read(root.join("proc/self/mountinfo"), None)
}

fn read(path: impl AsRef<Path>, namespace_of: Option<u32>) -> Vec<MountRow> {
    let mut text = Vec::new();
    let file = std::fs::File::open(path);
    if file
        .and_then(|file| file.take(MAX_BYTES).read_to_end(&mut text))
        .is_err()
    {
        return Vec::new();
    }
    let rows = text.split(|&byte| byte == b'\n').filter_map(parse);
    rows.map(|row| MountRow {
        mount: MountedAt {
            namespace_of,
            ..row.mount
        },
        ..row
    })
    .collect()
}

/// A file system with a device number of its own (btrfs, zfs) names its device only as the source.
fn real_device(row: &MountRow) -> DevNo {
    let source =
        (row.devno.major == 0 && row.source.is_absolute()).then(|| rustix::fs::stat(&row.source));
    match source {
        Some(Ok(stat)) if FileType::from_raw_mode(stat.st_mode) == FileType::BlockDevice => {
            devno(stat.st_rdev)
        }
        _ => row.devno,
    }
}

fn elsewhere() -> Vec<MountRow> {
    let own = std::fs::read_link("/proc/self/ns/mnt").unwrap_or_default();
    let mut seen = HashSet::from([own]);
    let Ok(processes) = std::fs::read_dir("/proc") else {
        return Vec::new();
    };
    let ids = processes
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let mut new_namespaces = ids.filter(|id| {
        std::fs::read_link(format!("/proc/{id}/ns/mnt"))
            .is_ok_and(|namespace| seen.insert(namespace))
    });
    let chosen: Vec<u32> = new_namespaces.by_ref().take(MAX_NAMESPACES).collect();
    chosen
        .into_iter()
        .flat_map(|id| read(format!("/proc/{id}/mountinfo"), Some(id)))
        .collect()
}

/// `36 35 98:0 /root /mnt rw,noatime master:1 - ext4 /dev/sda1 rw`
fn parse(line: &[u8]) -> Option<MountRow> {
    let mut fields = line.split(|&byte| byte == b' ');
    let id = number(fields.next()?)?;
    let devno = device_number(fields.nth(1)?)?;
    let at = unescape(fields.nth(1)?);
    let options = fields.next()?;
    let mut fields = fields.skip_while(|word| *word != b"-").skip(1);
    let fs_type = String::from_utf8_lossy(fields.next()?).into_owned();
    let source = unescape(fields.next()?);
    let more = fields.next().unwrap_or_default();
    let read_only = options
        .split(|&byte| byte == b',')
        .any(|option| option == b"ro");
    Some(MountRow {
        id,
        devno,
        source,
        options: joined(options, more),
        mount: MountedAt {
            at,
            fs_type,
            read_only,
            namespace_of: None,
        },
    })
}

/// The options of the mount, then those of the file system, each once. Whether it is writable is an
/// option of the mount.
fn joined(mount: &[u8], file_system: &[u8]) -> String {
    let own: Vec<&[u8]> = mount.split(|&byte| byte == b',').collect();
    let more = file_system
        .split(|&byte| byte == b',')
        .filter(|option| !own.contains(option) && ![&b"rw"[..], b"ro", b""].contains(option));
    let all: Vec<_> = own
        .iter()
        .copied()
        .chain(more)
        .map(String::from_utf8_lossy)
        .collect();
    all.join(",")
}

fn number(word: &[u8]) -> Option<u64> {
    std::str::from_utf8(word).ok()?.parse().ok()
}

/// `8:17`, as mountinfo and sysfs write it.
pub(super) fn device_number(word: &[u8]) -> Option<DevNo> {
    let (major, minor) = std::str::from_utf8(word).ok()?.trim().split_once(':')?;
    Some(DevNo {
        major: major.parse().ok()?,
        minor: minor.parse().ok()?,
    })
}

/// Space, tab, newline and backslash are written as three octal digits.
pub(super) fn unescape(word: &[u8]) -> PathBuf {
    let mut plain = Vec::with_capacity(word.len());
    let mut rest = word;
    while let [first, tail @ ..] = rest {
        let octal = tail.get(..3).filter(|_| *first == b'\\').and_then(octal);
        plain.push(octal.unwrap_or(*first));
        rest = if octal.is_some() { &tail[3..] } else { tail };
    }
    PathBuf::from(OsStr::from_bytes(&plain))
}

fn octal(digits: &[u8]) -> Option<u8> {
    u8::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok()
}

/// The number of the mount through which a descriptor was opened, by its fdinfo (`proc_pid_fdinfo(5)`). statx(2) has it only
/// since Linux 5.8.
pub(crate) fn mount_id(fd: BorrowedFd<'_>) -> Option<u64> {
    let info = std::fs::read_to_string(format!("/proc/self/fdinfo/{}", fd.as_raw_fd())).ok()?;
    let id = info.lines().find_map(|line| line.strip_prefix("mnt_id:"))?;
    id.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_manual_page_is_parsed() {
        let line = b"36 35 98:0 /mnt1 /mnt2\\040x ro,noatime master:1 propagate_from:2 - ext3 /dev/root rw,errors=continue";
        let row = parse(line).expect("a mount");
        assert_eq!(
            (row.id, row.devno),
            (
                36,
                DevNo {
                    major: 98,
                    minor: 0
                }
            )
        );
        assert_eq!(row.mount.at, Path::new("/mnt2 x"));
        assert_eq!(
            (row.mount.fs_type.as_str(), row.mount.read_only),
            ("ext3", true)
        );
        assert_eq!(row.source, Path::new("/dev/root"));
        assert_eq!(row.options, "ro,noatime,errors=continue");
    }

    #[test]
    fn invalid_lines_are_skipped() {
        for line in [
            "",
            "36",
            "36 35 98 / /mnt rw - ext3 x rw",
            "36 35 98:0 / /mnt rw",
            "a b c d e f - g h",
        ] {
            assert_eq!(parse(line.as_bytes()), None, "{line}");
        }
    }

    #[test]
    fn only_complete_octal_escapes_are_decoded() {
        assert_eq!(unescape(b"a\\134b\\0\\999"), Path::new("a\\b\\0\\999"));
    }
}
