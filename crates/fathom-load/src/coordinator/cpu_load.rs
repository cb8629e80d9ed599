//! Jobs of the cpuio engine: a CPU is kept busy alongside the load, in chunks with a pause after each,
//! and the job does no I/O.

use fathom_model::{CpuLoad, Job, JobRecording, Nanos};

use crate::clock::Clock;
use crate::host::Host;
use crate::job_recording::{self, usage_between};
use crate::live::{Live, Phase, Stop};
use crate::rng::Rng;

/// Longest time between two checks whether the job must end.
const MAX_WAIT: u64 = 50_000_000;
/// Numbers sorted in one chunk: 1 MiB of them, which takes about ten milliseconds.
const NUMBERS: usize = 1 << 18;

/// Runs such a job to its end.
pub(super) fn run_cpu_load<H: Host>(
    job: &Job,
    host: &H,
    live: &Live,
    clock: &impl Clock,
    notes: Vec<String>,
) -> JobRecording {
    let (launched, before) = (clock.now(), host.usage());
    let measured_from = launched.saturating_add(job.limits.ramp);
    let deadline = job
        .limits
        .runtime
        .map_or(u64::MAX, |time| measured_from.saturating_add(time).get());
    live.enter(Phase::Running);
    let load = job.engine.settings.cpu;
    let mut loader = CpuLoader {
        load,
        live,
        clock,
        deadline,
        numbers: Vec::new(),
        rng: Rng::new(job.pattern.seed, 0),
    };
    loader.run();
    live.enter(Phase::Done);
    JobRecording {
        tid: host.thread_id(),
        launched,
        measured_from,
        ended: clock.now().max(measured_from),
        usage: usage_between(before, host.usage()),
        notes,
        ..job_recording::empty(job)
    }
}

struct CpuLoader<'a, C> {
    load: CpuLoad,
    live: &'a Live,
    clock: &'a C,
    deadline: u64,
    numbers: Vec<u32>,
    rng: Rng,
}

impl<C: Clock> CpuLoader<'_, C> {
    fn run(&mut self) {
        while !self.is_over() {
            let started = self.clock.now().get();
            if self.load.sorts {
                self.sort();
            } else {
                self.spin(started.saturating_add(self.load.chunk.get()));
            }
            let worked = self.clock.now().get() - started;
            self.rest(pause(worked, self.load.percent));
        }
    }

    fn is_over(&self) -> bool {
        self.clock.now().get() >= self.deadline || self.live.stopping() != Stop::No
    }

    fn spin(&self, until: u64) {
        while self.clock.now().get() < until && !self.is_over() {
            std::hint::spin_loop();
        }
    }

    /// Sorting sorted numbers takes almost no time, so each chunk has new ones.
    fn sort(&mut self) {
        self.numbers.clear();
        self.numbers
            .extend((0..NUMBERS).map(|_| self.rng.bits() as u32));
        self.numbers.sort_unstable();
        std::hint::black_box(&self.numbers);
    }

    fn rest(&self, pause: u64) {
        let until = self
            .clock
            .now()
            .get()
            .saturating_add(pause)
            .min(self.deadline);
        while self.clock.now().get() < until && !self.is_over() {
            self.clock
                .sleep_until(Nanos::new(until.min(self.clock.now().get() + MAX_WAIT)));
        }
    }
}

/// How long to pause after so much work, so that work takes its share of the time.
fn pause(worked: u64, percent: u8) -> u64 {
    let percent = u64::from(percent.clamp(1, 100));
    worked.saturating_mul(100 - percent) / percent
}

#[cfg(test)]
mod tests {
    use super::pause;

    #[test]
    fn work_takes_its_share_of_the_time() {
        assert_eq!(
            [pause(50, 50), pause(50, 100), pause(50, 20), pause(50, 0)],
            [50, 0, 200, 4950]
        );
        assert_eq!(pause(u64::MAX, 1), u64::MAX);
    }
}
