//! What a command is given besides its arguments: the machine that it measures.
//!
//! Only this file knows which machines there are.

use std::ops::{Deref, Range};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use fathom_cli::MachineOptions;
use fathom_hosts::{Selection, SimulatedHost, Simulation};
use fathom_model::{HostLink, Nanos, Simulated};
use fathom_plan::HostInfo;
use fathom_sim::{
    Event, EventKind, Library, MachineFile, ModelSpec, OneHost, Parameter, Place, Value,
};

use crate::hosts::SimulatedHosts;
use crate::machine::{LinuxMachine, Machine, START_UNIX_NS, SimMachine};
use crate::result_file;
use crate::toml_files::{toml_files, user_directory};

/// Seed of the models unless `--seed` sets it.
const SEED: u64 = 1;
/// The wall clock at the start of every simulation, since 1970.
pub const START_UNIX: Duration = Duration::from_nanos(START_UNIX_NS);
/// The option in messages.
const OPTION: &str = "--machine";
/// How long before the next one a simulated host was switched on: their clocks begin at different times.
const AHEAD: Duration = Duration::from_secs(1000);
/// The surroundings of one command. Copies share the machine.
#[derive(Clone)]
pub struct Session {
    machine: Arc<dyn Machine>,
    hosts: Option<Arc<SimulatedHosts>>,
}

impl Session {
    /// A session on the machine of this process.
    pub fn on_this_machine() -> Session {
        Session::on(LinuxMachine::default())
    }

    fn on(machine: impl Machine + 'static) -> Session {
        Session {
            machine: Arc::new(machine),
            hosts: None,
        }
    }

    /// The simulated hosts that carry out the jobs of this one.
    pub fn hosts(&self) -> Option<&Arc<SimulatedHosts>> {
        self.hosts.as_ref()
    }

    /// A session on the machine of the options; without one on that of this process. With `hosts`, each of these has a simulated
    /// machine of its own, and this one is as the first of them.
    ///
    /// # Errors
    /// When the machine or a model has a mistake, or the hosts have no names.
    pub fn open(options: &MachineOptions, hosts: Option<&str>) -> Result<Session, String> {
        let Some(text) = &options.machine else {
            let alone = match (options.link, options.seed) {
                (Some(_), _) => "--link",
                (None, Some(_)) => "--seed",
                (None, None) => return Ok(Session::on_this_machine()),
            };
            return Err(format!("{alone} needs {OPTION}"));
        };
        let source = Source { options, text };
        let Some(hosts) = hosts else {
            return source.machine(None).map(|one| Session::on(one.machine));
        };
        let Selection::Names(names) =
            Selection::parse(hosts).map_err(|error| format!("--hosts: {error}"))?
        else {
            return Err(format!("with {OPTION}, --hosts has names: --hosts=a,b"));
        };
        let simulation = Simulation::begin();
        let build = |rank: usize| {
            source.machine(Some(&OfHost {
                rank,
                names: &names,
                simulation: &simulation,
            }))
        };
        let own = build(0)?.machine;
        let hosts = (0..names.len()).map(|rank| {
            let OneMachine { machine, network } = build(rank)?;
            let wall = machine.wall_clock();
            let host = SimulatedHost {
                ahead: AHEAD * (rank as u32 + 1),
                wall,
                network,
            };
            Ok((names[rank].clone(), host, Session::on(machine)))
        });
        let hosts = hosts.collect::<Result<Vec<_>, String>>()?;
        let own_end = SimulatedHost {
            ahead: Duration::ZERO,
            wall: own.wall_clock(),
            network: Vec::new(),
        };
        let hosts = SimulatedHosts::new(Arc::clone(&simulation), own_end, hosts);
        Ok(Session {
            hosts: Some(Arc::new(hosts)),
            ..Session::on(own)
        })
    }
}

/// One of several hosts that are simulated together.
struct OfHost<'a> {
    rank: usize,
    names: &'a [String],
    simulation: &'a Arc<Simulation>,
}

/// A simulated machine.
struct OneMachine {
    machine: SimMachine,
    /// What happens to its messages, see [`SimulatedHost`].
    network: Vec<(Range<Duration>, Option<Duration>)>,
}

/// What the options say of a simulated machine.
struct Source<'a> {
    options: &'a MachineOptions,
    text: &'a str,
}

impl Source<'_> {
    /// The machine, alone or of one of several hosts: there each has its own seeds.
    fn machine(&self, host: Option<&OfHost<'_>>) -> Result<OneMachine, String> {
        let (text, link) = (self.text, self.options.link);
        let mut library = Library::new();
        for (name, path, text) in user_models() {
            library.add(&name, &path, &text?);
        }
        let spec = if text.ends_with(".toml") {
            let contents = result_file::read(text)?;
            if MachineFile::is_machine(&contents) {
                if link.is_some() {
                    return Err("--link belongs to a model: in a file of a machine write model = \"sata-600(MODEL)\"".to_owned());
                }
                return self.of_file(&contents, library, host);
            }
            ModelSpec::named(text, Place::of(OPTION, text, 0))
        } else {
            ModelSpec::parse_in(OPTION, text).map_err(|error| error.to_string())?
        };
        let spec = match link {
            Some(link) => behind(link, spec),
            None => spec,
        };
        add_files(&spec, &mut library)?;
        let seed = self.seed(host.map_or(0, |host| host.rank), 1);
        let machine = fathom_sim::Machine::with_device(&spec, &library, seed);
        let machine = machine.map_err(|error| error.to_string())?;
        Ok(made(machine, spec.to_text(), seed, host))
    }

    /// The machine of a file.
    fn of_file(
        &self,
        contents: &str,
        library: Library,
        host: Option<&OfHost<'_>>,
    ) -> Result<OneMachine, String> {
        let names = host.map(|host| (host.rank, host.names));
        let built = self.build_file(contents, library, names)?;
        let is_cut = |event: &Event| matches!(event.kind, EventKind::PowerCut { .. });
        if built.file.events.iter().any(is_cut) {
            return Err(format!(
                "{}: cut_power is an event of `fathom durable write`; no other command starts a machine again",
                self.text
            ));
        }
        let HostMachine {
            machine, identity, ..
        } = built;
        Ok(made(machine, identity.device, identity.seed, host))
    }

    /// Builds the machine of a file, alone or that of the host with a rank among several.
    fn build_file(
        &self,
        contents: &str,
        mut library: Library,
        host: Option<(usize, &[String])>,
    ) -> Result<HostMachine, String> {
        let message = |error: fathom_sim::ModelError| error.to_string();
        let one = host.map(|(rank, names)| OneHost {
            name: &names[rank],
            all: names,
        });
        let file = MachineFile::parse_for(self.text, contents, one).map_err(message)?;
        for device in &file.devices {
            add_files(&device.model, &mut library)?;
        }
        let seed = self.seed(host.map_or(0, |(rank, _)| rank), file.devices.len());
        let machine = file.build(&library, seed).map_err(message)?;
        Ok(HostMachine {
            file,
            machine,
            identity: Simulated {
                device: self.text.to_owned(),
                seed,
            },
        })
    }

    /// The seed of the first of `devices` of the host with this rank; the others have the numbers after it.
    fn seed(&self, rank: usize, devices: usize) -> u64 {
        let before = (rank * devices) as u64;
        self.options.seed.unwrap_or(SEED).wrapping_add(before)
    }
}

/// The machine of a file and its description.
pub struct HostMachine {
    pub file: MachineFile,
    pub machine: fathom_sim::Machine,
    /// What results call it.
    pub identity: Simulated,
}

/// The machines of hosts with these names, for a command that simulates what is between them itself.
///
/// # Errors
/// When the options name no file of a machine, or it has a mistake.
pub fn host_machines(options: &MachineOptions, names: &[&str]) -> Result<Vec<HostMachine>, String> {
    let text = options.machine.as_deref().unwrap_or_default();
    let source = Source { options, text };
    let contents = match text.ends_with(".toml") {
        true => result_file::read(text)?,
        false => String::new(),
    };
    if !MachineFile::is_machine(&contents) {
        return Err(format!(
            "{OPTION}={text}: give the file of a machine, which says when its power is cut"
        ));
    }
    if options.link.is_some() {
        return Err(
            "--link belongs to a model: in a file of a machine write model = \"sata-600(MODEL)\""
                .to_owned(),
        );
    }
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let machines = (0..names.len()).map(|rank| {
        let mut library = Library::new();
        for (name, path, text) in user_models() {
            library.add(&name, &path, &text?);
        }
        source.build_file(&contents, library, Some((rank, &names)))
    });
    machines.collect()
}

/// The machine that results call `device`.
fn made(
    machine: fathom_sim::Machine,
    device: String,
    seed: u64,
    host: Option<&OfHost<'_>>,
) -> OneMachine {
    let time = |at: Nanos| Duration::from_nanos(at.get());
    let network = machine.events.iter().filter_map(|event| {
        let delay = match event.kind {
            EventKind::NetworkCut { .. } => None,
            EventKind::NetworkDelays { by, .. } => Some(time(by)),
            _ => return None,
        };
        Some((time(event.at)..time(event.end()), delay))
    });
    let network = network.collect();
    let identity = Simulated { device, seed };
    let simulation = host.map(|host| host.simulation);
    OneMachine {
        machine: SimMachine::new(machine, identity, simulation),
        network,
    }
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
