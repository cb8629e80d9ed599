//! I/O priorities: of the worker, and of single I/Os.

use fathom_model::{Direction, PerDirection, Priorities, PriorityShare};

use super::job::View;
use super::report::Report;
use crate::values::{SizePriority, Value};

/// IOPRIO_CLASS_RT and IOPRIO_CLASS_BE of ioprio_set(2).
const REAL_TIME: u64 = 1;
const BEST_EFFORT: u64 = 2;

/// Resolves `prio`, `cmdprio_percentage` and their families.
pub(crate) fn resolve(view: &View<'_>, report: &mut Report) -> Priorities {
    let settings = view.settings;
    let of_worker = ["prio", "prioclass", "priohint"];
    let [level, class, hint] = of_worker.map(|option| settings.number(option, 0));
    let worker = of_worker
        .iter()
        .any(|option| settings.is_set(option))
        .then(|| encoded(class, level, hint));
    Priorities {
        worker,
        shares: shares(view, report),
    }
}

/// Class, level and hint as the kernel takes them; without a class, best effort as in fio.
fn encoded(class: u64, level: u64, hint: u64) -> u16 {
    let class = if class == 0 { BEST_EFFORT } else { class };
    (class << 13 | (hint & 1023) << 3 | (level & 7)) as u16
}

/// Of reads and writes; a trim has no priority of its own.
fn shares(view: &View<'_>, report: &mut Report) -> PerDirection<Vec<PriorityShare>> {
    let settings = view.settings;
    let percents = settings.three("cmdprio_percentage", 0);
    let by_size = settings
        .last("cmdprio_bssplit")
        .and_then(|setting| match &setting.value {
            Value::PrioritySplit(split) => Some(split),
            _ => None,
        });
    if by_size.is_some() && percents[..2].iter().any(|percent| *percent > 0) {
        let problem = view.error(
            "cmdprio_bssplit",
            "cannot be set together with cmdprio_percentage",
        );
        report.push(problem.advise("keep one of the two"));
    }
    PerDirection::from_fn(|direction| {
        let usual = implicit(view, direction);
        match (direction, by_size) {
            (Direction::Trim, _) => Vec::new(),
            (_, Some(split)) => split[direction as usize]
                .iter()
                .map(|entry| of_size(entry, usual))
                .collect(),
            (_, None) => {
                let percent = percents[direction as usize].min(100) as u8;
                if percent == 0 {
                    Vec::new()
                } else {
                    vec![PriorityShare {
                        size: None,
                        percent,
                        prio: usual,
                    }]
                }
            }
        }
    })
}

/// What an I/O of a share has where nothing else is said: real time.
fn implicit(view: &View<'_>, direction: Direction) -> u16 {
    let [class, level, hint] = ["cmdprio_class", "cmdprio", "cmdprio_hint"]
        .map(|option| view.settings.three(option, 0)[direction as usize]);
    encoded(if class == 0 { REAL_TIME } else { class }, level, hint)
}

fn of_size(entry: &SizePriority, usual: u16) -> PriorityShare {
    let prio = entry
        .priority
        .map_or(usual, |(class, level, hint)| encoded(class, level, hint));
    PriorityShare {
        size: Some(u32::try_from(entry.size).unwrap_or(u32::MAX)),
        percent: entry.percent,
        prio,
    }
}
