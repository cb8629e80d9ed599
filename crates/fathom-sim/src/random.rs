//! Seeded random numbers.

use std::sync::LazyLock;

/// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
#[derive(Clone, Debug)]
pub(crate) struct Random {
    state: u64,
}

/// Layers of equal area below the density of the normal distribution (the ziggurat of Marsaglia and Tsang, Journal of
/// Statistical Software 5, 2000; with a uniform variate of its own for the layer, after Doornik 2005).
struct Ziggurat {
    /// Right edges of the layers, the lowest first; that of the lowest is as if it had no tail.
    edges: [f64; LAYERS + 1],
    /// Share of each layer that is below the density entirely.
    inner: [f64; LAYERS],
}

const LAYERS: usize = 128;
/// Where the tail begins, and the area of each of so many layers (their table for 128).
const TAIL: f64 = 3.442_619_855_899;
const AREA: f64 = 9.912_563_035_262_17e-3;

static ZIGGURAT: LazyLock<Ziggurat> = LazyLock::new(|| {
    let density = |x: f64| (-0.5 * x * x).exp();
    let mut edges = [0.0; LAYERS + 1];
    edges[0] = AREA / density(TAIL);
    edges[1] = TAIL;
    for layer in 2..LAYERS {
        let below = edges[layer - 1];
        edges[layer] = (-2.0 * (AREA / below + density(below)).ln()).sqrt();
    }
    Ziggurat {
        inner: std::array::from_fn(|layer| edges[layer + 1] / edges[layer]),
        edges,
    }
});

/// Gamma variates of one coefficient of variation (Marsaglia and Tsang, ACM TOMS 26, 2000).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gamma {
    /// `d` divided by the shape: a variate of mean 1 is this times `v`.
    scale: f64,
    d: f64,
    c: f64,
}

impl Gamma {
    /// `cv` is above 0 and at most 1.
    pub fn new(cv: f64) -> Self {
        let shape = 1.0 / (cv * cv);
        let d = shape - 1.0 / 3.0;
        Gamma {
            scale: d / shape,
            d,
            c: 1.0 / (9.0 * d).sqrt(),
        }
    }
}

impl Random {
    pub fn new(seed: u64) -> Self {
        Random { state: seed }
    }

    fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number from 0 up to but not including 1.
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// A whole number below `limit`, which is positive (Lemire's multiplication).
    pub fn below(&mut self, limit: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(limit)) >> 64) as u64
    }

    /// A gamma variate with this mean.
    pub fn gamma(&mut self, mean: f64, gamma: &Gamma) -> f64 {
        let Gamma { scale, d, c } = *gamma;
        let zig = &*ZIGGURAT;
        loop {
            let x = self.normal(zig);
            let v = (1.0 + c * x).powi(3);
            let unit = 1.0 - self.unit();
            // Their squeeze: it accepts most variates without the logarithms, and no others.
            if v > 0.0 && unit < 1.0 - 0.0331 * (x * x) * (x * x) {
                return scale * v * mean;
            }
            if v > 0.0 && unit.ln() < 0.5 * x * x + d - d * v + d * v.ln() {
                return scale * v * mean;
            }
        }
    }

    /// A standard normal variate.
    fn normal(&mut self, zig: &Ziggurat) -> f64 {
        loop {
            let bits = self.bits();
            let layer = bits as usize % LAYERS;
            // The highest 53 bits are not those of the layer.
            let unit = (bits >> 11) as f64 / (1_u64 << 52) as f64 - 1.0;
            let x = unit * zig.edges[layer];
            if unit.abs() < zig.inner[layer] {
                return x;
            }
            if layer == 0 {
                return self.tail().copysign(x);
            }
            // Between two layers: their edges over the density at x.
            let over = |edge: f64| (-0.5 * (edge * edge - x * x)).exp();
            let (lower, upper) = (over(zig.edges[layer]), over(zig.edges[layer + 1]));
            if upper + self.unit() * (lower - upper) < 1.0 {
                return x;
            }
        }
    }

    /// A normal variate above [`TAIL`] (Marsaglia, Technometrics 6, 1964).
    #[cold]
    fn tail(&mut self) -> f64 {
        loop {
            let beyond = self.exponential(1.0 / TAIL);
            if 2.0 * self.exponential(1.0) > beyond * beyond {
                return TAIL + beyond;
            }
        }
    }

    /// An exponential variate with this mean.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        let unit = ((self.bits() >> 11) + 1) as f64 / (1_u64 << 53) as f64;
        -unit.ln() * mean
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Shares of the normal distribution outside of so many standard deviations, and its moments. The bounds are four standard
    /// errors of four million variates.
    #[test]
    fn normal_variates_have_the_distribution() {
        let mut random = Random::new(5);
        let count = 4_000_000;
        let values: Vec<f64> = (0..count).map(|_| random.normal(&ZIGGURAT)).collect();
        let share = |test: &dyn Fn(f64) -> bool| {
            values.iter().filter(|value| test(**value)).count() as f64 / f64::from(count)
        };
        for (limit, expected) in [
            (0.1, 0.920_344),
            (0.5, 0.617_075),
            (1.0, 0.317_311),
            (2.0, 0.045_500),
            (3.0, 0.002_699_8),
            (TAIL, 0.000_576_1),
            (4.0, 0.000_063_34),
        ] {
            let found = share(&|value| value.abs() > limit);
            let error = (expected * (1.0 - expected) / f64::from(count)).sqrt();
            assert!(
                (found - expected).abs() < 4.0 * error,
                "{limit}: {found} {expected}"
            );
            let above = share(&|value| value > limit);
            assert!(
                (above - expected / 2.0).abs() < 4.0 * error,
                "above {limit}: {above}"
            );
        }
        let square = values.iter().map(|value| value * value).sum::<f64>() / f64::from(count);
        assert!(
            (square - 1.0).abs() < 4.0 * (2.0 / f64::from(count)).sqrt(),
            "{square}"
        );
    }

    /// Mean, standard deviation and skewness of a gamma distribution: its skewness is twice its
    /// coefficient of variation. With a million variates the standard errors are 0.1 %, 0.1 % and
    /// 0.01.
    #[test]
    fn gamma_variates_have_the_moments_of_the_distribution() {
        for cv in [0.1, 0.31, 1.0] {
            let (mut random, gamma) = (Random::new(3), Gamma::new(cv));
            let count = 1_000_000;
            let values: Vec<f64> = (0..count).map(|_| random.gamma(14.0, &gamma)).collect();
            let moment = |power: i32, centre: f64| {
                let sum: f64 = values
                    .iter()
                    .map(|value| (value - centre).powi(power))
                    .sum();
                sum / f64::from(count)
            };
            let mean = moment(1, 0.0);
            let deviation = moment(2, mean).sqrt();
            let skewness = moment(3, mean) / deviation.powi(3);
            assert!((mean / 14.0 - 1.0).abs() < 0.005, "{cv}: {mean}");
            assert!(
                (deviation / mean / cv - 1.0).abs() < 0.01,
                "{cv}: {deviation}"
            );
            assert!((skewness - 2.0 * cv).abs() < 0.06, "{cv}: {skewness}");
        }
    }
}
