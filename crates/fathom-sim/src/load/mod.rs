//! A simulated machine under the load generator: its clock, its engine and its files.
//!
//! The threads of a run take turns: one runs until it waits for a disk or for a time. Then
//! virtual time moves to the first event for which a thread waits. The order is fixed, so that the
//! same plan, machine and seed give the same recording. They share one thread of the operating system, so that a turn costs
//! tens of nanoseconds.

mod contents;
mod cpus;
mod disk;
mod disk_time;
mod engine;
mod hardware;
mod machine;
mod powered;
mod shared_time;
mod thread;
mod windows;
mod world;

use std::path::PathBuf;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, MutexGuard};

use fathom_load::{
    EngineError, EngineRequest, EngineUser, Host as _, HostError, LoadError, RunHooks,
};
use fathom_model::{Conditions, DiskCounters, HostRecording, Nanos, Plan, Recording};

use self::hardware::Hardware;
pub use self::hardware::member_name;
use self::machine::Machine;
pub use self::machine::{RealFiles, unsupported};
pub use self::powered::{Finished, PoweredDisk, RequestFailed};
pub use self::shared_time::SharedTime;
use self::thread::{SimThread, share};
use crate::machine::{FileTree, MachineError, SimDisk, SimMachineSpec, Volume, VolumeKind};
use crate::registry::Device;

/// A simulated machine. Several runs on it follow one another: time and the state of its disks go on.
pub struct SimHost {
    machine: Arc<Machine>,
}

impl SimHost {
    /// A machine with one device, which has every path, and without events.
    #[must_use]
    pub fn new(device: Device) -> Self {
        let files = FileTree::on_one_device(device.capacity());
        let path = PathBuf::new();
        let disks = vec![SimDisk { path, device }];
        let spec = SimMachineSpec {
            disks,
            ..SimMachineSpec::default()
        };
        SimHost::build(spec, files, None)
    }

    /// The machine of a file or of a model, whose wall clock is at this time at first, nanoseconds since 1970. Its own clock is at
    /// `shared`, where it shares one with others, and else at zero.
    #[must_use]
    pub fn of_machine(
        machine: crate::machine::Machine,
        started_unix_ns: u64,
        shared: Option<Arc<dyn SharedTime>>,
    ) -> Self {
        let volumes = machine.files.volumes();
        let path = |disk: usize| {
            let named = volumes.iter().find(|one| one.disk == disk);
            let named = named.filter(|one| one.kind != VolumeKind::EveryPath);
            named.map(|one| one.path.clone()).unwrap_or_default()
        };
        let disks = machine.devices.into_iter().enumerate();
        let disks = disks.map(|(number, device)| SimDisk {
            path: path(number),
            device,
        });
        let spec = SimMachineSpec {
            disks: disks.collect(),
            cpus: machine.cpus.unwrap_or(1),
            cpu_per_io: machine.cpu_per_io,
            started_unix_ns,
            events: machine.events,
            ..SimMachineSpec::default()
        };
        SimHost::build(spec, machine.files, shared)
    }

    /// The machine of a description.
    ///
    /// # Errors
    /// If the description is impossible.
    pub fn with_machine(spec: SimMachineSpec) -> Result<Self, MachineError> {
        spec.check()?;
        let mut files = FileTree::default();
        for (number, disk) in spec.disks.iter().enumerate() {
            let (path, capacity) = (disk.path.clone(), disk.device.capacity());
            files.add_volume(if path.as_os_str().is_empty() {
                Volume::new("/".into(), VolumeKind::EveryPath, number, capacity)
            } else if path.starts_with("/dev") {
                Volume::new(path, VolumeKind::BlockDevice, number, capacity)
            } else {
                Volume::new(path, VolumeKind::FileSystem, number, capacity)
            });
        }
        Ok(SimHost::build(spec, files, None))
    }

    fn build(spec: SimMachineSpec, files: FileTree, shared: Option<Arc<dyn SharedTime>>) -> Self {
        SimHost {
            machine: Arc::new(Machine::new(Hardware::new(spec), files, shared)),
        }
    }

    /// Where the files are that runs read and write besides their targets, which are real.
    pub fn set_real_files(&self, files: Arc<dyn RealFiles>) {
        self.machine.set_real_files(files);
    }

    /// Why a plan cannot run on this machine; with the name of the job and the option.
    #[must_use]
    pub fn refusal(&self, plan: &Plan) -> Option<String> {
        let reason = unsupported(plan);
        let keeps = contents::verifies(plan) || self.machine.keeps_contents();
        reason.or_else(|| {
            let checked = keeps.then(|| contents::check_amount(plan, &self.files()));
            checked?.err()
        })
    }

    /// The names of its devices and files.
    pub fn files(&self) -> MutexGuard<'_, FileTree> {
        self.machine.files()
    }

    /// Runs `user` on an engine for these files, outside of a run of a plan; time goes on meanwhile.
    ///
    /// # Errors
    /// When a file has no place, or a run on the machine has not ended.
    pub(crate) fn with_engine<U: EngineUser>(
        &self,
        request: &EngineRequest<'_>,
        user: U,
    ) -> Result<U::Output, EngineError> {
        let begun = SimThread::begin_run(Arc::clone(&self.machine));
        let thread = share(begun.map_err(|HostError { errno, what }| EngineError { errno, what })?);
        let result = thread.with_engine(request, user);
        thread.end_run();
        result
    }

    /// The machine's own clock: the time that passed in its runs, or the shared one. Also known during a run, which may be ahead of
    /// the shared one.
    #[must_use]
    pub fn now(&self) -> Nanos {
        let own = Nanos::new(self.machine.now.load(Relaxed));
        let shared = self.machine.shared.as_ref().map(|time| time.now());
        shared.map_or(own, |shared| own.max(shared))
    }

    /// The wall clock at a time of the machine's own clock, nanoseconds since 1970.
    #[must_use]
    pub fn unix_ns_at(&self, now: Nanos) -> u64 {
        self.machine.wall.at(now.get())
    }

    /// What a watch of the machine found about the last run: its CPUs, how much of them was stolen and busy, its memory. `None`
    /// during a run.
    #[must_use]
    pub fn host_recording(&self) -> Option<HostRecording> {
        self.machine.read(|hardware, _| hardware.host_recording())
    }

    /// The conditions during the last run, sampled as those of a real machine. `None` during a run.
    #[must_use]
    pub fn conditions(&self) -> Option<Conditions> {
        self.machine.read(|hardware, _| hardware.conditions())
    }

    /// For how long a disk was throttled by its heat until now, and how often that set in. `None` of one that never is, and during a run.
    #[must_use]
    pub fn throttled(&self, disk: usize) -> Option<(Nanos, u64)> {
        let throttled = self
            .machine
            .read(|hardware, now| hardware.throttled(disk, now));
        let (time, times) = throttled??;
        Some((Nanos::new(time), times))
    }

    /// Name and counters of the disks that have a path, with the I/O of all programs. `None` during a run.
    #[must_use]
    pub fn disk_counters(&self) -> Option<Vec<(String, DiskCounters)>> {
        self.machine.read(Hardware::disk_counters)
    }
}

/// Runs `plan` on `host`: [`fathom_load::run`]. The loops of the load are generic: they are compiled here, because this crate is
/// optimised in every profile and the program is not. The result does not depend on the day.
///
/// # Errors
/// When the files of a job do not fit on the device, or another run on the machine has not ended.
pub fn run_load(
    plan: Plan,
    host: Arc<SimHost>,
    hooks: RunHooks<'_>,
) -> Result<Recording, LoadError> {
    let failed = |cause| LoadError {
        job: "run".to_owned(),
        cause,
    };
    let coordinator = SimThread::begin_run(Arc::clone(&host.machine));
    let coordinator = share(coordinator.map_err(failed)?);
    if contents::verifies(&plan) {
        coordinator.keep_contents();
    }
    let unix_now_ns = || coordinator.unix_now_ns();
    let run =
        |hooks: RunHooks<'_>| fathom_load::run(plan, Arc::clone(&coordinator), &unix_now_ns, hooks);
    let result = shared_time::with_hooks_in_step(&coordinator, hooks, run);
    coordinator.end_run();
    result
}
