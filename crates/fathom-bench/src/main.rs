//! Compares fathom and fio: the same jobs in alternating pairs, medians, ranges and goals.
//!
//! ```text
//! cargo run --release -p fathom-bench -- null disk --pairs 5 --seconds 5 --markdown docs/benchmarks.md
//! ```
//!
//! runs the cases `null` and `disk` and writes the page of results; `--help` lists all cases.
#![forbid(unsafe_code)]
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a development tool that prints its results"
)]

mod cases;
mod context;
mod instructions;
mod machine;
mod pairs;
mod row;
mod sample;
mod sampled;
mod table;
mod target;
mod tool;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use self::cases::{CASES, CLEAN, Case};
use self::context::Context;
use self::machine::Machine;
use self::row::Row;

/// The parsed command line.
struct Arguments {
    cases: Vec<String>,
    pairs: usize,
    seconds: u64,
    markdown: Option<PathBuf>,
    directory: Option<PathBuf>,
    program: Option<PathBuf>,
}

fn main() -> ExitCode {
    let outcome = arguments(std::env::args().skip(1)).and_then(|arguments| match arguments {
        Some(arguments) => compare(&arguments),
        None => {
            help();
            Ok(ExitCode::SUCCESS)
        }
    });
    outcome.unwrap_or_else(|message| {
        eprintln!("fathom-bench: {message}");
        ExitCode::from(2)
    })
}

/// Hand-written notes for the page `docs/benchmarks.md` are in `docs/benchmarks-notes.md`.
fn notes(page: &Path) -> Result<String, String> {
    let name = page
        .file_stem()
        .map(|stem| format!("{}-notes.md", stem.to_string_lossy()))
        .unwrap_or_default();
    match std::fs::read_to_string(page.with_file_name(name)) {
        Ok(text) => Ok(format!("\n{text}")),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(String::new()),
        Err(error) => Err(format!("the notes of {}: {error}", page.display())),
    }
}

/// `None` requests the help text.
fn arguments(mut args: impl Iterator<Item = String>) -> Result<Option<Arguments>, String> {
    let mut arguments = Arguments {
        cases: Vec::new(),
        pairs: 5,
        seconds: 5,
        markdown: None,
        directory: None,
        program: None,
    };
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or_else(|| format!("{arg} needs a value"));
        match arg.as_str() {
            "--help" | "-h" => return Ok(None),
            "--pairs" => arguments.pairs = number(&value()?)? as usize,
            "--seconds" => arguments.seconds = number(&value()?)?,
            "--markdown" => arguments.markdown = Some(value()?.into()),
            "--program" => arguments.program = Some(value()?.into()),
            "--dir" => arguments.directory = Some(value()?.into()),
            name if known(name) => arguments.cases.push(arg),
            _ => {
                return Err(format!("unknown case or option '{arg}'; --help lists them"));
            }
        }
    }
    Ok(Some(arguments))
}

/// All cases, including those that run only when they are named.
fn cases() -> impl Iterator<Item = &'static Case> {
    CASES.iter().chain([&CLEAN])
}

fn known(name: &str) -> bool {
    name == instructions::NAME || cases().any(|case| case.name == name)
}

fn number(text: &str) -> Result<u64, String> {
    text.parse()
        .ok()
        .filter(|n| *n > 0)
        .ok_or_else(|| format!("invalid number '{text}'; use 1 or more"))
}

fn help() {
    println!(
        "usage: fathom-bench [CASE...] [--pairs N] [--seconds S] [--dir DIRECTORY] [--markdown FILE] [--program FILE]\n"
    );
    println!(
        "Without CASE all cases run except `{}` and `{}`. DIRECTORY must be on the disk to measure.\n\
         FILE is the fathom to measure, such as target/packages/fathom; by default it is built with the profile of this program.\n",
        instructions::NAME,
        CLEAN.name
    );
    cases().for_each(|case| println!("  {:<12} {}", case.name, case.about));
    println!("  {:<12} {}", instructions::NAME, instructions::ABOUT);
}

fn compare(arguments: &Arguments) -> Result<ExitCode, String> {
    let context = Context::new(
        arguments.pairs,
        arguments.seconds,
        arguments.directory.clone(),
        arguments.program.clone(),
    )?;
    if arguments
        .cases
        .iter()
        .any(|name| name == instructions::NAME)
    {
        return instructions::guard(&context.tools);
    }
    let before = machine::load_average();
    let mut rows = Vec::new();
    let all = arguments.cases.is_empty();
    for case in cases().filter(|case| {
        if all {
            case.name != CLEAN.name
        } else {
            arguments.cases.iter().any(|n| n == case.name)
        }
    }) {
        eprintln!("fathom-bench: {}: {}", case.name, case.about);
        let found =
            (case.run)(&context).unwrap_or_else(|reason| vec![Row::missing(case.about, reason)]);
        rows.extend(found.into_iter().map(|row| (case.name, row)));
    }
    let machine = Machine::inspect(&context, &before);
    print!("{}", table::text(&machine, &rows));
    if let Some(path) = &arguments.markdown {
        let page = table::markdown(&machine, &rows) + &notes(path)?;
        std::fs::write(path, page).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_ends_with_its_notes() {
        let directory =
            std::env::temp_dir().join(format!("fathom-bench-notes-{}", std::process::id()));
        std::fs::create_dir(&directory).expect("new");
        let page = directory.join("page.md");
        assert_eq!(notes(&page), Ok(String::new()));
        std::fs::write(directory.join("page-notes.md"), "## Why\n").expect("disk space");
        assert_eq!(notes(&page), Ok("\n## Why\n".to_owned()));
        std::fs::remove_dir_all(&directory).expect("ours");
    }
}
