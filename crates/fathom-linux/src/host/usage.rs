//! The calling thread: its CPUs, its priority and its resource usage.

use fathom_load::HostError;
use fathom_model::{Nanos, Usage};
use rustix::thread::CpuSet;

use super::error::refused;

/// See getrusage(2) and `/proc/thread-self/schedstat` (Documentation/scheduler/sched-stats.rst).
pub(super) fn usage() -> Usage {
    let used = super::kernel::thread_usage();
    Usage {
        user: nanos(used.ru_utime),
        system: nanos(used.ru_stime),
        switches: used.ru_nvcsw.unsigned_abs() + used.ru_nivcsw.unsigned_abs(),
        major_faults: used.ru_majflt.unsigned_abs(),
        minor_faults: used.ru_minflt.unsigned_abs(),
        waited: waited().unwrap_or(Nanos::ZERO),
    }
}

fn nanos(time: libc::timeval) -> Nanos {
    Nanos::new(time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_usec.unsigned_abs() * 1_000)
}

/// Second field: nanoseconds spent on a run queue.
fn waited() -> Option<Nanos> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace().nth(1)?.parse().ok().map(Nanos::new)
}

/// Binds the calling thread to these CPUs; an empty list has no effect.
pub(super) fn bind_cpus(cpus: &[u32]) -> Result<(), HostError> {
    if cpus.is_empty() {
        return Ok(());
    }
    let mut set = CpuSet::new();
    for &cpu in cpus {
        if cpu as usize >= CpuSet::MAX_CPU {
            return Err(refused(libc::EINVAL, no_such_cpu(cpus)));
        }
        set.set(cpu as usize);
    }
    rustix::thread::sched_setaffinity(None, &set)
        .map_err(|error| refused(error.raw_os_error(), no_such_cpu(cpus)))
}

fn no_such_cpu(cpus: &[u32]) -> String {
    let allowed: Vec<u32> = allowed_cpus();
    format!(
        "cannot run on CPUs {cpus:?}; this process may use {allowed:?} (cpus_allowed=, cpumask=)"
    )
}

/// Sets the I/O priority of the calling thread.
pub(super) fn prioritise(prio: u16) -> Result<(), HostError> {
    super::kernel::set_io_priority(prio).map_err(|errno| {
        let class = prio >> 13;
        let advice = if class == 1 {
            "the real-time class needs root; prioclass=2 does not"
        } else {
            "check prio, prioclass and priohint"
        };
        refused(
            errno,
            format!(
                "cannot set I/O priority {} of class {class}: {advice}",
                prio & 7
            ),
        )
    })
}

/// CPUs that this process may use.
pub(super) fn allowed_cpus() -> Vec<u32> {
    let Ok(set) = rustix::thread::sched_getaffinity(None) else {
        return Vec::new();
    };
    (0..CpuSet::MAX_CPU)
        .filter(|&cpu| set.is_set(cpu))
        .map(|cpu| cpu as u32)
        .collect()
}

/// Number of CPUs of the host: one more than the highest number in /proc/stat and of those that this process may use.
#[must_use]
pub fn host_cpus() -> u32 {
    let text = std::fs::read_to_string("/proc/stat").unwrap_or_default();
    let listed = text.lines().filter_map(|line| {
        let name = line.split(' ').next()?;
        name.strip_prefix("cpu")?.parse::<u32>().ok()
    });
    listed
        .chain(allowed_cpus())
        .max()
        .map_or(1, |last| last + 1)
}

/// Memory of the host, bytes; known without /proc.
#[must_use]
pub fn host_memory() -> u64 {
    let found = rustix::system::sysinfo();
    found.totalram * u64::from(found.mem_unit)
}

/// Sets the nice value of the calling thread: on Linux, process 0 of setpriority(2) is the thread.
pub(super) fn set_nice(nice: i32) -> Result<(), HostError> {
    rustix::process::setpriority_process(None, nice).map_err(|error| {
        let what = format!("cannot set nice={nice}: a value below the current one needs CAP_SYS_NICE or a limit (ulimit -e)");
        refused(error.raw_os_error(), what)
    })
}
