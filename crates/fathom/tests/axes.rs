//! Every kind of axis that a sweep has, seen to work: what is varied arrives in the plan of its cell.

mod common;

use common::{Json, program, start, words};
use fathom_testkit::Scratch;

fn sweep(scratch: &Scratch, line: &str) -> Json {
    let mut command = program(words(&format!("sweep {line} --size=16m --for=200ms --set=direct=0 --json")));
    command.current_dir(scratch.path());
    let ran = start(command).finish();
    Json(serde_json::from_str(&ran.out).unwrap_or_else(|error| panic!("{error}: {line}: {}{}", ran.out, ran.err)))
}

#[test]
fn each_axis_is_varied() {
    let scratch = Scratch::new().expect("a folder");
    for folder in ["a", "b"] {
        std::fs::create_dir(scratch.join(folder)).expect("a folder");
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
        ("buffer_compress_percentage=0,50", "buffer_compress_percentage"),
        ("target=a,b", "target"),
    ] {
        let where_to = if name == "target" { "" } else { "." };
        let load = if name == "rwmixread" { "--set=rw=randrw" } else { "" };
        let json = sweep(&scratch, &format!("{where_to} --axis {axis} {load}"));
        let cells = json.0["cells"].as_array().cloned().unwrap_or_default();
        assert!(cells.len() >= 2, "{axis}: {:#}", json.0);
        let mut values: Vec<&str> = cells.iter().filter_map(|cell| cell["at"][name].as_str()).collect();
        values.dedup();
        assert_eq!(values.len(), cells.len(), "{axis}: {:#}", json.0);
        for cell in &cells {
            assert!(cell["iops"].as_f64().is_some_and(|iops| iops > 0.0), "{axis}: {cell:#}");
        }
    }
    let left = std::fs::read_dir(scratch.path()).expect("the folder").count();
    assert_eq!(left, 2, "only the two folders are left");
}

/// Two jobs move as one; 16 KiB blocks move four times the bytes of as many 4 KiB ones: the figures are those of the value.
#[test]
fn the_figures_are_those_of_the_value() {
    let scratch = Scratch::new().expect("a folder");
    let json = sweep(&scratch, ". --axis bs=4k,16k --set=rate_iops=500");
    for (cell, block) in [4096.0, 16384.0].into_iter().enumerate() {
        let figure = |name: &str| json.number(&format!("/cells/{cell}/{name}"));
        let ratio = figure("bw_bytes") / figure("iops");
        assert!((ratio / block - 1.0).abs() < 1e-6, "{ratio} bytes each instead of {block}: {:#}", json.0);
    }
}
