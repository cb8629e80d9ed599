//! Temperatures from the kernel's sensors, which need no privilege. See
//! Documentation/hwmon/sysfs-interface.rst.

use fathom_model::HealthFacts;

use super::sysfs_dir::SysfsDir;
use super::transport::controllers;

pub(super) fn health(dir: &SysfsDir<'_>) -> HealthFacts {
    let Some(sensor) = sensor(dir) else {
        return HealthFacts::default();
    };
    let degrees = |file| {
        Some(sensor.text(file)?.parse::<f64>().ok()? / 1000.0)
            .filter(|c| (-60.0..=200.0).contains(c))
    };
    let temperature_c = degrees("temp1_input");
    HealthFacts {
        source: temperature_c.map(|_| "hwmon"),
        temperature_c,
        warning_c: degrees("temp1_max"),
        critical_c: degrees("temp1_crit"),
        ..HealthFacts::default()
    }
}

/// The sensor is below the NVMe controller or the SCSI device, directly or in a class directory.
fn sensor<'a>(dir: &SysfsDir<'a>) -> Option<SysfsDir<'a>> {
    let owners = [dir.at("device")].into_iter().chain(controllers(dir));
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
