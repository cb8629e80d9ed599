//! A machine that shares its time with others.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex};

use fathom_load::{HostError, RunHooks, Stop};
use fathom_model::Nanos;
use fathom_sim::{Library, MachineFile, SharedTime, SimHost, run_load};

use crate::load::plans::{ios, job, ms, plan};

/// A time that goes on only where the machine waits for it.
#[derive(Default)]
struct Others(AtomicU64);

impl SharedTime for Others {
    fn now(&self) -> Nanos {
        Nanos::new(self.0.load(Relaxed))
    }

    fn wait_until(&self, at: Nanos) {
        self.0.fetch_max(at.get(), Relaxed);
    }
}

/// The others are at 5 s when the run is prepared, and its start waits for them until 5.3 s. From then on the machine is ahead of them, and
/// they have caught up wherever it calls its caller. Its load takes a second, and the machine is read from the start of the load on.
#[test]
fn a_run_begins_at_the_shared_time_and_waits_in_its_hooks() {
    let text =
        "cpus = 1\n[[device]]\npath = '/dev/sim0'\nmodel = 'servers(count=1, service=100us)'\n";
    let file = MachineFile::parse("machine.toml", text).expect("a machine");
    let machine = file.build(&Library::new(), 1).expect("possible");
    let others = Arc::new(Others::default());
    let shared: Arc<dyn SharedTime> = others.clone();
    let host = Arc::new(SimHost::of_machine(machine, 0, Some(shared)));
    others.wait_until(ms(5_000));
    assert_eq!(host.now(), ms(5_000));
    let seen = Arc::new(Mutex::new(Vec::new()));
    let note = {
        let (others, seen) = (Arc::clone(&others), Arc::clone(&seen));
        move || seen.lock().expect("alone").push(others.now())
    };
    let (logs, _kept) = sync_channel(16);
    let sent = note.clone();
    let hooks = RunHooks {
        stop: &|| {
            note();
            Stop::No
        },
        progress: &mut |_| {},
        logs,
        states: None,
        interval_sink: Some(Box::new(move |_| sent())),
        io_log: None,
        before_start: Some(&|| {
            assert_eq!(others.now(), ms(5_000));
            others.wait_until(ms(5_300));
        }),
        may_begin: None,
        replays: &|_| {
            Err(HostError {
                errno: 2,
                what: "no log".to_owned(),
            })
        },
    };
    let recording = run_load(plan(vec![job("/dev/sim0", 1)]), Arc::clone(&host), hooks);
    let recording = recording.expect("it fits");
    assert_eq!(
        (ios(&recording), recording.elapsed),
        (vec![10_000], ms(1_000))
    );
    assert_eq!(recording.started_unix_ns, ms(5_300).get());
    assert_eq!((others.now(), host.now()), (ms(6_300), ms(6_300)));
    // Every 20 ms, and whenever intervals are sent.
    let seen = seen.lock().expect("alone");
    let looks = (0..50).map(|look| ms(5_300 + look * 20));
    assert!(looks.into_iter().all(|at| seen.contains(&at)), "{seen:?}");
    assert!(seen.is_sorted());
    let samples = host.conditions().expect("no run").telemetry.samples;
    let reads = samples
        .iter()
        .map(|sample| (sample.start, sample.disks[0].read_ios));
    assert_eq!(
        reads.take(2).collect::<Vec<_>>(),
        [(ms(0), 2_500), (ms(250), 2_500)]
    );
}
