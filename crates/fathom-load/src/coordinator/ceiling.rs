//! What this host could generate: the same job for a moment on a target that answers at once.
//!
//! A figure near this ceiling speaks of the load generator, not of the device.

use std::sync::mpsc::sync_channel;

use fathom_model::{Job, Limits, Logs, Nanos, Pace};

use super::Coordinator;
use crate::engine::EngineRequest;
use crate::host::Host;
use crate::live::{Live, Stop};
use crate::worker::Setup;
use crate::{script, targets};

/// How long the moment is: some ten thousand I/Os.
const MOMENT: Nanos = Nanos::from_millis(10);
/// Shorter runs are not worth it: their start-up would double.
const WORTH_IT: Nanos = Nanos::from_millis(500);
/// Sections that are looked at, so that the end of a large plan is not held up.
const MOST_SECTIONS: usize = 8;

impl<H: Host + Send + 'static> Coordinator<H> {
    /// Fills the ceilings of the first clones of the sections that ran long enough, now that
    /// nothing else runs.
    pub(super) fn measure_ceilings(&mut self) {
        if self.asked != Stop::No {
            return;
        }
        let mut looked = 0;
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
                || ran < WORTH_IT
                || done.error.is_some()
                || looked == MOST_SECTIONS
            {
                continue;
            }
            looked += 1;
            let ceiling = self.ceiling(index);
            if let Some(done) = &mut self.done[index] {
                done.ceiling_iops = ceiling;
            }
        }
    }

    fn ceiling(&self, index: usize) -> Option<f64> {
        let job = momentary(&self.plan.jobs[index]);
        if job.engine.kind.file_operation().is_some()
            || job.engine.kind.shapes_files()
            || !job.engine.kind.does_io()
        {
            return None;
        }
        let regions: Vec<_> = self.ready.file_needs[index]
            .iter()
            .map(|want| want.region)
            .collect();
        let (sink, _) = sync_channel(1);
        let live = Live::default();
        let setup = Setup {
            job: &job,
            index: index as u32,
            host: &*self.host,
            live: &live,
            clock: self.clock.clone(),
            script: script::build(&job, &regions).ok()?,
            log: None,
            regions: &regions,
            sink,
            unix_start_ns: self.unix_start_ns,
            interval: self.plan.interval,
            most_intervals: 2,
            job_archive: None,
            zero_rows: false,
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
        };
        let seen = self.host.with_noop(&request, setup).ok()?.ok()?;
        let ios: u64 = seen.directions.iter().map(|(_, d)| d.counts.ok).sum();
        let took = seen.ended.saturating_sub(seen.measured_from);
        (ios > 0 && !took.is_zero()).then(|| ios as f64 / took.as_secs_f64())
    }
}

/// The same I/O as fast as it can be generated, for a moment, without a trace.
fn momentary(job: &Job) -> Job {
    let mut job = job.clone();
    job.limits = Limits {
        runtime: Some(MOMENT),
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
    fn the_first_clone_of_a_long_run_knows_what_could_be_generated() {
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
        // The run itself was on the null engine: what it could generate is about what it did.
        let did = counts.ok as f64 / 0.6;
        assert!(
            ceiling > did / 4.0 && ceiling < did * 4.0,
            "{ceiling} against {did}"
        );
        assert_eq!(recording.jobs[1].ceiling_iops, None);
    }
}
