//! Features that sweeps, searches and suites share: events, storing, stopping and resuming.

use crate::common;
use std::path::{Path, PathBuf};

use crate::common::{Completed, Json, fathom, program, split_args, start, wait_until};
use fathom_store::{CellState, Store, StoredCell};
use fathom_testkit::{FsKind, LoopDevice, LoopOptions, Mount, Scratch, require};
use rustix::process::Signal;
use serde_json::Value;

/// A directory with a job file for the null engine, and a store.
struct Fixture(Scratch);

impl Fixture {
    fn new(seconds: &str) -> Fixture {
        let scratch = Scratch::new().expect("a directory");
        let text = format!(
            "[paced]\nioengine=null\nsize=1g\nrw=randread\nbs=4k\nrate_iops=2000\ntime_based\nruntime={seconds}\n"
        );
        std::fs::write(scratch.join("paced.fio"), text).expect("a file");
        Fixture(scratch)
    }

    fn store_path(&self) -> PathBuf {
        self.0.join("store.db")
    }

    /// A command in the directory, with its store.
    fn command(&self, line: &str) -> std::process::Command {
        let mut command = program(split_args(line));
        command
            .current_dir(self.0.path())
            .env("FATHOM_STORE", self.store_path());
        command
    }

    fn run(&self, line: &str) -> Completed {
        start(self.command(line)).finish()
    }

    fn cells(&self) -> Vec<StoredCell> {
        cells(&self.store_path())
    }
}

/// Cells of the first run of a store.
fn cells(store_path: &Path) -> Vec<StoredCell> {
    let Ok(mut store) = Store::open_existing(store_path) else {
        return Vec::new();
    };
    let run = store.run("r1").map(|run| run.id);
    run.and_then(|run| store.cells(run)).unwrap_or_default()
}

fn finished(store_path: &Path) -> usize {
    cells(store_path)
        .iter()
        .filter(|cell| cell.state == CellState::Finished)
        .count()
}

fn parse_events(text: &str) -> Vec<Value> {
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect()
}

/// Every kind of experiment writes the same events, and nothing else is on the standard output.
#[test]
fn searches_and_suites_write_events() {
    let fixture = Fixture::new("200ms");
    std::fs::write(
        fixture.0.join("load.fio"),
        "[load]\nioengine=null\nsize=1g\nrw=randread\nbs=4k\n",
    )
    .expect("a file");
    let steps = "[[step]]\nname = \"two\"\naxes = [\"bs=4k,8k\"]\ntime = \"200ms\"\noptions = { rw = \"randread\", rate_iops = 500, ioengine = \"null\" }\n";
    std::fs::write(
        fixture.0.join("mine.toml"),
        format!("schema = 1\nname = \"mine\"\ntitle = \"My own\"\n{steps}"),
    )
    .expect("a recipe");
    for (kind, line, least) in [
        ("sweep", "sweep paced.fio --axis bs=4k,8k --events=-", 2),
        ("search", "search load.fio --runtime=100ms --events=-", 16),
        ("suite", "suite mine . --suites=. --size=16m --events=-", 2),
    ] {
        let ran = fixture.run(line);
        let events = parse_events(&ran.out);
        let of = |name: &str| events.iter().filter(|event| event["event"] == name).count();
        assert_eq!(
            (events[0]["event"].as_str(), events[0]["kind"].as_str()),
            (Some("begin"), Some(kind)),
            "{}\n{}",
            ran.out,
            ran.err
        );
        assert!(
            of("done") >= least && of("cell") == of("done"),
            "{kind}: {}",
            ran.out
        );
        let last = events.last().expect("an end");
        assert_eq!(
            (last["event"].as_str(), last["outcome"].as_str()),
            (Some("end"), Some("done")),
            "{kind}: {}",
            ran.out
        );
        for (more, why) in [
            ("--json", "cannot both go to standard output"),
            ("--watch", "--watch needs a terminal"),
        ] {
            let refused = fixture.run(&format!("{line} {more}")).expect(2);
            assert!(refused.err.contains(why), "{kind} {more}: {}", refused.err);
        }
    }
}

/// Regression 0518: a file for events that could not be written left an empty run in the store.
#[test]
fn unwritable_events_start_no_run() {
    let fixture = Fixture::new("200ms");
    let steps = "[[step]]\nname = \"one\"\ntime = \"200ms\"\noptions = { rw = \"randread\", rate_iops = 500, ioengine = \"null\" }\n";
    std::fs::write(
        fixture.0.join("mine.toml"),
        format!("schema = 1\nname = \"mine\"\ntitle = \"My own\"\n{steps}"),
    )
    .expect("a recipe");
    std::fs::write(
        fixture.0.join("load.fio"),
        "[load]\nioengine=null\nsize=1g\nrw=randread\nbs=4k\n",
    )
    .expect("a file");
    for line in [
        "sweep paced.fio --axis bs=4k,8k",
        "search load.fio --runtime=100ms",
        "suite mine . --suites=. --size=16m",
    ] {
        let refused = fixture
            .run(&format!("{line} --events=no/such/directory"))
            .expect(2);
        assert!(
            refused.err.contains("--events: "),
            "{line}: {}",
            refused.err
        );
        assert!(!fixture.store_path().exists(), "{line}: a run was stored");
    }
    assert!(!fixture.0.join("no").exists());
}

/// Regression 0233: `show` of a suite printed neither the step of a cell nor its metrics if the
/// first cell had different ones.
#[test]
fn a_stored_experiment_shows_the_figures_of_its_table() {
    let fixture = Fixture::new("100ms");
    let step = |name: &str, rw: &str| {
        format!(
            "[[step]]\nname = \"{name}\"\naxes = [\"bs=4k,8k\"]\noptions = {{ rw = \"{rw}\", rate_iops = 500, ioengine = \"null\" }}\n"
        )
    };
    let text = format!(
        "schema = 1\nname = \"mine\"\ntitle = \"My own\"\ntime = \"200ms\"\n{}{}",
        step("reads", "randread"),
        step("writes", "randwrite")
    );
    std::fs::write(fixture.0.join("mine.toml"), text).expect("a recipe");
    let json: Value =
        serde_json::from_str(&fixture.run("suite mine . --suites=. --size=16m --json").out)
            .expect("a result");
    let shown = fixture.run("show r1").expect(0).out;
    let export: Value =
        serde_json::from_str(&fixture.run("export r1 --format=json").out).expect("JSON");
    for (cell, (step, bs)) in [
        ("reads", "4k"),
        ("reads", "8k"),
        ("writes", "4k"),
        ("writes", "8k"),
    ]
    .into_iter()
    .enumerate()
    {
        assert!(shown.contains(&format!("{step} bs={bs}")), "{shown}");
        let events = json
            .pointer(&format!(
                "/steps/{}/result/cells/{}/iops",
                cell / 2,
                cell % 2
            ))
            .and_then(Value::as_f64)
            .expect("a rate");
        let figures = &export["runs"][0]["cells"][cell]["figures"];
        assert!(
            (figures["iops"].as_f64().expect("a rate") - events).abs() < 1e-3,
            "{events} {figures:#}"
        );
        assert!(figures["p99"].as_f64().is_some(), "{figures:#}");
    }
    let head = shown
        .lines()
        .find(|line| line.starts_with("CELL"))
        .expect("a head");
    assert!(
        ["cell", "bs", "iops", "bandwidth", "p99"]
            .iter()
            .all(|name| head.contains(name)),
        "{head}"
    );
}

/// A sweep whose time budget is spent resumes with more time: the rest is measured, and no cell
/// twice.
#[test]
fn a_sweep_with_a_spent_budget_resumes_with_more_time() {
    let fixture = Fixture::new("300ms");
    let ran = fixture.run("sweep paced.fio --axis iodepth=1..32*2 --budget=1s --set=runtime=300ms");
    assert!(
        ran.err.contains("the budget is used up")
            && ran
                .err
                .contains("resume with `fathom resume r1 --budget=TIME`"),
        "{}",
        ran.err
    );
    let first = finished(&fixture.store_path());
    assert!((1..6).contains(&first), "{first} cells in a second");
    let again = fixture.run("resume");
    assert!(again.err.contains("the budget is used up"), "{}", again.err);
    assert_eq!(
        finished(&fixture.store_path()),
        first,
        "there was no time left"
    );
    let ran = fixture.run("resume r1 --budget=1m --events=-");
    let events = parse_events(&ran.out);
    assert_eq!(
        events
            .iter()
            .filter(|event| event["event"] == "done")
            .count(),
        6 - first,
        "no cell twice: {}",
        ran.out
    );
    assert_eq!(finished(&fixture.store_path()), 6);
    assert!(
        fixture
            .run("resume r1 --budget=1m")
            .expect(2)
            .err
            .contains("r1 is finished")
    );
}

/// Regression 0412: a sweep that was started with `--watch` could not be resumed without a terminal. A resumed run takes no
/// display option from the interrupted one. `q` ends the view as Ctrl-C does.
#[test]
fn a_watched_sweep_is_quit_and_resumes_without_a_terminal() {
    let fixture = Fixture::new("1s");
    let has_script = std::process::Command::new("script")
        .arg("--version")
        .output();
    if has_script.is_err() {
        return fathom_testkit::skip("script of util-linux is not installed");
    }
    let mut child = std::process::Command::new("script")
        .args([
            "-qec",
            &format!(
                "stty rows 15 cols 40; {} sweep paced.fio --axis bs=4k,8k,16k --watch --quiet --events=old.jsonl",
                common::FATHOM
            ),
            "/dev/null",
        ])
        .current_dir(fixture.0.path())
        .env("FATHOM_STORE", fixture.store_path())
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::null())
        .spawn()
        .expect("it starts");
    common::wait_until("a cell is finished", || finished(&fixture.store_path()) > 0);
    std::io::Write::write_all(&mut child.stdin.as_ref().expect("a pipe"), b"q").expect("typed");
    assert_eq!(child.wait().expect("it ends").code(), Some(130));
    let first = finished(&fixture.store_path());
    assert!((1..3).contains(&first), "{first}");
    let events = std::fs::read(fixture.0.join("old.jsonl")).expect("events");
    let ran = fixture.run("resume").expect(0);
    assert!(ran.err.contains("3/3 bs="), "{}", ran.err);
    assert!(ran.out.contains("bs"), "{}", ran.out);
    assert_eq!(finished(&fixture.store_path()), 3);
    assert_eq!(
        std::fs::read(fixture.0.join("old.jsonl")).expect("events"),
        events
    );
}

/// Regression 0410: piped text was 80 columns wide, whatever was asked for.
#[test]
fn piped_text_has_the_width_asked_for() {
    let fixture = Fixture::new("200ms");
    fixture.run("sweep paced.fio --axis bs=4k,8k").expect(0);
    let columns = |line: &str, columns: Option<&str>| {
        let mut command = fixture.command(line);
        if let Some(columns) = columns {
            command.env("COLUMNS", columns);
        }
        let out = start(command).finish().expect(0).out;
        out.lines()
            .map(|line| line.chars().count())
            .max()
            .unwrap_or(0)
    };
    assert!(columns("show", Some("40")) <= 40);
    assert!(columns("show --width=40", None) <= 40);
    assert!(columns("show --width=200", Some("40")) > 40);
    assert!(columns("show", None) <= 80);
}

/// A cell that is running when the process is killed is stored up to its last second.
#[test]
fn a_killed_sweep_shows_what_its_running_cell_measured() {
    let fixture = Fixture::new("60s");
    let running = start(fixture.command("sweep paced.fio --axis iodepth=1,2"));
    let journalled = || {
        let Ok(mut store) = Store::open_existing(&fixture.store_path()) else {
            return 0;
        };
        let jobs = store
            .run("r1")
            .and_then(|run| store.journal(run.id, 1))
            .unwrap_or_default();
        jobs.iter()
            .flatten()
            .map(|interval| interval.directions.0[0].ios)
            .sum::<u64>()
    };
    wait_until("two seconds are stored", || journalled() > 2000);
    running.signal(Signal::KILL);
    drop(running.finish());
    let figures = journalled();
    let shown: Value =
        serde_json::from_str(&fixture.run("show r1.1 --json").out).expect("a result");
    assert_eq!(
        shown["jobs"][0]["read"]["total_ios"].as_u64(),
        Some(figures)
    );
    assert!(
        fixture.run("runs").out.contains("killed"),
        "{}",
        fixture.run("runs").out
    );
}

/// Regression 0230: a target that was removed after its preparation was measured without a new
/// preparation.
#[test]
fn preparation_is_repeated_for_a_removed_target() {
    let fixture = Fixture::new("1s");
    let directory = fixture.0.join("target");
    std::fs::create_dir(&directory).expect("a directory");
    let steps = "[options]\ndirect = 0\n[[step]]\nname = \"fill\"\nprepares = true\npasses = 1\noptions = { rw = \"write\", bs = \"1m\" }\n\
                 [[step]]\nname = \"reads\"\naxes = [\"bs=4k,8k\"]\ntime = \"2s\"\noptions = { rw = \"randread\", rate_iops = 500 }\n";
    std::fs::write(
        fixture.0.join("mine.toml"),
        format!("schema = 1\nname = \"mine\"\ntitle = \"My own\"\n{steps}"),
    )
    .expect("a recipe");
    let measured = |ran: &Completed| -> Vec<String> {
        let done = parse_events(&ran.out)
            .into_iter()
            .filter(|event| event["event"] == "done");
        done.map(|event| event["cell"].as_str().expect("a name").to_owned())
            .filter(|cell| cell != "layout")
            .collect()
    };
    for removed in [false, true] {
        std::fs::remove_file(fixture.store_path()).ok();
        let running = start(fixture.command("suite mine target --suites=. --size=16m --events=-"));
        wait_until("it is prepared", || finished(&fixture.store_path()) >= 1);
        running.signal(Signal::INT);
        let ran = running.finish().expect(130);
        assert!(
            ran.err
                .contains("was not removed, so that the run can be resumed"),
            "{}",
            ran.err
        );
        if removed {
            std::fs::remove_file(directory.join("fathom-suite.data")).expect("it stayed");
        }
        let again = measured(&fixture.run("resume --events=-"));
        assert_eq!(
            again.iter().any(|cell| cell == "fill"),
            removed,
            "{again:?}"
        );
        assert!(again.iter().any(|cell| cell == "reads bs=8k"), "{again:?}");
        assert_eq!(
            std::fs::read_dir(&directory)
                .expect("the directory")
                .count(),
            0,
            "the file is gone"
        );
    }
}

/// A file system of about the minimum size of its type.
fn small(scratch: &Scratch, kind: FsKind) -> (LoopDevice, Mount) {
    let size = match kind {
        FsKind::Ext4 => 64 << 20,
        FsKind::Xfs => 320 << 20,
        FsKind::Btrfs => 120 << 20,
    };
    let device = LoopDevice::create(&scratch.join("disk.img"), size, LoopOptions::default())
        .expect("a device");
    let mount = Mount::format(device.path(), kind, "").expect("a mount");
    (device, mount)
}

/// Takes all free space: in large pieces first, then in the smallest.
fn fill(directory: &Path) {
    let hog = std::fs::File::create(directory.join("hog")).expect("a file");
    let mut rest = std::fs::File::create(directory.join("rest")).expect("a file");
    let (mut end, mut piece) = (0, 64_u64 << 20);
    while piece >= 4096 {
        match rustix::fs::fallocate(&hog, rustix::fs::FallocateFlags::empty(), end, piece) {
            Ok(()) => end += piece,
            Err(_) => piece /= 2,
        }
    }
    while std::io::Write::write_all(&mut rest, &[1; 4096])
        .and_then(|()| rest.sync_data())
        .is_ok()
    {}
}

fn free_space(directory: &Path) {
    for hog in ["hog", "rest"] {
        std::fs::remove_file(directory.join(hog)).expect("our own file");
    }
    // Btrfs frees the space with its next commit.
    common::sh(&format!("sync --file-system {}", directory.display()));
}

/// The file system of the target fills up while a cell runs: the error names the path and the
/// remedy, files are removed, and the sweep can be resumed.
fn a_full_target(kind: FsKind) {
    if let Err(why) = kind.available() {
        return fathom_testkit::skip(&why);
    }
    let fixture = Fixture::new("1s");
    let (_device, disk) = small(&fixture.0, kind);
    // A sparse file: its blocks are allocated while they are written, 4 MiB per second.
    let file = disk.join("data");
    let job = format!(
        "[grow]\nrw=write\nbs=64k\ndirect=1\nsize=8m\nrate=4m\nfallocate=none\nfilename={}\n",
        file.display()
    );
    std::fs::write(fixture.0.join("grow.fio"), job).expect("a file");
    let running = start(fixture.command("sweep grow.fio --axis bs=64k,128k --events=events"));
    // An extended attribute may take a block of its own before the first I/O.
    wait_until("it writes", || {
        std::fs::metadata(&file)
            .is_ok_and(|facts| std::os::unix::fs::MetadataExt::blocks(&facts) * 512 >= 64 << 10)
    });
    running.signal(Signal::STOP);
    fill(disk.path());
    running.signal(Signal::CONT);
    let ran = running.finish().expect(1);
    let store_path = disk.path().display().to_string();
    for message in [
        "no space left for 'bs=64k'",
        &store_path,
        "free some space there",
        "resume with `fathom resume r1`",
    ] {
        assert!(
            ran.err.contains(message),
            "{message} is missing in {}",
            ran.err
        );
    }
    let cells = fixture.cells();
    assert_eq!(
        (cells.len(), cells[0].state),
        (1, CellState::Failed),
        "{cells:?}"
    );
    assert!(fixture.run("show r1.1").err.contains("no space left"));
    free_space(disk.path());
    let ran = fixture.run("resume");
    assert_eq!(
        finished(&fixture.store_path()),
        2,
        "{}\n{}",
        ran.out,
        ran.err
    );
}

#[test]
fn a_full_target_on_ext4_is_reported_and_the_sweep_resumes() {
    require!(Root, Loop);
    a_full_target(FsKind::Ext4);
}

#[test]
fn a_full_target_on_xfs_is_reported_and_the_sweep_resumes() {
    require!(Root, Loop);
    a_full_target(FsKind::Xfs);
}

#[test]
fn a_full_target_on_btrfs_is_reported_and_the_sweep_resumes() {
    require!(Root, Loop);
    a_full_target(FsKind::Btrfs);
}

/// The file system of the store fills up: the error is reported, committed cells remain, and the
/// rest is measured when there is space again.
fn a_full_store(disk: &Path) {
    let fixture = Fixture::new("100ms");
    let store_path = disk.join("store.db");
    let line = |rest: &str| format!("{rest} --store={}", store_path.display());
    // The first cell fits; then the space runs out.
    let running = start(fixture.command(&line(
        "sweep paced.fio --axis iodepth=1..16*2 --axis bs=4k,8k,16k,32k --set=runtime=300ms",
    )));
    wait_until("a cell is stored", || finished(&store_path) >= 1);
    running.signal(Signal::STOP);
    fill(disk);
    running.signal(Signal::CONT);
    let ran = running.finish().expect(1);
    assert!(
        ran.err.contains("no space left for the store") && ran.err.contains("free some space"),
        "{}",
        ran.err
    );
    assert!(
        ran.err.contains("resume with `fathom resume r1`"),
        "{}",
        ran.err
    );
    free_space(disk);
    let before = finished(&store_path);
    assert!((1..20).contains(&before), "{before} cells");
    let ran = fixture.run(&line("resume --events=-"));
    let done = parse_events(&ran.out)
        .iter()
        .filter(|event| event["event"] == "done")
        .count();
    assert_eq!(done, 20 - before, "{}", ran.err);
    assert_eq!(finished(&store_path), 20);
}

fn a_full_store_on(kind: FsKind) {
    if let Err(why) = kind.available() {
        return fathom_testkit::skip(&why);
    }
    let scratch = Scratch::new().expect("a directory");
    let (_device, disk) = small(&scratch, kind);
    a_full_store(disk.path());
}

#[test]
fn a_full_store_on_ext4_is_reported_and_the_sweep_resumes() {
    require!(Root, Loop);
    a_full_store_on(FsKind::Ext4);
}

#[test]
fn a_full_store_on_xfs_is_reported_and_the_sweep_resumes() {
    require!(Root, Loop);
    a_full_store_on(FsKind::Xfs);
}

/// Regression 0278: on a full btrfs, SIGBUS ended the process without a message.
#[test]
fn a_full_store_on_btrfs_is_reported_and_the_sweep_resumes() {
    require!(Root, Loop);
    a_full_store_on(FsKind::Btrfs);
}

/// Regression 0231: a full tmpfs was reported as "disk I/O error", because the shared memory of the
/// log is the first to find no space.
#[test]
fn a_full_store_on_tmpfs_is_reported_and_the_sweep_resumes() {
    require!(Root);
    let scratch = Scratch::new().expect("a directory");
    let directory = scratch.join("small");
    std::fs::create_dir(&directory).expect("a directory");
    common::sh(&format!(
        "mount -t tmpfs -o size=16m fathom-test {}",
        directory.display()
    ));
    let unmount = Unmount(directory.clone());
    a_full_store(&directory);
    // Full before the store is opened.
    fill(&directory);
    let ran = fathom(split_args(&format!(
        "runs --store={}",
        directory.join("store.db").display()
    )));
    assert_eq!(ran.code(), 0, "{}", ran.err);
    drop(unmount);
}

struct Unmount(PathBuf);

impl Drop for Unmount {
    fn drop(&mut self) {
        let _ = std::process::Command::new("umount")
            .arg("-l")
            .arg(&self.0)
            .status();
    }
}

/// A device is written only with its code. Regression 0232: the first cell changed the code of the
/// device, and the second cell was refused.
#[test]
fn devices_are_written_only_with_their_code() {
    require!(Root, Loop);
    let fixture = Fixture::new("200ms");
    let image = fixture.0.join("disk.img");
    std::fs::write(&image, vec![0xa5; 32 << 20]).expect("data");
    let device = LoopDevice::attach(&image, LoopOptions::default()).expect("a device");
    let path = device.path().display().to_string();
    let line = format!("sweep {path} --axis iodepth=1,2 --runtime=200ms --set rw=randwrite");
    let refused = fixture.run(&line).expect(2);
    assert!(refused.err.contains("--destroy"), "{}", refused.err);
    assert!(
        std::fs::read(&image)
            .expect("the image")
            .iter()
            .all(|byte| *byte == 0xa5),
        "as it was"
    );
    assert!(fixture.run(&format!("{line} --destroy=wrong")).code() == 2);
    let code = common::device_code(device.path());
    let ran = fixture.run(&format!("{line} --destroy={code} --json"));
    let json =
        Json(serde_json::from_str(&ran.out).unwrap_or_else(|error| panic!("{error}: {}", ran.err)));
    for cell in 0..2 {
        assert!(
            json.number(&format!("/cells/{cell}/iops")) > 0.0,
            "{}",
            ran.out
        );
    }
    assert!(
        std::fs::read(&image)
            .expect("the image")
            .iter()
            .any(|byte| *byte != 0xa5),
        "it was written"
    );
}

/// Regression 0275: each cell backed up the start and end of the device again, with data of the
/// earlier cells.
#[test]
fn the_start_and_end_of_a_device_are_backed_up_once() {
    require!(Root, Loop);
    let fixture = Fixture::new("200ms");
    let device = LoopDevice::create(
        &fixture.0.join("disk.img"),
        32 << 20,
        LoopOptions::default(),
    )
    .expect("a device");
    FsKind::Ext4.format(device.path()).expect("a file system");
    let before = std::fs::read(device.path()).expect("it is there");
    let line = format!(
        "sweep {} --axis iodepth=1,2,4 --runtime=200ms --set rw=randwrite --set offset=8m --set size=16m",
        device.path().display()
    );
    let ran = fixture.run(&format!(
        "{line} --destroy={} --json",
        common::device_code(device.path())
    ));
    assert_eq!(
        Json(serde_json::from_str(&ran.out).unwrap_or_else(|error| panic!("{error}: {}", ran.err)))
            .number("/cells_not_measured"),
        0.0
    );
    let names = std::fs::read_dir(fixture.0.path())
        .expect("the directory")
        .map(|entry| entry.expect("an entry").path());
    let saved: Vec<PathBuf> = names
        .filter(|name| name.to_string_lossy().contains("fathom-backup"))
        .collect();
    let [saved] = &saved[..] else {
        panic!("{saved:?}")
    };
    let saved = std::fs::read(saved).expect("a backup");
    assert!(
        saved
            .windows(1 << 20)
            .step_by(4096)
            .any(|piece| piece == &before[..1 << 20]),
        "it contains the original data"
    );
}

/// On a terminal each of the three, and `quick`, uses the whole screen, restores it, and then prints its result.
#[test]
fn every_experiment_can_be_watched() {
    let fixture = Fixture::new("200ms");
    if std::process::Command::new("script")
        .arg("--version")
        .output()
        .is_err()
    {
        return fathom_testkit::skip("script of util-linux is not installed");
    }
    std::fs::write(
        fixture.0.join("load.fio"),
        "[load]\nioengine=null\nsize=1g\nrw=randread\nbs=4k\n",
    )
    .expect("a file");
    let steps = "[[step]]\nname = \"one\"\ntime = \"200ms\"\noptions = { rw = \"randread\", rate_iops = 500, ioengine = \"null\" }\n";
    std::fs::write(
        fixture.0.join("mine.toml"),
        format!("schema = 1\nname = \"mine\"\ntitle = \"My own\"\n{steps}"),
    )
    .expect("a recipe");
    for (line, events) in [
        ("sweep paced.fio --axis bs=4k,8k", "IOPS"),
        ("search load.fio --runtime=100ms", "Closed loop"),
        ("suite mine . --suites=. --size=16m", "mine: My own"),
        ("quick . --runtime=10s", "IOPS"),
    ] {
        let mut command = std::process::Command::new("script");
        command
            .args([
                "-qec",
                &format!(
                    "stty rows 30 cols 100; {} {line} --watch --no-store",
                    common::FATHOM
                ),
                "/dev/null",
            ])
            .current_dir(fixture.0.path());
        let ran = start(command).finish();
        let (shown, after) = ran
            .out
            .rsplit_once("\u{1b}[?1049l")
            .unwrap_or_else(|| panic!("{line}: {}", ran.out));
        assert!(
            shown.contains("\u{1b}[?1049h") && shown.contains("latency"),
            "{line}: {shown}"
        );
        assert!(after.contains(events), "{line}: {after}");
    }
}
