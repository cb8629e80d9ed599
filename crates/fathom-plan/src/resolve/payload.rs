//! The data that is written.

use fathom_model::{DedupeSet, Direction, Fill, Pattern, PatternPart, Payload};

use super::job::JobView;
use crate::options::table as opt;
use crate::options::{JobOption, Pattern as PatternOption};

/// Resolves the content of buffers.
pub(crate) fn resolve(view: &JobView<'_>, io: &Pattern) -> Payload {
    let settings = view.settings;
    let percent = settings.get_u32(opt::BUFFER_COMPRESS_PERCENTAGE).min(100) as u8;
    let pattern = pattern(view, opt::BUFFER_PATTERN);
    let dedupe_percent = settings.get_u32(opt::DEDUPE_PERCENTAGE).min(100) as u8;
    let fill = fill(view, percent, pattern);
    let scramble =
        settings.get(opt::SCRAMBLE_BUFFERS) && !matches!(fill, Fill::Pattern(_) | Fill::Zeroes);
    let refill = refill(view, io, percent, dedupe_percent);
    Payload {
        refill,
        scramble,
        dedupe_percent,
        dedupe_set: dedupe_set(view),
        fill,
    }
}

/// fio shares only working sets: `dedupe_global` has no effect where blocks of the job itself are repeated.
fn dedupe_set(view: &JobView<'_>) -> Option<DedupeSet> {
    let settings = view.settings;
    let percent = settings
        .get_u32(opt::DEDUPE_WORKING_SET_PERCENTAGE)
        .clamp(1, 100) as u8;
    let shared = settings.get(opt::DEDUPE_GLOBAL);
    (settings.get(opt::DEDUPE_MODE) == "working_set").then_some(DedupeSet { percent, shared })
}

/// The bytes of `option`; empty when it is not set.
pub(crate) fn pattern(view: &JobView<'_>, option: JobOption<PatternOption>) -> Vec<PatternPart> {
    view.settings.given(option).unwrap_or_default().to_vec()
}

fn fill(view: &JobView<'_>, percent: u8, pattern: Vec<PatternPart>) -> Fill {
    let zeroes_later =
        view.settings.position(opt::ZERO_BUFFERS) > view.settings.position(opt::BUFFER_PATTERN);
    let zeroes = view.settings.get(opt::ZERO_BUFFERS) && (pattern.is_empty() || zeroes_later);
    match percent {
        0 if zeroes => Fill::Zeroes,
        0 if pattern.is_empty() => Fill::Random,
        0 => Fill::Pattern(pattern),
        // As in fio, fully compressible data is zeros.
        100 if pattern.is_empty() => Fill::Zeroes,
        percent => Fill::Compressible {
            percent,
            chunk: view.settings.get_u32(opt::BUFFER_COMPRESS_CHUNK),
            pattern,
        },
    }
}

/// fio refills where needed: for partly compressible or repeated content, a pattern in a job that also reads, or
/// verification. A plain pattern is filled once.
fn refill(view: &JobView<'_>, io: &Pattern, percent: u8, dedupe: u8) -> bool {
    let settings = view.settings;
    if settings.is_set(opt::REFILL_BUFFERS)
        && settings.position(opt::REFILL_BUFFERS) > settings.position(opt::BUFFER_PATTERN)
    {
        return settings.get(opt::REFILL_BUFFERS) || dedupe > 0;
    }
    if !view.is_fio()
        && ![
            opt::REFILL_BUFFERS.name(),
            opt::SCRAMBLE_BUFFERS.name(),
            opt::BUFFER_PATTERN.name(),
            opt::ZERO_BUFFERS.name(),
        ]
        .into_iter()
        .any(|option| settings.is_set(option))
    {
        // New data in every write costs a fraction of a microsecond, and devices that compress or deduplicate gain nothing.
        return true;
    }
    let by_pattern = settings.is_set(opt::BUFFER_PATTERN) && io.traffic.uses(Direction::Read);
    (1..100).contains(&percent) || dedupe > 0 || by_pattern || super::verify::kind(view).is_some()
}
