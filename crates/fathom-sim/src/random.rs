//! Seeded random numbers.

/// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Random(seed)
    }

    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
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

    /// A gamma variate with this mean and coefficient of variation (Marsaglia and Tsang, ACM TOMS
    /// 26, 2000; `cv` at most 1).
    pub fn gamma(&mut self, mean: f64, cv: f64) -> f64 {
        if cv <= 0.0 {
            return mean;
        }
        let shape = 1.0 / (cv * cv);
        let d = shape - 1.0 / 3.0;
        let c = 1.0 / (9.0 * d).sqrt();
        loop {
            let x = self.normal();
            let v = (1.0 + c * x).powi(3);
            let unit = 1.0 - self.unit();
            // Their squeeze: it accepts most variates without the logarithms, and no others.
            if v > 0.0 && unit < 1.0 - 0.0331 * (x * x) * (x * x) {
                return d * v * mean / shape;
            }
            if v > 0.0 && unit.ln() < 0.5 * x * x + d - d * v + d * v.ln() {
                return d * v * mean / shape;
            }
        }
    }

    /// A standard normal variate (Box and Muller).
    fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.unit()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.unit()).cos()
    }

    /// An exponential variate with this mean.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        let unit = ((self.bits() >> 11) + 1) as f64 / (1_u64 << 53) as f64;
        -unit.ln() * mean
    }
}
