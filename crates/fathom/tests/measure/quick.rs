//! `fathom quick` as users call it.

use crate::common::{program, split_args};
use crate::scene::Scene;
use fathom_testkit::Scratch;
use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::time::{Duration, Instant};

pub const SCENES: &[Scene] = &[Scene::check(
    "the first figure appears within three seconds",
    &[],
    the_first_figure_appears_within_three_seconds,
)];

fn quick(rest: &str) -> Vec<String> {
    split_args(&format!("quick {rest}"))
}

/// The first figure is on the screen within three seconds, before the file is laid out.
fn the_first_figure_appears_within_three_seconds() -> Result<(), String> {
    let scratch = Scratch::new().expect("a directory");
    let mut command = program(quick(&format!(
        "{} --runtime=60s",
        scratch.path().display()
    )));
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    let started = Instant::now();
    let mut child = command.spawn().expect("it starts");
    let lines = BufReader::new(child.stderr.take().expect("a pipe")).lines();
    let line = lines
        .map_while(Result::ok)
        .find(|line| line.contains("first look: 4 KiB random reads") && line.contains("IOPS"));
    let first = started.elapsed();
    let pid = rustix::process::Pid::from_raw(child.id() as i32).expect("a number");
    rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("it exists");
    child.wait().expect("it ends");
    if line.is_none() || first >= Duration::from_secs(3) {
        return Err(format!("{line:?} after {first:?}"));
    }
    assert_eq!(
        std::fs::read_dir(scratch.path())
            .expect("the directory")
            .count(),
        0,
        "the file is removed"
    );
    Ok(())
}
