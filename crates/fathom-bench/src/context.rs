//! The context of every case.

use std::path::PathBuf;

use crate::target::TempDirectory;
use crate::tool::Tools;

/// The programs, the number and length of the runs, and the directory for files.
pub struct Context {
    pub tools: Tools,
    pub pairs: usize,
    pub seconds: u64,
    /// Removed with all its files when the context is dropped.
    pub directory: TempDirectory,
}

impl Context {
    /// Finds the programs and creates the directory, by default beside the build.
    pub fn new(
        pairs: usize,
        seconds: u64,
        directory: Option<PathBuf>,
        program: Option<PathBuf>,
    ) -> Result<Self, String> {
        let tools = Tools::find(program)?;
        let parent = directory.unwrap_or_else(|| tools.directory.clone());
        Ok(Self {
            tools,
            pairs,
            seconds,
            directory: TempDirectory::new(&parent)?,
        })
    }

    /// `--runtime`, and the option that enforces it.
    pub fn timed(seconds: u64) -> Vec<String> {
        vec!["--time_based=1".to_owned(), format!("--runtime={seconds}")]
    }
}
