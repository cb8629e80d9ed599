//! Scratch devices and benchmark files: confirmations that hold for later runs, and what they do not cover.

use std::os::unix::fs::{FileExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::{Completed, FATHOM, device_code, filename_arg, program, sh, start};
use fathom_testkit::{FsKind, LoopDevice, LoopOptions, Mount, Scratch, require};

const MIB: u64 = 1 << 20;

/// A loop device of 16 MiB over `image`, and a directory for the configuration of its user.
struct Setup {
    directory: Scratch,
    image: PathBuf,
}

impl Setup {
    fn new() -> (Setup, LoopDevice) {
        let directory = Scratch::new().expect("a directory");
        let image = directory.join("image");
        let device =
            LoopDevice::create(&image, 16 * MIB, LoopOptions::default()).expect("a loop device");
        (Setup { directory, image }, device)
    }

    fn config(&self) -> PathBuf {
        self.directory.join("config")
    }

    fn list(&self) -> PathBuf {
        self.config().join("fathom/scratch.toml")
    }

    fn fathom(&self, arguments: &[&str]) -> Completed {
        let mut command = program(arguments);
        command
            .env("XDG_CONFIG_HOME", self.config())
            .current_dir(self.directory.path());
        start(command).finish()
    }

    fn add(&self, device: &Path) {
        let code = device_code(device);
        let path = device.display().to_string();
        let added = self
            .fathom(&[
                "devices",
                "--scratch",
                "add",
                &path,
                &format!("--destroy={code}"),
            ])
            .expect(0);
        assert!(added.out.contains(&path), "{}", added.out);
    }

    /// Writes 64 KiB at 4 MiB.
    fn write(&self, personality: &str, device: &Path) -> Completed {
        let filename = filename_arg(device);
        self.fathom(&[
            personality,
            "--name=x",
            "--rw=write",
            "--bs=4k",
            "--io_size=64k",
            "--offset=4m",
            "--size=1m",
            "--ioengine=psync",
            &filename,
        ])
    }

    fn contents(&self) -> Vec<u8> {
        std::fs::read(&self.image).expect("the image")
    }

    fn assert_refused(&self, device: &Path, reason: &str) {
        let before = self.contents();
        for (personality, exit) in [("run", 2), ("fio", 1)] {
            let ran = self.write(personality, device).expect(exit);
            assert!(ran.err.contains(reason), "{reason} in {}", ran.err);
        }
        assert!(before == self.contents(), "{reason}: the image changed");
    }
}

/// Regression 0425: a loop device that fathom wrote itself was refused the next time, because its code had changed with its
/// contents.
#[test]
fn a_scratch_device_is_written_again_without_a_code() {
    require!(Root, Loop);
    let (setup, device) = Setup::new();
    setup.assert_refused(device.path(), "--destroy=");
    let path = device.path().display().to_string();
    let unconfirmed = setup
        .fathom(&["devices", "--scratch", "add", &path])
        .expect(2);
    assert!(
        unconfirmed.err.contains("--destroy="),
        "{}",
        unconfirmed.err
    );
    let wrong = setup.fathom(&["devices", "--scratch", "add", &path, "--destroy=ZZZZZZZZ"]);
    assert!(wrong.expect(2).err.contains("does not match"));
    assert!(!setup.list().exists(), "nothing was added");

    setup.add(device.path());
    for personality in ["run", "fio", "run"] {
        let before = setup.contents();
        setup.write(personality, device.path()).expect(0);
        assert!(before != setup.contents(), "{personality} wrote");
    }
    let listed = setup.fathom(&["devices", "--scratch", "list"]).expect(0);
    assert!(listed.out.contains(&path) && listed.out.contains("/etc/fathom/scratch.toml"));

    setup
        .fathom(&["devices", "--scratch", "remove", &path])
        .expect(0);
    setup.assert_refused(device.path(), "--destroy=");
    setup
        .fathom(&["devices", "--scratch", "remove", &path])
        .expect(2);
}

/// The list records identities: another file behind the same device number is another device, and the same file behind
/// another number is the same one.
#[test]
fn a_scratch_device_is_recognised_by_its_backing_file() {
    require!(Root, Loop);
    let (setup, device) = Setup::new();
    setup.add(device.path());
    let path = device.path().to_owned();
    drop(device);
    let other = setup.directory.join("other");
    std::fs::copy(&setup.image, &other).expect("a copy");
    let device = LoopDevice::attach(&other, LoopOptions::default()).expect("a loop device");
    if device.path() == path {
        setup.assert_refused(device.path(), "--destroy=");
    }
    let again = LoopDevice::attach(&setup.image, LoopOptions::default()).expect("a loop device");
    setup.write("run", again.path()).expect(0);
    drop((device, again));

    // A part of the same file, and a larger one, are other devices.
    let file = std::fs::File::options()
        .write(true)
        .open(&setup.image)
        .expect("the image");
    file.set_len(17 * MIB).expect("extended");
    let larger = LoopDevice::attach(&setup.image, LoopOptions::default()).expect("a loop device");
    setup.assert_refused(larger.path(), "--destroy=");
}

/// Nothing else is weakened: a device in use, and one with a file system or partition table that fathom did not leave there.
#[test]
fn a_scratch_device_that_others_use_is_refused() {
    require!(Root, Loop);
    let (setup, device) = Setup::new();
    setup.add(device.path());
    setup.write("run", device.path()).expect(0);
    let path = device.path().display();

    let flags = rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::EXCL | rustix::fs::OFlags::CLOEXEC;
    let claim = rustix::fs::open(device.path(), flags, rustix::fs::Mode::empty()).expect("a claim");
    setup.assert_refused(device.path(), "claimed");
    drop(claim);

    sh(&format!(
        "mkfs.ext4 -q -F -E lazy_itable_init=0,lazy_journal_init=0 {path}"
    ));
    setup.assert_refused(device.path(), "ext4 file system");
    {
        let _mount = Mount::existing(device.path(), FsKind::Ext4, "").expect("mounted");
        setup.assert_refused(device.path(), "mounted");
    }

    // One confirmation of the file system is enough, also where its superblock survives each run.
    setup.add(device.path());
    for _ in 0..3 {
        setup.write("fio", device.path()).expect(0);
        assert_eq!(
            setup.contents()[1024 + 56..1024 + 58],
            [0x53, 0xEF],
            "the superblock"
        );
    }
    // Somebody mounts it and stores a file.
    {
        let mount = Mount::existing(device.path(), FsKind::Ext4, "").expect("mounted");
        std::fs::write(mount.path().join("thesis"), "chapter one").expect("a file");
    }
    setup.assert_refused(device.path(), "ext4 file system");

    let file = std::fs::File::options()
        .write(true)
        .open(device.path())
        .expect("the device");
    file.write_all_at(&vec![0; MIB as usize], 0)
        .expect("cleared");
    let entry = [0x80, 0, 0, 0, 0x83, 0, 0, 0, 0, 8, 0, 0, 0, 0, 1, 0];
    file.write_all_at(&entry, 446).expect("an entry");
    file.write_all_at(&[0x55, 0xAA], 510)
        .expect("the magic bytes");
    drop(file);
    sh(&format!("sync {path}"));
    setup.assert_refused(device.path(), "partition table");
}

/// A list that others may write confirms nothing.
#[test]
fn a_scratch_list_that_others_may_write_is_ignored() {
    require!(Root, Loop);
    let (setup, device) = Setup::new();
    setup.add(device.path());
    let allow = |path: &Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("permissions");
    };
    allow(&setup.list(), 0o666);
    setup.assert_refused(device.path(), "writable by nobody else");
    allow(&setup.list(), 0o644);
    allow(&setup.config().join("fathom"), 0o777);
    setup.assert_refused(device.path(), "writable by nobody else");
    allow(&setup.config().join("fathom"), 0o755);
    setup.write("run", device.path()).expect(0);
    std::os::unix::fs::chown(setup.list(), Some(65534), None).expect("chown");
    setup.assert_refused(device.path(), "must belong to");
    std::os::unix::fs::chown(setup.list(), Some(0), None).expect("chown");
    std::fs::write(setup.list(), "nonsense").expect("a broken list");
    setup.assert_refused(device.path(), "invalid TOML");
}

/// The list of the system, in a mount namespace with its own /etc. It permits every user's run, and only root may own it.
#[test]
fn the_system_has_a_list_of_scratch_devices() {
    require!(Root, Loop);
    let (setup, device) = Setup::new();
    let etc = setup.directory.join("etc");
    let copied = Command::new("cp").arg("-a").arg("/etc").arg(&etc).status();
    assert!(
        copied.is_ok_and(|status| status.success()),
        "a copy of /etc"
    );
    let _ = std::fs::remove_dir_all(etc.join("fathom"));
    let in_namespace = |script: &str| {
        let mut command = Command::new("unshare");
        let script = format!("mount --bind {} /etc && {script}", etc.display());
        command
            .args(["-m", "--propagation", "private", "sh", "-ec", &script])
            .env("FATHOM_STORE", "none")
            .env("XDG_CONFIG_HOME", setup.config())
            .current_dir(setup.directory.path());
        start(command).finish()
    };
    let path = device.path().display();
    let code = device_code(device.path());
    let write = format!(
        "{FATHOM} fio --name=x --rw=write --bs=4k --size=1m --ioengine=psync --filename={path}"
    );
    in_namespace(&format!(
        "{FATHOM} devices --scratch add {path} --system --destroy={code}; {FATHOM} devices --scratch list --system; {write}"
    ))
    .expect(0);
    assert!(!setup.list().exists(), "the user's list is not changed");
    let list = etc.join("fathom/scratch.toml");
    assert!(list.exists());
    std::os::unix::fs::chown(&list, Some(65534), None).expect("chown");
    let refused = in_namespace(&write).expect(1);
    assert!(
        refused.err.contains("must belong to root"),
        "{}",
        refused.err
    );
}

/// Regression 0426: scripts that write raw devices could not run twice. Three scripts of the kind of ezFIO (conditioning, then
/// jobs by command line with JSON), TKperf (minimal output, rounds) and bench-fio (a generated job file with logs), each twice,
/// unchanged, with `fio` on their path.
#[test]
fn scripts_in_device_mode_run_unchanged() {
    require!(Root, Loop);
    let (setup, device) = Setup::new();
    let bin = setup.directory.join("bin");
    std::fs::create_dir(&bin).expect("a directory");
    symlink(FATHOM, bin.join("fio")).expect("a link");
    setup.add(device.path());
    let scripts = [
        (
            "ezfio",
            r#"fio --name=SeqCond --readwrite=write --bs=128k --ioengine=libaio --iodepth=64 --direct=1 --filename=$1 --size=16m --thread >/dev/null
for rw in 0 100; do
  fio --name=round --readwrite=randrw --rwmixread=$rw --bs=4k --ioengine=libaio --iodepth=16 --numjobs=2 --direct=1 \
    --filename=$1 --runtime=1 --time_based --group_reporting --thread --refill_buffers --norandommap --randrepeat=0 \
    --output-format=json --output=round$rw.json
  grep -q '"iops"' round$rw.json
done"#,
        ),
        (
            "tkperf",
            r#"for round in 1 2; do
  fio --filename=$1 --name=job --ioengine=libaio --direct=1 --iodepth=8 --numjobs=2 --bs=8k --rw=randwrite --size=16m \
    --io_size=4m --refill_buffers --norandommap --randrepeat=0 --group_reporting --minimal | cut -d';' -f49 | grep -q '[1-9]'
done"#,
        ),
        (
            "bench-fio",
            r#"cat >job.fio <<'END'
[global]
filename=${TARGET}
direct=1
ioengine=${ENGINE}
iodepth=${IODEPTH}
rw=${MODE}
bs=4k
size=16m
runtime=1
time_based
loops=1
write_bw_log=${MODE}
write_iops_log=${MODE}
log_avg_msec=500
[job]
END
for MODE in randread randwrite; do
  TARGET=$1 ENGINE=libaio IODEPTH=4 MODE=$MODE fio --output-format=json --output=$MODE.json job.fio
  grep -q '"iops"' $MODE.json
  test -s ${MODE}_bw.1.log
done"#,
        ),
    ];
    for (name, script) in scripts {
        for _ in 0..2 {
            let before = setup.contents();
            let mut command = Command::new("sh");
            let search = std::env::var("PATH").expect("a path");
            command
                .args(["-euc", script, name])
                .arg(device.path())
                .env("PATH", format!("{}:{search}", bin.display()))
                .env("XDG_CONFIG_HOME", setup.config())
                .env("FATHOM_STORE", "none")
                .current_dir(setup.directory.path());
            let ran = start(command).finish();
            assert_eq!(ran.code(), 0, "{name}: {} {}", ran.out, ran.err);
            assert!(before != setup.contents(), "{name} wrote");
        }
    }
}

/// Regression 0427: after fio wrote the file of a job, fathom refused it, and the code for one file was invalid after the next
/// run of fio. One permission for the benchmark files of a directory holds.
#[test]
fn alternating_runs_of_fio_and_fathom_need_one_permission() {
    require!(Fio);
    let directory = Scratch::new().expect("a directory");
    let job = "[bench]\nrw=randwrite\nbs=4k\nsize=8m\nioengine=psync\n";
    std::fs::write(directory.join("job.fio"), job).expect("a job file");
    let fio = || {
        let mut command = Command::new("fio");
        command.arg("job.fio").current_dir(directory.path());
        start(command).finish().expect(0);
    };
    let run = |personality: &str, more: &[&str]| {
        let mut command = program([personality, "job.fio"]);
        command.args(more).current_dir(directory.path());
        start(command).finish()
    };
    fio();
    let refused = run("run", &[]).expect(2);
    let permission = refused
        .err
        .split_whitespace()
        .skip_while(|&word| word != "--destroy-all-in")
        .nth(1)
        .unwrap_or_else(|| panic!("no permission in {}", refused.err))
        .to_owned();
    let option = format!("--destroy-all-in={permission}");
    for personality in ["run", "fio", "run"] {
        run(personality, &[&option]).expect(0);
        fio();
    }
    // A part by fathom, a part by fio.
    run("run", &[&option, "--set=io_size=1m"]).expect(0);
    fio();
    let two = job
        .replace("randwrite", "write")
        .replace("[bench]", "[bench]\nnumjobs=2");
    std::fs::write(directory.join("job.fio"), two).expect("a job file");
    fio();
    run("fio", &[&option]).expect(0);

    // The file of another name, a foreign content, a second name, and another directory are not covered.
    let file = directory.join("bench.0.0");
    let other = directory.join("results.dat");
    std::fs::copy(&file, &other).expect("a copy");
    let named = filename_arg(&other);
    let by_name = |option: &str| {
        let mut command = program([
            "run",
            "--name=bench",
            "--rw=write",
            "--size=1m",
            &named,
            option,
        ]);
        command.current_dir(directory.path());
        start(command).finish().expect(2)
    };
    assert!(!by_name(&option).err.contains("--destroy-all-in"));

    fio();
    let second = directory.join("second");
    std::fs::hard_link(&file, &second).expect("a second name");
    assert!(
        !run("run", &[&option])
            .expect(2)
            .err
            .contains("--destroy-all-in")
    );
    std::fs::remove_file(&second).expect("removed");

    let elsewhere = permission.rsplit_once('=').expect("DIR=CODE").1;
    run("run", &[&format!("--destroy-all-in=/tmp={elsewhere}")]).expect(2);
    run("run", &["--destroy-all-in=nonsense"]).expect(2);

    let before = std::fs::read(&file).expect("the file");
    let writer = std::fs::File::options()
        .write(true)
        .open(&file)
        .expect("the file");
    let text = b"somebody's data, which nobody may overwrite. ".repeat(256);
    writer.write_all_at(&text, 4096).expect("written");
    drop(writer);
    let refused = run("run", &[&option]).expect(2);
    assert!(!refused.err.contains("--destroy-all-in"), "{}", refused.err);
    let after = std::fs::read(&file).expect("the file");
    assert!(after[4096..].starts_with(&text) && after.len() == before.len());
}

/// Regression 0511: the refusal of a sweep named `--destroy-all-in`, an option that only `run` and `fio` have.
#[test]
fn a_refused_sweep_names_only_options_of_sweep() {
    require!(Fio);
    let directory = Scratch::new().expect("a directory");
    let job = "[bench]\nrw=randwrite\nbs=4k\nsize=1m\nioengine=psync\n";
    std::fs::write(directory.join("job.fio"), job).expect("a job file");
    let mut command = Command::new("fio");
    command.arg("job.fio").current_dir(directory.path());
    start(command).finish().expect(0);
    let refused = |line: &[&str]| {
        let mut command = program(line);
        command.current_dir(directory.path());
        start(command).finish().expect(2).err
    };
    let sweep = refused(&["sweep", "job.fio", "--axis=bs=4k,8k", "--no-store"]);
    assert!(
        sweep.contains("--destroy=") && !sweep.contains("--destroy-all-in"),
        "{sweep}"
    );
    let run = refused(&["run", "job.fio", "--no-store"]);
    assert!(run.contains("--destroy-all-in"), "{run}");
}
