//! Memory that the jobs of a plan need before any of them runs: every clone has its own file names and its own options.

use fathom_model::Job;

use super::diagnostics::Diagnostics;
use super::job::JobView;
use crate::limits::{MAX_NAME_BYTES, MAX_PATHS, MAX_STORED_OPTIONS};
use crate::options::OptionName;
use crate::options::table as opt;

/// Sums over all jobs planned so far.
#[derive(Default)]
pub(crate) struct MemoryDemand {
    paths: u64,
    name_bytes: u64,
    options: u64,
    option_bytes: u64,
}

impl MemoryDemand {
    /// Adds `clones` jobs like `job`. False, with an error, when a limit is exceeded.
    pub(crate) fn add(
        &mut self,
        view: &JobView<'_>,
        job: &Job,
        clones: u32,
        diagnostics: &mut Diagnostics,
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
            opt::FILENAME.name()
        } else {
            opt::NRFILES.name()
        };
        let [held, bytes] = MAX_STORED_OPTIONS;
        self.within(view, files, self.paths, "files", MAX_PATHS, diagnostics)
            && self.within(
                view,
                files,
                self.name_bytes,
                "bytes of file names",
                MAX_NAME_BYTES,
                diagnostics,
            )
            && self.within(
                view,
                opt::NUMJOBS.name(),
                self.options,
                "options (counted for each clone)",
                held,
                diagnostics,
            )
            && self.within(
                view,
                opt::NUMJOBS.name(),
                self.option_bytes,
                "bytes of options (counted for each clone)",
                bytes,
                diagnostics,
            )
    }

    fn within(
        &self,
        view: &JobView<'_>,
        option: OptionName,
        count: u64,
        noun: &str,
        limit: u64,
        diagnostics: &mut Diagnostics,
    ) -> bool {
        if count > limit {
            let error = view.error(option, format!("{count} {noun} exceed the limit"));
            diagnostics.push(error.advise(format!("at most {limit} in all jobs together")));
        }
        count <= limit
    }
}
