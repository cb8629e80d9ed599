//! The text file of a machine.
//!
//! ```toml
//! cpus = 2
//!
//! [[device]]
//! path = "/dev/nvme0n1"        # a block device
//! model = "nvme-ssd"
//! holds_data = true            # somebody else's; or scratch = true
//!
//! [[device]]
//! path = "/data"               # a file system
//! model = "servers(count=1, service=100us)"
//!
//! [[device.file]]
//! path = "/data/base.db"       # a file that exists, with data
//! size = "1g"
//! ```

use std::path::{Path, PathBuf};

use fathom_model::Nanos;
use toml::Spanned;
use toml::de::DeValue;

use super::Machine;
use super::event_entry::read_event;
use super::events::Event;
use super::files::{FileTree, Volume, VolumeKind};
use crate::error::{ModelError, Place};
use crate::params::Params;
use crate::registry::{Device, Library};
use crate::spec::ModelSpec;
use crate::toml_file::{Entries, Reader, moved};

/// The most CPUs of a machine.
const MAX_CPUS: u64 = 4096;

/// Bytes of a volatile cache unless `volatile_cache` sets them.
const CACHE_BYTES: u64 = 16 << 20;

/// A machine as its file describes it.
#[derive(Clone, Debug, PartialEq)]
pub struct MachineFile {
    /// CPUs.
    pub cpus: u32,
    /// CPU time of the load generator for each I/O.
    pub cpu_per_io: Nanos,
    /// Its devices; at least one.
    pub devices: Vec<DeviceEntry>,
    /// What happens to it.
    pub events: Vec<Event>,
}

/// One of several hosts, each of which has a machine of its own.
#[derive(Clone, Copy, Debug)]
pub struct OneHost<'a> {
    /// Its name.
    pub name: &'a str,
    /// The names of all.
    pub all: &'a [String],
}

/// `[[device]]`.
#[derive(Clone, Debug, PartialEq)]
pub struct DeviceEntry {
    /// Its name: a block device below `/dev`, else the directory where its file system is mounted.
    pub path: PathBuf,
    /// Its model.
    pub model: ModelSpec,
    /// Where the file system of a block device is mounted.
    pub mounted: Option<PathBuf>,
    /// It contains data of somebody else.
    pub holds_data: bool,
    /// Its owner allows it to be written, without a code.
    pub scratch: bool,
    /// Nobody may write to it.
    pub read_only: bool,
    /// The name of the drive, as it reports it.
    pub drive: Option<String>,
    /// Its serial number.
    pub serial: Option<String>,
    /// What it does with writes until they are flushed.
    pub cache: DeviceCache,
    /// Files that exist.
    pub files: Vec<FileEntry>,
    place: Place,
}

/// The volatile cache of a device, which a power cut empties.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceCache {
    /// Bytes of it; with more, the oldest writes are stored.
    pub bytes: u64,
    /// A flush completes and stores nothing.
    pub ignores_flush: bool,
    /// A write with forced unit access is one like any other.
    pub ignores_fua: bool,
}

impl Default for DeviceCache {
    fn default() -> Self {
        DeviceCache {
            bytes: CACHE_BYTES,
            ignores_flush: false,
            ignores_fua: false,
        }
    }
}

/// `[[device.file]]`: a file with data that the load generator did not create.
#[derive(Clone, Debug, PartialEq)]
pub struct FileEntry {
    /// Its name.
    pub path: PathBuf,
    /// Bytes.
    pub size: u64,
    place: Place,
}

impl MachineFile {
    /// Whether the text of a TOML file describes a machine. Other files describe the model of a device.
    #[must_use]
    pub fn is_machine(text: &str) -> bool {
        toml::de::DeTable::parse(text).is_ok_and(|root| root.get_ref().contains_key("device"))
    }

    /// Parses the file.
    ///
    /// # Errors
    /// If it is not TOML, or describes no machine; with the place.
    pub fn parse(source: &str, text: &str) -> Result<MachineFile, ModelError> {
        MachineFile::parse_for(source, text, None)
    }

    /// As [`MachineFile::parse`], the machine of one of several hosts: devices and events with `host` are only on that one.
    ///
    /// # Errors
    /// As [`MachineFile::parse`], and if a host is none of them.
    pub fn parse_for(
        source: &str,
        text: &str,
        host: Option<OneHost<'_>>,
    ) -> Result<MachineFile, ModelError> {
        let reader = Reader { source, text };
        let root = reader.root()?;
        let (mut devices, mut events) = (Vec::new(), Vec::new());
        let mut rest = Vec::new();
        for (key, value) in root.get_ref() {
            match key.get_ref().as_ref() {
                "device" => devices = read_tables_of(host, &reader, value, read_device)?,
                "event" => {
                    events = read_tables_of(host, &reader, value, |reader, entries, place| {
                        as_spec(reader, "event", entries, place)
                    })?;
                }
                _ => rest.push((key, value)),
            }
        }
        let start = Place::of(source, text, 0);
        let spec = as_spec(&reader, "machine", rest, start.clone())?;
        let mut params = Params::new(&spec);
        let cpus = params.count("cpus", (1, MAX_CPUS), Some(1))? as u32;
        let cpu_per_io = Nanos::new(params.time("cpu_per_io", Some(0.0))?.round() as u64);
        params.finish()?;
        if devices.is_empty() {
            return Err(ModelError::at(
                &start,
                "a machine has at least one [[device]]",
            ));
        }
        let events = events
            .iter()
            .map(|event| read_event(event, &devices, host.is_some()));
        let events = events.collect::<Result<Vec<Event>, ModelError>>()?;
        Ok(MachineFile {
            cpus,
            cpu_per_io,
            devices,
            events,
        })
    }

    /// Builds the devices. The same file and seed give the same machine.
    ///
    /// # Errors
    /// If a model is impossible, or a file has no room; with the place.
    pub fn build(&self, library: &Library, seed: u64) -> Result<Machine, ModelError> {
        let devices = (0_u64..).zip(&self.devices);
        let devices: Result<Vec<Device>, ModelError> = devices
            .map(|(number, entry)| library.build(&entry.model, seed.wrapping_add(number)))
            .collect();
        let devices = devices?;
        let mut files = FileTree::default();
        for ((disk, device), entry) in devices.iter().enumerate().zip(&self.devices) {
            entry.add_to(&mut files, disk, device)?;
        }
        Ok(Machine {
            devices,
            files,
            cpus: Some(self.cpus),
            cpu_per_io: self.cpu_per_io,
            events: self.events.clone(),
        })
    }
}

impl DeviceEntry {
    fn add_to(&self, files: &mut FileTree, disk: usize, device: &Device) -> Result<(), ModelError> {
        let volume = |path: &Path, kind| Volume {
            read_only: self.read_only,
            drive: self.drive.clone(),
            serial: self.serial.clone(),
            survey: device.survey(),
            ..Volume::new(path.to_owned(), kind, disk, device.capacity())
        };
        if self.path.starts_with("/dev") {
            files.add_volume(Volume {
                holds_data: self.holds_data,
                scratch: self.scratch,
                mounted: self.mounted.clone(),
                ..volume(&self.path, VolumeKind::BlockDevice)
            });
            if let Some(mounted) = &self.mounted {
                files.add_volume(volume(mounted, VolumeKind::FileSystem));
            }
        } else {
            files.add_volume(volume(&self.path, VolumeKind::FileSystem));
        }
        for file in &self.files {
            let added = files.add_foreign_file(&file.path, file.size);
            added.map_err(|error| ModelError::at(&file.place, error.what))?;
        }
        Ok(())
    }
}

/// The tables of an array of tables, each read on its own.
fn read_tables<T>(
    reader: &Reader<'_>,
    value: &Spanned<DeValue<'_>>,
    read: impl Fn(&Reader<'_>, Entries<'_, '_>, Place) -> Result<T, ModelError>,
) -> Result<Vec<T>, ModelError> {
    let expected = || reader.error(&value.span(), "expected tables in double brackets");
    let list = value.get_ref().as_array().ok_or_else(expected)?;
    let tables = list.iter().map(|one| {
        let table = one.get_ref().as_table().ok_or_else(expected)?;
        let place = Place::of(reader.source, reader.text, one.span().start);
        read(reader, table.iter().collect(), place)
    });
    tables.collect()
}

/// As [`read_tables`], without those of other hosts.
fn read_tables_of<T>(
    host: Option<OneHost<'_>>,
    reader: &Reader<'_>,
    value: &Spanned<DeValue<'_>>,
    read: fn(&Reader<'_>, Entries<'_, '_>, Place) -> Result<T, ModelError>,
) -> Result<Vec<T>, ModelError> {
    let tables = read_tables(reader, value, |reader, mut entries, place| {
        let named = entries.iter().position(|(key, _)| key.get_ref() == "host");
        if let Some(position) = named {
            let (_, value) = entries.remove(position);
            let named = value.get_ref().as_str().unwrap_or_default();
            let problem = match host {
                None => "host needs several hosts: `fathom run --hosts=a,b`".to_owned(),
                Some(host) if named == host.name => String::new(),
                Some(host) if host.all.iter().any(|one| one == named) => return Ok(None),
                Some(host) => format!("no host '{named}'; the run has {}", host.all.join(", ")),
            };
            if !problem.is_empty() {
                return Err(reader.error(&value.span(), problem));
            }
        }
        read(reader, entries, place).map(Some)
    });
    Ok(tables?.into_iter().flatten().collect())
}

/// Entries with the checks that parameters of models have: types, units, and no unknown name.
fn as_spec(
    reader: &Reader<'_>,
    name: &str,
    entries: Entries<'_, '_>,
    place: Place,
) -> Result<ModelSpec, ModelError> {
    Ok(ModelSpec {
        parameters: reader.parameters_of(entries)?,
        ..ModelSpec::named(name, place)
    })
}

fn read_device(
    reader: &Reader<'_>,
    entries: Entries<'_, '_>,
    place: Place,
) -> Result<DeviceEntry, ModelError> {
    let mut files = Vec::new();
    let mut rest = Vec::new();
    for (key, value) in entries {
        match key.get_ref().as_ref() {
            "file" => files = read_tables(reader, value, read_file)?,
            _ => rest.push((key, value)),
        }
    }
    let spec = as_spec(reader, "device", rest, place.clone())?;
    let mut params = Params::new(&spec);
    let path = needed_path(&mut params, "path")?;
    let model = params.text("model")?;
    let model = model.ok_or_else(|| params.error("model", "missing; add model = \"nvme-ssd\""))?;
    let at = spec.parameters.iter().find(|one| one.name == "model");
    let at = at.map_or(&place, |one| &one.place);
    let model = if model.ends_with(".toml") {
        ModelSpec::named(model, at.clone())
    } else {
        let parsed = ModelSpec::parse_in(reader.source, model);
        moved(
            parsed.map_err(|error| ModelError::at(at, error.problem))?,
            at,
        )
    };
    let mounted = path_of(&mut params, "mounted")?;
    let entry = DeviceEntry {
        holds_data: params.flag("holds_data", false)?,
        scratch: params.flag("scratch", false)?,
        read_only: params.flag("read_only", false)?,
        drive: params.text("drive")?.map(str::to_owned),
        serial: params.text("serial")?.map(str::to_owned),
        cache: DeviceCache {
            bytes: params.bytes("volatile_cache", Some(CACHE_BYTES))?,
            ignores_flush: params.flag("ignores_flush", false)?,
            ignores_fua: params.flag("ignores_fua", false)?,
        },
        path,
        model,
        mounted,
        files,
        place,
    };
    params.finish()?;
    let is_block = entry.path.starts_with("/dev");
    let has_block_keys = entry.mounted.is_some() || entry.holds_data || entry.scratch;
    if !is_block && has_block_keys {
        return Err(ModelError::at(
            &entry.place,
            "mounted, holds_data and scratch belong to a block device, whose path is below /dev",
        ));
    }
    Ok(entry)
}

fn read_file(
    reader: &Reader<'_>,
    entries: Entries<'_, '_>,
    place: Place,
) -> Result<FileEntry, ModelError> {
    let spec = as_spec(reader, "file", entries, place.clone())?;
    let mut params = Params::new(&spec);
    let entry = FileEntry {
        path: needed_path(&mut params, "path")?,
        size: params.bytes_from("size", 1, None)?,
        place,
    };
    params.finish()?;
    Ok(entry)
}

fn needed_path(params: &mut Params<'_>, name: &'static str) -> Result<PathBuf, ModelError> {
    let path = path_of(params, name)?;
    path.ok_or_else(|| params.error(name, "missing; add path = \"/data\""))
}

/// An absolute path.
fn path_of(params: &mut Params<'_>, name: &'static str) -> Result<Option<PathBuf>, ModelError> {
    match params.text(name)? {
        None => Ok(None),
        Some(text) if text.starts_with('/') => Ok(Some(text.into())),
        Some(text) => Err(params.error(name, format!("'{text}' does not begin with /"))),
    }
}

#[cfg(test)]
mod tests {
    use fathom_model::Nanos;

    use super::*;
    use crate::machine::Node;

    const MACHINE: &str = r#"
cpus = 2
[[device]]
path = "/dev/nvme0n1"
model = "servers(count=1, service=10us, capacity=1g)"
mounted = "/srv"
serial = "S1"
[[device]]
path = "/data"
model = "servers(count=1, service=100us, capacity=2g)"
[[device.file]]
path = "/data/base.db"
size = "1m"
"#;

    #[test]
    fn a_machine_has_the_devices_and_the_files_of_its_file() {
        assert!(MachineFile::is_machine(MACHINE) && !MachineFile::is_machine("model = 'hdd'"));
        let file = MachineFile::parse("m.toml", MACHINE).expect("a machine");
        assert_eq!((file.cpus, file.devices.len()), (2, 2));
        let machine = file.build(&Library::new(), 1).expect("possible");
        let capacities = machine.devices.iter().map(|device| device.capacity());
        assert!(capacities.eq([1 << 30, 2 << 30]));
        let node = |path: &str| machine.files.node(Path::new(path));
        assert_eq!(node("/dev/nvme0n1"), Node::Device(0));
        assert_eq!(node("/srv"), Node::Directory(1));
        assert_eq!(node("/data"), Node::Directory(2));
        assert!(matches!(node("/data/base.db"), Node::File(file) if file.extent.disk == 1));
    }

    #[test]
    fn a_device_has_a_volatile_cache_that_keeps_its_promises_unless_its_keys_say_other() {
        let cache = |keys: &str| {
            let text = format!("[[device]]\npath = '/a'\nmodel = 'servers(count=1)'\n{keys}\n");
            let file = MachineFile::parse("m.toml", &text).expect("a machine");
            file.devices[0].cache
        };
        let (bytes, honest) = (16 << 20, DeviceCache::default());
        assert_eq!(cache(""), honest);
        assert_eq!(
            (honest.bytes, honest.ignores_flush, honest.ignores_fua),
            (bytes, false, false)
        );
        let lying = DeviceCache {
            bytes: 0,
            ignores_flush: true,
            ignores_fua: true,
        };
        let keys = "volatile_cache = '0k'\nignores_flush = true\nignores_fua = true";
        assert_eq!(cache(keys), lying);
    }

    /// Of three devices and two events one each is only on one of two hosts.
    #[test]
    fn a_host_has_its_own_parts_and_those_of_all() {
        let text = "[[device]]\npath = '/a'\nmodel = 'servers(count=1)'\n\
            [[device]]\nhost = 'two'\npath = '/b'\nmodel = 'servers(count=1)'\n\
            [[device]]\nhost = 'one'\npath = '/c'\nmodel = 'servers(count=1)'\n\
            [[event]]\nhost = 'two'\nat = '1s'\ncut_network = '2s'\n\
            [[event]]\nat = '1s'\nstall_device = '/a'\nlasts = '1s'\n";
        let all = ["one".to_owned(), "two".to_owned()];
        let of = |name| {
            let host = OneHost { name, all: &all };
            let file = MachineFile::parse_for("m.toml", text, Some(host)).expect("a machine");
            let paths = file
                .devices
                .iter()
                .map(|one| one.path.display().to_string());
            (paths.collect::<Vec<_>>(), file.events)
        };
        let (ms, stall) = (Nanos::from_millis, Event::disk_stalls);
        let stall = stall(ms(1000), ms(1000), 0);
        let cut = Event::network_cut(ms(1000), ms(2000));
        let paths = |last: &str| vec!["/a".to_owned(), last.to_owned()];
        assert_eq!(of("one"), (paths("/c"), vec![stall]));
        assert_eq!(of("two"), (paths("/b"), vec![cut, stall]));
        let problem = |host| {
            let parsed = MachineFile::parse_for("m.toml", text, host);
            parsed.expect_err("a mistake").to_string()
        };
        let alone = problem(None);
        assert!(
            alone.contains("m.toml:5:8") && alone.contains("--hosts"),
            "{alone}"
        );
        let others = ["one".to_owned(), "three".to_owned()];
        let other = problem(Some(OneHost {
            name: "one",
            all: &others,
        }));
        assert!(
            other.contains("no host 'two'; the run has one, three"),
            "{other}"
        );
        let cut = "[[event]]\nat = '1s'\ncut_network = '2s'\n";
        let text = format!("[[device]]\npath = '/a'\nmodel = 'servers(count=1)'\n{cut}");
        let alone = MachineFile::parse("m.toml", &text).expect_err("no network");
        assert!(alone.to_string().contains("--hosts"), "{alone}");
    }

    #[test]
    fn mistakes_name_their_line() {
        let device = "[[device]]\npath = '/data'\nmodel = 'servers(service=1ms)'\n";
        for (text, place, problem) in [
            ("cpus = 2\n".to_owned(), "m.toml:1:1", "at least one"),
            (format!("cpu = 2\n{device}"), "m.toml:1:7", "cpu"),
            (format!("{device}colour = 'red'\n"), "m.toml:4:10", "colour"),
            (
                device.replace("/data", "data"),
                "m.toml:2:8",
                "begin with /",
            ),
            (
                device.replace("servers", "serves"),
                "m.toml:3:9",
                "unknown model",
            ),
            (format!("{device}holds_data = true\n"), "m.toml:1:1", "/dev"),
            (
                format!("{device}[[device.file]]\npath = '/data/a'\nsize = '1'\n"),
                "m.toml:6:8",
                "missing unit",
            ),
            (
                format!("{device}[[device.file]]\npath = '/other/a'\nsize = '1m'\n"),
                "m.toml:4:1",
                "no device or file system",
            ),
        ] {
            let built =
                MachineFile::parse("m.toml", &text).and_then(|file| file.build(&Library::new(), 1));
            let error = built.err().expect("a mistake");
            assert_eq!(error.place.to_string(), place, "{text}{error}");
            assert!(error.problem.contains(problem), "{text}{error}");
        }
    }
}
