//! Every kind of axis of a sweep: the varied value reaches the plan of its cell.

use crate::common::{Json, program, split_args, start};
use fathom_testkit::{FsKind, LoopDevice, LoopOptions, Mount, Scratch, require};

fn sweep(scratch: &Scratch, line: &str) -> Json {
    let mut command = program(split_args(&format!(
        "sweep {line} --size=16m --runtime=200ms --set=direct=0 --json"
    )));
    command.current_dir(scratch.path());
    let ran = start(command).finish();
    Json(
        serde_json::from_str(&ran.out)
            .unwrap_or_else(|error| panic!("{error}: {line}: {}{}", ran.out, ran.err)),
    )
}

#[test]
fn every_axis_is_varied() {
    let scratch = Scratch::new().expect("a directory");
    for directory in ["a", "b"] {
        std::fs::create_dir(scratch.join(directory)).expect("a directory");
    }
    for (axis, name) in [
        ("rw=randread,randwrite,rw", "rw"),
        ("bs=4k,16k", "bs"),
        ("iodepth=2^0..2", "iodepth"),
        ("numjobs=1,2", "numjobs"),
        ("rwmixread=30,70", "rwmixread"),
        ("ioengine=psync,libaio", "ioengine"),
        ("size=4m,8m", "size"),
        ("random_distribution=random;zipf:1.1", "random_distribution"),
        (
            "buffer_compress_percentage=0,50",
            "buffer_compress_percentage",
        ),
        ("target=a,b", "target"),
    ] {
        let target = if name == "target" { "" } else { "." };
        let load = if name == "rwmixread" {
            "--set=rw=randrw"
        } else {
            ""
        };
        let json = sweep(&scratch, &format!("{target} --axis {axis} {load}"));
        let cells = json.0["cells"].as_array().cloned().unwrap_or_default();
        assert!(cells.len() >= 2, "{axis}: {:#}", json.0);
        let mut values: Vec<&str> = cells
            .iter()
            .filter_map(|cell| cell["axes"][name].as_str())
            .collect();
        values.dedup();
        assert_eq!(values.len(), cells.len(), "{axis}: {:#}", json.0);
        for cell in &cells {
            assert!(
                cell["iops"].as_f64().is_some_and(|iops| iops > 0.0),
                "{axis}: {cell:#}"
            );
        }
    }
    let left = std::fs::read_dir(scratch.path())
        .expect("the directory")
        .count();
    assert_eq!(left, 2, "only the two folders are left");
}

/// At an equal rate, 16 KiB blocks transfer four times the bytes of 4 KiB blocks: the results of
/// each cell belong to its value.
#[test]
fn cell_results_belong_to_the_axis_value() {
    let scratch = Scratch::new().expect("a directory");
    let json = sweep(&scratch, ". --axis bs=4k,16k --set=rate_iops=500");
    for (cell, block) in [4096.0, 16384.0].into_iter().enumerate() {
        let figure = |name: &str| json.number(&format!("/cells/{cell}/{name}"));
        let ratio = figure("bw_bytes") / figure("iops");
        assert!(
            (ratio / block - 1.0).abs() < 1e-6,
            "{ratio} bytes each instead of {block}: {:#}",
            json.0
        );
    }
}

/// File systems as an axis: each is measured, named with its type, and compared with the first.
#[test]
fn file_systems_can_be_an_axis() {
    require!(Root, Loop);
    let scratch = Scratch::new().expect("a directory");
    let kinds = [
        (FsKind::Ext4, 64 << 20),
        (FsKind::Xfs, 320 << 20),
        (FsKind::Btrfs, 120 << 20),
    ];
    let disks: Vec<(LoopDevice, Mount, &str)> = kinds
        .into_iter()
        .filter(|(kind, _)| kind.available().is_ok())
        .map(|(kind, size)| {
            let device =
                LoopDevice::create(&scratch.join(kind.name()), size, LoopOptions::default())
                    .expect("a device");
            let mount = Mount::format(device.path(), kind, "").expect("a mount");
            (device, mount, kind.name())
        })
        .collect();
    let names: Vec<String> = disks
        .iter()
        .map(|(_, mount, kind)| format!("{} ({kind})", mount.path().display()))
        .collect();
    let directories: Vec<String> = disks
        .iter()
        .map(|(_, mount, _)| mount.path().display().to_string())
        .collect();
    let line = format!(
        "--axis fs={} --axis bs=4k,16k --set=rate_iops=500",
        directories.join(",")
    );
    let json = sweep(&scratch, &line);
    let at = |name: &str| -> Vec<String> {
        let cells = json.0["cells"].as_array().expect("cells").iter();
        cells
            .map(|cell| cell["axes"][name].as_str().expect("a value").to_owned())
            .collect()
    };
    // Grouped by the first axis.
    let expected: Vec<String> = names
        .iter()
        .flat_map(|name| [name.clone(), name.clone()])
        .collect();
    assert_eq!(
        (at("target"), at("bs")),
        (
            expected,
            ["4k", "16k"]
                .repeat(names.len())
                .into_iter()
                .map(str::to_owned)
                .collect()
        )
    );
    let ran = start({
        let mut command = program(split_args(&format!(
            "sweep {line} --size=16m --runtime=200ms --set=direct=0"
        )));
        command.current_dir(scratch.path());
        command
    })
    .finish();
    let text = ran.out.split_whitespace().collect::<Vec<_>>().join(" ");
    for name in &names {
        assert!(
            ran.out
                .lines()
                .filter(|line| line.starts_with(name.as_str()))
                .count()
                >= 3,
            "{name}: {}",
            ran.out
        );
        assert!(
            name == &names[0]
                || text.contains(&format!("times the IOPS of {} over 2 cells", names[0])),
            "{}",
            ran.out
        );
    }
    // As targets: each alone, then all together, under the same names.
    let json = sweep(&scratch, &directories.join(" "));
    let last = json.0["cells"]
        .as_array()
        .and_then(|cells| cells.last())
        .expect("a cell");
    assert_eq!(
        last["axes"]["target"].as_str(),
        Some(names.join(" + ").as_str())
    );
    for directory in &directories {
        let left: Vec<_> = std::fs::read_dir(directory)
            .expect("the directory")
            .map(|entry| entry.expect("an entry").file_name())
            .collect();
        assert!(left.iter().all(|name| name == "lost+found"), "{left:?}");
    }
}
