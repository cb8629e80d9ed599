//! What a command is given besides its arguments: the machine that it measures.
//!
//! Only this file knows which machines there are.

use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fathom_cli::MachineOptions;
use fathom_model::{HostLink, Simulated};
use fathom_plan::HostInfo;
use fathom_sim::{Library, MachineFile, ModelSpec, Parameter, Place, Value};

use crate::machine::{LinuxMachine, Machine, SimMachine};
use crate::result_file;
use crate::toml_files::{toml_files, user_directory};

/// Seed of the models unless `--seed` sets it.
const SEED: u64 = 1;
/// The option in messages.
const OPTION: &str = "--machine";
/// The message about hosts beside a simulated machine.
pub const NO_HOSTS: &str = "--machine simulates on this host: leave out the other hosts";

/// The surroundings of one command. Copies share the machine.
#[derive(Clone)]
pub struct Session {
    machine: Arc<dyn Machine>,
}

impl Session {
    /// A session on the machine of this process.
    pub fn on_this_machine() -> Session {
        Session {
            machine: Arc::new(LinuxMachine::default()),
        }
    }
}

impl Session {
    /// A session on the machine of the options; without one on that of this process.
    ///
    /// # Errors
    /// When the machine or a model has a mistake.
    pub fn open(options: &MachineOptions) -> Result<Session, String> {
        let Some(text) = &options.machine else {
            let alone = match (options.link, options.seed) {
                (Some(_), _) => "--link",
                (None, Some(_)) => "--seed",
                (None, None) => return Ok(Session::on_this_machine()),
            };
            return Err(format!("{alone} needs {OPTION}"));
        };
        let seed = options.seed.unwrap_or(SEED);
        let mut library = Library::new();
        for (name, path, text) in user_models() {
            library.add(&name, &path, &text?);
        }
        let machine = if text.ends_with(".toml") {
            let contents = result_file::read(text)?;
            if MachineFile::is_machine(&contents) {
                if options.link.is_some() {
                    return Err("--link belongs to a model: in a file of a machine write model = \"sata-600(MODEL)\"".to_owned());
                }
                of_file(text, &contents, library, seed)
            } else {
                let spec = ModelSpec::named(text, Place::of(OPTION, text, 0));
                of_model(options.link, spec, library, seed)
            }
        } else {
            let spec = ModelSpec::parse_in(OPTION, text).map_err(|error| error.to_string())?;
            of_model(options.link, spec, library, seed)
        };
        Ok(Session {
            machine: Arc::new(machine?),
        })
    }
}

/// The machine with the device of a model.
fn of_model(
    link: Option<HostLink>,
    spec: ModelSpec,
    mut library: Library,
    seed: u64,
) -> Result<SimMachine, String> {
    let spec = match link {
        Some(link) => behind(link, spec),
        None => spec,
    };
    add_files(&spec, &mut library)?;
    let machine = fathom_sim::Machine::with_device(&spec, &library, seed);
    let machine = machine.map_err(|error| error.to_string())?;
    let device = spec.to_text();
    Ok(SimMachine::new(machine, Simulated { device, seed }))
}

/// The machine of a file.
fn of_file(name: &str, text: &str, mut library: Library, seed: u64) -> Result<SimMachine, String> {
    let message = |error: fathom_sim::ModelError| error.to_string();
    let file = MachineFile::parse(name, text).map_err(message)?;
    for device in &file.devices {
        add_files(&device.model, &mut library)?;
    }
    let machine = file.build(&library, seed).map_err(message)?;
    let device = name.to_owned();
    Ok(SimMachine::new(machine, Simulated { device, seed }))
}

/// A name in a report of test cases, with a mark if the machine is simulated.
pub fn marked(name: &str, session: &Session) -> String {
    match session.simulated() {
        Some(simulated) => format!("{name} (simulated: {})", simulated.device),
        None => name.to_owned(),
    }
}

/// Links with a model, which knows the time of a command too.
const LINK_MODELS: [(&str, &str); 7] = [
    ("sata3", "sata-300"),
    ("sata6", "sata-600"),
    ("sas6", "sas-6g"),
    ("sas12", "sas-12g"),
    ("pcie3x4", "pcie3-x4"),
    ("pcie4x4", "pcie4-x4"),
    ("fc8", "fc-8g"),
];

/// The device behind a link: that of a model, or the rate of the link alone.
fn behind(link: HostLink, device: ModelSpec) -> ModelSpec {
    let name = link.name();
    let place = Place::of("--link", &name, 0);
    let parameter = |name: &str, value: String| Parameter {
        name: name.to_owned(),
        value: Value::Text(value),
        place: place.clone(),
    };
    let model = LINK_MODELS.iter().find(|(known, _)| *known == name);
    let (kind, parameters) = match (model, link) {
        (Some((_, model)), _) => (*model, Vec::new()),
        (None, link) => {
            // Serial ATA and USB 2 transfer in one direction at a time.
            let half = matches!(link, HostLink::Sata(_) | HostLink::Usb(..=480));
            let duplex = if half { "half" } else { "full" };
            let rate = format!("{}MB/s", link.usable() / 1e6);
            let rate = parameter("rate", rate);
            ("link", vec![rate, parameter("duplex", duplex.to_owned())])
        }
    };
    ModelSpec {
        parameters,
        members: vec![(1, device)],
        ..ModelSpec::named(kind, place)
    }
}

/// Adds the model files that a composition names: `sata-600(my-device.toml)`.
fn add_files(spec: &ModelSpec, library: &mut Library) -> Result<(), String> {
    if spec.name.ends_with(".toml") && library.get(&spec.name).is_none() {
        let text = result_file::read(&spec.name)?;
        library.add(&spec.name, &spec.name, &text);
    }
    for (_, member) in &spec.members {
        add_files(member, library)?;
    }
    for parameter in &spec.parameters {
        if let Value::Device(device) = &parameter.value {
            add_files(device, library)?;
        }
    }
    Ok(())
}

/// Models of the user: name, path and text.
pub fn user_models() -> Vec<(String, String, Result<String, String>)> {
    let Some(directory) = user_directory("models") else {
        return Vec::new();
    };
    let files = toml_files(&directory).unwrap_or_default();
    files
        .into_iter()
        .map(|(path, text)| {
            let name = std::path::Path::new(&path)
                .file_stem()
                .map_or(String::new(), |stem| stem.to_string_lossy().into_owned());
            let text = text.map_err(|error| format!("{path}: {error}"));
            (name, path, text)
        })
        .collect()
}

impl Deref for Session {
    type Target = dyn Machine;

    fn deref(&self) -> &Self::Target {
        &*self.machine
    }
}

/// The planner asks the machine of the session.
impl HostInfo for Session {
    fn variable(&self, name: &str) -> Option<String> {
        self.facts().variable(name)
    }

    fn memory_mib(&self) -> u64 {
        self.facts().memory_mib()
    }

    fn address_space_mib(&self) -> Option<u64> {
        self.facts().address_space_mib()
    }

    fn cpus(&self) -> u32 {
        self.facts().cpus()
    }

    fn host_cpus(&self) -> u32 {
        self.facts().host_cpus()
    }

    fn page_size(&self) -> u64 {
        self.facts().page_size()
    }

    fn is_special(&self, path: &Path) -> bool {
        self.facts().is_special(path)
    }

    fn is_directory(&self, path: &Path) -> bool {
        self.facts().is_directory(path)
    }

    fn files_below(&self, directory: &Path, max_count: usize) -> Option<Vec<PathBuf>> {
        self.facts().files_below(directory, max_count)
    }

    fn entropy(&self) -> u64 {
        self.facts().entropy()
    }
}
