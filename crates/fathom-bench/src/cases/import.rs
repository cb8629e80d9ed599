//! fio results and their logs, imported and plotted: against fio-plot on the same directory.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::context::Context;
use crate::pairs::alternate;
use crate::row::{Goal, Row};
use crate::tool::{Tool, time};

/// 98 results and 2,240 logs of one device, 10 MB; and an array with logs of 64 jobs.
const GRID: &str = "fio-results/intel-d3-s4610-hba";
const ARRAY: &str = "fio-results/raid5-8x2tb-md";
/// The goal is at most this part of the peer's time per picture.
const FIFTIETH: Goal = Goal::RatioAtMost(0.02);

pub fn run(context: &Context) -> Result<Vec<Row>, String> {
    copy_results(context)?;
    let peer = fio_plot(context)?;
    let bars = ["-l", "-r", "randwrite", "-n", "1", "-T", "bench"];
    let lines = [
        "-g", "-r", "randread", "-t", "iops", "-d", "64", "-n", "64", "-T", "bench",
    ];
    let cubes = ["-L", "-r", "randread", "-t", "iops", "-T", "bench"];
    let jobs = [
        "-N", "-r", "randread", "-d", "1", "-n", "1", "2", "4", "8", "16", "32", "64", "-T",
        "bench",
    ];
    let spread = ["-H", "-r", "randread", "-d", "16", "-n", "1", "-T", "bench"];
    let ours_bars = ["--chart=depth", "--rw=randwrite", "--jobs=1"];
    let ours_lines = ["--chart=time", "--rw=randread", "--depth=64", "--jobs=64"];
    let ours_jobs = ["--chart=jobs", "--rw=randread", "--depth=1"];
    let ours_cubes = ["--chart=3d", "--rw=randread"];
    let ours_spread = [
        "--chart=distribution",
        "--rw=randread",
        "--depth=16",
        "--jobs=1",
    ];
    let mut rows = Vec::new();
    for (what, directory, ours, theirs) in [
        (
            "bars by depth of 98 results beside 2,240 logs",
            GRID,
            &ours_bars[..],
            &bars[..],
        ),
        (
            "IOPS over time of 64 jobs",
            ARRAY,
            &ours_lines[..],
            &lines[..],
        ),
        ("bars by jobs", GRID, &ours_jobs[..], &jobs[..]),
        (
            "bars in three dimensions",
            GRID,
            &ours_cubes[..],
            &cubes[..],
        ),
        (
            "distribution of latencies",
            GRID,
            &ours_spread[..],
            &spread[..],
        ),
    ] {
        for form in ["png", "svg", "html"] {
            rows.extend(drawn(
                context,
                &peer,
                &format!("{what}: {form}"),
                directory,
                (ours, theirs),
                form,
            )?);
        }
    }
    rows.push(imported(context)?);
    Ok(rows)
}

/// One chart, by both programs from the same files: time from start to end, and CPU time.
fn drawn(
    context: &Context,
    peer: &Path,
    what: &str,
    directory: &str,
    (ours, theirs): (&[&str], &[&str]),
    form: &str,
) -> Result<[Row; 2], String> {
    let picture = |tool| {
        context.directory.path().join(format!(
            "chart.{}",
            if tool == Tool::Fathom { form } else { "png" }
        ))
    };
    let one = |tool| {
        let (program, args, flags) = match tool {
            Tool::Fathom => (
                context.tools.fathom.as_path(),
                &["plot", directory, "-o"],
                ours,
            ),
            Tool::Fio => (peer, &["-i", directory, "-o"], theirs),
        };
        let _ = std::fs::remove_file(picture(tool));
        let mut command = Command::new(program);
        command.args(args).arg(picture(tool)).args(flags);
        let figures = quietly(context, command)?;
        picture(tool)
            .exists()
            .then_some(figures)
            .ok_or_else(|| format!("{tool:?} wrote no chart"))
    };
    let (ours, theirs) = alternate(context.pairs, one)?;
    let note = if form == "png" {
        "the same format on both sides"
    } else {
        "fio-plot draws a PNG"
    };
    let row = |what: String, of: fn(&[f64; 2]) -> f64, goal| {
        let figures = (
            ours.iter().map(of).collect(),
            theirs.iter().map(of).collect(),
        );
        Row::new(what, "ms", figures, goal)
            .peer("fio-plot")
            .note(note)
    };
    Ok([
        row(what.to_owned(), |taken| taken[0], FIFTIETH),
        row(format!("{what}, all CPU"), |taken| taken[1], Goal::None),
    ])
}

/// CPU time to read the whole directory, logs included, per 10 MB.
fn imported(context: &Context) -> Result<Row, String> {
    let megabytes = bytes_in(&context.directory.path().join(GRID)) as f64 / 1e6;
    let one = || {
        let mut command = Command::new(&context.tools.fathom);
        command.args(["import", GRID, "--no-store"]);
        Ok(quietly(context, command)?[1] / megabytes * 10.0)
    };
    let taken = (0..context.pairs)
        .map(|_| one())
        .collect::<Result<Vec<f64>, String>>()?;
    let what = format!("98 results and 2,240 logs ({megabytes:.1} MB) imported: CPU for 10 MB");
    Ok(Row::new(what, "ms", (taken, Vec::new()), Goal::OursAtMost(1000.0)).peer("-"))
}

/// Milliseconds from start to end, and of CPU time.
fn quietly(context: &Context, mut command: Command) -> Result<[f64; 2], String> {
    command
        .current_dir(context.directory.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let run = time(command)?;
    Ok([
        run.wall.as_secs_f64() * 1e3,
        (run.user_us + run.system_us) / 1e3,
    ])
}

fn bytes_in(directory: &Path) -> u64 {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    entries
        .filter_map(|entry| entry.metadata().ok())
        .filter(std::fs::Metadata::is_file)
        .map(|file| file.len())
        .sum()
}

/// Copies the results of real devices from the directory that `FATHOM_RESULTS` names.
fn copy_results(context: &Context) -> Result<(), String> {
    let Some(from) = std::env::var_os("FATHOM_RESULTS").filter(|name| !name.is_empty()) else {
        return Err("FATHOM_RESULTS names no directory with results of fio".to_owned());
    };
    let mut copy = Command::new("cp");
    copy.arg("-r")
        .arg(Path::new(&from).join("fio-results"))
        .arg(context.directory.path());
    done(copy, "cp")
}

/// The installed fio-plot, or one that is installed in a virtual environment for the duration of
/// the benchmark.
fn fio_plot(context: &Context) -> Result<PathBuf, String> {
    let installed = Command::new("fio-plot")
        .arg("--help")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    if installed.is_ok_and(|status| status.success()) {
        return Ok("fio-plot".into());
    }
    let directory = std::fs::canonicalize(context.directory.path())
        .map_err(|error| error.to_string())?
        .join("venv");
    let mut python = Command::new("python3");
    python.args(["-m", "venv"]).arg(&directory);
    done(python, "python3 -m venv")?;
    let mut pip = Command::new(directory.join("bin/pip"));
    pip.args([
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "fio-plot",
    ]);
    done(pip, "pip install fio-plot")?;
    Ok(directory.join("bin/fio-plot"))
}

fn done(mut command: Command, what: &str) -> Result<(), String> {
    let output = command
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("{what}: {error}"))?;
    let message = String::from_utf8_lossy(&output.stderr);
    if output.status.success() {
        Ok(())
    } else {
        Err(format!(
            "{what}: {}",
            message.lines().last().unwrap_or("failed")
        ))
    }
}
