//! `fathom durable write --machine`: writer, recorder, power cuts and checks, all on simulated hosts and in virtual time.
//!
//! The host with the disk and that of the recorder run the code of the real test, each on its own simulated files and clock. At each
//! `cut_power` the first one loses its power, starts again, mounts what is left, and is checked; then it writes the next cycle.

mod clock;
mod disk;
mod journal;
mod volume;
mod wire;
mod world;

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use fathom_cli::DurableArgs;
use fathom_durable::wire::Token;
use fathom_durable::{Certificate, Unreadable, WriteOptions};
use fathom_hosts::{Bell, Simulation};
use fathom_sim::{DeviceCache, EventKind, Library, Node, PoweredDisk, SimDisk, VolumeKind};

use self::clock::{HostClock, PowerCut};
use self::disk::WaitingDisk;
use self::volume::Volume;
use self::wire::Network;
use self::world::{RecorderHost, SimFiles, SimWorld};
use crate::durable::check::{self, Subject};
use crate::durable::log_file::{LogFile, SharedLog};
use crate::durable::recorder::Recorder;
use crate::durable::world::{World, lock};
use crate::durable::{files, write as writer};
use crate::outcome::Outcome;
use crate::print::{eprint_line, note_line};
use crate::session::{HostMachine, START_UNIX, host_machines};

/// The host with the disk, and that of the recorder, in the file of the machine.
const WRITER: &str = "writer";
const RECORDER: &str = "recorder";
/// The disk of the recorder unless the file has one.
const RECORDER_DISK: &str = "servers(count=1, service=10us, capacity=64g)";
/// Where the recorder has its log.
const LOG: &str = "acks.log";

/// Writes and checks a cycle for each power cut, and prints the certificate.
///
/// # Errors
/// When the machine has no such directory or no power cut, and when writer or check fail.
pub fn write(args: &DurableArgs, options: &WriteOptions) -> Result<Outcome, String> {
    let machines = host_machines(&args.machine, &[WRITER, RECORDER])?;
    let [writer, recorder] = <[HostMachine; 2]>::try_from(machines)
        .map_err(|_| "two hosts have two machines".to_owned())?;
    let lab = Lab::new(options, writer, recorder)?;
    let cuts = lab.cuts(&options.path)?;
    let mut last = None;
    for (number, at) in (1..).zip(&cuts) {
        if *at <= lab.simulation.now() {
            return Err(format!(
                "cut_power at {} s: cycle {number} has not begun; the check of the one before ended at {} s",
                at.as_secs_f64(),
                lab.simulation.now().as_secs_f64()
            ));
        }
        let Some((certificate, goes_on)) = lab.cycle(options, number, *at)? else {
            return Ok(Outcome::Undecided);
        };
        note_line!(
            "fathom durable: after cycle {number}: {}: {}",
            certificate.verdict.name(),
            certificate.reason
        );
        last = Some(certificate);
        if !goes_on {
            break;
        }
    }
    let certificate = last.ok_or("no cycle")?;
    check::show(args, &certificate)
}

/// The simulated hosts.
struct Lab {
    simulation: Arc<Simulation>,
    writer: HostMachine,
    disks: Vec<Arc<WaitingDisk>>,
    /// The file systems of the host with the disk, each with the number of its disk.
    mounts: RefCell<Vec<(PathBuf, usize, Arc<Volume>)>>,
    /// How often that host has started again.
    boots: Cell<u32>,
    random: Arc<AtomicU64>,
    recorder: Arc<RecorderHost>,
    address: String,
}

/// What becomes of the program of the writer.
#[derive(Default)]
struct Program {
    /// What the program returned; `None` when its power was cut before its end.
    result: Mutex<Option<Result<Outcome, String>>>,
    ended: Arc<Bell>,
}

/// Says that the program has ended, also when its thread is unwound.
struct EndOfProgram(Arc<Program>);

impl Drop for EndOfProgram {
    fn drop(&mut self) {
        self.0.ended.ring();
    }
}

impl Lab {
    fn new(
        options: &WriteOptions,
        mut writer: HostMachine,
        mut recorder: HostMachine,
    ) -> Result<Lab, String> {
        let simulation = Simulation::begin();
        let random = Arc::new(AtomicU64::new(writer.identity.seed));
        let network = network_of(&writer, &recorder);
        let own = recorder_disk(&mut recorder, &writer)?;
        let disks = disks_of(&mut writer);
        let recorder = start_recorder(&simulation, &random, own, network)?;
        let address = match options.recorder.as_str() {
            "" => RECORDER.to_owned(),
            address => address.to_owned(),
        };
        let lab = Lab {
            simulation,
            writer,
            disks,
            mounts: RefCell::default(),
            boots: Cell::new(0),
            random,
            recorder: Arc::new(recorder),
            address,
        };
        (0..lab.disks.len()).for_each(|disk| lab.mount(disk));
        Ok(lab)
    }

    /// The disk below a directory.
    fn disk_of(&self, path: &Path) -> Result<usize, String> {
        let mounts = self.mounts.borrow();
        let above = mounts.iter().filter(|(mount, ..)| path.starts_with(mount));
        let nearest = above.max_by_key(|(mount, ..)| mount.as_os_str().len());
        nearest.map(|(_, disk, _)| *disk).ok_or_else(|| {
            let names = mounts.iter().map(|(mount, ..)| mount.display().to_string());
            format!(
                "{}: the simulated machine has no file system there, but {}",
                path.display(),
                names.collect::<Vec<_>>().join(", ")
            )
        })
    }

    /// When the power of the disk below a directory is cut.
    fn cuts(&self, path: &Path) -> Result<Vec<Duration>, String> {
        let own = self.disk_of(path)?;
        let events = self.writer.machine.events.iter();
        let cuts = events.filter_map(|event| match event.kind {
            EventKind::PowerCut { disk } if disk == own => {
                Some(Duration::from_nanos(event.at.get()))
            }
            _ => None,
        });
        let mut cuts: Vec<Duration> = cuts.collect();
        cuts.sort_unstable();
        if cuts.is_empty() {
            return Err(format!(
                "the power of the disk below {} is never cut: add [[event]] with at and cut_power to the file of the machine",
                path.display()
            ));
        }
        Ok(cuts)
    }

    /// Mounts the file systems of a disk, again if they were.
    fn mount(&self, disk: usize) {
        let mut mounts = self.mounts.borrow_mut();
        mounts.retain(|(_, other, _)| *other != disk);
        let volumes = self.writer.machine.files.volumes().iter();
        let own = volumes.filter(|one| one.disk == disk && one.kind == VolumeKind::FileSystem);
        for one in own {
            let volume = Volume::mount(&self.disks[disk], one.capacity);
            mounts.push((one.path.clone(), disk, Arc::new(volume)));
        }
    }

    /// The host with the disk as it is now; its power is cut at this time.
    fn host(&self, off_at: Option<Duration>) -> Arc<dyn World> {
        let clock = HostClock::new(&self.simulation, START_UNIX, off_at);
        let mounts = self.mounts.borrow();
        let volumes = self.writer.machine.files.volumes().iter();
        let devices = volumes.map(|one| {
            let serial = one.serial.as_ref();
            let parts = [
                one.drive.clone(),
                serial.map(|text| format!("serial {text}")),
            ];
            let parts: Vec<String> = parts.into_iter().flatten().collect();
            let name = match parts.is_empty() {
                true => format!("disk {}", one.disk),
                false => parts.join(", "),
            };
            (one.path.clone(), name)
        });
        let identity = &self.writer.identity;
        Arc::new(SimWorld {
            files: SimFiles {
                clock: Arc::clone(&clock),
                mounts: mounts
                    .iter()
                    .map(|(mount, _, volume)| (mount.clone(), Arc::clone(volume)))
                    .collect(),
            },
            clock,
            boot: self.boots.get(),
            random: Arc::clone(&self.random),
            devices: devices.collect(),
            machine: format!("{} (seed {})", identity.device, identity.seed),
            recorder: Some(Arc::clone(&self.recorder)),
        })
    }

    /// The recorder as the host with the disk sees it.
    fn recorder(&self, world: &Arc<dyn World>) -> Recorder {
        Recorder::with_token(world, &self.address, self.recorder.token.clone())
    }

    /// Writes until the power is cut, and checks. Whether another cycle can follow. `None` when writer and check could not do it.
    fn cycle(
        &self,
        options: &WriteOptions,
        number: u32,
        cut: Duration,
    ) -> Result<Option<(Certificate, bool)>, String> {
        let ended = self.write_until(options, number, cut)?;
        match (self.check(options, ended.is_none()), ended) {
            (Ok(checked), _) => Ok(Some(checked)),
            (Err(error), Some(Outcome::Undecided)) => {
                eprint_line!("fathom durable: {error}");
                Ok(None)
            }
            (Err(error), _) => Err(error),
        }
    }

    /// Checks the present cycle. Whether another one can follow.
    fn check(&self, options: &WriteOptions, is_cut: bool) -> Result<(Certificate, bool), String> {
        let world = self.host(None);
        let recorder = self.recorder(&world);
        let (mut log, second_host) = recorder.fetch()?;
        let current = log.current.take().ok_or("the recorder has no cycle")?;
        let run = current.begin.geometry.run;
        let is_readable = files::run_of(world.files(), &options.path) == Ok(Some(run));
        let subject = Subject {
            world: &world,
            path: &options.path,
            device_cut: options.device_cut,
            // What the user would state.
            unreadable: (!is_readable).then_some(Unreadable::FileSystem),
            recorder: &recorder,
            second_host,
        };
        let certificate = check::certificate(&subject, &current, &log)?;
        Ok((certificate, is_cut && is_readable))
    }

    /// Writes a cycle until the power is cut, also that of a host whose writer ended before: then its outcome.
    fn write_until(
        &self,
        options: &WriteOptions,
        number: u32,
        cut: Duration,
    ) -> Result<Option<Outcome>, String> {
        let off_at = (!options.device_cut).then_some(cut);
        let program = self.start_writer(options, &self.host(off_at))?;
        let own = self.disk_of(&options.path)?;
        if options.device_cut {
            self.wait_for_end(&program, cut);
        } else {
            self.wait_for_end(&program, Duration::MAX);
        }
        let has_ended = program.ended.count() > 0;
        let result = lock(&program.result).take().transpose()?;
        self.simulation.sleep_until(cut);
        if options.device_cut {
            self.cut_power(own, number);
            self.wait_for_end(&program, Duration::MAX);
            self.mount(own);
            return Ok(result.filter(|_| has_ended));
        }
        self.boots.set(self.boots.get() + 1);
        for disk in 0..self.disks.len() {
            self.cut_power(disk, number);
            self.mount(disk);
        }
        Ok(result)
    }

    fn start_writer(
        &self,
        options: &WriteOptions,
        world: &Arc<dyn World>,
    ) -> Result<Arc<Program>, String> {
        let program = Arc::new(Program::default());
        let end = EndOfProgram(Arc::clone(&program));
        let recorder = self.recorder(world);
        let (own, options) = (Arc::clone(world), options.clone());
        let body = move || {
            let run = || {
                writer::check_place(&own, &options, &recorder)?;
                writer::write_with(&own, &options, &recorder)
            };
            let result = match catch_unwind(AssertUnwindSafe(run)) {
                Ok(result) => Some(result),
                Err(payload) if payload.is::<PowerCut>() => None,
                Err(_) => Some(Err("the writer has panicked".to_owned())),
            };
            *lock(&end.0.result) = result;
        };
        let started = world.clock().spawn(WRITER, Box::new(body));
        started.map_err(|error| format!("cannot start a thread: {error}"))?;
        Ok(program)
    }

    /// Waits for the end of the writer, at the latest until `at`.
    fn wait_for_end(&self, program: &Program, at: Duration) {
        while program.ended.count() == 0 && self.simulation.now() < at {
            self.simulation.wait_for(&program.ended, 0, at);
        }
    }

    /// Cuts the power of a disk, which comes back at once.
    fn cut_power(&self, disk: usize, number: u32) {
        let seed = self.writer.identity.seed ^ u64::from(number) << 32 ^ (disk as u64) << 56;
        self.disks[disk].cut_power(self.simulation.now(), seed);
    }
}

/// The disks of a machine, with their file systems.
fn disks_of(host: &mut HostMachine) -> Vec<Arc<WaitingDisk>> {
    let devices = std::mem::take(&mut host.machine.devices).into_iter();
    let (files, events) = (&host.machine.files, &host.machine.events);
    let entries = host.file.devices.iter().enumerate();
    let disks = devices.zip(entries).map(|(device, (number, entry))| {
        let mount = entry.mounted.as_ref().unwrap_or(&entry.path);
        let others = files
            .files_below(mount)
            .filter_map(|path| match files.node(path) {
                Node::File(file) => Some((path.to_owned(), file.extent.size)),
                _ => None,
            });
        let others: Vec<(PathBuf, u64)> = others.collect();
        let (path, capacity) = (entry.path.clone(), device.capacity());
        let disk = SimDisk { path, device };
        let disk = PoweredDisk::new(disk, number, events, entry.cache);
        let disk = Arc::new(WaitingDisk::new(disk));
        Volume::format(&disk, capacity, mount, &others);
        disk
    });
    disks.collect()
}

/// The disk of the recorder, its size, and where it is mounted: the one that the file has for its host alone, or one of its own.
type RecorderDisk = (Arc<WaitingDisk>, u64, PathBuf);

fn recorder_disk(host: &mut HostMachine, writer: &HostMachine) -> Result<RecorderDisk, String> {
    let is_shared = |path: &Path| writer.file.devices.iter().any(|one| one.path == path);
    let mut all = host.file.devices.iter();
    let own = all.position(|one| !is_shared(&one.path));
    if let Some(number) = own {
        let path = host.file.devices[number].path.clone();
        let capacity = host.machine.devices[number].capacity();
        let disk = disks_of(host).swap_remove(number);
        return Ok((disk, capacity, path));
    }
    let device = Library::new().build_text(RECORDER_DISK, host.identity.seed);
    let device = device.map_err(|error| error.to_string())?;
    let (path, capacity) = (PathBuf::from("/"), device.capacity());
    let disk = SimDisk {
        path: path.clone(),
        device,
    };
    let disk = PoweredDisk::new(disk, 0, &[], DeviceCache::default());
    let disk = Arc::new(WaitingDisk::new(disk));
    Volume::format(&disk, capacity, &path, &[]);
    Ok((disk, capacity, path))
}

/// Starts the host of the recorder.
fn start_recorder(
    simulation: &Arc<Simulation>,
    random: &Arc<AtomicU64>,
    (disk, capacity, path): RecorderDisk,
    network: Network,
) -> Result<RecorderHost, String> {
    let clock = HostClock::new(simulation, START_UNIX, None);
    let volume = Arc::new(Volume::mount(&disk, capacity));
    let world = SimWorld {
        clock: Arc::clone(&clock),
        files: SimFiles {
            clock,
            mounts: vec![(path.clone(), volume)],
        },
        boot: 0,
        random: Arc::clone(random),
        devices: BTreeMap::new(),
        machine: String::new(),
        recorder: None,
    };
    let token = world.random()?.map(|byte| format!("{byte:02x}")).concat();
    let log = LogFile::open(&world.files, &path.join(LOG))?;
    Ok(RecorderHost {
        world: Arc::new(world),
        log: Arc::new(SharedLog::new(log)),
        token: Token::new(token.as_bytes())?,
        network,
    })
}

/// What happens to messages between the hosts. An event of both is one.
fn network_of(writer: &HostMachine, recorder: &HostMachine) -> Network {
    let own = &writer.machine.events;
    let others = recorder.machine.events.iter();
    let others = others.filter(|event| !own.contains(event));
    let spans = own.iter().chain(others).filter_map(|event| {
        let delay = match event.kind {
            EventKind::NetworkCut { .. } => None,
            EventKind::NetworkDelays { by, .. } => Some(Duration::from_nanos(by.get())),
            _ => return None,
        };
        let time = |at: fathom_model::Nanos| Duration::from_nanos(at.get());
        Some((time(event.at)..time(event.end()), delay))
    });
    Network(spans.collect())
}
