//! Requests are split into pieces, as the kernel does at `max_sectors_kb`, at `max_segments` pages
//! and at device boundaries. A request completes with its last piece.

use super::below::{Layer, Layered, Port};
use crate::device::{DeviceSurvey, SimCompletion, SimOp, SimRequest, SimTime};
use crate::error::ModelError;
use crate::params::Params;
use crate::registry::{Builder, Device, ModelKind};
use crate::slots::Slots;

pub(crate) const KIND: ModelKind = ModelKind {
    name: "split",
    summary: "the limits of the block layer: large requests are split",
    members: (1, 1),
    build,
};

/// Bytes of a page of memory, and so of a segment of a buffer in ordinary pages.
const PAGE: u64 = 4096;

fn build(params: &mut Params<'_>, builder: &mut Builder<'_>) -> Result<Device, ModelError> {
    let most = params.bytes_from("max_bytes", 512, Some(1 << 40))?;
    let segments = params.count("max_segments", (1, 1 << 20), Some(1 << 20))?;
    let contiguous = params.flag("contiguous", false)?;
    let boundary = params.bytes("boundary", Some(0))?;
    if boundary > 0 && boundary < 512 {
        return Err(params.error("boundary", "impossible value; it is at least 512 bytes"));
    }
    let by_segments = if contiguous {
        u64::MAX
    } else {
        segments * PAGE
    };
    let split = Split {
        limit: most.min(by_segments).min(u64::from(u32::MAX)),
        boundary,
        parents: Slots::default(),
        pieces: Slots::default(),
        added: [0; 4],
    };
    Ok(Box::new(Layered::new(split, builder.member()?)))
}

struct Parent {
    id: u64,
    left: u32,
    failed: bool,
}

struct Split {
    limit: u64,
    boundary: u64,
    parents: Slots<Parent>,
    /// The parent of each piece.
    pieces: Slots<u64>,
    /// Pieces beyond one for each request, by operation.
    added: [u64; 4],
}

impl Layer for Split {
    type Event = ();

    fn survey(&self, below: DeviceSurvey) -> DeviceSurvey {
        let narrowest = below.max_request_bytes;
        DeviceSurvey {
            max_request_bytes: Some(narrowest.map_or(self.limit, |below| below.min(self.limit))),
            ..below
        }
    }

    fn requests_added(&self) -> [u64; 4] {
        self.added
    }

    fn arrived(&mut self, now: SimTime, request: SimRequest, port: &mut Port<()>) {
        let end = request.offset.saturating_add(u64::from(request.bytes));
        let whole = !matches!(request.op, SimOp::Read | SimOp::Write);
        let parent = self.parents.put(Parent {
            id: request.id,
            left: 0,
            failed: false,
        });
        let (mut at, mut count) = (request.offset, 0);
        loop {
            let mut next = at.saturating_add(self.limit).min(end);
            if let Some(before) = at.checked_div(self.boundary) {
                next = next.min((before + 1).saturating_mul(self.boundary));
            }
            if whole {
                next = end;
            }
            count += 1;
            let piece = SimRequest {
                id: self.pieces.put(parent),
                offset: at,
                bytes: (next - at) as u32,
                ..request
            };
            port.submit(now, piece);
            at = next;
            if at >= end {
                break;
            }
        }
        self.added[request.op as usize] += u64::from(count - 1);
        if let Some(parent) = self.parents.get_mut(parent) {
            parent.left = count;
        }
    }

    fn completed(&mut self, completion: SimCompletion, port: &mut Port<()>) {
        let Some(number) = self.pieces.take(completion.id) else {
            return;
        };
        let Some(parent) = self.parents.get_mut(number) else {
            return;
        };
        parent.left -= 1;
        parent.failed |= completion.failed;
        if parent.left == 0 {
            let (id, failed) = (parent.id, parent.failed);
            self.parents.take(number);
            port.complete(id, completion.at, failed);
        }
    }

    fn due(&mut self, _: SimTime, (): (), _: &mut Port<()>) {}
}
