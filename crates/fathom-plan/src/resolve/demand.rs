//! What the jobs of a plan hold in memory before any of them runs: every clone has its own names of files and its own options.

use fathom_model::Job;

use super::bounds::{MOST_HELD, MOST_NAME_BYTES, MOST_PATHS};
use super::job::View;
use super::report::Report;

/// Sums over all jobs planned so far.
#[derive(Default)]
pub(crate) struct Demand {
    paths: u64,
    name_bytes: u64,
    options: u64,
    option_bytes: u64,
}

impl Demand {
    /// Adds `clones` jobs like `job`. False, with an error, when that is more than any plan needs.
    pub(crate) fn add(
        &mut self,
        view: &View<'_>,
        job: &Job,
        clones: u32,
        report: &mut Report,
    ) -> bool {
        let all = |count: usize| (count as u64).saturating_mul(u64::from(clones));
        let grow = |sum: &mut u64, count| *sum = sum.saturating_add(all(count));
        grow(&mut self.paths, job.files.paths.len());
        grow(
            &mut self.name_bytes,
            job.files
                .paths
                .iter()
                .map(|path| path.as_os_str().len())
                .sum(),
        );
        grow(&mut self.options, job.options.len());
        grow(
            &mut self.option_bytes,
            job.options
                .iter()
                .map(|(name, value)| name.len() + value.as_ref().map_or(0, String::len))
                .sum(),
        );
        let files = if job.files.named {
            "filename"
        } else {
            "nrfiles"
        };
        let [held, bytes] = MOST_HELD;
        self.within(view, files, self.paths, "files", MOST_PATHS, report)
            && self.within(
                view,
                files,
                self.name_bytes,
                "bytes of file names",
                MOST_NAME_BYTES,
                report,
            )
            && self.within(
                view,
                "numjobs",
                self.options,
                "options, counted for each clone,",
                held,
                report,
            )
            && self.within(
                view,
                "numjobs",
                self.option_bytes,
                "bytes of options, counted for each clone,",
                bytes,
                report,
            )
    }

    fn within(
        &self,
        view: &View<'_>,
        option: &'static str,
        count: u64,
        noun: &str,
        limit: u64,
        report: &mut Report,
    ) -> bool {
        if count > limit {
            let error = view.error(option, format!("{count} {noun} are beyond the limit"));
            report.push(error.advise(format!("at most {limit} in all jobs together")));
        }
        count <= limit
    }
}
