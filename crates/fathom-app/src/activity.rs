//! What the clients of a database do, from the states of their tasks: wait for a device, run, or wait for something else.
//!
//! A task that waits for a device is in state D (uninterruptible), one that runs or waits for a CPU in R, one that waits for a
//! lock, a client or a timer in S. See proc_pid_stat(5). The states are sampled, which costs less than tracing and needs no root.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

/// Time between samples: a thousand of them in 5 s.
const STEP: Duration = Duration::from_millis(5);
/// The tasks are looked up anew after this many samples.
const LOOK_UP: u32 = 40;

/// In how many samples the clients did what. The first that applies counts: one of them waits for a device, one runs, all wait
/// for something else. So a client that holds a lock and syncs the log counts, not those that wait for its lock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Activity {
    /// At least one client waited for a device.
    pub device: u64,
    /// None did, and at least one ran or waited for a CPU.
    pub running: u64,
    /// All waited for locks, for each other, or for time to pass.
    pub waiting: u64,
}

impl Activity {
    /// All samples.
    #[must_use]
    pub fn samples(&self) -> u64 {
        self.device + self.running + self.waiting
    }

    /// Adds a sample of the states of all clients.
    pub(crate) fn add(&mut self, states: &[u8]) {
        if states.is_empty() {
        } else if states.contains(&b'D') {
            self.device += 1;
        } else if states.contains(&b'R') {
            self.running += 1;
        } else {
            self.waiting += 1;
        }
    }
}

/// Finds the tasks to sample: directories such as `/proc/7/task/8`.
pub type Tasks<'a> = dyn Fn() -> Vec<PathBuf> + Sync + 'a;

/// Samples until `over`.
pub(crate) fn sample(tasks: &Tasks<'_>, over: &AtomicBool) -> Activity {
    let mut activity = Activity::default();
    let mut known = Vec::new();
    let mut round = 0;
    while !over.load(Ordering::Acquire) {
        let started = Instant::now();
        if round % LOOK_UP == 0 {
            known = tasks();
        }
        // Clients that connect later are found soon after the start.
        round = if known.is_empty() { 0 } else { round + 1 };
        let states: Vec<u8> = known.iter().filter_map(|task| state(task)).collect();
        activity.add(&states);
        std::thread::sleep(STEP.saturating_sub(started.elapsed()).max(STEP / 5));
    }
    activity
}

fn state(task: &Path) -> Option<u8> {
    let stat = fs::read_to_string(task.join("stat")).ok()?;
    stat.rsplit_once(')')?.1.trim_start().bytes().next()
}

/// The threads of a process whose name begins with `prefix`.
pub(crate) fn threads(process: u32, prefix: &str) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(format!("/proc/{process}/task")) else {
        return Vec::new();
    };
    entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|task| {
            fs::read_to_string(task.join("comm")).is_ok_and(|name| name.starts_with(prefix))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_that_waits_for_a_device_counts_before_those_that_wait_for_it() {
        let mut activity = Activity::default();
        activity.add(b"SSD");
        activity.add(b"DR");
        activity.add(b"SR");
        activity.add(b"SS");
        activity.add(b"");
        assert_eq!(
            activity,
            Activity {
                device: 2,
                running: 1,
                waiting: 1
            }
        );
    }

    #[test]
    fn a_thread_that_sleeps_is_waiting_and_one_that_computes_is_running() {
        let over = AtomicBool::new(false);
        let seen = |busy: bool| {
            let end = AtomicBool::new(false);
            std::thread::scope(|scope| {
                let worker = std::thread::Builder::new()
                    .name("sampled".to_owned())
                    .spawn_scoped(scope, || {
                        while !end.load(Ordering::Acquire) {
                            if !busy {
                                std::thread::sleep(Duration::from_millis(1));
                            }
                        }
                    })
                    .expect("a thread");
                let sampler =
                    scope.spawn(|| sample(&|| threads(std::process::id(), "sampled"), &over));
                std::thread::sleep(Duration::from_millis(500));
                over.store(true, Ordering::Release);
                let activity = sampler.join().expect("samples");
                end.store(true, Ordering::Release);
                worker.join().expect("it ends");
                over.store(false, Ordering::Release);
                activity
            })
        };
        let busy = seen(true);
        assert!(
            busy.running * 10 >= busy.samples() * 9 && busy.samples() > 10,
            "{busy:?}"
        );
        let idle = seen(false);
        assert!(idle.waiting * 2 > idle.samples(), "{idle:?}");
    }
}
