//! The behaviour of each engine on a device that returns errors, is slow or hangs.

use std::time::{Duration, Instant};

use fathom_load::{Engine, Op, Wait};
use fathom_model::EngineKind;
use fathom_testkit::{DeviceOptions, Fault, FaultDevice, require};

use crate::engines::support::{BUFFER, Case, limit, perform, reap, request, submit_all};
use crate::engines::target::{SIZE, Target};

const EIO: i64 = -5;

/// All but mmap: the device's file is not mapped.
fn cases() -> Vec<Case> {
    let registered = Case::new(EngineKind::IoUring, 4).set(|settings| {
        settings.fixed_buffers = true;
        settings.register_files = true;
    });
    let synchronous = [
        EngineKind::Sync,
        EngineKind::Psync,
        EngineKind::Pvsync,
        EngineKind::Pvsync2,
        EngineKind::Vsync,
    ];
    let mut cases: Vec<_> = synchronous
        .into_iter()
        .map(|kind| Case::new(kind, 1))
        .collect();
    cases.extend(asynchronous());
    cases.push(registered);
    cases
}

fn asynchronous() -> Vec<Case> {
    [
        EngineKind::Libaio,
        EngineKind::PosixAio,
        EngineKind::IoUring,
    ]
    .into_iter()
    .map(|kind| Case::new(kind, 4))
    .collect()
}

fn device() -> FaultDevice {
    FaultDevice::mount(DeviceOptions {
        size: SIZE,
        ..DeviceOptions::default()
    })
    .unwrap()
}

/// Errors of the device are returned unchanged in the completion of their request, and the engine
/// continues.
#[test]
fn errors_are_completions() {
    require!(Fuse);
    let device = device();
    device.inject(Fault::ReadError {
        offset: 65536,
        len: 4096,
    });
    device.inject(Fault::WriteError {
        offset: 131_072,
        len: 4096,
    });
    for case in cases() {
        case.run(Target::faulty(&device).open((0, SIZE), true), |engine| {
            let name = case.kind.name();
            assert_eq!(
                perform(engine, request(0, Op::Read, 65536, 4096)),
                EIO,
                "{name}"
            );
            assert_eq!(
                perform(engine, request(0, Op::Read, 61440, 4096)),
                4096,
                "{name}"
            );
            assert_eq!(
                perform(engine, request(0, Op::Write, 131_072, 4096)),
                EIO,
                "{name}"
            );
            assert_eq!(
                perform(engine, request(0, Op::Write, 135_168, 4096)),
                4096,
                "{name}"
            );
            device.inject_times(Fault::SyncError, 1);
            assert_eq!(perform(engine, request(0, Op::Fsync, 0, 0)), EIO, "{name}");
            assert_eq!(
                perform(engine, request(0, Op::Fdatasync, 0, 0)),
                0,
                "{name}"
            );
        });
    }
    assert!(device.counts().injected() >= 3 * cases().len() as u64);
}

/// No engine retries the rest of a short read. (The kernel's io_uring does so for regular files.)
#[test]
fn a_short_read_is_reported() {
    require!(Fuse);
    let device = device();
    device.inject(Fault::ShortRead { at_most: 1024 });
    for case in cases() {
        let result = case.run(Target::faulty(&device).open((0, SIZE), false), |engine| {
            perform(engine, request(0, Op::Read, 0, 4096))
        });
        let expected: &[i64] = if case.kind == EngineKind::IoUring {
            &[1024, 4096]
        } else {
            &[1024]
        };
        assert!(expected.contains(&result), "{}: {result}", case.kind.name());
    }
}

/// Four adjacent blocks of one batch are one call of vsync; a gap, another direction or another
/// batch starts a new call.
#[test]
fn vsync_merges_adjacent_requests() {
    require!(Fuse);
    let device = device();
    Case::new(EngineKind::Vsync, 8).run(Target::faulty(&device).open((0, SIZE), true), |engine| {
        let offsets = [0, 4096, 8192, 12288, 20480, 24576];
        let mut batch: Vec<_> = (0..)
            .zip(offsets)
            .map(|(slot, offset)| request(slot, Op::Read, offset, 4096))
            .collect();
        batch.push(request(6, Op::Write, 28672, 4096));
        submit_all(engine, &batch);
        submit_all(engine, &[request(7, Op::Write, 32768, 4096)]);
        assert!(
            reap(engine, 8)
                .iter()
                .all(|completion| completion.result == 4096)
        );
    });
    let calls: Vec<_> = device
        .log()
        .iter()
        .map(|entry| (entry.offset, entry.len))
        .collect();
    assert_eq!(
        calls,
        [(0, 16384), (20480, 8192), (28672, 4096), (32768, 4096)]
    );
}

/// A reap returns even if nothing completes: at its limit, or else within a second.
#[test]
fn a_reap_on_a_hanging_device_returns() {
    require!(Fuse);
    let device = device();
    for case in asynchronous() {
        case.run(Target::faulty(&device).open((0, SIZE), true), |engine| {
            device.inject(Fault::Hang(None));
            let batch: Vec<_> = (0..4)
                .map(|slot| request(slot, Op::Read, u64::from(slot) * 4096, 4096))
                .collect();
            submit_all(engine, &batch);
            for millis in [0, 2, 50] {
                wait_in_vain(engine, Duration::from_millis(millis));
            }
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
                .unwrap();
            assert_eq!(done, [], "{}", case.kind.name());
            device.clear_faults();
            device.release();
            assert!(
                reap(engine, 4)
                    .iter()
                    .all(|completion| completion.result == 4096)
            );
        });
    }
}

/// A completion ends the wait for it before the limit, which is far beyond the time that a busy machine needs.
#[test]
fn a_completion_wakes_a_reap() {
    const MAX_WAIT_TIME: Duration = Duration::from_secs(600);
    require!(Fuse);
    let device = device();
    for case in asynchronous() {
        case.run(Target::faulty(&device).open((0, SIZE), true), |engine| {
            device.inject(Fault::Hang(None));
            submit_all(
                engine,
                &[
                    request(0, Op::Read, 0, 4096),
                    request(1, Op::Read, 4096, 4096),
                ],
            );
            let (started, mut done) = (Instant::now(), Vec::new());
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    std::thread::sleep(Duration::from_millis(50));
                    device.clear_faults();
                    device.release();
                });
                let most = limit(2, 2, MAX_WAIT_TIME.as_millis() as u64);
                engine.reap(most, &mut done).unwrap();
            });
            assert_eq!(done.len(), 2, "{}", case.kind.name());
            assert!(
                started.elapsed() < MAX_WAIT_TIME / 2,
                "{} {:?}",
                case.kind.name(),
                started.elapsed()
            );
        });
    }
}

/// A reap that finds nothing does not end before its limit.
fn wait_in_vain(engine: &mut dyn Engine, allowed: Duration) {
    let (started, mut done) = (Instant::now(), Vec::new());
    engine
        .reap(limit(2, 4, allowed.as_millis() as u64), &mut done)
        .unwrap();
    assert_eq!(done, []);
    assert!(started.elapsed() >= allowed);
}

/// Dropping an engine on a hanging device does not hang, and later completions write only to the
/// engine's own memory.
#[test]
fn an_engine_can_be_dropped_on_a_hanging_device() {
    require!(Fuse);
    let device = device();
    for case in asynchronous() {
        case.run(Target::faulty(&device).open((0, SIZE), true), |engine| {
            device.inject(Fault::Hang(None));
            let batch: Vec<_> = (0..4)
                .map(|slot| request(slot, Op::Read, u64::from(slot) * 65536, BUFFER))
                .collect();
            submit_all(engine, &batch);
        });
        let memory: Vec<_> = (0..64).map(|_| vec![0xc3u8; 4 * BUFFER as usize]).collect();
        device.clear_faults();
        device.release();
        std::thread::sleep(Duration::from_millis(50));
        assert!(
            memory.iter().flatten().all(|&byte| byte == 0xc3),
            "{}",
            case.kind.name()
        );
    }
}
