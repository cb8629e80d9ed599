//! The host compared with other programs: filefrag, gzip, fincore, sha256sum, /proc.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "tests print what they skipped"
)]

use std::fs;
use std::os::fd::AsFd;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use fathom_device::{Access, Intent, Span, judge};
use fathom_linux::{
    DirectIo, HostWatch, LinuxClock, LinuxHost, cache_state, direct_io, dump_requests, examine,
    hold, interrupts, written_share,
};
use fathom_load::{
    Engine, EngineRequest, EngineUser, FileFacts, Host, HostError, LayOut, Op, OpenFile, Request,
    Wait,
};
use fathom_model::{Bytes, EngineKind, EngineSettings, EngineSpec, Fadvise, Fallocate, SyncMode};

const MIB: u64 = 1 << 20;

/// A directory on a disk, removed at the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let directory = Path::new(env!("CARGO_TARGET_TMPDIR"))
            .join(format!("host-{name}-{}", std::process::id()));
        fs::create_dir_all(&directory).expect("a directory for tests");
        Self(directory)
    }
    fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Commands that restore the machine, run in order at the end.
struct Undo(Vec<Vec<String>>);

impl Drop for Undo {
    fn drop(&mut self) {
        for command in &self.0 {
            let _ = Command::new(&command[0]).args(&command[1..]).output();
        }
    }
}

fn host() -> LinuxHost {
    LinuxHost::new(LinuxClock::monotonic())
}

fn hold_target(host: &LinuxHost, path: &Path, intent: Intent) {
    // A process that another test is just starting briefly holds all locks of this one.
    let mut tries = 0..100;
    let (hold_target, created) = loop {
        let examined = examine(path).expect("a target");
        let permit = judge(examined.facts(), &intent, &[]).expect("permitted");
        match hold(examined, &permit, None) {
            Ok(hold_target) => break (hold_target, permit.access() == Access::Create),
            Err(error) if tries.next().is_none() => panic!("{error}"),
            Err(_) => std::thread::sleep(Duration::from_millis(20)),
        }
    };
    host.add(hold_target, created).expect("added");
}

fn span(end: u64) -> Span {
    Span::new(Bytes::ZERO, Bytes::new(end))
}

fn request_layout(path: &Path, size: u64) -> LayOut {
    LayOut {
        path: path.to_owned(),
        size: Bytes::new(size),
        content: false,
        writes: false,
        create: true,
        fallocate: Fallocate::Native,
        fsync: false,
        invalidate: None,
        pre_read: false,
        seed: 1,
    }
}

fn for_reading(path: &Path, size: u64) -> LayOut {
    LayOut {
        content: true,
        ..request_layout(path, size)
    }
}

fn lay_out(host: &LinuxHost, file: &LayOut) -> Result<FileFacts, HostError> {
    host.lay_out(file, &AtomicBool::new(false), &mut |_| {})
}

fn run(command: &str) -> String {
    let output = Command::new("sh")
        .arg("-c")
        .arg(command)
        .output()
        .expect("a shell");
    assert!(
        output.status.success(),
        "{command}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

fn has(program: &str) -> bool {
    let found = Command::new("sh")
        .arg("-c")
        .arg(format!("command -v {program}"))
        .output();
    found.is_ok_and(|output| output.status.success())
}

/// Size of a file after gzip.
fn compressed_size(path: &Path) -> u64 {
    run(&format!("gzip -1 -c '{}' | wc -c", path.display()))
        .parse()
        .expect("a number")
}

/// Whether both filefrag and SEEK_HOLE find the file fully written.
fn is_fully_written(path: &Path) -> bool {
    let file = fs::File::open(path).expect("it exists");
    let size = file.metadata().expect("facts").len();
    let hole = rustix::fs::seek(&file, rustix::fs::SeekFrom::Hole(0)).expect("SEEK_HOLE");
    hole == size
        && (!has("filefrag")
            || !run(&format!("filefrag -v '{}'", path.display())).contains("unwritten"))
}

/// Resident bytes as fincore (mincore(2)) counts them.
fn resident(path: &Path) -> u64 {
    run(&format!("fincore -b -n -o RES '{}'", path.display()))
        .parse()
        .expect("a number")
}

#[test]
fn a_file_to_be_read_is_fully_written_with_random_data() {
    let scratch = Scratch::new("filled");
    let (path, size) = (scratch.file("a"), 40 * MIB + 5000);
    let host = host();
    let mut last = 0;
    let facts = host
        .lay_out(
            &for_reading(&path, size),
            &AtomicBool::new(false),
            &mut |written| last = written,
        )
        .expect("laid out");
    assert_eq!(
        (facts.size.get(), facts.laid_out.get(), last),
        (size, size, size)
    );
    assert!(facts.created && !facts.block_device);
    assert!(is_fully_written(&path));
    let written = fs::File::open(&path).expect("it exists");
    assert_eq!(written_share(&written, 0..size).expect("a share"), 1.0);
    assert_eq!(
        cache_state(&written, 0..size).map_or(0, |state| state.dirty),
        0,
        "no dirty pages"
    );
    assert!(
        compressed_size(&path) as f64 >= 0.99 * size as f64,
        "incompressible"
    );
    let blocks = fs::read(&path).expect("content");
    let mut blocks: Vec<&[u8]> = blocks.chunks(4096).collect();
    blocks.sort_unstable();
    assert!(
        blocks.windows(2).all(|pair| pair[0] != pair[1]),
        "no block twice"
    );
}

#[test]
fn two_files_with_the_same_seed_differ() {
    let scratch = Scratch::new("differ");
    let (a, b) = (scratch.file("a"), scratch.file("b"));
    let host = host();
    for path in [&a, &b] {
        lay_out(&host, &for_reading(path, MIB)).expect("laid out");
    }
    assert_ne!(fs::read(a).expect("content"), fs::read(b).expect("content"));
}

#[test]
fn a_file_already_laid_out_is_not_changed() {
    let scratch = Scratch::new("ready");
    let path = scratch.file("a");
    let first = host();
    lay_out(&first, &for_reading(&path, 3 * MIB)).expect("laid out");
    first.release().expect("sealed");
    let before = fs::metadata(&path).expect("facts");
    let second = host();
    hold_target(
        &second,
        &path,
        Intent::read(span(MIB)).growing_to(Bytes::new(3 * MIB)),
    );
    let facts = lay_out(&second, &for_reading(&path, 3 * MIB)).expect("ready");
    let after = fs::metadata(&path).expect("facts");
    assert_eq!((facts.laid_out.get(), facts.created), (0, false));
    assert_eq!(
        (before.ino(), before.mtime_nsec()),
        (after.ino(), after.mtime_nsec())
    );
    let refused =
        lay_out(&second, &for_reading(&path, 4 * MIB)).expect_err("the guard permitted 3 MiB");
    assert!(refused.what.contains("may not be extended"), "{refused}");
    assert_eq!(fs::metadata(&path).expect("facts").len(), 3 * MIB);
}

#[test]
fn only_the_holes_of_our_own_file_are_filled() {
    let scratch = Scratch::new("holes");
    let path = scratch.file("a");
    let host = host();
    // Reserved but unwritten to 8 MiB; then 1 MiB of data in the middle.
    lay_out(
        &host,
        &LayOut {
            writes: true,
            ..request_layout(&path, 8 * MIB)
        },
    )
    .expect("reserved");
    let file = fs::File::options()
        .read(true)
        .write(true)
        .open(&path)
        .expect("our own file");
    file.write_all_at(&vec![b'x'; MIB as usize], 4 * MIB)
        .expect("written");
    assert_eq!(written_share(&file, 0..8 * MIB).expect("a share"), 0.125);
    let facts = lay_out(&host, &for_reading(&path, 10 * MIB)).expect("filled");
    assert_eq!(
        (facts.laid_out.get(), facts.size.get()),
        (9 * MIB, 10 * MIB)
    );
    let content = fs::read(&path).expect("content");
    assert!(
        content[4 << 20..5 << 20].iter().all(|byte| *byte == b'x'),
        "written data stays"
    );
    assert!(is_fully_written(&path));
    assert!(compressed_size(&path) as f64 >= 0.99 * (9 * MIB) as f64);
    // Regression 0011: a file for a mixed job was filled again, and data of another job was lost.
    let facts = lay_out(
        &host,
        &LayOut {
            writes: true,
            ..for_reading(&path, 10 * MIB)
        },
    )
    .expect("left alone");
    assert_eq!(facts.laid_out.get(), 0);
    assert_eq!(fs::read(&path).expect("content"), content);
}

#[test]
fn space_is_reserved_as_requested() {
    let scratch = Scratch::new("reserve");
    let host = host();
    let modes = [
        (Fallocate::None, 0, false),
        (Fallocate::Native, MIB, true),
        (Fallocate::Posix, MIB, true),
        (Fallocate::Keep, 0, true),
        (Fallocate::Truncate, MIB, false),
    ];
    for (number, (mode, size, blocks)) in modes.into_iter().enumerate() {
        let path = scratch.file(&number.to_string());
        lay_out(
            &host,
            &LayOut {
                writes: true,
                fallocate: mode,
                ..request_layout(&path, MIB)
            },
        )
        .expect("reserved");
        let facts = fs::metadata(&path).expect("facts");
        // The mark may use one block of its own.
        assert_eq!(
            (facts.len(), facts.blocks() * 512 >= MIB),
            (size, blocks),
            "{mode:?}"
        );
    }
}

#[test]
fn dirty_pages_do_not_survive_invalidation() {
    let scratch = Scratch::new("cold");
    let path = scratch.file("a");
    if !has("fincore") {
        fathom_testkit::skip("fincore is not installed");
        return;
    }
    let host = host();
    lay_out(&host, &request_layout(&path, 0)).expect("created");
    fs::File::options()
        .write(true)
        .open(&path)
        .expect("our own file")
        .write_all_at(&vec![7; 8 << 20], 0)
        .expect("dirty");
    let file = fs::File::open(&path).expect("it exists");
    assert_eq!(resident(&path), 8 * MIB);
    let half = LayOut {
        invalidate: Some((0, 4 * MIB)),
        create: false,
        ..request_layout(&path, 0)
    };
    lay_out(&host, &half).expect("dropped");
    let state = cache_state(&file, 0..4 * MIB);
    assert_eq!(resident(&path), 4 * MIB, "only the range is dropped");
    assert!(state.is_err() || state.is_ok_and(|state| state.resident == 0 && state.dirty == 0));
    lay_out(
        &host,
        &LayOut {
            invalidate: Some((1, 8 * MIB - 1)),
            ..half.clone()
        },
    )
    .expect("dropped");
    assert_eq!(resident(&path), 0);
    lay_out(
        &host,
        &LayOut {
            invalidate: None,
            pre_read: true,
            ..half
        },
    )
    .expect("read");
    assert_eq!(resident(&path), 8 * MIB);
}

#[test]
fn foreign_files_are_read_unchanged() {
    let scratch = Scratch::new("foreign");
    let path = scratch.file("theirs");
    let file = fs::File::create(&path).expect("theirs");
    file.write_all_at(b"their data", 0).expect("written");
    file.set_len(4 * MIB).expect("sparse");
    let facts = || {
        (
            run(&format!("sha256sum '{}'", path.display())),
            fs::metadata(&path).expect("facts").blocks(),
        )
    };
    let before = facts();
    let host = host();
    hold_target(&host, &path, Intent::read(span(4 * MIB)));
    let seen = lay_out(&host, &for_reading(&path, 8 * MIB)).expect("read as it is");
    assert_eq!(
        (seen.size.get(), seen.laid_out.get(), seen.created),
        (4 * MIB, 0, false)
    );
    assert!(lay_out(&host, &for_reading(&path, MIB)).is_ok());
    let refused = lay_out(
        &host,
        &LayOut {
            writes: true,
            ..for_reading(&path, 8 * MIB)
        },
    )
    .expect_err("a foreign file");
    assert!(
        refused.to_string().contains("may not be extended"),
        "{refused}"
    );
    let open = OpenFile {
        writes: true,
        ..open_file(&path, 4 * MIB)
    };
    let error = with_engine(&host, &[open], EngineKind::Psync, NoIo).expect_err("held for reading");
    assert!(error.contains("only for reading"), "{error}");
    host.finish(&path, true, true).expect("nothing to do");
    assert_eq!(facts(), before);
}

#[test]
fn a_file_created_after_the_check_is_not_used() {
    let scratch = Scratch::new("later");
    let path = scratch.file("a");
    fs::write(&path, "someone else's").expect("written");
    let refused = lay_out(&host(), &for_reading(&path, MIB)).expect_err("never examined");
    assert!(
        refused
            .to_string()
            .contains("after the targets were checked"),
        "{refused}"
    );
    assert_eq!(fs::read(&path).expect("it exists"), b"someone else's");
    let missing = LayOut {
        create: false,
        ..for_reading(&scratch.file("b"), MIB)
    };
    let refused = lay_out(&host(), &missing).expect_err("may not be created");
    assert!(
        refused.to_string().contains("allow_file_create=1"),
        "{refused}"
    );
}

#[test]
fn a_refused_file_leaves_no_directories() {
    let scratch = Scratch::new("no-directories");
    let changed = || {
        fs::metadata(&scratch.0)
            .map(|facts| (facts.mtime(), facts.mtime_nsec()))
            .expect("facts")
    };
    let before = changed();
    let error = lay_out(&host(), &for_reading(&scratch.file("x/y/a"), 1 << 50))
        .expect_err("no space for a PiB");
    assert_eq!(error.errno, libc::ENOSPC, "{error}");
    assert_eq!(changed(), before, "refused before any directory is created");
    let long = scratch.file("x/y").join("n".repeat(300));
    let error = lay_out(&host(), &for_reading(&long, MIB)).expect_err("a name too long");
    assert_eq!(error.errno, libc::ENAMETOOLONG, "{error}");
    assert!(!scratch.file("x").exists(), "created and removed again");
}

#[test]
fn only_files_created_by_this_run_are_removed() {
    let scratch = Scratch::new("remove");
    let path = scratch.file("new/directory/a");
    let first = host();
    lay_out(&first, &for_reading(&path, MIB)).expect("laid out");
    first.finish(&path, true, false).expect("kept");
    assert!(path.exists());
    // Another inode with this name stays.
    fs::rename(&path, scratch.file("moved")).expect("moved");
    fs::write(&path, "theirs").expect("written");
    first
        .finish(&path, false, true)
        .expect("a foreign file is not removed");
    assert_eq!(fs::read(&path).expect("it exists"), b"theirs");
    fs::rename(scratch.file("moved"), &path).expect("back");
    first.release().expect("sealed");

    let second = host();
    hold_target(&second, &path, Intent::write(span(MIB)));
    second
        .finish(&path, false, true)
        .expect("of an earlier run");
    assert!(path.exists());

    let gone = scratch.file("other/directory/b");
    lay_out(&second, &for_reading(&gone, MIB)).expect("laid out");
    second.finish(&gone, false, true).expect("removed");
    assert!(
        !scratch.file("other").exists(),
        "with the directories created for it"
    );
    lay_out(&second, &for_reading(&gone, MIB)).expect("created again");
    assert!(is_fully_written(&gone));
}

#[test]
fn a_stop_is_quick_and_the_next_run_continues() {
    let scratch = Scratch::new("stop");
    let (path, size) = (scratch.file("a"), 64 * MIB);
    let host = host();
    let stop = AtomicBool::new(false);
    let mut stopped_at = None;
    let outcome = host.lay_out(&for_reading(&path, size), &stop, &mut |_| {
        stopped_at.get_or_insert_with(Instant::now);
        stop.store(true, Ordering::Relaxed);
    });
    let error = outcome.expect_err("stopped");
    assert_eq!(error.errno, libc::EINTR, "{error}");
    assert!(stopped_at.expect("some progress").elapsed() < Duration::from_secs(2));
    let facts = lay_out(&host, &for_reading(&path, size)).expect("finished");
    assert!(is_fully_written(&path));
    assert!(
        facts.laid_out.get() < size || !facts.created,
        "written data is not written again"
    );
}

/// Memory file systems have no FIEMAP, and parts left unwritten by a stop must not look like
/// written zeros.
#[test]
fn without_hole_detection_a_file_grows_only_by_written_bytes() {
    let scratch = Scratch::new("unknown");
    let mount = scratch.file("mount");
    fs::create_dir_all(&mount).expect("a mount point");
    let shown = mount.display();
    let mounted = Command::new("sh")
        .arg("-c")
        .arg(format!("mount -t tmpfs -o size=256m none '{shown}'"))
        .status();
    if !mounted.is_ok_and(|status| status.success()) {
        fathom_testkit::skip("cannot mount a tmpfs");
        return;
    }
    let _undo = Undo(vec![vec![
        "umount".into(),
        "-l".into(),
        mount.display().to_string(),
    ]]);
    let path = mount.join("a");
    let first = host();
    lay_out(&first, &for_reading(&path, MIB + 100)).expect("laid out");
    let stop = AtomicBool::new(false);
    let size = 96 * MIB;
    let outcome = first.lay_out(&for_reading(&path, size), &stop, &mut |_| {
        stop.store(true, Ordering::Relaxed);
    });
    assert_eq!(outcome.expect_err("stopped").errno, libc::EINTR);
    let left = fs::metadata(&path).expect("the file existed before").len();
    assert!(left > MIB && left < size, "{left}");
    assert!(
        fs::read(&path)
            .expect("content")
            .chunks(4096)
            .all(|block| block.iter().any(|byte| *byte != 0))
    );
    let facts = lay_out(&first, &for_reading(&path, size)).expect("finished");
    assert_eq!(facts.laid_out.get(), size - left);
    assert!(compressed_size(&path) as f64 >= 0.99 * size as f64);
}

#[test]
fn a_full_file_system_is_reported_and_cleaned_up() {
    let scratch = Scratch::new("full");
    let Some((mount, _undo)) = small_file_system(&scratch) else {
        return;
    };
    let host = host();
    // Held while there was space; then another program uses it.
    let path = mount.join("deep/er/a");
    lay_out(&host, &request_layout(&path, 0)).expect("created");
    hold_target(
        &host,
        &mount.join("b"),
        Intent::write(span(20 * MIB)).growing_to(Bytes::new(20 * MIB)),
    );
    fs::write(mount.join("theirs"), vec![1; 40 << 20]).expect("fits");
    for writes in [false, true] {
        let file = LayOut {
            writes,
            content: !writes,
            ..request_layout(&mount.join("b"), 20 * MIB)
        };
        let error = lay_out(&host, &file).expect_err("full");
        assert_eq!(error.errno, libc::ENOSPC);
        assert!(
            error.what.contains("needs 20971520 bytes") && error.what.contains("lower size="),
            "{error}"
        );
        assert!(!mount.join("b").exists(), "removed");
        let error = lay_out(&host, &file).expect_err("the guard refuses it first");
        assert!(
            error.errno == libc::ENOSPC && error.what.contains("refused"),
            "{error}"
        );
        assert!(!mount.join("b").exists());
        if !writes {
            fs::remove_file(mount.join("theirs")).expect("our own file");
            hold_target(
                &host,
                &mount.join("b"),
                Intent::write(span(20 * MIB)).growing_to(Bytes::new(20 * MIB)),
            );
            fs::write(mount.join("theirs"), vec![1; 40 << 20]).expect("fits");
        }
    }
    let error = lay_out(&host, &for_reading(&path, 30 * MIB)).expect_err("full");
    assert_eq!(
        (
            error.errno,
            fs::metadata(&path).expect("laid out before").len()
        ),
        (libc::ENOSPC, 0)
    );
}

/// 64 MiB of ext4 on a loop device.
fn small_file_system(scratch: &Scratch) -> Option<(PathBuf, Undo)> {
    if !rustix::process::geteuid().is_root()
        || !Path::new("/dev/loop-control").exists()
        || !has("mkfs.ext4")
    {
        fathom_testkit::skip("a small file system needs root, loop devices and mkfs.ext4");
        return None;
    }
    let (image, mount) = (scratch.file("image"), scratch.file("mount"));
    fs::File::create(&image)
        .and_then(|file| file.set_len(64 * MIB))
        .expect("an image");
    fs::create_dir_all(&mount).expect("a mount point");
    run(&format!("mkfs.ext4 -q -m 0 '{}'", image.display()));
    let device = run(&format!("losetup --find --show '{}'", image.display()));
    let args = |args: &[&str]| args.iter().map(|&arg| arg.to_owned()).collect::<Vec<_>>();
    let mount_text = mount.to_str().expect("plain");
    let undo = Undo(vec![
        args(&["umount", "-l", mount_text]),
        args(&["losetup", "-d", &device]),
    ]);
    run(&format!("mount '{device}' '{mount_text}'"));
    Some((mount, undo))
}

fn open_file(path: &Path, end: u64) -> OpenFile {
    OpenFile {
        path: path.to_owned(),
        range: (0, end),
        writes: false,
        reads: true,
        direct: false,
        sync: SyncMode::None,
        fadvise: Fadvise::ByPattern,
        random: true,
        create: false,
    }
}

fn with_engine<U: EngineUser>(
    host: &LinuxHost,
    files: &[OpenFile],
    kind: EngineKind,
    user: U,
) -> Result<U::Output, String> {
    let spec = EngineSpec {
        kind,
        named: true,
        settings: EngineSettings::default(),
    };
    let request = EngineRequest {
        spec: &spec,
        depth: 1,
        buffer_size: 4096,
        files,
        huge_pages: true,
    };
    host.with_engine(&request, user)
        .map_err(|error| error.to_string())
}

#[derive(Debug)]
struct NoIo;

impl EngineUser for NoIo {
    type Output = ();
    fn run<E: Engine>(self, _: E, _: &'static str, _: Option<String>) {}
}

/// Reads one block and returns the flags with which the file is open (proc_pid_fdinfo(5)).
struct ReadOne<'a>(&'a Path);

impl EngineUser for ReadOne<'_> {
    type Output = (Vec<u8>, Vec<u32>);
    fn run<E: Engine>(self, mut engine: E, _: &'static str, _: Option<String>) -> Self::Output {
        let request = Request {
            slot: 0,
            file: 0,
            op: Op::Read,
            len: 4096,
            offset: 8192,
            prio: 0,
        };
        assert_eq!(engine.submit(&[request]), Ok(1));
        let mut done = Vec::new();
        engine
            .reap(
                Wait {
                    at_least: 1,
                    at_most: 1,
                    limit: None,
                },
                &mut done,
            )
            .expect("reaped");
        assert_eq!(done[0].result, 4096);
        (engine.buffer(0).to_vec(), flags_of(self.0))
    }
}

fn flags_of(path: &Path) -> Vec<u32> {
    let path = fs::canonicalize(path).expect("it exists");
    let all = fs::read_dir("/proc/self/fd").expect("proc").flatten();
    let open = all.filter(|entry| fs::read_link(entry.path()).is_ok_and(|target| target == path));
    let flags = open.filter_map(|entry| {
        let info =
            fs::read_to_string(Path::new("/proc/self/fdinfo").join(entry.file_name())).ok()?;
        let octal = info
            .lines()
            .find_map(|line| line.strip_prefix("flags:"))?
            .trim()
            .to_owned();
        u32::from_str_radix(&octal, 8).ok()
    });
    flags.collect()
}

#[test]
fn files_are_opened_as_requested_and_return_their_contents() {
    let scratch = Scratch::new("open");
    let path = scratch.file("a");
    let host = host();
    lay_out(&host, &for_reading(&path, MIB)).expect("laid out");
    let content = fs::read(&path).expect("content");
    let plain = open_file(&path, MIB);
    let (block, flags) = with_engine(
        &host,
        std::slice::from_ref(&plain),
        EngineKind::Psync,
        ReadOne(&path),
    )
    .expect("read");
    assert_eq!(block, content[8192..12288]);
    let noatime = libc::O_NOATIME as u32;
    let reader = flags
        .iter()
        .find(|&&flags| flags & noatime != 0)
        .expect("the owner reads without access times");
    assert_eq!(
        reader & (libc::O_ACCMODE | libc::O_DIRECT) as u32,
        libc::O_RDONLY as u32
    );
    assert!(
        flags
            .iter()
            .all(|flags| flags & libc::O_CLOEXEC as u32 != 0)
    );

    let durable = OpenFile {
        writes: true,
        direct: true,
        sync: SyncMode::Dsync,
        ..plain.clone()
    };
    match with_engine(&host, &[durable], EngineKind::Psync, ReadOne(&path)) {
        Ok((block, flags)) => {
            assert_eq!(block, content[8192..12288]);
            let expected = (libc::O_RDWR | libc::O_DIRECT | libc::O_DSYNC) as u32;
            assert!(
                flags.iter().any(|flags| flags & expected == expected),
                "{flags:?}"
            );
        }
        Err(error) => {
            fathom_testkit::skip(&format!("no direct I/O in the test directory: {error}"));
        }
    }
    // The name may disappear; the descriptor stays valid.
    fs::rename(&path, scratch.file("elsewhere")).expect("renamed");
    fs::write(&path, "an impostor").expect("written");
    let (block, _) = with_engine(&host, &[plain], EngineKind::Sync, ReadOne(&path)).expect("read");
    assert_eq!(block, content[8192..12288]);
    assert_eq!(host.size_now(&path).expect("a size").get(), MIB);
}

#[test]
fn files_are_created_only_on_open() {
    let scratch = Scratch::new("on-open");
    let path = scratch.file("sub/a");
    let host = host();
    let file = OpenFile {
        writes: true,
        ..open_file(&path, MIB)
    };
    assert!(with_engine(&host, std::slice::from_ref(&file), EngineKind::Psync, NoIo).is_err());
    assert!(!path.exists());
    with_engine(
        &host,
        &[OpenFile {
            create: true,
            ..file.clone()
        }],
        EngineKind::Psync,
        NoIo,
    )
    .expect("created");
    assert!(path.exists());
    let missing = OpenFile {
        path: scratch.file("never"),
        ..file
    };
    with_engine(
        &host,
        std::slice::from_ref(&missing),
        EngineKind::Null,
        NoIo,
    )
    .expect("null opens nothing");
    assert!(!missing.path.exists());
}

#[test]
fn a_file_system_without_direct_io_is_reported() {
    let path = Path::new("/sys/kernel/mm/transparent_hugepage/enabled");
    if !path.exists() {
        fathom_testkit::skip(&format!("no {}", path.display()));
        return;
    }
    let host = host();
    hold_target(&host, path, Intent::read(span(1)));
    lay_out(
        &host,
        &LayOut {
            invalidate: Some((0, 1)),
            ..for_reading(path, 1)
        },
    )
    .expect("nothing to drop");
    let direct = OpenFile {
        direct: true,
        ..open_file(path, 1)
    };
    let error = with_engine(&host, &[direct], EngineKind::Psync, NoIo)
        .expect_err("sysfs has no direct I/O");
    assert!(error.contains("direct=0"), "{error}");
}

#[test]
fn kernel_directories_are_refused() {
    let name = format!("fathom-host-test-{}", std::process::id());
    let below_dev = Path::new("/dev").join(&name);
    for path in [
        Path::new("/proc").join(&name),
        below_dev.join("a"),
        Path::new("/sys").join(&name),
    ] {
        let error = lay_out(&host(), &for_reading(&path, MIB)).expect_err("refused");
        assert!(error.what.contains("refused") && !path.exists(), "{error}");
    }
    assert!(!below_dev.exists());
}

#[test]
fn character_devices_can_be_read() {
    let host = host();
    hold_target(&host, Path::new("/dev/zero"), Intent::read(span(1)));
    let facts = lay_out(&host, &for_reading(Path::new("/dev/zero"), MIB)).expect("nothing to do");
    assert_eq!((facts.size.get(), facts.block_device), (0, false));
    let direct = OpenFile {
        direct: true,
        ..open_file(Path::new("/dev/zero"), MIB)
    };
    let (block, _) = with_engine(
        &host,
        &[direct],
        EngineKind::Psync,
        ReadOne(Path::new("/dev/zero")),
    )
    .expect("read");
    assert_eq!(block, [0; 4096]);
}

#[test]
fn direct_io_facts_follow_the_file_system() {
    let scratch = Scratch::new("direct");
    fs::write(scratch.file("a"), "x").expect("written");
    let facts = direct_io(fs::File::open(scratch.file("a")).expect("it exists")).expect("facts");
    let kind = run(&format!("stat -f -c %T '{}'", scratch.0.display()));
    match (kind.as_str(), facts) {
        (
            "ext2/ext3" | "xfs",
            DirectIo::Direct {
                offset_align,
                memory_align,
            },
        ) => {
            assert!(offset_align.is_power_of_two() && memory_align.is_power_of_two());
        }
        ("ext2/ext3" | "xfs", other) => fathom_testkit::skip(&format!(
            "{kind} here reports {other:?} (data=journal, or before Linux 6.1)"
        )),
        _ => fathom_testkit::skip(&format!("no expectation for {kind}")),
    }
    let memory = rustix::fs::memfd_create("a", rustix::fs::MemfdFlags::CLOEXEC).expect("memory");
    assert_eq!(
        direct_io(memory.as_fd()).expect("facts"),
        DirectIo::Unknown,
        "tmpfs accepts O_DIRECT but is RAM"
    );
}

/// The row of /proc/diskstats for a device.
fn diskstats(name: &str) -> Vec<u64> {
    let text = fs::read_to_string("/proc/diskstats").expect("proc");
    let row = text
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>())
        .find(|row| row[2] == name);
    row.expect("a row")
        .into_iter()
        .skip(3)
        .map(|field| field.parse().expect("a number"))
        .collect()
}

#[test]
fn disk_counters_match_the_kernel() {
    let scratch = Scratch::new("disks");
    let Some((mount, undo)) = small_file_system(&scratch) else {
        return;
    };
    let device = &undo.0[1][2];
    let name = device.trim_start_matches("/dev/");
    let host = host();
    lay_out(&host, &for_reading(&mount.join("a"), 4 * MIB)).expect("laid out");
    run("sync -f /tmp; sleep 0.1");
    let paths = [
        mount.join("a"),
        PathBuf::from(device),
        mount.join("not/there/yet"),
    ];
    let (before, found, after) = (diskstats(name), host.disks(&paths), diskstats(name));
    let own: Vec<_> = found.iter().filter(|(found, _)| found == name).collect();
    let [(_, now)] = own[..] else {
        panic!("{name} once in {found:?}")
    };
    let reported_counters = [
        now.read_ios,
        now.read_merges,
        now.read_sectors,
        now.read_ticks,
        now.write_ios,
        now.write_merges,
        now.write_sectors,
    ];
    for (index, value) in reported_counters.into_iter().enumerate() {
        assert!(
            (before[index]..=after[index]).contains(&value),
            "field {index}: {value}"
        );
    }
    assert!(now.write_sectors >= 4 * MIB / 512);
    // Below the loop device is the disk of its image.
    let below = host.disks(&[scratch.file("image")]);
    assert_eq!(found[0].0, name, "the upper device comes first");
    assert_eq!(
        found[1..].iter().map(|disk| &disk.0).collect::<Vec<_>>(),
        below.iter().map(|disk| &disk.0).collect::<Vec<_>>()
    );
}

#[test]
fn a_block_device_is_read_and_not_changed() {
    let scratch = Scratch::new("block");
    let Some((mount, undo)) = small_file_system(&scratch) else {
        return;
    };
    let device = Path::new(&undo.0[1][2]);
    run(&format!("umount '{}'", mount.display()));
    let sum = || run(&format!("sha256sum '{}'", device.display()));
    let before = sum();
    let host = host();
    hold_target(&host, device, Intent::read(span(64 * MIB)));
    let file = LayOut {
        invalidate: Some((0, 64 * MIB)),
        pre_read: true,
        ..for_reading(device, 64 * MIB)
    };
    let facts = lay_out(&host, &file).expect("as it is");
    let sector: u32 = run(&format!("blockdev --getss '{}'", device.display()))
        .parse()
        .expect("a number");
    assert_eq!(
        (facts.size.get(), facts.block_device, facts.alignment),
        (64 * MIB, true, sector)
    );
    assert_eq!(host.size_now(device).expect("a size").get(), 64 * MIB);
    assert_eq!((facts.laid_out.get(), sum()), (0, before));
    let open = fs::File::open(device).expect("it exists");
    let cached = || cache_state(&open, 0..64 * MIB).map(|state| state.resident);
    lay_out(
        &host,
        &LayOut {
            pre_read: false,
            ..file
        },
    )
    .expect("dropped");
    assert_eq!(cached().unwrap_or(0), 0);
}

#[test]
fn threads_get_their_cpus_and_nice_value() {
    let host = host();
    let first = run("grep Cpus_allowed_list /proc/self/status | grep -o '[0-9]*' | head -1")
        .parse()
        .expect("a CPU");
    host.bind_cpus(&[first], Some(5)).expect("allowed");
    let status = fs::read_to_string("/proc/thread-self/status").expect("proc");
    assert!(
        status.contains(&format!("Cpus_allowed_list:\t{first}\n")),
        "{status}"
    );
    let stat = fs::read_to_string("/proc/thread-self/stat").expect("proc");
    assert!(stat.starts_with(&format!("{} (", host.thread_id())));
    let after_name = stat.rsplit_once(") ").expect("a name").1;
    assert_eq!(
        after_name.split(' ').nth(16),
        Some("5"),
        "nice is field 19 of proc_pid_stat(5)"
    );

    let error = host.bind_cpus(&[100_000], None).expect_err("no such CPU");
    assert!(error.what.contains("may use"), "{error}");
}

/// Compared with the thread's own CPU clock, which the scheduler accounts separately from rusage.
#[test]
fn the_cpu_time_of_a_thread_is_counted() {
    let host = host();
    let clock = || {
        Duration::try_from(rustix::time::clock_gettime(
            rustix::time::ClockId::ThreadCPUTime,
        ))
        .expect("a time")
    };
    let (start, cpu, before) = (Instant::now(), clock(), host.usage());
    // Ticks decide what counts as user time, so both need plenty of it.
    while clock() - cpu < Duration::from_millis(400) {
        std::hint::black_box((0..50_000_u64).fold(0, |sum, n| std::hint::black_box(sum ^ n)));
        (0..50).for_each(|_| drop(fs::read("/proc/self/status")));
    }
    let (after, cpu, wall) = (host.usage(), clock() - cpu, start.elapsed());
    let reported = Duration::from_nanos(
        (after.user + after.system)
            .saturating_sub(before.user + before.system)
            .get(),
    );
    assert!(
        reported.abs_diff(cpu) < Duration::from_millis(20),
        "{reported:?} of {cpu:?}"
    );
    assert!(
        after.user > before.user && after.system > before.system,
        "{after:?}"
    );
    let waited = Duration::from_nanos(after.waited.saturating_sub(before.waited).get());
    assert!(
        waited + cpu < wall + Duration::from_millis(20),
        "{waited:?} and {cpu:?} in {wall:?}"
    );
}

#[test]
fn the_machine_facts_match_the_system() {
    let watch = HostWatch::start();
    let start = Instant::now();
    while start.elapsed() < Duration::from_millis(200) {
        std::hint::black_box(0);
    }
    let seen = watch.finish();
    assert_eq!(seen.kernel, run("uname -r"));
    let profile = if cfg!(debug_assertions) {
        "dev"
    } else {
        "release"
    };
    assert_eq!(seen.build_profile, profile);
    assert_eq!(seen.cpus.to_string(), run("nproc"));
    let total = run("grep MemTotal /proc/meminfo | grep -o '[0-9]*'");
    assert_eq!((seen.memory.get() / 1024).to_string(), total);
    assert!(
        seen.busy_percent
            .is_some_and(|busy| busy > 5.0 && busy <= 100.0),
        "{seen:?}"
    );
    assert!(
        seen.steal_percent
            .is_some_and(|steal| (0.0..=100.0).contains(&steal)),
        "{seen:?}"
    );
}

#[test]
fn small_files_are_read_and_large_ones_are_refused() {
    let scratch = Scratch::new("small");
    let (path, fifo) = (scratch.file("a"), scratch.file("fifo"));
    let file = fs::File::create(&path).expect("a file");
    for (size, fits) in [(16 * MIB, true), (16 * MIB + 1, false)] {
        file.set_len(size).expect("sparse");
        assert_eq!(
            host()
                .read_file(&path)
                .map(|content| content.len() as u64)
                .ok(),
            fits.then_some(size)
        );
    }
    run(&format!("mkfifo '{}'", fifo.display()));
    assert!(
        host()
            .read_file(&fifo)
            .is_ok_and(|content| content.is_empty()),
        "a pipe without a writer does not hang"
    );
    assert!(host().read_file(&scratch.file("none")).is_err());
}

#[test]
fn signals_are_counted() {
    run_in_own_process("host::alone_with_signals");
}

#[test]
#[ignore = "sends signals to its process; signals_are_counted runs it"]
fn alone_with_signals() {
    let (interrupts, dumps) = (interrupts(), dump_requests());
    let own = rustix::process::getpid();
    for (signal, counter, expected) in [
        (rustix::process::Signal::INT, interrupts, 1),
        (rustix::process::Signal::TERM, interrupts, 2),
        (rustix::process::Signal::USR1, dumps, 1),
    ] {
        rustix::process::kill_process(own, signal).expect("our own process");
        let start = Instant::now();
        while counter.load(Ordering::Relaxed) < expected && start.elapsed() < Duration::from_secs(5)
        {
            std::thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(counter.load(Ordering::Relaxed), expected, "{signal:?}");
    }
}

/// Runs one of the tests below in a separate process, because it changes the whole process.
fn run_in_own_process(name: &str) -> String {
    let own = std::env::current_exe().expect("a test program");
    let output = Command::new(own)
        .args(["--ignored", "--exact", "--nocapture", name])
        .output()
        .expect("started");
    let text = String::from_utf8_lossy(&output.stdout).into_owned()
        + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}");
    text
}

#[test]
fn limits_are_explained() {
    run_in_own_process("host::alone_with_few_descriptors");
    run_in_own_process("host::alone_with_short_files");
}

#[test]
#[ignore = "changes the limits of its process; limits_are_explained runs it"]
fn alone_with_few_descriptors() {
    use rustix::process::{Resource, Rlimit, setrlimit};
    let scratch = Scratch::new("few");
    let path = scratch.file("a");
    let host = host();
    lay_out(&host, &for_reading(&path, MIB)).expect("laid out");
    let files = vec![open_file(&path, MIB); 100];
    setrlimit(
        Resource::Nofile,
        Rlimit {
            current: Some(40),
            maximum: Some(400),
        },
    )
    .expect("lowered");
    with_engine(&host, &files, EngineKind::Psync, NoIo).expect("the soft limit is raised");
    setrlimit(
        Resource::Nofile,
        Rlimit {
            current: Some(40),
            maximum: Some(40),
        },
    )
    .expect("lowered");
    let error = with_engine(&host, &files, EngineKind::Psync, NoIo).expect_err("too many");
    assert!(
        error.contains("may open 40 files") && error.contains("ulimit -n"),
        "{error}"
    );
}

#[test]
#[ignore = "changes the limits of its process; limits_are_explained runs it"]
fn alone_with_short_files() {
    use rustix::process::{Resource, Rlimit, setrlimit};
    let scratch = Scratch::new("short");
    let path = scratch.file("a");
    interrupts();
    setrlimit(
        Resource::Fsize,
        Rlimit {
            current: Some(MIB),
            maximum: None,
        },
    )
    .expect("lowered");
    let error = lay_out(&host(), &for_reading(&path, 2 * MIB)).expect_err("too long");
    assert_eq!(error.errno, libc::EFBIG);
    assert!(
        error.what.contains("ulimit -f") && !path.exists(),
        "{error}"
    );
}

#[test]
fn throttles_of_the_control_group_are_counted() {
    let group =
        Path::new("/sys/fs/cgroup/cpu").join(format!("fathom-host-test-{}", std::process::id()));
    if !rustix::process::geteuid().is_root() || fs::create_dir(&group).is_err() {
        fathom_testkit::skip("cannot create a version 1 cpu control group here");
        return;
    }
    let _undo = Undo(vec![vec!["rmdir".into(), group.display().to_string()]]);
    fs::write(group.join("cpu.cfs_period_us"), "10000").expect("a period");
    fs::write(group.join("cpu.cfs_quota_us"), "2000").expect("a quota");
    let own = std::env::current_exe().expect("a test program");
    let enter = format!(
        "echo 0 > '{}/cgroup.procs'; exec '{}'",
        group.display(),
        own.display()
    );
    let throttled = run(&format!(
        "{enter} --ignored --exact --nocapture host::alone_in_a_throttled_group"
    ));
    let reported: u64 = throttled
        .split("throttles=")
        .nth(1)
        .and_then(|rest| rest.split(';').next())
        .expect("readable")
        .parse()
        .expect("a number");
    let stat = fs::read_to_string(group.join("cpu.stat")).expect("cpu.stat");
    let kernel: u64 = stat
        .lines()
        .find_map(|line| line.strip_prefix("nr_throttled "))
        .expect("a line")
        .parse()
        .expect("a number");
    assert!(
        reported >= 10 && reported <= kernel,
        "{reported} of {kernel}"
    );
}

#[test]
#[ignore = "burns CPU; throttles_of_the_control_group_are_counted runs it"]
fn alone_in_a_throttled_group() {
    let watch = HostWatch::start();
    let start = Instant::now();
    while start.elapsed() < Duration::from_millis(400) {
        std::hint::black_box(0);
    }
    let seen = watch.finish();
    println!("throttles={};", seen.cpu_throttles.unwrap_or(0));
}

/// Regression 0311: an interrupted layout kept the space that it had reserved.
#[test]
fn a_stopped_layout_gives_back_what_it_reserved() {
    use std::os::unix::fs::MetadataExt;
    let scratch = Scratch::new("reserved");
    let size = 2048 * MIB;
    for existed in [false, true] {
        let path = scratch.file(if existed { "old" } else { "new" });
        let host = host();
        if existed {
            lay_out(&host, &for_reading(&path, MIB)).expect("laid out");
        }
        let stop = AtomicBool::new(false);
        let error = host
            .lay_out(&for_reading(&path, size), &stop, &mut |_| {
                stop.store(true, Ordering::Relaxed);
            })
            .expect_err("stopped");
        assert_eq!(error.errno, libc::EINTR, "{error}");
        let Ok(facts) = fs::metadata(&path) else {
            // Without hole detection a new file is removed as a whole.
            continue;
        };
        let written: u64 = error
            .to_string()
            .split_whitespace()
            .find_map(|word| word.parse().ok())
            .expect("the bytes that were written");
        assert!(written < size / 2, "it was stopped at once: {written}");
        let allocated = facts.blocks() * 512;
        assert!(
            allocated <= written + 2 * MIB,
            "{allocated} bytes are allocated for {written}"
        );
        drop(host);
        fs::remove_file(&path).expect("removed");
    }
}
