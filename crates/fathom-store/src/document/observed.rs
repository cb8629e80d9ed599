//! Block I/O of other programs, with the names used in documents.

use fathom_model::*;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_with::{As, DeserializeAs, Same, SerializeAs};

use super::values::NanosDocument;

#[derive(Deserialize, Serialize)]
#[serde(rename = "ObservedIo", remote = "ObservedIo")]
pub(crate) struct ObservedIoDocument {
    #[serde(rename = "interval", with = "As::<NanosDocument>")]
    interval: Nanos,
    #[serde(
        rename = "phases",
        with = "As::<Vec<(RequestPhaseDocument, LatenciesDocument)>>"
    )]
    phases: Vec<(RequestPhase, Vec<SparseHistogram>)>,
    #[serde(rename = "depth")]
    depth: Vec<u64>,
    #[serde(rename = "largest_depth")]
    largest_depth: u32,
    #[serde(rename = "request_sizes", with = "As::<Vec<(Same, Same)>>")]
    request_sizes: Vec<(u64, u64)>,
    #[serde(rename = "bio_sizes", with = "As::<Vec<(Same, Same)>>")]
    bio_sizes: Vec<(u64, u64)>,
    #[serde(rename = "offsets", with = "As::<Option<ObservedOffsetsDocument>>")]
    offsets: Option<ObservedOffsets>,
}

#[derive(Deserialize, Serialize)]
#[serde(rename = "RequestPhase", remote = "RequestPhase")]
pub(crate) enum RequestPhaseDocument {
    #[serde(rename = "queue_to_insert")]
    QueueToInsert,
    #[serde(rename = "insert_to_issue")]
    InsertToIssue,
    #[serde(rename = "queue_to_issue")]
    QueueToIssue,
    #[serde(rename = "issue_to_complete")]
    IssueToComplete,
    #[serde(rename = "queue_to_complete")]
    QueueToComplete,
}

#[derive(Deserialize, Serialize)]
#[serde(rename = "ObservedOffsets", remote = "ObservedOffsets")]
pub(crate) struct ObservedOffsetsDocument {
    #[serde(rename = "column", with = "As::<NanosDocument>")]
    column: Nanos,
    #[serde(rename = "first_byte")]
    first_byte: u64,
    #[serde(rename = "row_bytes")]
    row_bytes: u64,
    #[serde(rename = "rows")]
    rows: u64,
    #[serde(rename = "counts")]
    counts: Vec<u64>,
}

/// Histograms of intervals in the packed form of the model, one after the other.
pub(crate) struct LatenciesDocument;

#[derive(Deserialize)]
#[serde(rename = "Latencies")]
struct PackedLatencies<'a>(#[serde(borrow)] &'a [u8]);

impl SerializeAs<Vec<SparseHistogram>> for LatenciesDocument {
    fn serialize_as<S: Serializer>(
        source: &Vec<SparseHistogram>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        let mut bytes = Vec::new();
        source.iter().for_each(|one| one.encode(&mut bytes));
        to.serialize_bytes(&bytes)
    }
}

impl<'de> DeserializeAs<'de, Vec<SparseHistogram>> for LatenciesDocument {
    fn deserialize_as<D: Deserializer<'de>>(from: D) -> Result<Vec<SparseHistogram>, D::Error> {
        let PackedLatencies(mut rest) = PackedLatencies::deserialize(from)?;
        let mut all = Vec::new();
        while !rest.is_empty() {
            all.push(
                SparseHistogram::decode(&mut rest)
                    .ok_or_else(|| D::Error::custom("malformed histogram"))?,
            );
        }
        Ok(all)
    }
}

mirrors! {
    ObservedIoDocument for ObservedIo,
    RequestPhaseDocument for RequestPhase,
    ObservedOffsetsDocument for ObservedOffsets,
}
