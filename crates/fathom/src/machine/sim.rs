//! A simulated machine: models of devices in virtual time, with the facts that its guard and its planner ask for.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use fathom_device::{
    BlockFacts, Content, DevNo, DeviceLocation, EbsStats, Ends, Exclusive, FileFacts, Fingerprint,
    MountedAt, NotATarget, Owner, Permit, RelatedDevice, Relation, ScratchDevice, ScratchId,
    ScratchList, Target, TargetFacts, Use, UseKind,
};
use fathom_hosts::{Simulation, WallClock};
use fathom_linux::{CommitError, CommitLoad, CommitMethod, CommitResult};
use fathom_load::{HostError, LoadError, RunHooks};
use fathom_model::{
    ArrayFacts, Bytes, ClockFacts, CpuIdleness, DeviceFacts, DeviceRecording, DiskCounters,
    FileSystemFacts, HealthFacts, Identity, Link, LinkSpeed, Nanos, Plan, QueueFacts, Recording,
    Simulated, TargetRecording,
};
use fathom_plan::HostInfo;
use fathom_sim::{
    FileNode, FileTree, Node, RealFiles, SharedTime, SimCommits, SimHost, SurveyedArray,
    SurveyedLink, Volume, VolumeKind, member_name, run_load,
};

use super::{
    Backup, CommitFile, Contents, Entry, EntryKind, Examined, IdlenessWatch, Machine, PreparedLoad,
    Space,
};
use crate::fua::FuaCount;
use crate::guard::Images;
use crate::measure::target_paths;
use crate::this_machine::ThisMachine;

/// The wall clock at the start of every simulation: 2026-01-01 00:00:00 UTC.
pub const START_UNIX_NS: u64 = 1_767_225_600_000_000_000;
/// Major number of the block devices, as of NVMe.
const BLOCK_MAJOR: u32 = 259;
/// Major number of the file systems.
const FILE_SYSTEM_MAJOR: u32 = 8;
/// The type of its file systems.
const FILE_SYSTEM: &str = "simulated";
/// Bytes at each end of a device that the guard reads.
const END_BYTES: usize = 4096;
/// Memory of the machine.
const MEMORY_MIB: u64 = 64 << 10;
/// Bytes of a page.
const PAGE_SIZE: u64 = 4096;
/// CPUs of a machine that is only a device: more than jobs ask for, because none of them takes CPU time.
const DEFAULT_CPUS: u32 = 64;

/// A machine in virtual time. Its devices keep their state, and its time goes on, from one run to the next.
pub struct SimMachine {
    host: Arc<SimHost>,
    facts: SimFacts,
    identity: Simulated,
    /// The CPUs that its file says.
    cpus: Option<u32>,
    /// What [`Machine::now`] was at the start.
    started: Instant,
}

impl SimMachine {
    /// The machine that results call `identity`, alone or as one of several in a simulation.
    pub fn new(
        machine: fathom_sim::Machine,
        identity: Simulated,
        simulation: Option<&Arc<Simulation>>,
    ) -> SimMachine {
        let cpus = machine.cpus;
        let shared = simulation.map(|one| Arc::new(TimeOf(Arc::clone(one))) as Arc<dyn SharedTime>);
        let host = Arc::new(SimHost::of_machine(machine, START_UNIX_NS, shared));
        let facts = SimFacts {
            host: Arc::clone(&host),
            cpus: cpus.unwrap_or(DEFAULT_CPUS),
            seed: identity.seed,
        };
        SimMachine {
            host,
            facts,
            identity,
            cpus,
            started: Instant::now(),
        }
    }

    /// Its wall clock at a time of its simulation.
    pub fn wall_clock(&self) -> WallClock {
        let host = Arc::clone(&self.host);
        Arc::new(move |now: Duration| {
            let now = Nanos::new(now.as_nanos() as u64);
            Duration::from_nanos(host.unix_ns_at(now))
        })
    }

    /// What the guard knows of a name.
    fn target(&self, path: &Path, contents: Contents) -> Option<Target> {
        let files = self.host.files();
        let absolute = FileTree::absolute(path);
        let location = |volume: usize| {
            let one = files.volumes().get(volume)?;
            let total = match one.kind {
                VolumeKind::EveryPath => 0,
                VolumeKind::FileSystem | VolumeKind::BlockDevice => one.capacity,
            };
            Some(DeviceLocation {
                directory: absolute.parent().map(Path::to_owned).unwrap_or_default(),
                fs_type: FILE_SYSTEM.to_owned(),
                kernel_owned: None,
                read_only: one.read_only,
                free: Bytes::new(files.free(volume)),
                total: Bytes::new(total),
            })
        };
        match files.node(path) {
            Node::Device(volume) => {
                let one = files.volumes().get(volume)?;
                Some(Target::Block(Box::new(block_facts(
                    one, path, volume, contents,
                ))))
            }
            Node::File(file) => Some(Target::File(file_facts(
                &file,
                location(file.volume)?,
                contents,
            ))),
            Node::Directory(_) => Some(Target::Other(NotATarget::Directory)),
            Node::Missing(volume) => Some(Target::NewFile(location(volume)?)),
            // As on Linux, a missing name below /dev is a device that is not there.
            Node::Nowhere if absolute.parent() == Some(Path::new("/dev")) => {
                Some(Target::NewFile(DeviceLocation {
                    directory: "/dev".into(),
                    fs_type: "devtmpfs".to_owned(),
                    kernel_owned: Some("/dev".to_owned()),
                    read_only: false,
                    free: Bytes::ZERO,
                    total: Bytes::ZERO,
                }))
            }
            Node::Nowhere => None,
        }
    }

    /// What the device of a volume reports of its health now.
    fn health(&self, volume: &Volume) -> HealthFacts {
        let Some((time, times)) = self.host.throttled(volume.disk) else {
            return HealthFacts::default();
        };
        HealthFacts {
            source: Some("simulated"),
            throttled_s: Some(time.as_secs_f64() as u64),
            throttle_count: Some(times),
            ..HealthFacts::default()
        }
    }

    /// What each volume reports of its health now.
    fn health_of_volumes(&self) -> Vec<HealthFacts> {
        let volumes = self.host.files().volumes().to_vec();
        volumes.iter().map(|one| self.health(one)).collect()
    }

    /// The volume of a name.
    fn volume(&self, path: &Path) -> Option<(usize, Volume)> {
        let files = self.host.files();
        let position = match files.node(path) {
            Node::Device(volume) | Node::Directory(volume) | Node::Missing(volume) => volume,
            Node::File(file) => file.volume,
            Node::Nowhere => return None,
        };
        Some((position, files.volumes().get(position)?.clone()))
    }
}

/// The time of a simulation as its machines share it.
struct TimeOf(Arc<Simulation>);

impl SharedTime for TimeOf {
    fn now(&self) -> Nanos {
        Nanos::new(self.0.now().as_nanos() as u64)
    }

    fn wait_until(&self, at: Nanos) {
        self.0.sleep_until(Duration::from_nanos(at.get()));
    }
}

/// The kernel name of a block device.
fn device_name(path: &Path, volume: usize) -> String {
    let name = path.file_name().map(|name| name.to_string_lossy());
    name.map_or_else(|| format!("simulated{volume}"), |name| name.into_owned())
}

fn block_number(volume: usize) -> DevNo {
    DevNo {
        major: BLOCK_MAJOR,
        minor: volume as u32,
    }
}

fn block_facts(one: &Volume, path: &Path, volume: usize, contents: Contents) -> BlockFacts {
    let name = device_name(path, volume);
    let mounts = one.mounted.iter().map(|at| Use {
        device: RelatedDevice {
            name: name.clone(),
            devno: block_number(volume),
        },
        relation: Relation::Itself,
        kind: UseKind::Mounted(MountedAt {
            at: at.clone(),
            fs_type: FILE_SYSTEM.to_owned(),
            read_only: one.read_only,
            namespace_of: None,
        }),
    });
    let uses: Vec<Use> = mounts.collect();
    let exclusive = if uses.is_empty() {
        Exclusive::Free
    } else {
        Exclusive::Busy
    };
    BlockFacts {
        devno: block_number(volume),
        size: Bytes::new(one.capacity),
        logical_block: 512,
        physical_block: 4096,
        read_only: one.read_only,
        model: one.drive.clone(),
        serial: Some(serial_of(one, volume)),
        wwid: None,
        diskseq: Some(volume as u64 + 1),
        whole: None,
        starts_at: None,
        partitions: Vec::new(),
        holders: Vec::new(),
        slaves: Vec::new(),
        backing_file: None,
        backing: None,
        uses,
        system: false,
        exclusive,
        ends: Some(ends(one.holds_data, one.capacity, contents)),
        name,
    }
}

fn serial_of(one: &Volume, volume: usize) -> String {
    let named = one.serial.clone();
    named.unwrap_or_else(|| format!("simulated-{volume}"))
}

/// The ends of a target that is empty, or is full of somebody's data.
fn ends(holds_data: bool, size: u64, contents: Contents) -> Ends {
    let bytes = [if holds_data { 0x5a } else { 0 }; END_BYTES];
    let samples = (contents == Contents::Samples).then(|| [u8::from(holds_data); 32]);
    Ends {
        samples,
        ..Ends::of(&bytes, &bytes, Bytes::new(size))
    }
}

fn file_facts(file: &FileNode, location: DeviceLocation, contents: Contents) -> FileFacts {
    let size = Bytes::new(file.extent.size);
    FileFacts {
        dev: DevNo {
            major: FILE_SYSTEM_MAJOR,
            minor: file.volume as u32,
        },
        inode: file.number,
        size,
        allocated: size,
        mtime_ns: i128::from(START_UNIX_NS),
        ctime_ns: i128::from(START_UNIX_NS),
        content: Content::Data,
        owner: if file.foreign {
            Owner::Foreign
        } else {
            Owner::Ours
        },
        location,
        swap: false,
        loop_devices: Vec::new(),
        locked: false,
        benchmark: None,
        ends: Some(ends(true, file.extent.size, contents)),
    }
}

fn device_facts(one: &Volume, volume: usize) -> DeviceFacts {
    let number = block_number(volume);
    DeviceFacts {
        name: device_name(&one.path, volume),
        number: (number.major, number.minor),
        size: Bytes::new(one.capacity),
        read_only: one.read_only,
        identity: Identity {
            model: one.drive.clone(),
            serial: Some(serial_of(one, volume)),
            ..Identity::default()
        },
        links: one.survey.link.map(link_facts).into_iter().collect(),
        queue: QueueFacts {
            max_request: one.survey.max_request_bytes.map(Bytes::new),
            ..QueueFacts::default()
        },
        array: one.survey.array.map(array_facts),
        ..DeviceFacts::default()
    }
}

fn link_facts(link: SurveyedLink) -> Link {
    Link {
        kind: link.kind,
        at: "simulated".to_owned(),
        now: LinkSpeed {
            bytes_per_s: link.bytes_per_s,
            ..LinkSpeed::default()
        },
        best: None,
    }
}

fn array_facts(array: SurveyedArray) -> ArrayFacts {
    ArrayFacts {
        kind: array.level.to_owned(),
        members: array.members,
        chunk: Some(Bytes::new(array.chunk_bytes)),
        stripe: Some(Bytes::new(array.stripe_bytes)),
        degraded: Some(array.degraded),
        // As md names it.
        sync: array.is_rebuilding.then(|| "recover".to_owned()),
        ..ArrayFacts::default()
    }
}

/// The members of the array that a volume is, if the host knows them.
fn member_recordings(one: &Volume, volume: usize) -> Vec<DeviceRecording> {
    let array = device_name(&one.path, volume);
    let Some(survey) = one.survey.array else {
        return Vec::new();
    };
    let facts = (0..survey.members as usize).map(|number| DeviceFacts {
        name: member_name(&array, number),
        size: Bytes::new(survey.member_bytes),
        ..DeviceFacts::default()
    });
    let recordings = facts.map(|facts| DeviceRecording {
        parent: Some(0),
        before: facts.clone(),
        after: Some(facts),
        ..DeviceRecording::default()
    });
    recordings.collect()
}

fn target_facts(path: &Path, target: Target) -> TargetFacts {
    TargetFacts {
        named: path.to_owned(),
        resolved: FileTree::absolute(path),
        symlink: false,
        target,
    }
}

fn not_found(path: &Path) -> io::Error {
    io::Error::new(
        io::ErrorKind::NotFound,
        format!(
            "{}: the simulated machine has no such file or directory",
            path.display()
        ),
    )
}

impl Machine for SimMachine {
    fn facts(&self) -> &dyn HostInfo {
        &self.facts
    }

    fn simulated(&self) -> Option<Simulated> {
        Some(self.identity.clone())
    }

    fn runs_programs(&self) -> bool {
        false
    }

    fn now(&self) -> Instant {
        self.started + Duration::from_nanos(self.host.now().get())
    }

    fn unix_now_ns(&self) -> u64 {
        self.host.unix_ns_at(self.host.now())
    }

    fn check_plan(&self, plan: &Plan) -> Result<(), String> {
        self.host.refusal(plan).map_or(Ok(()), Err)
    }

    fn check_answers(&self, _: &[PathBuf], _: bool) -> Result<(), String> {
        Ok(())
    }

    fn entry(&self, path: &Path) -> io::Result<Entry> {
        let (kind, size) = match self.host.files().node(path) {
            Node::Device(_) => (EntryKind::Special, 0),
            Node::File(file) => (EntryKind::File, file.extent.size),
            Node::Directory(_) => (EntryKind::Directory, 0),
            Node::Missing(_) | Node::Nowhere => return Err(not_found(path)),
        };
        Ok(Entry { kind, size })
    }

    fn has_directory(&self, path: &Path) -> bool {
        self.host.files().may_be_directory(path)
    }

    fn space(&self, directory: &Path) -> Option<Space> {
        let (volume, one) = self.volume(directory)?;
        Some(Space {
            free: Bytes::new(self.host.files().free(volume)),
            read_only: one.read_only,
        })
    }

    fn may_create_in(&self, _: &Path) -> bool {
        true
    }

    fn file_system(&self, path: &Path) -> Option<FileSystemFacts> {
        let (volume, one) = self.volume(path)?;
        let is_device = matches!(self.host.files().node(path), Node::Device(_));
        (!is_device).then(|| FileSystemFacts {
            kind: FILE_SYSTEM.to_owned(),
            mounted_at: one.path.clone(),
            source: device_name(&one.path, volume),
            read_only: one.read_only,
            ..FileSystemFacts::default()
        })
    }

    fn directory_id(&self, path: &Path) -> io::Result<(DevNo, u64)> {
        let (volume, _) = self.volume(path).ok_or_else(|| not_found(path))?;
        let dev = DevNo {
            major: FILE_SYSTEM_MAJOR,
            minor: volume as u32,
        };
        Ok((dev, u64::from(fathom_load::name_hash(path))))
    }

    fn examine(&self, path: &Path, contents: Contents) -> io::Result<Examined> {
        let target = self.target(path, contents).ok_or_else(|| not_found(path))?;
        Ok(Examined {
            facts: target_facts(path, target),
            opened: None,
        })
    }

    fn scratch_list(&self) -> ScratchList {
        let files = self.host.files();
        let mut list = ScratchList::default();
        for (volume, one) in files.volumes().iter().enumerate() {
            if !one.scratch {
                continue;
            }
            let block = block_facts(one, &one.path, volume, Contents::Samples);
            let id = ScratchId::of(&block);
            let facts = target_facts(&one.path, Target::Block(Box::new(block)));
            if let Some((id, code)) = id.zip(Fingerprint::of(&facts)) {
                list.insert(ScratchDevice {
                    id,
                    code: code.code(),
                    path: one.path.clone(),
                });
            }
        }
        list
    }

    fn default_file_size(&self) -> u64 {
        let files = self.host.files();
        let every = files.volumes().first();
        let every = every.filter(|one| one.kind == VolumeKind::EveryPath);
        every.map_or(0, |one| one.capacity)
    }

    fn examine_images(&self, _: &Plan) -> Result<Images, Vec<String>> {
        Ok(Images::new())
    }

    fn inspect(&self, path: &Path) -> TargetRecording {
        let mut target = TargetRecording {
            path: path.to_owned(),
            file_system: self.file_system(path),
            ..TargetRecording::default()
        };
        let volume = self.volume(path);
        // Of a machine that is only a model nothing else is known.
        if let Some((volume, one)) = volume.filter(|(_, one)| one.kind != VolumeKind::EveryPath) {
            let facts = DeviceFacts {
                health: self.health(&one),
                ..device_facts(&one, volume)
            };
            target.devices.push(DeviceRecording {
                before: facts.clone(),
                after: Some(facts),
                ..DeviceRecording::default()
            });
            target.devices.extend(member_recordings(&one, volume));
        }
        target
    }

    fn volume_counters(&self, _: &DeviceFacts) -> Option<EbsStats> {
        None
    }

    fn remove_created(&self, file: &Path) -> Result<(), String> {
        self.host.files().remove(file);
        Ok(())
    }

    fn prepare_load<'a>(&'a self, _: &Plan, aux: &Path) -> Box<dyn PreparedLoad + 'a> {
        let directory = aux.to_owned();
        self.host.set_real_files(Arc::new(FilesOfRun { directory }));
        Box::new(SimLoad(self))
    }

    fn open_commits<'a>(
        &'a self,
        examined: Examined,
        _: &Permit,
    ) -> Result<Box<dyn CommitFile + 'a>, String> {
        let file = examined.facts().named.clone();
        Ok(Box::new(SimCommitFile {
            host: &self.host,
            file,
        }))
    }

    fn calibrate_idleness(&self) -> CpuIdleness {
        CpuIdleness::default()
    }

    fn watch_idleness(&self, _: bool) -> Box<dyn IdlenessWatch> {
        Box::new(NoIdleness)
    }
}

/// Patterns, and what a run saves of wrong blocks: real files, as logs and results are.
struct FilesOfRun {
    directory: PathBuf,
}

impl RealFiles for FilesOfRun {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        fathom_linux::read_small(path)
    }

    fn save(&self, name: &str, bytes: &[u8]) -> Result<(), HostError> {
        fathom_linux::save_in(&self.directory, name, bytes)
    }
}

/// Nothing is known of CPUs that do no work.
struct NoIdleness;

impl IdlenessWatch for NoIdleness {
    fn begin(&mut self) {}

    fn finish(self: Box<Self>) -> CpuIdleness {
        CpuIdleness::default()
    }
}

/// What the planner asks. Variables come from the environment, as on every machine.
struct SimFacts {
    host: Arc<SimHost>,
    cpus: u32,
    seed: u64,
}

impl HostInfo for SimFacts {
    fn variable(&self, name: &str) -> Option<String> {
        ThisMachine.variable(name)
    }

    fn memory_mib(&self) -> u64 {
        MEMORY_MIB
    }

    fn cpus(&self) -> u32 {
        self.cpus
    }

    fn page_size(&self) -> u64 {
        PAGE_SIZE
    }

    fn is_special(&self, path: &Path) -> bool {
        matches!(self.host.files().node(path), Node::Device(_))
    }

    fn is_directory(&self, path: &Path) -> bool {
        self.host.files().may_be_directory(path)
    }

    fn files_below(&self, directory: &Path, max_count: usize) -> Option<Vec<PathBuf>> {
        let files = self.host.files();
        let below: Vec<PathBuf> = files
            .files_below(directory)
            .map(Path::to_owned)
            .take(max_count.saturating_add(1))
            .collect();
        (below.len() <= max_count).then_some(below)
    }

    fn entropy(&self) -> u64 {
        self.seed
    }
}

/// A run on a simulated machine.
struct SimLoad<'a>(&'a SimMachine);

impl PreparedLoad for SimLoad<'_> {
    fn add_image(&self, _: PathBuf, _: u64) {}

    fn hold(&self, _: Examined, _: &Permit, _: Backup<'_>) -> Result<bool, String> {
        // There are no bytes to save.
        Ok(false)
    }

    fn run(self: Box<Self>, plan: Plan, hooks: RunHooks<'_>) -> Result<Recording, LoadError> {
        let machine = self.0;
        let buffered = plan.jobs.iter().any(|job| !job.files.direct);
        let is_blame_wanted = crate::blame::is_wanted(&plan);
        let mut paths: Vec<PathBuf> = target_paths(&plan).map(Path::to_owned).collect();
        let health_before = machine.health_of_volumes();
        let mut recording = run_load(plan, Arc::clone(&machine.host), hooks)?;
        recording.clock = ClockFacts {
            source: "virtual".to_owned(),
            cost_ns: 0.0,
            drift_ppm: 0.0,
        };
        // Only a machine file says what the CPUs are, and what happens to them.
        if machine.cpus.is_some() {
            recording.host = machine.host.host_recording().unwrap_or_default();
            recording.conditions = machine.host.conditions().unwrap_or_default();
        }
        recording.host.simulated = machine.simulated();
        // A target of each volume stands for the others.
        let mut targets: Vec<(usize, TargetRecording)> = Vec::new();
        paths.sort();
        paths.dedup();
        for path in paths {
            let volume = machine.volume(&path);
            let Some((volume, _)) = volume.filter(|(_, one)| one.kind != VolumeKind::EveryPath)
            else {
                continue;
            };
            match targets.iter_mut().find(|(known, _)| *known == volume) {
                Some((_, known)) => known.others += 1,
                None => {
                    let mut target = machine.inspect(&path);
                    if let Some(device) = target.devices.first_mut() {
                        device.before.health = health_before[volume].clone();
                    }
                    targets.push((volume, target));
                }
            }
        }
        recording.targets = targets.into_iter().map(|(_, target)| target).collect();
        if is_blame_wanted {
            recording
                .messages
                .push("no blame sheet: a simulated machine has no block layer to trace".to_owned());
        }
        if buffered {
            recording.messages.push(
                "buffered I/O was simulated as direct I/O: a simulated device has no page cache"
                    .to_owned(),
            );
        }
        Ok(recording)
    }
}

struct SimCommitFile<'a> {
    host: &'a SimHost,
    file: PathBuf,
}

impl CommitFile for SimCommitFile<'_> {
    fn measure(
        &self,
        load: &CommitLoad,
        is_over: &dyn Fn() -> bool,
    ) -> Result<CommitResult, CommitError> {
        let durable_writes = matches!(
            load.method,
            CommitMethod::OpenDatasync | CommitMethod::OpenSync | CommitMethod::RwfDsync
        );
        let commits = SimCommits {
            writes: load.writes,
            size: load.size,
            clients: load.clients,
            time: Nanos::new(load.time.as_nanos() as u64),
            durable_writes,
        };
        let result = commits.run(self.host, &self.file, is_over);
        let result = result.map_err(|error| CommitError {
            errno: error.errno,
            operation: "commit",
        })?;
        Ok(CommitResult {
            latency: result.latency,
            syncs: result.syncs,
            elapsed: Duration::from_nanos(result.elapsed.get()),
            direct: durable_writes,
        })
    }

    fn counters(&self) -> Option<(String, DiskCounters)> {
        let disk = {
            let files = self.host.files();
            match files.node(&self.file) {
                Node::File(file) => files.volumes().get(file.volume)?.disk,
                Node::Device(volume) => files.volumes().get(volume)?.disk,
                Node::Directory(_) | Node::Missing(_) | Node::Nowhere => return None,
            }
        };
        self.host.disk_counters()?.into_iter().nth(disk)
    }

    fn count_forced_writes(&self) -> FuaCount {
        FuaCount::Unknown
    }

    fn release(self: Box<Self>) {}
}
