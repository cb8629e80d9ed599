//! The committed corpus of the fuzz targets, run with a stable compiler: every input comes back, soon, in little memory.

// No item of ours documents itself in a test; the module is the fuzzer's own.
#[allow(dead_code, reason = "the fuzzer calls the targets by their names")]
#[path = "../../../fuzz/src/targets.rs"]
mod targets;

use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// What no input may take: a second and 256 MiB, as the fuzzer is told.
const MOST_TIME: Duration = Duration::from_secs(1);
const MOST_MEMORY_KIB: u64 = 256 << 10;

/// Processor time of this thread: what other programs do meanwhile does not count.
fn busy() -> Duration {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(
        now.tv_sec.unsigned_abs(),
        u32::try_from(now.tv_nsec).expect("below a second"),
    )
}

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

/// The most memory this process ever held.
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
fn every_corpus_input_returns_quickly() {
    for (name, target) in targets::TARGETS {
        let inputs = inputs(name);
        assert!(inputs.len() >= 10, "{name} has {} inputs", inputs.len());
        for input in inputs {
            let bytes = std::fs::read(&input).expect("an input");
            let before = busy();
            target(&bytes);
            let took = busy() - before;
            assert!(took < MOST_TIME, "{} took {took:?}", input.display());
        }
    }
    assert!(peak_kib() < MOST_MEMORY_KIB, "{} KiB", peak_kib());
}
