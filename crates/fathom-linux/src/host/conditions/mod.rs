//! What holds while a run is measured, watched from a thread of its own: no worker takes part.

mod limits;
mod readings;
mod sampler;
mod sharers;
mod targets;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::JoinHandle;

use fathom_load::{Clock, Host};
use fathom_model::{Conditions, Nanos, Telemetry};

use self::sampler::Sampler;
use self::targets::Gone;
use super::LinuxHost;
use crate::clock::LinuxClock;

/// Watches the conditions of a run.
#[derive(Debug)]
pub struct ConditionsWatch {
    host: Arc<LinuxHost>,
    clock: LinuxClock,
    orders: Arc<Orders>,
    thread: Option<JoinHandle<(Telemetry, Gone)>>,
    limits: Vec<fathom_model::IoLimit>,
}

/// What the sampling thread is told.
#[derive(Debug, Default)]
struct Orders {
    /// The load has begun: what was counted before is layout.
    begun: AtomicBool,
    over: AtomicBool,
}

impl ConditionsWatch {
    /// Begins to watch the devices below `paths`. Nothing is sampled before [`ConditionsWatch::begun`].
    #[must_use]
    pub fn start(host: &Arc<LinuxHost>, clock: LinuxClock, paths: &[PathBuf]) -> Self {
        let disks: Vec<String> = host
            .disks(paths)
            .into_iter()
            .map(|(name, _)| name)
            .collect();
        let limits = limits::limits(&disks);
        let orders = Arc::new(Orders::default());
        let thread = spawn(Arc::clone(host), clock, disks, Arc::clone(&orders));
        Self {
            host: Arc::clone(host),
            clock,
            orders,
            thread,
            limits,
        }
    }

    /// The load has begun. May be told often; only the first time counts.
    pub fn begun(&self) {
        if !self.orders.begun.swap(true, Relaxed) {
            self.wake();
        }
    }

    /// Ends, with what was seen. `elapsed` is the time since the run's epoch. To be called before the targets are released.
    #[must_use]
    pub fn finish(mut self, elapsed: Nanos) -> Conditions {
        let epoch = self.clock.now().saturating_sub(elapsed);
        self.orders.over.store(true, Relaxed);
        self.wake();
        let (mut telemetry, gone) = self
            .thread
            .take()
            .and_then(|thread| thread.join().ok())
            .unwrap_or_default();
        for sample in &mut telemetry.samples {
            sample.start = sample.start.saturating_sub(epoch);
        }
        Conditions {
            telemetry,
            targets: targets::conditions(&self.host.targets, &gone, epoch),
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

/// A run that fails before its end is not watched any longer either.
impl Drop for ConditionsWatch {
    fn drop(&mut self) {
        self.orders.over.store(true, Relaxed);
        self.wake();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// No thread, no telemetry: the run goes on without.
fn spawn(
    host: Arc<LinuxHost>,
    clock: LinuxClock,
    disks: Vec<String>,
    orders: Arc<Orders>,
) -> Option<JoinHandle<(Telemetry, Gone)>> {
    let body = move || {
        let mut gone = Gone::default();
        while !orders.begun.load(Relaxed) {
            if orders.over.load(Relaxed) {
                return Default::default();
            }
            std::thread::park();
        }
        let mut sampler = Sampler::start(disks, clock.now());
        while !orders.over.load(Relaxed) {
            std::thread::park_timeout(sampler.step());
            gone.look(&host.targets, clock.now());
            sampler.sample(clock.now());
        }
        (sampler.finish(), gone)
    };
    std::thread::Builder::new()
        .name("fathom-sampler".into())
        .stack_size(256 << 10)
        .spawn(body)
        .ok()
}
