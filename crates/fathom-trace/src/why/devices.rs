//! Facts of block devices that `fathom why` needs, from sysfs.

use std::collections::BTreeMap;

use crate::event::DeviceNumber;
use crate::limits::{BlockDevices, read_text};

use super::evidence::{WhyArray, WhyDevice};

impl BlockDevices {
    /// All whole devices.
    #[must_use]
    pub fn why_devices(&self) -> BTreeMap<DeviceNumber, WhyDevice> {
        let all = self.all();
        all.into_iter()
            .map(|(number, limits)| (number, self.why_device(number, limits.name)))
            .collect()
    }

    fn why_device(&self, number: DeviceNumber, name: String) -> WhyDevice {
        let directory = self.directory(number).unwrap_or_default();
        let text = |file: &str| read_text(&directory, file);
        WhyDevice {
            name,
            is_rotational: text("queue/rotational").is_some_and(|text| text == "1"),
            members: self.with_devices_below(number).split_off(1),
            array: text("md/level").map(|level| WhyArray {
                level,
                degraded: text("md/degraded")
                    .and_then(|text| text.parse().ok())
                    .unwrap_or(0),
                action: text("md/sync_action").unwrap_or_else(|| "idle".to_owned()),
            }),
            model: text("device/model").unwrap_or_default(),
            bytes: self.bytes(number),
            volumes: Vec::new(),
        }
    }
}
