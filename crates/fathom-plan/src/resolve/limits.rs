//! How much, how long, and how many at once.

use fathom_model::{EngineKind, Extent, Limits, Nanos, Pattern, Queue};

use super::bounds::{DEEPEST_QUEUE, LONGEST_TIME, within};
use super::job::View;
use super::report::Report;
use super::steady;

/// Resolves amounts and times.
pub(crate) fn resolve(view: &View<'_>, pattern: &Pattern, report: &mut Report) -> Limits {
    let settings = view.settings;
    let runtime = time(view, "runtime", report);
    let io_size = view
        .extent("io_size", report)
        .filter(|extent| !is_nothing(*extent));
    check_size(view, pattern, report);
    Limits {
        io_size,
        ios: Some(settings.number("number_ios", 0)).filter(|n| *n > 0),
        loops: settings.number("loops", 1).max(1),
        time_based: time_based(view, runtime, report),
        runtime,
        ramp: time(view, "ramp_time", report).unwrap_or(Nanos::ZERO),
        steady: steady::resolve(view, report),
    }
}

fn is_nothing(extent: Extent) -> bool {
    matches!(extent, Extent::Percent(0))
        || matches!(extent, Extent::Bytes(bytes) if bytes.is_zero())
}

/// A time that is not zero.
fn time(view: &View<'_>, option: &'static str, report: &mut Report) -> Option<Nanos> {
    let nanos = view.settings.number(option, 0);
    let nanos = within(view, option, nanos, LONGEST_TIME, "nanoseconds", report);
    (nanos > 0).then(|| Nanos::new(nanos))
}

fn time_based(view: &View<'_>, runtime: Option<Nanos>, report: &mut Report) -> bool {
    let asked = view.settings.switch("time_based");
    if asked && runtime.is_none() {
        report.push(
            view.warning("time_based", "does nothing without a runtime")
                .advise("set runtime=30s, for example"),
        );
    }
    asked && runtime.is_some()
}

fn check_size(view: &View<'_>, pattern: &Pattern, report: &mut Report) {
    let Some(crate::values::Size::Bytes(size)) = view
        .settings
        .extent("size")
        .filter(|_| !report.has_errors())
    else {
        return;
    };
    let used = pattern
        .block_size
        .iter()
        .filter(|(direction, _)| pattern.traffic.uses(*direction));
    let smallest = used
        .map(|(_, sizes)| u64::from(sizes.min()))
        .min()
        .unwrap_or(0);
    if size > 0 && size < smallest {
        report.push(
            view.error(
                "size",
                format!("{size} bytes is less than one block of {smallest} bytes"),
            )
            .advise("make size at least bs"),
        );
    }
}

/// io_submit(2) of more than two holds all of them back until the last is made (AIO_PLUG_THRESHOLD in fs/aio.c), which took a
/// disk 3 % of its IOPS at depth 32.
fn largest_batch(engine: EngineKind) -> u32 {
    if engine == EngineKind::Libaio {
        2
    } else {
        u32::MAX
    }
}

/// Resolves the queue: batches follow the depth where nothing else is said, so that one system call carries what is ready.
pub(crate) fn queue(view: &View<'_>, engine: EngineKind, report: &mut Report) -> Queue {
    let depth = within(
        view,
        "iodepth",
        view.settings.number("iodepth", 1),
        DEEPEST_QUEUE,
        "in flight",
        report,
    ) as u32;
    let to_depth = |n: u32| if n == 0 || n > depth { depth } else { n };
    let complete_min = view
        .settings
        .small("iodepth_batch_complete_min", 1)
        .min(depth);
    // An eighth of the queue at once: a whole queue in one system call leaves a fast device idle while it is built and
    // blurs when each I/O was handed over; one I/O in each costs more CPU (docs/benchmarks.md).
    // fio hands over and reaps one by one unless told otherwise; that also decides how a latency falls into slat and clat.
    let (batch, most) = if view.is_fio() {
        (1, complete_min)
    } else {
        ((depth / 8).clamp(1, largest_batch(engine)), depth)
    };
    Queue {
        depth,
        batch_submit: to_depth(view.settings.small("iodepth_batch", batch)),
        batch_complete_min: complete_min,
        batch_complete_max: to_depth(view.settings.small("iodepth_batch_complete_max", most))
            .max(complete_min),
        low: to_depth(view.settings.small("iodepth_low", 0)),
    }
}
