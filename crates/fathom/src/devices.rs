//! `fathom devices`: what is there, how it is joined, and what it would take to write to it.

use std::path::Path;

use fathom_device::describe;
use fathom_linux::{examine, list_block_devices};

use crate::outcome::Outcome;

/// Describes the targets given, or all block devices.
pub fn command(paths: &[String]) -> Outcome {
    if let Some(option) = paths.iter().find(|path| path.starts_with('-')) {
        eprintln!("fathom devices: there is no option '{}': give paths, or nothing for all block devices", option.escape_debug());
        return Outcome::Refused;
    }
    if paths.is_empty() {
        for facts in list_block_devices() {
            println!("{}", describe(&facts).trim_end());
        }
        return Outcome::Good;
    }
    let mut outcome = Outcome::Good;
    for path in paths {
        match examine(Path::new(path)) {
            Ok(examined) => println!("{}", describe(examined.facts()).trim_end()),
            Err(error) => {
                eprintln!("fathom devices: {error}");
                outcome = Outcome::Refused;
            }
        }
    }
    outcome
}
