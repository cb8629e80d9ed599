//! Queueing: response times of one server with random arrivals, and the soft minimum of flash.

/// Most cells of a lattice; more than any limit on a latency needs.
const MOST_CELLS: usize = 1 << 16;

/// A distribution on a lattice of equal steps: the probability of each multiple of `step`.
#[derive(Clone, Debug, PartialEq)]
pub struct Lattice {
    step: f64,
    cells: Vec<f64>,
}

impl Lattice {
    /// An empty distribution with this step, to be filled with [`Lattice::add`].
    #[must_use]
    pub fn new(step: f64) -> Lattice {
        Lattice {
            step,
            cells: Vec::new(),
        }
    }

    /// Adds probability at `x`, divided between the two neighbouring multiples of the step so that
    /// the mean is exact.
    pub fn add(&mut self, x: f64, probability: f64) {
        let place = (x / self.step).clamp(0.0, (MOST_CELLS - 2) as f64);
        let below = place.floor();
        let share = place - below;
        let index = below as usize;
        if self.cells.len() < index + 2 {
            self.cells.resize(index + 2, 0.0);
        }
        self.cells[index] += probability * (1.0 - share);
        self.cells[index + 1] += probability * share;
    }

    fn moment(&self, power: i32) -> f64 {
        let terms = self.cells.iter().enumerate();
        terms
            .map(|(index, p)| p * (index as f64 * self.step).powi(power))
            .sum()
    }

    /// The mean.
    #[must_use]
    pub fn mean(&self) -> f64 {
        self.moment(1)
    }

    /// The standard deviation.
    #[must_use]
    pub fn deviation(&self) -> f64 {
        (self.moment(2) - self.mean().powi(2)).max(0.0).sqrt()
    }

    /// The smallest value that at least `share` of the distribution does not exceed, interpolated
    /// inside a step.
    #[must_use]
    pub fn quantile(&self, share: f64) -> f64 {
        let mut below = 0.0;
        for (index, p) in self.cells.iter().enumerate() {
            if below + p >= share && *p > 0.0 {
                return (index as f64 - 0.5 + (share - below) / p).max(0.0) * self.step;
            }
            below += p;
        }
        self.cells.len() as f64 * self.step
    }

    /// Of the time that remains of a service at a random instant.
    fn residual(&self) -> Lattice {
        let mean = self.mean();
        let mut residual = Lattice::new(self.step);
        let mut above = 1.0;
        for (index, p) in self.cells.iter().enumerate() {
            above -= p;
            if above <= 1e-12 {
                break;
            }
            residual.add((index as f64 + 0.5) * self.step, above * self.step / mean);
        }
        residual
    }

    fn convolved(&self, other: &Lattice) -> Lattice {
        let mut cells = vec![0.0; self.cells.len() + other.cells.len()];
        for (i, p) in self.cells.iter().enumerate().filter(|(_, p)| **p > 0.0) {
            for (j, q) in other.cells.iter().enumerate() {
                cells[i + j] += p * q;
            }
        }
        Lattice {
            step: self.step,
            cells,
        }
    }
}

/// Response times of a server with independent arrivals and any service time (M/G/1): the waiting
/// time by Pollaczek and Khinchine, a geometric number of residual services, plus a service.
///
/// `burstiness` is the squared coefficient of variation of the times between arrivals: 1 for
/// independent arrivals. Above 1 the waiting time is multiplied by the factor of Allen and Cunneen.
#[must_use]
pub fn response(service: &Lattice, utilisation: f64, burstiness: f64, longest: f64) -> Lattice {
    let residual = service.residual();
    let count = ((longest / service.step).ceil() as usize + 1).min(MOST_CELLS);
    let first = residual.cells.first().copied().unwrap_or(0.0);
    let scale = 1.0 / (1.0 - utilisation * first);
    let mut wait = vec![(1.0 - utilisation) * scale];
    for j in 1..count {
        let terms = residual.cells.iter().enumerate().skip(1).take(j);
        let sum: f64 = terms.map(|(i, f)| f * wait[j - i]).sum();
        wait.push(utilisation * scale * sum);
    }
    let variation = (service.deviation() / service.mean()).powi(2);
    let factor = burst_factor(burstiness, variation);
    let mut stretched = Lattice::new(service.step);
    for (index, p) in wait.into_iter().enumerate() {
        stretched.add(index as f64 * service.step * factor, p);
    }
    stretched.convolved(service)
}

/// How many times as long I/Os wait as with independent arrivals (Allen and Cunneen).
#[must_use]
pub fn burst_factor(burstiness: f64, service_variation: f64) -> f64 {
    (burstiness + service_variation) / (1.0 + service_variation)
}

/// The figure of a latency that is limited.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LatencyFigure {
    /// The mean.
    Mean,
    /// A percentile, 0 to 100.
    Percentile(f64),
}

impl std::fmt::Display for LatencyFigure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            LatencyFigure::Mean => write!(f, "mean"),
            LatencyFigure::Percentile(percent) => write!(f, "p{percent}"),
        }
    }
}

/// The figure of the response time at this utilisation, in the unit of `service`.
#[must_use]
pub fn response_figure(
    service: &Lattice,
    figure: LatencyFigure,
    utilisation: f64,
    burstiness: f64,
) -> f64 {
    let variation = (service.deviation() / service.mean()).powi(2);
    let mean_wait =
        service.mean() * utilisation * (burstiness + variation) / (2.0 * (1.0 - utilisation));
    match figure {
        LatencyFigure::Mean => service.mean() + mean_wait,
        LatencyFigure::Percentile(percent) => {
            // The tail of the wait is close to exponential with this mean where there is a wait.
            let share = 1.0 - percent / 100.0;
            let tail = mean_wait / utilisation.max(1e-9) * (1.0 / share.max(1e-6)).ln();
            let longest = 1.5 * tail + 2.0 * service.mean();
            response(service, utilisation, burstiness, longest).quantile(percent / 100.0)
        }
    }
}

/// The largest utilisation at which the figure is within the limit; `None` when it is not even
/// without load.
#[must_use]
pub fn utilisation_at(
    service: &Lattice,
    figure: LatencyFigure,
    limit: f64,
    burstiness: f64,
) -> Option<f64> {
    let keeps = |utilisation: f64| match figure {
        LatencyFigure::Mean => response_figure(service, figure, utilisation, burstiness) <= limit,
        // Only the part up to the limit is needed.
        LatencyFigure::Percentile(percent) => {
            let found = response(service, utilisation, burstiness, limit);
            found.quantile(percent / 100.0) <= limit
        }
    };
    if !keeps(0.0) {
        return None;
    }
    let (mut low, mut high) = (0.0, 0.999);
    for _ in 0..30 {
        let middle = f64::midpoint(low, high);
        if keeps(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    Some(low)
}

/// The quantile of the standard normal distribution, by bisection of its integral (Simpson).
#[must_use]
pub fn normal_quantile(share: f64) -> f64 {
    let density = |x: f64| (-x * x / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt();
    let below = |x: f64| {
        const PARTS: u32 = 400;
        let step = x / f64::from(PARTS);
        let inner: f64 = (1..PARTS)
            .map(|i| (if i % 2 == 1 { 4.0 } else { 2.0 }) * density(f64::from(i) * step))
            .sum();
        0.5 + step / 3.0 * (density(0.0) + inner + density(x))
    };
    let (mut low, mut high) = (-8.0, 8.0);
    for _ in 0..50 {
        let middle = f64::midpoint(low, high);
        if below(middle) < share {
            low = middle;
        } else {
            high = middle;
        }
    }
    f64::midpoint(low, high)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exponential() -> Lattice {
        let mut service = Lattice::new(0.01);
        // The middles of equal shares of the distribution.
        for i in 0..20_000 {
            service.add(
                -(1.0 - (f64::from(i) + 0.5) / 20_000.0f64).ln(),
                1.0 / 20_000.0,
            );
        }
        service
    }

    /// M/M/1: the response is exponential with mean S / (1 - utilisation).
    #[test]
    fn exponential_service_gives_the_closed_form_of_mm1() {
        let service = exponential();
        for utilisation in [0.0, 0.3, 0.5, 0.8] {
            let mean = 1.0 / (1.0 - utilisation);
            let p99 = mean * 100f64.ln();
            let found =
                response_figure(&service, LatencyFigure::Percentile(99.0), utilisation, 1.0);
            assert!(
                (found / p99 - 1.0).abs() < 0.01,
                "{utilisation}: {found} {p99}"
            );
            let found = response_figure(&service, LatencyFigure::Mean, utilisation, 1.0);
            assert!(
                (found / mean - 1.0).abs() < 0.01,
                "{utilisation}: {found} {mean}"
            );
        }
    }

    /// M/D/1: the wait exceeds t < S with probability 1 - (1 - u) e^(u t / S), so that at u = 0.5 the
    /// median of the wait is S * 2 ln(...) where (1 - u) e^(u t) = 0.5: t = 0.
    #[test]
    fn constant_service_gives_the_closed_form_of_md1() {
        let mut service = Lattice::new(0.01);
        service.add(1.0, 1.0);
        // P(W <= 0.5) = (1 - u) e^(0.5 u): at u = 0.4 it is 0.6 e^0.2 = 0.7328.
        let found = response(&service, 0.4, 1.0, 20.0).quantile(0.6 * 0.2f64.exp());
        assert!((found - 1.5).abs() < 0.02, "{found}");
        let mean = response_figure(&service, LatencyFigure::Mean, 0.4, 1.0);
        assert!((mean - (1.0 + 0.4 / (2.0 * 0.6))).abs() < 1e-6, "{mean}");
    }

    /// A simulation of the same queue by Lindley's recursion.
    #[test]
    fn uniform_service_agrees_with_a_simulation() {
        let mut service = Lattice::new(0.01);
        for i in 0..1000 {
            service.add(0.5 + f64::from(i) / 1000.0, 0.001);
        }
        let mut state = 88_172_645_463_325_252u64;
        let mut random = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 11) as f64 / (1u64 << 53) as f64
        };
        let (mut wait, mut all) = (0.0f64, Vec::new());
        for _ in 0..400_000 {
            let own = 0.5 + random();
            all.push(wait + own);
            wait = (wait + own + random().max(1e-300).ln() / 0.6).max(0.0);
        }
        all.sort_by(f64::total_cmp);
        let simulated = all[all.len() * 99 / 100];
        let found = response_figure(&service, LatencyFigure::Percentile(99.0), 0.6, 1.0);
        assert!(
            (found / simulated - 1.0).abs() < 0.03,
            "{found} {simulated}"
        );
    }

    #[test]
    fn the_utilisation_at_a_limit_reaches_the_limit() {
        let service = exponential();
        let figure = LatencyFigure::Percentile(99.0);
        let limit = 2.0 * 100f64.ln();
        let found = utilisation_at(&service, figure, limit, 1.0).expect("above the service");
        assert!((found - 0.5).abs() < 0.01, "{found}");
        assert_eq!(utilisation_at(&service, figure, 1.0, 1.0), None);
    }

    #[test]
    fn normal_quantiles_are_those_of_the_tables() {
        assert!((normal_quantile(0.99) - 2.326_348).abs() < 1e-5);
        assert!((normal_quantile(0.999) - 3.090_232).abs() < 1e-5);
        assert!(normal_quantile(0.5).abs() < 1e-9);
    }
}
