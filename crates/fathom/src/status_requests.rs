//! Requests for the state of a run: `--status-interval`, SIGUSR1, and fio's file `fio-dump-status`.

use std::path::PathBuf;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

use fathom_linux::dump_requests;
use fathom_model::{Nanos, Personality};

/// How often the file is looked for, in nanoseconds.
const POLL_INTERVAL: u64 = 250_000_000;

/// Requests for the state of a run.
pub struct StatusRequests {
    every: Option<u64>,
    next: u64,
    signals: &'static AtomicU32,
    answered: u32,
    file: Option<PathBuf>,
    next_poll: u64,
}

impl StatusRequests {
    /// Handles SIGUSR1. The file is only looked for in fio's personality.
    pub fn new(personality: Personality, every: Option<Nanos>) -> StatusRequests {
        let signals = dump_requests();
        let directory = || {
            std::env::var_os("TMPDIR")
                .or_else(|| std::env::var_os("TEMP"))
                .unwrap_or_else(|| "/tmp".into())
        };
        let file = (personality == Personality::Fio)
            .then(|| PathBuf::from(directory()).join("fio-dump-status"));
        let every = every.map(Nanos::get);
        StatusRequests {
            every,
            next: every.unwrap_or(u64::MAX),
            signals,
            answered: signals.load(Relaxed),
            file,
            next_poll: POLL_INTERVAL,
        }
    }

    /// Whether the state is requested at this time of the run.
    pub fn is_state_wanted(&mut self, elapsed: Nanos) -> bool {
        let now = elapsed.get();
        let due = now >= self.next;
        if let Some(every) = self.every.filter(|_| due) {
            // Missed intervals are skipped.
            self.next = (now / every + 1).saturating_mul(every);
        }
        let signals = self.signals.load(Relaxed);
        let signalled = std::mem::replace(&mut self.answered, signals) != signals;
        let requested_by_file = self.file_is_there(now);
        due || signalled || requested_by_file
    }

    /// The file requests one state: it is removed. One that cannot be removed is not looked for again.
    fn file_is_there(&mut self, now: u64) -> bool {
        let Some(file) = self.file.as_ref().filter(|_| now >= self.next_poll) else {
            return false;
        };
        self.next_poll = now + POLL_INTERVAL;
        if !file.exists() {
            return false;
        }
        if std::fs::remove_file(file).is_err() {
            self.file = None;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_wanted_once_an_interval() {
        let mut status_requests =
            StatusRequests::new(Personality::Fathom, Some(Nanos::from_millis(100)));
        let at = |ms: u64| Nanos::from_millis(ms);
        let due: Vec<bool> = [0, 99, 100, 120, 350, 360, 400]
            .map(|ms| status_requests.is_state_wanted(at(ms)))
            .to_vec();
        assert_eq!(due, [false, false, true, false, true, false, true]);
        assert!(
            !StatusRequests::new(Personality::Fathom, None)
                .is_state_wanted(at(u64::MAX / 2_000_000))
        );
    }
}
