//! The blame sheet, with the names used in documents.

use fathom_model::*;
use serde::{Deserialize, Serialize};
use serde_with::As;

use super::recording::DirectionDocument;
use super::values::NanosDocument;

#[derive(Deserialize, Serialize)]
#[serde(rename = "BlameRecording", remote = "BlameRecording")]
pub(crate) struct BlameRecordingDocument {
    #[serde(rename = "groups", with = "As::<Vec<BlameGroupDocument>>")]
    groups: Vec<BlameGroup>,
    #[serde(rename = "others", with = "As::<Vec<BlameOtherDocument>>")]
    others: Vec<BlameOther>,
    #[serde(rename = "lost_events")]
    lost_events: u64,
    #[serde(rename = "messages")]
    messages: Vec<String>,
}

#[derive(Deserialize, Serialize)]
#[serde(rename = "BlameGroup", remote = "BlameGroup")]
pub(crate) struct BlameGroupDocument {
    #[serde(rename = "name")]
    name: String,
    #[serde(rename = "direction", with = "As::<Option<DirectionDocument>>")]
    direction: Option<Direction>,
    #[serde(rename = "joined")]
    joined: u64,
    #[serde(rename = "response_ns")]
    response_ns: u64,
    #[serde(rename = "unjoined", with = "As::<UnjoinedDocument>")]
    unjoined: Unjoined,
    #[serde(rename = "rows", with = "As::<Vec<BlameRowDocument>>")]
    rows: Vec<BlameRow>,
    #[serde(rename = "slowest", with = "As::<Vec<BlamedIoDocument>>")]
    slowest: Vec<BlamedIo>,
}

#[derive(Deserialize, Serialize)]
#[serde(rename = "Unjoined", remote = "Unjoined")]
pub(crate) struct UnjoinedDocument {
    #[serde(rename = "buffered")]
    buffered: u64,
    #[serde(rename = "merged")]
    merged: u64,
    #[serde(rename = "lost_events")]
    lost_events: u64,
    #[serde(rename = "no_position")]
    no_position: u64,
    #[serde(rename = "no_request")]
    no_request: u64,
    #[serde(rename = "ambiguous")]
    ambiguous: u64,
    #[serde(rename = "not_logged")]
    not_logged: u64,
}

#[derive(Deserialize, Serialize)]
#[serde(rename = "BlameRank", remote = "BlameRank")]
pub(crate) enum BlameRankDocument {
    #[serde(rename = "mean")]
    Mean,
    #[serde(rename = "p50")]
    P50,
    #[serde(rename = "p99")]
    P99,
    #[serde(rename = "p99.9")]
    P999,
    #[serde(rename = "slowest_1_percent")]
    SlowestPercent,
    #[serde(rename = "slowest")]
    Slowest,
}

#[derive(Deserialize, Serialize)]
#[serde(rename = "BlameTimes", remote = "BlameTimes")]
pub(crate) struct BlameTimesDocument {
    #[serde(rename = "ns")]
    ns: [u64; 6],
}

#[derive(Deserialize, Serialize)]
#[serde(rename = "BlameRow", remote = "BlameRow")]
pub(crate) struct BlameRowDocument {
    #[serde(rename = "rank", with = "As::<BlameRankDocument>")]
    rank: BlameRank,
    #[serde(rename = "ios")]
    ios: u64,
    #[serde(rename = "phases", with = "As::<BlameTimesDocument>")]
    phases: BlameTimes,
    #[serde(rename = "in_block_layer_ns")]
    in_block_layer_ns: u64,
    #[serde(rename = "beside_ns")]
    beside_ns: Vec<u64>,
}

#[derive(Deserialize, Serialize)]
#[serde(rename = "BlamedIo", remote = "BlamedIo")]
pub(crate) struct BlamedIoDocument {
    #[serde(rename = "job")]
    job: u32,
    #[serde(rename = "direction", with = "As::<DirectionDocument>")]
    direction: Direction,
    #[serde(rename = "offset")]
    offset: u64,
    #[serde(rename = "len")]
    len: u32,
    #[serde(rename = "due", with = "As::<NanosDocument>")]
    due: Nanos,
    #[serde(rename = "reaped", with = "As::<NanosDocument>")]
    reaped: Nanos,
    #[serde(rename = "phases", with = "As::<BlameTimesDocument>")]
    phases: BlameTimes,
    #[serde(rename = "pieces")]
    pieces: u32,
}

#[derive(Deserialize, Serialize)]
#[serde(rename = "BlameOther", remote = "BlameOther")]
pub(crate) struct BlameOtherDocument {
    #[serde(rename = "who", with = "As::<OtherKindDocument>")]
    who: OtherKind,
    #[serde(rename = "reads")]
    reads: (u64, u64),
    #[serde(rename = "writes")]
    writes: (u64, u64),
    #[serde(rename = "busy_ns")]
    busy_ns: u64,
}

#[derive(Deserialize, Serialize)]
#[serde(rename = "OtherKind", remote = "OtherKind")]
pub(crate) enum OtherKindDocument {
    #[serde(rename = "process")]
    Process {
        #[serde(rename = "pid")]
        pid: u32,
        #[serde(rename = "name")]
        name: String,
    },
    #[serde(rename = "kernel")]
    Kernel,
    #[serde(rename = "flushes")]
    Flushes,
    #[serde(rename = "own_large_writes")]
    OwnLargeWrites,
    #[serde(rename = "rest")]
    Rest,
}

mirrors! {
    BlameRecordingDocument for BlameRecording,
    BlameGroupDocument for BlameGroup,
    UnjoinedDocument for Unjoined,
    BlameRankDocument for BlameRank,
    BlameTimesDocument for BlameTimes,
    BlameRowDocument for BlameRow,
    BlamedIoDocument for BlamedIo,
    BlameOtherDocument for BlameOther,
    OtherKindDocument for OtherKind,
}
