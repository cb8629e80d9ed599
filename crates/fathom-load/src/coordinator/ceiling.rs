//! The ceiling of the load generator: the same job for a short time on an engine that completes at
//! once.
//!
//! A result near this ceiling measures the load generator, not the device.

use std::sync::mpsc::sync_channel;

use fathom_model::{Job, Limits, Logs, Nanos, Pace, Personality};

use super::Coordinator;
use crate::engine::EngineRequest;
use crate::host::Host;
use crate::live::{Live, Stop};
use crate::worker::Setup;
use crate::{io_generator, targets};

/// How long the ceiling is measured: about ten thousand I/Os.
const MEASURED_TIME: Nanos = Nanos::from_millis(10);
/// Shorter runs have no ceiling: measuring it would double their start-up time.
const MIN_RUNTIME: Nanos = Nanos::from_millis(500);
/// At most this many sections are measured, so that the end of a large plan is not delayed.
const MAX_SECTIONS: usize = 8;

impl<H: Host> Coordinator<H> {
    /// Measures the ceiling of the first clone of each section that ran long enough, now that
    /// nothing else runs.
    pub(super) fn measure_ceilings(&mut self) {
        if self.stop != Stop::No {
            return;
        }
        let mut measured = 0;
        for index in 0..self.plan.jobs.len() {
            let Some(done) = &self.done[index] else {
                continue;
            };
            let ran = done.ended.saturating_sub(done.launched);
            let first =
                index == 0 || self.plan.jobs[index].section != self.plan.jobs[index - 1].section;
            let replays = self.plan.jobs[index].pace.replay.is_some();
            if !first
                || replays
                || ran < MIN_RUNTIME
                || done.error.is_some()
                || measured == MAX_SECTIONS
            {
                continue;
            }
            measured += 1;
            let ceiling = self.ceiling(index);
            if let Some(done) = &mut self.done[index] {
                done.ceiling_iops = ceiling;
            }
        }
    }

    fn ceiling(&self, index: usize) -> Option<f64> {
        let job = unlimited(&self.plan.jobs[index]);
        if job.engine.kind.file_operation().is_some()
            || job.engine.kind.changes_allocation()
            || !job.engine.kind.does_io()
        {
            return None;
        }
        let regions: Vec<_> = self.files.file_needs[index]
            .iter()
            .map(|want| want.region)
            .collect();
        let (sink, _) = sync_channel(1);
        let live = Live::default();
        let setup = Setup {
            job: &job,
            index: index as u32,
            host: &self.host,
            live: &live,
            clock: self.clock.clone(),
            generator: io_generator::build(&job, &regions, Personality::Fio).ok()?,
            log: None,
            regions: &regions,
            sink,
            io_log: None,
            unix_start_ns: self.unix_start_ns,
            interval: self.plan.interval,
            max_intervals: 2,
            job_archive: None,
            personality: Personality::Fio,
            notes: Vec::new(),
            flow: None,
            dedupe_set: None,
        };
        let buffer_size = targets::buffer_size(&job);
        let request = EngineRequest {
            spec: &job.engine,
            depth: job.queue.depth,
            buffer_size,
            files: &[],
            huge_pages: true,
        };
        let recording = self.host.with_noop(&request, setup).ok()?.ok()?;
        let ios: u64 = recording.directions.iter().map(|(_, d)| d.counts.ok).sum();
        let took = recording.ended.saturating_sub(recording.measured_from);
        (ios > 0 && !took.is_zero()).then(|| ios as f64 / took.as_secs_f64())
    }
}

/// The same I/O as fast as it can be generated, for a short time, without logs or other effects.
fn unlimited(job: &Job) -> Job {
    let mut job = job.clone();
    job.limits = Limits {
        runtime: Some(MEASURED_TIME),
        time_based: true,
        loops: 1,
        ..Limits::default()
    };
    job.pace = Pace::default();
    job.verify = None;
    job.accounting.logs = Logs::default();
    job.sync = Default::default();
    job.files.layout.unlink = false;
    job
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use fathom_model::{Access, Nanos, Traffic};

    use crate::testing::{FakeHost, job, run_on};

    #[test]
    fn the_first_clone_of_a_long_run_has_a_ceiling() {
        let mut long = job(
            Traffic::Read,
            Access::Random {
                every: 1,
                identical: false,
            },
        );
        long.limits.runtime = Some(Nanos::from_millis(600));
        long.limits.time_based = true;
        let mut short = long.clone();
        short.section = 1;
        short.limits.runtime = Some(Nanos::from_millis(20));
        let (recording, _) = run_on(Arc::new(FakeHost::new(|_, _| None)), vec![long, short]);
        let ceiling = recording.jobs[0].ceiling_iops.expect("ran long enough");
        let counts = recording.jobs[0].directions[fathom_model::Direction::Read].counts;
        // The run itself was on the null engine, so its rate is close to the ceiling.
        let did = counts.ok as f64 / 0.6;
        assert!(
            ceiling > did / 4.0 && ceiling < did * 4.0,
            "{ceiling} against {did}"
        );
        assert_eq!(recording.jobs[1].ceiling_iops, None);
    }
}
