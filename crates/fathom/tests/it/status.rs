//! The status of a running job: `--status-interval`, SIGUSR1, and a worker that hangs.

use crate::common::{Completed, filename_arg, program, split_args, start, wait_until};
use fathom_testkit::{DeviceOptions, Fault, FaultDevice, Scratch, require};
use rustix::process::Signal;
use serde_json::Value;

const LOAD: &str = "--name=a --ioengine=null --size=1g --rate_iops=1000 --output-format=json";

/// Parses consecutive documents, separated by white space.
fn documents(text: &str) -> Vec<Value> {
    let stream = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    stream
        .map(|one| one.unwrap_or_else(|error| panic!("{error}: {text}")))
        .collect()
}

fn total(document: &Value) -> u64 {
    document["jobs"][0]["read"]["total_ios"]
        .as_u64()
        .unwrap_or_else(|| panic!("{document:#}"))
}

#[test]
fn each_status_interval_prints_a_document_and_the_last_is_the_result() {
    for command in ["fio", "run"] {
        let ran: Completed = start(program(split_args(&format!(
            "{command} {LOAD} --number_ios=1000 --status-interval=300ms"
        ))))
        .finish()
        .expect(0);
        let all = documents(&ran.out);
        assert!(all.len() >= 2, "{} documents", all.len());
        let totals: Vec<u64> = all.iter().map(total).collect();
        assert!(
            totals.is_sorted() && totals[0] > 0 && totals[0] < totals[totals.len() - 1],
            "{totals:?}"
        );
        assert_eq!(totals[totals.len() - 1], 1000);
        for state in &all {
            let clat = &state["jobs"][0]["read"]["clat_ns"];
            assert_eq!(clat["N"].as_u64(), Some(total(state)), "{state:#}");
            assert!(
                clat["percentile"]["99.000000"]
                    .as_u64()
                    .is_some_and(|ns| ns > 0)
            );
        }
        let etas: Vec<u64> = all
            .iter()
            .map(|one| one["jobs"][0]["eta"].as_u64().expect("eta"))
            .collect();
        assert_eq!(etas[etas.len() - 1], 0, "{etas:?}");
        // Only the final document has a verdict.
        let judged = all.iter().filter(|one| one.get("fathom").is_some()).count();
        assert_eq!(judged, usize::from(command == "run"));
        if command == "fio" {
            assert_eq!(ran.err, "");
        }
    }
}

#[test]
fn terse_status_is_lines_and_waiting_jobs_are_empty() {
    let line = "fio --name=a --ioengine=null --size=1g --time_based --runtime=1s --rate_iops=1000 --name=b --ioengine=null \
                --size=1m --stonewall --minimal --status-interval=300ms";
    let ran = start(program(split_args(line))).finish().expect(0);
    let rows: Vec<Vec<&str>> = ran
        .out
        .lines()
        .map(|line| line.split(';').collect())
        .collect();
    assert!(
        rows.len() >= 4 && rows.len().is_multiple_of(2),
        "{}",
        ran.out
    );
    assert!(
        rows.iter().all(|row| row.len() == rows[0].len()),
        "{}",
        ran.out
    );
    assert_eq!((rows[1][2], rows[1][5]), ("b", "0"), "not started");
    assert_eq!(rows[rows.len() - 1][5], "1024", "done");
}

#[test]
fn a_signal_requests_the_status_and_the_run_continues() {
    let scratch = Scratch::new().expect("a directory");
    let result = scratch.join("result");
    let mut arguments = split_args(&format!("fio {LOAD} --time_based --runtime=60s"));
    arguments.push(format!("--output={}", result.display()));
    let running = start(program(arguments));
    let so_far = || std::fs::read_to_string(&result).unwrap_or_default();
    // The file is created right before the load starts; SIGUSR1 is handled from then on.
    wait_until("the load started", || result.exists());
    std::thread::sleep(std::time::Duration::from_millis(300));
    for n in 1..=2 {
        running.signal(Signal::USR1);
        wait_until("a document", || {
            so_far().matches("\"fio version\"").count() == n && so_far().ends_with("}\n")
        });
    }
    running.signal(Signal::INT);
    running.finish().expect(128);
    let totals: Vec<u64> = documents(so_far().trim_start_matches(|c| c != '{'))
        .iter()
        .map(total)
        .collect();
    assert!(totals.len() == 3 && totals.is_sorted(), "{totals:?}");
}

/// A hung worker does not delay the status of the others.
#[test]
fn a_worker_stuck_in_an_io_does_not_delay_the_status() {
    require!(Fuse);
    let device = FaultDevice::mount(DeviceOptions::default()).expect("a device");
    let line = "fio --output-format=json --status-interval=200ms --name=free --ioengine=null --size=1g --time_based --runtime=60s \
                --rate_iops=1000 --name=stuck --rw=read --bs=4k --size=1m --ioengine=psync --runtime=60s --time_based";
    let scratch = Scratch::new().expect("a directory");
    let result = scratch.join("result");
    let mut arguments = split_args(line);
    arguments.extend([
        filename_arg(&device.path()),
        format!("--output={}", result.display()),
    ]);
    let running = start(program(arguments));
    wait_until("the load started", || device.log().len() > 300);
    device.inject(Fault::Hang(None));
    wait_until("an I/O hangs", || device.counts().held == 1);
    let so_far = || std::fs::read_to_string(&result).unwrap_or_default();
    let count = || so_far().matches("\"fio version\"").count();
    let before = count();
    wait_until("two more documents", || {
        count() >= before + 2 && so_far().ends_with("}\n")
    });
    let all = documents(&so_far());
    let last = &all[all.len() - 1];
    assert!(total(last) > total(&all[0]), "the others continued");
    device.release();
    running.signal(Signal::INT);
    running.finish().expect(128);
}

/// fio shows progress on the standard output with text; fathom shows it on the standard error; both
/// keep it out of documents.
#[test]
fn progress_is_separate_from_documents() {
    let load = "--name=a --ioengine=null --size=1g --time_based --rate_iops=1000 --runtime=700ms --eta=always --eta-interval=250ms";
    let run = |rest: &str| start(program(split_args(rest))).finish().expect(0);
    let text = run(&format!("fio {load}"));
    assert!(
        text.out.contains("Jobs: 1 (f=1)") && text.err.is_empty(),
        "{}{}",
        text.out,
        text.err
    );
    let document = run(&format!("fio {load} --output-format=json"));
    assert!(
        documents(&document.out).len() == 1 && document.err.is_empty(),
        "{}",
        document.err
    );
    let ours = run(&format!("run {load} --output-format=json"));
    assert!(
        documents(&ours.out).len() == 1 && ours.err.contains("running"),
        "{}",
        ours.err
    );
}
