//! All kinds of models, the library of named models, and the construction of a device from its
//! description.

use crate::device::SimDevice;
use crate::devices;
use crate::error::ModelError;
use crate::params::Params;
use crate::spec::{DEEPEST, ModelSpec};
use crate::toml_file::ModelFile;

/// The most devices in one composition.
const MOST_DEVICES: usize = 4096;

/// A device that was built.
pub type Device = Box<dyn SimDevice>;

/// A kind of model: one file below `devices/`.
#[derive(Clone, Copy)]
pub struct ModelKind {
    /// Its name in compositions and `model = ` of files.
    pub name: &'static str,
    /// One line on what it is.
    pub summary: &'static str,
    /// The fewest and the most devices below it.
    pub members: (usize, usize),
    /// Builds it from its parameters and the devices below it.
    pub build: fn(&mut Params<'_>, &mut Builder<'_>) -> Result<Device, ModelError>,
}

/// All kinds: one line each.
pub const KINDS: &[ModelKind] = &[
    devices::hdd::KIND,
    devices::measured_disk::KIND,
    devices::floppy::KIND,
    devices::flash::KIND,
    devices::servers::KIND,
    devices::link::KIND,
    devices::split::KIND,
    devices::elevator::KIND,
    devices::host::KIND,
    devices::limit::KIND,
    devices::faults::KIND,
    devices::raid::RAID0,
    devices::raid::RAID1,
    devices::raid::RAID10,
    devices::raid::RAID5,
    devices::raid::RAID6,
    devices::controller::KIND,
    devices::cache::KIND,
    devices::tier::KIND,
    devices::curve::KIND,
];

/// Model files that are part of the program: name and text.
pub const BUILT_IN: &[(&str, &str)] = &[
    ("hdd-5400", include_str!("../models/hdd-5400.toml")),
    ("hdd-7200", include_str!("../models/hdd-7200.toml")),
    ("hdd-10k", include_str!("../models/hdd-10k.toml")),
    ("hdd-15k", include_str!("../models/hdd-15k.toml")),
    ("st91000640ss", include_str!("../models/st91000640ss.toml")),
    ("samsung-f1", include_str!("../models/samsung-f1.toml")),
    ("floppy-1440", include_str!("../models/floppy-1440.toml")),
    ("sata-300", include_str!("../models/sata-300.toml")),
    ("sata-600", include_str!("../models/sata-600.toml")),
    ("sas-6g", include_str!("../models/sas-6g.toml")),
    ("sas-12g", include_str!("../models/sas-12g.toml")),
    ("pcie3-x4", include_str!("../models/pcie3-x4.toml")),
    ("pcie4-x4", include_str!("../models/pcie4-x4.toml")),
    ("fc-8g", include_str!("../models/fc-8g.toml")),
    ("iscsi-10g", include_str!("../models/iscsi-10g.toml")),
    ("nvme-ssd", include_str!("../models/nvme-ssd.toml")),
    ("perc-1g", include_str!("../models/perc-1g.toml")),
    ("p420i", include_str!("../models/p420i.toml")),
    ("sata-ssd", include_str!("../models/sata-ssd.toml")),
    (
        "samsung-970-evo-plus-1tb",
        include_str!("../models/samsung-970-evo-plus-1tb.toml"),
    ),
    ("nvme-tcp-25g", include_str!("../models/nvme-tcp-25g.toml")),
];

/// The named models: those of the program and those of the user, which come first.
#[derive(Clone, Debug)]
pub struct Library {
    files: Vec<(String, String, String)>,
}

impl Default for Library {
    fn default() -> Self {
        Library::new()
    }
}

impl Library {
    /// The models of the program.
    #[must_use]
    pub fn new() -> Self {
        let files = BUILT_IN.iter().map(|(name, text)| {
            (
                (*name).to_owned(),
                format!("models/{name}.toml"),
                (*text).to_owned(),
            )
        });
        Library {
            files: files.collect(),
        }
    }

    /// Adds a file of the user: the name of the model, the path for errors, and the text.
    pub fn add(&mut self, name: &str, path: &str, text: &str) {
        self.files
            .insert(0, (name.to_owned(), path.to_owned(), text.to_owned()));
    }

    /// Names of all models.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.files.iter().map(|(name, _, _)| name.as_str())
    }

    /// The model file of this name.
    ///
    /// # Errors
    /// If the file is not a model.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<Result<ModelFile, ModelError>> {
        let (_, path, text) = self.files.iter().find(|(known, _, _)| known == name)?;
        Some(ModelFile::parse(path, text))
    }

    /// Builds a device. The same description and seed give the same device.
    ///
    /// # Errors
    /// If the description is impossible; with the place.
    pub fn build(&self, spec: &ModelSpec, seed: u64) -> Result<Device, ModelError> {
        let mut builder = Builder {
            library: self,
            seed,
            built: 0,
            depth: 0,
            members: Vec::new(),
        };
        builder.build(spec)
    }

    /// Parses and builds a composition such as `raid5(8 x hdd-7200, chunk=64k)`.
    ///
    /// # Errors
    /// If it is not a composition or impossible; with the place.
    pub fn build_text(&self, text: &str, seed: u64) -> Result<Device, ModelError> {
        self.build(&ModelSpec::parse(text)?, seed)
    }
}

/// Builds a device with the models of the program.
///
/// # Errors
/// If the description is impossible; with the place.
pub fn build(spec: &ModelSpec, seed: u64) -> Result<Device, ModelError> {
    Library::new().build(spec, seed)
}

/// The construction of one device: its seed and the devices below it.
pub struct Builder<'a> {
    library: &'a Library,
    seed: u64,
    built: usize,
    depth: usize,
    /// Descriptions of the devices below the one that is being built, one each.
    members: Vec<ModelSpec>,
}

impl Builder<'_> {
    /// The seed of the device that is being built.
    #[must_use]
    pub fn seed(&self) -> u64 {
        // Each device of a composition has its own: SplitMix64's increment.
        self.seed
            .wrapping_add((self.built as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    /// How many devices are below the one that is being built.
    #[must_use]
    pub fn member_count(&self) -> usize {
        self.members.len()
    }

    /// Builds the devices below.
    ///
    /// # Errors
    /// If one is impossible.
    pub fn members(&mut self) -> Result<Vec<Device>, ModelError> {
        let members = std::mem::take(&mut self.members);
        members.iter().map(|member| self.build(member)).collect()
    }

    /// Builds the first device below that is not built yet.
    ///
    /// # Errors
    /// If it is impossible.
    ///
    /// # Panics
    /// If all are built, or the kind allows no member.
    pub fn member(&mut self) -> Result<Device, ModelError> {
        let member = self.members.remove(0);
        self.build(&member)
    }

    /// Builds the two devices below.
    ///
    /// # Errors
    /// If one is impossible.
    ///
    /// # Panics
    /// If the kind allows another number of members.
    pub fn two_members(&mut self) -> Result<[Device; 2], ModelError> {
        Ok([self.member()?, self.member()?])
    }

    /// Builds a device that is a parameter or a member.
    ///
    /// # Errors
    /// If it is impossible.
    pub fn build(&mut self, spec: &ModelSpec) -> Result<Device, ModelError> {
        self.built += 1;
        self.depth += 1;
        let outer = std::mem::take(&mut self.members);
        let device = if self.built > MOST_DEVICES {
            Err(ModelError::at(
                &spec.place,
                format!("more than {MOST_DEVICES} devices in one composition"),
            ))
        } else if self.depth > DEEPEST {
            Err(ModelError::at(
                &spec.place,
                format!(
                    "{}: devices are nested deeper than {DEEPEST} levels; does a model contain itself?",
                    spec.name
                ),
            ))
        } else {
            self.build_named(spec)
        };
        self.depth -= 1;
        self.members = outer;
        device
    }

    fn build_named(&mut self, spec: &ModelSpec) -> Result<Device, ModelError> {
        // `link(sata-300, hdd-7200)`: the first is the link, the second the device.
        if let ("link", [(1, link), (1, device)]) = (spec.name.as_str(), &spec.members[..]) {
            let mut link = link.clone();
            link.parameters.extend(spec.parameters.iter().cloned());
            link.members.push((1, device.clone()));
            return self.build(&link);
        }
        if let Some(kind) = KINDS.iter().find(|kind| kind.name == spec.name) {
            return self.build_kind(kind, spec);
        }
        let Some(file) = self.library.get(&spec.name) else {
            return Err(self.unknown(spec));
        };
        let mut named = file?.spec;
        // A composition may change parameters of the file and adds the devices below: a link.
        named.parameters.extend(spec.parameters.iter().cloned());
        named.members.extend(spec.members.iter().cloned());
        named.place = spec.place.clone();
        self.build(&named)
    }

    fn build_kind(&mut self, kind: &ModelKind, spec: &ModelSpec) -> Result<Device, ModelError> {
        let count: u64 = spec.members.iter().map(|(n, _)| u64::from(*n)).sum();
        let (least, most) = kind.members;
        if count < least as u64 || count > most as u64 {
            let allowed = match (least, most) {
                (0, 0) => "no device".to_owned(),
                (1, 1) => "one device".to_owned(),
                (least, most) if least == most => format!("{least} devices"),
                (least, most) => format!("{least} to {most} devices"),
            };
            return Err(ModelError::at(
                &spec.place,
                format!(
                    "{} needs {allowed} in its parentheses, not {count}",
                    kind.name
                ),
            ));
        }
        self.members = spec
            .members
            .iter()
            .flat_map(|(n, member)| std::iter::repeat_n(member.clone(), *n as usize))
            .collect();
        let mut params = Params::new(spec);
        let device = (kind.build)(&mut params, self)?;
        params.finish()?;
        Ok(device)
    }

    fn unknown(&self, spec: &ModelSpec) -> ModelError {
        let names: Vec<&str> = self.library.names().collect();
        let kinds: Vec<&str> = KINDS.iter().map(|kind| kind.name).collect();
        let all = names.iter().chain(&kinds);
        let meant = similar(&spec.name, all.copied());
        let meant = meant.map_or(String::new(), |name| format!("; did you mean {name}?"));
        ModelError::at(
            &spec.place,
            format!(
                "unknown model '{}'{meant}; models: {}; kinds: {}",
                spec.name,
                names.join(", "),
                kinds.join(", ")
            ),
        )
    }
}

/// The name that differs from another only by its signs, or continues it: `hdd7200` and `hdd-72` are `hdd-7200`.
fn similar<'a>(name: &str, mut known: impl Iterator<Item = &'a str> + Clone) -> Option<&'a str> {
    let plain = |text: &str| -> String {
        let letters = text.chars().filter(char::is_ascii_alphanumeric);
        letters.map(|c| c.to_ascii_lowercase()).collect()
    };
    let name = plain(name);
    let same = known.clone().find(|known| plain(known) == name);
    same.or_else(|| known.find(|known| name.len() >= 3 && plain(known).starts_with(&name)))
}
