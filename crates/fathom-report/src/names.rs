//! The names of variants in results, and lists of them.

use fathom_model::{
    CellState, DamageClass, DirectIoMode, DirectIoProbe, FileSystemLocation, HealthState,
    KernelCache, LinkKind, Medium, ReportedDirectIo, RereadResult, RunEnd, RunState, SteadyMeasure,
    Transport, Verdict, Weight, WritePermission,
};

/// Upper ends of fio's latency classes, in the unit of their table; only milliseconds have the last two.
pub(crate) const LATENCY_CLASSES: [&str; 12] = [
    "2", "4", "10", "20", "50", "100", "250", "500", "750", "1000", "2000", ">=2000",
];

/// State of a run whose process was killed.
pub(crate) const KILLED: &str = "killed";

/// Defines functions that name each variant of an enum, and with each function a list of all its names.
macro_rules! names {
    ($($(#[$doc:meta])* fn $function:ident($type:ty), $list:ident { $($variant:pat => $name:literal,)+ })+) => { $(
        $(#[$doc])*
        pub(crate) fn $function(value: $type) -> &'static str {
            match value {
                $($variant => $name,)+
            }
        }
        const $list: &[&str] = &[$($name),+];
    )+ };
}

names! {
    /// How a run ended.
    fn end_name(RunEnd), ENDS {
        RunEnd::Completed => "completed",
        RunEnd::Interrupted => "interrupted",
        RunEnd::Aborted => "aborted",
    }

    /// The result of reading a wrong block again.
    fn second_read_name(RereadResult), SECOND_READS {
        RereadResult::Same => "same",
        RereadResult::Good => "good",
        RereadResult::Changed => "changed",
        RereadResult::NotTried => "not_tried",
    }

    /// Whether I/O bypassed the page cache.
    fn direct_name(DirectIoMode), DIRECT {
        DirectIoMode::Direct => "direct",
        DirectIoMode::Buffered => "buffered",
        DirectIoMode::Unreported => "unknown",
    }

    /// What the file system reports about direct I/O.
    fn direct_answer_name(&ReportedDirectIo), DIRECT_ANSWERS {
        ReportedDirectIo::Unknown => "unknown",
        ReportedDirectIo::Buffered => "buffered",
        ReportedDirectIo::Direct { .. } => "direct",
    }

    /// The result of a direct read as a test.
    fn direct_probe_name(&DirectIoProbe), DIRECT_PROBES {
        DirectIoProbe::NotProbed => "not asked",
        DirectIoProbe::NotTried(_) => "not tried",
        DirectIoProbe::Direct => "direct",
        DirectIoProbe::Buffered => "buffered",
        DirectIoProbe::Refused(_) => "refused",
    }

    /// Where the data of a file system is.
    fn location_name(FileSystemLocation), LOCATIONS {
        FileSystemLocation::Local => "local",
        FileSystemLocation::Network => "network",
        FileSystemLocation::Memory => "memory",
        FileSystemLocation::Process => "process",
        FileSystemLocation::Stacked => "stacked",
        FileSystemLocation::Unknown => "unknown",
    }

    /// The kind of a bus.
    fn link_kind_name(LinkKind), LINK_KINDS {
        LinkKind::Pcie => "PCIe",
        LinkKind::Sata => "SATA",
        LinkKind::Sas => "SAS",
        LinkKind::FibreChannel => "Fibre Channel",
        LinkKind::Usb => "USB",
    }

    /// The write cache as the kernel treats it.
    fn kernel_cache_name(KernelCache), KERNEL_CACHES {
        KernelCache::WriteBack => "write back",
        KernelCache::WriteThrough => "write through",
    }

    /// The state of a device by its own account.
    fn health_state_name(&HealthState), HEALTH_STATES {
        HealthState::Unknown => "unknown",
        HealthState::Good => "good",
        HealthState::Warns(_) => "warns",
    }

    /// Whether fathom may write to a device.
    fn write_access_name(&WritePermission), WRITE_ACCESS {
        WritePermission::Allowed => "free",
        WritePermission::NeedsCode(_) => "with code",
        WritePermission::Refused(_) => "never",
        WritePermission::Unknown => "unknown",
    }
}

/// fio's name of a steady-state metric.
pub(crate) fn measure_name(measure: SteadyMeasure) -> &'static str {
    match measure {
        SteadyMeasure::Iops => "iops",
        SteadyMeasure::Bandwidth => "bw",
        SteadyMeasure::Latency => "lat",
    }
}

/// The class of a wrong block: its name with underscores.
pub(crate) fn damage_class_name(class: DamageClass) -> String {
    class.name().replace(' ', "_")
}

/// Direction of a limit on I/O.
pub(crate) fn limit_direction(reads: bool) -> &'static str {
    if reads {
        LIMIT_DIRECTIONS[0]
    } else {
        LIMIT_DIRECTIONS[1]
    }
}
const LIMIT_DIRECTIONS: [&str; 2] = ["read", "write"];

/// Unit of a limit on I/O.
pub(crate) fn limit_unit(ios: bool) -> &'static str {
    if ios { LIMIT_UNITS[0] } else { LIMIT_UNITS[1] }
}
const LIMIT_UNITS: [&str; 2] = ["ios", "bytes"];

/// Kinds of runs in a store.
const RUN_KINDS: &[&str] = &["run", "quick", "sweep", "search", "suite", "spec", "import"];
/// Names of events.
const EVENTS: &[&str] = &["begin", "cell", "progress", "done", "failed", "end"];
/// Outcomes of an experiment in its last event.
const OUTCOMES: &[&str] = &["done", "interrupted", "out of time", "stopped"];
/// Judgements of a comparison with a data sheet.
const JUDGEMENTS: &[&str] = &["kept", "below", "above", "not comparable", "not measured"];
/// Origins of the values in a data sheet.
const CONFIDENCE: &[&str] = &["maker", "secondary", "partial"];

/// The fixed values of the JSON documents: the end of the path of a key, and every value that it can have besides `null`.
/// Keys that hold free text, such as the name of a device, are absent.
#[must_use]
pub fn json_values() -> Vec<(&'static str, Vec<String>)> {
    fn owned<'a>(names: impl IntoIterator<Item = &'a &'a str>) -> Vec<String> {
        names.into_iter().map(|name| (*name).to_owned()).collect()
    }
    fn names<T: Copy>(all: &[T], name: fn(T) -> &'static str) -> Vec<String> {
        all.iter().map(|one| name(*one).to_owned()).collect()
    }
    let mut run_states = names(RunState::ALL, RunState::name);
    run_states.push(KILLED.to_owned());
    // A cell that was not measured has none.
    let mut cell_verdicts = names(Verdict::ALL, Verdict::name);
    cell_verdicts.push(String::new());
    vec![
        ("event", owned(EVENTS)),
        ("begin.kind", owned(RUN_KINDS)),
        ("end.outcome", owned(OUTCOMES)),
        ("runs[].kind", owned(RUN_KINDS)),
        ("runs[].state", run_states),
        ("cells[].state", names(CellState::ALL, CellState::name)),
        ("cells[].verdict", cell_verdicts),
        ("verdict", names(Verdict::ALL, Verdict::name)),
        ("findings[].weight", names(Weight::ALL, Weight::name)),
        ("fathom.end", owned(ENDS)),
        (
            "corruptions[].class",
            DamageClass::ALL.map(damage_class_name).to_vec(),
        ),
        ("corruptions[].second_read", owned(SECOND_READS)),
        ("conditions.targets[].direct", owned(DIRECT)),
        ("cgroup_limits[].direction", owned(&LIMIT_DIRECTIONS)),
        ("cgroup_limits[].unit", owned(&LIMIT_UNITS)),
        ("file_system.location", owned(LOCATIONS)),
        ("direct_io.reported", owned(DIRECT_ANSWERS)),
        ("direct_io.probe", owned(DIRECT_PROBES)),
        ("devices[].medium", names(Medium::ALL, Medium::name)),
        (
            "devices[].transport",
            names(Transport::ALL, Transport::name),
        ),
        ("links[].kind", owned(LINK_KINDS)),
        ("cache.kernel", owned(KERNEL_CACHES)),
        ("health.state", owned(HEALTH_STATES)),
        ("safety.write", owned(WRITE_ACCESS)),
        ("figures[].judgement", owned(JUDGEMENTS)),
        ("spec.confidence", owned(CONFIDENCE)),
    ]
}
