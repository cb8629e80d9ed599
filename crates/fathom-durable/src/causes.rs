//! The behaviour of the device that explains the result.

use serde::{Deserialize, Serialize};

use crate::certificate::grouped;
use crate::check::{CycleResult, StreamResult, Unreadable};
use crate::geometry::Method;

/// Acknowledgements at the end of a cycle up to which a loss counts as that of the last flushes.
const SHORT_TAIL: u64 = 64;
/// The share of the cycle, as a divisor, up to which a loss counts as that of the last flushes.
const SHORT_SHARE: u64 = 4;

/// The failure classes of Zheng et al., FAST 2013, section 2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FailureClass {
    /// Bits of a record changed.
    #[serde(rename = "bit corruption")]
    BitCorruption,
    /// A record is at the place of another one.
    #[serde(rename = "flying writes")]
    FlyingWrites,
    /// A record is there in part.
    #[serde(rename = "shorn writes")]
    ShornWrites,
    /// Structures that locate the data are damaged.
    #[serde(rename = "metadata corruption")]
    MetadataCorruption,
    /// The device does not respond.
    #[serde(rename = "dead device")]
    DeadDevice,
    /// The content is not that of any serial order of the writes.
    #[serde(rename = "unserializability")]
    Unserializability,
}

impl FailureClass {
    /// Its name in the paper.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            FailureClass::BitCorruption => "bit corruption",
            FailureClass::FlyingWrites => "flying writes",
            FailureClass::ShornWrites => "shorn writes",
            FailureClass::MetadataCorruption => "metadata corruption",
            FailureClass::DeadDevice => "dead device",
            FailureClass::Unserializability => "unserializability",
        }
    }
}

/// What the device, or a layer above it, does wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum CauseKind {
    /// It does not respond.
    #[serde(rename = "dead device")]
    DeadDevice,
    /// The file system cannot be read.
    #[serde(rename = "unreadable file system")]
    UnreadableFileSystem,
    /// It acknowledges a flush and does nothing.
    #[serde(rename = "flush ignored")]
    FlushIgnored,
    /// It acknowledges a flush and writes its cache in another order.
    #[serde(rename = "writes reordered")]
    WritesReordered,
    /// It acknowledges a write before all sectors are stored.
    #[serde(rename = "torn writes")]
    TornWrites,
    /// It treats a write with FUA as an ordinary write.
    #[serde(rename = "FUA ignored")]
    FuaIgnored,
    /// File sizes, names or extents are lost, the data is there.
    #[serde(rename = "metadata lost")]
    MetadataLost,
    /// It acknowledges a flush shortly before the data is stored.
    #[serde(rename = "last flushes dropped")]
    LastFlushesDropped,
    /// Content changed.
    #[serde(rename = "content changed")]
    ContentChanged,
    /// Writes went to other places.
    #[serde(rename = "writes misplaced")]
    WritesMisplaced,
}

impl CauseKind {
    /// Its name in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            CauseKind::DeadDevice => "dead device",
            CauseKind::UnreadableFileSystem => "unreadable file system",
            CauseKind::FlushIgnored => "flush ignored",
            CauseKind::WritesReordered => "writes reordered",
            CauseKind::TornWrites => "torn writes",
            CauseKind::FuaIgnored => "FUA ignored",
            CauseKind::MetadataLost => "metadata lost",
            CauseKind::LastFlushesDropped => "last flushes dropped",
            CauseKind::ContentChanged => "content changed",
            CauseKind::WritesMisplaced => "writes misplaced",
        }
    }

    /// Its failure class; a loss of the newest data in order has none in the paper.
    #[must_use]
    pub fn class(self) -> Option<FailureClass> {
        match self {
            CauseKind::DeadDevice => Some(FailureClass::DeadDevice),
            CauseKind::UnreadableFileSystem | CauseKind::MetadataLost => {
                Some(FailureClass::MetadataCorruption)
            }
            CauseKind::WritesReordered => Some(FailureClass::Unserializability),
            CauseKind::TornWrites => Some(FailureClass::ShornWrites),
            CauseKind::ContentChanged => Some(FailureClass::BitCorruption),
            CauseKind::WritesMisplaced => Some(FailureClass::FlyingWrites),
            CauseKind::FlushIgnored | CauseKind::FuaIgnored | CauseKind::LastFlushesDropped => None,
        }
    }
}

/// A behaviour that explains the result, with its evidence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cause {
    /// The behaviour.
    pub cause: CauseKind,
    /// Its failure class, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<FailureClass>,
    /// The observation, one sentence.
    pub evidence: String,
}

/// Sums over cycles and streams.
#[derive(Default)]
struct Totals {
    cycles: u64,
    lost: u64,
    out_of_order: u64,
}

impl Totals {
    fn of(cycles: &[CycleResult], select: impl Fn(&CycleResult, &StreamResult) -> bool) -> Totals {
        let mut totals = Totals::default();
        for cycle in cycles.iter().filter(|cycle| cycle.unreadable.is_none()) {
            let streams = cycle.streams.iter().filter(|stream| select(cycle, stream));
            let (mut lost, mut out_of_order) = (0, 0);
            for stream in streams {
                lost += stream.lost;
                out_of_order += stream.out_of_order;
            }
            totals.cycles += u64::from(lost > 0);
            totals.lost += lost;
            totals.out_of_order += out_of_order;
        }
        totals
    }
}

/// The behaviours that explain the results of all cycles; empty if no acknowledged commit is damaged.
///
/// Whole commits that are lost have one explanation, the first that fits: FUA ignored (only commits with FUA), metadata lost (no
/// commit that changes only data, while later ones are there), writes reordered (a commit is missing and one that began after its
/// acknowledgement is there), last flushes dropped (at most the last 64 acknowledgements and a quarter of the cycle), flush ignored.
#[must_use]
pub fn diagnose(cycles: &[CycleResult]) -> Vec<Cause> {
    let mut causes = Vec::new();
    let mut add = |cause: CauseKind, evidence: String| {
        causes.push(Cause {
            cause,
            class: cause.class(),
            evidence,
        });
    };
    let count = |kind| {
        let of_kind = cycles.iter().filter(|cycle| cycle.unreadable == Some(kind));
        of_kind.count()
    };
    let dead = count(Unreadable::Device);
    if dead > 0 {
        add(
            CauseKind::DeadDevice,
            format!("After {} the device did not respond.", cuts(dead as u64)),
        );
    }
    let unreadable = count(Unreadable::FileSystem);
    if unreadable > 0 {
        add(
            CauseKind::UnreadableFileSystem,
            format!(
                "After {} the file system could not be read, and with it every acknowledged commit.",
                cuts(unreadable as u64)
            ),
        );
    }
    let readable: Vec<&CycleResult> = cycles
        .iter()
        .filter(|cycle| cycle.unreadable.is_none())
        .collect();
    let sum = |of: fn(&StreamResult) -> u64| -> u64 { readable.iter().map(|c| c.sum(of)).sum() };
    let torn = [
        sum(|s| s.torn_512),
        sum(|s| s.torn_4k),
        sum(|s| s.torn_record),
    ];
    if torn.iter().sum::<u64>() > 0 {
        add(
            CauseKind::TornWrites,
            format!(
                "Acknowledged commits are there in part: {} torn at 512 bytes, {} at 4 KiB, {} between records.",
                torn[0], torn[1], torn[2]
            ),
        );
    }
    let changed = sum(|s| s.changed);
    if changed > 0 {
        add(
            CauseKind::ContentChanged,
            format!("{} with content that was not written.", commits(changed)),
        );
    }
    let misplaced = sum(|s| s.misplaced);
    if misplaced > 0 {
        add(
            CauseKind::WritesMisplaced,
            format!("{} with the content of another place.", commits(misplaced)),
        );
    }
    if let Some((cause, evidence)) = explain_losses(cycles) {
        add(cause, evidence);
    }
    causes
}

fn explain_losses(cycles: &[CycleResult]) -> Option<(CauseKind, String)> {
    let all = Totals::of(cycles, |_, _| true);
    if all.lost == 0 {
        return None;
    }
    let lost = format!("{} lost after {}", commits(all.lost), cuts(all.cycles));
    let uses_fua = |cycle: &CycleResult| cycle.method == Method::Fua;
    let data_with_flush = Totals::of(cycles, |cycle, stream| {
        !uses_fua(cycle) && stream.layout.is_data_only()
    });
    let with_flush = Totals::of(cycles, |cycle, _| !uses_fua(cycle));
    let with_fua = Totals::of(cycles, |cycle, _| uses_fua(cycle));
    let data = Totals::of(cycles, |_, stream| stream.layout.is_data_only());
    let flush_was_tested = cycles
        .iter()
        .any(|cycle| !uses_fua(cycle) && cycle.unreadable.is_none());
    // The journal of a file system commits with FUA too: only commits that change no metadata show that flush works.
    if with_fua.lost > 0 && flush_was_tested && data_with_flush.lost == 0 && data.lost > 0 {
        let others = if with_flush.lost == 0 {
            "commits with a flush are all there".to_owned()
        } else {
            format!(
                "of the commits with a flush, {} that change metadata are lost: journals of file systems use FUA",
                with_flush.lost
            )
        };
        return Some((
            CauseKind::FuaIgnored,
            format!(
                "{lost}; {} of them written with FUA; {others}.",
                with_fua.lost
            ),
        ));
    }
    let data_was_tested = cycles
        .iter()
        .flat_map(|cycle| &cycle.streams)
        .any(|stream| stream.layout.is_data_only() && stream.acknowledged > 0);
    if data.lost == 0 && data_was_tested && all.out_of_order > 0 {
        let [no_file, beyond_end] = [
            cycles.iter().map(|c| c.sum(|s| s.no_file)).sum::<u64>(),
            cycles.iter().map(|c| c.sum(|s| s.beyond_end)).sum::<u64>(),
        ];
        return Some((
            CauseKind::MetadataLost,
            format!(
                "{lost}, none of them in files that are overwritten in place; {no_file} in files that are missing, {beyond_end} \
                 beyond the end of their files."
            ),
        ));
    }
    if all.out_of_order > 0 {
        return Some((
            CauseKind::WritesReordered,
            format!(
                "{lost}; for {} of them a commit is there that began after their acknowledgement.",
                all.out_of_order
            ),
        ));
    }
    let damaged = || cycles.iter().filter(|cycle| cycle.damaged_tail > 0);
    let longest = damaged().map(|cycle| cycle.damaged_tail).max().unwrap_or(0);
    let is_short = damaged().all(|cycle| {
        let acknowledged = cycle.sum(|stream| stream.acknowledged);
        cycle.damaged_tail <= SHORT_TAIL && cycle.damaged_tail * SHORT_SHARE <= acknowledged
    });
    let tail = format!(
        "{lost}, all of them among the last {longest} acknowledged ones, and none out of order"
    );
    Some(if is_short {
        (CauseKind::LastFlushesDropped, format!("{tail}."))
    } else {
        (
            CauseKind::FlushIgnored,
            format!("{tail}: what was written in that time had not left a volatile cache."),
        )
    })
}

fn commits(number: u64) -> String {
    match number {
        1 => "1 acknowledged commit".to_owned(),
        number => format!("{} acknowledged commits", grouped(number)),
    }
}

fn cuts(number: u64) -> String {
    match number {
        1 => "1 cut".to_owned(),
        number => format!("{number} cuts"),
    }
}
