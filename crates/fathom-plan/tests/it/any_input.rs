//! Any input has an answer: no panic, no endless loop, no flood of messages.

use crate::support;
use crate::support::Machine;
use fathom_model::Personality::{Fathom, Fio};
use fathom_plan::{ParseContext, Source, options, read_value};
use proptest::prelude::*;

/// Parts that exercise the parsers deeply when they are combined.
fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        prop::sample::select(vec![
            "=",
            ":",
            ",",
            "-",
            "/",
            "%",
            "0x",
            "1",
            "4k",
            "KiB",
            "9999999999",
            ".",
            "z",
            "[",
            "]",
            "global",
            "\n",
            "\n[j]\n",
            "${",
            "}",
            "$ncpus",
            "*",
            "(",
            ")",
            "zipf",
            "zoned",
            "include job.fio",
            "'",
            "\"",
            "%o",
            "\\:",
            "é",
            "\u{0}",
            " ",
            ";",
            "#",
            "name",
            "global\n",
            "-1",
            "read",
            "e",
            "E",
        ])
        .prop_map(str::to_owned),
        any::<char>().prop_map(String::from),
        prop::sample::select(options().map(|row| row.name).collect::<Vec<_>>())
            .prop_map(str::to_owned),
    ]
}

fn text(pieces: std::ops::Range<usize>) -> impl Strategy<Value = String> {
    prop::collection::vec(piece(), pieces).prop_map(|all| all.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_a_source_or_not(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = Source::new("job.fio", bytes);
    }

    #[test]
    fn any_text_is_a_plan_or_a_list_of_errors(text in text(0..60)) {
        let text = format!("[j]\nsize=1m\n{text}");
        for personality in [Fathom, Fio] {
            let answer = Machine::default().with_file("job.fio", &text).plan(personality, &["job.fio"]);
            prop_assert!(answer.as_ref().map_or_else(|problems| !problems.is_empty() && problems.len() <= 1000, |planned| !planned.plan.jobs.is_empty()));
        }
    }

    #[test]
    fn any_arguments_are_an_invocation_or_a_list_of_errors(arguments in prop::collection::vec(text(1..6), 0..8), dashes in 0..3_usize) {
        let arguments: Vec<String> = arguments.into_iter().map(|argument| format!("{}{argument}", "-".repeat(dashes))).collect();
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        for personality in [Fathom, Fio] {
            let _ = Machine::default().plan(personality, &arguments);
        }
    }

    #[test]
    fn any_value_of_any_option_is_read_or_not(value in text(0..8)) {
        for row in options() {
            for personality in [Fathom, Fio] {
                let _ = read_value(row, Some(&value), &mut ParseContext::new(personality, 4));
            }
        }
    }

    #[test]
    fn any_value_of_any_option_makes_a_plan_or_not(value in text(0..6), at in 0..400_usize) {
        let rows: Vec<_> = options().collect();
        let text = format!("[j]\nsize=1m\n{}={value}\n", rows[at % rows.len()].name);
        for personality in [Fathom, Fio] {
            let _ = Machine::default().with_file("job.fio", &text).plan(personality, &["job.fio"]);
        }
    }
}

#[test]
fn invalid_utf8_has_a_location() {
    let problem = Source::new("job.fio", b"[j]\nbs=\xff".to_vec()).expect_err("not UTF-8");
    assert_eq!(
        problem.to_string(),
        "job.fio:2:4: invalid UTF-8 (is this a job file?)"
    );
}

/// Files that would use excessive memory are refused early.
#[test]
fn absurdly_large_files_are_refused() {
    let answer =
        |text: String| support::shown(&support::plan_for_run(&text).expect_err("too large"));
    assert_eq!(
        answer(format!("[j]\n{}", "bs=4k\n".repeat(501))),
        "job.fio:1:1: 501 options in one section exceed the limit (at most 500)\n"
    );
    let globals = format!("[global]\n{}", "bs=4k\n".repeat(500)).repeat(80);
    let jobs: String = (0..1000).map(|n| format!("[j{n}]\n")).collect();
    assert!(
        answer(globals + &jobs)
            .ends_with("all jobs together have more than 1000000 options (split the job file)\n")
    );
    let globals = format!(
        "[global]\n{}",
        format!("description={}\n", "x".repeat(8000)).repeat(400)
    );
    let jobs: String = (0..100).map(|n| format!("[j{n}]\n")).collect();
    assert!(answer(globals + &jobs).ends_with(
        "the options of all jobs together have more than 33554432 bytes (split the job file)\n"
    ));
    assert!(answer("[j]\nsize=1m\n".repeat(20_000)).contains("more than 16384 workers"));
    assert!(answer("[j]\n".repeat(100_001)).contains("more than 100000 lines"));
    assert!(
        answer(format!("[j]\nfilename={}\n", "x".repeat(9000)))
            .contains("the line has more than 8191 bytes")
    );
}

/// Regression 0154: each `wait_for` was compared with the names of all jobs, so that planning
/// thousands of them took five times as long. Measured in CPU time.
#[test]
fn a_chain_of_thousands_is_planned_quickly() {
    let busy = || {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
        now.tv_sec as f64 + now.tv_nsec as f64 / 1e9
    };
    let plan = |chain: bool| {
        let wait = |n: usize| {
            if chain && n > 0 {
                format!("wait_for=a{}\n", n - 1)
            } else {
                String::new()
            }
        };
        let text: String = (0..16_000)
            .map(|n| format!("[a{n}]\nioengine=null\nsize=1m\n{}", wait(n)))
            .collect();
        let before = busy();
        let last = support::plan_for_run(&text).expect("a plan").plan.jobs[15_999]
            .start
            .after_section;
        (last, busy() - before)
    };
    let ((last, chained), (none, free)) = (plan(true), plan(false));
    assert_eq!((last, none), (Some(15_998), None));
    assert!(chained < free * 3.0, "{chained} s instead of {free} s");
}

/// Regression 0080: each unknown option was compared with every known option by an expensive
/// algorithm, so that a file with a thousand of them took seconds. Measured in CPU time, which does
/// not depend on other load.
#[test]
fn a_thousand_unknown_options_are_refused_quickly() {
    let mut state = 1_u64;
    let mut letter = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        char::from(b'a' + (state >> 33) as u8 % 26)
    };
    let text: String = (0..1000_usize)
        .map(|n| {
            let head = if n.is_multiple_of(400) {
                format!("[j{n}]\n")
            } else {
                String::new()
            };
            let word: String = (0..8 + n % 56).map(|_| letter()).collect();
            format!("{head}{word}=1\n")
        })
        .collect();
    let before = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    assert!(support::plan_for_run(&text).expect_err("unknown").len() >= 990);
    let after = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    let took =
        (after.tv_sec - before.tv_sec) as f64 + (after.tv_nsec - before.tv_nsec) as f64 / 1e9;
    assert!(took < 1.0, "{took} s");
}
