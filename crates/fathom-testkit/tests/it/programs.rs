//! Tests of the two programs from the command line.

use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use fathom_testkit::{Scratch, require};
use rustix::process::{Pid, Signal, kill_process};

#[test]
fn seccomp_run_denies_and_execs() {
    require!(IoUring, Fio);
    let scratch = Scratch::new().expect("scratch");
    let fio = |denied: &str, engine: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_seccomp-run"));
        command.args([
            "--deny",
            denied,
            "--",
            "fio",
            "--name=a",
            "--size=64k",
            "--rw=write",
        ]);
        command
            .arg(format!("--ioengine={engine}"))
            .current_dir(scratch.path());
        command.output().expect("run").status.success()
    };
    assert!(!fio("io_uring", "io_uring"));
    assert!(fio("io_uring", "libaio"));
    assert!(!fio("io_setup", "libaio"));
    assert!(fio("io_setup", "io_uring"));
}

#[test]
fn seccomp_run_prints_its_usage() {
    let output = Command::new(env!("CARGO_BIN_EXE_seccomp-run"))
        .args(["--deny", "everything", "--", "true"])
        .output()
        .expect("run");
    assert_eq!(output.status.code(), Some(126));
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(
        text.contains("io_uring or io_setup") && text.contains("usage:"),
        "{text}"
    );
}

/// A server that is interrupted, and thus unmounts, even when the test fails.
struct Interrupted(Child);

impl Interrupted {
    fn interrupt(&mut self) -> ExitStatus {
        kill_process(Pid::from_child(&self.0), Signal::INT).expect("interrupt");
        self.0.wait().expect("ends")
    }
}

impl Drop for Interrupted {
    fn drop(&mut self) {
        if let Ok(None) = self.0.try_wait() {
            self.interrupt();
        }
    }
}

/// Regression 1447: the commands of `--do` were carried out after the mount, and an early read found no fault.
#[test]
fn fault_device_serves_until_interrupted() {
    require!(Fuse);
    let scratch = Scratch::new().expect("scratch");
    let device = scratch.join("device");
    let server = Command::new(env!("CARGO_BIN_EXE_fault-device"))
        .arg(scratch.path())
        .args(["--size", "2M", "--read-us", "100", "--do", "eio-read 0 512"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("start");
    let mut server = Interrupted(server);
    for _ in 0..500 {
        if device.exists() {
            break;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(std::fs::metadata(&device).expect("mounted").len(), 2 << 20);
    let read = std::fs::read(&device).expect_err("the first sector is bad");
    assert_eq!(read.raw_os_error(), Some(5));
    assert!(server.interrupt().success());
    let mut printed = String::new();
    let mut out = server.0.stdout.take().expect("piped");
    std::io::Read::read_to_string(&mut out, &mut printed).expect("text");
    assert_eq!(printed, "injected 1\n");
    assert!(!device.exists(), "unmounted");
}
