//! Devices that hang when they are opened or read: no command hangs with them.

use std::time::Duration;

use crate::common::{program, split_args, start};
use fathom_testkit::{DeviceOptions, Fault, FaultDevice, LoopDevice, LoopOptions, Op, require};

/// Regression 0211: commands hung with a hung device. Each command reports the device and exits;
/// they run in parallel, since each waits for its timeout. A run that is interrupted meanwhile
/// exits too. The device is not released before all have exited.
#[test]
fn no_command_hangs_with_a_device() {
    require!(Root, Loop, Fuse);
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
    let start_command = |before: &[&str], rest: Vec<String>| {
        start(program(
            before.iter().map(|arg| (*arg).to_owned()).chain(rest),
        ))
    };
    let spec = vec![
        "--run".to_owned(),
        "--sheet=samsung-970-evo-plus-1000".to_owned(),
        block.clone(),
    ];
    let commands = [
        (block.clone(), 2, start_command(&["run"], job(&block))),
        (file.clone(), 2, start_command(&["run"], job(&file))),
        (file.clone(), 1, start_command(&["fio"], job(&file))),
        (
            block.clone(),
            2,
            start_command(&["run", "--dry-run"], job(&block)),
        ),
        (block.clone(), 2, start_command(&["spec"], spec)),
    ];
    let interrupted = start_command(&["run"], job(&block));
    std::thread::sleep(Duration::from_secs(3));
    interrupted.signal(rustix::process::Signal::INT);
    let ran = interrupted.finish().expect(130);
    assert!(
        ran.err
            .contains(&format!("{block} does not answer; waiting for it")),
        "{}",
        ran.err
    );
    for (path, code, running) in commands {
        let ran = running.finish().expect(code);
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
