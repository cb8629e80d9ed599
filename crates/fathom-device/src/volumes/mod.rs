//! Volumes of providers: their limits as data, and which of them a measurement looks like.
//!
//! A match states the largest difference of any figure. One figure alone identifies nothing, and
//! neither does a volume whose buyer chooses the rates.

mod read;

pub use self::read::{VolumeError, parse_volumes};

/// Figures may differ by this share.
const TOLERANCE: f64 = 0.05;
/// A better match is this share closer than the second.
const CLEARER: f64 = 0.02;
/// MiB in bytes.
const MIB: f64 = 1_048_576.0;

/// A kind of volume.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Volume {
    /// Short name, such as `gp2`.
    pub name: String,
    /// Who offers it.
    pub provider: String,
    /// Smallest size, GiB.
    pub min_gib: f64,
    /// Largest size, GiB.
    pub max_gib: f64,
    /// Base rate of any size, I/Os per second; added to that of the size.
    pub iops_base: f64,
    /// Base rate of each GiB; 0: it does not depend on the size.
    pub iops_per_gib: f64,
    /// The lowest and the highest base rate.
    pub iops_range: (f64, f64),
    /// Burst rate, I/Os per second.
    pub burst_iops: Option<f64>,
    /// Bucket, I/Os.
    pub bucket_ios: Option<f64>,
    /// How long a full bucket lasts at the burst rate, seconds.
    pub burst_s: Option<f64>,
    /// Base bandwidth of any size, MiB/s.
    pub bandwidth_mib: Option<f64>,
    /// Base bandwidth of each GiB, MiB/s.
    pub bandwidth_mib_per_gib: f64,
    /// Burst bandwidth, MiB/s.
    pub burst_bandwidth_mib: Option<f64>,
    /// Size up to which an I/O counts once, KiB.
    pub io_kib: Option<u64>,
    /// The buyer chooses the rates.
    pub provisioned: bool,
    /// What to know about it.
    pub note: Option<String>,
    /// Where the figures come from.
    pub source: Vec<String>,
}

impl Volume {
    /// Base rate of a size, I/Os per second.
    #[must_use]
    pub fn iops(&self, gib: f64) -> f64 {
        (self.iops_base + self.iops_per_gib * gib).clamp(self.iops_range.0, self.iops_range.1)
    }

    /// The size of the bucket, I/Os.
    #[must_use]
    pub fn bucket(&self, gib: f64) -> Option<f64> {
        self.bucket_ios
            .or_else(|| Some(self.burst_s? * (self.burst_iops? - self.iops(gib))))
    }

    /// Base bandwidth of a size, MiB/s.
    #[must_use]
    pub fn bandwidth(&self, gib: f64) -> Option<f64> {
        if self.bandwidth_mib_per_gib > 0.0 {
            Some(self.bandwidth_mib.unwrap_or(0.0) + self.bandwidth_mib_per_gib * gib)
        } else {
            self.bandwidth_mib
        }
    }
}

/// The measured limits of a volume. What was not measured, or not reached, is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MeasuredVolume {
    /// Base rate, I/Os per second.
    pub iops: Option<f64>,
    /// Burst rate, I/Os per second.
    pub burst_iops: Option<f64>,
    /// Bucket, I/Os. One that was not full is smaller.
    pub bucket_ios: Option<f64>,
    /// Base bandwidth, bytes per second.
    pub bandwidth: Option<f64>,
    /// Size of the device, GiB.
    pub gib: Option<f64>,
}

/// A volume that fits, and how well.
#[derive(Clone, Debug, PartialEq)]
pub struct VolumeMatch {
    /// The volume.
    pub name: String,
    /// Its provider.
    pub provider: String,
    /// The size that fits, GiB; `None` where the rates do not depend on it.
    pub gib: Option<f64>,
    /// Each compared figure: its name and the relative difference.
    pub compared: Vec<(&'static str, f64)>,
}

impl VolumeMatch {
    /// The largest difference.
    #[must_use]
    pub fn worst(&self) -> f64 {
        self.compared
            .iter()
            .map(|(_, off)| off.abs())
            .fold(0.0, f64::max)
    }

    /// `gp2 of 100 GiB (AWS EBS): base rate 0.2 %, burst rate 0.1 % off`.
    #[must_use]
    pub fn text(&self) -> String {
        let size = self
            .gib
            .map_or(String::new(), |gib| format!(" of {gib:.0} GiB"));
        let figures: Vec<String> = self
            .compared
            .iter()
            .map(|(name, off)| format!("{name} {:.1} %", off.abs() * 100.0))
            .collect();
        format!(
            "{}{size} ({}): {} off",
            self.name,
            self.provider,
            figures.join(", ")
        )
    }
}

/// What a measurement looks like.
#[derive(Clone, Debug, PartialEq)]
pub enum Recognised {
    /// One volume fits clearly better than all others.
    One(VolumeMatch),
    /// Several fit about equally well, best first.
    Several(Vec<VolumeMatch>),
    /// None fits, or too few figures are known.
    None,
}

/// Compares a measurement with all volumes.
#[must_use]
pub fn recognise(measured: &MeasuredVolume, volumes: &[Volume]) -> Recognised {
    let mut fits: Vec<VolumeMatch> = volumes
        .iter()
        .filter(|volume| !volume.provisioned)
        .filter_map(|volume| fit(measured, volume))
        .collect();
    // More compared figures first, then the closer one.
    fits.sort_by(|a, b| {
        (b.compared.len())
            .cmp(&a.compared.len())
            .then(a.worst().total_cmp(&b.worst()))
    });
    match fits.len() {
        0 => Recognised::None,
        1 => Recognised::One(fits.remove(0)),
        _ => {
            let (first, second) = (&fits[0], &fits[1]);
            let is_clear = first.compared.len() > second.compared.len()
                || second.worst() - first.worst() > CLEARER;
            if is_clear {
                Recognised::One(fits.remove(0))
            } else {
                Recognised::Several(fits)
            }
        }
    }
}

/// Whether all measured figures fit; at least two must.
fn fit(measured: &MeasuredVolume, volume: &Volume) -> Option<VolumeMatch> {
    let iops = measured.iops?;
    let depends = volume.iops_per_gib > 0.0;
    let gib = if depends {
        let from_rate =
            ((iops - volume.iops_base) / volume.iops_per_gib).clamp(volume.min_gib, volume.max_gib);
        // At the lowest and the highest rate, many sizes have the same one.
        measured.gib.unwrap_or(from_rate)
    } else {
        volume.min_gib
    };
    if !(volume.min_gib..=volume.max_gib).contains(&gib) {
        return None;
    }
    let mut compared = Vec::new();
    let mut compare = |name, value: f64, expected: f64| {
        compared.push((name, value / expected - 1.0));
    };
    // A rate from which the size was taken is not evidence.
    if !depends || measured.gib.is_some() {
        compare("base rate", iops, volume.iops(gib));
    } else if (volume.iops(gib) / iops - 1.0).abs() > TOLERANCE {
        return None;
    }
    match (
        measured.burst_iops,
        volume.burst_iops.filter(|burst| *burst > volume.iops(gib)),
    ) {
        (Some(value), Some(expected)) => {
            compare("burst rate", value, expected);
            // A bucket that was not full at the start says little.
            if let (Some(bucket), Some(full)) = (measured.bucket_ios, volume.bucket(gib)) {
                if bucket > full * (1.0 + TOLERANCE) {
                    return None;
                }
                if bucket > full * (1.0 - TOLERANCE) {
                    compare("bucket", bucket, full);
                }
            }
        }
        (Some(_), None) => return None,
        (None, _) => {}
    }
    if let (Some(value), Some(expected)) = (measured.bandwidth, volume.bandwidth(gib)) {
        compare("bandwidth", value / MIB, expected);
    }
    if let (Some(size), true) = (measured.gib, volume.min_gib == volume.max_gib) {
        compare("size", size, volume.min_gib);
    }
    let fits = compared.len() >= 2 && compared.iter().all(|(_, off)| off.abs() <= TOLERANCE);
    fits.then(|| VolumeMatch {
        name: volume.name.clone(),
        provider: volume.provider.clone(),
        gib: (depends || volume.min_gib == volume.max_gib).then_some(gib),
        compared,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = include_str!("../../../../volumes/volumes.toml");

    fn volumes() -> Vec<Volume> {
        parse_volumes("volumes.toml", FILE).expect("the volumes of the program")
    }

    #[test]
    fn every_volume_has_a_source_and_possible_figures() {
        let all = volumes();
        assert!(all.len() >= 15);
        for volume in all {
            assert!(!volume.source.is_empty(), "{}", volume.name);
            assert!(
                volume.source.iter().all(|url| url.starts_with("https://")),
                "{}",
                volume.name
            );
            if let Some(burst) = volume.burst_iops {
                assert!(burst > volume.iops(volume.min_gib), "{}", volume.name);
                assert!(volume.bucket(volume.min_gib).is_some_and(|size| size > 0.0));
            }
        }
    }

    /// The provider's own example: 100 GiB of gp2 last 5.4 million / (3,000 - 300) = 2,000 s.
    #[test]
    fn gp2_of_100_gib_lasts_2000_seconds() {
        let all = volumes();
        let gp2 = all.iter().find(|one| one.name == "gp2").expect("gp2");
        assert_eq!(
            (gp2.iops(100.0), gp2.iops(10.0), gp2.iops(8000.0)),
            (300.0, 100.0, 16_000.0)
        );
        assert_eq!(
            gp2.bucket(100.0).expect("a bucket") / (3000.0 - 300.0),
            2000.0
        );
    }

    #[test]
    fn measured_volumes_are_recognised() {
        let all = volumes();
        let one = |measured| match recognise(&measured, &all) {
            Recognised::One(found) => (found.name.clone(), found.gib.map(f64::round)),
            other => panic!("{measured:?}: {other:?}"),
        };
        let gp2 = MeasuredVolume {
            iops: Some(301.0),
            burst_iops: Some(3010.0),
            bucket_ios: Some(5.38e6),
            ..MeasuredVolume::default()
        };
        assert_eq!(one(gp2), ("gp2".to_owned(), Some(100.0)));
        let p10 = MeasuredVolume {
            iops: Some(499.0),
            burst_iops: Some(3480.0),
            bucket_ios: Some(5.41e6),
            bandwidth: Some(100.5 * MIB),
            gib: Some(128.0),
        };
        assert_eq!(one(p10), ("P10".to_owned(), Some(128.0)));
        let gp3 = MeasuredVolume {
            iops: Some(3001.0),
            bandwidth: Some(125.0 * MIB),
            ..MeasuredVolume::default()
        };
        assert_eq!(one(gp3), ("gp3".to_owned(), None));
    }

    #[test]
    fn too_few_figures_and_equal_volumes_are_not_one() {
        let all = volumes();
        let of = |iops, bandwidth: Option<f64>| {
            recognise(
                &MeasuredVolume {
                    iops: Some(iops),
                    bandwidth: bandwidth.map(|mib| mib * MIB),
                    ..MeasuredVolume::default()
                },
                &all,
            )
        };
        // 3,000 IOPS alone may be anything.
        assert_eq!(of(3000.0, None), Recognised::None);
        // P40 and P50 differ in nothing but their size.
        match of(7500.0, Some(250.0)) {
            Recognised::Several(both) => {
                let names: Vec<&str> = both.iter().map(|one| one.name.as_str()).collect();
                assert_eq!(names, ["P40", "P50"]);
            }
            other => panic!("{other:?}"),
        }
        assert_eq!(of(4321.0, Some(77.0)), Recognised::None);
    }
}
