//! An observation of block I/O as text and as JSON.

mod json;
mod live;
mod text;

pub use self::json::{counted_json, observation_json, request_event};
pub use self::live::{LiveRates, live_rates_text};
pub use self::text::{counted_text, observation_text};

use fathom_model::format::{bytes, counted};
use fathom_trace::{DeviceNumber, IoDirection, Observation, SizeAudit, SplitCause};

/// The limit of an audited size as the file of sysfs writes it: `max_sectors_kb=64`.
fn limit_text(observation: &Observation, device: DeviceNumber, cause: SplitCause) -> String {
    let value = observation.limit(device, cause);
    match cause {
        SplitCause::MaxSectors => format!("max_sectors_kb={}", value / 1024),
        SplitCause::Chunk => format!("chunk_sectors={}", value / 512),
        SplitCause::Segments => format!("max_segments={value}"),
    }
}

/// What the device gets of one size, in one sentence.
fn audit_sentence(
    observation: &Observation,
    device: DeviceNumber,
    direction: IoDirection,
    audit: &SizeAudit,
) -> String {
    let size = bytes(audit.bytes);
    let name = direction.name();
    let per_bio = audit.requests_per_bio;
    let number = if (per_bio - per_bio.round()).abs() < 0.005 {
        format!("{}", per_bio.round())
    } else {
        format!("{per_bio:.2}")
    };
    let noun = if number == "1" { "request" } else { "requests" };
    let fact = format!(
        "{size} in, {number} {noun} out ({} of this size)",
        counted(audit.bios, name)
    );
    match audit.limit {
        Some(cause @ SplitCause::MaxSectors) => format!(
            "{fact}: the kernel splits at {}; no request of this device is larger than {}",
            limit_text(observation, device, cause),
            bytes(observation.limit(device, cause))
        ),
        Some(cause @ SplitCause::Chunk) => format!(
            "{fact}: the kernel splits at {}; no request may cross a multiple of {} (stripe or zone)",
            limit_text(observation, device, cause),
            bytes(observation.limit(device, cause))
        ),
        Some(cause @ SplitCause::Segments) => format!(
            "{fact}: the kernel splits at {}; the memory of the I/O is in more pieces than the device takes at once",
            limit_text(observation, device, cause)
        ),
        None if per_bio < 0.995 => format!(
            "{fact}: the kernel merges neighbours, so that {:.1} of them share a request",
            1.0 / per_bio.max(f64::MIN_POSITIVE)
        ),
        None => format!("{fact}: neither split nor merged"),
    }
}
