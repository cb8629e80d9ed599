//! Features that sweeps, searches and suites share: events, storing, stopping and resuming.

use crate::common::{Completed, program, split_args, start};
use crate::scene::Scene;
use fathom_store::{Store, StoredCell};
use fathom_testkit::{FsKind, LoopDevice, LoopOptions, Mount, Need, Scratch};
use std::path::{Path, PathBuf};

pub const SCENES: &[Scene] = &[
    Scene::check(
        "little time passes between cells",
        &[],
        little_time_passes_between_cells,
    ),
    Scene::check(
        "a limited tenant leaves the device to another one",
        &[Need::Root, Need::Loop, Need::BlkioV1],
        a_limited_tenant_leaves_the_device_to_another_one,
    ),
];

/// A directory with a job file for the null engine, and a store.
struct Fixture(Scratch);

impl Fixture {
    fn new(seconds: &str) -> Fixture {
        let scratch = Scratch::new().expect("a directory");
        let text = format!(
            "[paced]\nioengine=null\nsize=1g\nrw=randread\nbs=4k\nrate_iops=2000\ntime_based\nruntime={seconds}\n"
        );
        std::fs::write(scratch.join("paced.fio"), text).expect("a file");
        Fixture(scratch)
    }

    fn store_path(&self) -> PathBuf {
        self.0.join("store.db")
    }

    /// A command in the directory, with its store.
    fn command(&self, line: &str) -> std::process::Command {
        let mut command = program(split_args(line));
        command
            .current_dir(self.0.path())
            .env("FATHOM_STORE", self.store_path());
        command
    }

    fn run(&self, line: &str) -> Completed {
        start(self.command(line)).finish()
    }

    fn cells(&self) -> Vec<StoredCell> {
        cells(&self.store_path())
    }
}

/// The time between the end of one cell and the start of the next, from the store: the median of
/// eleven is below 50 ms, also on a busy machine.
fn little_time_passes_between_cells() -> Result<(), String> {
    let fixture = Fixture::new("100ms");
    fixture.run("sweep paced.fio --axis iodepth=1..12 --set=runtime=100ms");
    let cells = fixture.cells();
    assert_eq!(cells.len(), 12);
    let ends = cells.windows(2).map(|pair| {
        let end = pair[0].started_unix_ns + pair[0].elapsed_ns;
        pair[1].started_unix_ns.saturating_sub(end)
    });
    let mut between: Vec<u64> = ends.collect();
    between.sort_unstable();
    if between[5] < 50_000_000 {
        Ok(())
    } else {
        Err(format!("{between:?}"))
    }
}

/// Cells of the first run of a store.
fn cells(store_path: &Path) -> Vec<StoredCell> {
    let Ok(mut store) = Store::open_existing(store_path) else {
        return Vec::new();
    };
    let run = store.run("r1").map(|run| run.id);
    run.and_then(|run| store.cells(run)).unwrap_or_default()
}

/// The kernel allows one tenant 200 reads per second, where alone it has thousands. The other one, which shares the loop device and the
/// CPUs with it, then has more than beside the unlimited one.
fn a_limited_tenant_leaves_the_device_to_another_one() -> Result<(), String> {
    let scratch = Scratch::new().expect("a directory");
    let image = scratch.join("image");
    let device = LoopDevice::create(&image, 256 << 20, LoopOptions::default()).expect("a device");
    let mount = Mount::format(device.path(), FsKind::Ext4, "").expect("an ext4");
    let recipe = "schema = 1\nname = \"shared\"\ntitle = \"x\"\ntime = \"3s\"\nsize = \"64m\"\n\
         [options]\ndirect = 1\nbs = \"4k\"\n\
         [[tenant]]\nname = \"reports\"\nio_max = { riops = 200 }\njob = \"[scan]\\nrw=randread\\niodepth=16\\n\"\n\
         [[tenant]]\nname = \"web\"\njob = \"[web]\\nrw=randread\\niodepth=4\\n\"\n";
    std::fs::write(scratch.join("shared.toml"), recipe).expect("a recipe");
    let line = format!(
        "suite shared {} --suites={} --no-store --json",
        mount.path().display(),
        scratch.path().display()
    );
    let json = start(program(split_args(&line))).finish().json();
    // Steps: each alone, stage 2, limited, joining.
    let rate =
        |step: u32, tenant: u32| json.number(&format!("/steps/{step}/tenants/{tenant}/iops"));
    let (alone, limited) = (rate(0, 0), rate(3, 0));
    let (beside, with_limits) = (rate(2, 1), rate(3, 1));
    if (limited / 200.0 - 1.0).abs() < 0.1 && alone > 5.0 * limited && with_limits > 1.1 * beside {
        return Ok(());
    }
    Err(format!(
        "{alone} alone, {limited} limited; the other one {beside} and {with_limits}"
    ))
}
