//! Requirements of every engine on every target.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use fathom_load::{Engine, Op, Wait};
use fathom_model::EngineKind;
use fathom_testkit::skip;

use crate::engines::support::{BUFFER, Case, TestRng, limit, perform, reap, request, submit_all};
use crate::engines::target::{SIZE, Target};

type Check = fn(&Case, &Target);

const CHECKS: [(&str, Check); 11] = [
    ("written data is read back", written_data_is_read_back),
    (
        "adjacent blocks are independent",
        adjacent_blocks_are_independent,
    ),
    ("a read at the end is short", a_read_at_the_end_is_short),
    ("a refusal is a completion", a_refusal_is_a_completion),
    ("nothing outside the range", nothing_outside_the_range),
    ("syncs succeed", syncs_succeed),
    ("a trim leaves zeros", a_trim_leaves_zeros),
    ("reap respects its bounds", reap_respects_its_bounds),
    ("an idle reap returns", an_idle_reap_returns),
    ("no buffer in flight", no_buffer_in_flight),
    ("dropped in flight", dropped_in_flight),
];

pub fn run(case: &Case) {
    for target in Target::all() {
        for (name, check) in CHECKS {
            let outcome = catch_unwind(AssertUnwindSafe(|| check(case, &target)));
            assert!(
                outcome.is_ok(),
                "{} at depth {} on {}: {name}",
                case.kind.name(),
                case.depth,
                target.name
            );
        }
    }
}

/// Random reads and writes, each slot in a separate part of the file, compared with a copy of the
/// file in memory.
fn written_data_is_read_back(case: &Case, target: &Target) {
    let mut model = target.content();
    let mut rng = TestRng(0xfa70 + u64::from(case.depth));
    case.run(target.open((0, SIZE), true), |engine| {
        let slots = u64::from(engine.depth());
        let part = SIZE / slots / 4096 * 4096;
        for _ in 0..400 / slots + 2 {
            let batch: Vec<_> = (0..slots)
                .map(|slot| {
                    let len = (1 + rng.below(u64::from(BUFFER) / 4096)) * 4096;
                    let offset = slot * part + rng.below((part - len.min(part)) / 4096 + 1) * 4096;
                    let op = if rng.below(2) == 0 {
                        Op::Read
                    } else {
                        Op::Write
                    };
                    request(slot as u32, op, offset, len.min(part) as u32)
                })
                .collect();
            for write in batch.iter().filter(|request| request.op == Op::Write) {
                let data = &mut model[write.offset as usize..][..write.len as usize];
                data.fill_with(|| rng.below(256) as u8);
                engine.buffer(write.slot)[..write.len as usize].copy_from_slice(data);
            }
            submit_all(engine, &batch);
            let mut done = reap(engine, slots as u32);
            done.sort_by_key(|completion| completion.slot);
            for (request, completion) in batch.iter().zip(&done) {
                assert_eq!(
                    (completion.slot, completion.result),
                    (request.slot, i64::from(request.len)),
                    "{request:?}"
                );
                let expected = &model[request.offset as usize..][..request.len as usize];
                assert!(
                    &engine.buffer(request.slot)[..request.len as usize] == expected,
                    "{request:?}"
                );
            }
        }
        no_completions_left(engine);
        assert_eq!(perform(engine, request(0, Op::Fsync, 0, 0)), 0);
    });
    assert!(target.content() == model);
}

/// Each request completes once: afterwards there are no completions.
fn no_completions_left(engine: &mut dyn Engine) {
    let mut done = Vec::new();
    engine.reap(limit(1, u32::MAX, 5), &mut done).unwrap();
    assert_eq!(done, []);
}

/// A batch of adjacent blocks, which vsync merges: every block has its own contents.
fn adjacent_blocks_are_independent(case: &Case, target: &Target) {
    case.run(target.open((0, SIZE), true), |engine| {
        let slots = engine.depth().min(64);
        for (op, byte) in [(Op::Write, 1), (Op::Read, 0)] {
            let batch: Vec<_> = (0..slots)
                .map(|slot| request(slot, op, u64::from(slot) * 4096, 4096))
                .collect();
            (0..slots).for_each(|slot| engine.buffer(slot).fill(byte * (slot as u8 + 1)));
            submit_all(engine, &batch);
            assert!(
                reap(engine, slots)
                    .iter()
                    .all(|completion| completion.result == 4096)
            );
        }
        for slot in 0..slots {
            assert!(
                engine.buffer(slot)[..4096]
                    .iter()
                    .all(|&byte| byte == slot as u8 + 1),
                "{slot}"
            );
        }
    });
}

fn a_read_at_the_end_is_short(case: &Case, target: &Target) {
    case.run(target.open((0, 2 * SIZE), false), |engine| {
        assert_eq!(
            perform(engine, request(0, Op::Read, SIZE - 4096, 8192)),
            4096
        );
        assert_eq!(perform(engine, request(0, Op::Read, SIZE, 4096)), 0);
    });
}

fn a_refusal_is_a_completion(case: &Case, target: &Target) {
    let before = target.content();
    case.run(target.open((0, SIZE), false), |engine| {
        assert_eq!(
            perform(engine, request(0, Op::Write, 0, 4096)),
            -i64::from(libc::EBADF)
        );
        assert_eq!(perform(engine, request(0, Op::Read, 0, 4096)), 4096);
    });
    assert!(target.content() == before);
}

fn nothing_outside_the_range(case: &Case, target: &Target) {
    let before = target.content();
    let range = (64 << 10, 128 << 10);
    let outside = [
        (0, 4096),
        (range.0 - 4096, 8192),
        (range.1 - 4096, 8192),
        (range.1, 4096),
        (u64::MAX, 4096),
        (u64::MAX - 4095, 4096),
        (i64::MAX as u64, 4096),
        (range.0, BUFFER + 1),
    ];
    case.run(target.open(range, true), |engine| {
        engine.buffer(0).fill(0xee);
        for (offset, len) in outside {
            for op in [Op::Read, Op::Write, Op::Trim] {
                if op == Op::Trim && len == BUFFER + 1 {
                    continue;
                }
                assert_eq!(
                    perform(engine, request(0, op, offset, len)),
                    -i64::from(libc::EINVAL),
                    "{op:?} {offset}+{len}"
                );
            }
        }
        let elsewhere = fathom_load::Request {
            file: 7,
            ..request(0, Op::Write, range.0, 4096)
        };
        assert_eq!(perform(engine, elsewhere), -i64::from(libc::EBADF));
    });
    assert!(target.content() == before);
}

fn syncs_succeed(case: &Case, target: &Target) {
    case.run(target.open((0, SIZE), true), |engine| {
        for op in [Op::Fsync, Op::Fdatasync] {
            assert_eq!(perform(engine, request(0, Op::Write, 8192, 4096)), 4096);
            // The offset and length of a sync are ignored.
            assert_eq!(
                perform(engine, request(0, op, u64::MAX, u32::MAX)),
                0,
                "{op:?}"
            );
        }
    });
}

fn a_trim_leaves_zeros(case: &Case, target: &Target) {
    case.run(target.open((0, SIZE), true), |engine| {
        engine.buffer(0).fill(0x5a);
        assert_eq!(perform(engine, request(0, Op::Write, 0, 16384)), 16384);
        let trimmed = perform(engine, request(0, Op::Trim, 4096, 8192));
        if trimmed == -i64::from(libc::EOPNOTSUPP) {
            skip(&format!("{} does not trim", target.name));
            return;
        }
        assert_eq!(trimmed, 0);
        assert_eq!(perform(engine, request(0, Op::Read, 0, 16384)), 16384);
        let pages: Vec<_> = engine
            .buffer(0)
            .chunks(4096)
            .map(|page| page.iter().all(|&byte| byte == page[0]).then_some(page[0]))
            .collect();
        assert_eq!(pages, [Some(0x5a), Some(0), Some(0), Some(0x5a)]);
    });
    assert_eq!(
        target.content().len() as u64,
        SIZE,
        "a trim does not shorten a file"
    );
}

fn reap_respects_its_bounds(case: &Case, target: &Target) {
    case.run(target.open((0, SIZE), true), |engine| {
        let slots = engine.depth();
        let batch: Vec<_> = (0..slots)
            .map(|slot| request(slot, Op::Read, u64::from(slot) * 4096, 4096))
            .collect();
        submit_all(engine, &batch);
        let mut done = Vec::new();
        engine.reap(limit(0, 0, 1), &mut done).unwrap();
        assert_eq!(done, []);
        for count in 1..=slots as usize {
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
            assert_eq!(done.len(), count);
        }
        let mut slots_done: Vec<_> = done.iter().map(|completion| completion.slot).collect();
        slots_done.sort_unstable();
        assert_eq!(slots_done, (0..slots).collect::<Vec<_>>());
        // Reaping without waiting eventually finds everything.
        submit_all(engine, &batch);
        let (started, mut done) = (Instant::now(), Vec::new());
        while done.len() < slots as usize {
            engine.reap(limit(0, u32::MAX, 0), &mut done).unwrap();
            assert!(started.elapsed() < Duration::from_secs(20));
        }
    });
}

fn an_idle_reap_returns(case: &Case, target: &Target) {
    case.run(target.open((0, SIZE), true), |engine| {
        let started = Instant::now();
        for wait in [
            limit(1, 1, 60_000),
            Wait {
                at_least: 3,
                at_most: 9,
                limit: None,
            },
            limit(0, 5, 60_000),
        ] {
            engine.reap(wait, &mut Vec::new()).unwrap();
        }
        assert!(
            started.elapsed() < Duration::from_secs(30),
            "there was nothing to wait for"
        );
        // At most the I/Os in flight can complete.
        submit_all(engine, &[request(0, Op::Read, 0, 4096)]);
        let mut done = Vec::new();
        engine.reap(limit(50, 50, 60_000), &mut done).unwrap();
        assert_eq!(done.len(), 1);
    });
}

fn no_buffer_in_flight(case: &Case, target: &Target) {
    case.run(target.open((0, SIZE), true), |engine| {
        submit_all(engine, &[request(0, Op::Read, 0, 4096)]);
        let hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(|_| {}));
        let buffer = catch_unwind(AssertUnwindSafe(|| engine.buffer(0).len()));
        let twice = catch_unwind(AssertUnwindSafe(|| {
            engine.submit(&[request(0, Op::Read, 0, 4096)]).ok()
        }));
        std::panic::set_hook(hook);
        assert!(buffer.is_err());
        // A synchronous engine may accept no more requests instead.
        assert!(matches!(twice, Err(_) | Ok(Some(0))));
        reap(engine, 1);
        assert_eq!(engine.buffer(0).len() as u32, BUFFER);
    });
}

/// When an engine is dropped with I/O in flight, nothing writes to its freed memory: the memory is
/// reused at once and checked.
fn dropped_in_flight(case: &Case, target: &Target) {
    let before = target.content();
    for _ in 0..8 {
        case.run(target.open((0, SIZE), true), |engine| {
            let batch: Vec<_> = (0..engine.depth())
                .map(|slot| request(slot, Op::Read, u64::from(slot) * 8192, 8192))
                .collect();
            submit_all(engine, &batch);
        });
        let memory = vec![0xc3u8; case.depth as usize * BUFFER as usize];
        std::thread::sleep(Duration::from_millis(1));
        assert!(memory.iter().all(|&byte| byte == 0xc3));
    }
    assert!(target.content() == before || case.kind == EngineKind::Null);
}
