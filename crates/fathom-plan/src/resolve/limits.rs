//! Amount of I/O, runtime, and queue depth.

use fathom_model::{EngineKind, Extent, Limits, Nanos, Pattern, Queue};

use super::diagnostics::Diagnostics;
use super::job::{JobView, within};
use super::steady;
use crate::limits::{MAX_QUEUE_DEPTH, MAX_TIME};
use crate::options::table as opt;
use crate::options::{JobOption, Number};

/// Resolves amounts and times.
pub(crate) fn resolve(
    view: &JobView<'_>,
    pattern: &Pattern,
    diagnostics: &mut Diagnostics,
) -> Limits {
    let settings = view.settings;
    let runtime = time(view, opt::RUNTIME, diagnostics);
    let io_size = view
        .extent(opt::IO_SIZE, diagnostics)
        .filter(|extent| !is_nothing(*extent));
    check_size(view, pattern, diagnostics);
    Limits {
        io_size,
        ios: Some(settings.get(opt::NUMBER_IOS)).filter(|n| *n > 0),
        loops: settings.get(opt::LOOPS).max(1),
        time_based: time_based(view, runtime, diagnostics),
        runtime,
        ramp: time(view, opt::RAMP_TIME, diagnostics).unwrap_or(Nanos::ZERO),
        steady: steady::resolve(view, diagnostics),
    }
}

fn is_nothing(extent: Extent) -> bool {
    matches!(extent, Extent::Percent(0))
        || matches!(extent, Extent::Bytes(bytes) if bytes.is_zero())
}

/// A time that is not zero.
fn time(
    view: &JobView<'_>,
    option: JobOption<Number>,
    diagnostics: &mut Diagnostics,
) -> Option<Nanos> {
    let nanos = view.settings.get(option);
    let nanos = within(view, option, nanos, MAX_TIME, "nanoseconds", diagnostics);
    (nanos > 0).then(|| Nanos::new(nanos))
}

fn time_based(view: &JobView<'_>, runtime: Option<Nanos>, diagnostics: &mut Diagnostics) -> bool {
    let time_based = view.settings.get(opt::TIME_BASED);
    if time_based && runtime.is_none() {
        diagnostics.push(
            view.warning(opt::TIME_BASED, "has no effect without runtime")
                .advise("for example runtime=30s"),
        );
    }
    time_based && runtime.is_some()
}

fn check_size(view: &JobView<'_>, pattern: &Pattern, diagnostics: &mut Diagnostics) {
    let Some(crate::values::Size::Bytes(size)) = view
        .settings
        .given(opt::SIZE)
        .filter(|_| !diagnostics.has_errors())
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
        diagnostics.push(
            view.error(
                opt::SIZE,
                format!("{size} bytes is less than one block ({smallest} bytes)"),
            )
            .advise("make size at least bs"),
        );
    }
}

/// io_submit(2) of more than two I/Os holds all of them back until the last one is prepared (AIO_PLUG_THRESHOLD in fs/aio.c),
/// which cost a disk 3 % of its IOPS at depth 32.
fn largest_batch(engine: EngineKind) -> u32 {
    if engine == EngineKind::Libaio {
        2
    } else {
        u32::MAX
    }
}

/// Resolves the queue. Batch sizes follow the depth by default, so that one system call submits what is ready.
pub(crate) fn queue(
    view: &JobView<'_>,
    engine: EngineKind,
    diagnostics: &mut Diagnostics,
) -> Queue {
    let depth = within(
        view,
        opt::IODEPTH,
        view.settings.get(opt::IODEPTH),
        MAX_QUEUE_DEPTH,
        "I/Os in flight",
        diagnostics,
    ) as u32;
    let to_depth = |n: u32| if n == 0 || n > depth { depth } else { n };
    let complete_min = view
        .settings
        .get_u32(opt::IODEPTH_BATCH_COMPLETE_MIN)
        .min(depth);
    // An eighth of the queue at once: submitting a whole queue in one system call leaves a fast device idle meanwhile and
    // blurs the submission times; one I/O in each costs more CPU (docs/benchmarks.md).
    // fio submits and reaps one by one by default, which also decides how a latency is divided into slat and clat.
    let (batch_submit, batch_complete) = if view.is_fio() {
        (1, complete_min)
    } else {
        ((depth / 8).clamp(1, largest_batch(engine)), depth)
    };
    Queue {
        depth,
        batch_submit: to_depth(
            view.settings
                .given_u32(opt::IODEPTH_BATCH)
                .unwrap_or(batch_submit),
        ),
        batch_complete_min: complete_min,
        batch_complete_max: to_depth(
            view.settings
                .given_u32(opt::IODEPTH_BATCH_COMPLETE_MAX)
                .unwrap_or(batch_complete),
        )
        .max(complete_min),
        low: to_depth(view.settings.get_u32(opt::IODEPTH_LOW)),
    }
}
