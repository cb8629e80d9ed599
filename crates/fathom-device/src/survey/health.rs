//! Temperature as the kernel's sensors have it, without any privilege. See Documentation/hwmon/sysfs-interface.rst.

use fathom_model::HealthFacts;

use super::sysfs::Folder;
use super::transport::controllers;

pub(super) fn health(folder: &Folder<'_>) -> HealthFacts {
    let Some(sensor) = sensor(folder) else {
        return HealthFacts::default();
    };
    let degrees = |file| {
        Some(sensor.text(file)?.parse::<f64>().ok()? / 1000.0)
            .filter(|c| (-60.0..=200.0).contains(c))
    };
    let temperature_c = degrees("temp1_input");
    HealthFacts {
        asked: temperature_c.map(|_| "hwmon"),
        temperature_c,
        warning_c: degrees("temp1_max"),
        critical_c: degrees("temp1_crit"),
        ..HealthFacts::default()
    }
}

/// The sensor hangs below the NVMe controller or the SCSI device, directly or in a folder of its class.
fn sensor<'a>(folder: &Folder<'a>) -> Option<Folder<'a>> {
    let owners = [folder.at("device")].into_iter().chain(controllers(folder));
    owners.into_iter().find_map(|owner| {
        let direct = owner.names("").into_iter().find(|name| is_sensor(name));
        let path = direct.or_else(|| {
            let name = owner
                .names("hwmon")
                .into_iter()
                .find(|name| is_sensor(name))?;
            Some(format!("hwmon/{name}"))
        })?;
        Some(owner.at(&path))
    })
}

fn is_sensor(name: &str) -> bool {
    name.strip_prefix("hwmon")
        .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}
