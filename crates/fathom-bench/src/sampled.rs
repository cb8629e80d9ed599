//! User CPU time by sampling. The kernel's tick samples each CPU 100 to 1000 times a second. A
//! thread that sleeps most of the time and is woken by interrupts runs between two ticks, so that
//! hardly any tick hits it. perf's clock runs with the thread.

use std::ffi::OsString;
use std::process::{Command, Stdio};

use crate::context::Context;
use crate::pairs::{alternate, options};
use crate::sample::Sample;
use crate::tool::Tool;

/// Samples per second of a thread's running time.
const RATE: u32 = 15_000;
/// Minimum seconds of a run: 2 % of a core are 300 samples a second.
const LEAST: u64 = 4;

/// User microseconds per I/O of both programs, pair by pair, minus those of a run of one I/O;
/// `None` if perf is not available.
pub fn user_each(
    context: &Context,
    job: &[String],
) -> Result<Option<(Vec<f64>, Vec<f64>)>, String> {
    if !is_perf_available() {
        return Ok(None);
    }
    let one = [job, &options("number_ios=1")].concat();
    let idle = [
        user_us(context, Tool::Fathom, &one)?.0,
        user_us(context, Tool::Fio, &one)?.0,
    ];
    let job = [job, &Context::timed(context.seconds.max(LEAST))].concat();
    let each = |tool| {
        let (user, ios) = user_us(context, tool, &job)?;
        Ok((user - idle[usize::from(tool == Tool::Fio)]).max(0.0) / ios.max(1.0))
    };
    alternate(context.pairs, each).map(Some)
}

/// Whether perf is installed and may sample at this rate.
fn is_perf_available() -> bool {
    let mut command = Command::new("perf");
    let name = std::env::temp_dir().join(format!("fathom-bench-{}.perf", std::process::id()));
    command
        .args(recorded())
        .arg(&name)
        .args(["--", "true"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let is_perf_available = command.status().is_ok_and(|status| status.success());
    let _ = std::fs::remove_file(name);
    is_perf_available
}

/// The arguments before the name of the recording. `:u`: kernel time is excluded.
fn recorded() -> Vec<OsString> {
    let rate = RATE.to_string();
    ["record", "--quiet", "-e", "cpu-clock:u", "-F", &rate, "-o"]
        .map(OsString::from)
        .to_vec()
}

/// User microseconds and I/Os of a run.
fn user_us(context: &Context, tool: Tool, job: &[String]) -> Result<(f64, f64), String> {
    let directory = context.directory.path();
    let file = directory.join("perf.data");
    let mut before = vec![OsString::from("perf")];
    before.extend(recorded());
    before.extend([file.clone().into_os_string(), "--".into()]);
    let run = context.tools.run_under(&before, tool, directory, job)?;
    let output = Command::new("perf")
        .args(["script", "-F", "period", "-i"])
        .arg(&file)
        .output();
    let output = output.map_err(|error| format!("perf script: {error}"))?;
    if !output.status.success() {
        return Err(format!(
            "perf script: {}",
            String::from_utf8_lossy(&output.stderr)
                .lines()
                .next()
                .unwrap_or("no message")
        ));
    }
    Ok((
        periods(&String::from_utf8_lossy(&output.stdout)) / 1e3,
        Sample::of(&run)?.ios,
    ))
}

/// Sum of the sample periods, nanoseconds; one number per line.
fn periods(text: &str) -> f64 {
    text.lines()
        .filter_map(|line| line.trim().parse::<f64>().ok())
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn periods_are_summed() {
        assert_eq!(periods("     66666 \n66667\n\n"), 133_333.0);
        assert_eq!(periods(""), 0.0);
    }
}
