//! Clients of an engine in this process: each runs one transaction after another, or at planned times, on a thread of its own.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::activity::{sample, threads};
use crate::measured::{Recorder, Window};
use crate::random::Random;
use crate::{AppError, AppSpec, Measured, Probe};

/// Start of the names of the threads that do the I/O of clients: what they do is sampled.
pub(crate) const THREADS: &str = "client-";
/// Longest time between two looks at the end of the run.
const POLL: Duration = Duration::from_millis(20);

/// A client of an engine.
pub(crate) trait Client: Send {
    /// The engine, for messages.
    const ENGINE: &'static str;

    /// Runs a transaction to its end.
    ///
    /// # Errors
    /// Why it was not committed.
    fn transaction(&mut self, spec: &AppSpec, random: &mut Random) -> Result<(), AppError>;

    /// Ends a transaction that failed.
    fn undo(&mut self) {}
}

/// What all clients share.
struct Shared<'a> {
    spec: &'a AppSpec,
    start: Instant,
    length: Duration,
    over: &'a AtomicBool,
}

struct All {
    records: Vec<Recorder>,
    activity: crate::Activity,
    error: Option<String>,
}

/// Runs the warm-up of `spec` and then its measured time.
pub(crate) fn measure<C: Client>(
    spec: &AppSpec,
    clients: &mut [C],
    probe: &dyn Probe,
) -> Result<Measured, AppError> {
    let warmup = Duration::from_nanos(spec.warmup_ns);
    if !warmup.is_zero() {
        run_all(spec, clients, warmup, probe, 1)?;
    }
    let own = std::process::id();
    let before = Window::begin(probe, own);
    let started_unix_ns = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |now| now.as_nanos() as u64);
    let start = Instant::now();
    let length = Duration::from_nanos(spec.runtime_ns);
    let all = run_all(spec, clients, length, probe, 2)?;
    let elapsed_ns = start.elapsed().as_nanos() as u64;
    let after = Window::end(probe, own);
    let mut measured = Measured {
        started_unix_ns,
        elapsed_ns,
        interrupted: probe.stop(),
        activity: all.activity,
        error: all.error,
        ..Measured::default()
    };
    before.add_to(&after, &mut measured);
    measured.add_records(all.records);
    Ok(measured)
}

/// All clients for this time.
fn run_all<C: Client>(
    spec: &AppSpec,
    clients: &mut [C],
    length: Duration,
    probe: &dyn Probe,
    seed: u64,
) -> Result<All, AppError> {
    let over = AtomicBool::new(false);
    let sampled = AtomicBool::new(false);
    let shared = Shared {
        spec,
        start: Instant::now(),
        length,
        over: &over,
    };
    std::thread::scope(|scope| {
        let own = std::process::id();
        let stop_sampling = &sampled;
        let sampler = scope.spawn(move || sample(&|| threads(own, THREADS), stop_sampling));
        let mut running = Vec::new();
        let mut refused = None;
        for (number, client) in clients.iter_mut().enumerate() {
            let shared = &shared;
            let random = Random::new(seed << 32 | number as u64);
            // Not sampled: statements are executed by the thread of the connection.
            let started = std::thread::Builder::new()
                .name(format!("load-{number}"))
                .spawn_scoped(scope, move || one_client(client, shared, random));
            match started {
                Ok(thread) => running.push(thread),
                Err(error) => {
                    over.store(true, Ordering::Release);
                    refused = Some(failed::<C>(format!("cannot start a thread: {error}")));
                    break;
                }
            }
        }
        while !running
            .iter()
            .all(std::thread::ScopedJoinHandle::is_finished)
        {
            if probe.stop() {
                over.store(true, Ordering::Release);
            }
            std::thread::sleep(POLL);
        }
        sampled.store(true, Ordering::Release);
        let mut all = All {
            records: Vec::new(),
            activity: sampler.join().unwrap_or_default(),
            error: None,
        };
        for thread in running {
            let Ok((record, error)) = thread.join() else {
                return Err(failed::<C>("a client ended without a result".to_owned()));
            };
            all.records.push(record);
            all.error = all.error.or(error);
        }
        refused.map_or(Ok(all), Err)
    })
}

fn failed<C: Client>(message: String) -> AppError {
    AppError::Statement {
        engine: C::ENGINE,
        message,
    }
}

/// One client after another transaction; the second value is the error that ended all of them.
fn one_client<C: Client>(
    client: &mut C,
    shared: &Shared<'_>,
    mut random: Random,
) -> (Recorder, Option<String>) {
    let spec = shared.spec;
    let mut record = Recorder::new(shared.length.as_nanos() as u64, spec.latency_limit_ns);
    let mean = spec.rate.map(|rate| f64::from(spec.clients.max(1)) / rate);
    let mut due = Duration::ZERO;
    while !shared.over.load(Ordering::Acquire) {
        let mut from = shared.start.elapsed();
        let mut lag = None;
        if let Some(mean) = mean {
            due += Duration::from_secs_f64(random.exponential(mean));
            if due >= shared.length {
                break;
            }
            wait(shared, due);
            let now = shared.start.elapsed();
            let late = now.saturating_sub(due).as_nanos() as u64;
            if spec.latency_limit_ns.is_some_and(|limit| late > limit) {
                record.skipped += 1;
                continue;
            }
            (from, lag) = (due, Some(late));
        }
        if shared.start.elapsed() >= shared.length {
            break;
        }
        match client.transaction(spec, &mut random) {
            Ok(()) => {
                let at = shared.start.elapsed();
                let latency = at.saturating_sub(from).as_nanos() as u64;
                record.record(at.as_nanos() as u64, latency, lag);
            }
            Err(error) => {
                record.failed += 1;
                client.undo();
                shared.over.store(true, Ordering::Release);
                return (record, Some(error.to_string()));
            }
        }
    }
    (record, None)
}

/// Waits until a transaction is due, or the run is over.
fn wait(shared: &Shared<'_>, due: Duration) {
    loop {
        let left = due.saturating_sub(shared.start.elapsed());
        if left.is_zero() || shared.over.load(Ordering::Acquire) {
            return;
        }
        std::thread::sleep(left.min(POLL));
    }
}
