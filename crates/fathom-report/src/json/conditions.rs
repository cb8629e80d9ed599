//! The conditions of a run: samples of the machine, and targets.

use fathom_model::{
    Conditions, CpuShare, DiskCounters, IoLimit, Sample, Sharer, TargetConditions, Telemetry,
};

use crate::names::{direct_name, limit_direction, limit_unit};
use crate::tree::{Fields, Object, Tree, Value};

pub(super) fn conditions(conditions: &Conditions) -> Fields<'_> {
    Fields::new()
        .with("virtual_machine", conditions.virtual_machine)
        .with(
            "targets",
            conditions.targets.iter().map(target).collect::<Tree>(),
        )
        .with(
            "cgroup_limits",
            conditions.limits.iter().map(limit).collect::<Tree>(),
        )
        .with("telemetry", telemetry(&conditions.telemetry))
}

fn target(target: &TargetConditions) -> Object {
    Object::new()
        .with("path", target.path.to_string_lossy().into_owned())
        .with("size_bytes", target.size.get())
        .with("memory_backed", target.memory_backed)
        .with("direct", target.direct.map(direct_name))
        .with("written_share", target.written_share)
        .with("cached_share", target.cached_share)
        .with("dirty_bytes", target.dirty.map(fathom_model::Bytes::get))
        .with("removed_ns", target.gone.map(fathom_model::Nanos::get))
        .with(
            "other_processes",
            target.sharers.iter().map(sharer).collect::<Tree>(),
        )
}

fn sharer(other: &Sharer) -> Object {
    Object::new()
        .with("pid", u64::from(other.process))
        .with("name", &other.name)
        .with("writes", other.writes)
        .with("orphan", other.orphan)
}

fn limit(limit: &IoLimit) -> Object {
    Object::new()
        .with("disk", &limit.disk)
        .with("direction", limit_direction(limit.reads))
        .with("unit", limit_unit(limit.ios))
        .with("per_second", limit.per_second)
}

fn telemetry(telemetry: &Telemetry) -> Fields<'_> {
    Fields::new().with("cost_ns", telemetry.cost.get()).with(
        "samples",
        Value::each(&telemetry.samples, |one| sample(one, &telemetry.disks)),
    )
}

fn sample(sample: &Sample, disks: &[String]) -> Object {
    Object::new()
        .with("start_ns", sample.start.get())
        .with("length_ns", sample.length.get())
        .with(
            "disks",
            Object::of(
                disks
                    .iter()
                    .zip(&sample.disks)
                    .map(|(name, one)| (name.clone(), counters(one).into())),
            ),
        )
        .with(
            "cpu_busy_percent",
            sample
                .cpus
                .iter()
                .map(|cpu: &CpuShare| cpu.busy)
                .collect::<Tree>(),
        )
        .with(
            "cpu_steal_percent",
            sample.cpus.iter().map(|cpu| cpu.stolen).collect::<Tree>(),
        )
        .with("cpu_pressure_percent", sample.cpu_pressure)
        .with("io_pressure_percent", sample.io_pressure)
        .with("memory_pressure_percent", sample.memory_pressure)
        .with("cpu_mhz", sample.cpu_mhz)
        .with("celsius", sample.celsius)
        .with(
            "available_bytes",
            sample.available.map(fathom_model::Bytes::get),
        )
        .with("dirty_bytes", sample.dirty.map(fathom_model::Bytes::get))
        .with(
            "writeback_bytes",
            sample.writeback.map(fathom_model::Bytes::get),
        )
        .with("cpu_throttles", sample.throttles)
        .with("wall_step_ns", Tree::Signed(sample.wall_step_ns))
}

fn counters(counters: &DiskCounters) -> Object {
    Object::new()
        .with("read_ios", counters.read_ios)
        .with("read_sectors", counters.read_sectors)
        .with("read_ticks", counters.read_ticks)
        .with("write_ios", counters.write_ios)
        .with("write_sectors", counters.write_sectors)
        .with("write_ticks", counters.write_ticks)
        .with("in_flight", counters.in_flight)
        .with("io_ticks", counters.io_ticks)
        .with("flush_ios", counters.flush_ios)
}
