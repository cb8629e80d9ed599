//! The job file of an experiment.

use fathom_plan::FileReader;

use crate::this_machine::ThisMachine;

/// Name and text of a job file.
///
/// # Errors
/// When it cannot be read.
pub fn read_job_file(name: &str) -> Result<(String, String), String> {
    let bytes = ThisMachine
        .read(name)
        .map_err(|error| format!("cannot read '{}': {error}", name.escape_debug()))?;
    let text = String::from_utf8(bytes).map_err(|_| format!("{name} is not valid UTF-8"))?;
    let name = if name == "-" { "standard input" } else { name };
    Ok((name.to_owned(), text))
}
