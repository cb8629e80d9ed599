//! Several machines that share one time.
//!
//! A run is ahead of the shared time: nothing from outside changes what it does until the caller's next hook. There it waits for the
//! others, so that what they have done until then is seen in the hook, and what the hook does is seen by them at the right time.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use fathom_load::{IntervalSink, RunHooks, States};
use fathom_model::Nanos;

use super::machine::Machine;
use super::thread::SimThread;

/// A time that several machines share.
pub trait SharedTime: Send + Sync {
    /// The present time.
    fn now(&self) -> Nanos;

    /// Lets the others go on until this time.
    fn wait_until(&self, at: Nanos);
}

impl Machine {
    /// See [`SimThread::let_others_catch_up`].
    pub(super) fn let_others_catch_up(&self) {
        if let Some(shared) = &self.shared {
            let own = self.now.load(Relaxed);
            shared.wait_until(Nanos::new(own));
        }
    }
}

/// Runs with hooks that are called when the shared time is that of the machine.
pub(super) fn with_hooks_in_step<T>(
    coordinator: &Arc<SimThread<'static>>,
    hooks: RunHooks<'_>,
    run: impl FnOnce(RunHooks<'_>) -> T,
) -> T {
    let stop = || {
        coordinator.let_others_catch_up();
        (hooks.stop)()
    };
    // These wait for others.
    let before_start = hooks.before_start.map(|wait| {
        move || {
            coordinator.let_others_catch_up();
            wait();
            coordinator.catch_up();
        }
    });
    let may_begin = hooks.may_begin.map(|may| {
        move |job: usize| {
            coordinator.let_others_catch_up();
            let may = may(job);
            coordinator.catch_up();
            may
        }
    });
    let interval_sink = hooks.interval_sink.map(|mut sink| -> IntervalSink {
        let machine = coordinator.machine();
        Box::new(move |new| {
            machine.let_others_catch_up();
            sink(new);
        })
    });
    run(RunHooks {
        stop: &stop,
        before_start: before_start.as_ref().map(|wait| wait as &dyn Fn()),
        may_begin: may_begin.as_ref().map(|may| may as &dyn Fn(usize) -> bool),
        interval_sink,
        progress: hooks.progress,
        logs: hooks.logs,
        states: hooks
            .states
            .map(|States { wanted, take }| States { wanted, take }),
        io_log: hooks.io_log,
        replays: hooks.replays,
    })
}
