//! CPU time of the slowest input in the committed corpus of the fuzz targets.

use std::path::Path;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

use crate::scene::{Attempt, Scene};
use crate::targets::TARGETS;

pub const SCENES: &[Scene] = &[Scene {
    is_robust: false,
    name: "CPU seconds of the slowest input of the fuzz corpus",
    needs: &[],
    attempt: Attempt::Figure {
        measure: slowest_input,
        from: 0.0,
        // The limit of the fuzzer.
        to: 1.0,
    },
}];

/// CPU time of this thread, which other programs delay but do not use.
fn cpu_time() -> Duration {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(
        now.tv_sec.unsigned_abs(),
        u32::try_from(now.tv_nsec).unwrap_or_default(),
    )
}

fn slowest_input() -> Result<f64, String> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    let mut slowest = Duration::ZERO;
    for (name, target) in TARGETS {
        let directory = corpus.join(name);
        let entries = std::fs::read_dir(&directory)
            .map_err(|error| format!("{}: {error}", directory.display()))?;
        for entry in entries {
            let path = entry.map_err(|error| error.to_string())?.path();
            let bytes =
                std::fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
            let before = cpu_time();
            target(&bytes);
            slowest = slowest.max(cpu_time() - before);
        }
    }
    Ok(slowest.as_secs_f64())
}
