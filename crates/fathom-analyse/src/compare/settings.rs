//! Queue settings of the same device in two runs.

use std::collections::BTreeMap;

use fathom_model::{OptionDifference, QueueSettings};

/// Settings that the kernel changes by itself.
const KERNEL_SETTINGS: [&str; 2] = ["wbt_lat_usec", "io_poll_delay"];

/// Settings of devices in both results that differ. A different device may have different settings.
#[must_use]
pub fn unlike_settings(before: &QueueSettings, after: &QueueSettings) -> Vec<OptionDifference> {
    let both = before
        .iter()
        .filter_map(|(device, settings)| Some((&device[0], settings, after.get(device)?)));
    both.flat_map(|(name, before, after)| differ(name, before, after))
        .collect()
}

fn differ(
    device: &str,
    before: &BTreeMap<String, String>,
    after: &BTreeMap<String, String>,
) -> Vec<OptionDifference> {
    let matters = before
        .iter()
        .filter(|(name, _)| !KERNEL_SETTINGS.contains(&name.as_str()));
    let changed = matters.filter_map(|(name, value)| {
        let now = after.get(name).filter(|now| *now != value)?;
        let values = (Some(value.clone()), Some(now.clone()));
        Some(OptionDifference {
            job: device.to_owned(),
            option: format!("queue setting {name}"),
            values,
        })
    });
    changed.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(name: &str, serial: &str, settings: &[(&str, &str)]) -> QueueSettings {
        let device = [name.to_owned(), String::new(), serial.to_owned()];
        let settings = settings
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        QueueSettings::from([(device, settings.collect())])
    }

    #[test]
    fn only_user_settings_of_the_same_device_are_compared() {
        let before = one(
            "sda",
            "1",
            &[
                ("max_sectors_kb", "1280"),
                ("wbt_lat_usec", "75000"),
                ("nomerges", "0"),
            ],
        );
        let after = one(
            "sda",
            "1",
            &[
                ("max_sectors_kb", "128"),
                ("wbt_lat_usec", "2000"),
                ("nomerges", "0"),
            ],
        );
        let found = unlike_settings(&before, &after);
        let [only] = found.as_slice() else {
            panic!("{found:?}")
        };
        assert_eq!(
            (only.job.as_str(), only.option.as_str()),
            ("sda", "queue setting max_sectors_kb")
        );
        assert_eq!(
            only.values,
            (Some("1280".to_owned()), Some("128".to_owned()))
        );
        assert!(
            unlike_settings(&before, &one("sda", "2", &[("max_sectors_kb", "128")])).is_empty(),
            "another disk"
        );
    }
}
