//! Whether the server takes CPU time from a run that is measured on its host. It has a low priority, and says so where that is not enough.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use fathom_store::ListFilter;

use crate::{Opener, Settings};

/// The share of the host's CPUs above which a server disturbs.
const LIMIT: f64 = 0.01;
/// Time between two looks at the server's own CPU time.
const WINDOW: Duration = Duration::from_secs(5);
/// How long a disturbance is shown, and the least time between two messages about it.
const SHOWN: Duration = Duration::from_secs(60);
/// More runs than are measured at once.
const MOST_RUNS: u32 = 200;

/// The last disturbance.
#[derive(Default)]
pub(crate) struct Disturbance {
    last: Mutex<Option<(Instant, String)>>,
}

impl Disturbance {
    /// The sentence about a disturbance within the last minute.
    pub fn recent(&self, now: Instant) -> Option<String> {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        last.as_ref()
            .filter(|(at, _)| now.duration_since(*at) < SHOWN)
            .map(|(_, text)| text.clone())
    }

    fn set(&self, now: Instant, text: String) {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some((now, text));
    }
}

/// Starts the thread that looks. It ends some time after `stop` is set.
pub(crate) fn watch(
    open: Arc<Opener>,
    settings: &Arc<Settings>,
    stop: Arc<AtomicBool>,
) -> std::io::Result<Arc<Disturbance>> {
    let disturbance = Arc::new(Disturbance::default());
    let (shared, settings) = (disturbance.clone(), settings.clone());
    std::thread::Builder::new()
        .name("disturbance".into())
        .spawn(move || look(&*open, &settings, &stop, &shared))?;
    Ok(disturbance)
}

fn look(open: &Opener, settings: &Settings, stop: &AtomicBool, shared: &Disturbance) {
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    let mut said: Option<Instant> = None;
    let mut before = (Instant::now(), (settings.cpu_time)());
    while !stop.load(Relaxed) {
        std::thread::sleep(WINDOW);
        let now = (Instant::now(), (settings.cpu_time)());
        let share = share(before, now, cpus);
        before = now;
        if share <= LIMIT {
            continue;
        }
        // Only a server that works reads the store for this.
        let Some(text) = measured_here(open).and_then(|runs| sentence(share, &runs)) else {
            continue;
        };
        if said.is_none_or(|said| now.0.duration_since(said) >= SHOWN) {
            said = Some(now.0);
            (settings.note)(&text);
        }
        shared.set(now.0, text);
    }
}

/// The share of all CPUs between two looks at the clock and at the CPU time of the process.
fn share(before: (Instant, Duration), now: (Instant, Duration), cpus: usize) -> f64 {
    let wall = now.0.duration_since(before.0).as_secs_f64() * cpus as f64;
    let used = now.1.saturating_sub(before.1).as_secs_f64();
    if wall > 0.0 { used / wall } else { 0.0 }
}

/// Names of the runs that are measured on this host.
fn measured_here(open: &Opener) -> Option<Vec<String>> {
    let mut library = open().ok()?;
    let running = ListFilter {
        state: "running".to_owned(),
        limit: MOST_RUNS,
        ..ListFilter::default()
    };
    let listed = library.store().list(&running).ok()?;
    let here = listed
        .iter()
        .filter(|listed| library.is_measured_here(&listed.run));
    Some(here.map(|listed| listed.run.id.to_string()).collect())
}

fn sentence(share: f64, runs: &[String]) -> Option<String> {
    let (run, others) = runs.split_first()?;
    let more = match others.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    Some(format!(
        "this server used {:.1} % of the CPUs of this host while {run}{more} is measured on it: close pages that nobody looks at, or serve the store from another host",
        100.0 * share
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_is_of_all_cpus() {
        let begin = Instant::now();
        let at = |wall_ms, used_ms| {
            (
                begin + Duration::from_millis(wall_ms),
                Duration::from_millis(used_ms),
            )
        };
        // 400 ms of 5 s of 4 CPUs are 2 %.
        assert!((share(at(0, 100), at(5000, 500), 4) - 0.02).abs() < 1e-9);
        assert_eq!(share(at(0, 100), at(0, 500), 4), 0.0);
        assert_eq!(share(at(0, 100), at(5000, 100), 4), 0.0);
    }

    #[test]
    fn a_disturbance_names_a_run_and_is_forgotten() {
        assert_eq!(sentence(0.5, &[]), None);
        let one = sentence(0.0312, &["r7".to_owned()]).expect("a sentence");
        assert!(
            one.contains("3.1 % ") && one.contains("while r7 is"),
            "{one}"
        );
        let two = sentence(0.5, &["r7".to_owned(), "r9".to_owned()]).expect("a sentence");
        assert!(two.contains("r7 and 1 more"), "{two}");
        let (disturbance, now) = (Disturbance::default(), Instant::now());
        assert_eq!(disturbance.recent(now), None);
        disturbance.set(now, one.clone());
        assert_eq!(disturbance.recent(now + SHOWN / 2), Some(one));
        assert_eq!(disturbance.recent(now + SHOWN), None);
    }
}
