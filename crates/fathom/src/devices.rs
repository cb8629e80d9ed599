//! `fathom devices`: what is there, how it is joined, and what it would take to write to it.

use std::path::Path;

use fathom_device::{Target, describe};
use fathom_linux::{examine, list_block_devices};

use crate::outcome::Outcome;
use crate::say::{complain, say};

/// Describes the targets given, or all block devices.
pub fn command(paths: &[String]) -> Outcome {
    if let Some(option) = paths.iter().find(|path| path.starts_with('-')) {
        complain!("fathom devices: there is no option '{}': give paths, or nothing for all block devices", option.escape_debug());
        return Outcome::Refused;
    }
    if paths.is_empty() {
        let all: String = list_block_devices().iter().map(|facts| format!("{}\n", describe(facts).trim_end())).collect();
        return say(&all);
    }
    let (mut text, mut outcome) = (String::new(), Outcome::Good);
    for path in paths {
        match examine(Path::new(path)) {
            Ok(examined) if matches!(examined.facts().target, Target::NewFile(_)) => {
                complain!("fathom devices: there is no {}; `fathom devices` lists the block devices", path.escape_debug());
                outcome = Outcome::Refused;
            }
            Ok(examined) => text += &format!("{}\n", describe(examined.facts()).trim_end()),
            Err(error) => {
                complain!("fathom devices: {error}");
                outcome = Outcome::Refused;
            }
        }
    }
    match say(&text) {
        Outcome::Good => outcome,
        trouble => trouble,
    }
}
