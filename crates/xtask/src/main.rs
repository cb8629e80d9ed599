//! Generates files of the repository from the table of commands.
//!
//! ```text
//! cargo xtask man     # writes the man pages of all commands to man/
//! cargo xtask docs    # writes docs/reference/commands.md
//! ```
#![forbid(unsafe_code)]
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program for the terminal"
)]

mod man;
mod reference;

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let written = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["man"] => man::write(),
        ["docs"] => reference::write(),
        _ => {
            eprintln!("usage: cargo xtask man|docs");
            return ExitCode::from(2);
        }
    };
    match written {
        Ok(count) => {
            println!("{count} pages are up to date");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("xtask: {error}");
            ExitCode::FAILURE
        }
    }
}
