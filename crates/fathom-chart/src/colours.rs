//! A colour scale for values, from dark blue over green to yellow. Its lightness rises evenly, so that it works with any
//! colour vision and in greyscale (viridis of matplotlib, by van der Walt and Smith, public domain).

use fathom_model::ChartGrid;

const RAMP: [(u8, u8, u8); 11] = [
    (68, 1, 84),
    (72, 36, 117),
    (65, 68, 135),
    (53, 95, 141),
    (42, 120, 142),
    (33, 145, 140),
    (34, 168, 132),
    (68, 191, 112),
    (122, 209, 81),
    (189, 223, 38),
    (253, 231, 37),
];

/// Maps the values of a grid, from smallest to largest, to 0..=1.
pub(crate) struct Shades {
    low: f64,
    high: f64,
    log: bool,
}

impl Shades {
    pub(crate) fn of(grid: &ChartGrid) -> Shades {
        let seen = grid
            .values
            .iter()
            .flatten()
            .copied()
            .filter(|value| value.is_finite() && (!grid.log || *value > 0.0));
        let (low, high) = seen.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
            (low.min(value), high.max(value))
        });
        if low > high {
            Shades {
                low: 0.0,
                high: 1.0,
                log: false,
            }
        } else {
            Shades {
                low,
                high,
                log: grid.log,
            }
        }
    }

    pub(crate) fn ends(&self) -> (f64, f64) {
        (self.low, self.high)
    }

    /// 0 to 1.
    pub(crate) fn share(&self, value: f64) -> f64 {
        let place = |value: f64| {
            if self.log {
                value.max(self.low).ln()
            } else {
                value
            }
        };
        let (low, high) = (place(self.low), place(self.high));
        if high > low {
            ((place(value) - low) / (high - low)).clamp(0.0, 1.0)
        } else {
            1.0
        }
    }

    /// The colour of a share.
    pub(crate) fn colour(share: f64) -> (u8, u8, u8) {
        let at = share.clamp(0.0, 1.0) * (RAMP.len() - 1) as f64;
        let (below, part) = ((at as usize).min(RAMP.len() - 2), at.fract());
        let part = if at >= (RAMP.len() - 1) as f64 {
            1.0
        } else {
            part
        };
        let mix =
            |a: u8, b: u8| (f64::from(a) + (f64::from(b) - f64::from(a)) * part).round() as u8;
        let (a, b) = (RAMP[below], RAMP[below + 1]);
        (mix(a.0, b.0), mix(a.1, b.1), mix(a.2, b.2))
    }
}

/// `#0072b2`.
pub(crate) fn hex((red, green, blue): (u8, u8, u8)) -> String {
    format!("#{red:02x}{green:02x}{blue:02x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_run_from_the_least_to_the_most() {
        let grid = ChartGrid {
            values: vec![Some(1.0), None, Some(100.0)],
            log: true,
            ..ChartGrid::default()
        };
        let shades = Shades::of(&grid);
        assert_eq!(
            (
                shades.share(1.0),
                shades.share(10.0),
                shades.share(100.0),
                shades.share(0.0)
            ),
            (0.0, 0.5, 1.0, 0.0)
        );
        assert_eq!(
            (Shades::colour(0.0), Shades::colour(1.0)),
            (RAMP[0], RAMP[10])
        );
        let one = Shades::of(&ChartGrid {
            values: vec![Some(5.0)],
            ..ChartGrid::default()
        });
        assert_eq!(one.share(5.0), 1.0);
    }
}
