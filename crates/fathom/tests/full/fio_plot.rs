//! bench-fio runs fathom in place of fio, and fio-plot draws its results. Both come from the Python package index.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::{FATHOM, run_tool, split_args};
use fathom_testkit::{Scratch, skip};

/// The tested release of fio-plot.
const FIO_PLOT: &str = "fio-plot==1.1.21";

/// fio-plot in a virtual environment below the target directory, created once; or why it is
/// unavailable.
fn fio_plot() -> Result<PathBuf, String> {
    let venv = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fio-plot");
    let bin = venv.join("bin");
    if bin.join("fio-plot").exists() && bin.join("bench-fio").exists() {
        return Ok(bin);
    }
    run_tool(
        Command::new("python3")
            .args(["-m", "venv", "--clear"])
            .arg(&venv),
    )?;
    run_tool(Command::new(bin.join("pip")).args([
        "install",
        "--quiet",
        "--disable-pip-version-check",
        FIO_PLOT,
    ]))?;
    Ok(bin)
}

/// Runs bench-fio over a small matrix with fathom in place of fio.
fn bench(bin: &Path, scratch: &Scratch, output: &str) {
    let fio = scratch.join("bin");
    let data = scratch.join(format!(
        "data-of-{}",
        scratch
            .path()
            .file_name()
            .expect("a name")
            .to_string_lossy()
    ));
    for directory in [&fio, &data] {
        std::fs::create_dir_all(directory).expect("created");
    }
    let _ = symlink(FATHOM, fio.join("fio"));
    let path = std::env::var("PATH").unwrap_or_default();
    let mut command = Command::new(bin.join("bench-fio"));
    command
        .env("PATH", format!("{}:{path}", fio.display()))
        .arg("--target")
        .arg(&data);
    command.args(split_args(
        "--type directory --size 8m --runtime 2 --time-based --iodepth 1 4 --numjobs 1 2 --mode randread randrw \
         --rwmixread 75 --destructive --quiet",
    ));
    let message = run_tool(command.arg("--output").arg(scratch.join(output)))
        .unwrap_or_else(|error| panic!("{error}"));
    assert!(!message.contains("error"), "{message}");
    // bench-fio leaves its job file in /tmp, named after the target.
    let left = format!(
        "/tmp/{}-tmpjobfile.fio",
        data.file_name().expect("a name").to_string_lossy()
    );
    let _ = std::fs::remove_file(left);
}

fn result_directory(directory: &Path, name: &str) -> PathBuf {
    let entries = std::fs::read_dir(directory)
        .unwrap_or_else(|error| panic!("{}: {error}", directory.display()));
    for entry in entries.map(|entry| entry.expect("readable").path()) {
        if entry.is_dir() {
            return mode_directory(&entry, name);
        }
    }
    panic!("no directory in {}", directory.display())
}

/// The result directory of one mode: `<output>/<target>/4k` or `<output>/<target>/randrw75/4k`.
fn mode_directory(target: &Path, name: &str) -> PathBuf {
    if name == "randrw" {
        target.join("randrw75/4k")
    } else {
        target.join("4k")
    }
}

/// Every chart that fio-plot can draw of one benchmark: its name and its options.
const CHARTS: [(&str, &str); 10] = [
    ("3d-iops", "-L -t iops -r randread"),
    ("3d-latency", "-L -t lat -r randread"),
    ("depths", "-l -n 1 -d 1 4 -r randread --show-cpu"),
    ("jobs", "-N -n 1 2 -d 4 -r randread --show-data"),
    ("histogram", "-H -n 2 -d 4 -r randread"),
    ("logs", "-g -n 1 2 -d 1 4 -r randread -t bw iops clat"),
    ("latency-logs", "-g -n 2 -d 4 -r randread -t slat lat"),
    (
        "mixed-logs",
        "-g -n 2 -d 4 -r randrw -t iops lat -f read write",
    ),
    ("mixed-reads", "-l -n 1 -d 1 4 -r randrw -f read"),
    ("mixed-writes", "-l -n 1 -d 1 4 -r randrw -f write"),
];

#[test]
fn bench_fio_runs_fathom_and_fio_plot_draws_every_picture() {
    let bin = match fio_plot() {
        Ok(bin) => bin,
        Err(why) => return skip(&format!("{FIO_PLOT} is unavailable: {why}")),
    };
    let scratch = Scratch::new().expect("a directory on a disk");
    bench(&bin, &scratch, "one");
    bench(&bin, &scratch, "two");
    for (name, options) in CHARTS {
        let mode = if options.contains("randrw") {
            "randrw"
        } else {
            "randread"
        };
        draw(
            &bin,
            &scratch,
            name,
            options,
            &[result_directory(&scratch.join("one"), mode)],
        );
    }
    let both = ["one", "two"].map(|output| result_directory(&scratch.join(output), "randread"));
    draw(
        &bin,
        &scratch,
        "compared",
        "-C -n 1 -d 4 -r randread --show-cpu",
        &both,
    );
}

fn draw(bin: &Path, scratch: &Scratch, name: &str, options: &str, inputs: &[PathBuf]) {
    let image = scratch.join(format!("{name}.png"));
    let mut command = Command::new(bin.join("fio-plot"));
    command
        .current_dir(scratch.path())
        .arg("-i")
        .args(inputs)
        .args(split_args(options));
    command.args(["-T", name]).arg("-o").arg(&image);
    let message = run_tool(&mut command).unwrap_or_else(|error| panic!("{name}: {error}"));
    assert!(image.is_file(), "{name}: no image: {message}");
    // A blank image has one colour; one with only a title has shades of grey.
    let script = "import sys; from PIL import Image; i = Image.open(sys.argv[1]).convert('RGB'); \
                c = [c for n, c in i.getcolors(1 << 24) if n > 50 and max(c) - min(c) > 40]; print(*i.size, len(c))";
    let seen = run_tool(
        Command::new(bin.join("python"))
            .args(["-c", script])
            .arg(&image),
    );
    let seen = seen.unwrap_or_else(|error| panic!("{name}: {error}"));
    let numbers: Vec<u32> = seen
        .split_whitespace()
        .map(|n| n.parse().expect("a number"))
        .collect();
    assert!(
        numbers[0] > 800 && numbers[1] > 400 && numbers[2] >= 1,
        "{name}: width, height, colours: {numbers:?}"
    );
    let _ = std::env::var_os("FATHOM_KEEP")
        .map(|directory| std::fs::copy(&image, Path::new(&directory).join(format!("{name}.png"))));
}
