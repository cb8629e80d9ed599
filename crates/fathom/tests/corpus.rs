//! The committed corpus of the fuzz targets, run with a stable compiler: every input returns, and in
//! little memory. In a program of its own, whose peak memory it looks at. How long an input takes
//! depends on the machine; the suite for measurements looks at that.

// The module belongs to the fuzzer; its items need no documentation here.
#[allow(dead_code, reason = "the fuzzer calls the targets by their names")]
#[path = "../../../fuzz/src/targets.rs"]
mod targets;

use std::path::{Path, PathBuf};

/// Limit for each input: 256 MiB, as configured for the fuzzer.
const MAX_MEMORY_KIB: u64 = 256 << 10;

fn inputs(name: &str) -> Vec<PathBuf> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../fuzz/corpus")
        .join(name);
    let mut inputs: Vec<PathBuf> = std::fs::read_dir(&directory)
        .expect("the corpus")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    inputs.sort();
    inputs
}

/// The peak memory of this process.
fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("/proc");
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .expect("a peak");
    line.trim()
        .trim_end_matches(" kB")
        .parse()
        .expect("a number")
}

#[test]
fn every_corpus_input_returns_in_little_memory() {
    for (name, target) in targets::TARGETS {
        let inputs = inputs(name);
        assert!(inputs.len() >= 10, "{name} has {} inputs", inputs.len());
        for input in inputs {
            target(&std::fs::read(&input).expect("an input"));
        }
    }
    assert!(peak_kib() < MAX_MEMORY_KIB, "{} KiB", peak_kib());
}
