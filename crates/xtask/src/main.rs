//! Generates files of the repository from the table of commands, and builds the packages.
//!
//! ```text
//! cargo xtask man       # writes the man pages of all commands to man/
//! cargo xtask docs      # writes docs/reference/commands.md
//! cargo xtask gallery   # draws docs/gallery from the results in FATHOM_RESULTS
//! cargo xtask dist      # builds the static program
//! cargo xtask tarball   # packs it with its documentation
//! cargo xtask deb       # a Debian package (needs cargo-deb)
//! cargo xtask image     # a container image (needs buildah)
//! cargo xtask diagnosis # how often the diagnosis is right: [--seed N] [--scenes N] [--markdown FILE] [--verbose]
//! cargo xtask measure   # runs the suite of measurements: [FILTER] [--attempts N] [--markdown FILE], or mutants [--seed N]
//! ```
#![forbid(unsafe_code)]
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program for the terminal"
)]

mod diagnosis;
mod dist;
mod gallery;
mod man;
mod measure;
mod mutants;
mod reference;

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let written = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["man"] => man::write().map(|count| format!("{count} pages are up to date")),
        ["docs"] => reference::write().map(|count| format!("{count} pages are up to date")),
        ["gallery"] => gallery::write().map(|count| format!("{count} files are up to date")),
        ["dist"] => dist::build(),
        ["tarball"] => dist::tarball(),
        ["deb"] => dist::deb(),
        ["image"] => dist::image(),
        ["measure", ref options @ ..] => measure::run(options),
        ["diagnosis", ref options @ ..] => diagnosis::run(options),
        _ => {
            eprintln!(
                "usage: cargo xtask man|docs|gallery|dist|tarball|deb|image|measure|diagnosis"
            );
            return ExitCode::from(2);
        }
    };
    match written {
        Ok(message) => {
            println!("{message}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("xtask: {error}");
            ExitCode::FAILURE
        }
    }
}
