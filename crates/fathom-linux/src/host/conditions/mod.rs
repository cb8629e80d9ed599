//! The conditions during a run, sampled by a separate thread. No worker is involved.

mod limits;
mod readings;
mod sampler;
mod sharers;
mod targets;

pub(crate) use self::limits::group_limits;
pub(crate) use self::readings::pressure_total;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::JoinHandle;

use fathom_load::{Clock, Host};
use fathom_model::{Conditions, Nanos, Telemetry};

use self::sampler::Sampler;
use self::targets::UnlinkedFiles;
use super::LinuxHost;
use crate::clock::LinuxClock;

/// Watches the conditions of a run.
#[derive(Debug)]
pub struct ConditionsWatch {
    host: Arc<LinuxHost>,
    flags: Arc<SamplerFlags>,
    thread: Option<JoinHandle<(Telemetry, UnlinkedFiles)>>,
    limits: Vec<fathom_model::IoLimit>,
}

/// Flags for the sampling thread.
#[derive(Debug, Default)]
struct SamplerFlags {
    /// The load has started: what was counted before belongs to the layout.
    started: AtomicBool,
    finished: AtomicBool,
}

impl ConditionsWatch {
    /// Starts watching the devices below `paths`. Sampling starts with
    /// [`ConditionsWatch::load_started`].
    #[must_use]
    pub fn start(host: &Arc<LinuxHost>, clock: LinuxClock, paths: &[PathBuf]) -> Self {
        let disks: Vec<String> = host
            .disks(paths)
            .into_iter()
            .map(|(name, _)| name)
            .collect();
        Self::of_disks(host, clock, disks)
    }

    /// The same for devices with these kernel names.
    #[must_use]
    pub fn of_disks(host: &Arc<LinuxHost>, clock: LinuxClock, disks: Vec<String>) -> Self {
        let limits = limits::limits(&disks);
        let flags = Arc::new(SamplerFlags::default());
        let thread = spawn(Arc::clone(host), clock, disks, Arc::clone(&flags));
        Self {
            host: Arc::clone(host),
            flags,
            thread,
            limits,
        }
    }

    /// The load has started. Only the first call has an effect.
    pub fn load_started(&self) {
        if !self.flags.started.swap(true, Relaxed) {
            self.wake();
        }
    }

    /// Stops and returns the samples, with times relative to `epoch` of the clock. Call it before the targets are released.
    #[must_use]
    pub fn finish(mut self, epoch: Nanos) -> Conditions {
        self.flags.finished.store(true, Relaxed);
        self.wake();
        let (mut telemetry, unlinked) = self
            .thread
            .take()
            .and_then(|thread| thread.join().ok())
            .unwrap_or_default();
        for sample in &mut telemetry.samples {
            sample.start = sample.start.saturating_sub(epoch);
        }
        Conditions {
            telemetry,
            targets: targets::conditions(&self.host.targets, &unlinked, epoch),
            limits: std::mem::take(&mut self.limits),
            virtual_machine: limits::virtual_machine(),
        }
    }

    fn wake(&self) {
        if let Some(thread) = &self.thread {
            thread.thread().unpark();
        }
    }
}

/// Also stops the thread of a run that fails early.
impl Drop for ConditionsWatch {
    fn drop(&mut self) {
        self.flags.finished.store(true, Relaxed);
        self.wake();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Without a thread there is no telemetry; the run continues without it.
fn spawn(
    host: Arc<LinuxHost>,
    clock: LinuxClock,
    disks: Vec<String>,
    flags: Arc<SamplerFlags>,
) -> Option<JoinHandle<(Telemetry, UnlinkedFiles)>> {
    let body = move || {
        let mut unlinked = UnlinkedFiles::default();
        while !flags.started.load(Relaxed) {
            if flags.finished.load(Relaxed) {
                return Default::default();
            }
            std::thread::park();
        }
        let mut sampler = Sampler::start(disks, clock.now());
        while !flags.finished.load(Relaxed) {
            std::thread::park_timeout(sampler.step());
            unlinked.check(&host.targets, clock.now());
            sampler.sample(clock.now());
        }
        (sampler.finish(), unlinked)
    };
    std::thread::Builder::new()
        .name("fathom-sampler".into())
        .stack_size(256 << 10)
        .spawn(body)
        .ok()
}
