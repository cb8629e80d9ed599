//! The status of a running job: `--status-interval`, SIGUSR1, and a worker that hangs.

use crate::common::{filename_arg, program, split_args, start, wait_until};
use fathom_testkit::{DeviceOptions, Fault, FaultDevice, Scratch, require};
use rustix::process::Signal;
use serde_json::Value;

const LOAD: &str = "--name=a --ioengine=null --size=1g --rate_iops=1000 --output-format=json";

/// Parses consecutive documents, separated by white space.
pub fn documents(text: &str) -> Vec<Value> {
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
