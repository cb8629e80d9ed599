//! Temperature, wear and errors, as the device reports them.

use crate::Bytes;

/// The overall health that the device reports.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum HealthState {
    /// It was not queried or did not answer. This is not `Good`.
    #[default]
    Unknown,
    /// It reports no problem.
    Good,
    /// It reports these warnings.
    Warns(Vec<String>),
}

/// The device's own log pages. Every figure is `None` where it was not reported.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HealthFacts {
    /// Overall health.
    pub state: HealthState,
    /// Source of the data: `NVMe SMART log`, `ATA SMART`, `SCSI log pages`, `hwmon`; `None` without one.
    pub source: Option<&'static str>,
    /// Degrees Celsius now.
    pub temperature_c: Option<f64>,
    /// Degrees at which the device begins to slow down or to warn.
    pub warning_c: Option<f64>,
    /// Degrees at which it gives up.
    pub critical_c: Option<f64>,
    /// Seconds it was slowed by its own thermal management or ran above its limits, over its life.
    pub throttled_s: Option<u64>,
    /// How often thermal management set in, over its life.
    pub throttle_count: Option<u64>,
    /// Spare blocks left, percent.
    pub spare_percent: Option<u8>,
    /// Share of its rated life that is used, percent; can exceed 100.
    pub used_percent: Option<u8>,
    /// Errors of the medium that could not be corrected.
    pub media_errors: Option<u64>,
    /// Sectors taken out of use.
    pub reallocated: Option<u64>,
    /// Sectors that wait to be taken out of use.
    pub pending: Option<u64>,
    /// Hours it was powered.
    pub power_on_hours: Option<u64>,
    /// Power losses without notice.
    pub unsafe_shutdowns: Option<u64>,
    /// Host writes over its life.
    pub written: Option<Bytes>,
    /// Host reads over its life.
    pub read: Option<Bytes>,
}
