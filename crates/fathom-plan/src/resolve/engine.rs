//! Who carries the I/O, and on which CPUs.

use fathom_model::{
    CpuLoad, Credentials, EngineKind, EngineSettings, EngineSpec, FileLock, Nanos, Program,
    StatCall,
};

use super::job::View;
use super::report::Report;
use super::settings::Settings;
use super::{numa, priorities};
use crate::options::closest;
use crate::values::Value;

/// The engines that are built in.
pub(crate) const ENGINES: [EngineKind; 22] = [
    EngineKind::Sync,
    EngineKind::Psync,
    EngineKind::Vsync,
    EngineKind::Pvsync,
    EngineKind::Pvsync2,
    EngineKind::Libaio,
    EngineKind::IoUring,
    EngineKind::PosixAio,
    EngineKind::Mmap,
    EngineKind::Null,
    EngineKind::Splice,
    EngineKind::Falloc,
    EngineKind::Ftruncate,
    EngineKind::FileCreate,
    EngineKind::FileStat,
    EngineKind::FileDelete,
    EngineKind::DirCreate,
    EngineKind::DirStat,
    EngineKind::DirDelete,
    EngineKind::PageFault,
    EngineKind::Cpuio,
    EngineKind::Exec,
];

/// Resolves the engine; without one it is fio's default, psync, and in `fathom run` the best that can carry a depth.
pub(crate) fn resolve(view: &View<'_>, job: &str, report: &mut Report) -> EngineSpec {
    let asked = view.settings.text("ioengine");
    let kind = match asked {
        None if !view.is_fio() && view.settings.number("iodepth", 1) > 1 => EngineKind::IoUring,
        None => EngineKind::Psync,
        Some(name) => by_name(name).unwrap_or_else(|| {
            report.push(unknown(view, name));
            EngineKind::Psync
        }),
    };
    if view.settings.choice("mem", "malloc").0 == "cudamalloc" {
        let problem = "no engine here moves data to and from the memory of a GPU";
        report.push(
            view.error("mem", problem)
                .advise("leave it out; buffers are then memory of the host"),
        );
    }
    let settings = EngineSettings {
        program: program(view, kind, job, report),
        ..settings(view, report)
    };
    EngineSpec {
        kind,
        named: asked.is_some(),
        settings,
    }
}

/// The built-in engine of this name; fio reads the name up to a colon.
pub(crate) fn by_name(name: &str) -> Option<EngineKind> {
    let head = name.split([':', ',']).next().unwrap_or("");
    ENGINES.into_iter().find(|kind| kind.word() == head)
}

fn unknown(view: &View<'_>, name: &str) -> crate::diagnostic::Diagnostic {
    let shown = crate::jobfile::shorten(name);
    let words = ENGINES.map(EngineKind::word);
    let problem = view.error("ioengine", format!("'{shown}' is not built in"));
    if let Some(way) = way_out(name) {
        return problem.advise(way);
    }
    match closest(name, words.into_iter()) {
        Some(best) => problem.advise(format!("did you mean {best}?")),
        None => problem.advise(format!("use {}", words.join(", "))),
    }
}

/// What to do instead of an engine of fio that is not built in.
fn way_out(name: &str) -> Option<&'static str> {
    Some(match name.split([':', ',']).next().unwrap_or("") {
        "sg" => "name the block device and use io_uring or libaio",
        "io_uring_cmd" => "name the block device of the namespace, /dev/nvmeXnY, and use io_uring",
        "xnvme" | "libblkio" => "use io_uring, with hipri for polled completions",
        "libzbc" => "zoned devices are not written here; use fio for them",
        "libpmem" | "dev-dax" | "pmemblk" => {
            "use mmap on a file of a file system that is mounted with dax"
        }
        "mtd" => "use psync on the block device of the mtd, /dev/mtdblockN",
        "libcufile" | "libhipfile" => "measure the file system itself with io_uring and direct=1",
        "rbd" => "map the image with rbd(8), then measure its block device",
        "rados" | "dfs" | "ime_psync" | "ime_psyncv" | "ime_aio" | "libhdfs" | "gfapi"
        | "gfapi_async" => "mount the store as a file system, then measure a file on it",
        "nfs" => "mount the export, then measure a file on it",
        "nbd" => "connect it with nbd-client(8), then measure its block device",
        "libiscsi" => "log in with iscsiadm(8), then measure its block device",
        "http" => {
            "only storage that the kernel knows is measured here; mount the store, or use a benchmark of its own"
        }
        "net" | "netsplice" | "rdma" => {
            "only storage is measured here; use iperf3(1) or perftest for networks"
        }
        "e4defrag" => "use e4defrag(8) itself",
        "cpp_null" => "use null",
        "guasi" | "solarisaio" | "windowsaio" | "sync_file_range" => "use libaio",
        "external" => "engines of other programs cannot be loaded; use io_uring, libaio or psync",
        _ => return None,
    })
}

fn settings(view: &View<'_>, report: &mut Report) -> EngineSettings {
    let settings = view.settings;
    let any = |name| settings.number(name, 0) > 0;
    let sq_poll_cpu = settings
        .is_set("sqthread_poll_cpu")
        .then(|| settings.small("sqthread_poll_cpu", 0));
    EngineSettings {
        fixed_buffers: settings.switch("fixedbufs"),
        register_files: settings.switch("registerfiles"),
        register_where_possible: !view.is_fio()
            && !settings.is_set("fixedbufs")
            && !settings.is_set("registerfiles"),
        sq_poll: settings.switch("sqthread_poll"),
        sq_poll_cpu,
        high_priority: settings.switch("hipri"),
        userspace_reap: settings.switch("userspace_reap"),
        nowait: settings.switch("nowait"),
        uncached: any("uncached"),
        force_async: settings.small("force_async", 0),
        vectored: matches!(
            settings.last("nonvectored").map(|setting| &setting.value),
            Some(Value::Number(0))
        ),
        stat: match settings.choice("stat_type", "stat").0 {
            "lstat" => StatCall::Lstat,
            "statx" => StatCall::Statx,
            _ => StatCall::Stat,
        },
        remove_made: settings.switch("unlink"),
        priorities: priorities::resolve(view, report),
        numa: numa::resolve(view, report),
        atomic: settings.switch("atomic"),
        cpu: cpu_load(settings),
        offload: settings.choice("io_submit_mode", "inline").0 == "offload",
        lock: match settings.choice("lockfile", "none").0 {
            "exclusive" => FileLock::Exclusive,
            "readwrite" => FileLock::ReadWrite,
            _ => FileLock::None,
        },
        write_hint: settings
            .is_set("write_hint")
            .then(|| write_hint(settings.choice("write_hint", "none").0)),
        person: person(settings),
        pinned: settings.number("lockmem", 0),
        program: None,
        scheduler: settings
            .text("ioscheduler")
            .filter(|name| !name.is_empty())
            .map(str::to_owned),
    }
}

/// What a job of exec runs. As in fio, blanks part the arguments and nothing quotes them.
fn program(view: &View<'_>, kind: EngineKind, job: &str, report: &mut Report) -> Option<Program> {
    let settings = view.settings;
    if kind != EngineKind::Exec {
        return None;
    }
    let Some(path) = settings.text("program").filter(|path| !path.is_empty()) else {
        report.push(
            view.error("ioengine", "exec needs to know what to run")
                .advise("set program=PATH"),
        );
        return None;
    };
    let runtime = (settings.number("runtime", 0) / 1_000_000_000).to_string();
    let expanded = |text: &str| text.replace("%r", &runtime).replace("%n", job);
    let all = expanded(settings.text("arguments").unwrap_or_default());
    let mut words = path
        .split(' ')
        .chain(all.split(' '))
        .filter(|word| !word.is_empty())
        .map(str::to_owned);
    let path = words.next()?;
    let grace = Nanos::new(
        settings
            .number("grace_time", 1)
            .saturating_mul(1_000_000_000),
    );
    Some(Program {
        path,
        arguments: words.collect(),
        grace,
        redirect: settings.switch("std_redirect"),
    })
}

/// linux/fcntl.h: RWH_WRITE_LIFE_NONE and what follows it.
fn write_hint(word: &str) -> u8 {
    let lives = ["none", "short", "medium", "long", "extreme"];
    lives
        .iter()
        .position(|life| *life == word)
        .map_or(1, |at| at as u8 + 1)
}

fn person(settings: &Settings) -> Credentials {
    let id = |name| settings.is_set(name).then(|| settings.small(name, 0));
    Credentials {
        user: id("uid"),
        group: id("gid"),
        name: settings.text("comm").map(str::to_owned),
    }
}

fn cpu_load(settings: &Settings) -> CpuLoad {
    CpuLoad {
        percent: settings.number("cpuload", 0).min(100) as u8,
        spell: Nanos::from_micros(settings.number("cpuchunks", 50_000)),
        sorts: settings.choice("cpumode", "noop").0 == "qsort",
        ends_with_io: settings.switch("exit_on_io_done"),
    }
}

/// CPUs of the worker with this number: the later of `cpus_allowed` and `cpumask`, or one of them each.
pub(crate) fn cpus(view: &View<'_>, number: u32) -> Vec<u32> {
    let settings = view.settings;
    let later = if settings.position("cpumask") > settings.position("cpus_allowed") {
        "cpumask"
    } else {
        "cpus_allowed"
    };
    let Some(Value::Cpus(cpus)) = settings.last(later).map(|setting| &setting.value) else {
        return Vec::new();
    };
    if settings.choice("cpus_allowed_policy", "shared").0 == "split" && !cpus.is_empty() {
        return vec![cpus[(number as usize - 1) % cpus.len()]];
    }
    cpus.clone()
}
