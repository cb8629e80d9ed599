//! Load and latency of one drive.

use fathom_model::{Derivation, DerivationInput};

use crate::derive::{by_method, calculate, from, input, named};
use crate::drive::{Drive, Medium, disk_service};
use crate::queue::{LatencyFigure, Lattice, normal_quantile, response_figure, utilisation_at};

/// What a drive has to do: block size in bytes, share of reads, burstiness of the arrivals.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DriveLoad {
    /// Bytes of one I/O.
    pub block: f64,
    /// Reads among the operations of the drive, 0 to 1.
    pub reads: f64,
    /// Squared coefficient of variation of the times between arrivals; 1 for independent arrivals.
    pub burstiness: f64,
}

/// The service of random I/Os on a disk, in ms.
#[must_use]
pub fn disk_service_of(drive: &Drive, load: DriveLoad) -> Lattice {
    let rate = f64::midpoint(
        drive.given("outer_mb_s").value,
        drive.given("inner_mb_s").value,
    );
    disk_service(drive, 1.0, load.block / rate / 1000.0)
}

/// Mean service time of a disk and its coefficient of variation.
#[must_use]
pub fn disk_facts(drive: &Drive, service: &Lattice) -> Vec<DerivationInput> {
    vec![
        input(
            "service_ms",
            service.mean(),
            "ms",
            format!(
                "calculated: overhead + seek ({} ms average) + half a turn at {} rpm + transfer",
                drive.given("seek_ms").value,
                drive.given("rpm").value
            ),
        ),
        input(
            "service_variation",
            service.deviation() / service.mean(),
            "",
            "calculated: standard deviation / mean; seeks between random places, uniform rotation",
        ),
    ]
}

/// I/Os per second that a flash drive completes at most for one direction, with its link.
#[must_use]
pub fn flash_ceiling(drive: &Drive, direction: &str, block: f64) -> Derivation {
    let iops = drive.given(&format!("{direction}_iops_4k"));
    let rate = drive.given(&format!("{direction}_mb_s"));
    // The time for each command beyond the transfer; it does not depend on the block size.
    let command = calculate(
        "command_us",
        "us",
        &format!("max(0, 1000000 / {} - 4096 / {})", iops.name, rate.name),
        vec![iops, rate.clone()],
    );
    calculate(
        &format!("{direction}_ceiling"),
        "1/s",
        &format!("1000000 / (command_us + max(block, 4096) / {})", rate.name),
        vec![
            from(&command),
            input("block", block, "bytes", "the load"),
            rate,
        ],
    )
}

/// Of the whole load of a flash drive: I/Os per second at most, and the latency without load.
#[must_use]
pub fn flash_limits(drive: &Drive, load: DriveLoad) -> (Derivation, Derivation) {
    let reads = input(
        "reads",
        load.reads,
        "",
        "the load, with the writes of the RAID level",
    );
    let read = flash_ceiling(drive, "read", load.block);
    let write = flash_ceiling(drive, "write", load.block);
    let ceiling = calculate(
        "ceiling",
        "1/s",
        "1 / (reads / read_ceiling + (1 - reads) / write_ceiling)",
        vec![reads, from(&read), from(&write)],
    );
    // The slower direction has to keep the limit too.
    let (key, rate) = if load.reads > 0.0
        && drive.given("read_us").value >= drive.given("write_us").value
        || load.reads >= 1.0
    {
        ("read_us", "read_mb_s")
    } else {
        ("write_us", "write_mb_s")
    };
    let base = calculate(
        "base_us",
        "us",
        &format!("{key} + max(0, block - 4096) / {rate}"),
        vec![
            drive.given(key),
            input("block", load.block, "bytes", "the load"),
            drive.given(rate),
        ],
    );
    (ceiling, base)
}

/// Mean response of flash at a utilisation: the soft minimum of N / base and the ceiling, us.
#[must_use]
pub fn flash_mean(drive: &Drive, base: &Derivation, utilisation: &DerivationInput) -> Derivation {
    calculate(
        "mean_us",
        "us",
        "base_us * (1 - utilisation ^ sharpness) ^ (-1 / sharpness)",
        vec![from(base), utilisation.clone(), drive.given("sharpness")],
    )
}

/// A figure of the response of flash at a utilisation, us. A percentile is that of a gamma
/// distribution (Wilson and Hilferty) with the mean and the variance of service and wait.
#[must_use]
pub fn flash_response(
    drive: &Drive,
    base: &Derivation,
    utilisation: &DerivationInput,
    (figure, burstiness): (LatencyFigure, f64),
) -> Derivation {
    let mean = flash_mean(drive, base, utilisation);
    let burst = input(
        "burst_factor",
        f64::midpoint(burstiness, 1.0),
        "",
        "(burstiness + 1) / 2: Allen and Cunneen, with the variation of an exponential service",
    );
    let mean = calculate(
        "mean_us",
        "us",
        "base_us + (queued_us - base_us) * burst_factor",
        vec![
            from(base),
            DerivationInput {
                name: "queued_us".to_owned(),
                ..from(&mean)
            },
            burst,
        ],
    );
    let LatencyFigure::Percentile(percent) = figure else {
        return mean;
    };
    let variation = calculate(
        "variation",
        "",
        "((service_cv * base_us) ^ 2 + (mean_us - base_us) ^ 2) / mean_us ^ 2",
        vec![drive.given("service_cv"), from(base), from(&mean)],
    );
    calculate(
        "percentile_us",
        "us",
        "mean_us * (1 - variation / 9 + z * sqrt(variation) / 3) ^ 3",
        vec![
            from(&mean),
            from(&variation),
            input(
                "z",
                normal_quantile(percent / 100.0),
                "",
                format!("standard normal distribution at {percent} %"),
            ),
        ],
    )
}

/// What one drive completes within a limit.
#[derive(Clone, Debug, PartialEq)]
pub struct DriveAtLimit {
    /// I/Os per second.
    pub iops: Derivation,
    /// The share of its ceiling, 0 to 1.
    pub utilisation: f64,
}

/// The figure of a drive at so many I/Os per second, ns; infinite above its ceiling.
#[must_use]
pub fn latency_at(drive: &Drive, load: DriveLoad, figure: LatencyFigure, iops: f64) -> f64 {
    match drive.medium {
        Medium::Disk => {
            let service = disk_service_of(drive, load);
            let utilisation = iops * service.mean() / 1000.0;
            if utilisation >= 0.999 {
                return f64::INFINITY;
            }
            response_figure(&service, figure, utilisation, load.burstiness) * 1e6
        }
        Medium::Flash => {
            let (ceiling, base) = flash_limits(drive, load);
            let utilisation = iops / ceiling.value;
            if utilisation >= 0.9999 {
                return f64::INFINITY;
            }
            let utilisation = input("utilisation", utilisation, "", "");
            flash_response(drive, &base, &utilisation, (figure, load.burstiness)).value * 1e3
        }
    }
}

/// [`latency_at`] in ms with its derivation, for a load of the drive below its ceiling.
#[must_use]
pub fn latency_derivation(
    name: &str,
    drive: &Drive,
    load: DriveLoad,
    figure: LatencyFigure,
    drive_load: &Derivation,
) -> Derivation {
    match drive.medium {
        Medium::Disk => {
            let mut inputs = disk_facts(drive, &disk_service_of(drive, load));
            let of_utilisation = vec![named("drive_load", drive_load), inputs[0].clone()];
            let formula = "drive_load * service_ms / 1000";
            let utilisation = calculate("utilisation", "", formula, of_utilisation);
            inputs.push(from(&utilisation));
            let source = "the load; 1 is independent arrivals";
            inputs.push(input("burstiness", load.burstiness, "", source));
            let value = latency_at(drive, load, figure, drive_load.value) / 1e6;
            let method = format!(
                "{figure} of wait and service at this utilisation (M/G/1, Pollaczek and Khinchine)"
            );
            by_method(name, (value, "ms"), &method, inputs)
        }
        Medium::Flash => {
            let (ceiling, base) = flash_limits(drive, load);
            let inputs = vec![named("drive_load", drive_load), from(&ceiling)];
            let utilisation = calculate("utilisation", "", "drive_load / ceiling", inputs);
            let figure = (figure, load.burstiness);
            let response = flash_response(drive, &base, &from(&utilisation), figure);
            let inputs = vec![named("response_us", &response)];
            calculate(name, "ms", "response_us / 1000", inputs)
        }
    }
}

/// The most I/Os per second of one drive within a limit in ns, or its latency without load, ns, when
/// that is above the limit.
///
/// # Errors
/// The latency without load, ns.
pub fn iops_at_limit(
    drive: &Drive,
    load: DriveLoad,
    figure: LatencyFigure,
    limit_ns: f64,
) -> Result<DriveAtLimit, f64> {
    match drive.medium {
        Medium::Disk => {
            let service = disk_service_of(drive, load);
            let unloaded = || latency_at(drive, load, figure, 0.0);
            let utilisation = utilisation_at(&service, figure, limit_ns / 1e6, load.burstiness)
                .filter(|utilisation| *utilisation > 1e-4)
                .ok_or_else(unloaded)?;
            let mut facts = disk_facts(drive, &service);
            let mut inputs = facts.clone();
            inputs.push(input(
                "limit_ms",
                limit_ns / 1e6,
                "ms",
                format!("the limit on {figure}"),
            ));
            inputs.push(input(
                "burstiness",
                load.burstiness,
                "",
                "the load; 1 is independent arrivals",
            ));
            let share = by_method(
                "utilisation",
                (utilisation, ""),
                &format!(
                    "the largest utilisation at which {figure} of wait and service is within the limit (M/G/1, Pollaczek and Khinchine)"
                ),
                inputs,
            );
            facts.truncate(1);
            facts.push(from(&share));
            Ok(DriveAtLimit {
                iops: calculate(
                    "drive_iops",
                    "1/s",
                    "1000 * utilisation / service_ms",
                    facts,
                ),
                utilisation,
            })
        }
        Medium::Flash => {
            let (ceiling, base) = flash_limits(drive, load);
            let response = |utilisation: f64| {
                let utilisation = input("utilisation", utilisation, "", "");
                flash_response(drive, &base, &utilisation, (figure, load.burstiness)).value * 1e3
            };
            if response(0.0) > limit_ns {
                return Err(response(0.0));
            }
            let (mut low, mut high) = (0.0, 0.9999);
            for _ in 0..40 {
                let middle = f64::midpoint(low, high);
                if response(middle) <= limit_ns {
                    low = middle;
                } else {
                    high = middle;
                }
            }
            let share = by_method(
                "utilisation",
                (low, ""),
                &format!(
                    "the largest utilisation at which {figure} is within the limit (soft minimum: base_us * (1 - utilisation ^ sharpness) ^ (-1 / sharpness))"
                ),
                vec![
                    input(
                        "limit_us",
                        limit_ns / 1e3,
                        "us",
                        format!("the limit on {figure}"),
                    ),
                    from(&base),
                    drive.given("sharpness"),
                    drive.given("service_cv"),
                    input(
                        "burstiness",
                        load.burstiness,
                        "",
                        "the load; 1 is independent arrivals",
                    ),
                ],
            );
            Ok(DriveAtLimit {
                iops: calculate(
                    "drive_iops",
                    "1/s",
                    "ceiling * utilisation",
                    vec![from(&ceiling), from(&share)],
                ),
                utilisation: low,
            })
        }
    }
}
