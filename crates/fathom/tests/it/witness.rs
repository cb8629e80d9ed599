//! `fathom witness`: real commands, with counters that are known from the commands themselves, from throttles and from the
//! kernel.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Once, PoisonError, RwLock, RwLockReadGuard};
use std::time::{Duration, Instant};

use crate::common::{Completed, FATHOM, fathom, program, start};
use fathom_testkit::{
    ControlGroup, Limit, LoopDevice, LoopOptions, Scratch, Throttle, require, skip,
};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

const MIB: u64 = 1 << 20;
/// Program files, libraries and the like that a command reads besides its data.
const SLACK: u64 = MIB;
const TIMEOUT: Duration = Duration::from_secs(60);

/// A command that was watched: its own output, and fathom's result.
struct Watched {
    completed: Completed,
    result: Value,
    /// fio's part of the document.
    jobs: Value,
}

impl Watched {
    fn io(&self, counter: &str) -> u64 {
        self.result["witnessed"]["io"][counter]
            .as_u64()
            .unwrap_or_else(|| panic!("no {counter} in {}", self.result["witnessed"]))
    }

    /// The evidence of a finding.
    fn evidence(&self, code: &str) -> Option<&str> {
        let findings = self.result["findings"].as_array().expect("findings");
        let found = findings.iter().find(|finding| finding["code"] == code)?;
        found["evidence"].as_str()
    }

    /// Whether a finding of this code says this.
    fn has_evidence(&self, code: &str, text: &str) -> bool {
        let findings = self.result["findings"].as_array().expect("findings");
        findings.iter().any(|finding| {
            let evidence = finding["evidence"].as_str().unwrap_or_default();
            finding["code"] == code && evidence.contains(text)
        })
    }

    fn expect_evidence(&self, code: &str) -> &str {
        self.evidence(code)
            .unwrap_or_else(|| panic!("no {code} in {}", self.result["findings"]))
    }
}

/// A watched command removes the groups of killed ones: the test that needs such groups runs alone.
static GROUPS: RwLock<()> = RwLock::new(());

fn share_groups() -> RwLockReadGuard<'static, ()> {
    GROUPS.read().unwrap_or_else(PoisonError::into_inner)
}

/// Runs the programs of these tests once under watch: what the kernel reads of program files that are not in memory is block
/// I/O of the command, as much as its data.
fn read_programs_into_memory() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let script = "dd if=/dev/zero of=/dev/null count=1; sleep 0; env; ls /; touch /dev/null";
        let mut command = program(["witness", "--quiet", "--", "sh", "-c", script]);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let status = command.status().expect("fathom runs");
        assert!(status.success());
    });
}

/// Repeats what needs its data in the page cache, up to five times: a machine that is short of memory drops pages whenever it likes.
/// `attempt` reads the data first.
fn with_data_in_memory<T>(mut attempt: impl FnMut() -> Result<T, String>) -> T {
    let mut failures = Vec::new();
    for _ in 0..5 {
        match attempt() {
            Ok(value) => return value,
            Err(failure) => failures.push(failure),
        }
    }
    panic!(
        "not from memory in each of 5 attempts:\n{}",
        failures.join("\n")
    );
}

/// Watches `command`, started by `prefix`, such as a throttle's.
fn watch_with(mut prefix: Command, options: &[&str], command: &[&str]) -> Watched {
    read_programs_into_memory();
    let _groups = share_groups();
    let directory = Scratch::new().expect("a directory");
    let file = directory.join("result.json");
    prefix
        .args(["witness", "--json", "-o"])
        .arg(&file)
        .args(options)
        .arg("--")
        .args(command)
        .env("FATHOM_STORE", "none");
    let completed = start(prefix).finish();
    let text =
        fs::read_to_string(&file).unwrap_or_else(|error| panic!("{error}: {}", completed.err));
    let result: Value = serde_json::from_str(&text).expect("JSON");
    Watched {
        completed,
        result: result["fathom"].clone(),
        jobs: result["jobs"].clone(),
    }
}

fn watch(command: &[&str]) -> Watched {
    watch_with(Command::new(FATHOM), &[], command)
}

fn shell(script: &str) -> Watched {
    watch(&["sh", "-c", script])
}

/// A loop device whose data is on a disk, and is not in the page cache of the device.
fn loop_device(directory: &Scratch, size: u64) -> LoopDevice {
    let backing = directory.join("backing");
    let device = LoopDevice::create(&backing, size, LoopOptions::default()).expect("a loop device");
    let done = Command::new("dd")
        .args(["if=/dev/urandom", "bs=1M", "conv=fsync"])
        .arg(format!("count={}", size / MIB))
        .arg(format!("of={}", device.path().display()))
        .stderr(Stdio::null())
        .status()
        .expect("dd runs");
    assert!(done.success());
    drop_cache(device.path());
    device
}

/// Drops the page cache of a device or file. See dd(1): nocache with count=0 does that for all of it.
fn drop_cache(path: &Path) {
    let done = Command::new("dd")
        .arg(format!("of={}", path.display()))
        .args(["oflag=nocache", "conv=notrunc,fdatasync", "count=0"])
        .stderr(Stdio::null())
        .status()
        .expect("dd runs");
    assert!(done.success());
}

/// Directories of control groups that carry fathom's name for this process.
fn groups_of(pid: u32) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![PathBuf::from("/sys/fs/cgroup")];
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(&directory).into_iter().flatten().flatten() {
            if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                continue;
            }
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.starts_with("fathom-witness-") && name.contains(&format!("-{pid}-")) {
                found.push(entry.path());
            }
            open.push(entry.path());
        }
    }
    found
}

fn exists(pid: u32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat"))
        .is_ok_and(|stat| !stat.rsplit(')').next().unwrap_or("").starts_with(" Z"))
}

fn kill(pid: u32) {
    let _ = kill_process(
        Pid::from_raw(pid as i32).expect("a process number"),
        Signal::KILL,
    );
}

fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < TIMEOUT, "waited for: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The children of a process.
fn children(pid: u32) -> Vec<u32> {
    let text = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    text.split_whitespace()
        .filter_map(|pid| pid.parse().ok())
        .collect()
}

#[test]
fn output_and_exit_code_of_the_command_stay_as_they_are() {
    let watched = shell("echo to the output; echo to the errors >&2; exit 3");
    assert_eq!(watched.completed.out, "to the output\n");
    assert!(watched.completed.err.contains("to the errors\n"));
    assert_eq!(watched.completed.code(), 3);
    assert_eq!(watched.result["witnessed"]["exit_code"], 3);
    let evidence = watched.expect_evidence("COMMAND_FAILED");
    assert!(
        evidence.starts_with("sh ended with exit code 3"),
        "{evidence}"
    );
    assert_eq!(watched.result["verdict"], "degraded");
    // The command sees neither fathom's variables nor its descriptors.
    let script = "env; ls /proc/self/fd";
    let watched = shell(script);
    assert!(!watched.completed.out.contains("FATHOM_WITNESS"));
    let mut plain = Command::new("sh");
    plain.args(["-c", script]);
    let plain = start(plain).finish();
    let descriptors = |out: &str| {
        let is_number = |line: &&str| line.bytes().all(|byte| byte.is_ascii_digit());
        out.lines().filter(is_number).count()
    };
    assert_eq!(descriptors(&watched.completed.out), descriptors(&plain.out));
}

#[test]
fn a_killed_command_gives_128_plus_its_signal() {
    let watched = shell("kill -KILL $$");
    assert_eq!(watched.completed.code(), 137);
    assert_eq!(watched.result["witnessed"]["signal"], 9);
    let evidence = watched.expect_evidence("INTERRUPTED");
    assert!(
        evidence.starts_with("sh was killed by SIGKILL"),
        "{evidence}"
    );
}

#[test]
fn signals_are_passed_on_to_the_command() {
    let _groups = share_groups();
    let directory = Scratch::new().expect("a directory");
    let ready = directory.join("ready");
    let script = format!(
        "trap 'exit 7' TERM; touch {}; while :; do sleep 0.05; done",
        ready.display()
    );
    let running = start(program(["witness", "--", "sh", "-c", &script]))
        .wait_until("the trap", || ready.exists());
    running.signal(Signal::TERM);
    let done = running.finish();
    assert_eq!(done.code(), 7, "{}", done.err);
    assert!(done.err.contains("exit code 7"), "{}", done.err);
}

#[test]
fn a_command_that_cannot_be_started_is_an_error_of_its_own() {
    let _groups = share_groups();
    let directory = Scratch::new().expect("a directory");
    let store = format!("--store={}", directory.join("store").display());
    let missing = fathom(["witness", &store, "--", "no-such-program-here"]);
    assert_eq!(missing.code(), 127);
    assert!(
        missing.err.contains("no-such-program-here: No such file"),
        "{}",
        missing.err
    );
    let text = directory.join("text");
    fs::write(&text, "no program").expect("a file");
    let text = text.display().to_string();
    let done = fathom(["witness", &store, "--", &text]);
    assert_eq!(done.code(), 126);
    assert!(done.err.contains("Permission denied"), "{}", done.err);
    assert!(
        !fathom(["runs", &store]).out.contains("r1"),
        "nothing was watched, so nothing is stored"
    );
    let nothing = fathom(["witness"]);
    assert_eq!(nothing.code(), 2);
    assert!(nothing.err.contains("no command"), "{}", nothing.err);
    let no_server = fathom(["witness", "--pid", "4194304", "--", "true"]);
    assert_eq!(no_server.code(), 2);
    assert!(
        no_server.err.contains("no process 4194304"),
        "{}",
        no_server.err
    );
}

/// dd gets the amount to copy as an argument.
#[test]
fn processes_that_have_exited_are_counted() {
    let copy = "dd if=/dev/zero of=/dev/null bs=1M count=16 2>/dev/null";
    let directory = Scratch::new().expect("a directory");
    let done = directory.join("done");
    let (in_turn, orphan) = (
        format!("for i in 1 2 3 4; do {copy}; done"),
        format!(
            "( ({copy}; {copy}; {copy}; {copy}; touch {0}) & ); while [ ! -e {0} ]; do sleep 0.05; done",
            done.display()
        ),
    );
    for script in [in_turn, orphan] {
        let watched = shell(&script);
        for counter in ["rchar", "wchar"] {
            let bytes = watched.io(counter);
            assert!(
                (64 * MIB..64 * MIB + SLACK).contains(&bytes),
                "{counter} of {script}: {bytes}"
            );
        }
        assert!(watched.evidence("PAGE_CACHE").is_none(), "no file was read");
    }
}

#[test]
fn reads_from_the_page_cache_are_not_those_of_a_device() {
    require!(Loop);
    let directory = Scratch::new().expect("a directory");
    let device = loop_device(&directory, 64 * MIB);
    let path = device.path().display().to_string();
    // The kernel drops the page cache of a device when it is closed.
    let _open = fs::File::open(device.path()).expect("the device");
    let source = format!("if={path}");
    let read = ["dd", &source, "of=/dev/null", "bs=64k"];
    let cold = watch(&read);
    assert!(
        cold.io("read_bytes") >= 64 * MIB,
        "{}",
        cold.result["witnessed"]
    );
    assert!(cold.evidence("PAGE_CACHE").is_none());
    let read_into_memory = || {
        let all = fs::read(device.path()).expect("the device");
        assert_eq!(all.len() as u64, 64 * MIB);
    };
    with_data_in_memory(|| {
        read_into_memory();
        let warm = watch(&read);
        assert!((64 * MIB..64 * MIB + SLACK).contains(&warm.io("rchar")));
        if warm.io("read_bytes") < SLACK {
            Ok(())
        } else {
            Err(warm.result["witnessed"].to_string())
        }
    });
    let direct = watch(&[&read[..], &["iflag=direct"]].concat());
    assert!((64 * MIB..64 * MIB + SLACK).contains(&direct.io("read_bytes")));
    assert!(direct.evidence("PAGE_CACHE").is_none());
    // A command can end before its files are looked up; a slow one cannot.
    let script = format!("exec 3<{path}; sleep 0.3; dd bs=64k of=/dev/null <&3");
    let warm = with_data_in_memory(|| {
        read_into_memory();
        let warm = shell(&script);
        let evidence = warm.evidence("PAGE_CACHE");
        if evidence.is_some_and(|text| {
            text.starts_with("sh was served from memory: ") && text.contains("of 64")
        }) {
            Ok(warm)
        } else {
            Err(format!("{evidence:?}"))
        }
    });
    let files = warm.result["witnessed"]["files"].to_string();
    assert!(files.contains(&path), "{files}");
}

#[test]
fn writes_that_stay_in_memory_are_not_those_of_a_device() {
    require!(Loop, BlkioV1);
    let directory = Scratch::new().expect("a directory");
    let device = loop_device(&directory, 64 * MIB);
    // Version 1 counts only devices on which a limit has been set.
    let throttle = Throttle::new().expect("a group");
    throttle
        .limit(device.path(), Limit::WriteBytes(1 << 40))
        .expect("a limit");
    let target = format!("of={}", device.path().display());
    let write = ["dd", "if=/dev/zero", &target, "bs=1M", "count=32"];
    let synced = watch(&[&write[..], &["conv=fsync"]].concat());
    assert!(
        synced.evidence("PAGE_CACHE").is_none(),
        "{}",
        synced.result["findings"]
    );
    assert!((32 * MIB..32 * MIB + SLACK).contains(&synced.io("write_bytes")));
    let direct = watch(&[&write[..], &["oflag=direct"]].concat());
    assert!((32 * MIB..32 * MIB + SLACK).contains(&direct.io("write_bytes")));
    let disks = direct.result["witnessed"]["disks"]
        .as_array()
        .expect("a list");
    let written: Vec<u64> = disks
        .iter()
        .filter(|disk| {
            device
                .path()
                .ends_with(disk["name"].as_str().unwrap_or("?"))
        })
        .filter_map(|disk| disk["written_bytes"].as_u64())
        .collect();
    assert_eq!(
        written,
        [32 * MIB],
        "the control group counts exactly: {disks:?}"
    );
}

/// The kernel does not count what libaio transfers as system calls.
#[test]
fn asynchronous_io_is_counted() {
    require!(Loop, Fio);
    let directory = Scratch::new().expect("a directory");
    let device = loop_device(&directory, 16 * MIB);
    let file = format!("--filename={}", device.path().display());
    let watched = watch(&[
        "fio",
        "--name=j",
        &file,
        "--rw=read",
        "--bs=64k",
        "--size=16m",
        "--direct=1",
        "--ioengine=libaio",
        "--iodepth=4",
        "--output=/dev/null",
    ]);
    assert_eq!(watched.completed.code(), 0, "{}", watched.completed.err);
    let read = watched.jobs[0]["read"]["io_bytes"]
        .as_u64()
        .expect("a count");
    assert!((16 * MIB..16 * MIB + 64 * SLACK).contains(&read), "{read}");
    assert!(watched.evidence("PAGE_CACHE").is_none());
}

/// dd reads 256 blocks of 64 KiB, one after the other: so many requests, and at most one of them at a time.
///
/// Regression 0800: on a machine with a cold page cache the reads of the program files were counted, too.
#[test]
fn block_io_is_traced() {
    require!(Root, Loop);
    let directory = Scratch::new().expect("a directory");
    let device = loop_device(&directory, 16 * MIB);
    let source = format!("if={}", device.path().display());
    let read = ["dd", &source, "of=/dev/null", "bs=64k", "iflag=direct"];
    let watched = watch(&read);
    let unknown = watched.result["witnessed"]["unknown"].to_string();
    if unknown.contains("are unknown: this kernel has no") {
        return skip(&unknown);
    }
    let name = device.path().file_name().expect("a name").to_string_lossy();
    let job_of = |watched: &Watched, program: &str| {
        let wanted = format!("{program}: block I/O on {name}");
        let jobs = watched.jobs.as_array().expect("jobs");
        jobs.iter().position(|job| job["jobname"] == wanted)
    };
    let Some(place) = job_of(&watched, "dd") else {
        panic!("no block I/O on {name}: {unknown} {}", watched.jobs);
    };
    let job = &watched.jobs[place];
    assert_eq!(job["read"]["total_ios"], 256);
    assert_eq!(job["read"]["io_bytes"], 16 * MIB);
    assert_eq!(job["read"]["clat_ns"]["N"], 256);
    let entry = &watched.result["entries"][place];
    let summary = entry["summary"].to_string();
    assert!(
        summary.contains(&format!(
            "Block I/O on {name}: 256 reads of 64 KiB on average (16 MiB)"
        )),
        "{summary}"
    );
    let in_flight = entry["littles_law"]["in_flight"].as_f64().expect("a depth");
    assert!(in_flight > 0.0 && in_flight <= 1.0, "{in_flight}");
    // The I/O of others is not that of the command.
    let neighbour =
        format!("while :; do dd {source} of=/dev/null bs=64k iflag=direct 2>/dev/null; done");
    let mut neighbour = Command::new("timeout")
        .args(["30", "sh", "-c", &neighbour])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("a neighbour");
    let idle = watch(&["sleep", "0.5"]);
    let _ = kill_process(
        Pid::from_raw(neighbour.id() as i32).expect("a process number"),
        Signal::TERM,
    );
    let _ = neighbour.wait();
    assert_eq!(job_of(&idle, "sleep"), None, "{}", idle.jobs);
}

#[test]
fn a_limit_of_a_control_group_is_named() {
    require!(Loop, BlkioV1);
    let directory = Scratch::new().expect("a directory");
    let device = loop_device(&directory, 16 * MIB);
    let throttle = Throttle::new().expect("a group");
    throttle
        .limit(device.path(), Limit::ReadIops(100))
        .expect("a limit");
    let source = format!("if={}", device.path().display());
    let watched = watch_with(
        throttle.command(FATHOM),
        &[],
        &[
            "dd",
            &source,
            "of=/dev/null",
            "bs=4k",
            "count=300",
            "iflag=direct",
        ],
    );
    let evidence = watched.expect_evidence("RATE_LIMITED");
    let name = device.path().file_name().expect("a name").to_string_lossy();
    assert!(
        evidence.contains(&format!(
            "limits the reads of dd on {name} to 100 per second"
        )),
        "{evidence}"
    );
    // Without the limit.
    let free = watch(&[
        "dd",
        &source,
        "of=/dev/null",
        "bs=4k",
        "count=300",
        "iflag=direct",
    ]);
    assert!(free.evidence("RATE_LIMITED").is_none());
}

#[test]
fn a_cpu_quota_is_named() {
    require!(Root);
    let group = match ControlGroup::new("cpu") {
        Ok(group) => group,
        Err(error) => return skip(&error),
    };
    group
        .set("cpu.cfs_period_us", "100000")
        .and_then(|()| group.set("cpu.cfs_quota_us", "10000"))
        .expect("a quota of a tenth of a CPU");
    let watched = watch_with(
        group.command(FATHOM),
        &[],
        &[
            "sh",
            "-c",
            "i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done",
        ],
    );
    let evidence = watched.expect_evidence("CPU_THROTTLED");
    assert!(evidence.contains("by the CPU quota"), "{evidence}");
}

#[test]
fn other_programs_on_the_same_device_are_named() {
    require!(Loop);
    let directory = Scratch::new().expect("a directory");
    let device = loop_device(&directory, 64 * MIB);
    let source = format!("if={}", device.path().display());
    let own = format!("dd {source} of=/dev/null bs=4k count=500 iflag=direct 2>/dev/null; sleep 1");
    // Other tests may use the disk that the data of the device is on; nothing but this test uses the device.
    let name = device.path().file_name().expect("a name").to_string_lossy();
    let on_the_device = format!(" on {name} were not from sh");
    let alone = shell(&own);
    assert!(
        !alone.has_evidence("FOREIGN_IO", &on_the_device),
        "{}",
        alone.result["findings"]
    );
    let neighbour =
        format!("while :; do dd {source} of=/dev/null bs=1M iflag=direct 2>/dev/null; done");
    let mut neighbour = Command::new("timeout")
        .args(["30", "sh", "-c", &neighbour])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("a neighbour");
    let beside = shell(&own);
    let _ = kill_process(
        Pid::from_raw(neighbour.id() as i32).expect("a process number"),
        Signal::TERM,
    );
    let _ = neighbour.wait();
    assert!(
        beside.has_evidence("FOREIGN_IO", &on_the_device),
        "{}",
        beside.result["findings"]
    );
}

#[test]
fn processes_left_behind_go_on_and_are_named() {
    let watched = shell("sleep 40 >/dev/null 2>&1 </dev/null & exit 0");
    assert_eq!(watched.completed.code(), 0);
    let left = watched.result["witnessed"]["left"]
        .as_array()
        .expect("a list");
    assert_eq!(left.len(), 1, "{left:?}");
    assert_eq!(left[0]["name"], "sleep");
    let pid = left[0]["pid"].as_u64().expect("a number") as u32;
    let goes_on = exists(pid);
    let group = fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap_or_default();
    kill(pid);
    assert!(goes_on, "the process was not ended");
    assert!(!group.contains("fathom-witness"), "{group}");
    let evidence = watched.expect_evidence("PROCESSES_LEFT");
    assert!(
        evidence.contains(&format!("sleep (process {pid})")),
        "{evidence}"
    );
}

#[test]
fn no_control_group_is_left() {
    require!(Root);
    let _groups = GROUPS.write().unwrap_or_else(PoisonError::into_inner);
    let directory = Scratch::new().expect("a directory");
    let ready = directory.join("ready");
    let script = format!("touch {}; sleep 40", ready.display());
    // Killed together with the supervisor.
    let running = start(program(["witness", "--", "sh", "-c", &script]))
        .wait_until("the command", || ready.exists());
    let fathom_pid = running.id();
    if groups_of(fathom_pid).is_empty() {
        return skip("control groups cannot be created here");
    }
    let supervisor = children(fathom_pid)[0];
    let command = children(supervisor)[0];
    let sleep = children(command);
    running.signal(Signal::KILL);
    for pid in [supervisor, command].into_iter().chain(sleep) {
        kill(pid);
    }
    drop(running.finish());
    wait_until("the end of all", || {
        ![supervisor, command].into_iter().any(exists)
    });
    // The next one, or one of a test in another process, removes them.
    assert_eq!(fathom(["witness", "--", "true"]).code(), 0);
    assert_eq!(groups_of(fathom_pid), Vec::<PathBuf>::new());

    // Killed alone: the command goes on, and the supervisor removes the groups after it.
    fs::remove_file(&ready).expect("the file");
    let over = directory.join("over");
    let script = format!(
        "touch {}; exec >/dev/null 2>&1; while [ ! -e {} ]; do sleep 0.05; done",
        ready.display(),
        over.display()
    );
    let running = start(program(["witness", "--", "sh", "-c", &script]))
        .wait_until("the command", || ready.exists());
    let fathom_pid = running.id();
    let supervisor = children(fathom_pid)[0];
    let command = children(supervisor)[0];
    running.signal(Signal::KILL);
    wait_until("the end of fathom", || !exists(fathom_pid));
    assert!(exists(command), "the command goes on");
    fs::write(&over, "").expect("a file");
    drop(running.finish());
    wait_until("the end of the supervisor", || !exists(supervisor));
    assert_eq!(groups_of(fathom_pid), Vec::<PathBuf>::new());
}

#[test]
fn without_permission_for_control_groups_the_processes_are_watched_all_the_same() {
    require!(Root);
    let _groups = share_groups();
    let directory = Scratch::new().expect("a directory");
    fs::set_permissions(
        directory.path(),
        std::os::unix::fs::PermissionsExt::from_mode(0o777),
    )
    .expect("permissions");
    let copy = directory.join("fathom");
    fs::copy(FATHOM, &copy).expect("a copy");
    let result = directory.join("result.json");
    let mut command = Command::new("setpriv");
    command
        .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
        .arg(&copy)
        .args(["witness", "--json", "-o"])
        .arg(&result)
        .args([
            "--",
            "dd",
            "if=/dev/zero",
            "of=/dev/null",
            "bs=1M",
            "count=16",
        ])
        .env("FATHOM_STORE", "none")
        .env("HOME", directory.path());
    let done = start(command).finish();
    assert_eq!(done.code(), 0, "{}", done.err);
    let text = fs::read_to_string(&result).expect("a result");
    let json: Value = serde_json::from_str(&text).expect("JSON");
    let witnessed = &json["fathom"]["witnessed"];
    let read = witnessed["io"]["rchar"].as_u64().expect("a count");
    assert!((16 * MIB..16 * MIB + SLACK).contains(&read), "{witnessed}");
    let unknown = witnessed["unknown"].to_string();
    assert!(
        unknown.contains("no control group in /sys/fs/cgroup")
            && unknown.contains("Permission denied")
            && unknown.contains("as root"),
        "{unknown}"
    );
}

#[test]
fn a_server_is_counted_with_its_client() {
    let directory = Scratch::new().expect("a directory");
    let (ask, answer) = (directory.join("ask"), directory.join("answer"));
    for pipe in [&ask, &answer] {
        let made = Command::new("mkfifo")
            .arg(pipe)
            .status()
            .expect("mkfifo runs");
        assert!(made.success());
    }
    let (ask, answer) = (ask.display(), answer.display());
    let serve = format!(
        "while read line <{ask}; do dd if=/dev/zero of=/dev/null bs=1M count=16 2>/dev/null; echo done >{answer}; done"
    );
    let mut server = Command::new("timeout")
        .args(["60", "sh", "-c", &serve])
        .spawn()
        .expect("a server");
    let client = format!("echo go >{ask}; read line <{answer}");
    let pid = server.id().to_string();
    let with = watch_with(
        Command::new(FATHOM),
        &["--pid", &pid],
        &["sh", "-c", &client],
    );
    let without = shell(&client);
    let _ = kill_process(
        Pid::from_raw(server.id() as i32).expect("a process number"),
        Signal::TERM,
    );
    let _ = server.wait();
    assert!((16 * MIB..16 * MIB + SLACK).contains(&with.io("rchar")));
    assert!(without.io("rchar") < SLACK);
    let servers = &with.result["witnessed"]["servers"];
    assert_eq!(servers[0]["name"], "timeout", "{servers}");
}

#[test]
fn watched_runs_are_stored_shown_reported_and_compared() {
    let _groups = share_groups();
    let directory = Scratch::new().expect("a directory");
    let store = format!("--store={}", directory.join("store").display());
    for count in ["count=16", "count=64"] {
        let done = fathom([
            "witness",
            &store,
            "--",
            "dd",
            "if=/dev/zero",
            "of=/dev/null",
            "bs=1M",
            count,
        ]);
        assert_eq!(done.code(), 0, "{}", done.err);
        assert!(done.err.contains("stored as r"), "{}", done.err);
    }
    let shown = fathom(["show", "r2", &store]);
    assert_eq!(shown.code(), 0, "{}", shown.err);
    for text in [
        "Watched: dd if=/dev/zero of=/dev/null bs=1M count=64",
        "dd ended with exit code 0",
        "Verdict:",
    ] {
        assert!(shown.out.contains(text), "{text}: {}", shown.out);
    }
    assert!(fathom(["runs", &store]).out.contains("witness"));
    let compared = fathom(["compare", "r1", "r2", &store]);
    assert_eq!(compared.code(), 0, "{}{}", compared.out, compared.err);
    assert!(compared.out.contains("dd"), "{}", compared.out);
    let page = directory.join("page.html");
    let page = page.display().to_string();
    let reported = fathom(["report", "r1", "r2", &store, "-o", &page]);
    assert_eq!(reported.code(), 0, "{}{}", reported.out, reported.err);
    assert!(
        fs::read_to_string(&page)
            .expect("a page")
            .contains("ended with exit code 0")
    );
}

/// Programs of Debian's package, which are not in PATH.
fn postgres_programs() -> Option<PathBuf> {
    let versions = fs::read_dir("/usr/lib/postgresql").ok()?;
    let mut found: Vec<PathBuf> = versions
        .flatten()
        .map(|entry| entry.path().join("bin"))
        .filter(|bin| bin.join("initdb").exists() && bin.join("postgres").exists())
        .collect();
    found.sort();
    found.pop()
}

/// A cluster in a temporary folder, run by an unprivileged user, stopped at the end.
struct Cluster {
    programs: PathBuf,
    directory: Scratch,
}

impl Cluster {
    fn create(programs: PathBuf) -> Cluster {
        let directory = Scratch::new().expect("a directory");
        std::os::unix::fs::chown(directory.path(), Some(65534), Some(65534)).expect("an owner");
        let cluster = Cluster {
            programs,
            directory,
        };
        cluster.run(
            "initdb",
            &["-D", "data", "-A", "trust", "-U", "bench", "-N"],
        );
        cluster
    }

    /// A program of PostgreSQL as nobody.
    fn command(&self, name: &str) -> Command {
        let mut command = Command::new("setpriv");
        command
            .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
            .arg(self.programs.join(name))
            .current_dir(self.directory.path())
            .env("HOME", self.directory.path())
            .stdin(Stdio::null());
        command
    }

    fn run(&self, name: &str, arguments: &[&str]) {
        let log = fs::File::create(self.directory.join("log")).expect("a log");
        let mut command = self.command(name);
        command
            .args(arguments)
            .stdout(log.try_clone().expect("a descriptor"))
            .stderr(log);
        let done = command.status().expect("it starts");
        let log = fs::read_to_string(self.directory.join("log")).unwrap_or_default();
        assert!(done.success(), "{name} {arguments:?}: {log}");
    }

    fn start(&self, shared_buffers: &str) {
        let options = format!(
            "-c shared_buffers={shared_buffers} -c listen_addresses='' -c unix_socket_directories={} -c fsync=off -c autovacuum=off",
            self.directory.path().display()
        );
        self.run(
            "pg_ctl",
            &[
                "-D",
                "data",
                "-w",
                "-l",
                "server.log",
                "-o",
                &options,
                "start",
            ],
        );
    }

    fn stop(&self) {
        let _ = self
            .command("pg_ctl")
            .args(["-D", "data", "-w", "-m", "fast", "stop"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
    }

    fn server(&self) -> String {
        let file = fs::read_to_string(self.directory.join("data/postmaster.pid"));
        file.expect("the server runs")
            .lines()
            .next()
            .expect("a line")
            .to_owned()
    }

    /// pgbench reads with `-S` and prints how many transactions it made.
    fn watch(&self) -> (Watched, f64) {
        let pgbench = self.programs.join("pgbench").display().to_string();
        let socket = self.directory.path().display().to_string();
        let pid = self.server();
        let watched = watch_with(
            Command::new(FATHOM),
            &["--pid", &pid],
            &[
                &pgbench, "-S", "-n", "-T", "3", "-h", &socket, "-U", "bench", "postgres",
            ],
        );
        assert_eq!(watched.completed.code(), 0, "{}", watched.completed.err);
        let out = &watched.completed.out;
        let line = out
            .lines()
            .find_map(|line| line.strip_prefix("number of transactions actually processed: "))
            .unwrap_or_else(|| panic!("pgbench prints its result: {out}"));
        let transactions = line.split('/').next().expect("a number").trim();
        let transactions = transactions.parse().expect("a number");
        (watched, transactions)
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.stop();
    }
}

/// 15 MB of accounts: in shared buffers of 128 MB they are read once, and from then on no system call is needed; in 256 kB
/// nearly every transaction reads a page of 8 KiB again, from the page cache of the kernel. Neither reads from the device.
#[test]
fn pgbench_is_served_from_memory_with_small_and_with_large_buffers() {
    require!(Root);
    let Some(programs) = postgres_programs() else {
        return skip("PostgreSQL is not installed");
    };
    let cluster = Cluster::create(programs);
    let socket = cluster.directory.path().display().to_string();
    cluster.start("16MB");
    cluster.run(
        "pgbench",
        &[
            "-i", "-q", "-s", "1", "-h", &socket, "-U", "bench", "postgres",
        ],
    );
    cluster.stop();
    cluster.start("256kB");
    // Each transaction reads its pages anew, so that a second attempt finds them in memory.
    let per_transaction = with_data_in_memory(|| {
        let (small, transactions) = cluster.watch();
        let per_transaction = small.io("rchar") as f64 / transactions;
        assert!(per_transaction >= 4096.0, "{per_transaction} bytes");
        match small.evidence("PAGE_CACHE") {
            Some(text) if text.contains("pgbench was served from memory") => Ok(per_transaction),
            _ => Err(format!("{}", small.result["witnessed"])),
        }
    });
    cluster.stop();
    cluster.start("128MB");
    let (large, transactions) = cluster.watch();
    // What the client and the server say to each other is less than half a page.
    let per_transaction_large = large.io("rchar") as f64 / transactions;
    assert!(
        per_transaction_large < per_transaction / 2.0,
        "{per_transaction_large} and {per_transaction} bytes"
    );
    assert!(large.io("read_bytes") < 64 * MIB);
    let servers = &large.result["witnessed"]["servers"];
    assert_eq!(servers[0]["name"], "postgres", "{servers}");
}
