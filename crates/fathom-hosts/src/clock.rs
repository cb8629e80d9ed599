//! The difference of two clocks, from round trips of messages.

/// One round trip: sent and answered by the clock of the controller, and the clocks of the agent in between. Nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockSample {
    /// When the question left.
    pub sent: u64,
    /// When the answer arrived.
    pub answered: u64,
    /// The monotonic clock of the agent in between.
    pub agent: u64,
    /// Wall clock of the agent minus that of the controller, each read beside the other clock.
    pub wall_difference: i64,
}

/// Clock of an agent minus clock of the controller.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Offset {
    /// The difference, nanoseconds.
    pub ns: i64,
    /// Its largest error: half of the round trip.
    pub bound_ns: u64,
    /// When it was measured, by the clock of the controller.
    pub at: u64,
    /// Wall clock of the agent minus that of the controller, nanoseconds.
    pub wall_ns: i64,
}

impl Offset {
    /// The offset from the sample with the shortest round trip: it has the least to hide. `None` without samples.
    ///
    /// ```
    /// use fathom_hosts::{ClockSample, Offset};
    ///
    /// // The agent's clock is 1000 ahead. The way there takes 10, the way back 30.
    /// let slow = ClockSample { sent: 0, answered: 40, agent: 1010, wall_difference: 0 };
    /// let fast = ClockSample { sent: 100, answered: 108, agent: 1104, wall_difference: 0 };
    /// let offset = Offset::of(&[slow, fast]).expect("samples");
    /// assert_eq!((offset.ns, offset.bound_ns), (1000, 4));
    /// ```
    #[must_use]
    pub fn of(samples: &[ClockSample]) -> Option<Offset> {
        let best = samples
            .iter()
            .min_by_key(|sample| sample.answered.saturating_sub(sample.sent))?;
        let middle = best.sent.midpoint(best.answered);
        Some(Offset {
            ns: best.agent.wrapping_sub(middle) as i64,
            bound_ns: best.answered.saturating_sub(best.sent).div_ceil(2),
            at: middle,
            wall_ns: best.wall_difference,
        })
    }

    /// An instant of the controller by the clock of the agent.
    #[must_use]
    pub fn to_agent(&self, at: u64) -> u64 {
        at.saturating_add_signed(self.ns)
    }

    /// An instant of the agent by the clock of the controller, relative to `origin` of the controller.
    #[must_use]
    pub fn since(&self, origin: u64, agent: u64) -> i64 {
        (agent.wrapping_sub(origin) as i64).saturating_sub(self.ns)
    }

    /// By how much this offset may be wrong at `at`, where `later` was measured after it: its own bound, and its share of what
    /// the clocks drifted in between.
    #[must_use]
    pub fn bound_at(&self, at: u64, later: Option<&Offset>) -> u64 {
        let Some(later) = later else {
            return self.bound_ns;
        };
        // What the bounds of both cannot explain is drift.
        let apart = self.ns.abs_diff(later.ns);
        let drift = apart.saturating_sub(self.bound_ns + later.bound_ns);
        let between = later.at.saturating_sub(self.at).max(1);
        let until = at.saturating_sub(self.at).min(between);
        let share = u128::from(drift) * u128::from(until) / u128::from(between);
        self.bound_ns.saturating_add(share as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A clock 7 s behind, asymmetric ways: the true offset is within the bound.
    #[test]
    fn the_true_offset_is_within_the_bound() {
        let truth = -7_000_000_000_i64;
        for (there, back) in [(1, 199), (199, 1), (100, 100), (0, 200)] {
            let sent = 20_000_000_000_u64;
            let sample = ClockSample {
                sent,
                answered: sent + there + back,
                agent: (sent + there).saturating_add_signed(truth),
                wall_difference: 5,
            };
            let offset = Offset::of(&[sample]).expect("a sample");
            assert!(offset.ns.abs_diff(truth) <= offset.bound_ns, "{offset:?}");
            assert_eq!((offset.bound_ns, offset.wall_ns), (100, 5));
            assert_eq!(offset.to_agent(sent), sent.saturating_add_signed(offset.ns));
        }
        assert_eq!(Offset::of(&[]), None);
    }

    /// 1 ms of drift in 10 s: a tenth of the time has a tenth of it.
    #[test]
    fn drift_widens_the_bound_with_time() {
        let (before, after) = (
            Offset {
                ns: 0,
                bound_ns: 10,
                at: 0,
                wall_ns: 0,
            },
            Offset {
                ns: 1_000_020,
                bound_ns: 10,
                at: 10_000_000_000,
                wall_ns: 0,
            },
        );
        assert_eq!(before.bound_at(1_000_000_000, Some(&after)), 100_010);
        assert_eq!(before.bound_at(0, Some(&after)), 10);
        assert_eq!(before.bound_at(5, None), 10);
    }

    #[test]
    fn an_instant_of_the_agent_is_late_or_early_by_the_corrected_clock() {
        let offset = Offset {
            ns: 500,
            bound_ns: 1,
            at: 0,
            wall_ns: 0,
        };
        assert_eq!(offset.since(1_000, 1_530), 30);
        assert_eq!(offset.since(1_000, 1_480), -20);
    }
}
