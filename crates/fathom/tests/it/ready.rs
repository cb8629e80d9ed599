//! `fathom ready` and `fathom fsync` as users call them.

use crate::common::{COMMITS_PROFILE, device_with_commits_of, fathom, split_args};
use fathom_testkit::{FaultDevice, FsKind, LoopDevice, LoopOptions, Mount, Scratch, require};

/// A device whose commits take exactly this long.
fn device(sync_us: u64) -> FaultDevice {
    device_with_commits_of(64 << 20, sync_us)
}

fn ready(path: &std::path::Path, profiles: &Scratch, rest: &str) -> Vec<String> {
    std::fs::write(profiles.join("log.toml"), COMMITS_PROFILE).expect("a profile");
    split_args(&format!(
        "ready log {} --profiles={} --no-store --quiet {rest}",
        path.display(),
        profiles.path().display()
    ))
}

/// The option that confirms writing to a device: the refusal of a call without it names it.
fn destroy(path: &std::path::Path, profiles: &Scratch) -> String {
    let refused = fathom(ready(path, profiles, "--runtime=5s"));
    refused
        .err
        .split_whitespace()
        .find(|word| word.starts_with("--destroy="))
        .map(str::to_owned)
        .unwrap_or_else(|| panic!("no code: {}{}", refused.out, refused.err))
}

/// With a limit of half a second, which no busy machine makes of 0.1 ms: commits of 0.1 ms pass, and those of 0.7 s fail, both long before
/// the time is up. `cargo xtask measure` has the verdicts near the limit.
#[test]
fn commits_of_known_latency_are_judged_right_and_early() {
    require!(Fuse);
    let profiles = Scratch::new().expect("a directory");
    let profile = COMMITS_PROFILE.replace("10ms", "500ms");
    for (sync_us, verdict, code) in [(100, "pass", 0), (700_000, "fail", 1)] {
        let device = device(sync_us);
        let code_of_device = destroy(&device.path(), &profiles);
        let command = ready(
            &device.path(),
            &profiles,
            &format!("--runtime=40s --json {code_of_device}"),
        );
        std::fs::write(profiles.join("log.toml"), &profile).expect("a profile");
        let json = fathom(command).expect(code).json();
        assert_eq!(json.text("/verdict"), verdict);
        let value = json.number("/checks/0/value");
        let low = json.number("/checks/0/low");
        // Few slow commits have no upper end.
        let high = json.0.pointer("/checks/0/high");
        let high = high
            .and_then(serde_json::Value::as_f64)
            .unwrap_or(f64::INFINITY);
        let set = sync_us as f64 * 1e3;
        // A value of the histogram is at most 0.8 % below the latency.
        assert!(
            value >= 0.992 * set && low <= value && value <= high,
            "{low} {value} {high}"
        );
        assert_eq!(verdict == "pass", high <= 500e6, "{high}");
        assert_eq!(verdict == "fail", low > 500e6, "{low}");
        assert!(json.number("/checks/0/seconds") < 30.0);
    }
}

#[test]
fn an_io_error_is_undecided_and_never_a_pass() {
    require!(Fuse);
    let profiles = Scratch::new().expect("a directory");
    let device = device(100);
    let code_of_device = destroy(&device.path(), &profiles);
    device.inject(fathom_testkit::Fault::SyncError);
    let ran = fathom(ready(
        &device.path(),
        &profiles,
        &format!("--runtime=5s --json {code_of_device}"),
    ));
    assert_eq!(ran.code(), 3, "{}{}", ran.out, ran.err);
    let json = ran.json();
    assert_eq!(json.text("/verdict"), "undecided");
    assert!(
        json.text("/reason").contains("I/O"),
        "{}",
        json.text("/reason")
    );
    assert_eq!(json.text("/checks/0/verdict"), "undecided");
    // More time does not help.
    assert!(!ran.out.contains("longer measurement"), "{}", ran.out);
}

/// The load beside the judged one fails: EIO is in no figure of the check.
#[test]
fn errors_of_a_background_load_make_every_check_undecided() {
    require!(Fuse);
    let profiles = Scratch::new().expect("a directory");
    let with_background = COMMITS_PROFILE.replace(
        "[[step.check]]",
        "[[step.job]]\nname = \"backup\"\nsize = \"16m\"\nbackground = \"a backup\"\n\
         options = { rw = \"read\", bs = \"64k\", direct = 1, rate = \"8m\" }\n[[step.check]]",
    );
    let device = device(100);
    std::fs::write(profiles.join("log.toml"), &with_background).expect("a profile");
    let line = format!(
        "ready log {} --profiles={} --no-store --quiet --runtime=5s",
        device.path().display(),
        profiles.path().display()
    );
    let refused = fathom(split_args(&line));
    let code = refused
        .err
        .split_whitespace()
        .find(|word| word.starts_with("--destroy="))
        .unwrap_or_else(|| panic!("no code: {}{}", refused.out, refused.err))
        .to_owned();
    // The second part of the device is only read; the code of its content must not change.
    device.inject(fathom_testkit::Fault::ReadError {
        offset: (16 << 20) + (96 << 10),
        len: 4096,
    });
    let junit = profiles.join("ready.xml");
    let ran = fathom(split_args(&format!(
        "{line} --json --junit={} {code}",
        junit.display()
    )));
    assert_eq!(ran.code(), 3, "{}{}", ran.out, ran.err);
    let json = ran.json();
    assert_eq!(json.text("/verdict"), "undecided");
    assert!(json.text("/reason").contains("I/O"), "{}", ran.out);
    assert_eq!(json.text("/checks/0/verdict"), "undecided");
    let cases = std::fs::read_to_string(junit).expect("test cases");
    assert!(cases.contains("tests=\"2\" failures=\"2\""), "{cases}");
}

/// A thin volume: its file system has free space, and the storage below it is full.
#[test]
fn a_full_thin_volume_is_undecided_and_never_a_pass() {
    require!(Loop);
    if let Err(reason) = FsKind::Ext4.available() {
        return fathom_testkit::skip(&reason);
    }
    let scratch = Scratch::new().expect("a directory");
    let outer = LoopDevice::create(&scratch.join("outer"), 64 << 20, LoopOptions::default());
    let outer = outer.expect("a loop device");
    let outer_mount = Mount::format(outer.path(), FsKind::Ext4, "").expect("mounted");
    let buffered = LoopOptions {
        buffered: true,
        ..LoopOptions::default()
    };
    let inner = LoopDevice::create(&outer_mount.path().join("inner"), 512 << 20, buffered);
    let inner = inner.expect("a loop device");
    let inner_mount = Mount::format(inner.path(), FsKind::Ext4, "").expect("mounted");
    rustix::fs::sync();
    let mut fill = std::fs::File::create(outer_mount.path().join("fill")).expect("a file");
    while std::io::Write::write_all(&mut fill, &[0; 1 << 16]).is_ok() {}
    rustix::fs::fsync(&fill).expect("synced");
    drop(fill);
    let profiles = Scratch::new().expect("a directory");
    let larger = COMMITS_PROFILE.replace("16m", "128m");
    std::fs::write(profiles.join("log.toml"), larger).expect("a profile");
    let ran = fathom(split_args(&format!(
        "ready log {} --profiles={} --no-store --quiet --runtime=5s --json",
        inner_mount.path().display(),
        profiles.path().display()
    )));
    assert_eq!(ran.code(), 3, "{}{}", ran.out, ran.err);
    let json = ran.json();
    assert_eq!(json.text("/verdict"), "undecided");
    assert!(
        json.text("/reason").contains("an I/O failed"),
        "{}",
        ran.out
    );
    assert!(!ran.out.contains("\"pass\""), "{}", ran.out);
    drop(inner_mount);
    drop(inner);
    drop(outer_mount);
}

/// Regression 0812: a device smaller than the files of a profile was refused; a character device was measured.
#[test]
fn small_and_wrong_targets_are_fitted_or_refused() {
    require!(Fuse);
    let profiles = Scratch::new().expect("a directory");
    std::fs::write(
        profiles.join("log.toml"),
        COMMITS_PROFILE.replace("16m", "1g"),
    )
    .expect("a profile");
    let device = device(100);
    let run = |path: &std::path::Path| {
        fathom(split_args(&format!(
            "ready log {} --profiles={} --no-store --quiet --dry-run",
            path.display(),
            profiles.path().display()
        )))
    };
    let shown = run(&device.path());
    assert_eq!(shown.code(), 0, "{}", shown.err);
    // 1 GiB is halved until it fits into 64 MiB.
    assert!(shown.out.contains("size=67108864"), "{}", shown.out);
    let refused = run(std::path::Path::new("/dev/null"));
    assert_eq!(refused.code(), 2, "{}{}", refused.out, refused.err);
    assert!(
        refused
            .err
            .contains("not a directory, file or block device"),
        "{}",
        refused.err
    );
}

/// Regression 0813: on a read-only file system the message was about space, and that of `fsync` named an option that it does not have.
#[test]
fn read_only_and_full_file_systems_are_named() {
    require!(Loop);
    if let Err(reason) = FsKind::Ext4.available() {
        return fathom_testkit::skip(&reason);
    }
    let scratch = Scratch::new().expect("a directory");
    let device = LoopDevice::create(&scratch.join("image"), 16 << 20, LoopOptions::default());
    let device = device.expect("a loop device");
    let place = Mount::format(device.path(), FsKind::Ext4, "").expect("mounted");
    for command in ["ready etcd", "fsync"] {
        let path = place.path().display();
        let full = fathom(split_args(&format!("{command} {path} --runtime=5s")));
        assert_eq!(full.code(), 2, "{command}: {}{}", full.out, full.err);
        assert!(
            full.err.contains("not enough free space") && !full.err.contains("--size"),
            "{command}: {}",
            full.err
        );
    }
    drop(place);
    let place = Mount::existing(device.path(), FsKind::Ext4, "ro").expect("mounted");
    for command in ["ready etcd", "fsync"] {
        let path = place.path().display();
        let refused = fathom(split_args(&format!("{command} {path} --runtime=5s")));
        assert_eq!(
            refused.code(),
            2,
            "{command}: {}{}",
            refused.out,
            refused.err
        );
        assert!(
            refused.err.contains("mounted read-only"),
            "{command}: {}",
            refused.err
        );
    }
}

/// Regression 0810: checks passed, also in JUnit, beside a reason for which the measurement means nothing; more time was advised.
#[test]
fn a_directory_in_memory_is_undecided_and_says_why() {
    let directory = std::path::Path::new("/dev/shm");
    if !directory.is_dir() {
        return fathom_testkit::skip("no /dev/shm");
    }
    let profiles = Scratch::new().expect("a directory");
    let place = directory.join(format!("fathom-ready-{}", std::process::id()));
    std::fs::create_dir(&place).expect("a directory");
    let ran = fathom(ready(&place, &profiles, "--runtime=5s --size=16m"));
    let left = std::fs::read_dir(&place).expect("it exists").count();
    std::fs::remove_dir_all(&place).expect("removable");
    assert_eq!(ran.code(), 3, "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("undecided: log"), "{}", ran.out);
    let text = ran.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        text.contains("is in memory (tmpfs): nothing that is written there survives a power cut"),
        "{text}"
    );
    // Its figures are those of a pass, which they do not mean.
    assert!(
        text.contains("commits, p99 undecided") && !text.contains("longer measurement"),
        "{text}"
    );
    assert_eq!(left, 0, "the files are removed");
}

/// One run in a directory: text, JSON, JUnit, the stored run, and nothing left behind.
#[test]
fn a_directory_is_judged_stored_and_left_unchanged() {
    let scratch = Scratch::new().expect("a directory");
    let profiles = Scratch::new().expect("a directory");
    let disk = scratch.join("disk");
    std::fs::create_dir(&disk).expect("a directory");
    std::fs::write(
        profiles.join("log.toml"),
        COMMITS_PROFILE.replace("10ms", "100s"),
    )
    .expect("a profile");
    let (store, junit) = (scratch.join("store.db"), scratch.join("ready.xml"));
    let ran = fathom(split_args(&format!(
        "ready log {} --profiles={} --runtime=60s --size=16m --store={} --junit={} --format=md",
        disk.display(),
        profiles.path().display(),
        store.display(),
        junit.display()
    )));
    assert_eq!(ran.code(), 0, "{}{}", ran.out, ran.err);
    assert!(ran.out.starts_with("## pass: log on "), "{}", ran.out);
    assert!(ran.out.contains("* Source: these tests"), "{}", ran.out);
    let cases = std::fs::read_to_string(junit).expect("test cases");
    assert!(cases.contains("tests=\"2\" failures=\"0\""), "{cases}");
    assert_eq!(std::fs::read_dir(&disk).expect("it exists").count(), 0);
    let shown = fathom(split_args(&format!("show 1 --store={}", store.display())));
    assert_eq!(shown.code(), 0, "{}", shown.err);
    assert!(
        shown.out.contains("fathom ready: log: pass"),
        "{}",
        shown.out
    );
}

#[test]
fn mistakes_name_the_place_and_the_fix() {
    let profiles = Scratch::new().expect("a directory");
    std::fs::write(
        profiles.join("bad.toml"),
        COMMITS_PROFILE.replace("\"10ms\"", "\"0\""),
    )
    .expect("a profile");
    let directory = profiles.path().display().to_string();
    for (line, expected) in [
        (
            format!("ready bad {directory} --profiles={directory}"),
            "bad.toml:16: limit must be a time",
        ),
        (
            format!("ready etdc {directory}"),
            "unknown profile 'etdc'; did you mean etcd?",
        ),
        (
            format!("ready etcd {directory}/missing"),
            "No such file or directory",
        ),
        (
            format!("ready {directory}"),
            "which application? give a profile",
        ),
        (format!("ready {directory} --slo p99<=2ms"), "--rate=3000"),
        (
            format!("ready {directory} --rate=10 --mix=70/40 --slo p99<=2ms"),
            "must add up to 100",
        ),
        (
            format!("ready {directory} --rate=10 --slo max<=2ms"),
            "no measurement proves a maximum",
        ),
        (
            format!("ready etcd {directory} --rate=100 --slo p99<=2ms"),
            "a profile has limits of its own",
        ),
        (
            format!("ready sqlite {directory} --rate=100"),
            "has no load with a rate",
        ),
        (format!("fsync {directory}/bad.toml"), "not a directory"),
        (format!("fsync {directory} --runtime=1s"), "too short"),
    ] {
        let ran = fathom(split_args(&line));
        assert_eq!(ran.code(), 2, "{line}: {}{}", ran.out, ran.err);
        assert!(ran.err.contains(expected), "{line}: {}", ran.err);
    }
}

/// Every method in a short run. Grouped commits need fewer syncs than commits.
#[test]
fn fsync_compares_the_methods_and_leaves_nothing_behind() {
    let scratch = Scratch::new().expect("a directory");
    let ran = fathom(split_args(&format!(
        "fsync {} --runtime=4s --json --quiet",
        scratch.path().display()
    )));
    assert_eq!(ran.code(), 0, "{}{}", ran.out, ran.err);
    let json = ran.json();
    let rows = |list: &str| {
        json.0
            .pointer(list)
            .and_then(|rows| rows.as_array())
            .map_or(0, Vec::len)
    };
    assert_eq!(
        (rows("/methods"), rows("/sizes"), rows("/clients")),
        (12, 5, 4)
    );
    for row in 0..12 {
        let rounds = json.0.pointer(&format!("/methods/{row}/rounds"));
        let rounds = rounds.and_then(serde_json::Value::as_array).map(Vec::len);
        let failed = json.0.pointer(&format!("/methods/{row}/failed"));
        if failed.is_some_and(serde_json::Value::is_null) {
            assert_eq!(rounds, Some(5));
            assert!(json.number(&format!("/methods/{row}/commits")) > 0.0);
        }
    }
    assert!(json.number("/clients/3/syncs_per_commit") < 0.5);
    // A device that cannot force unit access has no such writes; of others the trace may be unknown.
    let device =
        std::os::unix::fs::MetadataExt::dev(&scratch.path().metadata().expect("it exists"));
    let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
    let queue = |above: &str| {
        let file = format!("/sys/dev/block/{major}:{minor}/{above}queue/fua");
        std::fs::read_to_string(file).ok()
    };
    if queue("").or_else(|| queue("../")).as_deref() == Some("0\n") {
        for row in 0..4 {
            assert_eq!(
                json.number(&format!("/clients/{row}/fua_writes_per_commit")),
                0.0
            );
        }
    }
    assert_eq!(
        std::fs::read_dir(scratch.path())
            .expect("it exists")
            .count(),
        0
    );
}
