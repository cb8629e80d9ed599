//! `cmdprio_bssplit`: block sizes, the share of their I/Os with another priority, and that priority.

use super::context::{ParseContext, ValueError};
use super::split::{by_direction, percent, positive, try_map};

/// Maximum number of entries of one direction.
const MAX_ENTRIES: usize = 64;

/// One entry of `cmdprio_bssplit`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SizePriority {
    /// Block size, bytes.
    pub size: u64,
    /// Share of the I/Os of that size, percent.
    pub percent: u8,
    /// Class, level and hint; `None` is the priority of cmdprio_class, cmdprio and cmdprio_hint.
    pub priority: Option<(u64, u64, u64)>,
}

/// Parses `size/percent[/class/level[/hint]]:...` for reads, writes and trims.
///
/// # Errors
/// When an entry is invalid, or the shares of one size exceed 100.
pub(crate) fn size_priorities(
    text: &str,
    context: &mut ParseContext,
) -> Result<[Vec<SizePriority>; 3], ValueError> {
    try_map(by_direction(text)?, |part| parse_direction(part, context))
}

fn parse_direction(
    text: &str,
    context: &mut ParseContext,
) -> Result<Vec<SizePriority>, ValueError> {
    let mut entries: Vec<SizePriority> = Vec::new();
    for text in text.split(':').take_while(|entry| !entry.is_empty()) {
        if entries.len() == MAX_ENTRIES {
            return Err(ValueError::new(format!(
                "more than {MAX_ENTRIES} entries in one direction"
            )));
        }
        entries.push(entry(text, context)?);
    }
    for one in &entries {
        let sum: u32 = entries
            .iter()
            .filter(|other| other.size == one.size)
            .map(|other| u32::from(other.percent))
            .sum();
        if sum > 100 {
            let problem = format!("the shares of {} bytes add up to {sum} percent", one.size);
            return Err(ValueError::new(problem).advise("the sum must not exceed 100"));
        }
    }
    entries.retain(|entry| entry.percent > 0);
    Ok(entries)
}

fn entry(text: &str, context: &mut ParseContext) -> Result<SizePriority, ValueError> {
    let fields: Vec<&str> = text.split('/').collect();
    let priority = match fields[1..] {
        [] | [_] => None,
        [_, class, level] => Some((limited(class, 3)?, limited(level, 7)?, 0)),
        [_, class, level, hint] => {
            Some((limited(class, 3)?, limited(level, 7)?, limited(hint, 1023)?))
        }
        _ => {
            return Err(ValueError::new(format!("invalid entry '{text}'"))
                .advise("write size/percent or size/percent/class/level"));
        }
    };
    let share = percent(fields.get(1).unwrap_or(&""), context)?.unwrap_or(0);
    Ok(SizePriority {
        size: positive(fields[0], context)?,
        percent: share as u8,
        priority,
    })
}

/// As in fio, a number above the maximum becomes the maximum.
fn limited(text: &str, max: u64) -> Result<u64, ValueError> {
    let number: Option<u64> = text.trim().parse().ok();
    number
        .map(|n| n.min(max))
        .ok_or_else(|| ValueError::new(format!("invalid number '{text}'")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_model::Personality;

    fn read(text: &str) -> Result<[Vec<SizePriority>; 3], ValueError> {
        size_priorities(text, &mut ParseContext::new(Personality::Fio, 4))
    }

    #[test]
    fn entries_have_the_formats_of_the_manual() {
        let [reads, writes, _] =
            read("64k/25/1/1:64k/75/3/2:1024k/0,4k/10:8k/20/2/7/1023").expect("two directions");
        let entry = |size, percent, priority| SizePriority {
            size,
            percent,
            priority,
        };
        assert_eq!(
            reads,
            [
                entry(65536, 25, Some((1, 1, 0))),
                entry(65536, 75, Some((3, 2, 0)))
            ]
        );
        assert_eq!(
            writes,
            [entry(4096, 10, None), entry(8192, 20, Some((2, 7, 1023)))]
        );
    }

    #[test]
    fn invalid_entries_are_refused() {
        for text in [
            "4k/60:4k/50",
            "4k/10/1",
            "4k/10/x/1",
            "x/10",
            "4k/1/1/1/1/1",
        ] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
