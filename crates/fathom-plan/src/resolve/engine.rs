//! The engine of a job, its settings, and its CPUs.

use fathom_model::{
    CpuLoad, Credentials, EngineKind, EngineSettings, EngineSpec, FileLock, Nanos, Program,
    RbdImage, StatCall,
};

use super::diagnostics::Diagnostics;
use super::job::JobView;
use super::settings::Settings;
use super::{numa, priorities};
use crate::options::table as opt;
use crate::options::{ENGINES, engine_by_name};
use crate::text::closest;
use crate::text::shorten;

/// Resolves the engine. The default is psync, as in fio; `fathom run` uses io_uring for a queue depth above 1.
pub(crate) fn resolve(view: &JobView<'_>, job: &str, diagnostics: &mut Diagnostics) -> EngineSpec {
    let named = view.settings.given(opt::IOENGINE);
    let kind = match named {
        None if !view.is_fio() && view.settings.get(opt::IODEPTH) > 1 => EngineKind::IoUring,
        None => EngineKind::Psync,
        Some(name) => engine_by_name(name).unwrap_or_else(|| {
            diagnostics.push(unknown(view, name));
            EngineKind::Psync
        }),
    };
    if view.settings.get(opt::MEM).0 == "cudamalloc" {
        let problem = "GPU memory is not supported by any built-in engine";
        diagnostics.push(
            view.error(opt::MEM, problem)
                .advise("leave it out; the buffers are in host memory"),
        );
    }
    let settings = EngineSettings {
        program: program(view, kind, job, diagnostics),
        rbd: rbd(view, kind, diagnostics),
        ..settings(view, diagnostics)
    };
    EngineSpec {
        kind,
        named: named.is_some(),
        settings,
    }
}

fn unknown(view: &JobView<'_>, name: &str) -> crate::diagnostic::Diagnostic {
    let shown = shorten(name);
    let names = ENGINES.map(EngineKind::name);
    let problem = view.error(opt::IOENGINE, format!("engine '{shown}' is not built in"));
    if let Some(alternative) = alternative(name) {
        return problem.advise(alternative);
    }
    match closest(name, names.into_iter()) {
        Some(best) => problem.advise(format!("did you mean {best}?")),
        None => problem.advise(format!("use {}", names.join(", "))),
    }
}

/// What to use instead of an engine of fio that is not built in.
fn alternative(name: &str) -> Option<&'static str> {
    Some(match name.split([':', ',']).next().unwrap_or("") {
        "sg" => "name the block device and use io_uring or libaio",
        "io_uring_cmd" => "name the block device of the namespace, /dev/nvmeXnY, and use io_uring",
        "xnvme" | "libblkio" => "use io_uring, with hipri for polled completions",
        "libzbc" => "zoned devices are not supported; use fio for them",
        "libpmem" | "dev-dax" | "pmemblk" => "use mmap on a file of a file system mounted with dax",
        "mtd" => "use psync on the block device of the mtd, /dev/mtdblockN",
        "libcufile" | "libhipfile" => "measure the file system itself with io_uring and direct=1",
        "rados" | "dfs" | "ime_psync" | "ime_psyncv" | "ime_aio" | "libhdfs" | "gfapi"
        | "gfapi_async" => "mount the store as a file system, then measure a file on it",
        "nfs" => "mount the export, then measure a file on it",
        "nbd" => "connect it with nbd-client(8), then measure its block device",
        "libiscsi" => "log in with iscsiadm(8), then measure its block device",
        "http" => {
            "only block devices and files can be measured; mount the store, or use a benchmark for HTTP"
        }
        "net" | "netsplice" | "rdma" => {
            "only storage can be measured; use iperf3(1) or perftest for networks"
        }
        "e4defrag" => "use e4defrag(8) itself",
        "cpp_null" => "use null",
        "guasi" | "solarisaio" | "windowsaio" | "sync_file_range" => "use libaio",
        "external" => "external engines cannot be loaded; use io_uring, libaio or psync",
        _ => return None,
    })
}

fn settings(view: &JobView<'_>, diagnostics: &mut Diagnostics) -> EngineSettings {
    let settings = view.settings;
    let sq_poll_cpu = settings.given_u32(opt::SQTHREAD_POLL_CPU);
    EngineSettings {
        fixed_buffers: settings.get(opt::FIXEDBUFS),
        register_files: settings.get(opt::REGISTERFILES),
        register_where_possible: !view.is_fio()
            && !settings.is_set(opt::FIXEDBUFS)
            && !settings.is_set(opt::REGISTERFILES),
        sq_poll: settings.get(opt::SQTHREAD_POLL),
        sq_poll_cpu,
        high_priority: settings.get(opt::HIPRI),
        userspace_reap: settings.get(opt::USERSPACE_REAP),
        nowait: settings.get(opt::NOWAIT),
        uncached: settings.get(opt::UNCACHED) > 0,
        force_async: settings.get_u32(opt::FORCE_ASYNC),
        vectored: settings.given(opt::NONVECTORED) == Some(0),
        stat: match settings.get(opt::STAT_TYPE) {
            "lstat" => StatCall::Lstat,
            "statx" => StatCall::Statx,
            _ => StatCall::Stat,
        },
        remove_created: settings.get(opt::UNLINK),
        priorities: priorities::resolve(view, diagnostics),
        numa: numa::resolve(view, diagnostics),
        atomic: settings.get(opt::ATOMIC),
        cpu: cpu_load(settings),
        offload: settings.get(opt::IO_SUBMIT_MODE) == "offload",
        pool_buffers: view.is_fio() && matches!(settings.get(opt::MEM).0, "mmaphuge" | "shmhuge"),
        lock: match settings.get(opt::LOCKFILE) {
            "exclusive" => FileLock::Exclusive,
            "readwrite" => FileLock::ReadWrite,
            _ => FileLock::None,
        },
        write_hint: settings.given(opt::WRITE_HINT).map(write_hint),
        credentials: credentials(settings),
        locked_memory: settings.get(opt::LOCKMEM),
        program: None,
        rbd: None,
        scheduler: settings
            .given(opt::IOSCHEDULER)
            .filter(|name| !name.is_empty())
            .map(str::to_owned),
    }
}

/// The image of an rbd job, if it is named completely.
pub(crate) fn rbd_image(view: &JobView<'_>) -> Option<RbdImage> {
    let settings = view.settings;
    if settings.given(opt::IOENGINE).and_then(engine_by_name) != Some(EngineKind::Rbd) {
        return None;
    }
    let text = |value: Option<&str>| value.filter(|text| !text.is_empty()).map(str::to_owned);
    Some(RbdImage {
        cluster: text(settings.given(opt::CLUSTERNAME)),
        client: text(settings.given(opt::CLIENTNAME)),
        pool: text(settings.given(opt::POOL))?,
        image: text(settings.given(opt::RBDNAME))?,
        busy_poll: settings.get(opt::BUSY_POLL),
    })
}

/// The image of a job, which an rbd job must name.
fn rbd(view: &JobView<'_>, kind: EngineKind, diagnostics: &mut Diagnostics) -> Option<RbdImage> {
    let image = rbd_image(view);
    if kind == EngineKind::Rbd && image.is_none() {
        diagnostics.push(
            view.error(opt::IOENGINE, "rbd needs the name of an image")
                .advise("set pool=POOL and rbdname=IMAGE"),
        );
    }
    image
}

/// The program of an exec job. As in fio, blanks separate the arguments and there is no quoting.
fn program(
    view: &JobView<'_>,
    kind: EngineKind,
    job: &str,
    diagnostics: &mut Diagnostics,
) -> Option<Program> {
    let settings = view.settings;
    if kind != EngineKind::Exec {
        return None;
    }
    let Some(path) = settings.given(opt::PROGRAM).filter(|path| !path.is_empty()) else {
        diagnostics.push(
            view.error(opt::IOENGINE, "exec needs a program to run")
                .advise("set program=PATH"),
        );
        return None;
    };
    let runtime = (settings.get(opt::RUNTIME) / 1_000_000_000).to_string();
    let expanded = |text: &str| text.replace("%r", &runtime).replace("%n", job);
    let arguments = expanded(settings.given(opt::ARGUMENTS).unwrap_or_default());
    let mut parts = path
        .split(' ')
        .chain(arguments.split(' '))
        .filter(|value| !value.is_empty())
        .map(str::to_owned);
    let path = parts.next()?;
    let grace = Nanos::new(settings.get(opt::GRACE_TIME).saturating_mul(1_000_000_000));
    Some(Program {
        path,
        arguments: parts.collect(),
        grace,
        redirect: settings.get(opt::STD_REDIRECT),
    })
}

/// linux/fcntl.h: RWH_WRITE_LIFE_NONE and the values after it.
fn write_hint(name: &str) -> u8 {
    let lives = ["none", "short", "medium", "long", "extreme"];
    lives
        .iter()
        .position(|life| *life == name)
        .map_or(1, |at| at as u8 + 1)
}

fn credentials(settings: &Settings) -> Credentials {
    Credentials {
        user: settings.given_u32(opt::UID),
        group: settings.given_u32(opt::GID),
        name: settings.given(opt::COMM).map(str::to_owned),
    }
}

fn cpu_load(settings: &Settings) -> CpuLoad {
    CpuLoad {
        percent: settings.get(opt::CPULOAD).min(100) as u8,
        chunk: Nanos::from_micros(settings.get(opt::CPUCHUNKS)),
        sorts: settings.get(opt::CPUMODE) == "qsort",
        ends_with_io: settings.get(opt::EXIT_ON_IO_DONE),
    }
}

/// CPUs of the worker with this number, from the later of `cpus_allowed` and `cpumask`: all of them, or one each.
pub(crate) fn cpus(view: &JobView<'_>, number: u32) -> Vec<u32> {
    let settings = view.settings;
    let later = if settings.position(opt::CPUMASK) > settings.position(opt::CPUS_ALLOWED) {
        opt::CPUMASK
    } else {
        opt::CPUS_ALLOWED
    };
    let Some(cpus) = settings.given(later) else {
        return Vec::new();
    };
    if settings.get(opt::CPUS_ALLOWED_POLICY) == "split" && !cpus.is_empty() {
        return vec![cpus[(number as usize - 1) % cpus.len()]];
    }
    cpus.to_vec()
}
