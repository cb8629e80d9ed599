//! Describes wrong blocks: class, position, write and time.

use fathom_model::{Damage, DamageClass, DamageCounts, RereadResult, WriteIdentity};

use crate::figures::{bytes, count, duration};

/// `3 lost writes, 1 torn block`: the classes by number, highest first.
pub(crate) fn classes(counts: &DamageCounts) -> String {
    let mut seen: Vec<_> = counts.nonzero().collect();
    seen.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
    let parts: Vec<_> = seen
        .into_iter()
        .map(|(class, n)| format!("{} {}", count(n), class.name()))
        .collect();
    parts.join(", ")
}

/// Describes one wrong block. Times are relative to the start of the run, `started` nanoseconds
/// since 1970.
pub(crate) fn sentence(damage: &Damage, started: u64) -> String {
    let Damage {
        class,
        path,
        offset,
        len,
        sectors,
        ..
    } = damage;
    let whole = sectors.1 * 512 >= *len;
    let part = if whole {
        String::new()
    } else {
        format!(
            ", sectors {} to {} of it",
            sectors.0,
            sectors.0 + sectors.1 - 1
        )
    };
    let mut text = format!(
        "{} at byte {} of {} ({}{part})",
        class.name(),
        count(*offset),
        path.display(),
        bytes((*len).into())
    );
    let parts = [
        writes(damage, started),
        other_position(damage),
        damage.detail.clone(),
        second_read(damage.reread).to_owned(),
    ];
    for (n, part) in parts
        .into_iter()
        .filter(|part| !part.is_empty())
        .enumerate()
    {
        text += if n == 0 { ": " } else { "; " };
        text += &part;
    }
    text
}

fn writes(damage: &Damage, started: u64) -> String {
    let one = |what: &str, mark: &Option<WriteIdentity>| {
        mark.map(|mark| format!("{what} {}", write(&mark, damage, started)))
    };
    let all: Vec<_> = [
        one("expected", &damage.expected),
        one("found", &damage.found),
    ]
    .into_iter()
    .flatten()
    .collect();
    all.join(", ")
}

/// `generation 3 (write 49,153, written at 2.310 s)`; includes the run if it is another one.
fn write(mark: &WriteIdentity, damage: &Damage, started: u64) -> String {
    let generation = if mark.generation > 0 {
        format!("generation {} ", mark.generation)
    } else {
        String::new()
    };
    let foreign = damage.class == DamageClass::OtherRun || damage.class == DamageClass::OtherTarget;
    let run = if foreign {
        format!(" of job {} of run {:016x}", mark.job, mark.run)
    } else {
        String::new()
    };
    let when = mark.when_unix_ns.map_or(String::new(), |when| {
        format!(", written {}", moment(when, started))
    });
    format!("{generation}(write {}{run}{when})", count(mark.number))
}

fn moment(when: u64, started: u64) -> String {
    match when.checked_sub(started) {
        Some(since) => format!("{:.3} s into the run", since as f64 / 1e9),
        None => format!("{} before the run", duration((started - when) as f64)),
    }
}

fn other_position(damage: &Damage) -> String {
    let Some((path, offset)) = &damage.elsewhere else {
        return String::new();
    };
    let other = if *path == damage.path {
        String::new()
    } else {
        format!(" of {}", path.display())
    };
    match damage.found {
        Some(_) => format!("the data belongs at byte {}{other}", count(*offset)),
        None => format!("its data is at byte {}{other}", count(*offset)),
    }
}

fn second_read(second: RereadResult) -> &'static str {
    match second {
        RereadResult::Same => "a second read returned the same bytes, so they are stored like this",
        RereadResult::Good => {
            "a second read was correct, so the stored data is good and the read path is at fault"
        }
        RereadResult::Changed => "a second read returned other bytes, also wrong",
        RereadResult::NotTried => "",
    }
}

/// The cause of the most frequent class, for the advice.
pub(crate) fn cause(counts: &DamageCounts) -> Option<String> {
    let (class, _) = counts.nonzero().max_by_key(|(_, n)| *n)?;
    Some(format!(
        "{}: mostly {}.",
        class.name(),
        class.likely_cause()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: u64 = 1_700_000_000_000_000_000;

    fn mark(generation: u32, number: u64, when: Option<u64>) -> Option<WriteIdentity> {
        Some(WriteIdentity {
            run: 0xabc,
            job: 1,
            generation,
            number,
            when_unix_ns: when,
        })
    }

    fn lost() -> Damage {
        Damage {
            class: DamageClass::LostWrite,
            path: "/mnt/x".into(),
            offset: 1 << 20,
            len: 4096,
            sectors: (0, 8),
            expected: mark(3, 49_153, Some(START + 2_310_000_000)),
            found: mark(2, 32_790, Some(START + 1_001_000_000)),
            elsewhere: None,
            reread: RereadResult::Same,
            detail: String::new(),
        }
    }

    #[test]
    fn a_lost_write_is_described_with_position_generations_and_times() {
        assert_eq!(
            sentence(&lost(), START),
            "lost write at byte 1,048,576 of /mnt/x (4 KiB): expected generation 3 (write 49,153, written 2.310 s into the run), \
             found generation 2 (write 32,790, written 1.001 s into the run); a second read returned the same bytes, so they are stored like this"
        );
    }

    #[test]
    fn parts_places_and_other_runs_are_named() {
        let mut damage = Damage {
            class: DamageClass::OtherRun,
            sectors: (6, 2),
            reread: RereadResult::Good,
            ..lost()
        };
        damage.found = mark(1, 7, Some(START - 3_600_000_000_000));
        damage.elsewhere = Some(("/mnt/y".into(), 8192));
        let text = sentence(&damage, START);
        for part in [
            "sectors 6 to 7 of it",
            "of job 1 of run 0000000000000abc",
            "1.0 h before the run",
            "belongs at byte 8,192 of /mnt/y",
            "a second read was correct",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }
}
