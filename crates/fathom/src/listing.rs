//! `--cmdhelp` and `--enghelp`: the option table, and the engines.

use std::fmt::Write;

use fathom_model::EngineKind;
use fathom_plan::{OptionRow, Support, closest_option, cmdhelp, find, options};

use crate::outcome::Outcome;
use crate::say::{complain, say};

const ENGINES: [EngineKind; 10] = [
    EngineKind::Sync,
    EngineKind::Psync,
    EngineKind::Vsync,
    EngineKind::Pvsync,
    EngineKind::Pvsync2,
    EngineKind::Libaio,
    EngineKind::IoUring,
    EngineKind::PosixAio,
    EngineKind::Mmap,
    EngineKind::Null,
];

/// Explains one option, or lists all that belong to every job.
pub fn options_help(name: Option<&str>) -> Result<String, String> {
    match name {
        None | Some("all") => Ok(options().filter(|row| row.engines.is_empty()).map(line).collect()),
        Some(name) => match find(name) {
            Some(row) => Ok(cmdhelp(row)),
            None => Err(unknown_option(name)),
        },
    }
}

fn unknown_option(name: &str) -> String {
    let advice = closest_option(name).map_or(String::new(), |known| format!(" (did you mean {known}?)"));
    format!("--cmdhelp: there is no option '{}'{advice}", name.escape_debug())
}

fn line(row: &OptionRow) -> String {
    let mark = match row.support {
        Support::Honoured => "",
        Support::NoEffect { .. } => " [no effect]",
        Support::Refused { .. } => " [refused]",
    };
    format!("{:<26}: {}{mark}\n", row.name, row.help)
}

/// Lists the engines, the options of one, or explains one option of one (`ENGINE,OPTION`).
pub fn engines_help(name: Option<&str>) -> Result<String, String> {
    let Some(name) = name else {
        let mut text = String::from("Available IO engines:\n");
        for engine in ENGINES {
            let _ = writeln!(text, "\t{}", engine.word());
        }
        return Ok(text);
    };
    let (engine, option) = name.split_once(',').map_or((name, None), |(engine, option)| (engine, Some(option)));
    if !ENGINES.iter().any(|known| known.word() == engine) {
        return Err(format!("--enghelp: there is no engine '{}'; --enghelp lists them", engine.escape_debug()));
    }
    let mut own = options().filter(|row| row.engines.contains(&engine));
    match option {
        None => Ok(own.map(line).collect()),
        Some(option) => own.find(|row| row.name == option || row.alias == Some(option)).map(cmdhelp).ok_or_else(|| {
            format!("--enghelp: the engine {engine} has no option '{}'", option.escape_debug())
        }),
    }
}

/// Prints an answer, or why there is none.
pub fn answer(program: &str, text: Result<String, String>, refused: Outcome) -> Outcome {
    match text {
        Ok(text) => say(&text),
        Err(problem) => {
            complain!("{program}: {problem}");
            refused
        }
    }
}
