//! The verdicts of `fathom ready` near the limit, on a device whose latency is set.

use fathom_testkit::{Need, Scratch};

use crate::common::{COMMITS_PROFILE, device_with_commits_of, fathom, split_args};
use crate::machine::raise_priority;
use crate::scene::{Attempt, Scene};

/// Seconds of the 30 that a check may take, in the median: outliers of the machine ask for more commits.
const MAX_MEDIAN_SECONDS: f64 = 25.0;

pub const SCENES: &[Scene] = &[
    Scene {
        name: "commits of half the limit pass, in seconds",
        needs: &[Need::Fuse],
        attempt: Attempt::Figure {
            measure: || seconds_of_verdict(15_000, 0),
            from: 0.0,
            to: MAX_MEDIAN_SECONDS,
        },
        is_robust: false,
    },
    Scene {
        name: "commits of twice the limit fail, in seconds",
        needs: &[Need::Fuse],
        attempt: Attempt::Figure {
            measure: || seconds_of_verdict(60_000, 1),
            from: 0.0,
            to: MAX_MEDIAN_SECONDS,
        },
        is_robust: false,
    },
];

/// Commits of so many microseconds, of which 30 ms are allowed: the time of the verdict, which has this exit code.
fn seconds_of_verdict(sync_us: u64, code: i32) -> Result<f64, String> {
    raise_priority();
    let profiles = Scratch::new().expect("a directory");
    let profile = COMMITS_PROFILE.replace("10ms", "30ms");
    std::fs::write(profiles.join("log.toml"), profile).expect("a profile");
    let device = device_with_commits_of(64 << 20, sync_us);
    let line = format!(
        "ready log {} --profiles={} --no-store --quiet --runtime=30s --json",
        device.path().display(),
        profiles.path().display()
    );
    let refused = fathom(split_args(&line));
    let mut words = refused.err.split_whitespace();
    let confirmed = words
        .find(|word| word.starts_with("--destroy="))
        .ok_or("no code")?;
    let ran = fathom(split_args(&format!("{line} {confirmed}")));
    if ran.code() != code {
        return Err(format!("exit code {}: {}", ran.code(), ran.out));
    }
    Ok(ran.json().number("/checks/0/seconds"))
}
