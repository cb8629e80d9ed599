//! The suite of measurements: what only real hardware can show, and no other load may disturb. `cargo xtask measure` runs it.
//!
//! Each scene is attempted at least 20 times, alone and in order, and judged by all its attempts: none is repeated because it failed.
//! Whether an attempt was disturbed is decided by what the kernel says about other load, never by its outcome or by fathom.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "this program prints a table, and figures beside it"
)]

mod app;
#[path = "../it/app/support.rs"]
#[allow(dead_code, reason = "the gate uses the rest")]
mod app_support;
mod blame;
mod causes;
#[path = "../it/common/mod.rs"]
#[allow(dead_code, reason = "the gate uses the rest")]
mod common;
mod corpus;
mod device;
mod device_time;
mod devices;
mod experiments;
mod findings;
mod hosts;
mod instructions;
mod kills;
mod known_answers;
mod limits;
mod machine;
mod overhead;
mod pacing;
#[path = "../it/peer/mod.rs"]
#[allow(dead_code, reason = "the gate uses the rest")]
mod peer;
mod quick;
mod ready;
mod replay;
mod round_trip;
mod scene;
mod serve;
#[path = "../it/serve/support.rs"]
#[allow(dead_code, reason = "the gate uses the rest")]
mod serve_support;
mod staged;
mod stall;
mod table;
#[path = "../../../../fuzz/src/targets.rs"]
#[allow(dead_code, reason = "the fuzzer calls the targets by their names")]
mod targets;
mod why;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use scene::{Judged, MIN_ATTEMPTS, Scene, judge};

/// All scenes, in the order in which they run.
const SCENES: [&[Scene]; 24] = [
    known_answers::SCENES,
    stall::SCENES,
    findings::SCENES,
    blame::SCENES,
    limits::SCENES,
    staged::SCENES,
    devices::SCENES,
    quick::SCENES,
    experiments::SCENES,
    device_time::SCENES,
    kills::SCENES,
    round_trip::SCENES,
    pacing::SCENES,
    ready::SCENES,
    hosts::SCENES,
    replay::SCENES,
    app::SCENES,
    serve::SCENES,
    device::SCENES,
    instructions::SCENES,
    corpus::SCENES,
    overhead::SCENES,
    why::SCENES,
    causes::SCENES,
];
/// The arguments of the program.
struct Arguments {
    filter: String,
    attempts: u32,
    markdown: Option<PathBuf>,
    is_list: bool,
}

fn arguments() -> Result<Arguments, String> {
    let mut parsed = Arguments {
        filter: String::new(),
        attempts: MIN_ATTEMPTS,
        markdown: None,
        is_list: false,
    };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or(format!("{word} needs a value"));
        match word.as_str() {
            "--attempts" => {
                let text = value()?;
                parsed.attempts = text.parse().map_err(|_| format!("--attempts {text}"))?;
            }
            "--markdown" => parsed.markdown = Some(PathBuf::from(value()?)),
            "--list" => parsed.is_list = true,
            other if other.starts_with('-') => return Err(format!("unknown option {other}")),
            other => parsed.filter = other.to_owned(),
        }
    }
    Ok(parsed)
}

fn main() -> ExitCode {
    let arguments = match arguments() {
        Ok(arguments) => arguments,
        Err(why) => {
            println!(
                "{why}\nusage: cargo xtask measure [FILTER] [--attempts N] [--markdown FILE] [--list]"
            );
            return ExitCode::from(2);
        }
    };
    let all = SCENES.into_iter().flatten();
    let chosen: Vec<&Scene> = all
        .filter(|scene| scene.name.contains(&arguments.filter))
        .collect();
    if arguments.is_list || chosen.is_empty() {
        chosen.iter().for_each(|scene| println!("{}", scene.name));
        return ExitCode::from(if chosen.is_empty() { 2 } else { 0 });
    }
    std::panic::set_hook(Box::new(|_| {}));
    let mut judged = Vec::new();
    for scene in chosen {
        let result = judge(scene, arguments.attempts);
        println!("{}", table::line(&result));
        result.reasons.iter().for_each(|why| println!("    {why}"));
        judged.push(result);
        // What was measured is kept, also where the suite does not end.
        if let Some(path) = &arguments.markdown
            && let Err(error) = write_page(path, &judged)
        {
            println!("{}: {error}", path.display());
            return ExitCode::from(2);
        }
    }
    println!("\n{}", table::text(&judged));
    ExitCode::from(u8::from(!judged.iter().all(scene::Judged::has_passed)))
}

/// Writes these scenes into the page, which keeps those of earlier measurements on the same machine.
fn write_page(path: &Path, judged: &[Judged]) -> std::io::Result<()> {
    let order: Vec<&str> = SCENES.into_iter().flatten().map(|one| one.name).collect();
    let before = std::fs::read_to_string(path).unwrap_or_default();
    std::fs::write(path, table::page(judged, &order, &before))
}
