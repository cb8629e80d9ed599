//! Snapshots of a recorder during the run.

use fathom_model::{
    DirectionRecording, Histogram, Interval, IntervalDirection, Nanos, PerDirection,
};

use super::{Live, Recorded, Recorder};

impl Recorder {
    /// A copy of everything up to `now`. Intervals have no histograms, which only the complete
    /// recording needs.
    #[cold]
    pub fn snapshot(&self, now: Nanos) -> Recorded {
        let mut intervals = self.intervals.counted();
        intervals.push(Interval {
            start: Nanos::new(self.live_start),
            length: Nanos::new(now.get().saturating_sub(self.live_start)),
            directions: PerDirection::from_fn(|d| counts_of(&self.live[d])),
        });
        Recorded {
            directions: PerDirection::from_fn(|d| {
                with_interval(&self.directions[d], &self.live[d])
            }),
            warmup: self.warmup.clone(),
            intervals,
            sync: copy(&self.sync),
            sync_failed: self.sync_failed,
            events: self.events.clone(),
            gaps: self.gaps.clone(),
        }
    }
}

/// The closed intervals of one direction plus the current one.
fn with_interval(total: &DirectionRecording, live: &Live) -> DirectionRecording {
    let mut all = DirectionRecording {
        counts: total.counts,
        slat: copy(&total.slat),
        clat: copy(&total.clat),
        lat: copy(&total.lat),
        response: copy(&total.response),
        lateness: copy(&total.lateness),
        bad: copy(&total.bad),
        priorities: Vec::new(),
    };
    all.counts.ok += live.ios;
    all.counts.bytes_ok += live.bytes;
    all.clat.merge(&live.clat);
    all.response.merge(&live.response);
    all
}

/// A copy that does not allocate for an empty histogram.
fn copy(histogram: &Histogram) -> Histogram {
    if histogram.count() + histogram.overflow() == 0 {
        Histogram::new()
    } else {
        histogram.clone()
    }
}

fn counts_of(live: &Live) -> IntervalDirection {
    IntervalDirection {
        ios: live.ios,
        bytes: live.bytes,
        bad: live.bad,
        ..IntervalDirection::default()
    }
}
