//! I/O priorities: of the worker, and of single I/Os.

use fathom_model::{Direction, PerDirection, Priorities, PriorityShare};

use super::diagnostics::Diagnostics;
use super::job::JobView;
use crate::options::table as opt;
use crate::values::SizePriority;

/// IOPRIO_CLASS_RT and IOPRIO_CLASS_BE of ioprio_set(2).
const REAL_TIME: u64 = 1;
const BEST_EFFORT: u64 = 2;

/// Resolves `prio`, `cmdprio_percentage` and related options.
pub(crate) fn resolve(view: &JobView<'_>, diagnostics: &mut Diagnostics) -> Priorities {
    let settings = view.settings;
    let of_worker = [opt::PRIO, opt::PRIOCLASS, opt::PRIOHINT];
    let [level, class, hint] = of_worker.map(|option| settings.get(option));
    let worker = of_worker
        .iter()
        .any(|option| settings.is_set(*option))
        .then(|| encoded(class, level, hint));
    Priorities {
        worker,
        shares: shares(view, diagnostics),
    }
}

/// Class, level and hint as the kernel takes them; without a class, best effort as in fio.
fn encoded(class: u64, level: u64, hint: u64) -> u16 {
    let class = if class == 0 { BEST_EFFORT } else { class };
    (class << 13 | (hint & 1023) << 3 | (level & 7)) as u16
}

/// Of reads and writes; a trim has no priority of its own.
fn shares(view: &JobView<'_>, diagnostics: &mut Diagnostics) -> PerDirection<Vec<PriorityShare>> {
    let settings = view.settings;
    let percents = settings.get(opt::CMDPRIO_PERCENTAGE);
    let by_size = settings.given(opt::CMDPRIO_BSSPLIT);
    if by_size.is_some() && percents[..2].iter().any(|percent| *percent > 0) {
        let problem = view.error(
            opt::CMDPRIO_BSSPLIT,
            "cannot be combined with cmdprio_percentage",
        );
        diagnostics.push(problem.advise("keep one of the two"));
    }
    PerDirection::from_fn(|direction| {
        let default = default_priority(view, direction);
        match (direction, by_size) {
            (Direction::Trim, _) => Vec::new(),
            (_, Some(split)) => split[direction as usize]
                .iter()
                .map(|entry| of_size(entry, default))
                .collect(),
            (_, None) => {
                let percent = percents[direction as usize].min(100) as u8;
                if percent == 0 {
                    Vec::new()
                } else {
                    vec![PriorityShare {
                        size: None,
                        percent,
                        prio: default,
                    }]
                }
            }
        }
    })
}

/// The default priority of the I/Os of a share: real time.
fn default_priority(view: &JobView<'_>, direction: Direction) -> u16 {
    let [class, level, hint] = [opt::CMDPRIO_CLASS, opt::CMDPRIO, opt::CMDPRIO_HINT]
        .map(|option| view.settings.get(option)[direction as usize]);
    encoded(if class == 0 { REAL_TIME } else { class }, level, hint)
}

fn of_size(entry: &SizePriority, default: u16) -> PriorityShare {
    let prio = entry
        .priority
        .map_or(default, |(class, level, hint)| encoded(class, level, hint));
    PriorityShare {
        size: Some(u32::try_from(entry.size).unwrap_or(u32::MAX)),
        percent: entry.percent,
        prio,
    }
}
