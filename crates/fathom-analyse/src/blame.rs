//! The blame sheet in sentences, and what findings take from it.

use fathom_model::{BlameGroup, BlamePhase, BlameRank, BlameRecording, BlameRow, BlameSheet};

use crate::figures::{count, duration, percent};

/// An other is named if it had requests in the device for at least this share of the time of the I/Os there.
const LEAST_BESIDE: f64 = 0.2;
/// A second phase is named from this share on.
const SECOND_PHASE: f64 = 0.2;

/// The sheet with its sentences.
pub(crate) fn blame_sheet(recording: &BlameRecording) -> BlameSheet {
    let mut sentences = Vec::new();
    if let Some(group) = recording.groups.first() {
        sentences.extend(
            group
                .row(BlameRank::SlowestPercent)
                .map(|row| sentence(recording, row)),
        );
        sentences.extend(unjoined(recording, group));
    }
    sentences.extend(recording.messages.iter().cloned());
    BlameSheet {
        recording: recording.clone(),
        sentences,
    }
}

/// `Of the slowest 1 %, 92 % of the time passed in the scheduler's queue behind 1 MiB writes of PID 1234 (rsync).`
pub(crate) fn sentence(recording: &BlameRecording, row: &BlameRow) -> String {
    let first = row.phases.largest();
    let mut text = format!(
        "Of {}, {} of the time passed {}",
        row.rank.text(),
        percent(row.phases.share(first) * 100.0),
        first.place(),
    );
    if in_block_layer(first)
        && let Some(other) = main_other(recording, row)
    {
        text += if first == BlamePhase::Device {
            " beside "
        } else {
            " behind "
        };
        text += &recording.others[other].text();
        text += &format!(
            ", which had requests there {} of that time",
            percent(row.beside(other) * 100.0)
        );
    }
    let second = BlamePhase::ALL
        .iter()
        .filter(|phase| **phase != first)
        .max_by_key(|phase| row.phases.of(**phase));
    if let Some(second) = second.filter(|phase| row.phases.share(**phase) >= SECOND_PHASE) {
        text += &format!(
            ", {} {}",
            percent(row.phases.share(*second) * 100.0),
            second.place()
        );
    }
    text += &format!(" ({} on average).", duration(row.mean_ns()));
    text
}

/// Whether an I/O in this phase can wait for requests of others.
pub(crate) fn in_block_layer(phase: BlamePhase) -> bool {
    matches!(
        phase,
        BlamePhase::BlockLayer | BlamePhase::Scheduler | BlamePhase::Device
    )
}

/// Whoever had requests in the device for the largest part of the time of these I/Os.
pub(crate) fn main_other(recording: &BlameRecording, row: &BlameRow) -> Option<usize> {
    (0..recording.others.len())
        .max_by(|a, b| row.beside(*a).total_cmp(&row.beside(*b)))
        .filter(|index| row.beside(*index) >= LEAST_BESIDE)
}

fn unjoined(recording: &BlameRecording, group: &BlameGroup) -> Option<String> {
    let missing = group.unjoined.total();
    if missing == 0 && group.joined > 0 {
        return None;
    }
    if missing == 0 {
        return Some("No I/O of the load completed in the measured time.".to_owned());
    }
    let reasons: Vec<String> = group
        .unjoined
        .reasons()
        .into_iter()
        .filter(|(_, _, ios)| *ios > 0)
        .map(|(_, text, ios)| format!("{} {text}", count(ios)))
        .collect();
    let lost = match recording.lost_events {
        0 => String::new(),
        lost => format!("; the kernel lost {} events", count(lost)),
    };
    Some(format!(
        "{} of {} I/Os could not be joined with their requests ({}{lost}).",
        count(missing),
        count(missing + group.joined),
        reasons.join(", "),
    ))
}
