//! The verdicts of `fathom ready` near the limit, on a device whose latency is set.

use fathom_testkit::{Need, Scratch};

use crate::common::{COMMITS_PROFILE, device_with_commits_of, fathom, split_args};
use crate::machine::raise_priority;
use crate::scene::Scene;

pub const SCENES: &[Scene] = &[
    Scene::check("commits of half the limit pass", &[Need::Fuse], || {
        judge(15_000, 0)
    }),
    Scene::check("commits of twice the limit fail", &[Need::Fuse], || {
        judge(60_000, 1)
    }),
];

/// Commits of so many microseconds, of which 30 ms are allowed: the verdict comes long before the time is up.
fn judge(sync_us: u64, code: i32) -> Result<(), String> {
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
    let seconds = ran.json().number("/checks/0/seconds");
    if seconds < 25.0 {
        Ok(())
    } else {
        Err(format!("after {seconds} s"))
    }
}
