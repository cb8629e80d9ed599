//! One compared figure.

/// Median and range.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    pub median: f64,
    pub least: f64,
    pub most: f64,
}

impl Spread {
    /// Of the values; `None` without any.
    pub fn of(values: &[f64]) -> Option<Self> {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (least, most) = (*sorted.first()?, *sorted.last()?);
        let middle = sorted.len() / 2;
        let median = if sorted.len() % 2 == 1 {
            sorted[middle]
        } else {
            f64::midpoint(sorted[middle - 1], sorted[middle])
        };
        Some(Self {
            median,
            least,
            most,
        })
    }
}

/// The goal of a figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Goal {
    /// fathom's figure divided by the peer's.
    RatioAtLeast(f64),
    RatioAtMost(f64),
    RatioWithin(f64, f64),
    /// fathom's figure.
    OursAtMost(f64),
    OursAtLeast(f64),
    OursWithin(f64, f64),
    /// No goal.
    None,
}

/// A line of the table.
#[derive(Clone, Debug)]
pub struct Row {
    pub what: String,
    pub unit: &'static str,
    pub peer: String,
    pub ours: Option<Spread>,
    pub theirs: Option<Spread>,
    /// Of each pair.
    pub ratio: Option<Spread>,
    pub goal: Goal,
    /// Why there is no figure, or a remark about it.
    pub note: String,
}

impl Row {
    /// A figure of both programs, pair by pair.
    pub fn new(
        what: impl Into<String>,
        unit: &'static str,
        (ours, theirs): (Vec<f64>, Vec<f64>),
        goal: Goal,
    ) -> Self {
        let ratios: Vec<f64> = ours
            .iter()
            .zip(&theirs)
            .filter(|(_, b)| **b > 0.0)
            .map(|(a, b)| a / b)
            .collect();
        Self {
            what: what.into(),
            unit,
            peer: "fio".to_owned(),
            ours: Spread::of(&ours),
            theirs: Spread::of(&theirs),
            ratio: Spread::of(&ratios),
            goal,
            note: String::new(),
        }
    }

    pub fn peer(self, peer: &str) -> Self {
        Self {
            peer: peer.to_owned(),
            ..self
        }
    }

    pub fn note(self, note: impl Into<String>) -> Self {
        Self {
            note: note.into(),
            ..self
        }
    }

    /// A case that could not be measured.
    pub fn missing(what: &str, reason: String) -> Self {
        Self::new(what, "", (Vec::new(), Vec::new()), Goal::None)
            .note(format!("not measured: {reason}"))
    }

    /// Whether the medians meet the goal; `None` without a goal or a figure.
    pub fn reached(&self) -> Option<bool> {
        let ratio = self.ratio.map(|ratio| ratio.median);
        let ours = self.ours.map(|ours| ours.median);
        match self.goal {
            Goal::RatioAtLeast(least) => ratio.map(|ratio| ratio >= least),
            Goal::RatioAtMost(most) => ratio.map(|ratio| ratio <= most),
            Goal::RatioWithin(least, most) => ratio.map(|ratio| (least..=most).contains(&ratio)),
            Goal::OursAtMost(most) => ours.map(|ours| ours <= most),
            Goal::OursAtLeast(least) => ours.map(|ours| ours >= least),
            Goal::OursWithin(least, most) => ours.map(|ours| (least..=most).contains(&ours)),
            Goal::None => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_and_goals() {
        assert_eq!(
            Spread::of(&[3.0, 1.0, 2.0]),
            Some(Spread {
                median: 2.0,
                least: 1.0,
                most: 3.0
            })
        );
        assert_eq!(Spread::of(&[4.0, 1.0]).map(|s| s.median), Some(2.5));
        assert_eq!(Spread::of(&[]), None);
        let row = |goal| Row::new("x", "", (vec![4.0, 8.0, 6.0], vec![2.0, 2.0, 2.0]), goal);
        assert_eq!(row(Goal::RatioAtLeast(3.0)).reached(), Some(true));
        assert_eq!(row(Goal::RatioAtLeast(3.1)).reached(), Some(false));
        assert_eq!(row(Goal::RatioAtMost(2.9)).reached(), Some(false));
        assert_eq!(row(Goal::RatioWithin(2.9, 3.1)).reached(), Some(true));
        assert_eq!(row(Goal::OursAtMost(5.0)).reached(), Some(false));
        assert_eq!(row(Goal::None).reached(), None);
        assert_eq!(Row::missing("x", "no disk".into()).reached(), None);
    }
}
