//! What the kernel says about other load on this machine, and which machine it is.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::common::filename_arg;

/// Ticks of the times in /proc/stat and /proc/PID/stat, per second (sysconf(_SC_CLK_TCK) on all of Linux).
const TICKS_PER_SECOND: f64 = 100.0;
/// From this share of one CPU on that the hypervisor takes, an attempt is disturbed, percent.
const MIN_STEAL_PERCENT: f64 = 1.0;
/// From this share of one CPU on that programs use that this one did not start, percent.
const MIN_OTHERS_PERCENT: f64 = 25.0;
/// From this share of time on in which a thread waited for memory, percent.
const MIN_MEMORY_PRESSURE_PERCENT: f64 = 1.0;
/// A control thread of real-time priority that is woken this late says that the machine executed nothing meanwhile.
const MIN_LATENESS: Duration = Duration::from_millis(20);
/// The real-time priority of the devices and programs of a scene that asks for one.
const SCENE_PRIORITY: u32 = 10;
/// The real-time priority of the control thread.
const CONTROL_PRIORITY: u32 = 20;
/// The control thread sleeps so long each time.
const CONTROL_STEP: Duration = Duration::from_millis(5);

/// Counters of the kernel at one moment.
struct Counters {
    at: Instant,
    stolen_ticks: f64,
    busy_ticks: f64,
    own_ticks: f64,
    memory_wait_us: f64,
}

impl Counters {
    fn read() -> Counters {
        let stat = fs::read_to_string("/proc/stat").unwrap_or_default();
        let line = stat.lines().next().unwrap_or_default();
        // user nice system idle iowait irq softirq steal
        let all: Vec<f64> = line
            .split_whitespace()
            .skip(1)
            .filter_map(|word| word.parse().ok())
            .collect();
        let field = |at: usize| all.get(at).copied().unwrap_or(0.0);
        let own = fs::read_to_string("/proc/self/stat").unwrap_or_default();
        let own = own.rsplit_once(')').map_or("", |(_, rest)| rest);
        // utime, stime, cutime and cstime are fields 14 to 17 of proc_pid_stat(5); the state is field 3.
        let own = own.split_whitespace().skip(11).take(4);
        Counters {
            at: Instant::now(),
            stolen_ticks: field(7),
            busy_ticks: field(0) + field(1) + field(2) + field(5) + field(6),
            own_ticks: own.filter_map(|word| word.parse::<f64>().ok()).sum(),
            memory_wait_us: pressure_us("memory"),
        }
    }
}

/// The total of "some" in /proc/pressure; 0 where the kernel does not record it.
fn pressure_us(resource: &str) -> f64 {
    let text = fs::read_to_string(format!("/proc/pressure/{resource}")).unwrap_or_default();
    let some = text.lines().find(|line| line.starts_with("some"));
    some.and_then(|line| line.rsplit_once("total=")?.1.parse().ok())
        .unwrap_or(0.0)
}

/// Watches the machine during an attempt.
pub struct Watch {
    before: Counters,
    is_over: Arc<AtomicBool>,
    control: JoinHandle<Duration>,
}

impl Watch {
    pub fn start() -> Watch {
        let is_over = Arc::new(AtomicBool::new(false));
        let ended = Arc::clone(&is_over);
        let control = std::thread::spawn(move || {
            // Above what it watches: a program of a scene that keeps the CPUs busy is no disturbance.
            set_priority(CONTROL_PRIORITY);
            let mut longest = Duration::ZERO;
            while !ended.load(Ordering::Relaxed) {
                let start = Instant::now();
                std::thread::sleep(CONTROL_STEP);
                longest = longest.max(start.elapsed().saturating_sub(CONTROL_STEP));
            }
            longest
        });
        Watch {
            before: Counters::read(),
            is_over,
            control,
        }
    }

    /// What disturbed the machine since the start, if anything did.
    pub fn disturbance(self) -> Option<String> {
        self.is_over.store(true, Ordering::Relaxed);
        let lateness = self.control.join().unwrap_or_default();
        let after = Counters::read();
        let seconds = (after.at - self.before.at).as_secs_f64().max(1e-3);
        let percent = |ticks: f64| ticks / TICKS_PER_SECOND / seconds * 100.0;
        let stolen = percent(after.stolen_ticks - self.before.stolen_ticks);
        let own = after.own_ticks - self.before.own_ticks;
        let others = percent(after.busy_ticks - self.before.busy_ticks - own);
        let memory = (after.memory_wait_us - self.before.memory_wait_us) / seconds / 1e4;
        if stolen >= MIN_STEAL_PERCENT {
            Some(format!("steal {stolen:.1} % of a CPU"))
        } else if others >= MIN_OTHERS_PERCENT {
            Some(format!("other programs used {others:.0} % of a CPU"))
        } else if memory >= MIN_MEMORY_PRESSURE_PERCENT {
            Some(format!(
                "threads waited for memory {memory:.1} % of the time"
            ))
        } else if lateness >= MIN_LATENESS {
            Some(format!(
                "the control thread woke {} ms late",
                lateness.as_millis()
            ))
        } else {
            None
        }
    }
}

/// The machine and its kernel.
pub fn describe() -> String {
    let cpus = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpus
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(':'))
        .map_or("unknown CPU", |(_, name)| name.trim());
    let count = std::thread::available_parallelism().map_or(1, usize::from);
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    format!("{count} CPUs ({model}), kernel {}", kernel.trim())
}

/// The commit that is measured.
pub fn commit() -> String {
    Command::new("git")
        .args(["describe", "--always", "--dirty"])
        .output()
        .map(|out| String::from_utf8_lossy(&out.stdout).trim().to_owned())
        .unwrap_or_default()
}

/// The median and the 99th percentile of the clat of single reads of 4 KiB in ns, by fio: what the kernel and the machine need to
/// carry a read to the device and back. On a machine whose sleeping threads wake late, it is more than what the device logs. `None`
/// without fio.
pub fn latency_by_fio(device: &Path, reads: u64) -> Option<[f64; 2]> {
    let out = Command::new("fio")
        .args(["--name=x", "--rw=randread", "--bs=4k", "--size=1m"])
        .args(["--direct=1", "--ioengine=psync", "--norandommap"])
        .args(["--percentile_list=50:99", "--output-format=json"])
        .arg(format!("--io_size={}", reads * 4096))
        .arg(filename_arg(device))
        .output()
        .ok()?;
    let document: Value = serde_json::from_slice(&out.stdout).ok()?;
    let percentiles = &document["jobs"][0]["read"]["clat_ns"]["percentile"];
    Some([
        percentiles["50.000000"].as_f64()?,
        percentiles["99.000000"].as_f64()?,
    ])
}

/// Gives this thread, and the devices and programs that it starts from now on, a real-time
/// priority. Without the permission for it, measurements are only noisier.
pub fn raise_priority() {
    set_priority(SCENE_PRIORITY);
}

fn set_priority(priority: u32) {
    let thread = rustix::thread::gettid().as_raw_nonzero().to_string();
    let _ = Command::new("chrt")
        .args(["--fifo", "--pid", &priority.to_string(), &thread])
        .stderr(Stdio::null())
        .status();
}
