//! The clock of a host, whose power can be cut: then its threads end where they wait.

use std::io;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use fathom_hosts::{Bell, Clock, Simulation, ThreadBody};

/// The payload with which threads of a host without power end.
pub struct PowerCut;

/// The clock of one boot of a host.
#[derive(Debug)]
pub struct HostClock {
    simulation: Arc<Simulation>,
    /// The wall clock at the begin of the simulation, since 1970.
    started: Duration,
    /// When the power is cut.
    off_at: Option<Duration>,
}

impl HostClock {
    pub fn new(
        simulation: &Arc<Simulation>,
        started: Duration,
        off_at: Option<Duration>,
    ) -> Arc<HostClock> {
        Arc::new(HostClock {
            simulation: Arc::clone(simulation),
            started,
            off_at,
        })
    }

    pub fn time(&self) -> Duration {
        self.simulation.now()
    }

    pub fn is_off(&self) -> bool {
        self.is_off_at(self.time())
    }

    /// Whether the power is cut until then.
    pub fn is_off_at(&self, time: Duration) -> bool {
        self.off_at.is_some_and(|at| time >= at)
    }

    /// Waits as [`Clock::wait`]. The thread ends here when the power is cut.
    pub fn wait_until(&self, bell: &Arc<Bell>, heard: u64, at: Duration) {
        let at = self.off_at.map_or(at, |off_at| at.min(off_at));
        self.simulation.wait_for(bell, heard, at);
        if self.is_off() && !std::thread::panicking() {
            resume_unwind(Box::new(PowerCut));
        }
    }
}

impl Clock for HostClock {
    fn now(&self) -> Duration {
        self.time()
    }

    fn wall(&self) -> Duration {
        self.started + self.time()
    }

    fn wait(&self, bell: &Arc<Bell>, heard: u64, at: Duration) {
        self.wait_until(bell, heard, at);
    }

    fn spawn(&self, name: &str, body: ThreadBody) -> io::Result<JoinHandle<()>> {
        self.simulation.spawn(name, body)
    }
}
