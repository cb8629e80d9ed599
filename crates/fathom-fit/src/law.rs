//! The laws: throughput of a closed loop as a function of the I/Os in flight.

/// A law of throughput over load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LawKind {
    /// `X(N) = ((N / R0)^-m + Xmax^-m)^(-1/m)`: the smooth minimum of the two asymptotic bounds of a
    /// closed system (Lazowska et al., Quantitative System Performance, 1984, chapter 5).
    SoftMinimum,
    /// `X(N) = lambda N / (1 + sigma (N - 1) + kappa N (N - 1))`: the universal scalability law
    /// (Gunther, Guerrilla Capacity Planning, 2007).
    Usl,
    /// `X(N) = X1 (1 + g log2(1 + (N - 1) / k))`: the gain of a disk that reorders its queue grows
    /// with the logarithm of the depth; `k` is the depth at which it sets in, 1 for a pure
    /// logarithm.
    Ncq,
}

/// Number of parameters of each law.
pub const PARAMETERS: usize = 3;

/// What a parameter is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ParameterInfo {
    /// Its name in files.
    pub name: &'static str,
    /// Its unit in files; empty for a plain number.
    pub unit: &'static str,
    /// Its meaning, in a few words.
    pub about: &'static str,
    /// It is fitted as its logarithm.
    pub(crate) is_log: bool,
    /// Range of the fitted value (of the logarithm if `is_log`).
    pub(crate) bounds: (f64, f64),
}

const fn parameter(
    name: &'static str,
    unit: &'static str,
    about: &'static str,
    is_log: bool,
    bounds: (f64, f64),
) -> ParameterInfo {
    ParameterInfo {
        name,
        unit,
        about,
        is_log,
        bounds,
    }
}

/// Logarithms of rates and times are free; the bound only prevents overflow.
const FREE: (f64, f64) = (-60.0, 60.0);

const SOFT_MINIMUM: [ParameterInfo; PARAMETERS] = [
    parameter("r0", "s", "latency without load", true, FREE),
    parameter("xmax", "IOPS", "ceiling of throughput", true, FREE),
    // ln 0.25 to ln 64; above, the curve is a sharp minimum within 1 %.
    parameter(
        "m",
        "",
        "sharpness of the knee",
        true,
        (-1.386_294_361_119_890_6, 4.158_883_083_359_672),
    ),
];
const USL: [ParameterInfo; PARAMETERS] = [
    parameter(
        "lambda",
        "IOPS",
        "throughput of one I/O in flight",
        true,
        FREE,
    ),
    parameter("sigma", "", "contention", false, (0.0, 1.0)),
    parameter("kappa", "", "coherence", false, (0.0, 1.0)),
];
const NCQ: [ParameterInfo; PARAMETERS] = [
    parameter("x1", "IOPS", "throughput of one I/O in flight", true, FREE),
    parameter(
        "gain",
        "",
        "gain per doubling of the depth",
        false,
        (0.0, 8.0),
    ),
    // ln 1 to ln 1024.
    parameter(
        "onset",
        "",
        "depth at which reordering sets in",
        true,
        (0.0, 6.931_471_805_599_453),
    ),
];

impl LawKind {
    /// All laws, in the order in which ties are decided.
    pub const ALL: [LawKind; 3] = [LawKind::SoftMinimum, LawKind::Usl, LawKind::Ncq];

    /// Its name in files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            LawKind::SoftMinimum => "soft-minimum",
            LawKind::Usl => "usl",
            LawKind::Ncq => "ncq",
        }
    }

    /// Its name in sentences.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            LawKind::SoftMinimum => "soft minimum",
            LawKind::Usl => "universal scalability law",
            LawKind::Ncq => "logarithmic NCQ law",
        }
    }

    /// Its formula, in plain text.
    #[must_use]
    pub const fn formula(self) -> &'static str {
        match self {
            LawKind::SoftMinimum => "X(N) = ((N / r0)^-m + xmax^-m)^(-1/m)",
            LawKind::Usl => "X(N) = lambda N / (1 + sigma (N - 1) + kappa N (N - 1))",
            LawKind::Ncq => "X(N) = x1 (1 + gain log2(1 + (N - 1) / onset))",
        }
    }

    /// Its parameters, in their order.
    #[must_use]
    pub const fn parameters(self) -> &'static [ParameterInfo; PARAMETERS] {
        match self {
            LawKind::SoftMinimum => &SOFT_MINIMUM,
            LawKind::Usl => &USL,
            LawKind::Ncq => &NCQ,
        }
    }

    /// The law with this name in files.
    #[must_use]
    pub fn parse(name: &str) -> Option<LawKind> {
        LawKind::ALL.into_iter().find(|law| law.name() == name)
    }
}

/// A law with its parameters, in SI units.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Law {
    /// Which law.
    pub kind: LawKind,
    /// Its parameters, in the order of [`LawKind::parameters`].
    pub values: [f64; PARAMETERS],
}

impl Law {
    /// I/Os per second with `in_flight` I/Os always in flight.
    #[must_use]
    pub fn iops(&self, in_flight: f64) -> f64 {
        self.log_iops(in_flight).exp()
    }

    /// Natural logarithm of [`Law::iops`]; stable for all parameters.
    pub(crate) fn log_iops(&self, n: f64) -> f64 {
        let [a, b, c] = self.values;
        match self.kind {
            LawKind::SoftMinimum => {
                // ln of the smooth minimum, relative to the smaller bound, so that nothing overflows.
                let (rising, ceiling) = ((n / a).ln(), b.ln());
                let (low, distance) = (rising.min(ceiling), (rising - ceiling).abs());
                low - (-c * distance).exp().ln_1p() / c
            }
            LawKind::Usl => (a * n).ln() - (b * (n - 1.0) + c * n * (n - 1.0)).ln_1p(),
            LawKind::Ncq => a.ln() + (b * ((n - 1.0) / c).ln_1p() / std::f64::consts::LN_2).ln_1p(),
        }
    }

    /// Mean time in the system of one I/O, seconds: Little's law with no time between a completion
    /// and the next submission.
    #[must_use]
    pub fn residence_s(&self, in_flight: f64) -> f64 {
        in_flight / self.iops(in_flight)
    }

    /// The fitted form of the parameters.
    pub(crate) fn coordinates(&self) -> [f64; PARAMETERS] {
        std::array::from_fn(|n| {
            let info = &self.kind.parameters()[n];
            let value = if info.is_log {
                self.values[n].ln()
            } else {
                self.values[n]
            };
            value.clamp(info.bounds.0, info.bounds.1)
        })
    }

    /// The law of fitted coordinates.
    pub(crate) fn of(kind: LawKind, coordinates: &[f64; PARAMETERS]) -> Law {
        let value = |n: usize| {
            if kind.parameters()[n].is_log {
                coordinates[n].exp()
            } else {
                coordinates[n]
            }
        };
        Law {
            kind,
            values: std::array::from_fn(value),
        }
    }
}
