//! A page as PDF, printed by Chromium.

use std::fs::DirBuilder;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use fathom_linux::{OutputName, Outputs};

/// Programs that can print a page.
const BROWSERS: [&str; 5] = [
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
];
/// A page of hundreds of results takes a few seconds.
const LONGEST: Duration = Duration::from_secs(120);
const POLL: Duration = Duration::from_millis(50);

/// The PDF of an HTML page.
///
/// # Errors
/// When no browser is installed, or it fails.
pub fn pdf(page: &str) -> Result<Vec<u8>, String> {
    let browser = browser().ok_or(
        "PDF needs Chromium, and neither chromium nor google-chrome is in PATH: install it, or write .html or .md",
    )?;
    let scratch = Scratch::new()?;
    let source = scratch.0.join("report.html");
    Outputs::default()
        .write(&source, OutputName::Explicit, page.as_bytes())
        .map_err(|error| error.to_string())?;
    let target = scratch.0.join("report.pdf");
    let mut command = Command::new(&browser);
    command
        .args([
            "--headless",
            "--disable-gpu",
            "--no-first-run",
            "--no-pdf-header-footer",
        ])
        .args([
            "--disable-background-networking",
            "--disable-extensions",
            "--disable-sync",
        ])
        // The charts are drawn without animation: this time is virtual.
        .arg("--virtual-time-budget=5000")
        .arg(format!(
            "--user-data-dir={}",
            scratch.0.join("profile").display()
        ))
        .arg(format!("--print-to-pdf={}", target.display()));
    // Chromium refuses to start its sandbox as root.
    if std::fs::metadata("/proc/self").is_ok_and(|facts| facts.uid() == 0) {
        command.arg("--no-sandbox");
    }
    command.arg(format!("file://{}", source.display()));
    wait(&mut command, &browser)?;
    std::fs::read(&target)
        .ok()
        .filter(|bytes| bytes.starts_with(b"%PDF"))
        .ok_or_else(|| format!("{} wrote no PDF", browser.display()))
}

fn wait(command: &mut Command, browser: &Path) -> Result<(), String> {
    let failed = |why: String| format!("{}: {why}", browser.display());
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| failed(error.to_string()))?;
    let started = Instant::now();
    loop {
        match child.try_wait() {
            Ok(Some(_)) => return Ok(()),
            Ok(None) if started.elapsed() < LONGEST => std::thread::sleep(POLL),
            Ok(None) => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(failed(format!("no PDF within {} s", LONGEST.as_secs())));
            }
            Err(error) => return Err(failed(error.to_string())),
        }
    }
}

fn browser() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let candidates = BROWSERS
        .iter()
        .flat_map(|name| std::env::split_paths(&path).map(move |directory| directory.join(name)));
    candidates.into_iter().find(|file| file.is_file())
}

/// A private directory, removed at the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Result<Scratch, String> {
        let name = format!("fathom-report-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        DirBuilder::new()
            .mode(0o700)
            .create(&path)
            .map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(Scratch(path))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
