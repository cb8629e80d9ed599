//! Saves the progress of verified writes while a run lasts, so that it is known after a kill.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use fathom_model::{Nanos, Personality, Plan};

use crate::clock::Clock;
use crate::host::{Host, RunningThread, ThreadBody};
use crate::live::Live;

/// How often the progress is saved.
const INTERVAL: Nanos = Nanos::from_millis(500);
/// The longest wait for the last save at the end of the run.
const PATIENCE: Duration = Duration::from_secs(2);

/// A file name and its content.
type State = (String, Vec<u8>);

/// The thread that saves the states: a file system that hangs must not hold up the coordinator.
struct Saver {
    states: Receiver<State>,
}

impl ThreadBody for Saver {
    fn run<H: Host>(self, host: &Arc<H>) {
        for (name, bytes) in self.states {
            // The end of the run reports it if the directory cannot be written.
            let _ = host.save_output(&name, &bytes);
        }
    }
}

/// The jobs whose states are saved, and the thread that does it.
pub(super) struct VerifyStates {
    /// Indices of the jobs with a state.
    jobs: Vec<usize>,
    saver: Option<(SyncSender<State>, Box<dyn RunningThread>)>,
    next: Nanos,
}

impl VerifyStates {
    /// States of the jobs of `plan` that write and verify. fio saves them at the end only. In virtual time nothing kills the
    /// run, and none are saved before its end.
    pub fn new<H: Host>(plan: &Plan, host: &Arc<H>) -> VerifyStates {
        let saves = plan.personality == Personality::Fathom
            && host.saves_progress()
            && !<H::Clock as Clock>::IS_VIRTUAL;
        let jobs: Vec<usize> = (0..plan.jobs.len())
            .filter(|index| {
                let verify = plan.jobs[*index].verify.as_ref();
                let declined = plan.jobs[*index].options.iter().any(|(name, value)| {
                    name == "verify_state_save" && value.as_deref() == Some("0")
                });
                saves && verify.is_some_and(|verify| !verify.only) && !declined
            })
            .collect();
        let (sender, states) = sync_channel::<State>(jobs.len().max(1));
        let saver = (!jobs.is_empty())
            .then(|| host.spawn("fathom-verify", Saver { states }).ok())
            .flatten()
            .map(|thread| (sender, thread));
        VerifyStates {
            jobs,
            saver,
            next: Nanos::ZERO,
        }
    }

    /// Saves what the workers have published, and asks for more when it is time.
    pub fn poll(&mut self, lives: &[Arc<Live>], now: Nanos) {
        let Some((sender, _)) = &self.saver else {
            return;
        };
        for job in &self.jobs {
            if let Some(state) = lives[*job].take_verify_state() {
                let _ = sender.try_send(state);
            }
        }
        if now >= self.next {
            self.next = now + INTERVAL;
            self.jobs
                .iter()
                .for_each(|job| lives[*job].request_verify_state());
        }
    }
}

impl Drop for VerifyStates {
    /// Waits for the last save, so that it does not replace the state of the complete run.
    fn drop(&mut self) {
        if let Some((sender, thread)) = self.saver.take() {
            drop(sender);
            let start = Instant::now();
            while !thread.is_finished() && start.elapsed() < PATIENCE {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
    }
}
