//! Devices that hang when they are opened or read: nobody hangs with them.

mod common;

use std::time::Duration;

use common::{lock_machine_shared, program, split_args, start};
use fathom_testkit::{DeviceOptions, Fault, FaultDevice, LoopDevice, LoopOptions, Op, require};

/// What would open a device that hangs says so and ends, all at once here since each waits as long; so does a run that is
/// interrupted meanwhile. Nothing is released before they have ended. (regression 0211)
#[test]
fn no_command_hangs_with_a_device() {
    require!(Root, Loop, Fuse);
    let _lock = lock_machine_shared();
    let fault = FaultDevice::mount(DeviceOptions::default()).expect("a fault device");
    let device = LoopDevice::attach(&fault.path(), LoopOptions::default()).expect("a loop device");
    fault.inject(Fault::Hang(Some(Op::Read)));
    let (file, block) = (
        fault.path().display().to_string(),
        device.path().display().to_string(),
    );
    let job = |target: &str| {
        split_args(&format!(
            "--name=x --rw=read --bs=4k --size=64k --filename={target}"
        ))
    };
    let begin = |before: &[&str], rest: Vec<String>| {
        start(program(
            before.iter().map(|word| (*word).to_owned()).chain(rest),
        ))
    };
    let spec = vec![
        "--run".to_owned(),
        "--sheet=samsung-970-evo-plus-1000".to_owned(),
        block.clone(),
    ];
    let told = [
        (block.clone(), 2, begin(&["run"], job(&block))),
        (file.clone(), 2, begin(&["run"], job(&file))),
        (file.clone(), 1, begin(&["fio"], job(&file))),
        (block.clone(), 2, begin(&["run", "--dry-run"], job(&block))),
        (block.clone(), 2, begin(&["spec"], spec)),
    ];
    let interrupted = begin(&["run"], job(&block));
    std::thread::sleep(Duration::from_secs(3));
    interrupted.signal(rustix::process::Signal::INT);
    let ran = interrupted
        .finish_within(Duration::from_secs(10))
        .expect(130);
    assert!(
        ran.err
            .contains(&format!("{block} does not answer; waiting for it")),
        "{}",
        ran.err
    );
    for (path, code, running) in told {
        let ran = running.finish_within(Duration::from_secs(40)).expect(code);
        assert!(
            ran.err
                .contains(&format!("{path} did not answer within 15 s")),
            "{}",
            ran.err
        );
    }
    assert!(fault.counts().injected() >= 1, "it was read");
    fault.release();
}
