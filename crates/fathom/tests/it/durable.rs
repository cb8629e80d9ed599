//! `fathom durable`: the recorder, the writer and the checker as programs, and power cuts of a device with file systems on it.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::common::{Completed, Running, fathom, program, start};
use fathom_testkit::{
    CacheFault, DeviceOptions, FaultDevice, FsKind, LoopDevice, LoopOptions, Mount, Scratch,
    require,
};
use serde_json::Value;

const MIB: u64 = 1 << 20;
/// The first bytes of every record.
const RECORD: &[u8] = b"FDURABLE";
/// Bytes of an acknowledgement in the log, with the smallest overhead.
const ACK: u64 = 10;

/// A recorder on this machine, reached over TCP.
struct Recorder {
    directory: Scratch,
    address: String,
    process: Option<Running>,
}

impl Recorder {
    fn start() -> Recorder {
        let port = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = port.local_addr().expect("an address").to_string();
        drop(port);
        let mut recorder = Recorder {
            directory: Scratch::new().expect("scratch"),
            address,
            process: None,
        };
        recorder.restart();
        recorder
    }

    fn arguments(&self) -> Vec<String> {
        vec![
            "durable".into(),
            "record".into(),
            self.log(),
            "--listen".into(),
            self.address.clone(),
            "--token-file".into(),
            self.token(),
        ]
    }

    fn stop(&mut self) {
        if let Some(process) = self.process.take() {
            kill(&process);
            process.finish();
        }
    }

    fn restart(&mut self) {
        self.process = Some(self.listen(program(self.arguments())));
    }

    fn listen(&self, command: Command) -> Running {
        let address = self.address.clone();
        start(command).wait_until("the recorder listens", || {
            TcpStream::connect(&address).is_ok()
        })
    }

    fn log(&self) -> String {
        text(&self.directory.join("acks.log"))
    }

    fn token(&self) -> String {
        text(&self.directory.join("token"))
    }

    fn log_bytes(&self) -> u64 {
        fs::metadata(self.log()).map_or(0, |facts| facts.len())
    }

    fn command(&self, action: &str, path: &Path, more: &[&str]) -> Vec<String> {
        let line = [
            "durable",
            action,
            &text(path),
            "--recorder",
            &self.address,
            "--token-file",
            &self.token(),
        ];
        line.iter().chain(more).map(|&one| one.to_owned()).collect()
    }

    /// Writes until the recorder has about `acks` more acknowledgements, then calls `cut` and waits for the end of the writer.
    fn write_until(
        &self,
        path: &Path,
        more: &[&str],
        acks: u64,
        cut: impl FnOnce(&Running),
    ) -> Completed {
        let target = self.log_bytes() + acks * ACK;
        let writer = start(program(self.command("write", path, more)));
        let writer = writer.wait_until("acknowledgements", || self.log_bytes() > target);
        cut(&writer);
        writer.finish()
    }

    fn check(&self, path: &Path, more: &[&str]) -> Completed {
        fathom(self.command("check", path, more))
    }

    fn certificate(&self, path: &Path, more: &[&str]) -> (i32, Value) {
        let mut arguments = more.to_vec();
        arguments.push("--json");
        let checked = self.check(path, &arguments);
        let json = serde_json::from_str(&checked.out);
        let json = json.unwrap_or_else(|error| panic!("{error}: {}{}", checked.out, checked.err));
        (checked.code(), json)
    }
}

fn text(path: &Path) -> String {
    path.to_str().expect("UTF-8").to_owned()
}

fn kill(writer: &Running) {
    writer.signal(rustix::process::Signal::KILL);
}

fn sum(certificate: &Value, field: &str) -> u64 {
    let cycles = certificate["cycles"].as_array().expect("cycles");
    let streams = cycles
        .iter()
        .flat_map(|cycle| cycle["streams"].as_array().expect("streams"));
    streams
        .map(|stream| stream[field].as_u64().expect(field))
        .sum()
}

/// Each row of a stream accounts for every acknowledged commit.
fn assert_conserved(certificate: &Value) {
    let parts = [
        "replaced",
        "there",
        "lost",
        "torn_512",
        "torn_4k",
        "torn_record",
        "changed",
        "misplaced",
        "unreadable",
    ];
    let total: u64 = parts.iter().map(|part| sum(certificate, part)).sum();
    assert_eq!(total, sum(certificate, "acknowledged"), "{certificate:#}");
}

/// Five methods in five cycles; the process is killed, and the same boot shows that no power was cut.
#[test]
fn every_method_keeps_its_commits_when_the_writer_is_killed() {
    let recorder = Recorder::start();
    let scratch = Scratch::new().expect("scratch");
    let path = scratch.join("durable");
    for method in ["fsync", "fdatasync", "dsync", "fua", "rename"] {
        recorder.write_until(&path, &["--size=8m"], 300, kill);
        let (code, certificate) = recorder.certificate(&path, &[]);
        assert_conserved(&certificate);
        let cycle = certificate["cycles"].as_array().and_then(|c| c.last());
        assert_eq!(cycle.expect("a cycle")["method"], method);
        assert!(sum(&certificate, "lost") + sum(&certificate, "torn_512") == 0);
        assert_eq!((code, &certificate["verdict"]), (3, &"undecided".into()));
        let reason = certificate["reason"].as_str().expect("a reason");
        assert!(reason.contains("no power cut is known"), "{reason}");
    }
    // The user states that the device lost power: five cuts, 1 - 0.05^(1/1) for the one that is checked again.
    let (code, certificate) = recorder.certificate(&path, &["--device-cut"]);
    assert_eq!((code, &certificate["verdict"]), (0, &"pass".into()));
    assert_eq!(certificate["cuts"], 1);
    let methods = certificate["untested_methods"].as_array().expect("a list");
    assert_eq!(methods.len(), 4, "{methods:?}");
    let leftovers: Vec<_> = fs::read_dir(&path).expect("the directory").collect();
    assert_eq!(
        leftovers.len(),
        2,
        "the marker and the last cycle: {leftovers:?}"
    );
}

#[test]
fn certificates_are_text_json_and_html() {
    let recorder = Recorder::start();
    let scratch = Scratch::new().expect("scratch");
    let path = scratch.join("durable");
    // All commits are of the file that is changed below, whose slots are not written a second time.
    let options = [
        "--size=32m",
        "--method=fdatasync",
        "--layout=overwrite",
        "--threads=1",
    ];
    recorder.write_until(&path, &options, 100, kill);
    let checked = recorder.check(&path, &["--device-cut"]).expect(0);
    assert!(checked.out.starts_with("pass: all "), "{}", checked.out);
    assert!(
        checked.out.contains("at most 95.0 % of cuts"),
        "{}",
        checked.out
    );
    assert!(
        checked
            .out
            .contains("Methods that no cut has tested: fsync, dsync, fua, rename.")
    );
    let page = text(&scratch.join("certificate.html"));
    recorder
        .check(&path, &["--device-cut", "-o", &page])
        .expect(0);
    let page = fs::read_to_string(page).expect("the page");
    assert!(page.starts_with("<!doctype html>") && page.contains("Power-cut certificate"));
    assert!(
        !page.contains("http") && !page.contains("src="),
        "self-contained"
    );
    let json = text(&scratch.join("certificate.json"));
    recorder
        .check(&path, &["--device-cut", "-o", &json])
        .expect(0);
    let json: Value =
        serde_json::from_str(&fs::read_to_string(json).expect("the file")).expect("JSON");
    assert_eq!(json["format"], "fathom-durable 1");
    // Data of the files that is changed by hand is found.
    let file = fs::read_dir(path.join("cycle-000001"))
        .expect("the cycle")
        .map(|entry| entry.expect("an entry").path())
        .find(|path| text(path).contains("overwrite"))
        .expect("a file");
    let mut bytes = fs::read(&file).expect("read");
    bytes[5000] ^= 1;
    fs::write(&file, bytes).expect("write");
    let checked = recorder.check(&path, &["--device-cut"]).expect(1);
    assert!(
        checked.out.contains("content changed (bit corruption)"),
        "{}",
        checked.out
    );
    fs::remove_file(&file).expect("remove");
    let checked = recorder.check(&path, &["--device-cut"]).expect(1);
    assert!(checked.out.contains(" lost "), "{}", checked.out);
    // What the user states about the device.
    let dead = recorder.check(&path, &["--unreadable=device"]).expect(1);
    assert!(
        dead.out.contains("dead device (dead device)"),
        "{}",
        dead.out
    );
}

/// Files of no length, as after a cut that lost it: every commit that must be there is lost.
#[test]
fn files_that_end_before_their_commits_have_lost_them() {
    let recorder = Recorder::start();
    let scratch = Scratch::new().expect("scratch");
    let path = scratch.join("durable");
    recorder.write_until(&path, &["--size=8m", "--method=fdatasync"], 100, kill);
    for entry in fs::read_dir(path.join("cycle-000001")).expect("the cycle") {
        let file = fs::File::options()
            .write(true)
            .open(entry.expect("an entry").path());
        file.expect("a file").set_len(0).expect("cut");
    }
    let (code, certificate) = recorder.certificate(&path, &["--device-cut"]);
    assert_conserved(&certificate);
    assert_eq!((code, &certificate["verdict"]), (1, &"fail".into()));
    let required = sum(&certificate, "acknowledged") - sum(&certificate, "replaced");
    assert!(required > 0);
    assert_eq!(sum(&certificate, "lost"), required, "{certificate:#}");
    let explained = sum(&certificate, "beyond_end") + sum(&certificate, "no_file");
    assert_eq!(explained, required, "{certificate:#}");
}

#[test]
fn a_lost_recorder_stops_the_writer() {
    let mut recorder = Recorder::start();
    let scratch = Scratch::new().expect("scratch");
    let path = scratch.join("durable");
    let process = recorder.process.take().expect("it runs");
    let ran = recorder.write_until(&path, &["--size=8m"], 200, |_| kill(&process));
    drop(process);
    assert_eq!(ran.code(), 3, "{}", ran.err);
    assert!(ran.err.contains("lost the recorder"), "{}", ran.err);
    assert!(
        ran.err.contains("nothing after them is claimed"),
        "{}",
        ran.err
    );
    // The log can be cut at any byte: the recorder removes the incomplete entry and goes on.
    let log = fs::read(recorder.log()).expect("the log");
    fs::write(recorder.log(), &log[..log.len() - 3]).expect("cut");
    recorder.restart();
    // As the writer said: undecided, because nothing is lost, and it stopped before the cut.
    let (code, certificate) = recorder.certificate(&path, &["--device-cut"]);
    assert_eq!(code, 3, "{certificate:#}");
    assert_eq!(certificate["cycles"][0]["end"], "stopped");
    assert_conserved(&certificate);
    assert!(sum(&certificate, "there") > 0 && sum(&certificate, "lost") == 0);
}

#[test]
fn wrong_tokens_and_unreachable_recorders_are_refused() {
    let recorder = Recorder::start();
    let scratch = Scratch::new().expect("scratch");
    let path = scratch.join("durable");
    let wrong = text(&scratch.join("wrong"));
    fs::write(&wrong, "0123456789abcdef0123456789abcdef\n").expect("a token");
    let run = |address: &str, token: &str| {
        fathom([
            "durable",
            "write",
            &text(&path),
            "--recorder",
            address,
            "--token-file",
            token,
        ])
        .expect(2)
    };
    let refused = run(&recorder.address, &wrong);
    assert!(refused.err.contains("wrong token"), "{}", refused.err);
    fs::write(&wrong, "short\n").expect("a token");
    let refused = run(&recorder.address, &wrong);
    assert!(refused.err.contains("at least 16"), "{}", refused.err);
    let refused = run("127.0.0.1:1", &recorder.token());
    assert!(
        refused.err.contains("cannot reach the recorder"),
        "{}",
        refused.err
    );
    assert!(!path.exists(), "nothing was created");
    // Another protocol on the port.
    let other = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = other.local_addr().expect("an address").to_string();
    let thread = std::thread::spawn(move || {
        use std::io::Write as _;
        let (mut stream, _) = other.accept().expect("a connection");
        stream
            .write_all(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")
            .expect("written");
        std::thread::sleep(Duration::from_millis(500));
    });
    let refused = run(&address, &recorder.token());
    assert!(
        refused.err.contains("not a recorder of this version"),
        "{}",
        refused.err
    );
    thread.join().expect("the server");
    // The recorder still works after the wrong token and after garbage.
    use std::io::Write as _;
    let mut garbage = TcpStream::connect(&recorder.address).expect("connected");
    garbage.write_all(&[0xff; 4096]).expect("written");
    drop(garbage);
    recorder.write_until(&path, &["--size=8m"], 300, kill);
}

/// The recorder makes a certificate; the writer knows it by its fingerprint. The token is needed too.
/// Regression 1477: a recorder that was interrupted as soon as its port was open ended by the signal.
#[test]
fn a_recorder_with_tls_is_known_by_its_fingerprint() {
    let mut recorder = Recorder::start();
    recorder.stop();
    // It is started twice: the first start makes the certificate, the second one uses it.
    let pem = text(&recorder.directory.join("recorder.pem"));
    let mut arguments = recorder.arguments();
    arguments.extend(["--tls".into(), pem.clone()]);
    let first = recorder.listen(program(&arguments));
    first.signal(rustix::process::Signal::INT);
    let first = first.finish().expect(0);
    let fingerprint = first
        .err
        .split_once("--tls-fingerprint=")
        .and_then(|(_, rest)| rest.split_whitespace().next())
        .unwrap_or_else(|| panic!("no fingerprint: {}", first.err))
        .to_owned();
    recorder.process = Some(recorder.listen(program(&arguments)));
    let mode =
        std::os::unix::fs::PermissionsExt::mode(&fs::metadata(&pem).expect("made").permissions());
    assert_eq!(mode & 0o777, 0o600, "only the user reads the key");

    let scratch = Scratch::new().expect("scratch");
    let path = scratch.join("durable");
    let wrong = format!("00{}", &fingerprint[2..]);
    let wrong = if wrong == fingerprint {
        format!("01{}", &fingerprint[2..])
    } else {
        wrong
    };
    let refused =
        fathom(recorder.command("write", &path, &["--tls-fingerprint", &wrong])).expect(2);
    assert!(
        refused.err.contains("wrong fingerprint") && refused.err.contains(&fingerprint),
        "{}",
        refused.err
    );
    let refused = fathom(recorder.command("write", &path, &[])).expect(2);
    assert!(
        refused.err.contains("the recorder uses TLS"),
        "{}",
        refused.err
    );
    let other = text(&scratch.join("other"));
    fs::write(&other, "0123456789abcdef0123456789abcdef\n").expect("a token");
    let command = recorder.command("write", &path, &["--tls-fingerprint", &fingerprint]);
    let with_other_token = command.iter().map(|one| {
        if *one == recorder.token() {
            other.clone()
        } else {
            one.clone()
        }
    });
    let refused = fathom(with_other_token).expect(2);
    assert!(refused.err.contains("wrong token"), "{}", refused.err);
    assert!(!path.exists(), "nothing was created");

    let tls = ["--tls-fingerprint", &fingerprint];
    recorder.write_until(&path, &[&tls[..], &["--size=8m"]].concat(), 300, kill);
    let (code, certificate) = recorder.certificate(&path, &[&tls[..], &["--device-cut"]].concat());
    assert_eq!(
        (code, &certificate["verdict"]),
        (0, &"pass".into()),
        "{certificate:#}"
    );
    assert!(sum(&certificate, "there") > 0 && sum(&certificate, "lost") == 0);
    assert_conserved(&certificate);

    // A recorder without TLS is named.
    recorder.stop();
    recorder.restart();
    let refused = fathom(recorder.command("check", &path, &tls)).expect(2);
    assert!(refused.err.contains("does not use TLS"), "{}", refused.err);
}

/// The certificates are in the fixtures of the TLS crate: `signed.pem` is for `localhost` and 127.0.0.1.
#[test]
fn a_recorder_with_a_certificate_of_an_authority_is_known_by_its_name() {
    let fixture = |name: &str| {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fathom-tls/tests/fixtures");
        text(&folder.join(name))
    };
    let mut recorder = Recorder::start();
    recorder.stop();
    let pem = text(&recorder.directory.join("recorder.pem"));
    fs::copy(fixture("signed.pem"), &pem).expect("copied");
    let mut arguments = recorder.arguments();
    arguments.extend(["--tls".into(), pem.clone()]);
    recorder.process = Some(recorder.listen(program(&arguments)));
    let scratch = Scratch::new().expect("scratch");
    let path = scratch.join("durable");
    // Another authority, and a file that is not a certificate.
    let foreign = fixture("foreign.pem");
    let refused = fathom(recorder.command("write", &path, &["--tls-ca", &foreign])).expect(2);
    assert!(
        refused.err.contains("not signed by this authority") && refused.err.contains("--tls-ca"),
        "{}",
        refused.err
    );
    let token = recorder.token();
    let refused = fathom(recorder.command("write", &path, &["--tls-ca", &token])).expect(2);
    assert!(
        refused.err.contains("no certificate as PEM"),
        "{}",
        refused.err
    );
    assert!(!path.exists(), "nothing was created");
    let both = ["--tls-ca", &foreign, "--tls-fingerprint", &"00".repeat(32)];
    fathom(recorder.command("write", &path, &both)).expect(2);

    let authority = fixture("authority.pem");
    let tls = ["--tls-ca", &authority];
    recorder.write_until(&path, &[&tls[..], &["--size=8m"]].concat(), 300, kill);
    let (code, certificate) = recorder.certificate(&path, &[&tls[..], &["--device-cut"]].concat());
    assert_eq!(
        (code, &certificate["verdict"]),
        (0, &"pass".into()),
        "{certificate:#}"
    );
}

/// Existing files, devices and other directories are refused and stay as they are.
#[test]
fn only_files_of_the_test_are_written() {
    let recorder = Recorder::start();
    let scratch = Scratch::new().expect("scratch");
    let data = scratch.join("data");
    fs::create_dir(&data).expect("a directory");
    fs::write(data.join("photo"), "precious").expect("a file");
    let refused = fathom(recorder.command("write", &data, &[])).expect(2);
    assert!(
        refused.err.contains("it contains other files"),
        "{}",
        refused.err
    );
    let refused = fathom(recorder.command("write", &data.join("photo"), &[])).expect(2);
    assert!(refused.err.contains("not a directory"), "{}", refused.err);
    let refused = fathom(recorder.command("write", Path::new("/dev/null"), &[])).expect(2);
    assert!(refused.err.contains("not a directory"), "{}", refused.err);
    assert_eq!(
        fs::read_to_string(data.join("photo")).expect("read"),
        "precious"
    );
    assert_eq!(fs::read_dir(&data).expect("list").count(), 1);
    // The log is not replaced by a file that is none, and the recorder has its own.
    fs::write(scratch.join("notes"), "text\n").expect("a file");
    let notes = text(&scratch.join("notes"));
    let refused = fathom([
        "durable",
        "record",
        &notes,
        "--listen",
        "127.0.0.1:0",
        "--token-file",
        &recorder.token(),
    ])
    .expect(2);
    assert!(
        refused.err.contains("not a log of fathom durable"),
        "{}",
        refused.err
    );
    assert_eq!(fs::read_to_string(&notes).expect("read"), "text\n");

    // A file of another owner in the directory of a cycle survives the next cycle.
    let path = scratch.join("durable");
    recorder.write_until(&path, &["--size=8m"], 300, kill);
    fs::write(path.join("cycle-000001/notes"), "mine").expect("a file");
    recorder.check(&path, &[]).expect(3);
    recorder.write_until(&path, &["--size=8m"], 300, kill);
    let notes = fs::read_to_string(path.join("cycle-000001/notes"));
    assert_eq!(notes.expect("kept"), "mine");
    assert_eq!(
        fs::read_dir(path.join("cycle-000001"))
            .expect("list")
            .count(),
        1
    );

    // The next cycle needs the check of this one, and another directory is not this run's.
    let refused = fathom(recorder.command("write", &path, &[])).expect(2);
    assert!(
        refused.err.contains("is not checked yet"),
        "{}",
        refused.err
    );
    let other = Recorder::start();
    let elsewhere = scratch.join("elsewhere");
    other.write_until(&elsewhere, &["--size=8m"], 300, kill);
    let refused = recorder.check(&elsewhere, &[]).expect(2);
    assert!(refused.err.contains("belongs to run"), "{}", refused.err);
    let refused = recorder.check(&scratch.join("missing"), &[]).expect(2);
    assert!(
        refused.err.contains("--unreadable=file-system"),
        "{}",
        refused.err
    );
}

/// The recorder knows of a cycle before the files of the last one are removed, so that a cut between the two is not a loss.
#[test]
fn a_cycle_that_cannot_begin_is_not_a_loss() {
    let recorder = Recorder::start();
    let scratch = Scratch::new().expect("scratch");
    let path = scratch.join("durable");
    recorder.write_until(&path, &["--size=8m"], 300, kill);
    recorder.check(&path, &["--device-cut"]).expect(0);
    fs::write(path.join("cycle-000002"), "a file").expect("a file");
    let refused = fathom(recorder.command("write", &path, &["--size=8m"])).expect(2);
    assert!(refused.err.contains("cannot create"), "{}", refused.err);
    let (_, certificate) = recorder.certificate(&path, &["--device-cut"]);
    assert_eq!(sum(&certificate, "lost"), 0, "{certificate:#}");
    let text = fs::read_to_string(path.join("cycle-000002")).expect("kept");
    assert_eq!(text, "a file");
}

/// A recorder that is a file of this machine: it must be on another file system, and the certificate says what that lacks.
#[test]
fn a_file_on_another_disk_records_too() {
    let scratch = Scratch::new().expect("scratch");
    let memory = Scratch::below(Path::new("/dev/shm")).expect("a second file system");
    let path = scratch.join("durable");
    let log = text(&memory.join("acks.log"));
    let here = text(&scratch.join("acks.log"));
    let refused = fathom(["durable", "write", &text(&path), "--recorder", &here]).expect(2);
    assert!(
        refused.err.contains("on the file system under test"),
        "{}",
        refused.err
    );
    let bytes = || fs::metadata(&log).map_or(0, |facts| facts.len());
    let arguments = [
        "durable",
        "write",
        &text(&path),
        "--recorder",
        &log,
        "--size=8m",
    ];
    let writer = start(program(arguments)).wait_until("acknowledgements", || bytes() > 2000);
    kill(&writer);
    writer.finish();
    let checked = fathom([
        "durable",
        "check",
        &text(&path),
        "--recorder",
        &log,
        "--device-cut",
    ]);
    let checked = checked.expect(0);
    assert!(
        checked.out.contains("The recorder was on the same machine"),
        "{}",
        checked.out
    );
}

/// The command of `--cut` runs by itself, and `--resume` checks the last cycle and starts the next one.
#[test]
fn cycles_resume_from_their_state() {
    let recorder = Recorder::start();
    let scratch = Scratch::new().expect("scratch");
    let memory = Scratch::below(Path::new("/dev/shm")).expect("a second file system");
    let path = scratch.join("durable");
    let state = text(&memory.join("state.json"));
    let state_option = format!("--state={state}");
    // The parent of the shell is the writer: killed, as by a power cut.
    let mut options = vec!["--cycles=3", "--cut=kill -9 $PPID", "--cut-after=400ms"];
    options.extend(["--device-cut", "--size=8m", "--method=fdatasync,rename"]);
    let on_target = format!("--state={}", text(&scratch.join("state")));
    let mut wrong = options.clone();
    wrong.push(&on_target);
    let refused = fathom(recorder.command("write", &path, &wrong)).expect(2);
    assert!(
        refused.err.contains("on the file system under test"),
        "{}",
        refused.err
    );
    options.push(&state_option);
    let first = fathom(recorder.command("write", &path, &options));
    assert_eq!(first.code(), -1, "killed: {}", first.err);
    for _ in 0..2 {
        let next = fathom(["durable", "write", "--resume", &state_option]);
        assert_eq!(next.code(), -1, "killed: {}", next.err);
        assert!(next.err.contains(": pass: all "), "{}", next.err);
    }
    let last = fathom(["durable", "write", "--resume", &state_option]).expect(0);
    assert!(last.out.contains("after 3 power cuts"), "{}", last.out);
    // 1 - 0.05^(1/3).
    assert!(last.out.contains("at most 63.2 % of cuts"), "{}", last.out);
}

#[test]
fn a_command_that_does_not_cut_stops_the_cycle() {
    let recorder = Recorder::start();
    let scratch = Scratch::new().expect("scratch");
    let memory = Scratch::below(Path::new("/dev/shm")).expect("a second file system");
    let state = format!("--state={}", text(&memory.join("state.json")));
    let options = [
        "--cycles=2",
        "--cut=exit 7",
        "--cut-after=200ms",
        "--size=8m",
        &state,
    ];
    let ran = fathom(recorder.command("write", &scratch.join("durable"), &options)).expect(3);
    assert!(ran.err.contains("ended with exit status: 7"), "{}", ran.err);
}

/// ENOSPC is undecided: the commit that failed was not acknowledged, and the others are there.
#[test]
fn a_full_disk_is_undecided() {
    require!(Loop);
    let recorder = Recorder::start();
    let scratch = Scratch::new().expect("scratch");
    let block = LoopDevice::create(&scratch.join("disk"), 24 * MIB, LoopOptions::default());
    let block = block.expect("a disk");
    let mount = Mount::format(block.path(), FsKind::Ext4, "").expect("ext4");
    let path = mount.join("durable");
    let ran = fathom(recorder.command("write", &path, &["--method=fdatasync"])).expect(3);
    assert!(ran.err.contains("free some space"), "{}", ran.err);
    let (code, certificate) = recorder.certificate(&path, &[]);
    assert_eq!(
        (code, &certificate["verdict"]),
        (3, &"undecided".into()),
        "{certificate:#}"
    );
    assert_conserved(&certificate);
}

/// The verdict of one power cut of a device with a file system on it.
struct CutResult {
    verdict: String,
    causes: Vec<String>,
    there: u64,
}

/// Writes with one method on a file system on a device with a volatile cache, cuts its power, and checks what remains.
fn cut(kind: FsKind, fault: CacheFault, method: &str, seed: u64) -> CutResult {
    let recorder = Recorder::start();
    let scratch = Scratch::new().expect("scratch");
    let size = match kind {
        FsKind::Ext4 => 96 * MIB,
        FsKind::Xfs => 320 * MIB,
        FsKind::Btrfs => 192 * MIB,
    };
    let options = DeviceOptions {
        size,
        ..DeviceOptions::default()
    };
    let device = FaultDevice::mount(options).expect("a device");
    let method = format!("--method={method}");
    let image = scratch.join("after-cut");
    {
        let block = LoopDevice::attach(&device.path(), LoopOptions::default()).expect("attach");
        let mount = Mount::format(block.path(), kind, "").expect("a file system");
        rustix::fs::syncfs(fs::File::open(mount.path()).expect("the mount")).expect("synced");
        device.set_volatile_cache(64 * MIB, fault);
        let path = mount.join("durable");
        let options = ["--size=16m", "--device-cut", &method];
        let ran = recorder.write_until(&path, &options, 250, |_| {
            device.cut_power(seed, &image).expect("the image");
        });
        assert_eq!(ran.code(), 3, "the writer sees EIO and stops: {}", ran.err);
    }
    let block = LoopDevice::attach(&image, LoopOptions::default()).expect("attach the image");
    let (code, certificate) = match Mount::existing(block.path(), kind, "") {
        Ok(mount) if mount.join("durable").join("fathom-durable.json").exists() => {
            recorder.certificate(&mount.join("durable"), &["--device-cut"])
        }
        _ => recorder.certificate(
            &scratch.join("missing"),
            &["--device-cut", "--unreadable=file-system"],
        ),
    };
    assert_conserved(&certificate);
    let verdict = certificate["verdict"]
        .as_str()
        .expect("a verdict")
        .to_owned();
    assert_eq!(code, i32::from(verdict == "fail"), "{certificate:#}");
    let causes = certificate["causes"].as_array().expect("causes");
    CutResult {
        verdict,
        causes: causes
            .iter()
            .map(|cause| cause["cause"].as_str().expect("a name").to_owned())
            .collect(),
        there: sum(&certificate, "there"),
    }
}

/// Cuts of each method with `FATHOM_FS_CUTS`; without it, one method, in turn by file system.
fn long_form() -> Option<u64> {
    let given = std::env::var("FATHOM_FS_CUTS").ok();
    given.map(|text| text.parse().expect("FATHOM_FS_CUTS is a number"))
}

/// An honest device passes every cut. Each other fault is found within five cuts.
fn cuts_on(kind: FsKind, short_method: &str, short_faults: &[CacheFault]) {
    let all = ["fsync", "fdatasync", "dsync", "fua", "rename"];
    let methods: Vec<&str> = match long_form() {
        Some(cuts) => all.into_iter().cycle().take(cuts as usize).collect(),
        None => vec![short_method],
    };
    for (seed, method) in methods.iter().enumerate() {
        let result = cut(kind, CacheFault::Honest, method, seed as u64);
        assert_eq!(
            result.verdict, "pass",
            "{kind:?} {method}: {:?}",
            result.causes
        );
        assert!(result.there > 100, "{kind:?} {method}: {}", result.there);
    }
    let faults = CacheFault::all(RECORD);
    let faults = match long_form() {
        Some(_) => &faults[1..],
        None => short_faults,
    };
    for fault in faults {
        // FUA does not reach a loop device as such: the kernel sends a write and a flush, so that nothing is lost.
        if *fault == CacheFault::LosesFua {
            continue;
        }
        let found = all.iter().enumerate().find_map(|(seed, method)| {
            let result = cut(kind, *fault, method, seed as u64);
            (result.verdict == "fail").then_some((seed + 1, result.causes))
        });
        assert!(found.is_some(), "{kind:?} {fault:?} was not found");
    }
}

#[test]
fn power_cuts_with_ext4() {
    require!(Fuse, Loop);
    cuts_on(
        FsKind::Ext4,
        "fdatasync",
        &[CacheFault::IgnoresFlush, CacheFault::TearsAt512],
    );
}

#[test]
fn power_cuts_with_xfs() {
    require!(Fuse, Loop);
    cuts_on(FsKind::Xfs, "dsync", &[CacheFault::DropsLastFlushes]);
}

#[test]
fn power_cuts_with_btrfs() {
    require!(Fuse, Loop);
    cuts_on(FsKind::Btrfs, "rename", &[CacheFault::IgnoresFlush]);
}
