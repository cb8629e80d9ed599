//! User CPU time by sampling. The kernel's tick samples each CPU 100 to 1000 times a second. A
//! thread that sleeps most of the time and is woken by interrupts runs between two ticks, so that
//! hardly any tick hits it. perf's clock runs with the thread.
//!
//! A timer that expires inside the kernel, where `:u` takes no samples, interrupts the first instruction after the system call
//! instead: three quarters of the samples of a thread that does one pread(2) after the other. They are time of the kernel and are
//! left out, for both programs alike.

use std::collections::HashMap;
use std::ffi::OsString;
use std::process::{Command, Stdio};
use std::rc::Rc;

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
        .args(["script", "-F", "pid,period,ip", "--show-mmap-events", "-i"])
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
        user_ns(&String::from_utf8_lossy(&output.stdout)) / 1e3,
        Sample::of(&run)?.ios,
    ))
}

/// Executable code of a process: where it is mapped, and where that is in the file.
struct Mapping {
    pid: u32,
    start: u64,
    end: u64,
    file_offset: u64,
    code: Rc<Vec<u8>>,
}

impl Mapping {
    /// From a line such as `28182 PERF_RECORD_MMAP2 28182/28182: [0x55f0f21c3000(0x18ea000) @ 0xb6a000 fe:00 65 41]: r-xp /bin/x`.
    fn parse(line: &str, files: &mut HashMap<String, Rc<Vec<u8>>>) -> Option<Mapping> {
        let (_, record) = line.split_once("PERF_RECORD_MMAP2 ")?;
        let (ids, record) = record.split_once(": [")?;
        let (start, record) = record.split_once('(')?;
        let (length, record) = record.split_once(") @ ")?;
        let (file_offset, record) = record.split_once(' ')?;
        let path = record.split_once("]: ")?.1.split_once(' ')?.1;
        let start = hexadecimal(start)?;
        let code = files
            .entry(path.to_owned())
            .or_insert_with(|| Rc::new(std::fs::read(path).unwrap_or_default()));
        Some(Mapping {
            pid: ids.split_once('/')?.0.parse().ok()?,
            start,
            end: start + hexadecimal(length)?,
            file_offset: hexadecimal(file_offset)?,
            code: Rc::clone(code),
        })
    }

    /// Whether the instruction before this address is `syscall`.
    fn follows_system_call(&self, address: u64) -> bool {
        let at = (address - self.start + self.file_offset) as usize;
        at.checked_sub(SYSCALL.len())
            .and_then(|start| self.code.get(start..at))
            == Some(&SYSCALL)
    }
}

/// The machine code of `syscall` on x86-64.
const SYSCALL: [u8; 2] = [0x0f, 0x05];

fn hexadecimal(text: &str) -> Option<u64> {
    u64::from_str_radix(text.trim_start_matches("0x"), 16).ok()
}

/// Sum of the sample periods, nanoseconds, without samples right after a system call. Lines have the process, the period and
/// the address, or a mapping.
fn user_ns(text: &str) -> f64 {
    let (mut mappings, mut files) = (Vec::new(), HashMap::new());
    let mut sum = 0.0;
    for line in text.lines() {
        if line.contains("PERF_RECORD") {
            mappings.extend(Mapping::parse(line, &mut files));
            continue;
        }
        let mut fields = line.split_whitespace();
        let (pid, period) = (fields.next(), fields.next());
        let (Some(pid), Some(period), Some(address)) = (
            pid.and_then(|pid| pid.parse::<u32>().ok()),
            period.and_then(|period| period.parse::<f64>().ok()),
            fields.next().and_then(hexadecimal),
        ) else {
            continue;
        };
        // The latest mapping counts, as a process that executes another program maps anew. A child has those of its parent.
        let contains = |mapping: &&Mapping| (mapping.start..mapping.end).contains(&address);
        let own = mappings.iter().rev().filter(|mapping| mapping.pid == pid);
        let mapping = own.clone().find(contains);
        let mapping = mapping.or_else(|| mappings.iter().rev().find(contains));
        if !mapping.is_some_and(|mapping| mapping.follows_system_call(address)) {
            sum += period;
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn periods_outside_system_calls_are_summed() {
        let path = std::env::temp_dir().join(format!("fathom-bench-{}.code", std::process::id()));
        // At offset 4 of the file: nop, syscall, ret; mapped from offset 2 on at 0x1000.
        std::fs::write(&path, [0, 0, 0, 0, 0x90, 0x0f, 0x05, 0xc3]).expect("a file");
        let text = format!(
            "7 PERF_RECORD_MMAP2 7/7: [0x1000(0x6) @ 0x2 fe:00 65 41]: r-xp {}\n\
             7  66666  1002\n7  66667  1005\n 8 66668 1005\n7 10 ffff\nbroken\n\n",
            path.display()
        );
        let sum = user_ns(&text);
        let _ = std::fs::remove_file(path);
        // 0x1005 follows the system call, also in the child 8.
        assert_eq!(sum, 66_676.0);
        assert_eq!(user_ns(""), 0.0);
    }
}
