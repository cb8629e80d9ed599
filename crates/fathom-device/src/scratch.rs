//! Scratch devices: devices that the user has confirmed once for all later runs.
//!
//! A scratch list records identities, not paths: a world-wide identifier or a serial number with
//! model, size and start, or for a loop device the inode of its backing file. The guard then needs
//! no code for such a device while it holds no known structure, or exactly what it held when the
//! user confirmed it or a run of fathom ended.

use crate::code::DestroyCode;
use crate::facts::{BlockFacts, DevNo};
use std::fmt::Write as _;
use std::path::PathBuf;
use toml::{Table, Value};

/// Limit of the devices in one list.
const MAX_DEVICES: usize = 10_000;

const HEADER: &str =
    "# Devices that fathom may overwrite without a code. See `fathom help devices`.\n";

/// What identifies a scratch device, independent of its name and contents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScratchId {
    /// A disk or partition. At least one of the identifiers is known.
    Disk {
        /// World-wide identifier.
        wwid: Option<String>,
        /// Serial number.
        serial: Option<String>,
        /// Vendor and model.
        model: Option<String>,
        /// Size in bytes.
        size: u64,
        /// Start on the whole disk in bytes; zero for a whole disk.
        start: u64,
    },
    /// A loop device, by its backing file.
    Loop {
        /// Device of the file system that holds the backing file.
        dev: DevNo,
        /// Inode number of the backing file.
        inode: u64,
        /// Birth time of the backing file, nanoseconds since 1970, if its file system keeps one.
        /// Inode numbers are reused.
        born_ns: Option<i64>,
        /// Start in the backing file in bytes, plus the start of a partition.
        start: u64,
        /// Size in bytes.
        size: u64,
    },
}

impl ScratchId {
    /// The identity of a block device; `None` if nothing identifies its medium.
    #[must_use]
    pub fn of(block: &BlockFacts) -> Option<Self> {
        let start = block.starts_at.map_or(0, fathom_model::Bytes::get);
        let size = block.size.get();
        if let Some(backing) = &block.backing {
            return Some(Self::Loop {
                dev: backing.dev,
                inode: backing.inode,
                born_ns: backing.born_ns,
                start: backing.offset.checked_add(start)?,
                size,
            });
        }
        let known = |text: &Option<String>| text.clone().filter(|text| !text.trim().is_empty());
        let (wwid, serial) = (known(&block.wwid), known(&block.serial));
        (wwid.is_some() || serial.is_some()).then(|| Self::Disk {
            wwid,
            serial,
            model: known(&block.model),
            size,
            start,
        })
    }
}

/// One entry of a scratch list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScratchDevice {
    /// The identity.
    pub id: ScratchId,
    /// The code of the contents that the user confirmed, or that a run of fathom left.
    pub code: DestroyCode,
    /// Its path when it was added, for people.
    pub path: PathBuf,
}

impl ScratchDevice {
    /// The identity in one line.
    #[must_use]
    pub fn description(&self) -> String {
        let (identity, size, start) = match &self.id {
            ScratchId::Disk {
                wwid,
                serial,
                model,
                size,
                start,
            } => {
                let parts = [("", model), ("serial ", serial), ("WWID ", wwid)];
                let parts = parts
                    .into_iter()
                    .filter_map(|(label, value)| Some(format!("{label}{}", value.as_ref()?)));
                (parts.collect::<Vec<_>>().join(", "), size, start)
            }
            ScratchId::Loop {
                dev,
                inode,
                start,
                size,
                ..
            } => (
                format!("backed by inode {inode} on device {dev}"),
                size,
                start,
            ),
        };
        let start = match start {
            0 => String::new(),
            start => format!(" from byte {start}"),
        };
        let path = crate::describe::printable(&self.path.to_string_lossy());
        let identity = crate::describe::printable(&identity);
        let size = fathom_model::format::size(fathom_model::Bytes::new(*size));
        format!("{path}: {identity}, {size}{start}")
    }
}

/// The devices of one list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScratchList(pub Vec<ScratchDevice>);

impl ScratchList {
    /// The entry of the device with this identity.
    #[must_use]
    pub fn find(&self, id: &ScratchId) -> Option<&ScratchDevice> {
        self.0.iter().find(|device| device.id == *id)
    }
    /// Adds an entry, replacing the one of the same device.
    pub fn insert(&mut self, device: ScratchDevice) {
        self.0.retain(|old| old.id != device.id);
        self.0.push(device);
    }
    /// The list as TOML.
    #[must_use]
    pub fn to_text(&self) -> String {
        self.0.iter().fold(HEADER.to_owned(), |mut text, device| {
            text += &device.to_text();
            text
        })
    }
    /// Parses a list.
    ///
    /// # Errors
    /// What is wrong, for example an entry without an identity.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut table: Table = text
            .parse()
            .map_err(|error| format!("invalid TOML: {error}"))?;
        let devices = match table.remove("device") {
            None => Vec::new(),
            Some(Value::Array(devices)) if devices.len() <= MAX_DEVICES => devices,
            Some(_) => return Err("`device` is not a list of tables".to_owned()),
        };
        if let Some(name) = table.keys().next() {
            return Err(format!("unknown key '{}'", name.escape_debug()));
        }
        let parsed = devices.into_iter().map(|device| match device {
            Value::Table(table) => ScratchDevice::parse(table),
            _ => Err("`device` is not a list of tables".to_owned()),
        });
        parsed.collect::<Result<_, _>>().map(Self)
    }
}

impl ScratchDevice {
    fn to_text(&self) -> String {
        let mut text = "\n[[device]]\n".to_owned();
        let mut line = |key: &str, value: String| {
            let _ = writeln!(text, "{key} = {value}");
        };
        line("path", quoted(&self.path.to_string_lossy()));
        line("code", quoted(&self.code.to_string()));
        match &self.id {
            ScratchId::Disk {
                wwid,
                serial,
                model,
                size,
                start,
            } => {
                for (key, value) in [("wwid", wwid), ("serial", serial), ("model", model)] {
                    if let Some(value) = value {
                        line(key, quoted(value));
                    }
                }
                line("size", size.to_string());
                line("start", start.to_string());
            }
            ScratchId::Loop {
                dev,
                inode,
                born_ns,
                start,
                size,
            } => {
                line("backing_device", quoted(&dev.to_string()));
                line("backing_inode", inode.to_string());
                if let Some(born) = born_ns {
                    line("backing_born_ns", born.to_string());
                }
                line("size", size.to_string());
                line("start", start.to_string());
            }
        }
        text
    }
    fn parse(mut table: Table) -> Result<Self, String> {
        let path = required(text(&mut table, "path")?, "path")?.into();
        let code = required(text(&mut table, "code")?, "code")?;
        let code = code.parse().map_err(|error| format!("code: {error}"))?;
        let size = required(number(&mut table, "size")?, "size")?;
        let start = number(&mut table, "start")?.unwrap_or(0);
        let id = match number(&mut table, "backing_inode")? {
            Some(inode) => {
                let dev = required(text(&mut table, "backing_device")?, "backing_device")?;
                ScratchId::Loop {
                    dev: devno(&dev).ok_or("backing_device: not MAJOR:MINOR")?,
                    inode,
                    born_ns: integer(&mut table, "backing_born_ns")?,
                    start,
                    size,
                }
            }
            None => ScratchId::Disk {
                wwid: text(&mut table, "wwid")?,
                serial: text(&mut table, "serial")?,
                model: text(&mut table, "model")?,
                size,
                start,
            },
        };
        if let ScratchId::Disk {
            wwid: None,
            serial: None,
            ..
        } = id
        {
            return Err("neither `wwid`, `serial` nor `backing_inode`".to_owned());
        }
        match table.keys().next() {
            Some(name) => Err(format!("unknown key '{}'", name.escape_debug())),
            None => Ok(Self { id, code, path }),
        }
    }
}

fn required<T>(value: Option<T>, key: &str) -> Result<T, String> {
    value.ok_or_else(|| format!("missing `{key}`"))
}

fn text(table: &mut Table, key: &str) -> Result<Option<String>, String> {
    match table.remove(key) {
        None => Ok(None),
        Some(Value::String(text)) if !text.trim().is_empty() => Ok(Some(text)),
        Some(_) => Err(format!("`{key}` is not a text")),
    }
}

fn integer(table: &mut Table, key: &str) -> Result<Option<i64>, String> {
    match table.remove(key) {
        None => Ok(None),
        Some(Value::Integer(number)) => Ok(Some(number)),
        Some(_) => Err(format!("`{key}` is not an integer")),
    }
}

fn number(table: &mut Table, key: &str) -> Result<Option<u64>, String> {
    integer(table, key)?
        .map(|number| u64::try_from(number).map_err(|_| format!("`{key}` is negative")))
        .transpose()
}

fn devno(text: &str) -> Option<DevNo> {
    let (major, minor) = text.split_once(':')?;
    Some(DevNo {
        major: major.parse().ok()?,
        minor: minor.parse().ok()?,
    })
}

/// A basic string of TOML 1.0.
fn quoted(text: &str) -> String {
    let mut quoted = "\"".to_owned();
    for character in text.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            control if control.is_control() => {
                let _ = write!(quoted, "\\u{:04X}", control as u32);
            }
            other => quoted.push(other),
        }
    }
    quoted + "\""
}

#[cfg(test)]
mod tests {
    use super::*;

    fn disk() -> ScratchDevice {
        ScratchDevice {
            id: ScratchId::Disk {
                wwid: Some("naa.5000c500a1b2c3d4".into()),
                serial: Some("S \"1\"\\\u{1b}".into()),
                model: None,
                size: 1 << 40,
                start: 1 << 20,
            },
            code: "0123ABCD".parse().expect("a code"),
            path: "/dev/sdb1".into(),
        }
    }

    #[test]
    fn a_list_is_read_back() {
        let image = ScratchDevice {
            id: ScratchId::Loop {
                dev: DevNo { major: 8, minor: 1 },
                inode: 77,
                born_ns: Some(1_700_000_000_123_456_789),
                start: 0,
                size: 1 << 24,
            },
            path: "/dev/loop3".into(),
            ..disk()
        };
        let list = ScratchList(vec![disk(), image]);
        assert_eq!(ScratchList::parse(&list.to_text()), Ok(list));
        assert_eq!(ScratchList::parse(""), Ok(ScratchList::default()));
    }

    #[test]
    fn an_entry_without_an_identity_is_an_error() {
        let entry = |more: &str| {
            format!("[[device]]\npath = \"/dev/sdb\"\ncode = \"0123ABCD\"\nsize = 1\n{more}")
        };
        assert!(ScratchList::parse(&entry("serial = \"S1\"")).is_ok());
        for wrong in [
            "",
            "model = \"X\"",
            "serial = \"\"",
            "serial = \"S1\"\nowner = 1",
            "backing_inode = 7",
            "serial = \"S1\"\nstart = -1",
        ] {
            assert!(ScratchList::parse(&entry(wrong)).is_err(), "{wrong}");
        }
        assert!(ScratchList::parse("device = 1").is_err());
        assert!(ScratchList::parse("[[devices]]").is_err());
    }
}
