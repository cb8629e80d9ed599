//! Behaviour of single engines.
#![allow(unsafe_code)]

use std::io::Write;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::time::{Duration, Instant};

use fathom_linux::{EngineFile, make_noop_ring};
use fathom_load::{Engine, EngineUser, Op, OpenFile, Wait};
use fathom_model::{EngineKind, EngineSpec};
use fathom_testkit::skip;

use crate::engines::support::{Case, limit, perform, reap, request, submit_all, with_engine};
use crate::engines::target::{SIZE, Target};

/// A read that does not complete before data is written to the other end.
fn pipe(target: &Target) -> ((OpenFile, EngineFile), std::io::PipeWriter) {
    let (reader, writer) = std::io::pipe().unwrap();
    let (open, file) = target.open((0, SIZE), false);
    (
        (
            open,
            EngineFile {
                fd: OwnedFd::from(reader),
                ..file
            },
        ),
        writer,
    )
}

#[test]
fn a_wait_ends_with_its_limit() {
    let target = Target::disk(false).unwrap();
    let (file, mut writer) = pipe(&target);
    Case::new(EngineKind::IoUring, 4).run(file, |engine| {
        submit_all(engine, &[request(2, Op::Read, 0, 4096)]);
        let mut done = Vec::new();
        for millis in [0, 1, 20, 200] {
            let started = Instant::now();
            engine.reap(limit(1, 1, millis), &mut done).unwrap();
            assert!(started.elapsed() >= Duration::from_millis(millis));
            assert_eq!(done, []);
        }
        engine
            .reap(
                Wait {
                    at_least: 1,
                    at_most: 1,
                    limit: None,
                },
                &mut done,
            )
            .unwrap();
        assert_eq!(done, []);
        writer.write_all(b"fathom").unwrap();
        let done = reap(engine, 1);
        assert_eq!((done[0].slot, done[0].result), (2, 6));
        assert_eq!(&engine.buffer(2)[..6], b"fathom");
    });
}

#[test]
fn a_pending_read_is_cancelled_on_drop() {
    let target = Target::disk(false).unwrap();
    let (file, mut writer) = pipe(&target);
    Case::new(EngineKind::IoUring, 4).run(file, |engine| {
        submit_all(engine, &[request(2, Op::Read, 0, 4096)]);
    });
    assert!(
        writer.write_all(b"nobody").is_err(),
        "the engine closes the read end"
    );
}

/// A file truncated under its mapping gives errors, not SIGBUS; when extended again it works again.
#[test]
fn mmap_survives_a_truncated_file() {
    let target = Target::disk(false).unwrap();
    let file = std::fs::File::options()
        .write(true)
        .open(&target.path)
        .unwrap();
    Case::new(EngineKind::Mmap, 1).run(target.open((0, SIZE), true), |engine| {
        assert_eq!(
            perform(engine, request(0, Op::Read, SIZE / 2 - 4096, 8192)),
            8192
        );
        file.set_len(SIZE / 2).unwrap();
        for op in [Op::Read, Op::Write] {
            assert_eq!(
                perform(engine, request(0, op, SIZE - 4096, 4096)),
                -5,
                "{op:?}"
            );
            assert_eq!(
                perform(engine, request(0, op, SIZE / 2 - 4096, 8192)),
                -5,
                "{op:?}"
            );
        }
        assert_eq!(perform(engine, request(0, Op::Read, 0, 4096)), 4096);
        file.set_len(SIZE).unwrap();
        engine.buffer(0).fill(7);
        assert_eq!(
            perform(engine, request(0, Op::Write, SIZE - 4096, 4096)),
            4096
        );
    });
    assert_eq!(target.content()[SIZE as usize - 4096..], [7; 4096]);
}

#[test]
fn mmap_reports_a_file_that_cannot_be_mapped() {
    let target = Target::disk(false).unwrap();
    let (file, _writer) = pipe(&target);
    let spec = EngineSpec {
        kind: EngineKind::Mmap,
        named: true,
        settings: Default::default(),
    };
    let refused = with_engine(&spec, 1, vec![file], |_, _, _| ()).expect_err("a pipe has no pages");
    assert!(refused.what.contains("cannot be mapped"), "{refused}");
}

/// A bus error outside the engine ends the process as usual. Runs in a separate process for that
/// reason.
#[test]
fn a_bus_error_elsewhere_still_kills() {
    let this = std::env::current_exe().unwrap();
    let name = [
        "--exact",
        "engines::special::bus_error_elsewhere",
        "--ignored",
        "--nocapture",
    ];
    let output = std::process::Command::new(this)
        .args(name)
        .output()
        .unwrap();
    assert_eq!(output.status.signal(), Some(libc::SIGBUS), "{output:?}");
}

#[test]
#[ignore = "dies, for a_bus_error_elsewhere_still_kills"]
fn bus_error_elsewhere() {
    let target = Target::disk(false).unwrap();
    Case::new(EngineKind::Mmap, 1).run(target.open((0, SIZE), true), |engine| {
        assert_eq!(perform(engine, request(0, Op::Read, 0, 4096)), 4096);
        let path = target.path.with_extension("empty");
        let empty = std::fs::File::options()
            .read(true)
            .write(true)
            .create_new(true)
            .open(path)
            .unwrap();
        std::fs::remove_file(&target.path).unwrap();
        std::fs::remove_dir_all(target.path.parent().unwrap()).unwrap();
        // SAFETY: a new mapping; the read past the end of its file is the intended bus error.
        unsafe {
            let page = libc::mmap(
                std::ptr::null_mut(),
                4096,
                libc::PROT_READ,
                libc::MAP_SHARED,
                empty.as_raw_fd(),
                0,
            );
            assert_ne!(page, libc::MAP_FAILED);
            std::hint::black_box(page.cast::<u8>().read_volatile());
        }
    });
}

/// RWF_NOWAIT on a page that is not cached completes with EAGAIN (preadv2(2)).
#[test]
fn nowait_reports_eagain() {
    let target = Target::disk(false).unwrap();
    let case = Case::new(EngineKind::Pvsync2, 1).set(|settings| settings.nowait = true);
    case.run(target.open((0, SIZE), true), |engine| {
        let file = std::fs::File::open(&target.path).unwrap();
        file.sync_all().unwrap();
        rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed).unwrap();
        let result = perform(engine, request(0, Op::Read, 0, 4096));
        if result == 4096 {
            skip("this file system does not drop its cache on request");
            return;
        }
        assert_eq!(result, -i64::from(libc::EAGAIN));
    });
}

/// A device without poll queues is refused before the run; one with them works.
#[test]
fn polling_works_or_is_refused_with_a_message() {
    let Some(target) = Target::disk(true) else {
        return;
    };
    let mut spec = EngineSpec {
        kind: EngineKind::IoUring,
        named: true,
        settings: Default::default(),
    };
    spec.settings.high_priority = true;
    let outcome = with_engine(
        &spec,
        4,
        vec![target.open((0, SIZE), true)],
        |engine, _, _| {
            assert_eq!(perform(engine, request(1, Op::Read, 4096, 4096)), 4096);
            assert_eq!(perform(engine, request(1, Op::Fsync, 0, 0)), 0);
        },
    );
    if let Err(refused) = outcome {
        assert!(refused.what.contains("poll queues"), "{refused}");
    }
    let Some(tmpfs) = Target::tmpfs() else { return };
    let refused = with_engine(&spec, 4, vec![tmpfs.open((0, SIZE), true)], |_, _, _| ())
        .expect_err("memory has no poll queue");
    assert!(refused.what.contains("direct=1"), "{refused}");
    let spec = EngineSpec {
        named: false,
        ..spec
    };
    let (name, why) = with_engine(
        &spec,
        4,
        vec![tmpfs.open((0, SIZE), true)],
        |_, name, why| (name, why),
    )
    .unwrap();
    assert_eq!(name, "io_uring");
    assert!(
        why.unwrap()
            .starts_with("io_uring without polled completions")
    );
}

#[test]
fn a_depth_beyond_the_largest_ring_works() {
    let target = Target::disk(false).unwrap();
    let spec = EngineSpec {
        kind: EngineKind::IoUring,
        named: true,
        settings: Default::default(),
    };
    let (open, file) = target.open((0, SIZE), false);
    let depth = 40_000;
    with_engine(&spec, depth, vec![(open, file)], |engine, _, _| {
        assert_eq!(engine.depth(), depth);
        let batch: Vec<_> = (0..depth)
            .map(|slot| request(slot, Op::Read, 0, 512))
            .collect();
        let mut sent = 0;
        let mut done = Vec::new();
        while done.len() < depth as usize {
            sent += engine.submit(&batch[sent..]).unwrap();
            engine.reap(limit(1, u32::MAX, 100), &mut done).unwrap();
        }
        assert!(done.iter().all(|completion| completion.result == 512));
    })
    .unwrap_or_else(|error| panic!("{error}"));
}

struct CountNoops;

impl EngineUser for CountNoops {
    type Output = usize;
    fn run<E: Engine>(self, mut engine: E, _: &'static str, _: Option<String>) -> usize {
        let batch: Vec<_> = (0..8)
            .map(|slot| request(slot, Op::Read, 0, 4096))
            .collect();
        let mut done = Vec::new();
        for _ in 0..100 {
            submit_all(&mut engine, &batch);
            engine
                .reap(
                    Wait {
                        at_least: 8,
                        at_most: 8,
                        limit: None,
                    },
                    &mut done,
                )
                .unwrap();
        }
        done.iter()
            .filter(|completion| completion.result == 4096)
            .count()
    }
}

/// Regression 0006: a no-op completed with 0, which the load generator counts as a read without
/// data.
#[test]
fn a_ring_of_noops_completes_them() {
    assert_eq!(make_noop_ring(8, 4096, CountNoops), Ok(800));
}
