//! The machine on which the figures were measured.

use std::path::Path;

use crate::context::Context;
use crate::tool::Tool;

/// Facts about the machine.
pub struct Machine {
    pub facts: Vec<(&'static str, String)>,
}

impl Machine {
    /// Inspects the machine after the runs; `before` is the load average before them.
    pub fn inspect(context: &Context, before: &str) -> Self {
        let version = |tool| {
            context
                .tools
                .version(tool)
                .unwrap_or_else(|| "unknown".to_owned())
        };
        let facts = vec![
            ("CPU", cpu()),
            (
                "cores",
                std::thread::available_parallelism()
                    .map_or("unknown".to_owned(), |n| n.to_string()),
            ),
            ("memory", memory()),
            ("kernel", line("/proc/sys/kernel/osrelease")),
            ("disk", disk(context.directory.path())),
            ("fathom", version(Tool::Fathom)),
            ("fio", version(Tool::Fio)),
            ("date", today()),
            (
                "pairs",
                format!(
                    "{} of {} s each (4 s where CPU time is compared), in the order ABBA",
                    context.pairs, context.seconds
                ),
            ),
            (
                "load average",
                format!("{before} before, {} after", load_average()),
            ),
        ];
        Self { facts }
    }
}

/// Over 1, 5 and 15 minutes.
pub fn load_average() -> String {
    line("/proc/loadavg")
        .split_whitespace()
        .take(3)
        .collect::<Vec<_>>()
        .join(" ")
}

fn line(path: &str) -> String {
    std::fs::read_to_string(path)
        .map_or_else(|_| "unknown".to_owned(), |text| text.trim().to_owned())
}

fn cpu() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = text
        .lines()
        .find(|line| line.starts_with("model name"))
        .and_then(|line| line.split(':').nth(1));
    model.map_or_else(|| "unknown".to_owned(), |model| model.trim().to_owned())
}

fn memory() -> String {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let kib: Option<u64> = text
        .lines()
        .next()
        .and_then(|line| line.split_whitespace().nth(1))
        .and_then(|n| n.parse().ok());
    kib.map_or_else(
        || "unknown".to_owned(),
        |kib| format!("{:.0} GiB", kib as f64 / 1048576.0),
    )
}

/// File system and device of the longest mount point that contains `directory`.
fn disk(directory: &Path) -> String {
    let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let directory = directory
        .canonicalize()
        .unwrap_or_else(|_| directory.to_path_buf());
    let fields = mounts
        .lines()
        .map(|line| line.split(' ').collect::<Vec<_>>())
        .filter(|fields| fields.len() > 2);
    let best = fields
        .filter(|fields| directory.starts_with(fields[1]))
        .max_by_key(|fields| fields[1].len());
    best.map_or_else(
        || "unknown".to_owned(),
        |fields| format!("{} on {}", fields[2], fields[0]),
    )
}

/// The current date in UTC.
fn today() -> String {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    fathom_model::format::date(now.map_or(0, |past| past.as_secs()))
}
