//! What is written.

use fathom_model::{DedupeSet, Direction, Fill, Pattern, PatternPart, Payload};

use super::job::View;
use crate::values::Value;

/// Resolves the content of buffers.
pub(crate) fn resolve(view: &View<'_>, io: &Pattern) -> Payload {
    let settings = view.settings;
    let percent = settings.small("buffer_compress_percentage", 0).min(100) as u8;
    let pattern = pattern(view, "buffer_pattern");
    let dedupe_percent = settings.small("dedupe_percentage", 0).min(100) as u8;
    let fill = fill(view, percent, pattern);
    let scramble =
        settings.switch("scramble_buffers") && !matches!(fill, Fill::Pattern(_) | Fill::Zeroes);
    let refill = refill(view, io, percent, dedupe_percent);
    Payload {
        refill,
        scramble,
        dedupe_percent,
        dedupe_set: dedupe_set(view),
        fill,
    }
}

/// fio shares only sets: `dedupe_global` means nothing where blocks of the job itself are repeated.
fn dedupe_set(view: &View<'_>) -> Option<DedupeSet> {
    let settings = view.settings;
    let percent = settings
        .small("dedupe_working_set_percentage", 5)
        .clamp(1, 100) as u8;
    let shared = settings.switch("dedupe_global");
    (settings.choice("dedupe_mode", "repeat").0 == "working_set")
        .then_some(DedupeSet { percent, shared })
}

/// The bytes of the last setting of `option`; empty when it was not set.
pub(crate) fn pattern(view: &View<'_>, option: &'static str) -> Vec<PatternPart> {
    match view.settings.last(option).map(|setting| &setting.value) {
        Some(Value::Pattern(parts)) => parts.clone(),
        _ => Vec::new(),
    }
}

fn fill(view: &View<'_>, percent: u8, pattern: Vec<PatternPart>) -> Fill {
    let zeroes_later =
        view.settings.position("zero_buffers") > view.settings.position("buffer_pattern");
    let zeroes = view.settings.switch("zero_buffers") && (pattern.is_empty() || zeroes_later);
    match percent {
        0 if zeroes => Fill::Zeroes,
        0 if pattern.is_empty() => Fill::Random,
        0 => Fill::Pattern(pattern),
        // fio writes zeros when everything is to compress away.
        100 if pattern.is_empty() => Fill::Zeroes,
        percent => Fill::Compressible {
            percent,
            chunk: view.settings.small("buffer_compress_chunk", 512),
            pattern,
        },
    }
}

/// fio refills when it must: for partly compressible or repeated content, a pattern in a job that also reads, or
/// verification; a plain pattern is filled once.
fn refill(view: &View<'_>, io: &Pattern, percent: u8, dedupe: u8) -> bool {
    let settings = view.settings;
    if settings.is_set("refill_buffers")
        && settings.position("refill_buffers") > settings.position("buffer_pattern")
    {
        return settings.switch("refill_buffers") || dedupe > 0;
    }
    if !view.is_fio()
        && ![
            "refill_buffers",
            "scramble_buffers",
            "buffer_pattern",
            "zero_buffers",
        ]
        .iter()
        .any(|name| settings.is_set(name))
    {
        // Fresh data in every write costs a fraction of a microsecond and fools no device that compresses or compares.
        return true;
    }
    let by_pattern = settings.is_set("buffer_pattern") && io.traffic.uses(Direction::Read);
    (1..100).contains(&percent) || dedupe > 0 || by_pattern || super::verify::kind(view).is_some()
}
