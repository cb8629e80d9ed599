//! Random operations on the fault device and on its model: both must always agree.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileExt, OpenOptionsExt};

use fathom_testkit::{Core, DeviceOptions, Fault, FaultDevice, Keep, Model, Op, require};
use proptest::prelude::*;
use proptest::test_runner::{FileFailurePersistence, TestCaseResult};
use rustix::fs::OFlags;
use rustix::io::Errno;

/// Not a whole number of sectors, so that the last one is short.
const SIZE: usize = 8192 + 100;

#[derive(Debug, Clone)]
enum Step {
    Read {
        at: u64,
        len: usize,
    },
    Write {
        at: u64,
        len: usize,
        seed: u8,
        durable: bool,
    },
    Sync,
    Cut(Keep),
    Arm(Fault, Option<u64>),
    Clear,
    Shrink(usize),
}

/// A device or something that behaves like it: the core itself, or the mounted file.
trait Target {
    fn core(&self) -> &Core;
    fn read(&self, at: u64, len: usize) -> Result<Vec<u8>, Errno>;
    fn write(&self, at: u64, data: &[u8], durable: bool) -> Result<usize, Errno>;
    fn sync(&self) -> Result<(), Errno>;
}

impl Target for Core {
    fn core(&self) -> &Core {
        self
    }

    fn read(&self, at: u64, len: usize) -> Result<Vec<u8>, Errno> {
        self.finish_read(self.begin(Op::Read, at, len as u64))
    }

    fn write(&self, at: u64, data: &[u8], durable: bool) -> Result<usize, Errno> {
        self.finish_write(self.begin(Op::Write, at, data.len() as u64), data, durable)
    }

    fn sync(&self) -> Result<(), Errno> {
        self.finish_sync(self.begin(Op::Sync, 0, 0))
    }
}

struct Mounted {
    plain: File,
    durable: File,
    device: FaultDevice,
}

impl Mounted {
    fn new() -> Self {
        let options = DeviceOptions {
            size: SIZE as u64,
            ..DeviceOptions::default()
        };
        let device = FaultDevice::mount(options).expect("mount");
        let open = |flags: OFlags| {
            let mut options = OpenOptions::new();
            options
                .read(true)
                .write(true)
                .custom_flags(flags.bits() as i32);
            options.open(device.path()).expect("open")
        };
        Mounted {
            plain: open(OFlags::empty()),
            durable: open(OFlags::DSYNC),
            device,
        }
    }
}

fn errno(error: std::io::Error) -> Errno {
    Errno::from_raw_os_error(error.raw_os_error().expect("an error of the kernel"))
}

impl Target for Mounted {
    fn core(&self) -> &Core {
        &self.device
    }

    fn read(&self, at: u64, len: usize) -> Result<Vec<u8>, Errno> {
        let mut buffer = vec![0; len];
        let got = self.plain.read_at(&mut buffer, at).map_err(errno)?;
        buffer.truncate(got);
        Ok(buffer)
    }

    fn write(&self, at: u64, data: &[u8], durable: bool) -> Result<usize, Errno> {
        let file = if durable { &self.durable } else { &self.plain };
        file.write_at(data, at).map_err(errno)
    }

    fn sync(&self) -> Result<(), Errno> {
        self.plain.sync_all().map_err(errno)
    }
}

/// Bytes that differ by offset and by write, so that a moved or torn write is visible.
fn payload(len: usize, seed: u8) -> Vec<u8> {
    (0..len).map(|i| (i * 31 + i / 512) as u8 ^ seed).collect()
}

fn check(target: &impl Target, steps: &[Step]) -> TestCaseResult {
    let mut model = Model::new(SIZE);
    for step in steps {
        check_step(target, &mut model, step)?;
        prop_assert_eq!(
            target.core().counts().injected(),
            model.injected(),
            "faults after {:?}",
            step
        );
    }
    for keep in [Keep::None, Keep::All] {
        prop_assert_eq!(target.core().snapshot(&keep), model.snapshot(&keep));
    }
    Ok(())
}

fn check_step(target: &impl Target, model: &mut Model, step: &Step) -> TestCaseResult {
    match step {
        Step::Read { at, len } => {
            prop_assert_eq!(target.read(*at, *len), model.read(*at, *len), "{:?}", step);
        }
        Step::Write {
            at,
            len,
            seed,
            durable,
        } => {
            let data = payload(*len, *seed);
            let expected = model.write(*at, &data, *durable);
            prop_assert_eq!(target.write(*at, &data, *durable), expected, "{:?}", step);
        }
        Step::Sync => prop_assert_eq!(target.sync(), model.sync()),
        Step::Cut(keep) => prop_assert_eq!(target.core().snapshot(keep), model.snapshot(keep)),
        Step::Arm(fault, times) => {
            model.inject(*fault, *times);
            arm(target.core(), *fault, *times);
        }
        Step::Clear => {
            model.clear_faults();
            target.core().clear_faults();
        }
        Step::Shrink(size) => {
            let size = (*size).min(target.core().size() as usize);
            model.shrink(size);
            target.core().shrink(size as u64);
        }
    }
    Ok(())
}

fn arm(core: &Core, fault: Fault, times: Option<u64>) {
    match times {
        Some(times) => core.inject_times(fault, times),
        None => core.inject(fault),
    }
}

fn offset() -> impl Strategy<Value = u64> {
    // Sector and block boundaries are where errors are likely.
    prop_oneof![
        (0..17u64).prop_map(|s| s * 512),
        (0..3u64).prop_map(|b| b * 4096),
        0..SIZE as u64 + 600
    ]
}

fn length() -> impl Strategy<Value = usize> {
    prop_oneof![Just(512usize), Just(4096), 1..2000usize]
}

fn keep() -> impl Strategy<Value = Keep> {
    prop_oneof![
        Just(Keep::None),
        Just(Keep::All),
        any::<u64>().prop_map(Keep::Half),
        proptest::collection::btree_set(0..17u64, 0..6).prop_map(Keep::Sectors),
    ]
}

fn fault() -> impl Strategy<Value = Fault> {
    let range = || (0..SIZE as u64, 1..1500u64);
    prop_oneof![
        (1..4u64, 0..30u64).prop_map(|(every, micros)| Fault::Stall { every, micros }),
        range().prop_map(|(offset, len)| Fault::ReadError { offset, len }),
        range().prop_map(|(offset, len)| Fault::WriteError { offset, len }),
        (0..1000u64).prop_map(|at_most| Fault::ShortRead { at_most }),
        (0..SIZE as u64, 1u8..).prop_map(|(offset, mask)| Fault::BitFlip { offset, mask }),
        (1..4u64).prop_map(|every| Fault::LostWrite { every }),
        (0..5u64).prop_map(|sectors| Fault::TornWrite { sectors }),
        (-5000..5000i64).prop_map(|shift| Fault::MisdirectedWrite { shift }),
        Just(Fault::LyingFlush),
        Just(Fault::SyncError),
        Just(Fault::Gone),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let write = (offset(), length(), any::<u8>(), any::<bool>());
    let times = prop_oneof![3 => (1..4u64).prop_map(Some), 1 => Just(None)];
    prop_oneof![
        6 => (offset(), length()).prop_map(|(at, len)| Step::Read { at, len }),
        8 => write.prop_map(|(at, len, seed, durable)| Step::Write { at, len, seed, durable }),
        2 => Just(Step::Sync),
        2 => keep().prop_map(Step::Cut),
        4 => (fault(), times).prop_map(|(fault, times)| Step::Arm(fault, times)),
        1 => Just(Step::Clear),
        1 => (SIZE / 2..SIZE).prop_map(Step::Shrink),
    ]
}

fn config(cases: u32) -> ProptestConfig {
    // Failing seeds are stored beside this file and run first from then on.
    let seeds = Box::new(FileFailurePersistence::WithSource("proptest-regressions"));
    let source_file = Some(file!());
    ProptestConfig {
        cases,
        source_file,
        failure_persistence: Some(seeds),
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(config(2000))]

    #[test]
    fn core_agrees_with_the_model(steps in proptest::collection::vec(step(), 1..60)) {
        check(&Core::new(SIZE, 1000), &steps)?;
    }
}

#[test]
fn mounted_device_agrees_with_the_model() {
    require!(Fuse);
    let steps = proptest::collection::vec(step(), 20..80);
    let mut runner = proptest::test_runner::TestRunner::new(config(40));
    let result = runner.run(&steps, |steps| check(&Mounted::new(), &steps));
    result.unwrap_or_else(|e| panic!("{e}"));
}

/// A fixed sequence that triggers every fault.
fn every_operation() -> Vec<Step> {
    let write = |seed, durable| Step::Write {
        at: 512,
        len: 2048,
        seed,
        durable,
    };
    let read = Step::Read { at: 512, len: 2048 };
    let cut = Step::Cut(Keep::None);
    vec![
        write(1, false),
        Step::Sync,
        cut.clone(),
        read.clone(),
        write(2, true),
        cut,
        read,
    ]
}

#[test]
fn the_check_detects_every_fault_that_the_model_lacks() {
    check(&Core::new(SIZE, 100), &every_operation()).expect("a correct device agrees");
    let hidden_faults = [
        Fault::ReadError {
            offset: 600,
            len: 1,
        },
        Fault::WriteError {
            offset: 600,
            len: 1,
        },
        Fault::ShortRead { at_most: 2047 },
        Fault::BitFlip {
            offset: 600,
            mask: 1,
        },
        Fault::LostWrite { every: 2 },
        Fault::TornWrite { sectors: 3 },
        Fault::MisdirectedWrite { shift: 512 },
        Fault::LyingFlush,
        Fault::SyncError,
        Fault::Gone,
        Fault::Stall {
            every: 3,
            micros: 1,
        },
    ];
    for fault in hidden_faults {
        let core = Core::new(SIZE, 100);
        core.inject(fault);
        check(&core, &every_operation()).expect_err(&format!("{fault:?} must be detected"));
    }
}
