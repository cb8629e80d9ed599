//! The status line, in fio's layout and in fathom's.

use fathom_model::{Direction, JobPattern, JobPhase, Nanos, Personality, Progress};

use crate::fio_number::{FIGURES, Prefix, bytes, floor, shorten};
use fathom_model::format::{duration, thousands};

/// The line for a terminal `width` columns wide, without return or line end; never wider.
///
/// With [`Personality::Fio`]: `Jobs: 1 (f=1): [r(1)][50.0%][r=391MiB/s][r=100k IOPS][eta 00m:05s]`.
/// With [`Personality::Fathom`] it names the phase, and shows bytes laid out, lateness and failures.
#[must_use]
pub fn live_line(progress: &Progress, personality: Personality, width: usize) -> String {
    let line = match personality {
        Personality::Fio => fio_line(progress),
        Personality::Fathom => fitting_line(progress, width),
    };
    line.chars().take(width).collect()
}

/// The status without its least important parts, so that it fits and no word is cut.
pub(crate) fn fitting_line(progress: &Progress, width: usize) -> String {
    let mut parts = parts(progress);
    loop {
        let line = parts
            .iter()
            .map(|(_, text)| text.as_str())
            .collect::<Vec<_>>()
            .join(", ");
        let least = (0..parts.len()).max_by_key(|at| (parts[*at].0, *at));
        match least {
            Some(least) if line.chars().count() > width && parts.len() > 1 => {
                parts.remove(least);
            }
            _ => return line,
        }
    }
}

/// One line for output that is not a terminal, with the elapsed time first and a line feed at the end.
#[must_use]
pub fn plain_line(progress: &Progress) -> String {
    format!(
        "{}: {}\n",
        clock_text(progress.elapsed),
        fitting_line(progress, usize::MAX)
    )
}

fn fio_line(progress: &Progress) -> String {
    let mut line = format!("Jobs: {} (f={})", running(progress), progress.open_files);
    if running(progress) == 0 {
        return line;
    }
    line += &format!(
        ": [{}][{}]{}",
        letters(&progress.jobs),
        percent(progress),
        rates(progress)
    );
    line + &format!("[eta {}]", left(progress).map_or("--".into(), clock_text))
}

/// Number of jobs that have started and not ended.
fn running(progress: &Progress) -> usize {
    let over =
        |phase: &&JobPhase| !matches!(phase, JobPhase::Waiting | JobPhase::Done | JobPhase::Failed);
    progress.jobs.iter().filter(over).count()
}

/// Neighbouring jobs in the same state share a letter: `P(1),r(3)`.
fn letters(jobs: &[JobPhase]) -> String {
    let runs = jobs.chunk_by(|a, b| letter(*a) == letter(*b));
    runs.map(|run| format!("{}({})", letter(run[0]), run.len()))
        .collect::<Vec<_>>()
        .join(",")
}

/// fio's letters; layout is part of its setup, `I`.
fn letter(phase: JobPhase) -> char {
    match phase {
        JobPhase::Waiting => 'P',
        JobPhase::Preparing | JobPhase::LayingOut => 'I',
        JobPhase::WarmingUp => '/',
        JobPhase::Running(pattern) => pattern_letter(pattern),
        JobPhase::Verifying => 'V',
        JobPhase::Syncing => 'F',
        JobPhase::Finishing => 'f',
        JobPhase::Done => '_',
        JobPhase::Failed => 'X',
    }
}

fn pattern_letter(pattern: JobPattern) -> char {
    let small = match (pattern.reads, pattern.writes) {
        (true, true) => 'm',
        (true, false) => 'r',
        (false, true) => 'w',
        (false, false) => 'd',
    };
    if pattern.random {
        small
    } else {
        small.to_ascii_uppercase()
    }
}

fn percent(progress: &Progress) -> String {
    let warming = progress
        .jobs
        .iter()
        .all(|phase| !matches!(phase, JobPhase::Running(_)));
    match progress.expected {
        Some(expected) if !expected.is_zero() && !warming => {
            format!(
                "{:.1}%",
                (progress.elapsed.as_secs_f64() / expected.as_secs_f64() * 100.0).min(100.0)
            )
        }
        _ => "-.-%".into(),
    }
}

fn left(progress: &Progress) -> Option<Nanos> {
    progress
        .expected
        .map(|expected| expected.saturating_sub(progress.elapsed))
}

/// `[r=391MiB/s][r=100k IOPS]`; empty without I/O.
fn rates(progress: &Progress) -> String {
    let moving = || {
        progress
            .rates
            .iter()
            .filter(|(_, rate)| rate.bandwidth >= 1.0 || rate.iops >= 1.0)
    };
    if moving().next().is_none() {
        return String::new();
    }
    let bandwidth = |per_second: f64| shorten(floor(per_second) / 1024, FIGURES, 1, Prefix::Iec);
    let bandwidths =
        moving().map(|(way, rate)| format!("{}={}B/s", initial(way), bandwidth(rate.bandwidth)));
    let iops = moving().map(|(way, rate)| {
        format!(
            "{}={}",
            initial(way),
            shorten(floor(rate.iops), FIGURES, 0, Prefix::Si)
        )
    });
    let join = |parts: Vec<String>| parts.join(",");
    format!(
        "[{}][{} IOPS]",
        join(bandwidths.collect()),
        join(iops.collect())
    )
}

fn initial(direction: Direction) -> &'static str {
    &direction.name()[..1]
}

/// `00m:05s`, with hours and days only when there are some.
fn clock_text(time: Nanos) -> String {
    let s = time.get() / 1_000_000_000;
    let (days, hours, minutes, seconds) = (s / 86_400, s / 3600 % 24, s / 60 % 60, s % 60);
    match (days, hours) {
        (0, 0) => format!("{minutes:02}m:{seconds:02}s"),
        (0, _) => format!("{hours:02}h:{minutes:02}m:{seconds:02}s"),
        _ => format!("{days:02}d:{hours:02}h:{minutes:02}m:{seconds:02}s"),
    }
}

/// The parts of the status. Those with a higher number are left out first.
fn parts(progress: &Progress) -> Vec<(u8, String)> {
    let mut parts = vec![(0, phase_text(progress))];
    if let Some((done, all)) = progress.layout {
        let text = format!(
            "{} of {}",
            bytes(done.get(), Prefix::Iec),
            bytes(all.get(), Prefix::Iec)
        );
        parts.push((2, text));
    }
    parts.extend((percent(progress) != "-.-%").then(|| (3, percent(progress))));
    parts.extend(
        progress
            .rates
            .iter()
            .filter(|(_, rate)| rate.iops >= 1.0)
            .map(|(way, rate)| {
                let moved = bytes(floor(rate.bandwidth), Prefix::Iec);
                let text = format!(
                    "{} {moved}/s {} IOPS",
                    way.name(),
                    shorten(floor(rate.iops), FIGURES, 0, Prefix::Si)
                );
                (4, text)
            }),
    );
    // Less than a millisecond comes from the sleep of the generator, not from a growing queue.
    let late = progress.lateness.filter(|late| late.get() >= 1_000_000);
    parts.extend(late.map(|late| (5, format!("{} late", duration(late.get() as f64)))));
    parts.extend(
        (progress.failed > 0).then(|| (1, format!("{} failed", thousands(progress.failed)))),
    );
    parts.extend(left(progress).map(|left| (2, format!("eta {}", clock_text(left)))));
    parts
}

/// The earliest phase of any running job.
fn phase_text(progress: &Progress) -> String {
    let jobs =
        |wanted: fn(&JobPhase) -> bool| progress.jobs.iter().filter(|phase| wanted(phase)).count();
    let phases: [(&str, usize); 7] = [
        (
            "laying out",
            jobs(|phase| matches!(phase, JobPhase::LayingOut)),
        ),
        (
            "warming up",
            jobs(|phase| matches!(phase, JobPhase::WarmingUp)),
        ),
        (
            "running",
            jobs(|phase| matches!(phase, JobPhase::Running(_))),
        ),
        (
            "verifying",
            jobs(|phase| matches!(phase, JobPhase::Verifying)),
        ),
        ("syncing", jobs(|phase| matches!(phase, JobPhase::Syncing))),
        (
            "preparing",
            jobs(|phase| matches!(phase, JobPhase::Preparing)),
        ),
        (
            "finishing",
            jobs(|phase| matches!(phase, JobPhase::Finishing)),
        ),
    ];
    let all = progress.jobs.len();
    match phases.iter().find(|(_, count)| *count > 0) {
        Some((word, count)) if all > 1 => format!("{word} {count} of {all} jobs"),
        Some((word, _)) => (*word).into(),
        None => "waiting".into(),
    }
}

#[cfg(test)]
mod tests {
    use fathom_model::{Bytes, LiveRate, PerDirection};

    use super::*;

    fn reading() -> Progress {
        let pattern = JobPattern {
            random: true,
            reads: true,
            writes: false,
            trims: false,
        };
        let mut rates = PerDirection::<LiveRate>::default();
        rates[Direction::Read] = LiveRate {
            bandwidth: 409_600_000.0,
            iops: 100_000.0,
        };
        Progress {
            jobs: vec![JobPhase::Running(pattern)],
            open_files: 1,
            elapsed: Nanos::from_secs(5),
            expected: Some(Nanos::from_secs(10)),
            rates,
            ..Progress::default()
        }
    }

    #[test]
    fn fios_line() {
        let line = "Jobs: 1 (f=1): [r(1)][50.0%][r=391MiB/s][r=100k IOPS][eta 00m:05s]";
        assert_eq!(live_line(&reading(), Personality::Fio, 100), line);
        assert_eq!(live_line(&reading(), Personality::Fio, 20), &line[..20]);
    }

    #[test]
    fn letters_are_grouped_and_ramps_have_no_percentage() {
        let mut progress = reading();
        progress.jobs = vec![
            JobPhase::Done,
            JobPhase::WarmingUp,
            JobPhase::WarmingUp,
            JobPhase::Waiting,
        ];
        progress.expected = None;
        progress.rates = PerDirection::default();
        assert_eq!(
            live_line(&progress, Personality::Fio, 100),
            "Jobs: 2 (f=1): [_(1),/(2),P(1)][-.-%][eta --]"
        );
    }

    #[test]
    fn fathoms_line_names_the_phase_and_errors() {
        let mut progress = reading();
        progress.lateness = Some(Nanos::from_millis(12));
        progress.failed = 3;
        let line = "running, 50.0%, read 391MiB/s 100k IOPS, 12.0 ms late, 3 failed, eta 00m:05s";
        assert_eq!(live_line(&progress, Personality::Fathom, 100), line);
        assert_eq!(plain_line(&progress), format!("00m:05s: {line}\n"));
        let layout = Progress {
            jobs: vec![JobPhase::LayingOut, JobPhase::Waiting],
            layout: Some((Bytes::from_mib(512), Bytes::from_mib(1024))),
            ..Progress::default()
        };
        assert_eq!(
            live_line(&layout, Personality::Fathom, 100),
            "laying out 1 of 2 jobs, 512MiB of 1024MiB"
        );
    }

    /// The rest of the expected time, with minutes, hours and days; nothing once it is over.
    #[test]
    fn the_eta_is_what_the_expected_time_has_left() {
        for (elapsed, expected, eta) in [
            (0, 10, "00m:10s"),
            (59, 100, "00m:41s"),
            (61, 100, "00m:39s"),
            (600, 3600, "50m:00s"),
            (3_600, 10_800, "02h:00m:00s"),
            (3_661, 100_000, "01d:02h:45m:39s"),
            (120, 120, "00m:00s"),
            (130, 120, "00m:00s"),
        ] {
            let progress = Progress {
                elapsed: Nanos::from_secs(elapsed),
                expected: Some(Nanos::from_secs(expected)),
                ..reading()
            };
            for (personality, end) in [
                (Personality::Fio, format!("[eta {eta}]")),
                (Personality::Fathom, format!(", eta {eta}")),
            ] {
                let line = live_line(&progress, personality, 200);
                assert!(line.ends_with(&end), "{line}: {end}");
            }
        }
    }

    /// Regression 0409: lines for narrow terminals ended within a word.
    #[test]
    fn no_width_cuts_a_word() {
        let mut progress = reading();
        progress.lateness = Some(Nanos::from_millis(12));
        progress.failed = 3;
        let whole = live_line(&progress, Personality::Fathom, 200);
        let words: Vec<&str> = whole.split(", ").collect();
        for width in 40..=200 {
            let line = live_line(&progress, Personality::Fathom, width);
            assert!(line.chars().count() <= width, "{width}: {line}");
            assert!(
                line.split(", ").all(|part| words.contains(&part)),
                "{width}: {line}"
            );
        }
        assert_eq!(
            live_line(&progress, Personality::Fathom, 40),
            "running, 50.0%, 3 failed, eta 00m:05s"
        );
    }

    #[test]
    fn an_empty_run_has_a_line_too() {
        assert_eq!(
            live_line(&Progress::default(), Personality::Fio, 80),
            "Jobs: 0 (f=0)"
        );
        assert_eq!(
            live_line(&Progress::default(), Personality::Fathom, 80),
            "waiting"
        );
    }
}
