//! The output of `--idle-prof`, as fio prints it.

use fathom_model::CpuIdleness;

use crate::tree::Object;

/// The text; after a run it begins with a blank line.
#[must_use]
pub fn idleness_text(idleness: &CpuIdleness) -> String {
    let mut lines = match idleness.system_percent {
        Some(system) => format!("\nCPU idleness:\n  system: {system:.2}%\n"),
        None => "CPU idleness:\n".to_owned(),
    };
    if !idleness.cpus_percent.is_empty() {
        let each: Vec<String> = idleness
            .cpus_percent
            .iter()
            .map(|percent| format!("{percent:.2}%"))
            .collect();
        lines += &format!("  percpu: {}\n", each.join(", "));
    }
    lines
        + &format!(
            "  unit work: mean={:.2}us, stddev={:.2}\n",
            idleness.unit_mean_us, idleness.unit_stddev_us
        )
}

/// The value of `cpu_idleness`.
pub(crate) fn idleness_object(idleness: &CpuIdleness) -> Object {
    let mut object = Object::new().with("system", idleness.system_percent.unwrap_or(0.0));
    for (cpu, percent) in idleness.cpus_percent.iter().enumerate() {
        object.push(format!("cpu-{cpu}"), *percent);
    }
    object
        .with("unit_mean", idleness.unit_mean_us)
        .with("unit_stddev", idleness.unit_stddev_us)
}
