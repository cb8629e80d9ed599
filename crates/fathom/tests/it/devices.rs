//! `fathom devices` and `fathom spec` through the command line: their output, with and without
//! privileges, and that they only read.

use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Command;

use crate::common::{Completed, FATHOM, fathom, program, sh, start};
use fathom_testkit::{
    DeviceOptions, Fault, FaultDevice, LoopDevice, LoopOptions, Op, Scratch, require, seccomp, skip,
};
use serde_json::Value;

const SIGSYS: i32 = 31;

fn document(ran: &Completed) -> Value {
    serde_json::from_str(&ran.out)
        .unwrap_or_else(|error| panic!("{error}\n{}\n{}", ran.out, ran.err))
}

fn data(directory: &Scratch, name: &str, size: usize) -> std::path::PathBuf {
    let path = directory.path().join(name);
    let bytes: Vec<u8> = (0..size)
        .map(|at| (at as u32).wrapping_mul(2_654_435_761).to_le_bytes()[3])
        .collect();
    std::fs::write(&path, bytes).expect("written");
    path
}

/// A seccomp filter kills the program, or any child process, that opens a path for writing.
#[test]
fn no_path_is_opened_for_writing() {
    let directory = Scratch::new().expect("a directory");
    let file = data(&directory, "data", 1 << 20);
    let image = directory.path().join("image");
    let device = LoopDevice::create(&image, 4 << 20, LoopOptions::default()).ok();
    let name = |path: &Path| path.display().to_string();
    let mut commands = vec![
        vec!["devices".to_owned()],
        vec!["devices".into(), "--json".into()],
        vec!["devices".into(), name(&file)],
    ];
    commands.extend(
        device
            .as_ref()
            .map(|device| vec!["devices".into(), name(device.path())]),
    );
    commands.push(vec![
        "spec".into(),
        "--sheet=samsung-970-evo".into(),
        name(&file),
    ]);
    for arguments in commands {
        match seccomp::only_reading(|| fathom(&arguments)) {
            Ok(ran) => assert_eq!(
                ran.code(),
                0,
                "{arguments:?}: {:?}\n{}",
                ran.status,
                ran.err
            ),
            Err(why) => return skip(&why.to_string()),
        }
    }
    let writes = [
        "run",
        "--name=x",
        "--rw=write",
        "--size=4k",
        "--ioengine=psync",
        &format!("--filename={}/new", name(directory.path())),
    ];
    let ran = seccomp::only_reading(|| fathom(writes)).expect("as before");
    assert_eq!(
        ran.status.signal(),
        Some(SIGSYS),
        "the filter works: a program that writes is killed"
    );
}

#[test]
fn a_file_shows_its_file_system_and_direct_io_support() {
    let directory = Scratch::new().expect("a directory");
    let file = data(&directory, "data", 4 << 20);
    let ran = fathom(["devices", "--json", &file.display().to_string()]).expect(0);
    let document = document(&ran);
    let file_system = &document["targets"][0]["file_system"];
    let mounted = sh(&format!("stat -f -c %T {}", file.display()));
    assert!(file_system["kind"].is_string(), "{file_system}");
    let expected = match mounted.trim() {
        "ext2/ext3" => "ext",
        "tmpfs" => "tmpfs",
        other => other,
    };
    assert!(
        file_system["kind"]
            .as_str()
            .is_some_and(|kind| kind.starts_with(expected)),
        "{file_system} is not {expected}"
    );
    let probe = file_system["direct_io"]["probe"]
        .as_str()
        .expect("an answer");
    assert!(
        ["direct", "buffered", "refused", "not tried"].contains(&probe),
        "{probe}"
    );
    assert_eq!(
        document["targets"][0]["safety"]["write"], "with code",
        "it is a foreign file that contains data"
    );
}

#[test]
fn a_loop_device_shows_its_backing_file_without_control_characters() {
    require!(Loop);
    let directory = Scratch::new().expect("a directory");
    let image = directory.path().join("im\u{1b}[2Jage");
    let device = LoopDevice::create(
        &image,
        8 << 20,
        LoopOptions {
            buffered: true,
            ..LoopOptions::default()
        },
    )
    .expect("a device");
    let path = device.path().display().to_string();
    let ran = fathom(["devices", &path]).expect(0);
    assert!(!ran.out.contains('\u{1b}'), "{:?}", ran.out);
    assert!(
        ran.out
            .contains("the loop driver uses the page cache of the backing file"),
        "{}",
        ran.out
    );
    let document = document(&fathom(["devices", "--json", &path]).expect(0));
    let target = &document["targets"][0];
    let first = &target["devices"][0];
    assert_eq!(
        (first["transport"].as_str(), first["medium"].as_str()),
        (Some("loop"), Some("below"))
    );
    assert_eq!(
        (
            first["size"].as_u64(),
            first["backing"]["direct_io"].as_bool()
        ),
        (Some(8 << 20), Some(false))
    );
    assert_eq!(
        first["backing"]["path"].as_str(),
        Some(&*image.to_string_lossy())
    );
    assert_eq!(
        (
            first["health"]["state"].as_str(),
            &first["health"]["temperature_c"]
        ),
        (Some("unknown"), &Value::Null)
    );
    let limit = std::fs::read_to_string(format!(
        "/sys/block/{}/queue/max_sectors_kb",
        first["name"].as_str().expect("a name")
    ));
    let limit: u64 = limit.expect("readable").trim().parse().expect("a number");
    assert_eq!(first["queue"]["max_request"].as_u64(), Some(limit << 10));
    let below = first["backing"]["file_system"]["location"].as_str();
    assert_eq!(
        below == Some("local"),
        target["devices"]
            .as_array()
            .is_some_and(|all| all.len() > 1),
        "{target}"
    );
}

/// Two files on devices that hang on reads: both are named after one timeout, not two, and the
/// third file is shown.
#[test]
fn hung_targets_are_reported_and_do_not_delay_others() {
    require!(Fuse);
    let directory = Scratch::new().expect("a directory");
    let good = data(&directory, "data", 1 << 20);
    let hung: Vec<FaultDevice> = (0..2)
        .map(|_| FaultDevice::mount(DeviceOptions::default()).expect("a fault device"))
        .collect();
    hung.iter()
        .for_each(|device| device.inject(Fault::Hang(Some(Op::Read))));
    let (first, second) = (hung[0].path(), hung[1].path());
    let mut command = program(["devices"]);
    command.args([&first, &good, &second]);
    let ran = start(command).finish().expect(2);
    assert!(
        hung.iter().all(|device| device.counts().injected() >= 1),
        "both were read"
    );
    for path in [&first, &second] {
        assert!(
            ran.err
                .contains(&format!("{} did not answer within 2 s", path.display())),
            "{}",
            ran.err
        );
    }
    assert!(ran.out.contains(&good.display().to_string()), "{}", ran.out);
    hung.iter().for_each(|device| device.release());
}

/// Ends the hang also if an assertion fails: a loop device over a hung device cannot be detached
/// and blocks all others.
struct Releases<'a>(&'a FaultDevice);

impl Drop for Releases<'_> {
    fn drop(&mut self) {
        self.0.release();
    }
}

/// The same below a block device: the list of all devices shows the error and the sysfs data of
/// that device.
#[test]
fn a_hung_block_device_is_listed() {
    require!(Root, Loop, Fuse);
    let fault = FaultDevice::mount(DeviceOptions::default()).expect("a fault device");
    let device = LoopDevice::attach(&fault.path(), LoopOptions::default()).expect("a loop device");
    let _releases = Releases(&fault);
    fault.inject(Fault::Hang(Some(Op::Read)));
    // The hang has not ended yet: the command does not wait for it.
    let ran = start(program(["devices", "--json"])).finish().expect(0);
    assert!(fault.counts().injected() >= 1, "it was read");
    let document = document(&ran);
    let targets = document["targets"].as_array().expect("a list");
    let own = targets
        .iter()
        .find(|target| target["path"] == device.path().display().to_string().as_str())
        .expect("listed");
    assert!(
        own["errors"][0]
            .as_str()
            .is_some_and(|text| text.contains("no answer within 2 s")),
        "{own}"
    );
    fault.release();
}

/// Users who may not open the devices still get the world-readable data of sysfs.
#[test]
fn it_works_without_root() {
    require!(Loop);
    let directory = Scratch::new().expect("a directory");
    let device = LoopDevice::create(
        &directory.path().join("image"),
        4 << 20,
        LoopOptions::default(),
    )
    .expect("a device");
    let copy = directory.path().join("fathom");
    std::fs::copy(FATHOM, &copy).expect("copied");
    for path in [directory.path(), &copy] {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).expect("set");
    }
    let mut command = Command::new("setpriv");
    command
        .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
        .arg(&copy)
        .args(["devices", "--json"]);
    let ran = start(command).finish();
    if ran.err.contains("setpriv") || ran.code() == 126 || ran.code() == 127 {
        return skip(&ran.err);
    }
    let document = document(&ran.expect(0));
    let targets = document["targets"].as_array().expect("a list");
    let found = targets
        .iter()
        .find(|target| target["path"] == device.path().display().to_string().as_str())
        .expect("listed");
    assert_eq!(found["devices"][0]["transport"], "loop");
    assert_eq!(
        found["safety"]["contents"],
        Value::Null,
        "its start and end may not be read"
    );
    assert_eq!(found["safety"]["write"], "never");
}

#[test]
fn a_run_reports_the_devices_below_its_target() {
    let directory = Scratch::new().expect("a directory");
    let line = format!(
        "run --name=x --rw=randread --size=1m --ioengine=psync --number_ios=16 --output-format=json --filename={}/data",
        directory.path().display()
    );
    let ran = fathom(line.split(' ')).expect(0);
    let target = &ran.json().0["fathom"]["targets"][0];
    assert!(target["file_system"]["kind"].is_string(), "{target}");
    for device in target["devices"].as_array().expect("a list") {
        assert!(device["after"]["health"].is_object(), "{device}");
        let scheduler = std::fs::read_to_string(format!(
            "/sys/block/{}/queue/scheduler",
            device["name"].as_str().expect("a name")
        ));
        let message = device["queue"]["settings"]["scheduler"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        assert_eq!(message, scheduler.unwrap_or_default().trim());
    }
}

#[test]
fn wrong_arguments_are_reported_with_a_suggestion() {
    for (arguments, part) in [
        (vec!["devices", "--jsno"], "--json"),
        (vec!["devices", "/nowhere/at/all"], "/nowhere/at/all"),
        (
            vec!["spec", "--rum", "x"],
            "a similar argument exists: '--run'",
        ),
        (
            vec!["spec", "/nowhere/at/all"],
            "/nowhere/at/all does not exist",
        ),
        (
            vec!["spec", "/", "--sheet=samsung-970-evo-plus-100"],
            "did you mean samsung-970-evo-plus-1000?",
        ),
        (
            vec!["spec", "/", "--sheet"],
            "a value is required for '--sheet <ID>'",
        ),
        (vec!["spec", "/", "--runtime=0"], "1 to 86400"),
        (vec!["spec", "/", "/"], "unexpected argument"),
        (
            vec!["spec", "/", "--run", "--sheet=seagate-es3-4tb"],
            "only an existing file or device can be measured",
        ),
    ] {
        let ran = fathom(&arguments).expect(2);
        assert!(ran.err.contains(part), "{arguments:?}: {}", ran.err);
    }
}

const SHEETS: &str = r#"
schema = 1
[[sheet]]
id = "own"
maker = "Maker"
product = "Product"
confidence = "maker"
[[sheet.figure]]
what = "iops"
value = 1
direction = "read"
access = "random"
block = "4KiB"
depth = 4
threads = 2
[[sheet.figure]]
what = "latency_us"
value = 3600000000
percentile = 99.9
direction = "read"
access = "sequential"
block = "8KiB"
depth = 1
threads = 1
[[sheet.figure]]
what = "iops"
value = 1
direction = "write"
access = "random"
block = "4KiB"
depth = 1
threads = 1
[[sheet]]
id = "broken"
maker = "Maker"
"#;

#[test]
fn each_figure_of_a_data_sheet_is_measured_by_reads_only() {
    let directory = Scratch::new().expect("a directory");
    let file = data(&directory, "data", 8 << 20);
    let sheets = directory.path().join("sheets");
    std::fs::create_dir(&sheets).expect("created");
    std::fs::write(sheets.join("own.toml"), SHEETS).expect("written");
    std::fs::write(sheets.join("noise.toml"), b"\x00\x1b[2J = = =").expect("written");
    let before = std::fs::read(&file).expect("read");
    let arguments = [
        "spec",
        "--run",
        "--runtime=1",
        "--json",
        "--sheet=own",
        "--specs",
    ];
    let mut command = program(arguments);
    command.arg(&sheets).arg(&file);
    let ran = start(command).finish();
    // Both are far above the promised figures, which is as suspicious as below.
    let ran = ran.expect(1);
    assert!(
        ran.err
            .contains("own.toml: sheet broken: `product` must be a non-empty string"),
        "{}",
        ran.err
    );
    assert!(
        ran.err.contains("noise.toml: invalid TOML") && !ran.err.contains('\u{1b}'),
        "{}",
        ran.err
    );
    let document = document(&ran);
    let figures = document["figures"].as_array().expect("a list");
    let judged: Vec<_> = figures
        .iter()
        .map(|figure| figure["judgement"].as_str().unwrap_or_default())
        .collect();
    assert_eq!(judged[2], "not measured", "it would have to write");
    assert_eq!(figures[0]["conditions"], "4 KiB, depth 4, 2 threads");
    assert_eq!(figures[1]["conditions"], "8 KiB, depth 1, 1 thread");
    for (figure, judged) in figures.iter().zip(&judged).take(2) {
        assert!(["above", "not comparable"].contains(judged), "{figure}");
        assert!(
            figure["reasons"]
                .as_array()
                .is_some_and(|reasons| !reasons.is_empty()),
            "{figure}"
        );
    }
    assert!(
        before == std::fs::read(&file).expect("read"),
        "the file is unchanged"
    );
}
